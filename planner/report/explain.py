"""The account of one plan: where its time, memory and money go, what binds, what it rests on, what would change it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq

from planner.figures import say
from planner.report import words
from planner.report.account import Account, account
from planner.report.findings import breakdowns, coded
from planner.report.parts import Part
from planner.report.provenance import Used, used_figures
from planner.report.record import value
from planner.report.table import Table
from planner.report.variations import Lever, Variation, levers, variations
from planner.run import load_run
from planner.run.folder import TRIALS
from planner.run.trials import parts_in
from planner.show import format_table, width
from planner.study import Study
from solvers.complaints import Complaint, InvalidInput
from solvers.menu import SOLVERS

BAR = 28
LEVERS_SHOWN = 8
VARIATIONS_SHOWN = 12


@dataclass(frozen=True, eq=False)
class Explanation:
    """What there is to say of one trial."""

    study: Study
    number: int
    trial: Mapping[str, Any]
    name: str
    feasible: bool
    why: tuple[str, ...]
    objectives: tuple[tuple[str, float, str], ...]
    """Of each: its text, value and unit."""
    breakdowns: tuple[tuple[str, tuple[Part, ...]], ...]
    spare: tuple[tuple[str, float], ...]
    account: Account
    levers: tuple[Lever, ...]
    variations: tuple[Variation, ...]
    used: tuple[Used, ...]


def explain(run: str | Path, number: int) -> Explanation:
    """The account of one trial of a run; it is run again through the study's own chain.

    Raises:
        InvalidInput: there is no such run, or no such trial in it.
    """
    found = load_run(run)
    study, frame = found.study, _trial(found.path, number)
    trial = frame.row(0)
    again = account(study, {n: trial[n] for n in study.space.names})
    name = words.plan_name({n: trial[n] for n in study.space.names}, study.columns)
    objectives = tuple((o.text, float(value(o, frame)[0]), o.expression.unit) for o in study.objectives)
    entries = {getattr(e, "name", str(e)) for e in again.entries.values()}
    used = tuple(
        u
        for u in used_figures(study)
        if u.entry in entries or u.kind not in ("model", "hardware", "fleet", "precision")
    )
    return Explanation(
        study, number, trial, name, bool(trial["feasible"]), tuple(_why(study, again, frame)), objectives,
        tuple(breakdowns(trial)), tuple(_spare(study, frame)), again, tuple(levers(study, again, again.given)),
        tuple(variations(study, trial)), used,
    )  # fmt: skip


def _trial(path: Path, number: int) -> Table:
    parts, _ = parts_in(path / TRIALS)
    for part in parts:
        if part.start <= number < part.stop:
            table = pq.read_table(part.path, filters=[("trial", "==", number)])
            if table.num_rows:
                return Table.of(table)
    last = max((p.stop for p in parts), default=0) - 1
    raise InvalidInput([Complaint("", f"there is no trial {number}; the trials of {path} are 0 to {last:,}")])


def _why(study: Study, again: Account, frame: Table) -> Iterator[str]:
    for answer in again.answers.values():
        if answer.why:
            yield answer.why
    for text, spare in _spare(study, frame):
        if spare < 0:
            yield f"It breaks {text}, by {words.share(-spare)}."


def _spare(study: Study, frame: Table) -> Iterator[tuple[str, float]]:
    for condition in study.constraints:
        if all(n in frame for n in condition.takes):
            columns = {n: coded(study.columns.get(n), frame[n]) for n in condition.takes}
            with np.errstate(all="ignore"):
                yield condition.text, -float(np.asarray(condition.violation(columns)).flat[0])


def document(found: Explanation) -> dict[str, Any]:
    """The account as JSON-ready data, figures in stated units."""
    goals = [o.text for o in found.study.objectives]
    return {
        "trial": found.number, "plan": found.name, "feasible": found.feasible, "why": list(found.why),
        "parameters": {n: found.trial[n] for n in found.study.space.names},
        "objectives": [{"objective": t, "value": v, "unit": u} for t, v, u in found.objectives],
        "constraints": [{"constraint": t, "to_spare": s} for t, s in found.spare],
        "breakdowns": [
            {"of": title, "parts": [{"name": p.name, "share": p.share, "said": p.said} for p in parts]}
            for title, parts in found.breakdowns
        ],
        "answers": {
            solver: {n: _figure(getattr(answer, n), c) for n, c in _says(solver).items()}
            for solver, answer in found.account.answers.items()
        },
        "variations": [
            {"parameter": v.parameter, "becomes": v.label, "feasible": v.feasible, "reasons": list(v.reasons),
             "improvement": dict(zip(goals, v.changes, strict=True))} for v in found.variations
        ],
        "levers": [
            {"figure": lever.field, "improvement_if_a_tenth_greater": dict(zip(goals, lever.changes, strict=True))}
            for lever in found.levers
        ],
        "figures": [
            {"entry": u.entry, "figure": u.quantity, "value": u.said, "how": u.how, "source": u.source, "note": u.note}
            for u in found.used
        ],
    }  # fmt: skip


def _says(solver: str) -> dict[str, Any]:
    return {n: c for n, c in SOLVERS[solver].wiring().says.items() if n != "reasons"}


def _figure(given: Any, column: Any) -> dict[str, Any]:
    number = given.m_as(column.unit) if hasattr(given, "m_as") else given
    return {"value": number, "unit": "" if column.unit in ("bool", "choice") else column.unit}


def lines(found: Explanation) -> Iterator[tuple[str, str]]:
    """The account, line by line: a style and the line."""
    yield "title", f"Trial {found.number}: {found.name}"
    yield "plain", found.study.title
    if not found.feasible:
        yield "head", "Not feasible"
        for why in found.why:
            yield "plain", f"  {why}"
    yield "plain", ""
    yield "head", "What was asked for"
    rows = [[text, say(value, unit)] for text, value, unit in found.objectives]
    rows += [
        [text, f"{words.share(s)} to spare" if s >= 0 else f"missed by {words.share(-s)}"] for text, s in found.spare
    ]
    yield from _table(["goal", "value"], rows)
    for title, parts in found.breakdowns:
        yield "plain", ""
        yield "head", f"Where {title} goes" if title.startswith("memory") else f"Where the time of {title} goes"
        yield from _bars(parts)
    yield from _answers(found)
    yield from _changes(found)
    yield from _levers(found)
    yield from _rests_on(found)


def _bars(parts: tuple[Part, ...]) -> Iterator[tuple[str, str]]:
    room, values = max(width(p.name) for p in parts), max(width(p.said) for p in parts)
    for part in parts:
        bar = "█" * max(1, round(part.share * BAR))
        yield "plain", f"  {part.name:<{room}}   {part.said:>{values}}   {part.share:>6.1%}  {bar}"


def _answers(found: Explanation) -> Iterator[tuple[str, str]]:
    for solver, answer in found.account.answers.items():
        rows = []
        for name, column in _says(solver).items():
            figure = _figure(getattr(answer, name), column)["value"]
            if isinstance(figure, float) and math.isnan(figure):
                continue
            rows.append([name, say(figure, column.unit), column.description])
        yield "plain", ""
        yield "head", f"{solver} says"
        yield from _table(["column", "value", "meaning"], rows)


def _changes(found: Explanation) -> Iterator[tuple[str, str]]:
    names = [
        words.title(o.expression.column.name) if o.expression.column else o.expression.text
        for o in found.study.objectives
    ]
    shown = _worth_showing(found)
    yield "plain", ""
    if found.feasible:
        yield "head", "What one change would do (+ is better)"
    else:
        fits = sum(v.feasible for v in found.variations)
        yield (
            "head",
            "Which one change would make it feasible"
            if fits
            else "No single change makes it feasible; the nearest are",
        )
    if not shown:
        yield "plain", "  nothing else may vary"
        return
    rows = [
        [
            v.value,
            "yes" if v.feasible else "; ".join(words.code_words(c) for c in v.reasons if not c.startswith("no_value")),
        ]
        + [_change(c) for c in v.changes]
        for v in shown
    ]
    yield from _table(["change to", "feasible", *names], rows)


def _worth_showing(found: Explanation) -> list[Variation]:
    """For a feasible plan its neighbours and what is best for each objective; else what makes it feasible."""
    if not found.feasible:
        fitting = [v for v in found.variations if v.feasible]
        return fitting[:VARIATIONS_SHOWN] or sorted(found.variations, key=lambda v: len(v.reasons))[:VARIATIONS_SHOWN]
    kept = {id(v): v for v in found.variations if v.adjacent}
    for column in range(len(found.study.objectives)):
        fits = [v for v in found.variations if v.feasible and math.isfinite(v.changes[column])]
        for v in sorted(fits, key=lambda v: -v.changes[column])[:2]:
            kept[id(v)] = v
    order = {name: i for i, name in enumerate(found.study.space.names)}
    return sorted(kept.values(), key=lambda v: order[v.parameter])[: 2 * VARIATIONS_SHOWN]


def _levers(found: Explanation) -> Iterator[tuple[str, str]]:
    if not found.levers:
        return
    names = [
        words.title(o.expression.column.name) if o.expression.column else o.expression.text
        for o in found.study.objectives
    ]
    yield "plain", ""
    yield "head", "What a figure that is a tenth greater would do (+ is better)"
    rows = [
        [lever.field, *[_change(c) for c in lever.changes], lever.description] for lever in found.levers[:LEVERS_SHOWN]
    ]
    yield from _table(["figure", *names, "meaning"], rows)


def _change(change: float) -> str:
    if not math.isfinite(change):
        return "–"
    return "0%" if abs(change) < 5e-4 else f"{change:+.1%}"


def _rests_on(found: Explanation) -> Iterator[tuple[str, str]]:
    yield "plain", ""
    yield "head", "Which figures it rests on"
    rows = [
        [u.entry, u.quantity, u.said, u.how, u.source if not u.note else f"{u.source}; {u.note}"] for u in found.used
    ]
    yield from _table(["entry", "figure", "value", "how", "source"], rows)


def _table(headers: list[str], rows: list[list[Any]]) -> Iterator[tuple[str, str]]:
    for number, line in enumerate(format_table(headers, rows).split("\n")):
        yield ("dim" if number < 2 else "plain"), f"  {line}"
