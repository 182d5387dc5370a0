"""How far a run is, on stderr, for whoever watches."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

from planner.cli.output import on_terminal


@contextlib.contextmanager
def progress_bar(quiet: bool) -> Iterator[Callable[[Any], None] | None]:
    """A callback that moves a bar with rate and time left; None where nobody watches."""
    if quiet or not on_terminal():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (
        TextColumn("{task.completed:,.0f} of {task.total:,.0f} plans"),
        BarColumn(),
        TextColumn("{task.fields[feasible]:,} feasible, {task.fields[rate]:,.0f}/s"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=None, start=False, feasible=0, rate=0.0, visible=False)

        def moved(at: Any) -> None:
            bar.start_task(task)
            bar.update(task, total=at.total, completed=at.done, feasible=at.feasible, rate=at.rate, visible=True)

        yield moved
