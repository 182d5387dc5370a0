"""`planner report`: a run's summary again, or its page."""

from __future__ import annotations

from pathlib import Path

import click

from planner.cli.exits import NOTHING_FEASIBLE
from planner.cli.output import echo_json
from planner.cli.printing import print_findings


@click.command("report", epilog="Example: planner report runs/serve_llama3_70b --html plan.html")
@click.argument("run", type=click.Path(path_type=Path))
@click.option("--html", type=click.Path(path_type=Path, dir_okay=False), help="Write the self-contained page here.")
@click.option("--json", "as_json", is_flag=True, help="Print the findings as JSON, figures in stated units.")
@click.option("--quiet", is_flag=True, help="Print nothing.")
def command(run: Path, html: Path | None, as_json: bool, quiet: bool) -> int | None:
    """Print the summary of RUN, a run's folder, again."""
    from planner.report import read_report, write_report

    found = write_report(run, html) if html is not None else read_report(run)
    if as_json:
        from planner.report.document import document

        echo_json(document(found.findings))
    elif not quiet:
        page = html if html is not None else run / "report.html"
        print_findings(found.findings, found.used, page if page.is_file() else None)
    return None if found.findings.plans else NOTHING_FEASIBLE
