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
        return Table({n: np.asarray(table.column(n).to_numpy(zero_copy_only=False)) for n in table.schema.names}
                     if isinstance(table, pa.RecordBatch)
                     else {n: np.asarray(table.column(n).to_numpy()) for n in table.schema.names})  # fmt: skip

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
