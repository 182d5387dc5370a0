"""`planner import-model`: a Hugging Face `config.json` from disk as a model for studies."""

from __future__ import annotations

from pathlib import Path

import click

from planner.cli.exits import Refused
from planner.cli.output import echo_json


@click.command(
    "import-model", epilog="Example: planner import-model ./my-model/config.json --name MyModel --out my-model.yaml"
)
@click.argument("path", type=click.Path(path_type=Path))
@click.option("--name", help="What to call the model in studies (default: the folder's or the config's name).")
@click.option(
    "--out", type=click.Path(path_type=Path), help="Write the `catalog:` part of a study here instead of printing it."
)
@click.option("--json", "as_json", is_flag=True, help="Print the figures as JSON.")
def command(path: Path, name: str | None, out: Path | None, as_json: bool) -> None:
    """Read the shape of a model from PATH, a config.json or the folder that holds one.

    Prints the `catalog:` part of a study, to be pasted into one.
    Nothing is fetched, and no code of the model is run.
    """
    from solvers.catalog.huggingface import read_config

    file = path / "config.json" if path.is_dir() else path
    if not file.is_file():
        raise Refused(f"{file}: no such file; give a config.json, or the folder that holds one")
    entry = read_config(file, name)
    figures = {q: f.value for q, f in entry.figures.items()}
    if as_json:
        echo_json(
            {"name": entry.name, "figures": {q: {"value": f.value, "unit": f.unit} for q, f in entry.figures.items()}}
        )
        return
    text = snippet(entry.name, figures)
    if out is None:
        click.echo(text, nl=False)
        return
    out.write_text(text, encoding="utf-8")
    click.echo(f"{entry.name} written to {out}: paste it into a study, and name `model: {entry.name}`")


def snippet(name: str, figures: dict[str, float | str]) -> str:
    """The `catalog:` part of a study that adds the model, as YAML."""
    import json

    lines = ["catalog:", "  model:", f"    {json.dumps(name)}:"]
    for quantity, value in figures.items():
        whole = isinstance(value, float) and value == int(value)
        lines.append(f"      {quantity}: {int(value) if whole else json.dumps(value)}")
    return "\n".join(lines) + "\n"
