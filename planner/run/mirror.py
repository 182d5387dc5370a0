"""A run as an Optuna study, for Optuna's own tools: the front and at most 5,000 trials.

Parquet is the record; this is a copy to look at. optuna-dashboard is unusable above some ten thousand trials, and reads
constraints from an older place than Optuna itself, so both are written.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import optuna
import pyarrow as pa
import pyarrow.parquet as pq
from optuna.distributions import (
    BaseDistribution,
    CategoricalDistribution,
    FloatDistribution,
    IntDistribution,
    distribution_to_json,
)
from optuna.storages.journal import JournalFileBackend
from optuna.trial import FrozenTrial, TrialState

from planner.run.evaluate import Evaluator
from planner.run.progress import Session
from planner.run.trials import parts_in
from planner.search import Batch
from planner.study import Study
from planner.study.space import Parameter
from solvers.complaints import Complaint, InvalidInput

if TYPE_CHECKING:
    from planner.run import Run

MOST_TRIALS = 5_000
JOURNAL = "optuna/journal.log"
OWN_TRIAL = "trial"
CREATE_STUDY, CREATE_TRIAL = 0, 4
"""The operations of Optuna's journal that are written here."""


def write_journal(session: Session, front: pa.Table) -> None:
    """Write the run's Optuna journal anew: whole, in one go."""
    path = session.folder.path / JOURNAL
    path.parent.mkdir(exist_ok=True)
    aside = path.with_name(".journal.tmp")
    aside.unlink(missing_ok=True)
    trials = mirrored(session.study, session.evaluator, session.folder.trials, front)
    spread = {p.name: distribution_to_json(readable(p)) for p in session.study.space.parameters}
    logs = [_study_log(session.study), *(_trial_log(t, spread) for t in trials)]
    JournalFileBackend(str(aside)).append_logs(logs)
    aside.replace(path)


def check_storage(storage: str) -> None:
    """Open an Optuna storage before the first trial, so that a wrong address is told at once.

    Raises:
        InvalidInput: it cannot be opened.
    """
    try:
        optuna.storages.get_storage(storage).get_all_studies()
    except Exception as problem:  # whatever the driver of a database raises
        told = str(problem).strip().splitlines() or [type(problem).__name__]
        message = f"is no storage that Optuna can open: {told[0]}"
        raise InvalidInput([Complaint(storage, message, "--storage")]) from None


def write_storage(session: Session, front: pa.Table, storage: str) -> None:
    """Add to an Optuna storage what it does not hold yet."""
    optuna.logging.set_verbosity(optuna.logging.WARNING)  # which study it made is nobody's question here
    study = optuna.create_study(
        storage=storage, study_name=study_name(session.study), directions=directions(session.study), load_if_exists=True
    )
    present = {t.user_attrs.get(OWN_TRIAL) for t in study.get_trials(deepcopy=False)}
    trials = mirrored(session.study, session.evaluator, session.folder.trials, front)
    study.add_trials([t for t in trials if t.user_attrs[OWN_TRIAL] not in present])


def journal_study(run: Path) -> optuna.Study | None:
    """The study in a run's journal, if it has one; a torn last line is trimmed."""
    path = run / JOURNAL
    if not path.is_file():
        return None
    trim(path)
    storage = optuna.storages.JournalStorage(JournalFileBackend(str(path)))
    (summary,) = optuna.get_all_study_names(storage)
    return optuna.load_study(study_name=summary, storage=storage)


def memory_study(run: Run) -> optuna.Study:
    """The same for a run without a journal, in memory."""
    study = optuna.create_study(study_name=study_name(run.study), directions=directions(run.study))
    study.add_trials(mirrored(run.study, Evaluator(run.study), run.path / "trials", run.front_table()))
    return study


def trim(path: Path) -> None:
    """Cut off a last line that was not finished: Optuna loads it, and dies when it appends."""
    with path.open("rb+") as file:
        data = file.read()
        end = len(data)
        while end and (not data[:end].endswith(b"\n") or not _whole(data[:end].rsplit(b"\n", 2)[-2])):
            end = data.rfind(b"\n", 0, end - 1) + 1
        if end < len(data):
            file.truncate(end)


def _whole(line: bytes) -> bool:
    try:
        json.loads(line)
    except ValueError:
        return False
    return True


def study_name(study: Study) -> str:
    """A name that another question, or another catalogue, does not share."""
    return f"{study.name}-{study.digest}-{study.catalog.digest()}"


def directions(study: Study) -> list[Any]:
    """Optuna's directions, as the study states its objectives."""
    return [o.direction for o in study.objectives]


def mirrored(study: Study, evaluator: Evaluator, folder: Path, front: pa.Table) -> list[FrozenTrial]:
    """The first trials, evenly thinned to 5,000, and the whole front, as Optuna's trials."""
    tables = [front.select(["trial", *study.space.names])] if front.num_rows else []
    parts = parts_in(folder, study)[0]
    total = sum(p.tally.rows for p in parts)
    stride = -(-total // MOST_TRIALS) if total else 1
    offset = 0
    for part in parts:
        table = pq.read_table(part.path, columns=["trial", *study.space.names])
        tables.append(table.take(pa.array(range(-offset % stride, table.num_rows, stride), pa.int64())))
        offset += table.num_rows
    if not tables:
        return []
    table = pa.concat_tables([t.replace_schema_metadata(None) for t in tables])
    numbers = table.column("trial").to_pylist()
    rows = list({n: i for i, n in reversed(list(enumerate(numbers)))}.values())
    rows.sort(key=lambda i: numbers[i])
    return _frozen(study, evaluator, table.take(pa.array(rows, pa.int64())))


def _frozen(study: Study, evaluator: Evaluator, table: pa.Table) -> list[FrozenTrial]:
    labels = {name: table.column(name).to_pylist() for name in study.space.names}
    rows = evaluator(Batch(0, study.space.restored(labels), (table.num_rows,)))
    objectives, violations, failed = evaluator.matrix(rows)
    spread = {p.name: readable(p) for p in study.space.parameters}
    names = ["chain", *(c.text for c in study.constraints)]
    now, made = datetime.now(UTC), []
    for i, number in enumerate(table.column("trial").to_pylist()):
        values = [float(-v if o.maximized else v) for o, v in zip(study.objectives, objectives[i], strict=True)]
        bounded = [min(float(v), 1e30) for v in violations[i]]
        attributes: dict[str, Any] = {"constraints": bounded}
        attributes |= {f"constraints:{name}": v for name, v in zip(names, bounded, strict=True)}
        trial = optuna.trial.create_trial(
            state=TrialState.FAIL if failed[i] else TrialState.COMPLETE,
            values=None if failed[i] else values,
            params={name: column[i] for name, column in labels.items()},
            distributions=spread,
            user_attrs={OWN_TRIAL: number},
            system_attrs=attributes,
        )
        trial.datetime_start = trial.datetime_complete = now.replace(tzinfo=None)
        made.append(trial)
    return made


def readable(parameter: Parameter) -> BaseDistribution:
    """Where a parameter's values, as people read them, may lie."""
    if parameter.labels is not None:
        return CategoricalDistribution(parameter.labels)
    if parameter.integer:
        return IntDistribution(int(parameter.low), int(parameter.high), log=parameter.log)
    return FloatDistribution(parameter.low, parameter.high, log=parameter.log)


def _study_log(study: Study) -> dict[str, Any]:
    kinds = {"minimize": 1, "maximize": 2}
    return {
        "op_code": CREATE_STUDY, "worker_id": "planner", "study_name": study_name(study),
        "directions": [kinds[d] for d in directions(study)],
    }  # fmt: skip


def _trial_log(trial: FrozenTrial, spread: dict[str, str]) -> dict[str, Any]:
    values = trial.values
    assert trial.datetime_start is not None
    when = trial.datetime_start.isoformat(timespec="microseconds")
    return {
        "op_code": CREATE_TRIAL, "worker_id": "planner", "study_id": 0, "state": int(trial.state),
        "value": values[0] if values is not None and len(values) == 1 else None,
        "values": values if values is not None and len(values) > 1 else None,
        "datetime_start": when, "datetime_complete": when,
        "distributions": spread,
        "params": {k: trial.distributions[k].to_internal_repr(v) for k, v in trial.params.items()},
        "user_attrs": trial.user_attrs, "system_attrs": trial.system_attrs, "intermediate_values": {},
    }  # fmt: skip
