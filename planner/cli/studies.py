"""`planner studies`: the shipped questions."""

from __future__ import annotations

import click

from planner.cli.output import echo_json, echo_table


@click.command("studies", epilog="Example: planner studies")
@click.option("--json", "as_json", is_flag=True, help="Print as JSON.")
def command(as_json: bool) -> None:
    """List the shipped studies; run one by its name with `planner run NAME`."""
    from planner.study import shipped_studies
    from planner.study.yamltext import read

    titles = {name: str(read(path.read_bytes(), path.name).data["title"]) for name, path in shipped_studies().items()}
    if as_json:
        echo_json([{"name": name, "title": title} for name, title in titles.items()])
    else:
        echo_table(["study", "question"], list(titles.items()))
