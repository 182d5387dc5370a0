"""Figures are said as people write them."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from planner.figures import LADDERS, rung_for, say
from solvers.units import factor, parse


@pytest.mark.parametrize(
    ("value", "unit", "said"),
    [
        (8.24e10, "byte", "76.7 GiB"),
        (5.3e-7, "USD/token", "$0.530 per million tokens"),
        (0.0123, "s", "12.3 ms"),
        (2048.0, "token", "2,048 tokens"),
        (7_167_179.0, "token/s", "7.17 million tokens/s"),
        (29.0, "USD/hour", "$29.0/h"),
        (-3.0, "USD", "−$3.00"),
        (0.0, "byte", "0 bytes"),
        (math.inf, "s", "∞ s"),
        (math.nan, "s", "–"),
        (8.0, "", "8"),
        (0.4321, "", "0.432"),
        (True, "bool", "yes"),
        ("memory", "choice", "memory"),
        (119.9, "s", "120 s"),
        (1e-12, "J/token", "1.00e-09 mJ/token"),
    ],
)
def test_a_figure_is_said(value: object, unit: str, said: str) -> None:
    assert say(value, unit) == said


@pytest.mark.parametrize("unit", [u for u in LADDERS if u != "1/s"])
def test_every_rung_holds_what_it_says(unit: str) -> None:
    names = {"days": "day", "h": "hour", "µs": "us", "/h": "USD/hour", "t": "1e6 g", "": "USD", "million": "1e6 USD"}
    names |= {"per million tokens": "1e-6 USD/token", "per thousand samples": "1e-3 USD/sample", "per kWh": "USD/kWh"}
    names["million tokens/s"] = "1e6 token/s"
    for rung in LADDERS[unit]:
        name = names.get(rung.after, rung.after)
        quantity = parse(name if name[0].isdigit() else f"1 {name}")
        assert quantity.to_base_units().magnitude == pytest.approx(rung.factor * factor(unit))


@settings(deadline=None)
@given(st.floats(allow_nan=True, allow_infinity=True), st.sampled_from(sorted(LADDERS)))
def test_every_number_can_be_said(value: float, unit: str) -> None:
    assert say(value, unit).strip()


@settings(deadline=None)
@given(
    st.lists(st.floats(min_value=1e-6, max_value=1e15), min_size=1), st.sampled_from(["s", "byte", "token/s", "USD"])
)
def test_one_unit_is_found_for_a_column(values: list[float], unit: str) -> None:
    assert rung_for(values, unit) in LADDERS[unit]
