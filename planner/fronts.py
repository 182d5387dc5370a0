"""Pareto fronts: exact, by streaming, in bounded memory; hypervolume; and the point where the trade-off bends.

A front holds one trial for each distinct point: of several equal ones that with the lowest number.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import pandas as pd

STREAMED = 16_384
EXACT_HYPERVOLUME_OBJECTIVES = 6


def nondominated(points: np.ndarray) -> np.ndarray:
    """Which rows no other row dominates (less is better); of equal rows the first. Rows that are not finite never are.

    moocore decides, on finite rows only: it is exact there, and a NaN would empty its answer.
    """
    points = np.asarray(points, dtype=np.float64)
    keep = np.isfinite(points).all(axis=1)
    rows = np.flatnonzero(keep)
    if len(rows) > 1:
        keep[rows] = _first_nondominated(points[rows])
    return keep


def _first_nondominated(points: np.ndarray) -> np.ndarray:
    if points.shape[1] == 1:
        best = np.zeros(len(points), dtype=bool)
        best[np.argmin(points[:, 0])] = True
        return best
    points = points + 0.0  # -0.0 and 0.0 are one value
    try:
        import moocore
    except ImportError:
        return _by_numpy(points)
    kept = np.asarray(moocore.is_nondominated(points, keep_weakly=True))
    return _firsts(points, np.flatnonzero(kept), len(points))


def _by_numpy(points: np.ndarray) -> np.ndarray:
    """The same without moocore: sorted by the first objective, each row is compared with the front so far."""
    order = np.lexsort(points.T[::-1])
    front: list[int] = []
    for row in order:
        held = points[front]
        if not front or not (held <= points[row]).all(axis=1).any():
            front.append(int(row))
    keep = np.zeros(len(points), dtype=bool)
    keep[front] = True
    return keep


def _firsts(points: np.ndarray, rows: np.ndarray, size: int) -> np.ndarray:
    keep = np.zeros(size, dtype=bool)
    _, first = np.unique(points[rows], axis=0, return_index=True)
    keep[rows[first]] = True
    return keep


class Front:
    """The non-dominated trials among all that were added, in any order."""

    def __init__(self, objectives: int) -> None:
        self.points = np.empty((0, objectives))
        self.trials = np.empty(0, dtype=np.int64)

    def add(self, points: np.ndarray, trials: np.ndarray) -> None:
        """Take more trials into account (less is better)."""
        for i in range(0, len(points), STREAMED):
            self._add(points[i : i + STREAMED], trials[i : i + STREAMED])

    def _add(self, points: np.ndarray, trials: np.ndarray) -> None:
        open_ = ~self._surely_dominated(points)
        if not open_.any():
            return
        joined = np.concatenate([self.points, points[open_]])
        numbers = np.concatenate([self.trials, trials[open_]])
        order = np.argsort(numbers, kind="stable")
        joined, numbers = joined[order], numbers[order]
        keep = nondominated(joined)
        self.points, self.trials = joined[keep], numbers[keep]

    def _surely_dominated(self, points: np.ndarray) -> np.ndarray:
        """A quick look at a few points of the front, spread along it: what they dominate needs no closer look."""
        out = np.zeros(len(points), dtype=bool)
        if len(self.points):
            order = np.argsort(self.points[:, 0])
            for row in order[np.linspace(0, len(order) - 1, min(8, len(order))).astype(int)]:
                held = self.points[row]
                worse = points[:, 0] >= held[0]
                strictly = points[:, 0] > held[0]
                for j in range(1, points.shape[1]):
                    worse &= points[:, j] >= held[j]
                    strictly |= points[:, j] > held[j]
                out |= worse & strictly
        return out


def hypervolume(points: np.ndarray, reference: Sequence[float]) -> float:
    """The volume between a front and a reference point that is worse in everything (less is better)."""
    points = np.asarray(points, dtype=np.float64)
    points = points[np.isfinite(points).all(axis=1)]
    if not len(points):
        return 0.0
    import moocore

    return float(moocore.hypervolume(points, ref=np.asarray(reference, dtype=np.float64)))


def reference_point(points: np.ndarray) -> list[float]:
    """A tenth of the front's extent beyond its worst corner (a tenth of the value where the front has no extent)."""
    worst, best = points.max(axis=0), points.min(axis=0)
    extent = np.where(worst > best, worst - best, np.where(worst != 0, np.abs(worst), 1.0))
    return [float(x) for x in worst + 0.1 * extent]


def knee(points: np.ndarray) -> int:
    """The row closest to the ideal point after each objective is scaled to the front's extent: a fair compromise.

    One that spans more than a factor of three counts by its logarithm: twice as dear weighs the same everywhere.
    """
    least, most = np.abs(points).min(axis=0), np.abs(points).max(axis=0)
    wide = ((points > 0).all(axis=0) | (points < 0).all(axis=0)) & (most > 3 * least)
    points = np.where(wide, np.sign(points) * np.log(np.abs(np.where(wide, points, 1.0))), points)
    low, high = points.min(axis=0), points.max(axis=0)
    scaled = (points - low) / np.where(high > low, high - low, 1.0)
    return int(np.argmin((scaled**2).sum(axis=1)))


def pareto(frame: pd.DataFrame, objectives: Iterable[str | Mapping[str, str]]) -> pd.DataFrame:
    """The non-dominated rows of a table of trials, for any objectives.

    Args:
        frame: trials, such as `load_run(path).trials()`; rows that are not `feasible` are left out where it says so.
        objectives: such as `"maximize: effective_throughput"` or `{"minimize": "cost_per_token / 2"}`.

    Raises:
        InvalidInput: an objective cannot be read, or names no column of numbers.
    """
    goals = table_goals(frame, objectives)
    columns = {name: frame[name].to_numpy() for goal in goals for name in goal.expression.takes}
    with np.errstate(all="ignore"):
        points = np.stack([np.asarray(g.minimised(columns), dtype=np.float64) for g in goals], axis=1)
    if "feasible" in frame.columns:
        points[~frame["feasible"].to_numpy(dtype=bool)] = np.nan
    return frame[nondominated(points)].copy()


def table_goals(frame: pd.DataFrame, objectives: Iterable[Any]) -> list[Any]:
    """Objectives over the numeric columns of a table."""
    from planner.study.expressions import ExpressionError, Names
    from planner.study.goals import objective, split_objective
    from solvers.columns import Column
    from solvers.complaints import Complaint, InvalidInput

    units: Mapping[str, str] = frame.attrs.get("units", {})
    numeric = frame.select_dtypes(include="number").columns
    columns = {name: Column(name, units.get(name, ""), "") for name in map(str, numeric)}
    makers: Mapping[str, str] = frame.attrs.get("made_by", {})
    solvers = {s: frozenset(n for n, maker in makers.items() if maker == s) for s in set(makers.values())}
    made, complaints = [], []
    for given in [objectives] if isinstance(objectives, (str, Mapping)) else objectives:
        pair = next(iter(given.items())) if isinstance(given, Mapping) and len(given) == 1 else None
        try:
            direction, text = pair or split_objective(str(given))
            made.append(objective(str(direction), str(text), Names(columns, solvers)))
        except ExpressionError as problem:
            complaints.append(Complaint(str(given), str(problem)))
    if not made and not complaints:
        complaints.append(
            Complaint("objectives", "none is given; write, for instance, 'maximize: effective_throughput'")
        )
    if complaints:
        raise InvalidInput(complaints)
    return made
