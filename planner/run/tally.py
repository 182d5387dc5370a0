"""What a stretch of trials came to: how many, how many feasible, why not, and the nearest miss."""

from __future__ import annotations

import dataclasses
import math
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from planner.run.evaluate import Rows, Signals


@dataclass
class Tally:
    """Counts over trials; tallies of different trials add up."""

    rows: int = 0
    feasible: int = 0
    failed: int = 0
    reasons: Counter[str] = field(default_factory=Counter)
    nearest: int | None = None
    """The infeasible trial that misses by least."""
    violation: float = math.inf

    def copy(self) -> Tally:
        """Another of the same counts."""
        return dataclasses.replace(self, reasons=self.reasons.copy())

    def take(self, rows: Rows, signals: Signals) -> None:
        """Count a batch."""
        bits = rows.signals
        share = rows.batch.size // max(bits.size, 1)
        self.rows += rows.batch.size
        feasible = int(np.count_nonzero(bits == 0)) * share
        self.feasible += feasible
        self.failed += int(np.count_nonzero(rows.failed)) * (rows.batch.size // max(rows.failed.size, 1))
        if feasible == rows.batch.size:
            return
        union = int(np.bitwise_or.reduce(bits, axis=None))
        for i, code in enumerate(signals.codes):
            if union >> i & 1:
                self.reasons[code] += int(np.count_nonzero(bits & (1 << i))) * share
        if not self.feasible:
            self._look(rows)

    def _look(self, rows: Rows) -> None:
        violation = rows.full(rows.violation)
        row = int(np.argmin(violation))
        if violation[row] < self.violation:
            self.nearest, self.violation = rows.batch.start + row, float(violation[row])

    def add(self, other: Tally) -> None:
        """Take another tally's trials into account."""
        self.rows += other.rows
        self.feasible += other.feasible
        self.failed += other.failed
        self.reasons.update(other.reasons)
        if other.nearest is not None and (other.violation, other.nearest) < (self.violation, self.nearest or 0):
            self.nearest, self.violation = other.nearest, other.violation

    def data(self) -> dict[str, Any]:
        """As plain data, for a part's metadata."""
        violation = self.violation if math.isfinite(self.violation) else None
        return {
            "rows": self.rows, "feasible": self.feasible, "failed": self.failed, "reasons": dict(self.reasons),
            "nearest": self.nearest, "violation": violation,
        }  # fmt: skip

    @staticmethod
    def of(data: dict[str, Any]) -> Tally:
        """The tally that `data` made."""
        violation = math.inf if data["violation"] is None else data["violation"]
        return Tally(
            data["rows"], data["feasible"], data["failed"], Counter(data["reasons"]), data["nearest"], violation
        )
