"""What would have to change: a plan's neighbours in the space, and the catalogue figures that move it most."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from planner.report import words
from planner.report.account import Account
from planner.run.evaluate import Evaluator, Rows
from planner.search import Batch
from planner.study import Study
from planner.study.space import Parameter
from solvers.columns import Column

MOST_LEVELS = 64
NUDGE = 1.1


@dataclass(frozen=True)
class Variation:
    """One parameter changed, everything else as it is."""

    parameter: str
    label: Any
    value: str
    """What it changes to, as a part of a plan's name."""
    adjacent: bool
    feasible: bool
    changes: tuple[float, ...]
    """Of each objective, its relative change, above 0 where the plan becomes better; NaN where it has no value."""
    reasons: tuple[str, ...]


@dataclass(frozen=True)
class Lever:
    """A catalogue figure, and how much better each objective gets when it is a tenth greater."""

    field: str
    description: str
    changes: tuple[float, ...]


def variations(study: Study, trial: Mapping[str, Any]) -> list[Variation]:
    """Every plan that differs from a trial in one parameter, run through the study's own chain."""
    rows: list[tuple[Parameter, Any, bool]] = []
    for parameter in study.space.parameters:
        rows += [(parameter, coordinate, near) for coordinate, near in _alternatives(parameter, trial[parameter.name])]
    if not rows:
        return []
    own = study.space.restored({n: np.array([trial[n]], dtype=object) for n in study.space.names})
    coordinates = {n: np.repeat(own[n], len(rows) + 1) for n in study.space.names}
    for row, (parameter, coordinate, _) in enumerate(rows, 1):
        coordinates[parameter.name][row] = coordinate
    evaluator = Evaluator(study)
    found = evaluator(Batch(0, coordinates, (len(rows) + 1,)))
    return list(_varied(study, evaluator, found, rows))


def _alternatives(parameter: Parameter, own: Any) -> Iterator[tuple[Any, bool]]:
    """Other coordinates of a parameter, and whether each stands beside the trial's own."""
    if parameter.labels is None:
        for factor in (0.5, 0.8, 0.9, 1.1, 1.25, 2.0):
            moved = float(own) * factor if own else (factor - 1) * (parameter.high - parameter.low)
            moved = round(moved) if parameter.integer else moved
            if parameter.low <= moved <= parameter.high and moved != own:
                yield moved, factor in (0.9, 1.1)
        return
    here = parameter.labels.index(own.item() if hasattr(own, "item") else own)
    levels = range(len(parameter.labels))
    shown = (
        levels if len(levels) <= MOST_LEVELS else sorted({*range(here - 8, here + 9), *levels[:: len(levels) // 32]})
    )
    for level in shown:
        if level != here and 0 <= level < len(parameter.labels):
            yield level, abs(level - here) == 1 or not parameter.ordered


def _varied(
    study: Study, evaluator: Evaluator, found: Rows, rows: list[tuple[Parameter, Any, bool]]
) -> Iterator[Variation]:
    points = np.stack([found.full(o) for o in found.objectives], axis=1)
    signals = found.full(found.signals)
    for row, (parameter, coordinate, near) in enumerate(rows, 1):
        held = parameter.label(np.array([coordinate]))[0]
        label = held.item() if hasattr(held, "item") else held
        text = evaluator.signals.text(int(signals[row])) or ""
        value = words.part_of_plan(study.columns.get(parameter.name), parameter.name, label)
        changes = tuple(better(float(a), float(b)) for a, b in zip(points[0], points[row], strict=True))
        yield Variation(parameter.name, label, value, near, not text, changes, tuple(c for c in text.split(",") if c))


def better(before: float, after: float) -> float:
    """By which part of its size an objective (less is better) improves."""
    if not (math.isfinite(before) and math.isfinite(after)) or before == 0:
        return math.nan
    return (before - after) / abs(before)


def levers(study: Study, account: Account, given: Mapping[str, np.ndarray]) -> list[Lever]:
    """The catalogue figures whose increase by a tenth moves an objective by more than a thousandth, strongest first."""
    columns = {**given, **account.outputs}
    before = [_objective(o, columns) for o in study.objectives]
    found = []
    for name, field in study.chain.overridable.items():
        value = _held(account, name)
        if name in given or value is None or not _is_figure(field):
            continue
        moved = {**given, name: np.array([value * NUDGE])}
        with np.errstate(all="ignore"):
            outputs = study.problem.run(moved)
        after = [_objective(o, {**moved, **outputs}) for o in study.objectives]
        changes = tuple(better(a, b) for a, b in zip(before, after, strict=True))
        if any(abs(c) > 1e-3 for c in changes if math.isfinite(c)):
            found.append(Lever(name, field.description, changes))
    return sorted(found, key=lambda lever: -max(abs(c) for c in lever.changes if math.isfinite(c)))


def _is_figure(field: Column) -> bool:
    """A rate, a size, a price or a time of the machine: what a model is made of does not come a tenth greater."""
    return field.made_by != "Architecture" and field.unit not in ("choice", "bool", "name")


def _held(account: Account, name: str) -> float | None:
    value = account.records.get(name)
    return value if value is not None and math.isfinite(value) and value > 0 else None


def _objective(objective: Any, columns: Mapping[str, Any]) -> float:
    if any(name not in columns for name in objective.expression.takes):
        return math.nan
    with np.errstate(all="ignore"):
        return float(np.asarray(objective.minimised(columns), dtype=np.float64).flat[0])
