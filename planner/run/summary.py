"""What a run came to, as `run.json` and `front.parquet`."""

from __future__ import annotations

import math
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from planner.fronts import EXACT_HYPERVOLUME_OBJECTIVES, Front, hypervolume, knee, reference_point
from planner.run.columns import TrialColumns
from planner.run.evaluate import Rows
from planner.run.folder import FRONT
from planner.run.progress import Session
from planner.run.shards import evaluate_cells
from planner.run.trials import parts_in, write_whole
from planner.search import DEFAULT_TRIALS, SEARCHES
from planner.study import Study
from planner.versions import versions


def started(session: Session) -> dict[str, Any]:
    """What is known when a run begins."""
    study = session.study
    return {
        "state": "running",
        "name": study.name,
        "title": study.title,
        "method": study.search.method,
        "seed": study.search.seed,
        "keep": study.search.keep,
        "objectives": [o.text for o in study.objectives],
        "constraints": [c.text for c in study.constraints],
        "started": datetime.now(UTC).isoformat(timespec="seconds"),
        "trials": sum(p.tally.rows for p in session.known),
        "feasible": sum(p.tally.feasible for p in session.known),
        "versions": versions(),
        "digests": {"study": study.digest, "catalogue": study.catalog.digest()},
        "notes": session.notes,
    }


def ended(session: Session, state: str, error: str = "") -> dict[str, Any]:
    """What is known when a run ends, well or early."""
    tally = session.tally
    made = started(session) | {
        "state": state,
        "finished": datetime.now(UTC).isoformat(timespec="seconds"),
        "trials": tally.rows,
        "distinct": session.distinct if session.distinct is not None else tally.rows,
        "feasible": tally.feasible,
        "failed": tally.failed,
        "reasons": dict(tally.reasons.most_common()),
    }
    seconds = time.perf_counter() - session.begun
    made["timings"] = {k: round(v, 4) for k, v in session.timings.items()} | {"total": round(seconds, 4)}
    made["rate"] = round((tally.rows - session.before) / max(seconds, 1e-9), 1)
    return made | ({"error": error} if error else {})


def finish(session: Session, storage: str | None = None) -> None:
    """Write the front and what the run came to."""
    with session.timed("report"):
        table, points = front_table(session)
        write_whole(table, session.folder.path / FRONT)
        made = ended(session, "done") | _outcome(session, table, points)
        if SEARCHES[session.study.search.method].adaptive:
            from planner.run.mirror import write_journal

            write_journal(session, table)
        if storage is not None:
            from planner.run.mirror import write_storage

            write_storage(session, table, storage)
    made["timings"]["report"] = round(session.timings["report"], 4)
    made["timings"]["total"] = round(time.perf_counter() - session.begun, 4)
    session.folder.write_info(made)


def wanted_trials(session: Session) -> int:
    """How many trials were asked for."""
    options = session.study.search
    if options.method == "grid":
        total = math.prod(session.study.space.shape)
        return min(total, options.trials or total)
    return options.trials or SEARCHES[options.method].default_trials or DEFAULT_TRIALS


def _outcome(session: Session, table: pa.Table, points: np.ndarray) -> dict[str, Any]:
    study, tally = session.study, session.tally
    size = study.space.size
    made: dict[str, Any] = {
        "front": table.num_rows,
        "space": size,
        "exhausted": size is not None and session.distinct == size,
    }
    if not table.num_rows:
        return made | {"nearest_miss": _nearest(session)} if tally.nearest is not None else made
    trials = table.column("trial").to_numpy()
    made["best"] = {o.text: int(trials[np.argmin(points[:, i])]) for i, o in enumerate(study.objectives)}
    made["knee"] = int(trials[knee(points)])
    if points.shape[1] <= EXACT_HYPERVOLUME_OBJECTIVES:
        signs = np.array([-1.0 if o.maximized else 1.0 for o in study.objectives])
        reference = reference_point(points)
        made["hypervolume"] = {
            "value": hypervolume(points, reference),
            "reference": {o.text: float(r) for o, r in zip(study.objectives, signs * reference, strict=True)},
        }
    return made


def _nearest(session: Session) -> dict[str, Any]:
    """The trial that misses by least: what it is, and what binds it."""
    nearest = session.tally.nearest
    assert nearest is not None
    table = rows_of(session, np.array([nearest], dtype=np.int64))
    row = table.to_pylist()[0]
    names = session.study.space.names
    return {
        "trial": nearest,
        "parameters": {n: row[n] for n in names},
        "violation": row["violation"],
        "reasons": (row["reasons"] or "").split(","),
        "metrics": {n: row[n] for n in session.study.chain.outputs},
    }


def front_table(session: Session) -> tuple[pa.Table, np.ndarray]:
    """The front's trials with all their columns, ordered by the first objective, and their objectives."""
    front = session.front
    order = np.lexsort(front.points.T[::-1]) if len(front.points) else np.arange(0)
    return rows_of(session, front.trials[order]), front.points[order]


def front_on_disk(folder: Path, study: Study) -> pa.Table:
    """The front of the trials that are on disk so far, ordered by the first objective."""
    parts = parts_in(folder, study)[0]
    candidates = np.array(sorted(t for p in parts for t in p.front), dtype=np.int64)
    if not parts:
        return TrialColumns(study).schema.empty_table()
    table = _read(folder, study, candidates, pq.read_schema(parts[0].path))
    front = Front(len(study.objectives))
    front.add(points_of(study, table), np.arange(table.num_rows))
    return table.take(pa.array(front.trials[np.lexsort(front.points.T[::-1])], pa.int64()))


def points_of(study: Study, table: pa.Table) -> np.ndarray:
    """The objectives of trials as they were kept; less is better."""
    columns: dict[str, Any] = dict(study.fixed)
    for goal in study.objectives:
        columns |= {n: table.column(n).to_numpy() for n in goal.expression.takes if n in table.column_names}
    values = [np.broadcast_to(g.minimised(columns), (table.num_rows,)) for g in study.objectives]
    return np.stack(values, axis=1).astype(np.float64)


def rows_of(session: Session, trials: np.ndarray) -> pa.Table:
    """Trials by their numbers, in that order: the cells of a grid are evaluated again, other trials are read."""
    study, columns = session.study, session.columns
    if study.search.method != "grid":
        return _read(session.folder.trials, study, trials, columns.schema)
    buffers = columns.buffers(len(trials))
    if len(trials):
        rows: Rows = evaluate_cells(session.evaluator, trials)
        columns.fill(buffers, 0, rows)
        buffers["trial"][:] = trials
    return columns.table(buffers, len(trials))


def _read(folder: Path, study: Study, trials: np.ndarray, schema: pa.Schema) -> pa.Table:
    import pyarrow.compute as pc

    found = []
    for part in parts_in(folder, study)[0]:
        inside = trials[(trials >= part.start) & (trials < part.stop)]
        if len(inside):
            table = pq.read_table(part.path)
            found.append(table.filter(pc.is_in(table.column("trial"), pa.array(inside))))
    if not found:
        return schema.empty_table()
    table = pa.concat_tables([t.replace_schema_metadata(schema.metadata) for t in found])
    place = {int(t): i for i, t in enumerate(table.column("trial").to_numpy())}
    return table.take(pa.array([place[int(t)] for t in trials]))
