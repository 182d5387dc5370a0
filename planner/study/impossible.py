"""Constraints that no configuration can meet, found before the first trial."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from planner.study.goals import Constraint
from planner.study.space import Space
from solvers.columns import Column

MOST_CELLS = 1_000_000


AMOUNTS = np.concatenate([[0.0], np.logspace(-30, 30, 241)])
"""What a time, a size, a rate or a price may be: anything but negative."""


def never_holds(
    constraints: Sequence[Constraint], space: Space, fixed: Mapping[str, np.ndarray], made: Mapping[str, Column]
) -> Iterator[tuple[Constraint, ...]]:
    """Constraints that hold nowhere: on a metric that would have to be negative, or on parameters alone.

    Those on parameters are looked at each by itself, or else all of them together.
    """
    for condition in constraints:
        if len(condition.takes) == 1 and condition.takes[0] in made and _negative(condition, made[condition.takes[0]]):
            yield (condition,)
    decided = [c for c in constraints if all(_known(name, space, fixed) for name in c.takes)]
    alone = False
    for condition in decided:
        held = _holds([condition], space, fixed)
        if held is not None and not held:
            alone = True
            yield (condition,)
    if len(decided) > 1 and not alone:
        held = _holds(decided, space, fixed)
        if held is not None and not held:
            yield tuple(decided)


def _negative(condition: Constraint, column: Column) -> bool:
    """Whether only a negative amount would do: every other misses by the whole of itself and of the limit."""
    if column.unit in ("", "bool", "choice", "name"):
        return False
    with np.errstate(all="ignore"):
        missed = np.broadcast_to(condition.violation({column.name: AMOUNTS}), AMOUNTS.shape)
    return bool(((missed > 0) & ((missed >= 1) | (missed <= 1e-12))).all())


def _known(name: str, space: Space, fixed: Mapping[str, np.ndarray]) -> bool:
    return name in fixed or any(p.name == name and p.size is not None for p in space.parameters)


def _holds(conditions: Sequence[Constraint], space: Space, fixed: Mapping[str, np.ndarray]) -> bool | None:
    """Whether the conditions hold together in some cell; None where there are too many cells to look."""
    taken = {name for c in conditions for name in c.takes}
    axes = [p for p in space.parameters if p.name in taken]
    if math.prod(p.size or 1 for p in axes) > MOST_CELLS:
        return None
    columns = dict(fixed)
    for i, p in enumerate(axes):
        shape = tuple(-1 if j == i else 1 for j in range(len(axes)))
        columns[p.name] = p.code(np.arange(p.size or 0)).reshape(shape)
    with np.errstate(all="ignore"):
        held = [np.asarray(c.violation(columns)) <= 0 for c in conditions]
    everywhere = np.broadcast_arrays(*held)
    return bool(np.logical_and.reduce(everywhere).any())
