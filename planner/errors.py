"""How a run can end other than well; the command line turns each into an exit code."""

from __future__ import annotations

from pathlib import Path

from solvers.complaints import Complaint, InvalidInput


class RunRefused(InvalidInput):
    """The run folder cannot be used: it exists, another process holds it, or it answers another study."""

    def __init__(self, message: str) -> None:
        super().__init__([Complaint("", message)])


class _Kept:
    """What was kept on disk, and how to go on."""

    path: Path
    trials: int

    @property
    def remedy(self) -> str:
        """The sentence about what is safe and how to go on."""
        safe = f"{self.trials:,} finished trials are safe in {self.path / 'trials'}."
        return f"{safe} Go on with: planner run {self.path / 'study.yaml'} --out {self.path} --resume"


class RunFault(_Kept, RuntimeError):
    """The machine failed in the middle of a run (a full disk, a lost folder)."""

    def __init__(self, message: str, path: Path, trials: int) -> None:
        self.path, self.trials = path, trials
        super().__init__(f"{message} {self.remedy}")


class RunInterrupted(_Kept, KeyboardInterrupt):
    """Somebody pressed Ctrl-C, or asked the process to end."""

    def __init__(self, path: Path, trials: int) -> None:
        self.path, self.trials = path, trials
        super().__init__(f"Interrupted. {self.remedy}")
