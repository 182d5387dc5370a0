from __future__ import annotations

import contextlib
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.study.expressions import ExpressionError, Names, parse
from planner.study.goals import constraint, objective
from solvers.columns import Column

COLUMNS = {
    c.name: c
    for c in (
        Column("latency", "s", ""),
        Column("memory", "byte", ""),
        Column("throughput", "token/s", ""),
        Column("images", "sample/s", ""),
        Column("batch", "sample", ""),
        Column("price", "USD/hour", ""),
        Column("tp", "", ""),
        Column("other", "", ""),
        Column("kind", "choice", "", choices=("memory", "compute")),
        Column("stalled", "bool", ""),
    )
}
NAMES = Names(COLUMNS, {"Solver": frozenset({"latency", "memory"}), "Other": frozenset({"price"})})
ROW: dict[str, object] = {
    "latency": 2.0, "memory": 3.0, "throughput": 5.0, "images": 5.0, "batch": 7.0, "price": 11.0, "tp": 8.0,
    "other": 1.0, "kind": 0, "stalled": False,
}  # fmt: skip


def value(text: str) -> float:
    return float(parse(text, NAMES)(ROW))


def holds(text: str, **row: object) -> bool:
    return bool(np.asarray(constraint(text, NAMES).violation({**ROW, **row})) <= 0)


@pytest.mark.parametrize(
    ("text", "result", "unit"),
    [
        ("latency", 2.0, "s"),
        ("Solver.latency", 2.0, "s"),
        ("latency + 100 ms", 2.1, "s"),
        ("2 * tp - 3", 13.0, ""),
        ("2 * (tp - 3)", 10.0, ""),
        ("tp - 3 - 2", 3.0, ""),
        ("tp / 2 / 2", 2.0, ""),
        ("-tp + 1", -7.0, ""),
        ("memory / latency", 1.5, "byte/s"),
        ("price", 11.0, "USD/hour"),
        ("price * latency", 11.0 / 3600 * 2.0, "USD"),
        ("throughput / price", 5.0 / (11.0 / 3600), "token/USD"),
        ("1 GiB / 1 s", 2.0**30, "byte/s"),
        ("1_000 tokens / latency", 500.0, "token/s"),
        ("50 %", 0.5, ""),
        ("tp / other", 8.0, ""),
        (".5e1 ms", 0.005, "s"),
    ],
)
def test_arithmetic_with_units(text: str, result: float, unit: str) -> None:
    made = parse(text, NAMES)
    assert float(made(ROW)) == pytest.approx(result, rel=1e-15)
    assert made.unit == unit or not made.takes


@pytest.mark.parametrize(
    ("text", "true"),
    [
        ("latency <= 2 s", True),
        ("latency<2 s", False),
        ("latency<2001ms", True),
        ("latency < 2 s + 1 us", True),
        ("memory >= 3 byte", True),
        ("memory > 3 byte", False),
        ("memory <= 72 GiB", True),
        ("batch <= 7", True),
        ("throughput >= 5/s", True),
        ("throughput >= 5 1/s", True),
        ("throughput == 5 token/s", True),
        ("throughput == 5.0001 token/s", False),
        ("price <= 265 USD/day", True),
        ("price <= 263 USD/day", False),
        ("1 s < latency", True),
        ("kind == memory", True),
        ("kind == 'compute'", False),
        ("stalled == false", True),
        ("stalled == True", False),
        ("tp*latency<=16 s", True),
    ],
)
def test_comparisons(text: str, true: bool) -> None:
    assert holds(text) is true


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("latency => 3 s", "write >="),
        ("latency =< 3 s", "write <="),
        ("latency = 3 s", "write =="),
        ("latency != 3 s", "comparisons"),
        ("latency < 3", "a plain number"),
        ("tp < 1 s", "cannot be compared with"),
        ("latency < 3 GB", "cannot be compared with"),
        ("throughput > 3 sample/s", "cannot be compared with"),
        ("images > throughput", "cannot be compared with"),
        ("latncy < 3 s", "did you mean 'latency'"),
        ("Solvr.latency < 3 s", "did you mean 'Solver'"),
        ("Solver.price < 3 USD/hour", "makes no column"),
        ("Other.prise < 3", "did you mean 'price'"),
        ("latency", "compares nothing"),
        ("latency <", "a number or a column is due"),
        ("1 s < latency < 3 s", "one constraint a line"),
        ("latency < 3 s and memory < 1 GB", "one constraint a line"),
        ("latency < 3 s, memory < 1 GB", "one constraint a line"),
        ("not stalled", "not part of the grammar"),
        ("3 < 2", "only constants"),
        ("tp ** 2 < 3", "powers"),
        ("9**9**9**9 < tp", "powers"),
        ("tp ^ 2 < 3", "powers"),
        ("__import__('os').system('x') < 3", "cannot read"),
        ("latency.__class__ < 3", "no solver 'latency'"),
        ("abs(tp) < 3", "no column 'abs'"),
        ("tp(3) < 3", "cannot read"),
        ("kind < 3", "only == compares it"),
        ("kind == fast", "no choice of kind"),
        ("stalled == maybe", "true or false"),
        ("latency + memory < 3 s", "cannot be added to"),
        ("latency < 3 lightyears", "not a unit"),
        ("tp < 3 tp", "not a unit"),
        ("(tp < 3", "not closed"),
        ("tp) < 3", "cannot read ')'"),
        ("(" * 100 + "tp" + ")" * 100 + " < 3", "nested too deeply"),
        ("tp + " * 200 + "1 < 3", "longer than"),
        ("", "is empty"),
        ("tp < 3 $ x", "cannot read 'x'"),
        ("tp < ☃", "cannot read"),
    ],
)
def test_what_makes_no_sense_is_refused(text: str, said: str) -> None:
    with pytest.raises(ExpressionError, match=re.escape(said)):
        constraint(text, NAMES)


@pytest.mark.parametrize(("direction", "text", "said"), [
    ("maximise", "3 s", "constant"), ("maxmize", "tp", "did you mean"), ("minimize", "kind", "is a choice"),
    ("minimize", "stalled", "true or false"), ("minimize", "tp < 3", "cannot read"),
])  # fmt: skip
def test_an_objective_is_a_number_that_can_change(direction: str, text: str, said: str) -> None:
    with pytest.raises(ExpressionError, match=said):
        objective(direction, text, NAMES)


def test_less_is_better_inside() -> None:
    assert objective("maximize", "tp", NAMES).minimised(ROW) == -8.0
    assert objective("minimize", "tp", NAMES).minimised(ROW) == 8.0


def test_nan_holds_nothing() -> None:
    for sign in ("<=", "<", ">=", ">", "=="):
        assert not holds(f"latency {sign} 2 s", latency=float("nan"))
    assert not holds("memory / tp <= 1 GB", tp=np.float64(0.0), memory=np.float64(0.0))


def test_whole_columns_at_their_own_rank() -> None:
    row = {**ROW, "latency": np.arange(6.0).reshape(6, 1), "memory": np.arange(4.0)}
    assert constraint("latency * memory <= 6 byte * 1 s", NAMES).violation(row).shape == (6, 4)
    assert constraint("latency <= 3 s", NAMES).violation(row).shape == (6, 1)


FLOATS = st.floats(-1e30, 1e30)


@given(FLOATS, FLOATS, st.sampled_from(["<=", "<", ">=", ">", "=="]))
def test_a_violation_has_the_sign_of_the_comparison(a: float, b: float, sign: str) -> None:
    made = constraint(f"tp {sign} other", NAMES)
    truth = {"<=": a <= b, "<": a < b, ">=": a >= b, ">": a > b, "==": a == b}[sign]
    assert bool(made.violation({"tp": np.float64(a), "other": np.float64(b)}) <= 0) is truth


@given(st.text(max_size=40))
def test_any_text_is_read_or_refused(text: str) -> None:
    with contextlib.suppress(ExpressionError):
        constraint(text, NAMES)
