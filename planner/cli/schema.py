"""`planner schema`: the study file's JSON Schema."""

from __future__ import annotations

import click

from planner.cli.output import echo_json


@click.command("schema", epilog="Example: planner schema > study.schema.json")
def command() -> None:
    """Print the JSON Schema of the study file, so that an editor completes names and marks mistakes.

    In an editor with a YAML language server, put `# yaml-language-server: $schema=study.schema.json` on top of a
    study.
    """
    from planner.study.schema import study_schema

    echo_json(study_schema())
