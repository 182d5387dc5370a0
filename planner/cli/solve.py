"""`planner solve`: one solver, one answer, with units."""

from __future__ import annotations

import warnings
from typing import Any

import click

from planner.cli.arguments import key_values, number, truth
from planner.cli.exits import NOTHING_FEASIBLE, Refused, complain
from planner.cli.output import echo_json, echo_table, heading


@click.command(
    "solve",
    epilog="Example: planner solve ServingModel model=Llama3_70B hardware=H100 precision=fp8 tp_size=2 batch_size=8",
)
@click.argument("solver")
@click.argument("given", nargs=-1, metavar="[KEY=VALUE]...")
@click.option("--json", "as_json", is_flag=True, help="Print numbers in stated units as JSON.")
def command(solver: str, given: tuple[str, ...], as_json: bool) -> int | None:
    """Ask SOLVER one question. Several, joined by commas, run one after another.

    Values may carry units (seq_len=8192, sample_size_bytes='500 KB', memory_bandwidth='4 TB/s'). Without any
    KEY=VALUE it lists what the solver asks and says. Exit code 2 when the plan cannot be, with the reason.
    """
    classes = _solvers(solver)
    if not given:
        _list_columns(classes, as_json)
        return None
    answers = _answers(classes, key_values(given))
    why = " ".join(dict.fromkeys(a.why for a in answers.values() if a.why))
    feasible = all(a.feasible for a in answers.values())
    if as_json:
        echo_json(_document(classes, answers, feasible, why))
    else:
        _print(classes, answers, feasible)
    if feasible:
        return None
    complain(f"infeasible: {why}")
    return NOTHING_FEASIBLE


def _solvers(names: str) -> tuple[Any, ...]:
    from solvers.complaints import near
    from solvers.menu import SOLVERS

    folded = {name.lower(): name for name in SOLVERS}
    found = []
    for name in filter(None, (n.strip() for n in names.split(","))):
        if name.lower() not in folded:
            raise Refused(f"there is no solver {name!r}{near(name, SOLVERS)}\nknown: {', '.join(SOLVERS)}")
        found.append(SOLVERS[folded[name.lower()]])
    if not found:
        raise Refused(f"name a solver: {', '.join(SOLVERS)}")
    return tuple(found)


def _answers(classes: tuple[Any, ...], given: dict[str, str]) -> dict[str, Any]:
    from solvers.chain import Chain
    from solvers.solver import answers

    chain = Chain(classes)
    flags = {name for name, column in chain.parameters().items() if column.unit == "bool"}
    read = {name: truth(text) if name in flags else number(text) for name, text in given.items()}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the reason is printed, and is the exit code
        return answers(chain, read)


def _columns(cls: Any) -> dict[str, Any]:
    return {name: column for name, column in cls.wiring().says.items() if name != "reasons"}


def _document(classes: tuple[Any, ...], answers: dict[str, Any], feasible: bool, why: str) -> dict[str, Any]:
    made: dict[str, Any] = {
        "feasible": feasible,
        "reasons": sorted({r for a in answers.values() for r in a.reasons}),
        "why": why,
    }
    made["answers"] = {
        cls.__name__: {
            name: _figure(getattr(answers[cls.__name__], name), column) for name, column in _columns(cls).items()
        }
        for cls in classes
    }
    return made


def _figure(value: Any, column: Any) -> dict[str, Any]:
    number = value.m_as(column.unit) if hasattr(value, "m_as") else value
    unit = "" if column.unit in ("bool", "choice") else column.unit
    return {"value": number, "unit": unit, "description": column.description}


def _print(classes: tuple[Any, ...], answers: dict[str, Any], feasible: bool) -> None:
    from planner.figures import say

    for cls in classes:
        heading(cls.__name__ + ("" if feasible else "  (infeasible: the figures are those of a plan that cannot be)"))
        answer = answers[cls.__name__]
        rows = []
        for name, column in _columns(cls).items():
            figure = _figure(getattr(answer, name), column)
            rows.append([name, say(figure["value"], column.unit), column.description])
        echo_table(["column", "value", "meaning"], rows)


def _list_columns(classes: tuple[Any, ...], as_json: bool) -> None:
    from solvers.chain import Chain

    inputs = Chain(classes).inputs
    if as_json:
        asked = {n: {"unit": c.unit, "description": c.description, "allowed": c.allowed()} for n, c in inputs.items()}
        made = {n: {"unit": c.unit, "description": c.description} for cls in classes for n, c in _columns(cls).items()}
        echo_json({"asks": asked, "says": made})
        return
    for cls in classes:
        click.echo(f"{cls.__name__}: {(cls.__doc__ or '').strip().splitlines()[0]}")
    click.echo()
    heading("asks")
    echo_table(
        ["parameter", "default", "allowed", "meaning"],
        [[n, _default(c), _allowed(c), c.description] for n, c in inputs.items()],
    )
    click.echo()
    heading("says")
    for cls in classes:
        echo_table(["column", "unit", "meaning"], [[n, c.unit or "–", c.description] for n, c in _columns(cls).items()])


def _default(column: Any) -> str:
    from planner.figures import say

    if column.required:
        return "required"
    return "optional" if column.optional else say(column.default, column.unit)


def _allowed(column: Any) -> str:
    return "a name (see planner catalog)" if column.unit == "name" else column.allowed()
