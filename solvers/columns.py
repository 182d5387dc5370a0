"""What a column is: a name, a unit, a meaning and the values it may take.

Everything that flows along the line is a column: float64 in SI base units (bytes, FLOP, tokens, samples and USD
count as base units of their own), or an integer code for a choice. A column is declared once, by annotating the
field of a frozen dataclass, and everything else (wiring, checks, documentation, Parquet metadata) reads that.

    class Plan:                                   # what a solver is asked
        seq_len: TokenCount = parameter("tokens in a sequence", default=2048, minimum=1)
    class Answer:                                 # what it says
        latency: Second = column("one step, start to end")
"""

from __future__ import annotations

import dataclasses
import functools
import typing
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np

Array = Any
"""A float, an integer code, or an array of them: formulas broadcast, so they cannot tell the difference."""


@dataclass(frozen=True)
class Unit:
    """The unit a column is held in, in our own Pint spelling (`""` is a plain ratio)."""

    name: str


Second = Annotated[Array, Unit("s")]
Flop = Annotated[Array, Unit("FLOP")]
FlopPerSecond = Annotated[Array, Unit("FLOP/s")]
Byte = Annotated[Array, Unit("byte")]
BytePerSecond = Annotated[Array, Unit("byte/s")]
BytePerToken = Annotated[Array, Unit("byte/token")]
BytePerSample = Annotated[Array, Unit("byte/sample")]
FlopPerToken = Annotated[Array, Unit("FLOP/token")]
Token = Annotated[Array, Unit("token")]
TokenPerSecond = Annotated[Array, Unit("token/s")]
Sample = Annotated[Array, Unit("sample")]
SamplePerSecond = Annotated[Array, Unit("sample/s")]
PerSecond = Annotated[Array, Unit("1/s")]
Watt = Annotated[Array, Unit("W")]
Joule = Annotated[Array, Unit("J")]
JoulePerToken = Annotated[Array, Unit("J/token")]
Usd = Annotated[Array, Unit("USD")]
UsdPerHour = Annotated[Array, Unit("USD/hour")]
UsdPerToken = Annotated[Array, Unit("USD/token")]
UsdPerJoule = Annotated[Array, Unit("USD/J")]
Gram = Annotated[Array, Unit("g")]
GramPerJoule = Annotated[Array, Unit("g/J")]
Ratio = Annotated[Array, Unit("")]
Count = Annotated[Array, Unit("")]
Flag = Annotated[Array, Unit("bool")]
"""True or false, held as a boolean array."""
Choice = Annotated[Array, Unit("choice")]
"""An integer code; the field names its `choices`."""
Reasons = Annotated[Array, Unit("reasons")]
"""A bit for every reason why the plan is infeasible; 0 is feasible. See `solvers.reasons`."""


class _Required:
    def __repr__(self) -> str:
        return "required"


REQUIRED = _Required()
"""The default of an input that somebody has to give."""


@dataclass(frozen=True)
class Column:
    """A declared column: all that is known of a name."""

    name: str
    unit: str
    description: str
    made_by: str = ""
    default: Any = REQUIRED
    optional: bool = False
    integer: bool = False
    minimum: float | None = None
    maximum: float | None = None
    above: float | None = None
    choices: tuple[str, ...] = ()
    source: str = ""
    record: type | None = None
    keys: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()

    @property
    def required(self) -> bool:
        """True when somebody has to give a value: no default, and not optional."""
        return self.default is REQUIRED and not self.optional and self.record is None

    def allowed(self) -> str:
        """The permitted range, in words."""
        if self.choices:
            return "one of " + ", ".join(self.choices)
        if self.unit == "name":
            return "a name in the catalogue"
        kind = "a whole number" if self.integer else "a finite number"
        if self.unit == "bool":
            return "true or false"
        bounds = [
            f"above {self.above:g}" if self.above is not None else "",
            f"at least {self.minimum:g}" if self.minimum is not None else "",
            f"at most {self.maximum:g}" if self.maximum is not None else "",
        ]
        words = " and ".join(b for b in bounds if b)
        unit = f" (in {self.unit})" if self.unit else ""
        return f"{kind} {words}{unit}".replace("  ", " ").strip()


def parameter(
    description: str,
    *,
    default: Any = REQUIRED,
    optional: bool = False,
    integer: bool = False,
    minimum: float | None = None,
    maximum: float | None = None,
    above: float | None = None,
    choices: tuple[str, ...] = (),
    source: str = "",
) -> Any:
    """Declare an input of a solver.

    `default` is in the documented unit (or a choice's name). `optional` inputs that nobody gives are NaN inside.
    `above` is an exclusive lower bound. `source` names another column that supplies the value in a chain when
    nobody gives it, as `accelerator_step_time` takes `latency`.
    """
    meta = {
        "description": description, "default": default, "optional": optional, "integer": integer, "minimum": minimum,
        "maximum": maximum, "above": above, "choices": choices, "source": source,
    }  # fmt: skip
    return dataclasses.field(metadata=meta)


def column(
    description: str,
    *,
    choices: tuple[str, ...] = (),
    integer: bool = False,
    minimum: float | None = None,
    above: float | None = None,
    maximum: float | None = None,
) -> Any:
    """Declare a column that a solver makes, or a field of a catalogue record.

    The range is what a person may give in a record's place; where none is stated a figure is not negative.
    """
    meta = {
        "description": description, "choices": choices, "integer": integer, "minimum": minimum, "above": above,
        "maximum": maximum,
    }  # fmt: skip
    return dataclasses.field(metadata=meta)


def record(description: str, *, keys: tuple[str, ...] = (), needs: tuple[str, ...] = (), optional: bool = False) -> Any:
    """Declare an input that is a whole catalogue record (an `Architecture`, a `Device`, ...).

    `keys` are the names that select it where they differ from the usual ones (`("draft_model",)`); `needs` are the
    fields without which there is no answer, so that a gap in the catalogue is an error that says what to supply.
    Every field of an `optional` record that nobody selects is NaN.
    """
    meta = {"description": description, "keys": keys, "needs": needs, "optional": optional}
    return dataclasses.field(metadata=meta)


@functools.cache
def declared(cls: type, made_by: str = "") -> dict[str, Column]:
    """The columns that a frozen dataclass declares, by name, in order."""
    hints = typing.get_type_hints(cls, include_extras=True)
    found = {}
    for item in dataclasses.fields(cls):
        hint, meta = hints[item.name], dict(item.metadata)
        if dataclasses.is_dataclass(hint):
            found[item.name] = Column(item.name, "record", made_by=made_by, record=hint, **meta)  # type: ignore[arg-type]
            continue
        unit = next((m.name for m in getattr(hint, "__metadata__", ()) if isinstance(m, Unit)), None)
        if unit is None or "description" not in meta:
            needed = "a unit alias and parameter(...), column(...) or record(...)"
            raise TypeError(f"{cls.__name__}.{item.name} needs {needed}")
        found[item.name] = Column(item.name, unit, made_by=made_by, **meta)
    return found


def where(condition: Array, then: Array, otherwise: Array) -> Array:
    """`np.where`, which for a single condition is the chosen value itself: a third of a scalar formula's time."""
    if np.ndim(condition) == 0:
        return then if condition else otherwise
    return np.where(condition, then, otherwise)


def either(
    condition: Array, then: Callable[[], tuple[Array, ...]], otherwise: Callable[[], tuple[Array, ...]]
) -> tuple[Array, ...]:
    """Row by row the columns of one function or of the other; for a single condition only the one is called."""
    if np.ndim(condition) == 0:
        return then() if condition else otherwise()
    return tuple(where(condition, one, other) for one, other in zip(then(), otherwise(), strict=True))


def given(value: Array) -> Array:
    """True where an optional input was given."""
    return ~np.isnan(value)


def otherwise(value: Array, fallback: Array) -> Array:
    """The optional input where it was given, the fallback elsewhere."""
    return where(np.isnan(value), fallback, value)
