"""Every cell of a space once, as open meshes: outer axes fixed, inner axes as arrays that broadcast.

A trial's number is the row-major number of its cell, so any part of the grid can be done by anyone, in any order.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from planner.search import Batch
from planner.study.space import Space

SLAB_ROWS = 49_152
"""Rows evaluated at once: few enough to stay in the second-level cache, many enough to hide what a call costs."""


@dataclass(frozen=True)
class Cut:
    """How a grid is cut into slabs: axes before `axis` are fixed, `axis` is cut into pieces, later ones are whole."""

    shape: tuple[int, ...]
    axis: int
    piece: int
    inner: int

    @property
    def pieces(self) -> int:
        """Slabs to each setting of the outer axes."""
        return math.ceil(self.shape[self.axis] / self.piece)

    @property
    def slabs(self) -> int:
        """Slabs in all."""
        return math.prod(self.shape[: self.axis]) * self.pieces

    def start(self, slab: int) -> int:
        """The number of a slab's first cell; of the end for the slab after the last."""
        outer, part = divmod(slab, self.pieces)
        return (outer * self.shape[self.axis] + min(part * self.piece, self.shape[self.axis])) * self.inner


def cut(shape: Sequence[int], rows: int = SLAB_ROWS) -> Cut:
    """The cut into the largest slabs of at most so many rows."""
    shape = tuple(shape)
    axis, inner = len(shape) - 1, 1
    while axis > 0 and inner * shape[axis] <= rows:
        inner *= shape[axis]
        axis -= 1
    return Cut(shape, axis, min(max(rows // inner, 1), shape[axis]), inner)


class Grid:
    """The cells from one number up to another, slab by slab."""

    def __init__(self, space: Space, start: int = 0, stop: int | None = None, slab_rows: int = SLAB_ROWS) -> None:
        self.space = space
        self.start, self.stop = start, math.prod(space.shape) if stop is None else stop
        self.cut = cut(space.shape, slab_rows)

    def batches(self) -> Iterator[Batch]:
        """The slabs; those that stick out beyond the ends as plain columns."""
        outer_size = self.cut.shape[self.cut.axis] * self.cut.inner
        outer, rest = divmod(self.start, outer_size)
        slab = outer * self.cut.pieces + rest // (self.cut.piece * self.cut.inner)
        while slab < self.cut.slabs and self.cut.start(slab) < self.stop:
            first, last = self.cut.start(slab), self.cut.start(slab + 1)
            if first >= self.start and last <= self.stop:
                yield self._mesh(slab)
            else:
                first, last = max(first, self.start), min(last, self.stop)
                yield Batch(first, self.space.cells(np.arange(first, last)), (last - first,))
            slab += 1

    def _mesh(self, slab: int) -> Batch:
        made, shape = {}, []
        axes, start = len(self.cut.shape), self.cut.start(slab)
        fixed = [int(i) for i in np.unravel_index(start, self.cut.shape)]
        for i, parameter in enumerate(self.space.parameters):
            if i < self.cut.axis:
                levels = np.array([fixed[i]])
            elif i == self.cut.axis:
                levels = np.arange(fixed[i], min(fixed[i] + self.cut.piece, self.cut.shape[i]))
            else:
                levels = np.arange(self.cut.shape[i])
            shape.append(len(levels))
            made[parameter.name] = levels.reshape(tuple(-1 if j == i else 1 for j in range(axes)))
        return Batch(start, made, tuple(shape))

    def tell(self, batch: Batch, objectives: np.ndarray, violations: np.ndarray, failed: np.ndarray) -> None:
        """Nothing that a grid is told changes it."""
