"""A finished run as reports read it: the study, the front, counts, and of everything else a thinned sample.

A run of ten million trials is never loaded whole: columns that no report needs are not read, and of a large run only
every so many parts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from planner.report.table import Table, indices
from planner.run import load_run
from planner.run.folder import TRIALS
from planner.run.tally import Tally
from planner.run.trials import parts_in
from planner.study import Study
from solvers.columns import Column
from solvers.complaints import Complaint, InvalidInput

MOST_ROWS_READ = 600_000
OTHERS_KEPT = 2_400
OWN_COLUMNS = ("trial", "feasible", "reasons", "violation", "state")


@dataclass(frozen=True, eq=False)
class Record:
    """What a report says a run found."""

    path: Path
    study: Study
    info: Mapping[str, Any]
    columns: Mapping[str, Column]
    """Every column of the trials, with unit and meaning."""
    front: Table
    others: Table
    """A sample of the trials that are not on the front, evenly spread over the run."""
    nearest: Mapping[str, Mapping[str, Any]]
    """Of each reason for which a trial is infeasible, the trial that misses least."""
    trials: int
    feasible: int
    reasons: Mapping[str, int]
    """How many trials carry each code; a trial may carry several."""
    relaxed: Mapping[str, Table] = field(default_factory=dict)
    """For each constraint, of the trials that it alone forbids the best for each objective."""
    complete: bool = True
    """False where so large a run was read in part for the sample, the relaxations and the nearest misses."""

    @property
    def parameters(self) -> tuple[str, ...]:
        """The names of what varies."""
        return self.study.space.names


def read_run(path: str | Path, study: Study | None = None) -> Record:
    """A run from its folder.

    Args:
        path: the folder.
        study: what it answers, where that is loaded already.

    Raises:
        InvalidInput: the folder holds no run.
    """
    run = load_run(path)
    study, path = study or run.study, run.path
    parts, _ = parts_in(path / TRIALS)
    if not parts:
        raise InvalidInput([Complaint("", "holds no finished trials yet", str(path))])
    tally = Tally()
    for part in parts:
        tally.add(part.tally)
    files = [pq.ParquetFile(part.path) for part in parts]
    schema = files[0].schema_arrow
    front = _with_fixed(study, Table.of(run.front_table()))
    found = _Scan(study, files, set(front["trial"].tolist()))
    return Record(
        path, study, run.info, _columns(schema, study), front, found.others(), found.nearest_misses(tally.reasons),
        tally.rows, tally.feasible, dict(tally.reasons.most_common()), found.relaxed(), found.complete,
    )  # fmt: skip


def _with_fixed(study: Study, table: Table) -> Table:
    """The table with the fixed parameters that a goal takes: the same in every trial, they are no columns on disk."""
    for name in dict.fromkeys(n for goal in study.objectives for n in goal.expression.takes):
        if name in study.fixed and name not in table:
            table = table.with_column(name, np.full(len(table), float(study.fixed[name][0])))
    return table


def _columns(schema: pa.Schema, study: Study) -> dict[str, Column]:
    """Every column as the study knows it; what it does not know, as the file's own metadata describe it."""
    made: dict[str, Column] = {}
    for item in schema:
        known = study.columns.get(item.name) or study.chain.outputs.get(item.name)
        if known is None:
            meta = {k.decode(): v.decode() for k, v in (item.metadata or {}).items()}
            known = Column(item.name, meta.get("unit", ""), meta.get("description", ""), meta.get("made_by", ""))
        made[item.name] = known
    return made


class _Scan:
    """One pass over the trials, some columns of them, in bounded memory."""

    def __init__(self, study: Study, files: list[pq.ParquetFile], front: set[int]) -> None:
        self.study, self.front = study, front
        self.rows = sum(f.metadata.num_rows for f in files)
        self.complete = self.rows <= MOST_ROWS_READ
        goals = [n for goal in (*study.objectives,) for n in goal.expression.takes]
        wanted = (*OWN_COLUMNS, *study.space.names, *goals, *ALSO_SHOWN)
        self._columns = [n for n in dict.fromkeys(wanted) if n in files[0].schema_arrow.names]
        self._kept: list[Table] = []
        self._least: dict[str, Table] = {}
        self._better: dict[str, list[Table]] = {}
        stride = max(1, min(self.rows, MOST_ROWS_READ) // OTHERS_KEPT)
        offset = 0
        for batch in self._read(files):
            self._take(batch, stride, offset)
            offset += batch.num_rows

    def _read(self, files: list[pq.ParquetFile]) -> Iterator[pa.RecordBatch]:
        step = 1 if self.complete else -(-self.rows // MOST_ROWS_READ)
        for file in files[::step]:
            yield from file.iter_batches(batch_size=131_072, columns=self._columns)

    def _take(self, batch: pa.RecordBatch, stride: int, offset: int) -> None:
        if not batch.num_rows:
            return
        first = -offset % stride
        if first < batch.num_rows:
            self._kept.append(self._table(batch.take(indices(np.arange(first, batch.num_rows, stride)))))
        single = batch.filter(pc.invert(batch.column("feasible")))
        if not single.num_rows:
            return
        texts = single.column("reasons").dictionary_encode()
        codes = Table.of(pa.RecordBatch.from_arrays([texts.indices], ["code"]))["code"]
        for code, text in enumerate(texts.dictionary.to_pylist()):
            same = single.take(indices(np.flatnonzero(codes == code)))
            self._note_least(text, same)
            if text.startswith("constraint:") and "," not in text:
                self._note_better(text, same)

    def _note_least(self, text: str, same: pa.RecordBatch) -> None:
        violation = Table.of(same.select(["violation"]))["violation"]
        row = int(np.argmin(np.where(np.isnan(violation), np.inf, violation)))
        found = self._table(same.slice(row, 1))
        for code in text.split(","):
            held = self._least.get(code)
            if held is None or found["violation"][0] < held["violation"][0]:
                self._least[code] = found

    def _note_better(self, code: str, same: pa.RecordBatch) -> None:
        frame = self._table(same)
        rows = {int(np.nanargmin(v)) for goal in self.study.objectives if np.isfinite(v := less(goal, frame)).any()}
        self._better.setdefault(code, []).append(frame.take(sorted(rows)))

    def _table(self, batch: pa.RecordBatch) -> Table:
        return _with_fixed(self.study, Table.of(batch))

    def others(self) -> Table:
        """The sample, without what is on the front."""
        found = Table.joined(self._kept)
        return found.take(~np.isin(found["trial"], list(self.front))) if len(found) else found

    def nearest_misses(self, reasons: Counter[str]) -> dict[str, dict[str, Any]]:
        """For each code the trial that misses least, the most frequent code first."""
        return {code: self._least[code].row(0) for code, _ in reasons.most_common() if code in self._least}

    def relaxed(self) -> dict[str, Table]:
        """For each constraint, the trials that it alone forbids and that are best in some objective."""
        return {code: Table.joined(tables) for code, tables in self._better.items()}


def less(goal: Any, frame: Table) -> np.ndarray:
    """An objective over a frame of trials, its sign turned so that less is better."""
    columns = {name: frame[name] for name in goal.expression.takes}
    with np.errstate(all="ignore"):
        return np.asarray(goal.minimised(columns), dtype=np.float64)


def value(goal: Any, frame: Table) -> np.ndarray:
    """An objective over a frame of trials, in its own unit."""
    columns = {name: frame[name] for name in goal.expression.takes}
    with np.errstate(all="ignore"):
        return np.asarray(goal.expression(columns), dtype=np.float64)


ALSO_SHOWN = (
    "effective_throughput", "tokens_per_accelerator", "itl", "tpot", "ttft", "e2e_latency", "step_latency_total", "mfu",
    "training_time", "latency", "throughput", "memory_per_accelerator", "n_accelerators", "accelerators_used",
    "max_batch_size", "cost_per_hour", "cost_per_million_tokens", "cost_per_run", "bottleneck",
)  # fmt: skip
"""Columns that help to judge a plan whatever was asked, where the chain makes them."""
