"""What people write for a parameter: choices (`[1, 2, 4]`), or a range (`{low: 1, high: 16, powers_of: 2}`)."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Mapping
from decimal import Decimal, InvalidOperation
from typing import Any

import numpy as np

from planner.study.space import Parameter
from solvers.complaints import near

RANGE_KEYS = ("low", "high", "step", "powers_of", "log", "integer")
MOST_LEVELS = 10_000_000


class ParameterError(ValueError):
    """What is written for a parameter makes no sense; `key` says which part of it."""

    def __init__(self, message: str, key: tuple[Any, ...] = ()) -> None:
        self.key = key
        super().__init__(message)


def choices(name: str, given: list[Any], read: Callable[[Any], tuple[Any, Any]]) -> Parameter:
    """A parameter with the levels written.

    Args:
        name: of the parameter.
        given: the levels as written.
        read: turns what is written into a pair of what people read and what a chain takes; raises ValueError.

    Raises:
        ParameterError: there are no levels, one cannot be read, or two are the same.
    """
    if not given:
        raise ParameterError("has no choices")
    labels, held = [], []
    seen: dict[Any, int] = {}
    for place, value in enumerate(given):
        if isinstance(value, (list, dict)):
            raise ParameterError(f"{value!r} is no choice; a number, a name or true and false are", (place,))
        try:
            label, code = read(value)
        except ValueError as problem:
            raise ParameterError(str(problem), (place,)) from problem
        if code in seen:
            raise ParameterError(
                f"{value!r} stands twice (as {given[seen[code]]!r} before): each choice once", (place,)
            )
        seen[code] = place
        labels.append(label)
        held.append(code)
    return Parameter(name, tuple(labels), np.array(held))


def span(
    name: str, given: Mapping[str, Any], read: Callable[[Any], float], integer: bool, step_of: Callable[[Any], float]
) -> Parameter:
    """A parameter between two ends.

    Args:
        name: of the parameter.
        given: `low`, `high`, and `step`, `powers_of` or `log`.
        read: turns an end into a number in the column's unit; raises ValueError.
        integer: whether the column takes whole numbers only.
        step_of: turns a step into a number in the column's unit; raises ValueError.

    Raises:
        ParameterError: a key is unknown or missing, or the ends make no range.
    """
    for key in given:
        if key not in RANGE_KEYS:
            raise ParameterError(f"is no key of a range{near(str(key), RANGE_KEYS)}", (key,))
    for key in ("low", "high"):
        if key not in given:
            raise ParameterError(f"a range needs {key}")
    low, high = _number(given, "low", read), _number(given, "high", read)
    if low > high:
        raise ParameterError(f"low is {given['low']} and high is {given['high']}: low must not be above high", ("low",))
    whole = integer or _flag(given, "integer")
    log = _flag(given, "log")
    if sum((log, "step" in given, "powers_of" in given)) > 1:
        raise ParameterError("takes one of step, powers_of and log")
    if "step" in given:
        return _levels(name, _stepped(low, high, _number(given, "step", step_of), given), whole)
    if "powers_of" in given:
        return _levels(name, _powers(low, high, given["powers_of"]), whole)
    if log and low <= 0:
        raise ParameterError("a logarithmic range begins above 0", ("low",))
    if whole and (low != int(low) or high != int(high)):
        raise ParameterError("whole numbers are due at both ends")
    if low == high:
        return _levels(name, [low], whole)
    return Parameter(name, None, low=low, high=high, log=log, integer=whole)


def _number(given: Mapping[str, Any], key: str, read: Callable[[Any], float]) -> float:
    try:
        number = float(read(given[key]))
    except (ValueError, TypeError) as problem:
        raise ParameterError(str(problem), (key,)) from problem
    if not math.isfinite(number):
        raise ParameterError(f"{given[key]!r} is not finite", (key,))
    return number


def _flag(given: Mapping[str, Any], key: str) -> bool:
    value = given.get(key, False)
    if not isinstance(value, bool):
        raise ParameterError(f"{value!r} is neither true nor false", (key,))
    return value


def _stepped(low: float, high: float, step: float, given: Mapping[str, Any]) -> list[float]:
    """Low, low + step, ..., in decimal arithmetic, so that 0.3 + 61 steps of 0.005 is 0.605 and not nearly so."""
    if step <= 0:
        raise ParameterError("a step is above 0", ("step",))
    first, last, stride = (Decimal(repr(x)) for x in (low, high, step))
    count = int((last - first) / stride) + 1
    if count > MOST_LEVELS:
        raise ParameterError(f"has {count:,} levels; at most {MOST_LEVELS:,} are allowed", ("step",))
    levels = [float(first + k * stride) for k in range(count)]
    if levels[-1] < high:
        warnings.warn(f"steps of {given['step']} end at {levels[-1]:g}, before high: {given['high']}", stacklevel=4)
    return levels


def _powers(low: float, high: float, given: Any) -> list[float]:
    """The whole powers of a base between the ends, ends included."""
    try:
        base = Decimal(repr(given)) if type(given) in (int, float) else Decimal(-1)
    except InvalidOperation:
        base = Decimal(-1)
    if not base.is_finite() or base <= 1:
        raise ParameterError(f"{given!r} is no base; a number above 1 is due", ("powers_of",))
    if low <= 0:
        raise ParameterError("powers begin above 0", ("low",))
    first = math.floor(math.log(low) / math.log(float(base))) - 1
    last = math.ceil(math.log(high) / math.log(float(base))) + 1
    levels = [float(base**k) for k in range(first, last + 1)]
    levels = [v for v in levels if low <= v <= high]
    if not levels:
        raise ParameterError(f"no power of {given} lies between {low:g} and {high:g}", ("powers_of",))
    return levels


def _levels(name: str, levels: list[float], whole: bool) -> Parameter:
    if whole:
        broken = next((v for v in levels if v != int(v)), None)
        if broken is not None:
            raise ParameterError(f"{broken:g} is not a whole number")
        return Parameter(name, tuple(int(v) for v in levels), np.array(levels))
    return Parameter(name, tuple(levels), np.array(levels))
