"""From names to columns: the only place that reads the catalogue for the formulas.

`LOWERINGS` says, a line each, which record is filled by which function from which names. To add a record: declare
its dataclass beside its formulas, write its row function here, and add a line.
"""

from __future__ import annotations

import dataclasses
import functools
import itertools
import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from solvers.columns import Array, Column
from solvers.lowering.menu import LOWERINGS, SELECTORS, Lowering, Selector

__all__ = [
    "LOWERINGS",
    "SELECTORS",
    "Lowering",
    "Menus",
    "Selector",
    "absent",
    "gaps",
    "hardware_of",
    "keys_of",
    "known_fields",
    "lower",
    "single",
]

Menus = Mapping[str, tuple[Any, ...]]
"""For each selecting name, the catalogue entries that its integer codes stand for."""


def lowering_of(record: type) -> Lowering:
    """The line of `LOWERINGS` for a record type."""
    return LOWERINGS[record.__name__]


def keys_of(column: Column) -> tuple[str, ...]:
    """The names that select a record input."""
    assert column.record is not None
    return column.keys or lowering_of(column.record).keys


@functools.cache
def known_fields(record: type) -> tuple[str, ...]:
    """The names of a record's fields."""
    return tuple(f.name for f in dataclasses.fields(record))


@functools.lru_cache(maxsize=512)
def _table(record: type, entries: tuple[tuple[Any, ...], ...]) -> dict[str, np.ndarray]:
    """One array for each field, with an axis for each key: every combination of the entries."""
    row: Callable[..., Mapping[str, float]] = lowering_of(record).row()
    rows = [row(*combination) for combination in itertools.product(*entries)]
    shape = tuple(len(e) for e in entries)
    fields = known_fields(record)
    return {f: np.array([float(r[f]) for r in rows]).reshape(shape) for f in fields}


@functools.lru_cache(maxsize=512)
def single(record: type, entries: tuple[Any, ...]) -> Any:
    """The record of one combination, every field a NumPy scalar."""
    table = _table(record, tuple((e,) for e in entries))
    return record(**{name: values.reshape(())[()] for name, values in table.items()})


@functools.cache
def absent(record: type) -> Any:
    """The record that nobody selected: every field NaN."""
    return record(**dict.fromkeys(known_fields(record), np.float64(math.nan)))


def lower(column: Column, menus: Menus, codes: Mapping[str, Array]) -> Any:
    """The record of a solver's input for the given codes.

    Args:
        column: the record input, as declared.
        menus: the entries behind each key's codes.
        codes: an integer array for each key, of any shapes that broadcast.

    Returns:
        An instance of the record, each field shaped as the codes of its keys broadcast together.
    """
    assert column.record is not None
    keys = keys_of(column)
    if all(key not in menus for key in keys):
        return absent(column.record)
    table = _table(column.record, tuple(menus.get(key, (None,)) for key in keys))
    index = tuple(np.asarray(codes.get(key, 0)) for key in keys)
    return column.record(**{name: values[index] for name, values in table.items()})


def hardware_of(fleet: Any, catalog: Any = None) -> Any:
    """The accelerator that a fleet is made of, as a catalogue entry."""
    if catalog is None:
        from solvers.catalog import catalog
    return catalog.find("hardware", fleet.text("hardware"))


def gaps(column: Column, menus: Menus, overridden: Mapping[str, Any]) -> list[tuple[str, Any]]:
    """The needed fields that the catalogue lacks for some entry: pairs of field and the entries' names."""
    if not column.needs or column.record is None:
        return []
    keys = keys_of(column)
    if all(key not in menus for key in keys):
        return []
    entries = tuple(menus.get(key, (None,)) for key in keys)
    table = _table(column.record, entries)
    missing = []
    for need in column.needs:
        if need in overridden:
            continue
        where = np.argwhere(np.isnan(table[need]))
        names = sorted({str(getattr(entries[0][i[0]], "name", entries[0][i[0]])) for i in where})
        missing += [(need, name) for name in names]
    return missing
