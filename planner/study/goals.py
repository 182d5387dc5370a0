"""What a study wants: objectives to maximise or minimise, and constraints that must hold."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from planner.study.expressions import (
    Evaluated,
    Expression,
    ExpressionError,
    Names,
    Parser,
    multiplied,
    parse,
    same_dimension,
)
from solvers.columns import Array, Column
from solvers.complaints import near

DIRECTIONS = {"maximize": "maximize", "minimize": "minimize", "maximise": "maximize", "minimise": "minimize"}


@dataclass(frozen=True)
class Objective:
    """An expression, and whether more of it is better."""

    direction: str
    expression: Expression

    @property
    def text(self) -> str:
        """As people write it: `maximize: effective_throughput`."""
        return f"{self.direction}: {self.expression.text}"

    @property
    def maximized(self) -> bool:
        """True when more is better."""
        return self.direction == "maximize"

    def minimised(self, columns: Mapping[str, Array]) -> Array:
        """The value with its sign turned so that less is better."""
        value = self.expression(columns)
        return -value if self.maximized else value


def objective(direction: str, text: str, names: Names) -> Objective:
    """An objective from its two texts.

    Raises:
        ExpressionError: the direction or the expression cannot be read, or nothing could change it.
    """
    if direction not in DIRECTIONS:
        raise ExpressionError(f"{direction!r} is neither maximize nor minimize{near(direction, DIRECTIONS)}")
    made = parse(text, names)
    if not made.takes:
        raise ExpressionError(f"{text} is a constant: an objective depends on a column")
    return Objective(DIRECTIONS[direction], made)


def split_objective(text: str) -> tuple[str, str]:
    """`maximize: a` as its direction and its expression.

    Raises:
        ExpressionError: there is no colon.
    """
    direction, colon, rest = text.partition(":")
    if not colon:
        raise ExpressionError(f"{text!r} is no objective; write 'maximize: {text}' or 'minimize: {text}'")
    return direction.strip(), rest.strip()


@dataclass(frozen=True)
class Constraint:
    """A comparison that must hold."""

    text: str
    takes: tuple[str, ...]
    violation: Evaluated
    """At most 0 where it holds; elsewhere how far it is missed, as a fraction of the limit."""

    @property
    def code(self) -> str:
        """Its code among the reasons of a trial."""
        return f"constraint:{self.text}"


def constraint(text: str, names: Names) -> Constraint:
    """A constraint from its text.

    Raises:
        ExpressionError: it cannot be read, mixes dimensions, or compares only constants.
    """
    text = " ".join(text.split())
    parser = Parser(text, names)
    worded = _worded(parser, text)
    if worded is not None:
        return worded
    left = parser.sum()
    sign = parser.take("<=", "<", ">=", ">", "==")
    if not sign:
        parser.end()
        raise ExpressionError(f"{text!r} compares nothing; write, for instance, '{left.text} <= ...'")
    right = parser.sum()
    if parser.take("<=", "<", ">=", ">", "=="):
        raise ExpressionError(f"{text!r} compares twice; write one constraint a line")
    parser.end()
    same_dimension(left, right, "compared with")
    if not left.takes and not right.takes:
        raise ExpressionError(f"{text!r} compares only constants")
    less, more = (left, right) if sign in ("<=", "<", "==") else (right, left)
    takes = multiplied(left, right, "*").takes
    return Constraint(text, takes, _missed(less.evaluate, more.evaluate, sign))


def _missed(less: Evaluated, more: Evaluated, sign: str) -> Evaluated:
    def violation(columns: Mapping[str, Array]) -> Array:
        a, b = less(columns), more(columns)
        scale = np.maximum(np.abs(a), np.abs(b))
        gap = (np.abs(a - b) if sign == "==" else a - b) / np.where(scale > 0, scale, 1.0)
        if sign in ("<", ">"):
            gap = np.where(a < b, gap, np.maximum(gap, 1e-12))
        return np.where(np.isnan(gap), np.inf, gap)

    return violation


def _worded(parser: Parser, text: str) -> Constraint | None:
    """`bottleneck == memory`, `is_stalled == false`: a choice, a name or a flag against one of its words."""
    kinds = [kind for kind, _ in parser.tokens]
    if len(kinds) < 3 or kinds[:2] != ["name", "sign"] or kinds[2] not in ("name", "word"):
        return None
    column = parser.names.column(parser.tokens[0][1])
    if column.unit not in ("choice", "name", "bool"):
        return None
    sign = parser.tokens[1][1]
    if sign != "==":
        raise ExpressionError(f"{column.name} is not a number: only == compares it")
    word = text.partition("==")[2].strip().strip("\"'")  # names may hold signs: Llama-3-70B
    code, name = _code(column, parser.names.canonical(column, word)), column.name
    return Constraint(text, (name,), lambda columns: np.where(columns[name] == code, 0.0, 1.0))


def _code(column: Column, word: str) -> int | bool:
    if column.unit == "bool":
        if word.lower() not in ("true", "false"):
            raise ExpressionError(f"{column.name} is true or false, not {word!r}")
        return word.lower() == "true"
    if word not in column.choices:
        raise ExpressionError(f"{word!r} is no choice of {column.name}{near(word, column.choices)}")
    return column.choices.index(word)
