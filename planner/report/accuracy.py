"""How far off the solvers were on published measurements, where that is recorded.

`accuracy.csv` is written by `benchmarks/accuracy.py` from the validation scores: for each solver and kind of
measurements the median over cells (of family and metric) of the cell's median error, and the same for each metric that
three cells or more hold. The rows were there when the constants were fitted: what to expect of an unseen family is
worse, and stands in `docs/`.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator
from importlib import resources
from typing import NamedTuple

from planner.report.words import share

ARITHMETIC = {"EconomicsModel": "arithmetic on the prices and powers of the catalogue, no better than they are"}
"""Solvers that predict nothing which could be measured apart from their inputs."""


class Accuracy(NamedTuple):
    """One solver's scores against one kind of measurements, of all its metrics or of one."""

    solver: str
    what: str
    metric: str
    median_ape: float
    cells: int
    rows: int


def recorded() -> list[Accuracy]:
    """What is recorded; nothing where nothing was measured."""
    file = resources.files("planner.report").joinpath("accuracy.csv")
    if not file.is_file():
        return []
    rows = csv.DictReader(file.read_text(encoding="utf-8").splitlines())
    return [
        Accuracy(r["solver"], r["what"], r["metric"], float(r["median_ape"]), int(r["cells"]), int(r["rows"]))
        for r in rows
    ]


def how_sure(solvers: Iterable[str], *, brief: bool = False) -> Iterator[str]:
    """A sentence for each solver and kind of measurements: how far off it was, or that nobody has measured that.

    Brief, it speaks of each solver's largest kind of measurements alone, without its metrics.
    """
    known, measured = recorded(), False
    for solver in solvers:
        scores = [a for a in known if a.solver == solver]
        wholes = sorted((a for a in scores if not a.metric), key=lambda a: -a.rows)
        for score in wholes[:1] if brief else wholes:
            measured = True
            parts = [f"{a.metric} {share(a.median_ape)}" for a in scores if a.what == score.what and a.metric]
            each = f"; {', '.join(parts)}" if len(parts) > 1 and not brief else ""
            sets = "one set" if score.cells == 1 else f"{score.cells} sets"
            yield (
                f"{solver}: on {score.what} typically off by {share(score.median_ape)} "
                f"({score.rows:,} published rows in {sets}{each})"
            )
        if not wholes:
            yield f"{solver}: {ARITHMETIC.get(solver, 'not compared with measurements')}"
    if measured:
        yield "constants were fitted with most of these rows in sight: on what is unlike them expect worse"
