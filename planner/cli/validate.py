"""`planner validate`: predictions against measurements."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import TYPE_CHECKING

import click

from planner.cli.output import echo_table, heading, plain

if TYPE_CHECKING:
    from planner.validate import Scores, Validation


@click.command("validate", epilog="Example: planner validate my_measurements.csv --json scores.json")
@click.argument("path", metavar="CSV", type=click.Path(path_type=Path))
@click.option(
    "--json",
    "json_path",
    type=click.Path(path_type=Path),
    help="Write scores and every row's prediction here ('-' for stdout).",
)
@click.option("--quiet", is_flag=True, help="Print the headline only.")
def command(path: Path, json_path: Path | None, quiet: bool) -> None:
    """Predict every row of a CSV (or .csv.gz) of measurements and show how far off the predictions are.

    What a file is about is told by its columns: training, serving, speculative decoding, data pipelines, energy,
    memory or reasoning. A row that cannot be predicted is refused with its reason, and counted.
    """
    from planner.validate import validate

    found = validate(path)
    if json_path is not None and str(json_path) == "-":
        click.echo(json.dumps(plain(found.document()), indent=1, ensure_ascii=False))
        return
    _headline(found)
    if not quiet:
        _cells(found)
        _refusals(found)
    if json_path is not None:
        json_path.write_text(json.dumps(plain(found.document()), indent=1, ensure_ascii=False), encoding="utf-8")
        click.echo(f"\nwritten to {json_path}")


def _headline(found: Validation) -> None:
    whole = found.overall
    scored = sum(1 for s in found.cells.values() if s.scored)
    cells = f"{found.task}: {len(found.cells)} cells of family and metric"
    heading(f"median error over {scored} cells: {_percent(found.headline)}   ({cells})")
    click.echo(
        f"pooled over rows: median {_percent(whole.median_ape)}, mean {_percent(whole.mean_ape)}, "
        f"90th percentile {_percent(whole.p90_ape)}"
    )
    click.echo(
        f"rows {whole.rows:,}: {whole.scored:,} scored, {whole.refused:,} refused; "
        f"{whole.called_infeasible:,} called infeasible (scored as 100 %)"
    )
    extra = [
        f"bias {_signed(whole.bias)}",
        f"rank correlation {_number(whole.rank_correlation)}",
        f"inside the 80 % interval {_percent(whole.inside_interval)}",
    ]
    if math.isfinite(whole.regret):
        extra.append(f"regret {_percent(whole.regret)}")
    click.echo(", ".join(extra))
    if "" in found.memory:
        whole_memory = found.memory[""]
        click.echo(
            f"memory: {whole_memory.rows:,} rows, median error {_percent(whole_memory.median_ape)}, bias "
            f"{_signed(whole_memory.bias)}; ran out of memory: {whole_memory.oom_recalled:,} of "
            f"{whole_memory.oom_cases:,} called infeasible"
        )


def _cells(found: Validation) -> None:
    headers = ["family", "metric", "rows", "scored", "refused", "median", "p90", "bias", "rank", "in 80 %"]
    regret = any(math.isfinite(s.regret) for s in found.cells.values())
    rows = [
        [family, metric, *_line(scores), *([_percent(scores.regret)] if regret else [])]
        for (family, metric), scores in found.cells.items()
    ]
    if found.flagged.rows:
        rows.append(["(flagged, apart)", "", *_line(found.flagged), *(["–"] if regret else [])])
    click.echo()
    echo_table([*headers, *(["regret"] if regret else [])], rows)


def _line(scores: Scores) -> list[str]:
    return [
        f"{scores.rows:,}", f"{scores.scored:,}", f"{scores.refused:,}", _percent(scores.median_ape),
        _percent(scores.p90_ape), _signed(scores.bias), _number(scores.rank_correlation),
        _percent(scores.inside_interval),
    ]  # fmt: skip


def _refusals(found: Validation) -> None:
    counted = list(found.overall.refusals.items())
    if not counted:
        return
    click.echo()
    heading("refused")
    echo_table(["rows", "reason"], [[f"{count:,}", reason] for reason, count in counted[:_REASONS_SHOWN]])
    if len(counted) > _REASONS_SHOWN:
        rest = counted[_REASONS_SHOWN:]
        click.echo(f"and {sum(c for _, c in rest):,} rows for {len(rest)} other reasons (all of them: --json)")


_REASONS_SHOWN = 15


def _percent(value: float) -> str:
    return f"{value:.1%}" if math.isfinite(value) else "–"


def _signed(value: float) -> str:
    return f"{value:+.3f}" if math.isfinite(value) else "–"


def _number(value: float) -> str:
    return f"{value:.2f}" if math.isfinite(value) else "–"
