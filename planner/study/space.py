"""The space of configurations: parameters with levels or ranges, seen as the axes of a mesh or as columns.

A configuration is held as *coordinates*: for a parameter with levels the index of its level, for a continuous one its
value. `labels` turns coordinates into what people read, `codes` into what a chain of solvers takes.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

Coordinates = Mapping[str, np.ndarray]


@dataclass(frozen=True, eq=False)
class Parameter:
    """One dimension of a space: its levels, or the bounds between which it may take any value."""

    name: str
    labels: tuple[Any, ...] | None
    """The levels as people read them; None for a continuous range."""
    held: np.ndarray | None = None
    """The levels as a chain takes them; None where nobody but a person reads them."""
    low: float = 0.0
    high: float = 0.0
    log: bool = False
    integer: bool = False

    @property
    def size(self) -> int | None:
        """How many levels it has; None when continuous."""
        return None if self.labels is None else len(self.labels)

    @functools.cached_property
    def ordered(self) -> bool:
        """True where neighbouring levels are alike: numbers in rising order."""
        if self.labels is None:
            return True
        if not all(type(v) in (int, float) for v in self.labels):
            return False
        return all(a < b for a, b in zip(self.labels, self.labels[1:], strict=False))

    @functools.cached_property
    def values(self) -> np.ndarray:
        """The labels as an array: integers, floats, booleans, or objects."""
        assert self.labels is not None
        kinds = {type(v) for v in self.labels}
        if kinds == {bool}:
            return np.array(self.labels, dtype=bool)
        if kinds == {int} and all(abs(v) < 2**62 for v in self.labels):
            return np.array(self.labels, dtype=np.int64)
        if kinds <= {int, float}:
            return np.array(self.labels, dtype=np.float64)
        made = np.empty(len(self.labels), dtype=object)
        made[:] = list(self.labels)
        return made

    def label(self, coordinate: np.ndarray) -> np.ndarray:
        """What people read at coordinates."""
        if self.labels is None:
            return np.asarray(coordinate, dtype=np.int64 if self.integer else np.float64)
        return self.values[np.asarray(coordinate, dtype=np.intp)]

    def code(self, coordinate: np.ndarray) -> np.ndarray:
        """What a chain takes at coordinates."""
        if self.held is None:
            return np.asarray(coordinate, dtype=np.float64)
        return self.held[np.asarray(coordinate, dtype=np.intp)]


@dataclass(frozen=True, eq=False)
class Space:
    """Parameters in order; the last varies fastest in the numbering of the cells."""

    parameters: tuple[Parameter, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """The parameters' names, in order."""
        return tuple(p.name for p in self.parameters)

    @property
    def continuous(self) -> tuple[str, ...]:
        """The names of parameters without levels: a grid cannot enumerate them."""
        return tuple(p.name for p in self.parameters if p.size is None)

    @property
    def size(self) -> int | None:
        """The number of cells; None when a parameter is continuous."""
        return None if self.continuous else math.prod(self.shape)

    @property
    def shape(self) -> tuple[int, ...]:
        """Levels of each parameter, in order."""
        return tuple(p.size or 0 for p in self.parameters)

    def cells(self, rows: np.ndarray) -> dict[str, np.ndarray]:
        """The coordinates of cells by their row-major numbers."""
        return dict(zip(self.names, np.unravel_index(np.asarray(rows, dtype=np.int64), self.shape), strict=True))

    def labels(self, coordinates: Coordinates) -> dict[str, np.ndarray]:
        """What people read, by parameter."""
        return {p.name: p.label(coordinates[p.name]) for p in self.parameters}

    def codes(self, coordinates: Coordinates) -> dict[str, np.ndarray]:
        """What a chain takes, by parameter."""
        return {p.name: p.code(coordinates[p.name]) for p in self.parameters}

    def keys(self, coordinates: Coordinates) -> Iterator[tuple[Any, ...]]:
        """A hashable key for each configuration of a batch: equal where the configurations are."""
        columns = (np.asarray(coordinates[name]).tolist() for name in self.names)
        return zip(*columns, strict=True)

    def restored(self, labels: Mapping[str, Any]) -> dict[str, np.ndarray]:
        """The coordinates of configurations by what people read.

        Raises:
            KeyError: a label is no level of its parameter.
        """
        made = {}
        for p in self.parameters:
            given = labels[p.name]
            if p.labels is None:
                made[p.name] = np.asarray(given, dtype=np.float64)
            else:
                index = {v: i for i, v in enumerate(p.labels)}
                made[p.name] = np.array([index[v] for v in given], dtype=np.int64)
        return made
