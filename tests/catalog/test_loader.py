"""The loader refuses what cannot be trusted, and says all of it at once."""

from __future__ import annotations

from pathlib import Path

import pytest

from solvers.catalog import Catalog, CatalogError, catalog
from solvers.catalog.factors import FACTORS, worded
from solvers.catalog.loader import DATA
from solvers.catalog.quantities import unit_of
from solvers.catalog.tables import TABLES
from solvers.units import factor

HARDWARE = "hardware.csv"


def _append(folder: Path, file: str, line: str) -> Catalog:
    path = folder / file
    path.write_text(path.read_text() + line + "\n")
    return Catalog(folder)


def test_a_good_folder_is_read(folder: Path) -> None:
    chip = Catalog(folder).find("hardware", "chip 80gb")
    assert chip.name == "Chip-1"
    assert chip.get("memory_bandwidth") == 3.35e12
    assert chip.figures["peak_flops_bf16"].note == "dense"


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("Chip-2,tdp,,700,Wats,sheet,,datasheet", "'Wats' is not known"),
        ("Chip-2,tdp,,700,W,,,datasheet", "has no source"),
        ("Chip-2,tdp,,700,W,sheets,,datasheet", "no 'sheets' (near: sheet)"),
        ("Chip-2,memory_bandwidth,,2,TB/s,sheet,,datasheet", "stands twice"),
        ("Chip-2,tdp,,unknown,W,sheet,,datasheet", "an unknown figure has no row"),
        ("Chip-2,tdp,,nan,W,sheet,,datasheet", "an unknown figure has no row"),
        ("Chip-2,tdp,,-1,W,sheet,,datasheet", "0 or above"),
        ("Chip-2,tdp,,700,W,sheet,,guess", "is not a kind of figure"),
        ("Chip-2,tdp,,700,W", "5 cells under 8 columns"),
    ],
)
def test_a_bad_row_is_refused_with_its_line(folder: Path, line: str, said: str) -> None:
    with pytest.raises(CatalogError) as raised:
        _append(folder, HARDWARE, line).entries("hardware")
    assert said in str(raised.value)
    assert "hardware.csv:5" in str(raised.value)


def test_all_complaints_come_together(folder: Path) -> None:
    bad = _append(folder, HARDWARE, "Chip-2,tdp,,700,Wats,sheet,,datasheet\nChip-2,clock,,-1,MHz,,,datasheet")
    with pytest.raises(CatalogError) as raised:
        bad.entries("hardware")
    assert all(said in str(raised.value) for said in ("Wats", "no source", "0 or above"))


def test_a_name_stands_for_one_entry(folder: Path) -> None:
    with pytest.raises(CatalogError, match="'Chip' names both"):
        _append(folder, "names.csv", "hardware,Chip-2,Hardware.Cloud.Chip2,Chip").entries("hardware")


def test_a_source_needs_a_title_and_a_locator(folder: Path) -> None:
    with pytest.raises(CatalogError, match="needs a title and a locator"):
        _append(folder, "sources.csv", "other,,,2024,paper").entries("hardware")


def test_a_missing_column_and_a_missing_file_are_named(folder: Path) -> None:
    (folder / HARDWARE).write_text("item,value\n")
    with pytest.raises(CatalogError, match="lacks the columns quantity"):
        Catalog(folder).entries("hardware")
    (folder / HARDWARE).unlink()
    with pytest.raises(CatalogError, match="cannot be read"):
        Catalog(folder).entries("hardware")


@pytest.mark.parametrize("unit", [u for u in FACTORS if not worded(u) and u not in ("flag", "count", "ratio", "TOP/s")])
def test_pint_agrees_with_the_loaders_factors(unit: str) -> None:
    ours, held = FACTORS[unit]
    assert ours == pytest.approx(factor(unit) / factor(held), rel=1e-12)


@pytest.mark.parametrize("kind", TABLES)
def test_the_shipped_files_are_good(kind: str) -> None:
    entries = catalog.entries(kind)
    assert entries
    for entry in entries:
        assert entry.figures
        for figure in entry.figures.values():
            assert catalog.source(figure.source).title


@pytest.mark.parametrize("kind", [k for k in TABLES if k not in ("constant", "price")])
def test_every_shipped_figure_may_be_overridden(kind: str) -> None:
    figures = {(q, f.unit) for e in catalog.entries(kind) for q, f in e.figures.items()}
    assert all(unit_of(kind, quantity) == unit for quantity, unit in figures)


def test_the_digest_changes_with_a_figure(folder: Path) -> None:
    before = Catalog(folder).digest()
    assert before == Catalog(folder).digest()
    given = Catalog(folder).with_overrides({"hardware": {"Chip-1": {"memory_bandwidth": "4 TB/s"}}})
    assert given.digest() != before
    assert _append(folder, HARDWARE, "Chip-2,tdp,,700,W,sheet,,datasheet").digest() != before


def test_every_source_is_used() -> None:
    cited = {f.source for kind in TABLES for e in catalog.entries(kind) for f in e.figures.values()}
    listed = {line.split(",")[0] for line in (DATA / "sources.csv").read_text().splitlines()[1:]}
    assert listed <= cited
