"""YAML 1.2 as data: every key with its line and column, and nothing that could run, refer or grow.

Text is read from ruamel.yaml's events, so that no object is ever constructed. Tags, anchors and aliases, duplicate
keys, several documents, binary, very large and very deep files are refused, the large and deep ones before parsing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from solvers.complaints import Complaint, InvalidInput

Path = tuple[Any, ...]
"""Where a value stands: keys and positions from the top."""

MOST_BYTES = 256 * 1024
MOST_DEPTH = 16
MOST_VALUES = 20_000


@dataclass(frozen=True)
class Text:
    """What a file says, and where it says it."""

    data: Any
    name: str
    places: Mapping[Path, tuple[int, int]]

    def place(self, path: Path) -> str:
        """`study.yaml:12:5` for the value at a path, or for the nearest thing that holds it."""
        for end in range(len(path), -1, -1):
            if path[:end] in self.places:
                line, column = self.places[path[:end]]
                return f"{self.name}:{line}:{column}"
        return self.name


def read(raw: bytes | str, name: str) -> Text:
    """The data in a YAML text.

    Raises:
        InvalidInput: what stands there is not a plain YAML document; says where.
    """
    text = _decoded(raw, name)
    _refuse_depth(text, name)
    from ruamel.yaml import YAML
    from ruamel.yaml.error import YAMLError

    reader = _Reader(name)
    try:
        data = reader.document(YAML(typ="safe", pure=True).parse(text))
    except YAMLError as problem:
        mark = getattr(problem, "problem_mark", None) or getattr(problem, "context_mark", None)
        place = f"{name}:{mark.line + 1}:{mark.column + 1}" if mark else name
        said = getattr(problem, "problem", None) or str(problem).splitlines()[0]
        raise InvalidInput([Complaint("", f"is not YAML: {said}", place)]) from None
    return Text(data, name, reader.places)


def value(text: str, name: str) -> Any:
    """The value that a short text such as `[1, 2]`, `fp8` or `30 s` means in YAML."""
    return read(text, name).data


def _decoded(raw: bytes | str, name: str) -> str:
    if len(raw) > MOST_BYTES:
        message = f"is {len(raw) / 1024:,.0f} KiB; a study file has at most {MOST_BYTES // 1024} KiB"
        raise InvalidInput([Complaint("", message, name)])
    try:
        text = raw.decode("utf-8-sig") if isinstance(raw, bytes) else raw
    except UnicodeDecodeError as problem:
        raise InvalidInput([Complaint("", f"is not text in UTF-8 (byte {problem.start})", name)]) from None
    control = re.search(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]", text)
    if control:
        message = f"holds the control character {control[0]!r}: it is binary, not text"
        raise InvalidInput([Complaint("", message, _at(text, control.start(), name))])
    tab = re.search(r"(?m)^ *\t", text)
    if tab:
        raise InvalidInput([Complaint("", "a tab cannot indent in YAML; use spaces", _at(text, tab.end() - 1, name))])
    return text


def _at(text: str, index: int, name: str) -> str:
    line = text.count("\n", 0, index) + 1
    return f"{name}:{line}:{index - (text.rfind(chr(10), 0, index) + 1) + 1}"


def _refuse_depth(text: str, name: str) -> None:
    """Refuse what would cost the parser long before it costs us: brackets and dashes beyond any study's nesting."""
    depth = 0
    for found in re.finditer(r"[\[{\]}]", text):
        depth = depth + 1 if found[0] in "[{" else max(depth - 1, 0)
        if depth > 4 * MOST_DEPTH:
            raise InvalidInput([Complaint("", "is nested too deeply", _at(text, found.start(), name))])
    dashes = re.search(rf"(?:[-?:] ){{{4 * MOST_DEPTH}}}", text)
    if dashes:
        raise InvalidInput([Complaint("", "is nested too deeply", _at(text, dashes.start(), name))])


class _Reader:
    """Builds plain data from events, noting where each value stands."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.places: dict[Path, tuple[int, int]] = {}
        self.complaints: list[Complaint] = []

    def document(self, events: Iterator[Any]) -> Any:
        data, documents = None, 0
        for event in events:
            kind = type(event).__name__
            if kind == "DocumentStartEvent":
                documents += 1
                if documents > 1:
                    self._stop("a file holds one study; this is a second document", event)
            elif kind in ("ScalarEvent", "SequenceStartEvent", "MappingStartEvent", "AliasEvent"):
                data = self._value(event, events, ())
        if self.complaints:
            raise InvalidInput(self.complaints)
        return data

    def _value(self, event: Any, events: Iterator[Any], path: Path) -> Any:
        kind = type(event).__name__
        if kind == "AliasEvent" or getattr(event, "anchor", None) is not None:
            self._stop("anchors and aliases are not used in studies; write the value out", event)
        if (getattr(event, "tag", None) is not None and kind != "ScalarEvent") or self._tagged(event):
            self._stop("tags are not used in studies: a study is plain data", event)
        if len(path) > MOST_DEPTH:
            self._stop("is nested too deeply", event)
        if len(self.places) > MOST_VALUES:
            self._stop(f"holds more than {MOST_VALUES:,} values", event)
        self.places.setdefault(path, (event.start_mark.line + 1, event.start_mark.column + 1))
        if kind == "ScalarEvent":
            return scalar(event.value) if event.implicit[0] else event.value
        return self._sequence(events, path) if kind == "SequenceStartEvent" else self._mapping(events, path)

    @staticmethod
    def _tagged(event: Any) -> bool:
        return type(event).__name__ == "ScalarEvent" and not any(event.implicit)

    def _sequence(self, events: Iterator[Any], path: Path) -> list[Any]:
        made: list[Any] = []
        for event in events:
            if type(event).__name__ == "SequenceEndEvent":
                break
            made.append(self._value(event, events, (*path, len(made))))
        return made

    def _mapping(self, events: Iterator[Any], path: Path) -> dict[str, Any]:
        made: dict[str, Any] = {}
        for event in events:
            if type(event).__name__ == "MappingEndEvent":
                break
            if type(event).__name__ != "ScalarEvent" or event.anchor is not None or self._tagged(event):
                self._stop("a key is a plain word", event)
            key, mark = event.value, (event.start_mark.line + 1, event.start_mark.column + 1)
            if key in made:
                first = self.places[(*path, key)][0]
                self.complaints.append(Complaint(key, f"stands twice; first in line {first}", self._where(event)))
                self._value(next(events), events, (*path, key))
                continue
            self.places[(*path, key)] = mark
            made[key] = self._value(next(events), events, (*path, key))
        return made

    def _where(self, event: Any) -> str:
        return f"{self.name}:{event.start_mark.line + 1}:{event.start_mark.column + 1}"

    def _stop(self, message: str, event: Any) -> None:
        raise InvalidInput([*self.complaints, Complaint("", message, self._where(event))])


_WORDS = {"": None, "~": None, **dict.fromkeys(("null", "Null", "NULL"))} | {
    w: v for v in (True, False) for w in (str(v), str(v).lower(), str(v).upper())
}


def scalar(text: str) -> Any:
    """A plain scalar by the core schema of YAML 1.2: `no` and `on` are words, `1e6` is a number."""
    if text in _WORDS:
        return _WORDS[text]
    if re.fullmatch(r"[-+]?\d{1,300}", text):
        return int(text)
    if re.fullmatch(r"[-+]?(\.\d+|\d+(\.\d*)?)([eE][-+]?\d+)?", text):
        return float(text)
    if re.fullmatch(r"[-+]?\.(inf|Inf|INF)", text):
        return float(text.replace(".", ""))
    return float("nan") if text in (".nan", ".NaN", ".NAN") else text
