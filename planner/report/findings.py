"""What a run found, in figures and words: the plans to choose among, what binds them, what fails and why."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from planner.figures import say
from planner.fronts import knee
from planner.report import words
from planner.report.account import figures_of
from planner.report.parts import BREAKDOWNS, Part, breakdown
from planner.report.record import ALSO_SHOWN, Record, less, value
from planner.report.table import Table
from solvers.columns import Column
from solvers.reasons import all_reasons

TIGHT = 0.05
"""A constraint with at most this part of its limit to spare is said to bind."""


@dataclass(frozen=True)
class Goal:
    """An objective as people read it."""

    text: str
    name: str
    maximized: bool
    unit: str
    description: str

    @property
    def best(self) -> str:
        """What the plan that is best in it is called."""
        return f"{'highest' if self.maximized else 'lowest'} {self.name}"


@dataclass(frozen=True)
class Plan:
    """One plan worth naming: its role, its parts, its figures, what binds it."""

    role: str
    trial: int
    name: str
    figures: tuple[tuple[str, str, str], ...]
    """Of each objective: name, value in words, and how it compares with the best."""
    details: tuple[tuple[str, str], ...]
    """Further figures that help to judge it."""
    binds: tuple[str, ...]
    breakdowns: tuple[tuple[str, tuple[Part, ...]], ...]


@dataclass(frozen=True)
class Failure:
    """One reason for which trials are infeasible."""

    code: str
    name: str
    trials: int
    sentence: str
    remedy: str


@dataclass(frozen=True)
class Relaxation:
    """What dropping one constraint alone would be worth."""

    constraint: str
    trials: int
    gains: tuple[str, ...]


@dataclass(frozen=True)
class Findings:
    """Everything that a report says besides the table of the front."""

    record: Record
    goals: tuple[Goal, ...]
    plans: tuple[Plan, ...]
    bottlenecks: tuple[tuple[str, int], ...]
    slack: tuple[tuple[str, float, float], ...]
    """Of each constraint: its text, and the least and the greatest part of its limit to spare on the front."""
    failures: tuple[Failure, ...]
    nearest: str
    relaxations: tuple[Relaxation, ...]


def find(record: Record) -> Findings:
    """What the run found."""
    goals = tuple(_goal(o) for o in record.study.objectives)
    return Findings(
        record,
        goals,
        tuple(_plans(record, goals)),
        _bottlenecks(record),
        tuple(_slack(record)),
        tuple(_failures(record)),
        "" if len(record.front) else _nearest(record),
        tuple(_relaxations(record, goals)),
    )


def _goal(objective: Any) -> Goal:
    expression = objective.expression
    column: Column | None = expression.column
    name = words.title(column.name) if column is not None else expression.text
    return Goal(
        objective.text,
        name,
        objective.maximized,
        expression.unit,
        column.description if column is not None else expression.text,
    )


def _plans(record: Record, goals: tuple[Goal, ...]) -> Iterator[Plan]:
    front = record.front
    if not len(front):
        return
    points = np.stack([less(o, front) for o in record.study.objectives], axis=1)
    roles: dict[int, list[str]] = {}
    if len(goals) > 1 and len(front) > 2:
        roles.setdefault(knee(points), []).append("balanced")
    for column, goal in enumerate(goals):
        roles.setdefault(int(np.argmin(points[:, column])), []).append(goal.best)
    for row, names in roles.items():
        yield _plan(record, goals, points, row, words.headline(" and ".join(names)))


def _plan(record: Record, goals: tuple[Goal, ...], points: np.ndarray, row: int, role: str) -> Plan:
    trial = record.front.row(row)
    parameters = {name: trial[name] for name in record.parameters}
    figures = []
    for column, (goal, objective) in enumerate(zip(goals, record.study.objectives, strict=True)):
        own = float(value(objective, record.front.take([row]))[0])
        figures.append((goal.name, say(own, goal.unit), _against_best(points, row, column, goal, len(record.front))))
    named = {o.expression.column.name for o in record.study.objectives if o.expression.column is not None}
    details = tuple(
        (words.title(n), words.level(record.columns.get(n), trial[n]))
        for n in ALSO_SHOWN
        if n in trial and n not in named and n != "bottleneck" and not _absent(trial[n])
    )
    return Plan(
        role, int(trial["trial"]), words.plan_name(parameters, record.columns), tuple(figures), details,
        tuple(binds(record, trial)), tuple(breakdowns(trial)),
    )  # fmt: skip


def breakdowns(trial: Mapping[str, Any]) -> Iterator[tuple[str, tuple[Part, ...]]]:
    """Where time and memory of a plan go, as far as its columns say."""
    for given in BREAKDOWNS:
        parts = breakdown(given, trial)
        if parts:
            yield given.title, parts


def _absent(figure: Any) -> bool:
    return isinstance(figure, float) and not math.isfinite(figure)


def _against_best(points: np.ndarray, row: int, column: int, goal: Goal, size: int) -> str:
    best, own = points[:, column].min(), points[row, column]
    if size == 1:
        return "the only plan on the front"
    if own == best:
        return "best of all"
    if goal.maximized:
        return f"{words.share(own / best)} of the highest" if best < 0 else ""
    if best <= 0:
        return ""
    ratio = own / best
    return f"{ratio - 1:.0%} above the lowest" if ratio < 2 else f"{ratio:.{1 if ratio < 10 else 0}f} times the lowest"


def binds(record: Record, trial: Mapping[str, Any]) -> Iterator[str]:
    """What keeps a plan from being better: its busiest part, and the constraints that it touches."""
    if isinstance(trial.get("bottleneck"), str):
        column = record.columns.get("bottleneck")
        what = column.description if column is not None and column.description else "bottleneck"
        yield f"{trial['bottleneck'].replace('_', ' ').lower()} ({what})"
    for text, spare in spare_of(record, Table({n: np.array([v]) for n, v in trial.items()})):
        if spare[0] <= TIGHT:
            yield f"the constraint {text} ({words.share(float(spare[0]))} to spare)"


def spare_of(record: Record, frame: Table) -> Iterator[tuple[str, np.ndarray]]:
    """Of each constraint, the part of its limit that each trial has to spare (below 0 where it is missed)."""
    for condition in record.study.constraints:
        if all(name in frame for name in condition.takes):
            columns = {name: coded(record.columns.get(name), frame[name]) for name in condition.takes}
            with np.errstate(all="ignore"):
                yield condition.text, -np.asarray(condition.violation(columns), dtype=np.float64)


def coded(column: Column | None, values: np.ndarray) -> np.ndarray:
    """A column as formulas hold it: words of a choice as their codes."""
    if column is not None and column.choices:
        codes = {word: code for code, word in enumerate(column.choices)}
        return np.array([codes.get(str(v), -1) for v in values])
    return values.astype(np.float64)


def _bottlenecks(record: Record) -> tuple[tuple[str, int], ...]:
    if "bottleneck" not in record.front:
        return ()
    counts = Counter(str(name).replace("_", " ").lower() for name in record.front["bottleneck"])
    return tuple(counts.most_common())


def _slack(record: Record) -> Iterator[tuple[str, float, float]]:
    if len(record.front):
        for text, spare in spare_of(record, record.front):
            yield text, float(np.min(spare)), float(np.max(spare))


def _failures(record: Record) -> Iterator[Failure]:
    known = {r.code: r for r in all_reasons()}
    for code, trials in record.reasons.items():
        trial = record.nearest.get(code)
        plan = _named(record, trial) if trial else ""
        name = words.code_words(code)
        if code in known:
            sentence, remedy = _spoken(record, trial, known[code])
            yield Failure(code, name, trials, f"{plan}: {sentence}" if plan else sentence, remedy)
        elif code.startswith("constraint:"):
            missed = f"nearest is {plan}, which misses it by {words.share(float(trial['violation']))}" if trial else ""
            yield Failure(code, name, trials, missed, "")
        elif not code.startswith("no_value:"):
            yield Failure(code, name, trials, "", "")
        elif not _caused_elsewhere(trial):
            said = "An objective has no finite value there."
            yield Failure(code, name, trials, said, "Leave such plans out, or choose another objective.")


def _caused_elsewhere(trial: Mapping[str, Any] | None) -> bool:
    """Whether an objective has no value because the plan cannot be, which is counted under its own reason."""
    return trial is not None and any(not c.startswith("no_value:") for c in str(trial["reasons"]).split(","))


def _named(record: Record, trial: Mapping[str, Any]) -> str:
    return words.plan_name({name: trial[name] for name in record.parameters}, record.columns)


def _spoken(record: Record, trial: Mapping[str, Any] | None, reason: Any) -> tuple[str, str]:
    """A reason's sentence and remedy with the figures of the plan that misses least."""
    if trial is None:
        return "", ""
    figures = figures_of(record.study, trial)
    return reason.sentence.format_map(figures), reason.remedy.format_map(figures)


def _nearest(record: Record) -> str:
    """The plan that misses least, when none is feasible."""
    if not record.nearest:
        return ""
    trial = min(record.nearest.values(), key=lambda t: t["violation"])
    codes = [words.code_words(c) for c in str(trial["reasons"]).split(",")]
    return f"trial {trial['trial']}, {_named(record, trial)}: {'; '.join(codes)}"


def _relaxations(record: Record, goals: tuple[Goal, ...]) -> Iterator[Relaxation]:
    for code, frame in record.relaxed.items():
        gains = [
            g for o, goal in zip(record.study.objectives, goals, strict=True) if (g := _gain(record, frame, o, goal))
        ]
        if gains:
            yield Relaxation(code.removeprefix("constraint:"), record.reasons.get(code, 0), tuple(gains))


def _gain(record: Record, frame: Table, objective: Any, goal: Goal) -> str:
    with_rule = less(objective, record.front).min() if len(record.front) else math.inf
    found = less(objective, frame)
    row = int(np.nanargmin(np.where(np.isfinite(found), found, np.inf)))
    if not found[row] < with_rule:
        return ""
    reached = say(float(value(objective, frame.take([row]))[0]), goal.unit)
    if not math.isfinite(with_rule):
        return f"{goal.name} of {reached} ({_named(record, frame.row(row))})"
    change = abs(found[row] - with_rule) / abs(with_rule) if with_rule else math.inf
    word = "more" if goal.maximized else "less"
    least = "" if record.complete else "at least "
    return f"{goal.best} becomes {reached}, {least}{words.share(change)} {word} ({_named(record, frame.row(row))})"
