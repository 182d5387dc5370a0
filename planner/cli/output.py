"""What commands print with: JSON that every reader takes, tables, headings."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import click

from planner.show import format_table


def echo_json(value: Any) -> None:
    """Print one JSON document; what is not finite becomes null, as JSON has no other word for it."""
    click.echo(json.dumps(plain(value), indent=2, ensure_ascii=False))


def plain(value: Any) -> Any:
    """The value in JSON's own types."""
    if isinstance(value, Mapping):
        return {str(k): plain(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(v) for v in value]
    if hasattr(value, "tolist"):
        return plain(value.tolist())
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def heading(line: str) -> None:
    """Print a heading."""
    click.secho(line, bold=True)


def echo_table(headers: Sequence[str], rows: Iterable[Sequence[Any]], indent: str = "") -> None:
    """Print an aligned table with its header dimmed on a terminal."""
    for number, line in enumerate(format_table(headers, rows).split("\n")):
        click.echo(indent + (click.style(line, dim=True) if number < 2 else line))


def on_terminal() -> bool:
    """Whether stderr, where progress is shown, is a terminal."""
    return sys.stderr.isatty()
