"""A grid in shards: stretches of cells, each of which becomes one part on disk. A missing part is work to do.

Shards are done here, by a pool of processes, or by Dask; who does one does not matter, nor in which order.
"""

from __future__ import annotations

import contextlib
import math
import os
import signal
import threading
from collections.abc import Generator, Iterable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import connection, get_context, parent_process
from pathlib import Path
from typing import Any

import numpy as np

from planner.fronts import Front
from planner.run.columns import TrialColumns
from planner.run.evaluate import Evaluator, Rows
from planner.run.progress import Session
from planner.run.trials import Draft, Keeper, Part, Writer, missing_ranges
from planner.search import Batch
from planner.search.grid import Grid, cut
from planner.study import Study, load_study

PART_ROWS = 131_072
LARGEST_PART_ROWS = 524_288
FRONT_PART_ROWS = 4_194_304
Shard = tuple[int, int]


def explore_grid(session: Session, workers: int, dask: str | None) -> None:
    """Evaluate every cell that no part on disk covers."""
    study, front = session.study, session.front
    total = math.prod(study.space.shape)
    wanted = min(total, study.search.trials or total)
    for part in session.known:
        session.keep(part)
        add_cells(front, session.evaluator, np.array(part.front, dtype=np.int64))
    session.before = session.tally.rows
    shards = list(missing_ranges(session.known, wanted, shard_rows(study)))
    if shards and (dask is not None or workers > 1):
        _spread(session, shards, workers, dask, wanted)
    else:
        _here(session, shards, wanted)
    session.distinct = session.tally.rows
    session.tell(session.tally.rows, wanted, session.tally.feasible, last=True)


def shard_rows(study: Study) -> int:
    """Cells to a part: a whole number of slabs, few enough to fit memory, many enough to keep parts few."""
    total = math.prod(study.space.shape)
    if study.search.keep == "front":
        aim = min(max(total // 64, PART_ROWS), FRONT_PART_ROWS)
    else:
        aim = min(max(total // 256, PART_ROWS), LARGEST_PART_ROWS)
    if study.search.batch is not None:
        aim = study.search.batch
    slabs = cut(study.space.shape)
    slab = slabs.piece * slabs.inner
    return max(aim // slab, 1) * slab if study.search.batch is None else aim


def add_cells(front: Front, evaluator: Evaluator, cells: np.ndarray) -> None:
    """Add cells by their numbers to a front; they are feasible."""
    if len(cells):
        objectives, _, _ = evaluator.matrix(evaluate_cells(evaluator, cells))
        front.add(objectives, cells)


def evaluate_cells(evaluator: Evaluator, cells: np.ndarray) -> Rows:
    """Evaluate cells by their numbers."""
    return evaluator(Batch(0, evaluator.study.space.cells(cells), (len(cells),)))


class Worker:
    """Does one shard after another; its front lives on, so that later shards are compared with earlier ones."""

    def __init__(
        self, study: Study, folder: Path, front: Front | None = None, parts: tuple[Any, Any] | None = None
    ) -> None:
        evaluator, columns = parts or (Evaluator(study), TrialColumns(study))
        self.evaluator: Evaluator = evaluator
        self.front = front or Front(len(study.objectives))
        self.study = study
        self.keeper = Keeper(columns, folder, self.front, study.digest, all_rows=study.search.keep == "all")

    def fill(self, shard: Shard) -> Iterator[Keeper]:
        """Evaluate a shard, slab by slab; the keeper after each."""
        self.keeper.begin(shard[0], shard[1] - shard[0])
        for batch in Grid(self.study.space, *shard).batches():
            self.keeper.take(self.evaluator(batch))
            yield self.keeper

    def draft(self) -> Draft:
        """The shard that was filled."""
        return self.keeper.draft(partial(evaluate_cells, self.evaluator))


def _here(session: Session, shards: Iterable[Shard], wanted: int) -> None:
    """Evaluate in this thread, write in another."""
    worker = Worker(session.study, session.folder.trials, session.front, (session.evaluator, session.columns))
    writer = Writer()
    done, feasible = session.tally.rows, session.tally.feasible
    try:
        for shard in shards:
            with session.timed("evaluate"):
                for keeper in worker.fill(shard):
                    rows = done + keeper.stop - shard[0]
                    session.tell(rows, wanted, feasible + keeper.tally.feasible)
                draft = worker.draft()
            done, feasible = done + shard[1] - shard[0], feasible + draft.tally.feasible
            with session.timed("write"):
                writer.submit(draft)
        with session.timed("write"):
            writer.wait()
    finally:
        writer.close()
        for part in writer.parts:
            session.keep(part)


_worker: Worker | None = None
_turn = threading.Lock()


def _start(data: Mapping[str, Any], folder: Path) -> None:
    global _worker
    _worker = Worker(load_study(data), folder)


def _begin(data: Mapping[str, Any], folder: Path) -> None:
    """Prepare a process of a pool: it leaves interrupts to the one that began it, and ends when that one does."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    _start(data, folder)


def _end_with_parent() -> None:
    """End at once when the process that began this one is gone: a killed run must not go on writing, nor linger."""
    parent = parent_process()
    if parent is not None:
        connection.wait([parent.sentinel])
        os._exit(1)


def _do(shard: Shard) -> tuple[Part, np.ndarray]:
    """One shard in a process of its own: its part, and the objectives of the part's front."""
    assert _worker is not None
    for _ in _worker.fill(shard):
        pass
    draft = _worker.draft()
    points = _worker.front.points[np.isin(_worker.front.trials, draft.front)]
    return draft.write(), points


def _do_anywhere(data: Mapping[str, Any], folder: Path, shard: Shard) -> tuple[Part, np.ndarray]:
    """As `_do`, in a process that nobody prepared; threads of one process take turns."""
    with _turn:
        if _worker is None or _worker.keeper.folder != folder:
            _start(data, folder)
        return _do(shard)


def _spread(session: Session, shards: list[Shard], workers: int, dask: str | None, wanted: int) -> None:
    """Evaluate and write in other processes."""
    data, folder = session.study.data, session.folder.trials.absolute()
    done = _dask(data, folder, shards, dask) if dask is not None else _pool(data, folder, shards, workers)
    with session.timed("evaluate"), contextlib.closing(done):  # an interrupt drops what no process has begun
        for part, points in done:
            session.keep(part)
            session.front.add(points, np.array(part.front, dtype=np.int64))
            session.tell(session.tally.rows, wanted, session.tally.feasible)


def _pool(
    data: Mapping[str, Any], folder: Path, shards: list[Shard], workers: int
) -> Generator[tuple[Part, np.ndarray], None, None]:
    from concurrent.futures import as_completed

    workers = min(workers, len(shards))
    with ProcessPoolExecutor(workers, get_context("spawn"), _begin, (data, folder)) as pool:
        futures = [pool.submit(_do, shard) for shard in shards]
        try:
            for future in as_completed(futures):
                yield future.result()
        except BaseException:
            pool.shutdown(wait=True, cancel_futures=True)
            raise


def _dask(
    data: Mapping[str, Any], folder: Path, shards: list[Shard], address: str
) -> Generator[tuple[Part, np.ndarray], None, None]:
    from solvers.complaints import Complaint, InvalidInput

    try:
        from distributed import Client, as_completed
    except ImportError:
        message = "needs Dask: pip install 'ml-capacity-planner[dask]'"
        raise InvalidInput([Complaint("--dask", message)]) from None
    with Client(address) as client:
        futures = client.map(partial(_do_anywhere, data, folder), shards, pure=False)
        for future in as_completed(futures):
            yield future.result()
