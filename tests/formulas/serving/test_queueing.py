"""Approximations in products against the functions they stand for, and waits that behave."""

import numpy as np
import pytest
from scipy import stats

from solvers.formulas.serving.queueing import decay, quantile, share_within, slot_wait


def test_decay_follows_the_exponential() -> None:
    x = np.linspace(0.0, 8.0, 200)
    assert np.abs(decay(x) - np.exp(-x)).max() < 2e-3
    assert (np.diff(decay(np.linspace(0.0, 1e4, 500))) <= 0).all()


@pytest.mark.parametrize("normal, share", [(0.0, 0.5), (1.6449, 0.95), (2.3263, 0.99)])
@pytest.mark.parametrize("variation", [0.2, 0.5, 1.0])
def test_quantiles_follow_a_gamma_distribution(variation: float, normal: float, share: float) -> None:
    shape = 1 / variation**2
    exact = stats.gamma.ppf(share, shape, scale=1 / shape)
    assert quantile(1.0, variation, normal) == pytest.approx(exact, rel=0.02)


@pytest.mark.parametrize("variation", [0.2, 0.5, 1.0])
def test_the_share_within_a_quantile_is_its_share(variation: float) -> None:
    for normal, share in ((0.0, 0.5), (1.2816, 0.9), (2.3263, 0.99)):
        limit = quantile(1.0, variation, normal)
        assert share_within(limit, 1.0, variation) == pytest.approx(share, abs=0.02)


def test_waits_grow_with_load_and_fall_with_slots() -> None:
    load = np.linspace(0.1, 0.96, 50)
    assert (np.diff(slot_wait(load, 16.0, 1.0, 0.5)) > 0).all()
    assert (np.diff(slot_wait(0.9, np.array([1.0, 4.0, 16.0, 64.0]), 1.0, 0.5)) < 0).all()
    assert np.isfinite(slot_wait(5.0, 8.0, 1.0, 0.5))


def test_one_slot_waits_as_a_single_server() -> None:
    """M/M/1 at half load waits as long as it serves; the many-slot limit is within a factor of two even there."""
    assert 0.5 < slot_wait(0.5, 1.0, 1.0, 1.0) < 2.0
