"""What plans cost, through the face."""

from __future__ import annotations

import pytest

from solvers import SOLVERS, InvalidInput
from solvers.catalog import catalog
from solvers.chain import Chain
from solvers.faces.economics import EconomicsModel
from solvers.solver import answers

PLAN = {"hardware": "H100", "n_accelerators": 8, "effective_throughput": 10_000}


def test_an_unpriced_accelerator_is_an_error_that_names_the_price() -> None:
    unpriced = next(h for h in catalog.entries("hardware") if h.get("price_per_hour") is None and h.get("tdp"))
    with pytest.raises(InvalidInput, match="price_per_hour"):
        EconomicsModel().solve(hardware=unpriced, effective_throughput=1e3)
    with pytest.raises(InvalidInput, match="price_per_hour"):
        Chain([EconomicsModel]).bind({"hardware": (unpriced,), **menus()}, {})


def menus() -> dict:
    return {"terms": (catalog.find("terms", "on_demand"),), "region": (catalog.find("grid", "France"),)}


def test_an_unknown_region_is_an_error_with_near_names() -> None:
    with pytest.raises(InvalidInput, match="region"):
        EconomicsModel().solve(**PLAN, region="Atlantis")


def test_electricity_and_carbon_follow_the_region() -> None:
    france, states = (EconomicsModel().solve(**PLAN, region=r) for r in ("France", "United States"))
    assert states.carbon_per_run > 5 * france.carbon_per_run
    assert france.energy_per_run.m_as("kWh") == pytest.approx(france.facility_power.m_as("kW") * 720)


def test_a_million_tokens_cost_a_million_times_one() -> None:
    made = EconomicsModel().solve(**PLAN)
    assert made.cost_per_million_tokens.m_as("USD") == pytest.approx(1e6 * made.cost_per_token.m_as("USD/token"))
    assert made.cost_per_run.m_as("USD") == pytest.approx(made.cost_per_hour.m_as("USD/hour") * 720)
    assert made.cost_per_token.m_as("USD/token") == pytest.approx(made.cost_per_hour.m_as("USD/hour") / 3600 / 1e4)


def test_owned_machines_cost_what_was_paid_for_them() -> None:
    dear, cheap = (
        EconomicsModel().solve(**PLAN, terms="owned", purchase_price=p, region="France") for p in (60_000, 30_000)
    )
    assert dear.cost_per_hour > cheap.cost_per_hour
    assert dear.tco.m_as("USD") > 8 * 60_000


def test_idle_hours_are_paid() -> None:
    half = EconomicsModel().solve(**PLAN, busy_fraction=0.5)
    assert half.cost_per_token == 2 * EconomicsModel().solve(**PLAN).cost_per_token


def test_cost_follows_the_plan_in_a_chain() -> None:
    """More accelerators for the same work are dearer; only those that the layout uses are paid."""
    solvers = (SOLVERS["DistributedModel"], EconomicsModel)
    given = {"model": "Llama3_8B", "fleet": "H100_64", "precision": "bf16", "batch_size": 256, "zero_stage": 3}
    costs = {}
    for dp in (8, 64):
        made = answers(Chain(solvers), {**given, "dp_size": dp, "duration_days": 30})
        assert made["EconomicsModel"].cost_per_hour.m_as("USD/hour") == pytest.approx(
            made["DistributedModel"].accelerators_used * 2.95, rel=0.5
        )
        costs[dp] = made["EconomicsModel"].cost_per_token
    assert costs[8] != costs[64]


def test_a_misspelt_parameter_is_refused_with_a_near_name() -> None:
    with pytest.raises(InvalidInput, match="duration_days"):
        EconomicsModel().solve(**PLAN, duration_day=30)
