"""The page: one self-contained file that opens offline, with the front to explore and everything it rests on."""

from __future__ import annotations

import itertools
import json
import os
import shlex
from collections.abc import Iterator, Mapping
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np

from planner.figures import WHOLE, Rung, rung_for, say
from planner.fronts import knee
from planner.report import words
from planner.report.accuracy import how_sure
from planner.report.findings import Findings, Goal
from planner.report.provenance import Used
from planner.report.record import ALSO_SHOWN, Record, less, value
from planner.report.summary import counts
from planner.report.table import Table

MOST_FRONT = 1_500
STATIC_ROWS = 25


def write_page(found: Findings, used: list[Used], path: Path) -> None:
    """Write the page so that it appears whole or not at all."""
    aside = path.with_name(f".{path.name}.tmp")
    aside.write_text(page(found, used), encoding="utf-8")
    os.replace(aside, path)


def page(found: Findings, used: list[Used]) -> str:
    """The page as HTML."""
    import jinja2

    templates = resources.files("planner.report").joinpath("templates")
    text = {name: templates.joinpath(name).read_text(encoding="utf-8") for name in ("page.html", "page.css", "page.js")}
    environment = jinja2.Environment(
        autoescape=True, trim_blocks=True, lstrip_blocks=True, undefined=jinja2.StrictUndefined
    )
    payload = Payload(found)
    return environment.from_string(text["page.html"]).render(
        css=text["page.css"], script=text["page.js"], data=_embedded(payload.data()),
        lead=lead(found), counts=counts(found),
        found=found, study=found.record.study, record=found.record, table=payload.static_rows(STATIC_ROWS),
        total=len(payload.front),
        headers=payload.shown, assumptions=list(assumptions(found.record)), sources=_grouped(used), used=used,
        sure=list(how_sure(found.record.study.solvers)), versions=dict(found.record.study.data.get("versions", {})),
        command=command(found.record), yaml=_study_text(found.record), share=words.share, headline=words.headline,
        solvers=list(_solver_lines(found.record)),
    )  # fmt: skip


def lead(found: Findings) -> str:
    """The answer in a sentence or two."""
    record = found.record
    if not found.plans:
        said = f"None of the {record.trials:,} plans is feasible."
        return f"{said} The nearest miss is {found.nearest}." if found.nearest else said
    size = len(record.front)
    beaten = "one plan beats all others" if size == 1 else f"{size:,} are beaten by no other"
    first = found.plans[0]
    figures = [f"{name} {said}" for name, said, _ in first.figures]
    listed = figures[0] if len(figures) == 1 else f"{', '.join(figures[:-1])} and {figures[-1]}"
    choice = "The balanced choice" if first.role.startswith("Balanced") else "Best"
    tried = f"Of {record.trials:,} plans, {record.feasible:,} are feasible and {beaten}."
    return f"{tried} {choice} is {_unbroken(first.name)}: {listed}."


def _unbroken(name: str) -> str:
    """A plan's name that breaks only between its parts."""
    return " · ".join(part.replace(" ", "\u00a0") for part in name.split(" · "))


class Payload:
    """What the page's script draws: columns, the front, and a sample of the rest."""

    def __init__(self, found: Findings) -> None:
        self.found, self.record = found, found.record
        self.front = _thinned(self.record)
        self.goals = [
            _key(goal, objective) for goal, objective in zip(found.goals, self.record.study.objectives, strict=True)
        ]
        named = [n for n in ALSO_SHOWN if n in self.front and n not in self.goals]
        taken = [n for c in self.record.study.constraints for n in c.takes if n in self.front]
        self.shown = list(dict.fromkeys([*self.record.parameters, *self.goals, *taken, *named]))
        self.frames = {"front": self._with_goals(self.front), "others": self._with_goals(self.record.others)}
        self.shown = [n for n in self.shown if n in self.frames["front"] and not self._empty(n)]
        self.columns = [self._column(name) for name in self.shown]

    def _empty(self, name: str) -> bool:
        values = self.frames["front"][name]
        return values.dtype.kind == "f" and len(values) > 0 and not np.isfinite(values).any()

    def _with_goals(self, frame: Table) -> Table:
        for key, objective in zip(self.goals, self.record.study.objectives, strict=True):
            if key not in frame and len(frame):
                frame = frame.with_column(key, value(objective, frame))
        return frame

    def _column(self, name: str) -> dict[str, Any]:
        goal: Goal | None = self.found.goals[self.goals.index(name)] if name in self.goals else None
        known = self.record.columns.get(name)
        values = self.frames["front"][name]
        word = values.dtype.kind not in "fiu"
        unit = goal.unit if goal else known.unit if known else ""
        rung = Rung(1.0, "") if word else rung_for(values.astype(np.float64).tolist(), unit)
        role = "goal" if goal else "parameter" if name in self.record.parameters else "figure"
        return {
            "key": name, "name": goal.name if goal else words.title(name), "role": role, "word": word,
            "about": goal.description if goal else known.description if known else "", "factor": rung.factor,
            "before": rung.before, "after": rung.after, "maximized": goal.maximized if goal else None,
            "levels": self._levels(name) if role == "parameter" else None,
            "whole": not word and bool((values[np.isfinite(values)] % 1 == 0).all()) and unit in ("", *WHOLE),
        }  # fmt: skip

    def _levels(self, name: str) -> list[Any] | None:
        parameter = next(p for p in self.record.study.space.parameters if p.name == name)
        return None if parameter.labels is None or len(parameter.labels) > 60 else [_plain(v) for v in parameter.labels]

    def data(self) -> dict[str, Any]:
        """What is embedded in the page."""
        others = self.frames["others"]
        roles = {c["key"]: c["role"] for c in self.columns}
        kept = [n for n in self.shown if n in others and roles[n] != "figure"]
        return {
            "columns": self.columns,
            "goals": self.goals,
            "axes": self._axes(),
            "front": {n: _values(self.frames["front"][n]) for n in ("trial", *self.shown)},
            "others": {n: _coded(others[n]) for n in ("trial", "feasible", "reasons", *kept) if n in others},
            "plans": [{"trial": p.trial, "role": p.role} for p in self.found.plans],
            "run": str(self.record.path),
        }

    def _axes(self) -> list[str]:
        """The two objectives that conflict most on the front: what to look at first, the earlier upwards."""
        pairs = list(itertools.combinations(range(len(self.goals)), 2))
        if not pairs or len(self.front) < 3:
            return self.goals[1::-1]
        ranks = [np.argsort(np.argsort(less(o, self.front))) for o in self.record.study.objectives]
        up, across = min(pairs, key=lambda p: float(np.corrcoef(ranks[p[0]], ranks[p[1]])[0, 1]))
        return [self.goals[across], self.goals[up]]

    def static_rows(self, count: int) -> list[list[str]]:
        """The first rows of the table, for readers without a script."""
        front = self.frames["front"]
        rows = [front.row(place) for place in range(min(count, len(front)))]
        return [[self._cell(row[n], c) for n, c in zip(self.shown, self.columns, strict=True)] for row in rows]

    def _cell(self, given: Any, column: Mapping[str, Any]) -> str:
        if column["word"] or isinstance(given, str):
            return words.level(None, given)
        known = self.record.columns.get(column["key"])
        return words.level(known, given) if known else say(float(given))


def _key(goal: Goal, objective: Any) -> str:
    return objective.expression.column.name if objective.expression.column is not None else goal.text


def _thinned(record: Record) -> Table:
    """The front sorted by its first objective; a very large one thinned, its ends and its knee kept."""
    front = record.front
    if not len(front):
        return front
    points = np.stack([less(o, front) for o in record.study.objectives], axis=1)
    order = np.argsort(points[:, 0], kind="stable")
    if len(order) > MOST_FRONT:
        kept = {int(i) for i in np.linspace(0, len(order) - 1, MOST_FRONT)}
        must = {*np.argmin(points, axis=0).tolist(), knee(points)}
        order = np.array([row for place, row in enumerate(order) if place in kept or int(row) in must])
    return front.take(order)


def _values(column: np.ndarray) -> list[Any]:
    return [_plain(v) for v in column.tolist()]


def _coded(column: np.ndarray) -> Any:
    """The values; of words that come again and again, each once with the places where it stands."""
    if column.dtype != object:
        return _values(column)
    words = list(dict.fromkeys(column.tolist()))
    codes = {word: code for code, word in enumerate(words)}
    return {"words": words, "codes": [codes[v] for v in column.tolist()]}


def _plain(given: Any) -> Any:
    if isinstance(given, float):
        short = float(f"{given:.5g}") if np.isfinite(given) else None
        return int(short) if short is not None and short == int(short) and abs(short) < 1e15 else short
    return given.item() if hasattr(given, "item") else given


def _embedded(data: Any) -> str:
    """JSON that cannot end the script element it stands in."""
    return json.dumps(data, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c").replace("\u2028", " ")


def assumptions(record: Record) -> Iterator[tuple[str, str, str]]:
    """What is fixed: name, value, meaning."""
    study = record.study
    for name, held in study.fixed.items():
        column = study.chain.parameter(name)
        if column is None:
            continue
        code = np.asarray(held).flat[0]
        if column.unit == "name":
            said = study.problem.menus[name][int(code)].name
        elif column.choices:
            said = column.choices[int(code)]
        else:
            said = say(bool(code) if column.unit == "bool" else float(code), column.unit)
        yield name, said, column.description


def _solver_lines(record: Record) -> Iterator[tuple[str, str]]:
    from solvers.menu import SOLVERS

    for name in record.study.solvers:
        doc = SOLVERS[name].__doc__ if name in SOLVERS else ""
        yield name, (doc or "").strip().split("\n\n")[0].replace("\n", " ")


def _grouped(used: list[Used]) -> dict[str, list[Used]]:
    """The figures by the entry that they belong to."""
    made: dict[str, list[Used]] = {}
    for figure in used:
        made.setdefault(f"{figure.entry}|{figure.kind}", []).append(figure)
    return made


def command(record: Record) -> str:
    """The command that makes the run again."""
    return (
        f"planner run {shlex.quote(str(record.path / 'study.yaml'))} --out {shlex.quote(str(record.path) + '-again')}"
    )


def _study_text(record: Record) -> str:
    return (record.path / "study.yaml").read_text(encoding="utf-8")
