"""Tables and cards of facts line up, whatever stands in them."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from planner.show import format_info, format_table, info, number, table, text, width
from solvers.units import Q_


def test_quantities_keep_their_unit_and_three_digits() -> None:
    rows = [[n, Q_(f"{n * 250} MB/s").to("GB/s"), f"{min(1, n / 128):.1%}"] for n in (8, 32, 128)]
    assert format_table(["Workers", "Throughput", "Use"], rows).split("\n") == [
        "Workers   Throughput      Use",
        "───────   ──────────   ──────",
        "      8    2.00 GB/s     6.2%",
        "     32    8.00 GB/s    25.0%",
        "    128    32.0 GB/s   100.0%",
    ]


def test_there_are_no_vertical_borders() -> None:
    shown = format_table(["a", "b"], [["x", 1.0]])
    assert not set(shown) & set("|│┃")


@pytest.mark.parametrize(
    ("line", "columns"),
    [("abc", 3), ("模型", 4), ("e\u0301", 1), ("⚠\ufe0f", 2), ("🚀", 2), ("👩\u200d🚀", 2), ("", 0)],
)
def test_wide_signs_take_two_columns(line: str, columns: int) -> None:
    assert width(line) == columns


@settings(deadline=None)
@given(
    st.lists(
        st.tuples(st.text(st.characters(codec="utf-8", exclude_categories=("Cc", "Cs", "Zl", "Zp"))), st.floats()),
        min_size=1,
    )
)
def test_numbers_end_in_one_column(rows: list[tuple[str, float]]) -> None:
    lines = format_table(["name", "value"], rows).split("\n")
    assert len(lines) == len(rows) + 2
    assert len({width(line) for line in lines[1:]}) == 1


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (math.nan, "not a number"), (math.inf, "∞"), (-math.inf, "−∞"), (1e-9, "1.00e-09"), (0.0, "0"), (2.1, "2.10"),
        (0.00012345, "0.000123"), (12345.678, "12,346"), (1e15, "1.00e+15"),
    ],
)  # fmt: skip
def test_numbers_of_any_size_are_said(value: float, said: str) -> None:
    assert number(value) == said


@pytest.mark.parametrize("value", [None, True, [1, 2], "two\nlines", Q_(2.1, ""), Q_(math.nan, "s"), object()])
def test_anything_can_be_shown(value: object) -> None:
    shown = text(value)
    assert "\n" not in shown
    assert "dimensionless" not in shown


def test_facts_line_up() -> None:
    shown = format_info(
        "GPU 为什么", {"Step_latency": Q_("0.0123 s").to("ms"), "模型": "x", "nothing": math.nan}
    ).split("\n")
    assert shown[0] == "GPU 为什么"
    assert shown[2] == "  Step latency   12.3 ms"
    assert shown[3] == "  模型           x"


def test_a_row_of_another_length_is_refused() -> None:
    with pytest.raises(ValueError, match="row 1 has 3 cells, and there are 2 headers"):
        format_table(["a", "b"], [[1, 2], [1, 2, 3]])


def test_they_print(capsys: pytest.CaptureFixture[str]) -> None:
    table(["a"], [[1]])
    info("b", c=2)
    assert capsys.readouterr().out == "a\n─\n1\nb\n─\n  c   2\n"
