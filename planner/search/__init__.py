"""The menu of searches: one line each. A search gives batches of configurations and is told what became of them."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from planner.study.space import Coordinates, Space

LARGEST_AUTOMATIC_GRID = 2_000_000
DEFAULT_TRIALS = 1_000


@dataclass(frozen=True, eq=False)
class Batch:
    """Configurations to evaluate: a mesh or plain columns, whose rows are trials `start`, `start + 1`, ..."""

    start: int
    coordinates: Coordinates
    """For each parameter an array; they broadcast to `shape`."""
    shape: tuple[int, ...]

    @property
    def size(self) -> int:
        """How many configurations."""
        return int(np.prod(self.shape))


class Search(Protocol):
    """What every search method offers."""

    def batches(self) -> Iterator[Batch]:
        """Batches of configurations, until there is nothing left to try."""

    def tell(self, batch: Batch, objectives: np.ndarray, violations: np.ndarray, failed: np.ndarray) -> None:
        """What became of a batch.

        Args:
            batch: as given.
            objectives: a row for each configuration, a column for each objective, less is better.
            violations: a column for each constraint, at most 0 where it holds.
            failed: True where there is no answer.
        """


@dataclass(frozen=True)
class Method:
    """A line of the menu."""

    module: str
    description: str
    adaptive: bool = True
    default_trials: int | None = DEFAULT_TRIALS

    def load(self) -> Any:
        """The module, imported when first needed."""
        return importlib.import_module(f"planner.search.{self.module}")


SEARCHES = {
    "grid": Method("grid", "every configuration, once", adaptive=False, default_trials=None),
    "random": Method("random", "configurations drawn at random", adaptive=False),
    "tpe": Method("sampled", "Optuna's tree-structured Parzen estimator, multivariate"),
    "nsga2": Method("sampled", "Optuna's NSGA-II, for several objectives"),
    "gp": Method("sampled", "Optuna's Gaussian process, for some 60 trials on numeric axes", default_trials=60),
}


def chosen_method(method: str, space: Space, objectives: int, trials: int | None) -> str:
    """What `auto` means for a space: the grid where it is small enough, elsewhere a sampler by the objectives."""
    if method != "auto":
        return method
    size = space.size
    if size is not None and (size <= LARGEST_AUTOMATIC_GRID if trials is None else size <= trials):
        return "grid"
    return "tpe" if objectives == 1 else "nsga2"
