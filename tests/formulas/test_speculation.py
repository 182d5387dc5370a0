"""Speculative decoding: what a cycle yields, what it costs, and when it stops paying."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from solvers.formulas.speculation import (
    ALWAYS,
    MOST_DRAFT_TOKENS,
    best_draft_length,
    branched_acceptance,
    break_even_batch,
    cycle,
    expected_tokens,
)

RATE = st.floats(0.0, 1.0)


@given(st.floats(0.0, 0.999), st.integers(1, MOST_DRAFT_TOKENS))
def test_equal_acceptance_gives_the_closed_form(rate: float, length: int) -> None:
    """Leviathan et al. 2023, equation 1."""
    assert expected_tokens(rate, 1.0, length) == pytest.approx((1 - rate ** (length + 1)) / (1 - rate))


@given(st.integers(1, MOST_DRAFT_TOKENS), st.floats(1.0, 2.0))
def test_certain_acceptance_gives_every_draft_and_one_more(length: int, growth: float) -> None:
    assert expected_tokens(1.0, growth, length) == length + 1


@given(RATE, st.floats(1.0, 1.5), st.integers(1, MOST_DRAFT_TOKENS))
def test_growing_misses_never_help_and_longer_drafts_never_yield_less(rate: float, growth: float, length: int) -> None:
    falling = expected_tokens(rate, growth, length)
    assert 1.0 <= falling <= expected_tokens(rate, 1.0, length) + 1e-12
    assert expected_tokens(rate, growth, length + 1) >= falling


def test_rows_and_single_values_agree_to_the_last_bit() -> None:
    rates = np.random.default_rng(0).uniform(0, 1, 200)
    together = expected_tokens(rates, 1.15, 5.0)
    assert all(together[i] == expected_tokens(np.array([rates[i]]), 1.15, 5.0)[0] for i in range(200))


def test_branches_catch_part_of_what_is_missed() -> None:
    assert branched_acceptance(0.6, 1, 0.3) == pytest.approx(0.6)
    assert branched_acceptance(0.6, 3, 0.3) == pytest.approx(1 - 0.4 * 0.7 * 0.7)


def test_a_draft_as_slow_as_its_target_cannot_gain() -> None:
    made = cycle(1.0, 1.0, 1.0, 4, expected_tokens(1.0, 1.0, 4), 1.0, 5.0, 0.0, 0.0)
    assert made.speedup == pytest.approx(1.0)
    assert cycle(1.0, 1.05, 1.0, 4, 5.0, 1.0, 5.0, 0.01, 0.0).speedup < 1.0


def test_no_acceptance_explains_more_than_a_full_cycle() -> None:
    """Chen et al. 2023, arXiv:2302.01318, table 1: 14.1 ms, 4 drafts of 1.8 ms, 2.46 times faster."""
    most = cycle(14.1, 14.1, 1.8, 4, expected_tokens(1.0, 1.0, 4), 1.0, 5.0, 0.0, 0.0).speedup
    assert most == pytest.approx(5 * 14.1 / (14.1 + 4 * 1.8))
    assert most > 2.46


@settings(deadline=None)
@given(RATE, st.floats(0.0, 0.5), st.floats(0.0, 0.3))
def test_the_best_length_is_the_best_by_trial(rate: float, draft: float, each: float) -> None:
    best = float(best_draft_length(rate, 1.1, 1.0, draft, each, 0.0))
    speeds = [expected_tokens(rate, 1.1, g) / (1.0 + g * (draft + each)) for g in range(1, MOST_DRAFT_TOKENS + 1)]
    assert (best == 0.0) == (max(speeds) <= 1.0)
    if best:
        assert speeds[int(best) - 1] == pytest.approx(max(speeds))


def test_break_even_lies_where_the_saving_is_gone() -> None:
    assert break_even_batch(2.0, 1.0, -2.0, many=101.0) == pytest.approx(51.0)
    assert break_even_batch(-0.1, 1.0, -2.0) == 0.0
    assert break_even_batch(2.0, 1.0, 0.5) == ALWAYS
