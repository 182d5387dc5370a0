"""Figures that a person gives: overridden, derived and new entries."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from solvers.catalog.entries import CatalogError, Entry, Figure
from solvers.catalog.pricing import priced
from solvers.catalog.quantities import unit_of

GIVEN = "given"
"""The source of a figure that came from a study or from Python."""


def given_figures(
    kind: str, name: str, values: Mapping[str, Any], present: Mapping[str, Figure] | None = None
) -> dict[str, Figure]:
    """Figures in SI from numbers (already SI), quantities or text with a unit.

    A figure that is `present` keeps its unit; a new one must be a figure that entries of the kind have.

    Raises:
        CatalogError: with every value that cannot be read and every figure that no entry of the kind has.
    """
    made, complaints = {}, []
    for quantity, value in values.items():
        try:
            held = (present or {}).get(quantity)
            made[quantity] = _figure(quantity, held.unit if held else unit_of(kind, quantity), value)
        except ValueError as problem:
            complaints.append(f"{kind} {name}: {quantity}: {problem}")
    if complaints:
        raise CatalogError("\n".join(complaints))
    return priced(made)


def changed(entry: Entry | None, kind: str, name: str, values: Mapping[str, Any]) -> Entry:
    """The entry with figures overridden, or a new one; one of another name remembers what it is `based_on`."""
    figures = given_figures(kind, name, values, entry.figures if entry else None)
    if entry is None:
        return Entry(kind, name, "", (), figures)
    if name in (entry.name, entry.path, *entry.aliases):
        return Entry(kind, entry.name, entry.path, entry.aliases, {**entry.figures, **figures})
    parent = entry.text("based_on", entry.name)
    origin = Figure("based_on", parent, "text", parent, "text", GIVEN, kind="given")
    return Entry(kind, name, "", (), {**entry.figures, **figures, "based_on": origin})


def _figure(quantity: str, unit: str, value: Any) -> Figure:
    if unit in ("text", "date"):
        return Figure(quantity, str(value), unit, str(value), unit, GIVEN, kind="given")
    if unit == "bool":
        if value not in (True, False, 0, 1):
            raise CatalogError(f"true or false is due, not {value!r}")
        return Figure(quantity, float(value), unit, str(value), unit, GIVEN, kind="given")
    number = _number(value, unit)
    if not math.isfinite(number) or number < 0:
        raise CatalogError(f"a finite number, 0 or above, is due, not {value!r}")
    return Figure(quantity, number, unit, str(value), unit, GIVEN, kind="given")


def _number(value: Any, unit: str) -> float:
    if isinstance(value, int | float) and not isinstance(value, bool):
        return float(value)
    from solvers.units import bare

    return bare(value, unit)
