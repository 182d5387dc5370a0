"""Figures as people write them: 8.24e10 byte is 76.7 GiB, 5.3e-07 USD/token is $0.53 per million tokens.

One ladder of units for each unit that columns are held in. No Pint: a page says thousands of figures.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from planner.show import number


@dataclass(frozen=True)
class Rung:
    """A unit people write: how many of the column's unit it holds, and what stands before and after the number."""

    factor: float
    after: str
    before: str = ""

    @property
    def name(self) -> str:
        """The unit as an axis or a header shows it."""
        return f"{self.before}{self.after}".strip()

    def write(self, value: float) -> str:
        """The value in this unit."""
        sign = "−" if value < 0 else ""
        gap = " " if self.after and self.after[0] not in "/" else ""
        size = abs(value)
        shown = f"{size:,}" if isinstance(size, int) else number(size / self.factor)
        return f"{sign}{self.before}{shown}{gap}{self.after}"


def _rungs(*steps: tuple[float, str], before: str = "") -> tuple[Rung, ...]:
    return tuple(Rung(factor, after, before) for factor, after in steps)


_GIB = 1024.0**3
LADDERS: dict[str, tuple[Rung, ...]] = {
    "s": _rungs((86400, "days"), (3600, "h"), (1, "s"), (1e-3, "ms"), (1e-6, "µs")),
    "byte": _rungs((1024 * _GIB, "TiB"), (_GIB, "GiB"), (1024**2, "MiB"), (1024, "KiB"), (1, "bytes")),
    "byte/s": _rungs((1e12, "TB/s"), (1e9, "GB/s"), (1e6, "MB/s"), (1, "B/s")),
    "byte/token": _rungs((1024**2, "MiB/token"), (1024, "KiB/token"), (1, "bytes/token")),
    "byte/sample": _rungs((1e9, "GB/sample"), (1e6, "MB/sample"), (1e3, "kB/sample"), (1, "bytes/sample")),
    "FLOP": _rungs((1e21, "ZFLOP"), (1e18, "EFLOP"), (1e15, "PFLOP"), (1e12, "TFLOP"), (1e9, "GFLOP"), (1, "FLOP")),
    "FLOP/s": _rungs((1e18, "EFLOP/s"), (1e15, "PFLOP/s"), (1e12, "TFLOP/s"), (1e9, "GFLOP/s"), (1, "FLOP/s")),
    "FLOP/token": _rungs((1e12, "TFLOP/token"), (1e9, "GFLOP/token"), (1, "FLOP/token")),
    "token": _rungs((1, "tokens")),
    "sample": _rungs((1, "samples")),
    "token/s": _rungs((1e6, "million tokens/s"), (1, "tokens/s")),
    "sample/s": _rungs((1, "samples/s")),
    "1/s": _rungs((1, "/s")),
    "W": _rungs((1e6, "MW"), (1e3, "kW"), (1, "W")),
    "J": _rungs((3.6e12, "GWh"), (3.6e9, "MWh"), (3.6e6, "kWh"), (1e3, "kJ"), (1, "J"), (1e-3, "mJ")),
    "J/token": _rungs((1, "J/token"), (1e-3, "mJ/token")),
    "g": _rungs((1e6, "t"), (1e3, "kg"), (1, "g"), (1e-3, "mg")),
    "g/J": _rungs((1 / 3.6e6, "g/kWh")),
    "USD": _rungs((1e6, "million"), (1, ""), before="$"),
    "USD/hour": _rungs((1, "/h"), before="$"),
    "USD/token": _rungs((1e-6, "per million tokens"), before="$"),
    "USD/sample": _rungs((1e-3, "per thousand samples"), before="$"),
    "USD/J": _rungs((1 / 3.6e6, "per kWh"), before="$"),
}
"""For each unit of columns, the units people write, the largest first."""


def ladder(unit: str) -> tuple[Rung, ...]:
    """The units people write for a column's unit; its own where nobody thought of better."""
    return LADDERS.get(unit) or (Rung(1.0, unit),)


@functools.cache
def unit_of_product(unit: str) -> str:
    """The unit that has a ladder of its own under another spelling (`USD/hour` for `USD / hour`)."""
    squeezed = unit.replace(" ", "")
    return squeezed if squeezed in LADDERS else unit


def rung_for(values: Iterable[float], unit: str) -> Rung:
    """The one unit in which a whole column reads well: the largest that leaves its median at 1 or more."""
    steps = ladder(unit_of_product(unit))
    sizes = sorted(abs(v) for v in values if math.isfinite(v) and v != 0)
    middle = sizes[len(sizes) // 2] if sizes else 0.0
    return _fitting(steps, middle) if middle else next((s for s in steps if s.factor == 1), steps[-1])


WHOLE = ("token", "sample", "byte", "FLOP")
"""What is counted: a whole number of these is said without decimals."""


def say(value: Any, unit: str = "") -> str:
    """A value of a column in words: with the unit people write, or a dash where there is none."""
    if value is None:
        return "–"
    if isinstance(value, str):
        return value
    if unit == "bool" or isinstance(value, bool):
        return "yes" if value else "no"
    value = float(value)
    if math.isnan(value):
        return "–"
    if unit in ("", "choice", "name"):
        return (
            f"{int(value):,}" if math.isfinite(value) and value == int(value) and abs(value) < 1e15 else number(value)
        )
    steps = ladder(unit_of_product(unit))
    if value == 0 or math.isinf(value):
        return next((s for s in steps if s.factor == 1), steps[-1]).write(value)
    rung = _fitting(steps, abs(value))
    if unit in WHOLE and value == int(value) and rung.factor == 1 and abs(value) < 1e15:
        return Rung(1.0, rung.after, rung.before).write(int(value))
    return rung.write(value)


def _fitting(steps: tuple[Rung, ...], size: float) -> Rung:
    return next((s for s in steps if size >= s.factor * 0.9995), steps[-1])
