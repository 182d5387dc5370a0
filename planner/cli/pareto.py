"""`planner pareto`: another front from trials that exist."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from planner.cli.exits import NOTHING_FEASIBLE, Refused
from planner.cli.output import echo_json, echo_table

if TYPE_CHECKING:
    import pandas as pd

ROWS_SHOWN = 30


@click.command(
    "pareto",
    epilog='Example: planner pareto runs/serve_llama3_70b --objective "maximize: goodput" '
    '--objective "minimize: cost_per_hour"',
)
@click.argument("trials", metavar="RUN|PARQUET", type=click.Path(path_type=Path))
@click.option(
    "--objective", "objectives", multiple=True, required=True, metavar="'DIRECTION: COLUMN'", help="May be repeated."
)
@click.option("--out", type=click.Path(path_type=Path, dir_okay=False), help="Write the front here as Parquet.")
@click.option("--json", "as_json", is_flag=True, help="Print the front as JSON, figures in stated units.")
@click.option("--all", "everything", is_flag=True, help=f"Print every row, not the first {ROWS_SHOWN}.")
def command(trials: Path, objectives: tuple[str, ...], out: Path | None, as_json: bool, everything: bool) -> int | None:
    """The plans that nothing beats for any objectives, from the trials of a RUN or a PARQUET file or folder.

    Nothing is run again. Rows that are not feasible are left out.
    """
    from planner.fronts import pareto

    frame, parameters = _trials(trials, objectives)
    front = pareto(frame, objectives)
    if out is not None:
        with out.open("wb") as file:
            front.to_parquet(file)
    if as_json:
        units = {
            n: u
            for n, u in frame.attrs.get("units", {}).items()
            if n in front and u not in ("choice", "name", "reasons")
        }
        echo_json({"objectives": list(objectives), "units": units, "front": front.to_dict("records")})
    else:
        _print(front, parameters, objectives, frame, everything)
    return None if len(front) else NOTHING_FEASIBLE


def _trials(path: Path, objectives: tuple[str, ...]) -> tuple[pd.DataFrame, list[str]]:
    """The trials with the columns that matter here, and the names of the parameters."""
    import pyarrow.dataset as ds

    from planner.fronts import table_goals
    from planner.run import frame_of

    folder = path / "trials" if (path / "trials").is_dir() else path
    if not folder.exists():
        raise Refused(f"{path}: no such run or file")
    dataset = _dataset(folder, ds)
    names = [f.name for f in dataset.schema if (f.metadata or {}).get(b"made_by") == b"the study"]
    goals = table_goals(frame_of(dataset.schema.empty_table()), objectives)
    takes = [n for g in goals for n in g.expression.takes]
    wanted = dict.fromkeys(["trial", *names, *takes, "bottleneck", "feasible"])
    if not names:
        wanted = dict.fromkeys(dataset.schema.names)
    return frame_of(dataset.to_table(columns=[n for n in wanted if n in dataset.schema.names])), names


def _dataset(folder: Path, ds: Any) -> Any:
    import pyarrow as pa

    try:
        return ds.dataset(folder, format="parquet")
    except (pa.ArrowException, OSError) as problem:
        raise Refused(f"{folder} cannot be read as Parquet: {str(problem).splitlines()[0]}") from problem


def _print(
    front: pd.DataFrame, parameters: list[str], objectives: tuple[str, ...], frame: pd.DataFrame, everything: bool
) -> None:
    from planner.figures import say
    from planner.fronts import table_goals

    units = frame.attrs.get("units", {})
    goals = table_goals(frame, objectives)
    front = front.iloc[
        goals[0].minimised({n: front[n].to_numpy() for n in goals[0].expression.takes}).argsort(kind="stable")
    ]
    click.echo(f"{len(front):,} of {len(frame):,} trials are beaten by none in {', '.join(g.text for g in goals)}\n")
    shown = front if everything else front.iloc[:ROWS_SHOWN]
    first = [n for n in ("trial", *parameters) if n in shown]
    values = [
        [say(v, g.expression.unit) for v in g.expression({n: shown[n].to_numpy() for n in g.expression.takes})]
        for g in goals
    ]
    rows = [
        [*(_cell(row[n], units.get(n, "")) for n in first), *(column[place] for column in values)]
        for place, (_, row) in enumerate(shown.iterrows())
    ]
    echo_table([*first, *(g.expression.text for g in goals)], rows)
    if len(shown) < len(front):
        click.echo(f"\nand {len(front) - len(shown):,} more; --all prints them, --out keeps them")


def _cell(given: Any, unit: str) -> str:
    from planner.figures import say

    return say(given.item() if hasattr(given, "item") else given, unit)
