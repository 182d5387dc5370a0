"""`planner run`: run a study, say what it found, and leave a page."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from planner.cli.exits import NOTHING_FEASIBLE
from planner.cli.output import echo_json
from planner.cli.printing import print_findings
from planner.cli.progress import progress_bar

METHODS = ("auto", "grid", "random", "tpe", "nsga2", "gp")


@click.command(
    "run",
    epilog="Example: planner run serve_llama3_70b --set fixed.input_tokens=2048 --out runs/long-prompts",
)
@click.argument("study")
@click.option(
    "--method", type=click.Choice(METHODS), help="How to search; auto takes the grid where it is small enough."
)
@click.option("--trials", type=click.IntRange(min=1), help="How many trials in all, those before a resume included.")
@click.option("--seed", type=click.IntRange(min=0), help="The same seed gives the same trials.")
@click.option("--out", type=click.Path(path_type=Path), help="The run's folder (default: runs/<study>).")
@click.option("--resume", is_flag=True, help="Go on with what the folder holds; an absent folder starts.")
@click.option(
    "--workers", type=click.IntRange(min=1), default=1, show_default=True, help="Processes that share a grid."
)
@click.option("--dask", metavar="ADDRESS", help="A Dask scheduler that shares a grid.")
@click.option("--storage", metavar="URL", help="An Optuna storage that also gets the front and up to 5,000 trials.")
@click.option(
    "--set", "settings", multiple=True, metavar="KEY=VALUE", help="Replace any key of the study; may be repeated."
)
@click.option("--json", "as_json", is_flag=True, help="Print what the run came to as JSON.")
@click.option("--quiet", is_flag=True, help="Print nothing but the folder and complaints; no progress bar.")
def command(
    study: str,
    method: str | None,
    trials: int | None,
    seed: int | None,
    out: Path | None,
    resume: bool,
    workers: int,
    dask: str | None,
    storage: str | None,
    settings: tuple[str, ...],
    as_json: bool,
    quiet: bool,
) -> int | None:
    """Run STUDY: a YAML file, or the name of a shipped one (see `planner studies`).

    Leaves in the run's folder every trial as Parquet, the front, the study as resolved, and report.html, a page that
    opens offline. Exit code 2 when no plan is feasible; the reasons are printed.
    """
    from planner.report import write_report
    from planner.run.explorer import explore
    from planner.study import load_study
    from planner.study.settings import read_settings

    given: dict[str, Any] = read_settings(settings)
    given |= {f"search.{k}": v for k, v in {"method": method, "trials": trials, "seed": seed}.items() if v is not None}
    asked = load_study(study, given)
    folder = out if out is not None else Path("runs") / asked.name
    with progress_bar(quiet or as_json) as moved:
        run = explore(asked, folder, resume=resume, workers=workers, progress=moved, storage=storage, dask=dask)
    page = write_report(folder, folder / "report.html", asked)
    if as_json:
        echo_json(_document(run, page))
    elif quiet:
        click.echo(folder)
    else:
        print_findings(page.findings, page.used, page.path)
    return NOTHING_FEASIBLE if run.exit_code else None


def _document(run: Any, page: Any) -> dict[str, Any]:
    from planner.report.document import document

    return {"path": str(run.path), "page": str(page.path)} | dict(run.info) | document(page.findings)
