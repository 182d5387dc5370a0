"""From a study to a run: the few lines that tie space, search, chain, constraints, trials and front together."""

from __future__ import annotations

import shutil
import tempfile
import time
import weakref
from collections.abc import Callable, Mapping
from concurrent.futures import BrokenExecutor
from pathlib import Path
from typing import Any

from planner.errors import RunFault, RunInterrupted
from planner.run import Run
from planner.run.adaptive import explore_sampled
from planner.run.folder import RunFolder
from planner.run.progress import Progress, Session
from planner.run.shards import explore_grid
from planner.run.summary import finish, started
from planner.study import Study, load_study
from solvers.complaints import InvalidInput


def explore(
    study: Study | str | Path | Mapping[str, Any],
    out: str | Path | None = None,
    *,
    resume: bool = False,
    workers: int = 1,
    progress: Callable[[Progress], None] | None = None,
    storage: str | None = None,
    dask: str | None = None,
) -> Run:
    """Run a study.

    Args:
        study: a study, its path, its shipped name, or a mapping with the keys of a study file.
        out: the run's folder; a temporary one, which goes with the run, where none is given.
        resume: go on with what the folder holds; an absent folder starts.
        workers: processes that share a grid.
        progress: called now and then with how far it is.
        storage: an Optuna storage that also gets the front and up to 5,000 trials.
        dask: the address of a Dask scheduler that shares a grid.

    Raises:
        InvalidInput: the study, or the folder, cannot be used.
        RunFault: the machine failed; says what is safe and how to go on.
        RunInterrupted: somebody interrupted; likewise.
    """
    begun = time.perf_counter()
    if not isinstance(study, Study):
        study = load_study(study)
    if storage is not None:
        from planner.run.mirror import check_storage

        check_storage(storage)
    path = Path(out) if out is not None else Path(tempfile.mkdtemp(prefix="planner-"))
    new = not path.exists() or not any(path.iterdir() if path.is_dir() else [path])
    folder = RunFolder.open(path, study, resume=resume)
    keep = True
    try:
        _explore(Session(study, folder, begun, progress), workers, dask, storage)
    except InvalidInput:
        keep = not new
        raise
    except BaseException:
        keep = out is not None
        raise
    finally:
        folder.close()
        if not keep:
            shutil.rmtree(path, ignore_errors=True)
    run = Run(path)
    if out is None:
        weakref.finalize(run, shutil.rmtree, path, ignore_errors=True)
    return run


def _explore(session: Session, workers: int, dask: str | None, storage: str | None) -> None:
    study, path = session.study, session.folder.path
    session.folder.write_info(started(session))
    try:
        if study.search.method == "grid":
            explore_grid(session, workers, dask)
        else:
            if workers > 1 or dask is not None:
                session.notes.append(f"{study.search.method} runs in one process: workers share grids")
            explore_sampled(session)
        finish(session, storage)
    except KeyboardInterrupt as stop:
        kept = session.count()
        session.end("interrupted")
        raise RunInterrupted(path, kept) from stop
    except OSError as fault:
        session.end("failed", f"{fault.strerror or fault}")
        message = f"The trials could not be written to {path}: {fault.strerror or fault}."
        raise RunFault(message, path, session.tally.rows) from fault
    except BrokenExecutor as fault:
        session.end("failed", "a worker process died")
        raise RunFault("A worker process died.", path, session.tally.rows) from fault
    except BaseException as fault:
        session.end("failed", f"{type(fault).__name__}: {fault}")
        raise
