"""One process at a time in a run's folder; the lock dies with its process."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path
from typing import IO

from planner.errors import RunRefused


class Lock:
    """Held while open."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / ".lock"
        self.file: IO[str] = self.path.open("a+")
        try:
            fcntl.flock(self.file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            self.file.seek(0)
            holder = self.file.read().strip() or "unknown"
            self.file.close()
            raise RunRefused(
                f"{folder} is in use by another process ({holder}); wait for it, or choose another --out"
            ) from None
        self.file.truncate(0)
        self.file.write(str(os.getpid()))
        self.file.flush()

    def release(self) -> None:
        """Let go."""
        self.file.close()
