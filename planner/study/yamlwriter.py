"""Data as YAML that reads back as the same data: short lists on one line, words bare where nothing can be misread."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping
from typing import Any

WIDTH = 110
_BARE = re.compile(r"[A-Za-z_][\w./()+*<>=%-]*(?: [\w./()+*<>=%-]+)*")


def to_yaml(data: Mapping[str, Any]) -> str:
    """The YAML text of a mapping."""
    return "\n".join(_mapping(data, "")) + "\n"


def _mapping(data: Mapping[str, Any], indent: str) -> Iterator[str]:
    for key, value in data.items():
        yield from _entry(f"{indent}{_text(str(key))}:", value, indent + "  ")


def _entry(head: str, value: Any, indent: str) -> Iterator[str]:
    line = f"{head} {_flow(value)}"
    if len(line) <= WIDTH or not value or not isinstance(value, (Mapping, list, tuple)):
        yield line
    elif isinstance(value, Mapping):
        yield head
        yield from _mapping(value, indent)
    else:
        yield head
        for item in value:
            yield from _entry(f"{indent}-", item, indent + "  ")


def _flow(value: Any) -> str:
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{_text(str(k))}: {_flow(v)}" for k, v in value.items()) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(map(_flow, value)) + "]"
    if value is None or isinstance(value, bool):
        return json.dumps(value)
    if isinstance(value, float):
        return (
            repr(value) if math.isfinite(value) else (".nan" if value != value else f"{value:+}".replace("inf", ".inf"))
        )
    return str(value) if isinstance(value, int) else _text(str(value))


def _text(text: str) -> str:
    from planner.study.yamltext import scalar

    if _BARE.fullmatch(text) and scalar(text) == text:
        return text
    return json.dumps(text)
