"""Which figures of the catalogue a study rests on, and where each comes from.

The function that fills a record is run on an entry that notes what is asked of it, so the list cannot drift from
the code.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from planner.figures import say
from planner.study import Study
from solvers.catalog import Entry, Figure
from solvers.lowering import keys_of, lowering_of


@dataclass(frozen=True)
class Used:
    """A figure that a study rests on."""

    entry: str
    kind: str
    quantity: str
    said: str
    how: str
    source: str
    locator: str
    note: str
    estimate: bool


class _Watched(Entry):
    """An entry that notes which of its figures are read."""

    def read(self) -> dict[str, None]:
        """The quantities read so far."""
        return self.__dict__.setdefault("_read", {})

    def get(self, quantity: str) -> float | None:
        """As `Entry.get`."""
        self.read()[quantity] = None
        return super().get(quantity)

    def text(self, quantity: str, default: str = "") -> str:
        """As `Entry.text`."""
        self.read()[quantity] = None
        return super().text(quantity, default)


def used_figures(study: Study) -> list[Used]:
    """Every catalogue figure behind the study's records, entry by entry; a shape is one figure: its model's."""
    watched: dict[int, _Watched] = {}
    for wiring in study.chain.wirings:
        for column in wiring.asks.values():
            if column.record is not None and any(key in study.problem.menus for key in keys_of(column)):
                menus = [[_watch(e, watched) for e in study.problem.menus.get(key, (None,))] for key in keys_of(column)]
                row = lowering_of(column.record).row()
                for combination in itertools.product(*menus):
                    row(*combination)
    return [used for entry in watched.values() for used in _figures(entry, study.catalog)]


def _watch(entry: Any, watched: dict[int, _Watched]) -> Any:
    if not isinstance(entry, Entry):
        return entry
    if id(entry) not in watched:
        watched[id(entry)] = _Watched(entry.kind, entry.name, entry.path, entry.aliases, entry.figures)
    return watched[id(entry)]


def _figures(entry: _Watched, catalog: Any) -> Iterator[Used]:
    found = [entry.figures[q] for q in entry.read() if q in entry.figures]
    if entry.kind == "model":
        found = [f for f in found if f.quantity == "params_total"] or found[:1]
    for figure in found:
        yield _used(entry, figure, catalog)


def _used(entry: Entry, figure: Figure, catalog: Any) -> Used:
    source = catalog.source(figure.source)
    note = figure.note if figure.note != source.title else ""
    return Used(
        entry.name, entry.kind, figure.quantity, say(figure.value, figure.unit), figure.kind, source.title,
        source.locator if source.locator != source.title else "", note, figure.kind == "estimate",
    )  # fmt: skip
