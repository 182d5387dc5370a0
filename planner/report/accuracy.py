"""How far off the solvers were on published measurements that they were not fitted on, where that is recorded.

`accuracy.csv` is written from the validation scores: a row for each solver, with the median over cells of the median
error, how many cells and rows that is over, and what was measured.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator
from importlib import resources
from typing import NamedTuple


class Accuracy(NamedTuple):
    """One solver's scores against measurements."""

    solver: str
    what: str
    median_ape: float
    cells: int
    rows: int


def recorded() -> list[Accuracy]:
    """What is recorded; nothing where nothing was measured."""
    file = resources.files("planner.report").joinpath("accuracy.csv")
    if not file.is_file():
        return []
    rows = csv.DictReader(file.read_text(encoding="utf-8").splitlines())
    return [Accuracy(r["solver"], r["what"], float(r["median_ape"]), int(r["cells"]), int(r["rows"])) for r in rows]


def how_sure(solvers: Iterable[str]) -> Iterator[str]:
    """A sentence for each solver: how far off it was, or that nobody has measured that."""
    known = recorded()
    for solver in solvers:
        scores = [a for a in known if a.solver == solver]
        for score in scores:
            yield (
                f"{solver}: off by {score.median_ape:.0%} in the middle of {score.cells} sets of measurements "
                f"({score.rows:,} rows: {score.what})"
            )
        if not scores:
            yield f"{solver}: not compared with measurements; its figures are as good as the sources above"
