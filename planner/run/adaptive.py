"""Searches that learn, or draw at random: a batch is asked for, evaluated, told and kept."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from planner.errors import RunRefused
from planner.run.evaluate import Rows
from planner.run.progress import Session
from planner.run.trials import Keeper, Part, Writer, add_feasible, set_aside
from planner.search import DEFAULT_TRIALS, SEARCHES, Batch

FLUSH_SECONDS = 0.5
"""How much work may be lost when the process is killed; it would be repeated, and come out the same."""
FLUSH_ROWS = 131_072


def explore_sampled(session: Session) -> None:
    """Evaluate what the search asks for, until it has asked for enough."""
    study, options = session.study, session.study.search
    method = SEARCHES[options.method]
    trials = options.trials or method.default_trials or DEFAULT_TRIALS
    known = _recall(session)
    with session.timed("search"):
        search = method.load().make(
            study.space, options.method, seed=options.seed, trials=trials, batch=options.batch,
            objectives=len(study.objectives), constraints=["chain", *(c.text for c in study.constraints)],
            known=None if known is None else _told(session, known),
        )  # fmt: skip
    seen = set() if known is None else set(study.space.keys(known.batch.coordinates))
    keeper = Keeper(session.columns, session.folder.trials, session.front, study.digest)
    keeper.begin(session.tally.rows, 1024)
    session.before = session.tally.rows
    writer = Writer()
    flushed = 0.0
    batches = search.batches()
    try:
        while True:
            with session.timed("search"):
                batch = next(batches, None)
            if batch is None:
                break
            with session.timed("evaluate"):
                rows = session.evaluator(batch)
                matrix = session.evaluator.matrix(rows)
            with session.timed("search"):
                search.tell(batch, *matrix)
            with session.timed("keep"):
                keeper.take(rows)
                seen.update(study.space.keys(batch.coordinates))
            if keeper.held >= FLUSH_ROWS or time.perf_counter() - flushed > FLUSH_SECONDS:
                with session.timed("write"):
                    writer.submit(keeper.draft())
                    keeper.begin(keeper.start, 1024)
                flushed = time.perf_counter()
            session.tell(keeper.stop, trials, session.tally.feasible + keeper.tally.feasible)
    finally:
        try:
            with session.timed("write"):
                if keeper.held:
                    writer.submit(keeper.draft())
                writer.wait()
        finally:
            writer.close()
            for part in writer.parts:
                session.keep(part)
    session.distinct = len(seen)
    session.tell(session.tally.rows, trials, session.tally.feasible, last=True)


def _recall(session: Session) -> Rows | None:
    """The trials on record, evaluated again to tell the search; the record must agree.

    Raises:
        RunRefused: the same configurations come out differently now, so another version made the record.
    """
    parts = _unbroken(session)
    if not parts:
        return None
    names = ["trial", *session.study.space.names, "violation"]
    table = pa.concat_tables([pq.read_table(p.path, columns=names) for p in parts])
    labels = {name: table.column(name).to_pylist() for name in session.study.space.names}
    coordinates = session.study.space.restored(labels)
    rows = session.evaluator(Batch(0, coordinates, (table.num_rows,)))
    recorded = table.column("violation").to_numpy()
    if not np.array_equal(rows.full(rows.violation), recorded, equal_nan=True):
        raise RunRefused(
            f"the trials in {session.folder.path} come out differently now: another version of the planner made them. "
            f"They stay as they are; run the study again under another --out"
        )
    for part in parts:
        session.keep(part)
    add_feasible(session.front, rows)
    return rows


def _unbroken(session: Session) -> list[Part]:
    """The parts up to the first gap; what lies behind it is set aside, and will come out the same again."""
    kept: list[Part] = []
    behind: dict[Path, str] = {}
    for part in session.known:
        if not behind and part.start == (kept[-1].stop if kept else 0):
            kept.append(part)
        else:
            behind[part.path] = "follows a gap"
    session.notes += set_aside(behind, session.folder.path)
    return kept


def _told(session: Session, rows: Rows) -> Any:
    from planner.search.sampled import Known

    return Known(rows.batch.coordinates, *session.evaluator.matrix(rows))
