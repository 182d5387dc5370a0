"""Money, energy, carbon."""

from __future__ import annotations

import numpy as np
import pytest

from solvers.formulas.cost import HOUR, Grid, Price, amortised_price, buy_or_rent, footprint, run_time, server_power

GRID = Grid(carbon_intensity=369.473 / 3.6e6, electricity_price=0.08 / 3.6e6, pue=1.25)


def price(**figures: float) -> Price:
    known = {"price_per_hour": 3.0, "rental_price": 3.0, "ownership_price": np.nan, "is_owned": 0.0, "tdp": 700.0,
             "node_power": np.nan}  # fmt: skip
    return Price(**{**known, **figures})


def test_a_kilowatt_hour_costs_and_emits_what_the_grid_says() -> None:
    used = footprint(1000.0, 1.0, HOUR, GRID)
    assert used.energy == pytest.approx(1.25 * 3.6e6)
    assert used.energy * GRID.electricity_price == pytest.approx(0.10)
    assert used.carbon == pytest.approx(1.25 * 369.473)


def test_accelerators_alone_understate() -> None:
    """Elsworth et al. 2025, arXiv:2508.15734: 58 % of a prompt's energy is in accelerators at a PUE of 1.09."""
    assert 1.0 / (server_power(1.0, 0.632) * 1.09) == pytest.approx(0.58, abs=0.01)


def test_ownership_is_capital_upkeep_and_power() -> None:
    owned = amortised_price(35_000.0, 4 * 365.25 * 86400.0, 0.05, 0.1, 0.0)
    assert owned == pytest.approx(35_000 / (4 * 8766) + 35_000 * 0.05 / 8766 + 0.1)


def test_a_published_cost_of_ownership_stands_in_for_a_purchase_price() -> None:
    made = buy_or_rent(price(ownership_price=1.3), np.nan, 1.26e8, 0.05, 0.0, 0.1)
    assert made.owned_per_hour == 1.3
    assert made.break_even_use == pytest.approx(1.3 / 3.0)


def test_a_run_lasts_until_its_tokens_are_through() -> None:
    assert run_time(30.0, np.nan, 1e6) == 30 * 86400
    assert run_time(30.0, 1e12, 1e6) == 1e6
