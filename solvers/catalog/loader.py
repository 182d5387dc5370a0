"""Read the data files, and refuse what cannot be trusted: unknown units, missing sources, duplicates, odd values.

All complaints about a file are collected and raised together.
"""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Iterator
from pathlib import Path

from solvers.catalog.entries import CatalogError, Entry, Figure, Source, near_names
from solvers.catalog.factors import FACTORS, worded
from solvers.catalog.tables import FIGURE_ROW, IDENTITY, KINDS_OF_FIGURE, Table

DATA = Path(__file__).parent / "data"
Names = dict[tuple[str, str], tuple[str, tuple[str, ...]]]
"""Path and aliases by kind and name."""


def read_sources(folder: Path) -> dict[str, Source]:
    """The sources, by key."""
    rows, complaints = _rows(folder / "sources.csv", Source._fields), []
    found: dict[str, Source] = {}
    for line, row in rows:
        if row["key"] in found:
            complaints.append(f"sources.csv:{line}: the source {row['key']!r} stands twice")
        if not row["title"] or not row["locator"]:
            complaints.append(f"sources.csv:{line}: the source {row['key']!r} needs a title and a locator")
        found[row["key"]] = Source(**{f: row[f] for f in Source._fields})
    _refuse(complaints)
    return found


def read_names(folder: Path) -> Names:
    """Path and aliases of the entries of figure files, by kind and name."""
    rows = _rows(folder / "names.csv", ("kind", "name", "path", "aliases"))
    return {(r["kind"], r["name"]): (r["path"], _split(r["aliases"])) for _, r in rows}


def read_entries(folder: Path, table: Table, sources: dict[str, Source], names: Names) -> dict[str, Entry]:
    """The entries of one kind, by name.

    Raises:
        CatalogError: with every complaint about the file.
    """
    complaints: list[str] = []
    made = _from_table if table.columns is not None else _from_figures
    entries = {e.name: e for e in made(folder, table, sources, names, complaints)}
    complaints += _clashes(table, entries)
    _refuse(complaints)
    return entries


def _from_table(
    folder: Path,
    table: Table,
    sources: dict[str, Source],
    names: Names,
    complaints: list[str],
) -> Iterator[Entry]:
    units = table.columns or {}
    seen: set[str] = set()
    for line, row in _rows(folder / table.file, ("name", "aliases", "source", "kind")):
        where = f"{table.file}:{line}: {row['name']}"
        source, kind, confidence = row["source"], row["kind"], row.get("confidence", "")
        _check(where, source, kind, None if table.citations else sources, complaints)
        if row["name"] in seen:
            complaints.append(f"{where} stands twice")
        seen.add(row["name"])
        figures = {}
        for quantity, cell in row.items():
            if not cell or quantity in IDENTITY:
                continue
            unit = units.get(quantity)
            if unit is None:
                complaints.append(f"{table.file}: the column {quantity!r} is not known to the loader")
                continue
            value, held = _value(cell, unit, where, complaints)
            figures[quantity] = Figure(quantity, value, held, cell, unit, source, row["note"], kind, confidence)
        path = row.get("path") or f"{table.root}.{identifier(row['name'])}"
        yield Entry(table.kind, row["name"], path, _split(row["aliases"]), figures)


def _from_figures(
    folder: Path,
    table: Table,
    sources: dict[str, Source],
    names: Names,
    complaints: list[str],
) -> Iterator[Entry]:
    items: dict[str, dict[str, Figure]] = {}
    for line, row in _rows(folder / table.file, FIGURE_ROW):
        item, unit = row["item"], row["unit"]
        quantity = f"{row['quantity']}_{row['variant']}" if row["variant"] else row["quantity"]
        where = f"{table.file}:{line}: {item} {quantity}"
        figures = items.setdefault(item, {})
        if quantity in figures:
            complaints.append(f"{where} stands twice")
        _check(where, row["source"], row["kind"], sources, complaints)
        value, held = _value(row["value"], unit, where, complaints)
        figures[quantity] = Figure(quantity, value, held, row["value"], unit, row["source"], row["note"], row["kind"])
    for item, figures in items.items():
        path, aliases = names.get((table.kind, item), ("", ()))
        yield Entry(table.kind, item, path or f"{table.root}.{identifier(item)}", aliases, figures)


def identifier(name: str) -> str:
    """The name as a Python identifier."""
    word = re.sub(r"\W+", "_", name).strip("_")
    return f"_{word}" if word[:1].isdigit() else word


def _value(cell: str, unit: str, where: str, complaints: list[str]) -> tuple[float | str, str]:
    if unit not in FACTORS:
        near = near_names(unit, FACTORS)
        complaints.append(f"{where}: the unit {unit!r} is not known" + (f" (near: {near})" if near else ""))
        return math.nan, unit
    factor, held = FACTORS[unit]
    if worded(unit):
        return cell, held
    try:
        value = float(cell) * factor
    except ValueError:
        value = math.nan
    if not math.isfinite(value) or value < 0:
        complaints.append(f"{where}: {cell!r} is not a number, 0 or above; an unknown figure has no row")
    return value, held


def _check(where: str, source: str, kind: str, sources: dict[str, Source] | None, complaints: list[str]) -> None:
    if not source:
        complaints.append(f"{where} has no source")
    elif sources is not None and source not in sources:
        near = near_names(source, sources)
        complaints.append(f"{where}: sources.csv has no {source!r}" + (f" (near: {near})" if near else ""))
    if kind not in KINDS_OF_FIGURE:
        complaints.append(f"{where}: {kind!r} is not a kind of figure ({', '.join(KINDS_OF_FIGURE)})")


def _clashes(table: Table, entries: dict[str, Entry]) -> list[str]:
    owner: dict[str, str] = {}
    found = []
    for entry in entries.values():
        for name in {entry.name, entry.path, *entry.aliases}:
            if owner.setdefault(name, entry.name) != entry.name:
                found.append(f"{table.file}: {name!r} names both {owner[name]} and {entry.name}")
    return found


def _rows(path: Path, needed: tuple[str, ...]) -> list[tuple[int, dict[str, str]]]:
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as problem:
        raise CatalogError(f"{path.name} cannot be read: {problem}") from problem
    reader = csv.reader(text.splitlines())
    header = next(reader, [])
    missing = [c for c in needed if c not in header]
    if missing:
        raise CatalogError(f"{path.name} lacks the columns {', '.join(missing)}")
    rows = []
    for row in reader:
        if len(row) != len(header):
            raise CatalogError(f"{path.name}:{reader.line_num}: {len(row)} cells under {len(header)} columns")
        rows.append((reader.line_num, dict(zip(header, row, strict=True))))
    return rows


def _split(cell: str) -> tuple[str, ...]:
    return tuple(a for a in cell.split(";") if a)


def _refuse(complaints: list[str]) -> None:
    if complaints:
        raise CatalogError("the catalogue has faults:\n  " + "\n  ".join(dict.fromkeys(complaints)))
