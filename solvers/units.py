"""Quantities with units for people; SI floats for formulas.

`Q_("500 KB")`, `Q_(3.35, "TB/s")` and `Q_("8 Gb/s")` make quantities; `bare` turns what a person gives (a number, a
text, a quantity) into a float in a stated unit, and `dressed` does the reverse. Bytes, FLOP, tokens, samples and USD
are dimensions of their own; a rate of tokens or samples may be read as `1/s`, and never as the other.
"""

from __future__ import annotations

import functools
import re
from pathlib import Path
from typing import Any

import pint
from pint.errors import PintError
from pint.facets.plain import PlainQuantity

_COUNT_RATES = [{count: 1.0, "[time]": -1.0} for count in ("[token]", "[sample]", "[parameter]")]


class _Registry(pint.UnitRegistry):
    """Our own definitions, and quantities that print ratios as plain numbers."""

    class Quantity(pint.UnitRegistry.Quantity):
        """A number with a unit, as `pint.Quantity`, printed the way the field writes it."""

        def __format__(self, spec: str) -> str:
            if self.unitless:
                return format(super().to("dimensionless").magnitude, spec.replace("~P", "").replace("~", ""))
            if str(self.units) in _RAW and (shown := readable(self)).units != self.units:
                return format(shown, spec)
            return super().__format__(spec if "~" in spec or "P" in spec else spec + "~P")

        def __str__(self) -> str:
            return format(self, "")

        def m_as(self, units: Any) -> Any:
            """The magnitude in other units; a rate of counts may be read as `1/s`."""
            return self.to(units).magnitude

        def to(self, other: Any = None, *contexts: Any, **ctx_kwargs: Any) -> Any:
            """Convert; a rate of tokens, samples or parameters may be read as `1/s`, never as each other."""
            try:
                return super().to(other, *contexts, **ctx_kwargs)
            except pint.DimensionalityError:
                own, target = dict(self.dimensionality), dict(ureg.get_dimensionality(other))
                if own in _COUNT_RATES and target == {"[time]": -1.0}:
                    return ureg.Quantity(self.to_base_units().magnitude, "1/s").to(other)
                raise


ureg = _Registry(filename=str(Path(__file__).with_name("units.txt")), autoconvert_offset_to_baseunit=False)
ureg.formatter.default_format = "~P"
pint.set_application_registry(ureg)

Q_ = ureg.Quantity
"""Make a quantity: `Q_("4 TB/s")` or `Q_(4, "TB/s")`."""

Quantity = ureg.Quantity


class UnitError(ValueError):
    """A value that cannot be read, or has the wrong dimension."""


@functools.cache
def unit(name: str) -> Any:
    """The Pint unit of a column's unit text."""
    return ureg.Unit(name or "dimensionless")


@functools.cache
def factor(name: str) -> float:
    """How many SI base units (byte, FLOP, token, sample, USD, s, kg-free J and W) one of the named unit holds.

    Raises UnitError when the text is not a unit.
    """
    try:
        return float(ureg.Quantity(1.0, name or "dimensionless").to_base_units().magnitude)
    except (PintError, AttributeError, TypeError, ValueError) as problem:
        raise UnitError(f"{name!r} is not a unit: {problem}") from problem


_NUMBER = re.compile(
    r"\s*[-+]?(\d{1,3}(?:,\d{3})+(?![\d,])(?:\.\d*)?|\d[\d_]*(?!\d*,)(?:\.\d*)?|\.\d+)([eE][-+]?\d+)?\s*", re.ASCII
)
"""Commas only between groups of three: `8,9` may be meant as 8.9, and is not 89."""
_UNIT = re.compile(r"(1\s*/\s*)?[A-Za-zµμ%$¢_]+\d?(\s*[/*]\s*[A-Za-zµμ%$¢_]+\d?){0,3}")
"""Names joined by `/` and `*`: what a plan's units need, and no more."""


@functools.lru_cache(maxsize=4096)
def parse(text: str) -> Any:
    """A quantity from text such as `"30 s"`, `"1e3 token/s"`, `"8 Gb/s"`, `"72"`.

    Raises UnitError when the text does not begin with a number or the rest is no unit.
    """
    found = _NUMBER.match(text)
    if not found or len(text) > 100:
        raise UnitError(f"{text[:100]!r} is not a number with a unit, such as '30 s' or '4 TB/s'")
    number, name = float(found[0].replace(",", "").replace("_", "")), text[found.end() :].strip()
    if name and not _UNIT.fullmatch(name):
        raise UnitError(f"{name!r} in {text!r} is not a unit")
    try:
        return ureg.Quantity(number, ureg.Unit(name or "dimensionless"))
    except (PintError, AttributeError, TypeError, ValueError, KeyError) as problem:
        raise UnitError(f"{name!r} in {text!r} is not a unit that is known here") from problem


def bare(value: Any, name: str) -> float:
    """The float that a person's value is in the column unit `name`.

    Args:
        value: a number (taken to be in that unit already), a text with a unit, or a quantity.
        name: the column's unit, such as `"byte"` or `"USD/hour"`.

    Raises:
        UnitError: the text cannot be read, or its dimension is another.
    """
    if isinstance(value, str):
        value = parse(value)
    if not isinstance(value, PlainQuantity):
        if isinstance(value, bool) or not hasattr(value, "__float__"):
            raise UnitError(f"{value!r} is not a number")
        return float(value)
    if value.unitless and not name:
        return float(value.m_as("dimensionless"))
    if value.unitless and name in _PLAIN_COUNTS:
        return float(value.m_as("dimensionless"))
    try:
        return float(ureg.Quantity(value.magnitude, str(value.units)).to(unit(name)).magnitude)
    except PintError as problem:
        raise UnitError(f"{value:~P} is not in {name or 'plain numbers'}: {_dimension_words(value, name)}") from problem


_PLAIN_COUNTS = ("token", "sample", "parameter", "")


def _dimension_words(value: Any, name: str) -> str:
    return f"its dimension is {value.dimensionality}, and {unit(name).dimensionality} is due"


def dressed(value: float, name: str) -> Any:
    """A quantity for a column's value; plain ratios stay floats.

    Built without Pint's constructor, which costs ten times as much.
    """
    if not name:
        return value
    made = object.__new__(ureg.Quantity)
    made._magnitude = value
    made._units = _container(name)
    return made


@functools.cache
def _container(name: str) -> Any:
    return ureg.Quantity(1.0, name)._units


_RAW = ("B", "B/s", "FLOP", "FLOP/s")
"""Units that nobody reads off: 8.5e10 B is printed as 79.2 GiB, and kept as it is."""

_SHOWN = {
    "byte": ("GiB", "MiB", "KiB", "B"),
    "byte/s": ("TB/s", "GB/s", "MB/s", "B/s"),
    "s": ("day", "hour", "s", "ms", "us"),
    "FLOP": ("ZFLOP", "EFLOP", "PFLOP", "TFLOP", "GFLOP", "FLOP"),
    "FLOP/s": ("PFLOP/s", "TFLOP/s", "GFLOP/s", "FLOP/s"),
    "W": ("MW", "kW", "W"),
    "J": ("GWh", "MWh", "kWh", "kJ", "J"),
}


def readable(quantity: Any) -> Any:
    """The same quantity in the unit a person would write it in: 82.3 GB rather than 8.23e10 byte."""
    for name, ladder in _SHOWN.items():
        if quantity.is_compatible_with(name):
            base = abs(quantity.m_as(name))
            fitting = (step for step in ladder if base >= factor(step) / factor(name))
            return quantity.to(next(fitting, ladder[-1]))
    return quantity
