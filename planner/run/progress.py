"""What a run has come to while it goes on."""

from __future__ import annotations

import contextlib
import time
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from planner.fronts import Front
from planner.run.columns import TrialColumns
from planner.run.evaluate import Evaluator
from planner.run.folder import RunFolder
from planner.run.tally import Tally
from planner.run.trials import Part, clear_unfinished, parts_in, set_aside
from planner.study import Study

PAUSE = 0.1
"""Seconds between two calls of a progress callback."""


@dataclass(frozen=True)
class Progress:
    """How far a run is."""

    done: int
    total: int
    feasible: int
    rate: float
    """Trials a second since the run was begun or resumed."""


@dataclass
class Session:
    """One process's work on a run: what it needs, and what has come of it."""

    study: Study
    folder: RunFolder
    begun: float
    callback: Callable[[Progress], None] | None = None
    tally: Tally = field(default_factory=Tally)
    timings: dict[str, float] = field(default_factory=lambda: defaultdict(float))
    distinct: int | None = None
    known: list[Part] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.evaluator = Evaluator(self.study)
        self.columns = TrialColumns(self.study)
        self.front = Front(len(self.study.objectives))
        clear_unfinished(self.folder.trials)
        self.known, broken = parts_in(self.folder.trials, self.study)
        self.notes += set_aside(broken, self.folder.path)
        self.before = 0
        self._told = self._since = time.perf_counter()
        self.timings["start_up"] = self._since - self.begun

    def keep(self, part: Part) -> None:
        """Count a part that is on disk."""
        self.tally.add(part.tally)

    def count(self) -> int:
        """Count anew what is on disk, parts that other processes finished last among them; how many trials it is."""
        self.tally = Tally()
        for part in parts_in(self.folder.trials, self.study)[0]:
            self.keep(part)
        return self.tally.rows

    def tell(self, done: int, total: int, feasible: int, *, last: bool = False) -> None:
        """Call the progress callback, not too often."""
        now = time.perf_counter()
        if self.callback is None or (now - self._told < PAUSE and not last):
            return
        self._told = now
        rate = (done - self.before) / max(now - self._since, 1e-9)
        self.callback(Progress(done, total, feasible, rate))

    @contextlib.contextmanager
    def timed(self, what: str) -> Any:
        """Add the time that the block takes to a timing."""
        begun = time.perf_counter()
        try:
            yield
        finally:
            self.timings[what] += time.perf_counter() - begun

    def end(self, state: str, error: str = "") -> None:
        """Record that the run ended early, as far as the machine lets us."""
        from planner.run.summary import ended

        with contextlib.suppress(OSError):
            self.folder.write_info(ended(self, state, error))
