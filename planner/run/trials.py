"""Trials on disk: Parquet parts that each appear whole, each saying which trials it covers and what they came to.

A part is written aside under a name that readers skip, then renamed. A part that is missing is work to do.
"""

from __future__ import annotations

import json
import os
import shutil
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from planner.fronts import Front
from planner.run.columns import TrialColumns
from planner.run.evaluate import Rows
from planner.run.tally import Tally
from planner.study import Study, answers_as_well

KEY = b"part"
AT_ONCE = 2
"""Parts that are written at a time: an evaluation keeps less than one processor busy writing."""


@dataclass(frozen=True)
class Part:
    """A finished part on disk."""

    path: Path
    start: int
    stop: int
    """Past the last trial that it covers."""
    tally: Tally
    front: tuple[int, ...]
    """The trials in it that nothing dominated when it was written."""


@dataclass(frozen=True, eq=False)
class Draft:
    """A part that is filled and not yet written."""

    columns: TrialColumns
    folder: Path
    start: int
    stop: int
    buffers: dict[str, np.ndarray]
    rows: int
    tally: Tally
    front: tuple[int, ...]
    digest: str

    def write(self) -> Part:
        """Write it aside, and let it appear whole.

        Raises:
            OSError: the disk is full or the folder cannot be written; nothing half-written stays visible.
        """
        about = {
            "study": self.digest,
            "start": self.start,
            "stop": self.stop,
            "tally": self.tally.data(),
            "front": self.front,
        }
        table = self.columns.table(self.buffers, self.rows, {KEY.decode(): about})
        path = self.folder / f"part-{self.start:015d}-{self.stop:015d}.parquet"
        write_whole(table, path)
        return Part(path, self.start, self.stop, self.tally, self.front)


def write_whole(table: pa.Table, path: Path) -> None:
    """Write a Parquet file so that it appears whole or not at all, and survives the process and the machine."""
    aside = path.with_name(f".{path.name}.tmp")
    kinds = {f.name: f.type for f in table.schema if f.name != "trial"}
    floats = [name for name, kind in kinds.items() if pa.types.is_floating(kind)]
    encodings = {"trial": "DELTA_BINARY_PACKED", **dict.fromkeys(floats, "BYTE_STREAM_SPLIT")}
    others = [name for name in kinds if name not in floats]
    try:
        with aside.open("wb") as file:
            pq.write_table(
                table, file, compression="zstd", compression_level=1, use_dictionary=others, column_encoding=encodings,
                row_group_size=1 << 20,
            )  # fmt: skip
            file.flush()
            os.fsync(file.fileno())
        os.replace(aside, path)
    except BaseException:
        aside.unlink(missing_ok=True)
        raise


class Filled(NamedTuple):
    """How far a part is filled: one value, so that an interrupt finds a batch counted in all of it or in none."""

    stop: int
    held: int
    tally: Tally


class Keeper:
    """Gathers evaluated batches into parts."""

    def __init__(
        self, columns: TrialColumns, folder: Path, front: Front, digest: str, *, all_rows: bool = True
    ) -> None:
        self.columns, self.folder, self.front, self.digest, self.all_rows = columns, folder, front, digest, all_rows
        self._begin(0)

    def _begin(self, start: int) -> None:
        self.start = start
        self.filled = Filled(start, 0, Tally())
        self.buffers: dict[str, np.ndarray] = {}

    @property
    def stop(self) -> int:
        """Past the last trial that was taken."""
        return self.filled.stop

    @property
    def held(self) -> int:
        """Rows in the buffers."""
        return self.filled.held

    @property
    def tally(self) -> Tally:
        """What the trials taken came to."""
        return self.filled.tally

    def begin(self, start: int, rows: int) -> None:
        """Begin a part at a trial, with room for so many."""
        self._begin(start)
        if self.all_rows:
            self.buffers = self.columns.buffers(rows)

    def take(self, rows: Rows) -> None:
        """Take the next batch, which begins where the last ended."""
        stop, held, tally = self.filled
        size = rows.batch.size
        tally = tally.copy()
        tally.take(rows, self.columns.signals)
        add_feasible(self.front, rows)
        if self.all_rows:
            self._room(size)
            self.columns.fill(self.buffers, held, rows)
            held += size
        self.filled = Filled(stop + size, held, tally)

    def _room(self, size: int) -> None:
        capacity = len(self.buffers["trial"]) if self.buffers else 0
        if self.held + size > capacity:
            larger = self.columns.buffers(max(2 * capacity, self.held + size))
            for name, old in self.buffers.items():
                larger[name][: self.held] = old[: self.held]
            self.buffers = larger

    def draft(self, again: Any = None) -> Draft:
        """The part as it stands, and an empty one begun after it.

        Args:
            again: evaluates trials by number; needed where only the front is kept.
        """
        here = self.front.trials[(self.front.trials >= self.start) & (self.front.trials < self.stop)]
        buffers, (stop, held, tally) = self.buffers, self.filled
        if not self.all_rows:
            buffers, held = self.columns.buffers(len(here)), len(here)
            if held:
                self.columns.fill(buffers, 0, again(here))
                buffers["trial"][:] = here
        front = tuple(int(t) for t in here)
        made = Draft(self.columns, self.folder, self.start, stop, buffers, held, tally, front, self.digest)
        self._begin(stop)
        return made


def add_feasible(front: Front, rows: Rows) -> None:
    """Take a batch's feasible trials into account for the front."""
    feasible = np.flatnonzero(rows.full(rows.signals) == 0)
    if len(feasible):
        points = np.stack([rows.full(o)[feasible] for o in rows.objectives], axis=1)
        front.add(points, rows.batch.start + feasible)


class Writer:
    """Writes drafts in threads of its own, two at a time, so that evaluation and writing overlap."""

    def __init__(self) -> None:
        self.pool = ThreadPoolExecutor(AT_ONCE, "trials")
        self.pending: deque[Future[Part]] = deque()
        self.parts: list[Part] = []

    def submit(self, draft: Draft) -> None:
        """Queue a draft, once there is room for it.

        Raises:
            OSError: an earlier draft could not be written.
        """
        while len(self.pending) >= AT_ONCE:
            self._settle()
        self.pending.append(self.pool.submit(draft.write))

    def wait(self) -> None:
        """Wait until nothing is pending.

        Raises:
            OSError: a draft could not be written.
        """
        while self.pending:
            self._settle()

    def _settle(self) -> None:
        self.parts.append(self.pending.popleft().result())

    def close(self) -> None:
        """Stop the threads; what is pending is finished and counted, failures are forgotten."""
        self.pool.shutdown(wait=True)
        self.parts += [f.result() for f in self.pending if f.exception() is None]
        self.pending.clear()


def parts_in(folder: Path, study: Study | None = None) -> tuple[list[Part], dict[Path, str]]:
    """The readable parts of a run in order, and for every other file there what is wrong with it.

    Where a study is given, parts of another one are among the others.
    """
    found: list[Part] = []
    broken: dict[Path, str] = {}
    for path in sorted(folder.iterdir()) if folder.is_dir() else ():
        if path.name.startswith((".", "_")):
            continue
        try:
            part = _part(path, study)
        except (OSError, ValueError, KeyError, TypeError, pa.ArrowException) as problem:
            broken[path] = str(problem).splitlines()[0] if str(problem) else type(problem).__name__
            continue
        if found and part.start < found[-1].stop:
            broken[path] = f"covers trials that {found[-1].path.name} holds already"
        else:
            found.append(part)
    return found, broken


def _part(path: Path, study: Study | None) -> Part:
    if path.suffix != ".parquet":
        raise ValueError("is no Parquet file")
    file = pq.ParquetFile(path)
    about = json.loads((file.schema_arrow.metadata or {}).get(KEY, b"null"))
    if about is None:
        raise ValueError("is a Parquet file of somebody else's")
    if study is not None and about["study"] != study.digest and not _answers(file, study):
        raise ValueError("belongs to another study")
    return Part(path, about["start"], about["stop"], Tally.of(about["tally"]), tuple(about["front"]))


def _answers(file: pq.ParquetFile, study: Study) -> bool:
    recorded = json.loads(file.schema_arrow.metadata[b"study"])
    return answers_as_well(recorded, json.loads(json.dumps(study.data, default=str)))


def set_aside(broken: dict[Path, str], run: Path) -> list[str]:
    """Move files that are not our parts out of the readers' way; sentences that name each."""
    said = []
    for path, why in broken.items():
        target = run / "set_aside" / path.name
        target.parent.mkdir(exist_ok=True)
        shutil.move(path, target)
        said.append(f"{path.name} {why}; moved to {target.parent.name}/")
    return said


def clear_unfinished(folder: Path) -> None:
    """Remove what a killed process was writing."""
    for path in folder.glob(".part-*.tmp"):
        path.unlink(missing_ok=True)


def missing_ranges(parts: Sequence[Part], total: int, step: int) -> Iterator[tuple[int, int]]:
    """The stretches of trials that no part covers, cut at multiples of `step`."""
    at = 0
    for start, stop in [*((p.start, p.stop) for p in parts), (total, total)]:
        while at < min(start, total):
            end = min((at // step + 1) * step, start, total)
            yield at, end
            at = end
        at = max(at, stop)
