"""A small table of trials: columns as arrays, rows as mappings.

A report needs no more, and importing pandas takes longer than most studies run.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa


@dataclass(frozen=True, eq=False)
class Table:
    """Columns of equal length by name; words are objects, everything else numbers or truth values."""

    columns: Mapping[str, np.ndarray]

    @staticmethod
    def of(table: pa.Table | pa.RecordBatch) -> Table:
        """The columns of an Arrow table; numbers that are absent become NaN, words None."""
        return Table({name: _array(table.column(name)) for name in table.schema.names})

    @staticmethod
    def joined(tables: Iterable[Table]) -> Table:
        """Tables of the same columns, one below the other."""
        listed = list(tables)
        if not listed:
            return Table({})
        return Table({n: np.concatenate([t[n] for t in listed]) for n in listed[0].columns})

    def __len__(self) -> int:
        return len(next(iter(self.columns.values()))) if self.columns else 0

    def __contains__(self, name: str) -> bool:
        return name in self.columns

    def __getitem__(self, name: str) -> np.ndarray:
        return self.columns[name]

    def row(self, place: int) -> dict[str, Any]:
        """One row, values as Python's own."""
        return {n: v.item() if hasattr(v := c[place], "item") else v for n, c in self.columns.items()}

    def take(self, rows: Any) -> Table:
        """Some rows, by their places or by a mask."""
        return Table({n: c[rows] for n, c in self.columns.items()})

    def with_column(self, name: str, values: np.ndarray) -> Table:
        """The table with one column added or replaced."""
        return Table({**self.columns, name: values})


def indices(rows: np.ndarray) -> pa.Array:
    """Places of rows as Arrow takes them; `pa.array` would import pandas to ask whether it was given a series."""
    held = np.ascontiguousarray(rows, dtype=np.int64)
    return pa.Array.from_buffers(pa.int64(), len(held), [None, pa.py_buffer(held)])


def _array(column: pa.Array | pa.ChunkedArray) -> np.ndarray:
    """A column as NumPy has it, without Arrow's own way to objects, which imports pandas."""
    if not (pa.types.is_floating(column.type) or pa.types.is_integer(column.type)):
        made = np.empty(len(column), dtype=object)
        made[:] = column.to_pylist()
        return made.astype(bool) if pa.types.is_boolean(column.type) and not column.null_count else made
    chunks = column.chunks if isinstance(column, pa.ChunkedArray) else [column]
    kind = np.dtype(column.type.to_pandas_dtype())
    if column.null_count:
        return np.array([np.nan if v is None else v for v in column.to_pylist()], dtype=np.float64)
    buffers = [np.frombuffer(c.buffers()[1], kind, len(c), c.offset * kind.itemsize) for c in chunks if len(c)]
    return np.concatenate(buffers) if buffers else np.empty(0, kind)
