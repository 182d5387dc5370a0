"""Calibrated constants, listed beside the other figures.

Formulas read them through their parameters' defaults (`solvers.lowering.constants`), so a study replaces one by
giving the parameter, and not through the catalogue.
"""

from __future__ import annotations

import csv
from pathlib import Path

from solvers.catalog.entries import CatalogError, Entry, Figure

_STATED = frozenset({"quantity", "value", "unit", "source", "kind", "fit_error", "note", "n_rows"})
"""Columns that are not part of a constant's name."""


def read_constants(folder: Path) -> dict[str, Entry]:
    """Every row of every `<family>_constants.csv`: `<family> <quantity> <device> <precision> ...`, with one `value`."""
    found: dict[str, Entry] = {}
    for file in sorted(folder.glob("*_constants.csv")):
        family = file.stem.removesuffix("_constants")
        for row in csv.DictReader(file.read_text(encoding="utf-8").splitlines()):
            keys = [row["quantity"], *(v for k, v in row.items() if k not in _STATED and v)]
            name = f"{family} {' '.join(keys)}"
            if not row["source"]:
                raise CatalogError(f"{file.name}: {name} has no source")
            note = f"fit error {float(row['fit_error']):.0%}; {row['note'] or ''}".rstrip("; ")
            value, unit = float(row["value"]), row["unit"]
            figure = Figure("value", value, unit, row["value"], unit, row["source"], note, row["kind"])
            found[name] = Entry("constant", name, f"Constants.{family}.{'_'.join(keys)}", (), {"value": figure})
    return found
