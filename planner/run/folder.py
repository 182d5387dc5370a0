"""A run's folder: who may work in it, what it answers, and its small files."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from planner.errors import RunRefused
from planner.run.lock import Lock
from planner.study import Study, answers_as_well, deciding, load_study, yamltext
from planner.study.yamlwriter import to_yaml
from solvers.complaints import InvalidInput

STUDY, INFO, FRONT, TRIALS = "study.yaml", "run.json", "front.parquet", "trials"


class RunFolder:
    """A folder that this process holds while a run goes on."""

    def __init__(self, path: Path, lock: Lock) -> None:
        self.path, self.lock = path, lock
        self.trials = path / TRIALS

    @staticmethod
    def open(path: Path, study: Study, *, resume: bool) -> RunFolder:
        """Take a new folder, or one that holds an unfinished run of the same study.

        Raises:
            RunRefused: it exists and nobody said resume, it answers another study, somebody works in it, or it cannot
                be written.
        """
        occupied = path.exists() and (not path.is_dir() or any(p.name != ".lock" for p in path.iterdir()))
        if occupied and not resume:
            raise RunRefused(f"{path} exists; resume it, or choose another folder with --out")
        if occupied and not (path / STUDY).is_file() and any((path / n).exists() for n in (TRIALS, INFO)):
            raise RunRefused(f"{path} has trials and no {STUDY}: it cannot be resumed")
        if occupied and not (path / STUDY).is_file() and {p.name for p in path.iterdir()} - {".lock", f".{STUDY}.tmp"}:
            raise RunRefused(f"{path} holds other files than a run's; choose another folder with --out")
        try:
            path.mkdir(parents=True, exist_ok=True)
            lock = Lock(path)
        except OSError as problem:
            raise RunRefused(f"{path} cannot be written: {problem.strerror or problem}") from problem
        made = RunFolder(path, lock)
        try:
            if (path / STUDY).is_file():
                _same_study(path, study)
                _same_catalogue(path, study)
            made.trials.mkdir(exist_ok=True)
            made.write_study(study)
        except OSError as problem:
            lock.release()
            raise RunRefused(f"{path} cannot be written: {problem.strerror or problem}") from problem
        except BaseException:
            lock.release()
            raise
        return made

    def write_study(self, study: Study) -> None:
        """Write the study as resolved."""
        write_text(self.path / STUDY, to_yaml(study.data))

    def write_info(self, info: Mapping[str, Any]) -> None:
        """Write `run.json`."""
        write_text(self.path / INFO, json.dumps(info, indent=2, default=str) + "\n")

    def close(self) -> None:
        """Let another process in."""
        self.lock.release()


def _same_study(path: Path, study: Study) -> None:
    """Refuse to go on with another question.

    Raises:
        RunRefused: names the keys that differ.
    """
    recorded = yamltext.read((path / STUDY).read_bytes(), STUDY).data
    try:
        ours, theirs = deciding(yamltext.read(to_yaml(study.data), STUDY).data), deciding(recorded)
    except (InvalidInput, KeyError, TypeError) as problem:
        raise RunRefused(f"{path / STUDY} cannot be read: {problem}") from problem
    differing = sorted(_differences(ours, theirs))
    if differing and not answers_as_well(recorded, yamltext.read(to_yaml(study.data), STUDY).data):
        raise RunRefused(
            f"{path} answers another study: {', '.join(differing)} differ. Run it under another --out; its trials stay "
            f"as they are"
        )


def _same_catalogue(path: Path, study: Study) -> None:
    """Refuse to mix trials that rest on different figures.

    Raises:
        RunRefused: the catalogue has changed since.
    """
    try:
        recorded = json.loads((path / INFO).read_text())["digests"]["catalogue"]
    except (OSError, ValueError, KeyError, TypeError):
        return  # killed before it was written: there are no trials yet
    if recorded != study.catalog.digest():
        raise RunRefused(
            f"the trials in {path} rest on a catalogue that has changed since ({recorded}, now "
            f"{study.catalog.digest()}). Run the study under another --out; its trials stay as they are"
        )


def _differences(one: Any, other: Any, path: str = "") -> list[str]:
    if isinstance(one, dict) and isinstance(other, dict):
        return [
            d
            for key in {**one, **other}
            for d in _differences(one.get(key), other.get(key), f"{path}.{key}" if path else str(key))
        ]
    return [] if one == other else [path]


def write_text(path: Path, text: str) -> None:
    """Write a small file so that it appears whole."""
    aside = path.with_name(f".{path.name}.tmp")
    with aside.open("w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    os.replace(aside, path)


def read_study(path: Path) -> Study:
    """The study of a run."""
    return load_study(path / STUDY)
