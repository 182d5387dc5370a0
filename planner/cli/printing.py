"""Print what a run found: styled on a terminal, plain in a pipe."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from collections.abc import Iterable

    from planner.report.findings import Findings
    from planner.report.provenance import Used

WIDEST = 110
_STYLES: dict[str, dict[str, Any]] = {
    "title": {"bold": True},
    "head": {"bold": True, "fg": "cyan"},
    "dim": {"dim": True},
}


def print_findings(found: Findings, used: list[Used], page: Path | None) -> None:
    """Print the summary."""
    from planner.report.summary import summary

    print_lines(summary(found, used, page, terminal_width()))


def print_lines(lines: Iterable[tuple[str, str]]) -> None:
    """Print lines in their styles; a pipe gets them plain."""
    for style, line in lines:
        click.echo(click.style(line, **_STYLES[style]) if style in _STYLES else line)


def terminal_width() -> int:
    """To how many columns sentences are wrapped; 0 in a pipe, where whoever reads wraps."""
    return min(shutil.get_terminal_size().columns, WIDEST) if sys.stdout.isatty() else 0
