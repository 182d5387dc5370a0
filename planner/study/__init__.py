"""A study: one question, checked whole before anything runs."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from planner.study.goals import Constraint, Objective
from planner.study.settings import changed, read_settings
from planner.study.space import Space
from planner.study.yamltext import Text, read
from solvers.chain import Chain, Problem
from solvers.columns import Column
from solvers.complaints import Complaint, InvalidInput, near

SHIPPED = Path(__file__).parent.parent.parent / "studies"


@dataclass(frozen=True)
class SearchOptions:
    """How the space is searched."""

    method: str
    trials: int | None
    seed: int
    batch: int | None
    keep: str


@dataclass(frozen=True, eq=False)
class Study:
    """A question whose every name, unit and value was checked."""

    name: str
    title: str
    question: str
    chain: Chain
    problem: Problem
    space: Space
    fixed: Mapping[str, np.ndarray]
    """What is fixed, as columns of length one; defaults that nobody overrode included."""
    columns: Mapping[str, Column]
    """Every column that an objective or a constraint may name."""
    objectives: tuple[Objective, ...]
    constraints: tuple[Constraint, ...]
    search: SearchOptions
    catalog: Any
    data: Mapping[str, Any]
    """The study as resolved: every default written out; reading it again gives the same study."""

    @property
    def solvers(self) -> tuple[str, ...]:
        """The solvers' names, in order."""
        return self.chain.names

    @property
    def digest(self) -> str:
        """A hash of all that decides what a trial is: equal digests give equal trials."""
        return hashlib.sha256(json.dumps(deciding(self.data), sort_keys=True, default=str).encode()).hexdigest()[:16]


def deciding(data: Mapping[str, Any]) -> dict[str, Any]:
    """The part of a study that decides what its trials are: not its title, nor how many are asked for."""
    made = {k: v for k, v in data.items() if k not in ("title", "question", "versions")}
    return made | {"search": {k: v for k, v in data["search"].items() if k != "trials"}}


def answers_as_well(recorded: Mapping[str, Any], asked: Mapping[str, Any]) -> bool:
    """Whether trials of one study are trials of another, under the same numbers.

    They are where all that decides is equal, and where a grid's first parameter has gained choices at its end.
    """
    theirs, ours = deciding(recorded), deciding(asked)
    if theirs != ours and ours["search"].get("method") == "grid" and list(theirs["space"]) == list(ours["space"]):
        first = next(iter(ours["space"]))
        old, new = theirs["space"][first], ours["space"][first]
        if isinstance(old, list) and isinstance(new, list) and new[: len(old)] == old:
            theirs["space"] = {**theirs["space"], first: new}
    return theirs == ours


def load_study(
    source: Any, settings: Mapping[str, Any] | Iterable[str] = (), *, solvers: Mapping[str, Any] | None = None
) -> Study:
    """A study from a YAML file, the name of a shipped one, or a mapping with the same keys.

    Args:
        source: a path, a name such as `"serve_llama3_70b"`, or a mapping.
        settings: keys to replace, as a mapping (`{"search.seed": 3}`) or as `key=value` texts.
        solvers: the menu to choose solvers from, if not the one that ships.

    Raises:
        InvalidInput: with every complaint, each with its file, line and column.
    """
    from planner.study.reading import read_study

    if isinstance(source, Study):
        source = source.data
    if isinstance(source, Mapping):
        text, name = Text(dict(source), "study", {}), "study"
    else:
        path = find_study(source)
        text, name = read(_bytes(path), path.name), path.stem
        if name == "study":
            name = path.absolute().parent.name
    if not isinstance(settings, Mapping):
        settings = read_settings(settings)
    data: Any = text.data
    set_places: dict[tuple[Any, ...], str] = {}
    if settings and isinstance(data, dict):
        data, set_places = changed(data, settings)

    def place(path: tuple[Any, ...]) -> str:
        return next((p for key, p in set_places.items() if path[: len(key)] == key), "") or text.place(path)

    return read_study(data, name, place, solvers)


def shipped_studies() -> dict[str, Path]:
    """The studies that ship, by name."""
    return {path.stem: path for path in sorted(SHIPPED.glob("*.yaml"))}


def find_study(source: str | Path) -> Path:
    """The file of a study by its path or its shipped name.

    Raises:
        InvalidInput: there is none; offers near names.
    """
    path = Path(source)
    if path.is_file():
        return path
    if path.is_dir() and (path / "study.yaml").is_file():
        return path / "study.yaml"
    known = shipped_studies()
    if str(source) in known:
        return known[str(source)]
    hint = near(str(source), known) or f"; the shipped studies are {', '.join(known)}" if known else ""
    raise InvalidInput([Complaint("", f"there is no file and no shipped study {str(source)!r}{hint}")])


def _bytes(path: Path) -> bytes:
    """The first of a file's bytes: enough to refuse one that is too large without reading it."""
    from planner.study.yamltext import MOST_BYTES

    try:
        size = path.stat().st_size
        if path.is_file() and size > MOST_BYTES:
            message = f"is {size / 1024:,.0f} KiB; a study file has at most {MOST_BYTES // 1024} KiB"
            raise InvalidInput([Complaint("", message, path.name)])
        with path.open("rb") as file:
            return file.read(MOST_BYTES + 1)
    except OSError as problem:
        raise InvalidInput([Complaint("", f"cannot be read: {problem.strerror}", str(path))]) from problem
