"""The JSON Schema of a study file, derived from the solvers' own declarations, for editors that complete and check."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from planner.search import SEARCHES
from planner.study.parameters import RANGE_KEYS
from planner.study.wanted import KEEP
from solvers.chain import Chain
from solvers.columns import Column
from solvers.lowering import SELECTORS
from solvers.menu import SOLVERS

_DRAFT = "https://json-schema.org/draft/2020-12/schema"


def study_schema() -> dict[str, Any]:
    """The schema as JSON-ready data. Which parameters a study may use depends on its solvers, so all are offered."""
    parameters = dict(sorted(dict(_parameters()).items()))
    return {
        "$schema": _DRAFT,
        "title": "Study",
        "description": "A question to the planner: what is fixed, what may vary, what is wanted, what must hold.",
        "type": "object",
        "additionalProperties": False,
        "required": ["solvers", "space", "objectives"],
        "properties": {
            "title": {"type": "string", "description": "The question in one line."},
            "question": {"type": "string", "description": "The question at length."},
            "solvers": {
                "type": "array", "minItems": 1, "uniqueItems": True, "items": {"enum": list(SOLVERS)},
                "description": "The solvers that run one after another, each taking by name what those before it made.",
            },
            "fixed": {
                "type": "object", "additionalProperties": False, "description": "What does not vary.",
                "properties": {name: _value(column) for name, column in parameters.items()},
            },
            "space": {
                "type": "object", "additionalProperties": False, "minProperties": 1,
                "description": "What may vary: a list of choices, or a range.",
                "properties": {name: _varied(column) for name, column in parameters.items()},
            },
            "objectives": {
                "type": "array", "minItems": 1, "items": {"anyOf": [_goal("maximize"), _goal("minimize")]},
                "description": "What is wanted: any column, Solver.column, or arithmetic over columns.",
                "examples": [[{"maximize": "effective_throughput"}, {"minimize": "cost_per_token"}]],
            },
            "constraints": {
                "type": "array", "items": {"type": "string"},
                "description": "What must hold; units are checked and converted.",
                "examples": [["memory_per_accelerator <= 72 GiB", "step_latency_total < 30 s"]],
            },
            "search": {
                "type": "object", "additionalProperties": False, "description": "How the space is searched.",
                "properties": {
                    "method": {"enum": ["auto", *SEARCHES], "default": "auto", "description": "Which search."},
                    "trials": {"type": "integer", "minimum": 1, "description": "How many trials in all."},
                    "seed": {"type": "integer", "minimum": 0, "description": "Equal seeds give equal trials."},
                    "batch": {"type": "integer", "minimum": 1, "description": "How many are suggested at once."},
                    "keep": {"enum": list(KEEP), "default": "all", "description": "Every trial, or the front alone."},
                },
            },
            "catalog": {
                "type": "object", "description": "Figures overridden and entries added, by kind and name.",
                "examples": [{"hardware": {"H100": {"price_per_hour": "2.10 USD/hour"}}}],
                "additionalProperties": {"type": "object", "additionalProperties": {"type": "object"}},
            },
            "versions": {"type": "object", "description": "What made the study, written by a run."},
        },
    }  # fmt: skip


def _parameters() -> Iterator[tuple[str, Column]]:
    for solver in SOLVERS.values():
        yield from Chain([solver]).parameters().items()


def _value(column: Column) -> dict[str, Any]:
    made: dict[str, Any] = {"description": _described(column)}
    if column.unit == "name":
        return made | {"type": ["string", "integer"], "examples": [f"a {SELECTORS[column.name].kind} of the catalogue"]}
    if column.choices:
        return made | {"enum": list(column.choices)}
    if column.unit == "bool":
        return made | {"type": "boolean"}
    number: dict[str, Any] = {"type": "integer" if column.integer else "number"}
    number |= {key: value for key, value in _bounds(column) if value is not None}
    if column.integer:
        return made | number
    return made | {"anyOf": [number, {"type": "string", "pattern": r"^\s*[-+]?[\d.]"}]}


def _bounds(column: Column) -> Iterator[tuple[str, float | None]]:
    yield "minimum", column.minimum
    yield "maximum", column.maximum
    yield "exclusiveMinimum", column.above


def _described(column: Column) -> str:
    unit = f" ({column.unit})" if column.unit not in ("", "name", "choice", "bool") else ""
    return f"{column.description[:1].upper()}{column.description[1:]}{unit}."


def _varied(column: Column) -> dict[str, Any]:
    value = _value(column)
    described = value.pop("description")
    choices = {"type": "array", "minItems": 1, "items": value}
    if column.unit in ("name", "bool", "choice"):
        return choices | {"description": described}
    end = {"type": ["number", "string"]}
    keys = dict.fromkeys(RANGE_KEYS, end) | {
        "log": {"type": "boolean"},
        "integer": {"type": "boolean"},
        "powers_of": {"type": "number"},
    }
    span = {"type": "object", "additionalProperties": False, "required": ["low", "high"], "properties": keys}
    return {"description": described, "anyOf": [choices, span]}


def _goal(direction: str) -> dict[str, Any]:
    return {
        "type": "object", "additionalProperties": False, "required": [direction],
        "properties": {direction: {"type": "string", "description": f"What to {direction}."}},
    }  # fmt: skip
