"""What an evaluator returned, as named numbers with units: answers of solvers, dictionaries, or one number."""

from __future__ import annotations

import dataclasses
import numbers
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from solvers.columns import Column, declared

ALONE = "value"
"""The name of a result that is a number."""


@dataclasses.dataclass(frozen=True)
class Metrics:
    """One evaluation: values by name, and the columns that say what they are."""

    values: Mapping[str, Any]
    columns: Mapping[str, Column]
    solvers: Mapping[str, frozenset[str]]
    """For each solver (or key that holds several values), the names it made."""
    feasible: bool
    reasons: tuple[str, ...]


def metrics_of(result: Any) -> Metrics:
    """The named values in what an evaluator returned.

    Raises:
        TypeError: there are none: it returned nothing, or something that holds no numbers.
    """
    values: dict[str, Any] = {}
    columns: dict[str, Column] = {}
    solvers: dict[str, frozenset[str]] = {}
    reasons: dict[str, None] = {}
    feasible = True
    for group, fields in _groups(result):
        made = []
        for name, value in fields:
            if name == "feasible":
                feasible = feasible and bool(value)
            elif name == "reasons":
                reasons.update(dict.fromkeys(map(str, value or ())))
            else:
                read = _measured(group, name, value)
                if read is not None:
                    made.append(name)
                    values[name], columns[name] = read
        if group:
            solvers[group] = frozenset(made)
    if not values:
        raise TypeError(f"the evaluator returned {result!r:.80}: numbers by name, or solvers' answers, are due")
    return Metrics(values, columns, solvers, feasible, tuple(reasons))


def _groups(result: Any) -> Iterator[tuple[str, list[tuple[str, Any]]]]:
    if _is_value(result):
        yield "", [(ALONE, result)]
    elif isinstance(result, Mapping):
        yield "", [(str(k), v) for k, v in result.items() if _is_value(v) or k in ("feasible", "reasons")]
        for key, value in result.items():
            if not _is_value(value) and key != "reasons":
                yield str(key), list(_fields(value))
    else:
        yield type(result).__name__, list(_fields(result))


def _fields(value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, Mapping):
        yield from ((str(k), v) for k, v in value.items())
    elif isinstance(value, tuple) and hasattr(value, "_asdict"):
        yield from value._asdict().items()
    else:
        yield from ((k, v) for k, v in getattr(value, "__dict__", {}).items() if not k.startswith("_"))


def _is_value(value: Any) -> bool:
    return isinstance(value, (numbers.Real, np.bool_, str)) or _is_quantity(value)


def _is_quantity(value: Any) -> bool:
    return hasattr(value, "magnitude") and hasattr(value, "units")


def _measured(group: str, name: str, value: Any) -> tuple[Any, Column] | None:
    """The value in a stated unit, and the column that states it; None for what is no value."""
    known = _declared(group, name)
    if isinstance(value, (bool, np.bool_)):
        return bool(value), Column(name, "bool", "", group)
    if isinstance(value, str):
        return value, known or Column(name, "choice", "", group, choices=(value,))
    if isinstance(value, numbers.Real):
        return float(value), known if known is not None and not known.choices else Column(name, "", "", group)
    if not _is_quantity(value):
        return None
    from planner.study.dimensions import base_unit, measured
    from solvers.units import Q_, bare

    unit = known.unit if known is not None else base_unit(measured(str(value.units))[1])
    quantity = Q_(value.magnitude, str(value.units))
    return bare(quantity, unit), known or Column(name, unit, "", group)


def _declared(group: str, name: str) -> Column | None:
    """The column that a solver of that name declares."""
    from solvers.menu import SOLVERS

    return declared(SOLVERS[group].Answer, group).get(name) if group in SOLVERS else None
