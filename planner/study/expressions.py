"""`memory_per_accelerator <= 72 GiB`: a small grammar, checked for names and units once, compiled to whole columns.

    comparison  := sum ( "<=" | "<" | ">=" | ">" | "==" ) sum
    sum         := product { ("+" | "-") product }
    product     := signed { ("*" | "/") signed }
    signed      := [ "-" | "+" ] atom
    atom        := number [ ( unit | "1" ) { "/" unit } ] | name | Solver.name | "(" sum ")"

No powers, no calls, nothing that is evaluated as code. Values are computed in SI base units; an expression that is a
single column stays in that column's own unit.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from planner.study.dimensions import COUNTS, Dimension, base_unit, is_unit, measured
from solvers.columns import Array, Column
from solvers.complaints import near

Evaluated = Callable[[Mapping[str, Array]], Array]

MOST_CHARACTERS = 500
MOST_NESTING = 32


class ExpressionError(ValueError):
    """The text cannot be read, names something unknown, or mixes dimensions."""


class DimensionError(ExpressionError):
    """What was read does not fit together."""


@dataclass(frozen=True)
class Names:
    """What an expression may refer to."""

    columns: Mapping[str, Column]
    solvers: Mapping[str, frozenset[str]]
    """For each solver, the columns that it makes."""
    silent: frozenset[str] = frozenset()
    """Parameters that nobody gives, and that have no value of their own."""
    canonical: Callable[[Column, str], str] = lambda _, word: word
    """The name in the catalogue of an entry that is called by any of its names."""

    def column(self, name: str) -> Column:
        """The column meant by `name` or `Solver.name`.

        Raises:
            ExpressionError: there is none, with near names.
        """
        solver, _, short = name.rpartition(".")
        if solver and solver not in self.solvers:
            raise ExpressionError(f"there is no solver {solver!r} in this chain{near(solver, self.solvers)}")
        if solver and short not in self.solvers[solver]:
            raise ExpressionError(f"{solver} makes no column {short!r}{near(short, self.solvers[solver])}")
        if short in self.silent:
            raise ExpressionError(f"{short} is not given here: put it into fixed or space")
        if short not in self.columns:
            raise ExpressionError(f"there is no column {short!r}{near(short, self.columns)}")
        return self.columns[short]


@dataclass(frozen=True)
class Expression:
    """A text that was read: what it is measured in, which columns it takes, and how it is computed."""

    text: str
    unit: str
    dimension: Dimension
    takes: tuple[str, ...]
    evaluate: Evaluated
    """In SI base units."""
    column: Column | None = None
    """The column, where the expression is nothing but one."""

    def __call__(self, columns: Mapping[str, Array]) -> Array:
        """The value for columns: in `unit`."""
        return columns[self.column.name] if self.column is not None else self.evaluate(columns)


def parse(text: str, names: Names) -> Expression:
    """An arithmetic expression over columns.

    Raises:
        ExpressionError: says what cannot be read, is unknown, or does not fit together.
    """
    parser = Parser(text, names)
    made = parser.sum()
    parser.end()
    return made


_TOKEN = re.compile(
    r"\s*(?:(?P<number>(?:\d[\d_]*\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)"
    r"|(?P<name>[^\W\d]\w*(?:\.[^\W\d]\w*)*|[%$])"
    r"|(?P<word>\"[^\"]*\"|'[^']*')"
    r"|(?P<sign><=|>=|==|=>|=<|!=|<>|\*\*|//|&&|\|\||[-+*/()<>=^&|!,]))"
)
_ADVICE = {
    "=>": "write >=", "=<": "write <=", "=": "write ==", "!=": "only <=, <, >=, > and == are comparisons",
    "<>": "only <=, <, >=, > and == are comparisons", "**": "powers are not part of the grammar",
    "^": "powers are not part of the grammar", "//": "write /", "&": "write one constraint a line",
    "&&": "write one constraint a line", "|": "alternatives are not part of the grammar",
    "||": "alternatives are not part of the grammar", "!": "negation is not part of the grammar",
    ",": "write one constraint a line",
}  # fmt: skip


class Parser:
    """Reads one text from left to right; every method consumes what it names."""

    def __init__(self, text: str, names: Names) -> None:
        self.text, self.names, self.at, self.depth = text, names, 0, 0
        if len(text) > MOST_CHARACTERS:
            raise ExpressionError(f"is longer than {MOST_CHARACTERS} characters")
        self.tokens = self._tokens(text)

    def _tokens(self, text: str) -> list[tuple[str, str]]:
        made, at = [], 0
        while text[at:].strip():
            found = _TOKEN.match(text, at)
            if not found:
                raise ExpressionError(f"cannot read {text[at:].strip()[:20]!r} in {text!r}")
            kind = found.lastgroup or ""
            token = found[kind]
            if kind == "sign" and token in _ADVICE:
                raise ExpressionError(f"{token!r} in {text!r} cannot be read: {_ADVICE[token]}")
            if kind == "name" and token in ("and", "or", "not"):
                advice = "write one constraint a line" if token == "and" else "it is not part of the grammar"
                raise ExpressionError(f"{token!r} in {text!r} cannot be read: {advice}")
            made.append((kind, token))
            at = found.end()
        if not made:
            raise ExpressionError("is empty")
        return made

    def peek(self) -> tuple[str, str]:
        """The next token, or a pair of empty texts at the end."""
        return self.tokens[self.at] if self.at < len(self.tokens) else ("", "")

    def take(self, *signs: str) -> str:
        """Consume the next token if it is one of these signs."""
        kind, token = self.peek()
        if kind == "sign" and token in signs:
            self.at += 1
            return token
        return ""

    def end(self) -> None:
        """Refuse anything that is left."""
        if self.at < len(self.tokens):
            raise ExpressionError(f"cannot read {self.peek()[1]!r} in {self.text!r}")

    def sum(self) -> Expression:
        """Products, added and subtracted."""
        made = self.product()
        while sign := self.take("+", "-"):
            made = added(made, self.product(), sign)
        return made

    def product(self) -> Expression:
        """Signed atoms, multiplied and divided."""
        made = self.signed()
        while sign := self.take("*", "/"):
            made = multiplied(made, self.signed(), sign)
        return made

    def signed(self) -> Expression:
        """An atom with an optional sign."""
        sign = self.take("-", "+")
        inner = self.atom()
        if sign != "-":
            return inner
        evaluate = inner.evaluate
        return Expression(
            f"-{inner.text}", _base(inner), inner.dimension, inner.takes, lambda columns: -evaluate(columns)
        )

    def atom(self) -> Expression:
        """A number with its unit, a column, or a sum in parentheses."""
        kind, token = self.peek()
        if self.take("("):
            self.depth += 1
            if self.depth > MOST_NESTING:
                raise ExpressionError("is nested too deeply")
            made = self.sum()
            if not self.take(")"):
                raise ExpressionError(f"a parenthesis is not closed in {self.text!r}")
            self.depth -= 1
            return made
        if kind == "number":
            self.at += 1
            return self._number(token)
        if kind == "name":
            self.at += 1
            return self._name(token)
        missing = f"{token!r}" if token else "the end"
        raise ExpressionError(f"a number or a column is due where {missing} stands in {self.text!r}")

    def _number(self, token: str) -> Expression:
        value, unit = float(token.replace("_", "")), ""
        if self.peek()[0] == "name":
            unit = self.peek()[1].replace("$", "USD")
            self.at += 1
        elif self.peek() == ("number", "1"):  # 1000 1/s
            self.at += 1
            if not self._unit_follows():
                self.at -= 1
        while self._unit_follows():
            unit = f"{unit or '1'}/{self.tokens[self.at + 1][1]}"
            self.at += 2
        try:
            factor, dimension = measured(unit)
        except ValueError:
            raise ExpressionError(f"{unit!r} after {token} is not a unit that is known here") from None
        held = value * factor
        return Expression(f"{token} {unit}".strip(), unit, dimension, (), lambda columns: held)

    def _unit_follows(self) -> bool:
        """True where `/ unit` comes next, and the name is not a column's."""
        following = self.tokens[self.at : self.at + 2]
        if (
            [t[0] for t in following] != ["sign", "name"]
            or following[0][1] != "/"
            or following[1][1] in self.names.columns
        ):
            return False
        return is_unit(following[1][1])

    def _name(self, token: str) -> Expression:
        column = self.names.column(token)
        if column.unit in ("choice", "name", "bool", "reasons"):
            raise ExpressionError(f"{column.name} is {_SORTS[column.unit]}, not a number; only == compares it")
        factor, dimension = measured(column.unit)
        name = column.name
        evaluate: Evaluated = (
            (lambda columns: columns[name]) if factor == 1.0 else (lambda columns: columns[name] * factor)
        )
        return Expression(token, column.unit, dimension, (name,), evaluate, column)


_SORTS = {"choice": "a choice", "name": "a name", "bool": "true or false", "reasons": "a list of reasons"}


def added(one: Expression, other: Expression, sign: str) -> Expression:
    """The sum or difference of two expressions of one dimension."""
    same_dimension(one, other, "added to" if sign == "+" else "subtracted from")
    a, b = one.evaluate, other.evaluate
    evaluate: Evaluated = (
        (lambda columns: a(columns) + b(columns)) if sign == "+" else (lambda columns: a(columns) - b(columns))
    )
    return Expression(f"{one.text} {sign} {other.text}", _base(one), one.dimension, _both(one, other), evaluate)


def multiplied(one: Expression, other: Expression, sign: str) -> Expression:
    """The product or quotient of two expressions."""
    a, b = one.evaluate, other.evaluate
    power = 1.0 if sign == "*" else -1.0
    powers = dict(one.dimension)
    for name, exponent in other.dimension:
        powers[name] = powers.get(name, 0.0) + power * exponent
    dimension = tuple(sorted((n, e) for n, e in powers.items() if e))
    evaluate: Evaluated = (
        (lambda columns: a(columns) * b(columns)) if sign == "*" else (lambda columns: a(columns) / b(columns))
    )
    return Expression(f"{one.text} {sign} {other.text}", base_unit(dimension), dimension, _both(one, other), evaluate)


def same_dimension(one: Expression, other: Expression, verb: str) -> None:
    """Refuse to mix dimensions; a plain number may stand for a count of tokens, samples or parameters.

    Raises:
        ExpressionError: the dimensions differ.
    """
    if one.dimension == other.dimension:
        return
    first, second = _counted(one.dimension), _counted(other.dimension)
    if first[0] == second[0] and not (first[1] and second[1]):
        return
    raise DimensionError(f"{other.text} ({_in_words(other)}) cannot be {verb} {one.text} ({_in_words(one)})")


def _in_words(expression: Expression) -> str:
    return f"in {expression.unit}" if expression.unit else "a plain number"


def _counted(dimension: Dimension) -> tuple[Dimension, Dimension]:
    plain = tuple(d for d in dimension if d[0] not in COUNTS)
    return plain, tuple(d for d in dimension if d[0] in COUNTS)


def _both(one: Expression, other: Expression) -> tuple[str, ...]:
    return tuple(dict.fromkeys([*one.takes, *other.takes]))


def _base(expression: Expression) -> str:
    return base_unit(expression.dimension)
