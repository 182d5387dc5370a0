"""`planner explain`: the account of one plan."""

from __future__ import annotations

from pathlib import Path

import click

from planner.cli.exits import NOTHING_FEASIBLE
from planner.cli.output import echo_json
from planner.cli.printing import print_lines


@click.command("explain", epilog="Example: planner explain runs/serve_llama3_70b 466")
@click.argument("run", type=click.Path(path_type=Path))
@click.argument("trial", type=click.IntRange(min=0))
@click.option("--json", "as_json", is_flag=True, help="Print as JSON, figures in stated units.")
def command(run: Path, trial: int, as_json: bool) -> int | None:
    """Say where the time, memory and money of one TRIAL of RUN go, and what would have to change.

    Runs the plan again, and every plan that differs from it in one parameter. Exit code 2 when it is not feasible.
    """
    from planner.report.explain import document, explain, lines

    found = explain(run, trial)
    if as_json:
        echo_json(document(found))
    else:
        print_lines(lines(found))
    return None if found.feasible else NOTHING_FEASIBLE
