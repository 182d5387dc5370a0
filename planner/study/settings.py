"""`--set fixed.precision=fp8`: any key of a study, replaced before it is read."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping
from typing import Any

import planner.study.yamltext as yamltext
from solvers.complaints import Complaint, InvalidInput

Path = tuple[Any, ...]
SECTIONS = (
    "title",
    "question",
    "solvers",
    "fixed",
    "space",
    "objectives",
    "constraints",
    "search",
    "catalog",
    "versions",
)


def changed(data: Mapping[str, Any], settings: Mapping[str, Any]) -> tuple[dict[str, Any], dict[Path, str]]:
    """The study's data with settings applied, and for each key that was set where it now stands.

    A path such as `search.seed` names a key; a bare parameter name goes among the fixed ones, or into the space when
    it is given choices or a range, and leaves the other.
    """
    made, places = copy.deepcopy(dict(data)), {}
    for key, value in settings.items():
        path = _path(key, value)
        if path[0] in ("fixed", "space") and len(path) == 2:
            other = made.get("space" if path[0] == "fixed" else "fixed")
            if isinstance(other, dict):
                other.pop(path[1], None)
        _place(made, path, value, key)
        places[path] = f"--set {key}"
    return made, places


def read_settings(pairs: Iterable[str]) -> dict[str, Any]:
    """`key=value` texts, the values read as YAML.

    Raises:
        InvalidInput: a text has no `=` or its value is not YAML.
    """
    made: dict[str, Any] = {}
    for pair in pairs:
        key, sign, text = pair.partition("=")
        if not sign or not key.strip():
            raise InvalidInput([Complaint(pair, "is not key=value, such as search.seed=3", "--set")])
        made[key.strip()] = yamltext.value(text.strip(), f"--set {key.strip()}")
    return made


def _path(key: str, value: Any) -> Path:
    parts = tuple(key.split("."))
    if parts[0] in SECTIONS:
        return parts
    return ("space" if isinstance(value, (list, dict)) else "fixed", *parts)


def _place(data: dict[str, Any], path: Path, value: Any, key: str) -> None:
    inner: Any = data
    for part in path[:-1]:
        if isinstance(inner, list) and part.isdigit() and int(part) < len(inner):
            inner = inner[int(part)]
        elif isinstance(inner, dict):
            if inner.get(part) is None:
                inner[part] = {}
            inner = inner[part]
        else:
            raise InvalidInput([Complaint(key, f"{part!r} holds no keys", "--set")])
    last = path[-1]
    if isinstance(inner, list) and last.isdigit() and int(last) < len(inner):
        inner[int(last)] = value
    elif isinstance(inner, dict):
        inner[last] = value
    else:
        raise InvalidInput([Complaint(key, "cannot be set there", "--set")])
