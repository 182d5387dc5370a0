"""Test-time compute: integrals over a growing context, the longest of several, problems of unequal difficulty."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from solvers.formulas.reasoning import chosen_accuracy, coverage, decoding_times, longest_of


@given(st.floats(1, 1e5), st.floats(1, 1e5), st.floats(1, 4), st.floats(0, 1e-2), st.floats(0, 1e-7))
def test_decoding_times_are_the_integrals(start: float, mean: float, more: float, fixed: float, slope: float) -> None:
    def exact(generated: float) -> float:
        return fixed * generated + slope * (start * generated + generated**2 / 2)

    made = decoding_times(lambda context: fixed + slope * context, start, mean, more * mean)
    assert made == pytest.approx((exact(mean), exact(more * mean)), abs=1e-12, rel=1e-9)


def test_two_points_are_exact_for_a_cubic() -> None:
    assert decoding_times(lambda c: c**3, 2.0, 4.0, 4.0) == pytest.approx(((6**4 - 2**4) / 4,) * 2)


def test_the_longest_of_one_is_the_mean() -> None:
    assert longest_of(1.0, 0.5) == 1.0
    assert longest_of(64.0, 0.0) == 1.0


@pytest.mark.parametrize("n", [2, 8, 64, 256])
def test_the_longest_of_many_agrees_with_draws(n: int) -> None:
    spread = np.sqrt(np.log(1.25))
    draws = np.exp(spread * np.random.default_rng(1).standard_normal((20_000, n)) - spread**2 / 2)
    assert longest_of(float(n), 0.5) == pytest.approx(draws.max(axis=1).mean(), rel=0.03)


def test_coverage_of_swe_bench_lite() -> None:
    """Brown et al. 2024, arXiv:2407.21787: 15.9 % with one sample, 56 % with 250; equal problems promise 100 %."""
    assert coverage(0.159, 0.122, 1.0) == pytest.approx(0.159, abs=1e-6)
    assert coverage(0.159, 0.122, 250.0) == pytest.approx(0.56, abs=0.01)
    assert 1 - (1 - 0.159) ** 250 > 0.999999


@settings(deadline=None)
@given(st.floats(0.001, 0.999), st.floats(0.02, 20.0), st.integers(1, 2000))
def test_coverage_grows_with_samples_and_stays_below_equal_problems(rate: float, spread: float, n: int) -> None:
    covered = float(coverage(rate, spread, float(n)))
    assert rate - 1e-6 <= covered <= 1.0
    assert covered <= 1 - (1 - rate) ** n + 1e-6
    assert coverage(rate, spread, float(n + 1)) >= covered - 1e-9


def test_coverage_against_a_draw_of_problems() -> None:
    problems = np.random.default_rng(2).beta(0.4, 1.6, 400_000)
    assert coverage(0.2, 0.4, 30.0) == pytest.approx(np.mean(1 - (1 - problems) ** 30), abs=0.003)


def test_choosing_keeps_a_part_of_the_gain() -> None:
    assert chosen_accuracy(0.2, 0.6, 1.0) == pytest.approx(0.6)
    assert chosen_accuracy(0.2, 0.6, 0.0) == pytest.approx(0.2)
