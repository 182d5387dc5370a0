"""Configurations drawn at random, independently: a batch's draw depends on the seed and its number alone."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from planner.search import Batch
from planner.study.space import Parameter, Space

BATCH = 16_384


class Random:
    """Uniform over levels; uniform, or uniform in the logarithm, over ranges."""

    def __init__(
        self, space: Space, *, seed: int, trials: int, batch: int | None = None, known: Any = None, **_: Any
    ) -> None:
        self.space, self.seed, self.trials = space, seed, trials
        self.known = known.size if known is not None else 0
        self.batch = batch or BATCH

    def batches(self) -> Iterator[Batch]:
        """Batches until the number of trials is reached."""
        for number in range(self.known // self.batch, math.ceil(self.trials / self.batch)):
            first = number * self.batch
            generator = np.random.default_rng([self.seed, number])
            made = {p.name: drawn(p, generator, self.batch) for p in self.space.parameters}
            start, stop = max(first, self.known), min(first + self.batch, self.trials)
            rows = slice(start - first, stop - first)
            yield Batch(start, {name: values[rows] for name, values in made.items()}, (stop - start,))

    def tell(self, batch: Batch, objectives: np.ndarray, violations: np.ndarray, failed: np.ndarray) -> None:
        """Nothing that is told changes what is drawn."""


def drawn(parameter: Parameter, generator: np.random.Generator, rows: int) -> np.ndarray:
    """Coordinates of a parameter, drawn evenly."""
    if parameter.size is not None:
        return generator.integers(0, parameter.size, rows)
    if parameter.integer and not parameter.log:
        return generator.integers(int(parameter.low), int(parameter.high) + 1, rows).astype(np.float64)
    if not parameter.log:
        return generator.uniform(parameter.low, parameter.high, rows)
    low, high = (parameter.low - 0.5, parameter.high + 0.5) if parameter.integer else (parameter.low, parameter.high)
    made = np.exp(generator.uniform(math.log(low), math.log(high), rows))
    made = np.rint(made) if parameter.integer else made
    return np.clip(made, parameter.low, parameter.high)


def make(space: Space, method: str, **options: Any) -> Random:
    """The search of that name."""
    return Random(space, **options)
