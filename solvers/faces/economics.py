"""What a plan costs: by the hour, by the token, for the run; rented or owned; in dollars, kilowatt-hours and carbon."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from solvers.columns import (
    Array,
    Count,
    Gram,
    Joule,
    JoulePerToken,
    Ratio,
    Reasons,
    SamplePerSecond,
    Second,
    Token,
    TokenPerSecond,
    Unit,
    Usd,
    UsdPerHour,
    UsdPerToken,
    Watt,
    column,
    otherwise,
    parameter,
    record,
    where,
)
from solvers.formulas.cost import HOUR, Grid, Price, buy_or_rent, footprint, run_time, server_power
from solvers.lowering.constants import constant
from solvers.solver import Solver

UsdPerSample = Annotated[Array, Unit("USD/sample")]
Day = Annotated[Array, Unit("")]


@dataclass(frozen=True)
class EconomicsPlan:
    """What runs, on whose machines, where, for how long."""

    price: Price = record("what the accelerator costs on the terms chosen", needs=("price_per_hour",))
    grid: Grid = record("where the electricity comes from", needs=("carbon_intensity", "electricity_price", "pue"))
    n_accelerators: Count = parameter(
        "accelerators that are paid for", default=1, integer=True, minimum=1, source="accelerators_used"
    )
    effective_throughput: TokenPerSecond = parameter(
        "tokens a second of the whole plan", optional=True, minimum=0, source="token_throughput"
    )
    throughput: SamplePerSecond = parameter("samples a second of one accelerator", optional=True, above=0)
    sample_throughput: SamplePerSecond = parameter(
        "samples a second of the whole plan (throughput of each accelerator where not given)", optional=True, above=0
    )
    tokens_per_query: Token = parameter(
        "generated tokens of one question, all samples together", optional=True, above=0
    )
    answer_accuracy: Ratio = parameter("part of the questions answered rightly", optional=True, minimum=0, maximum=1)
    accelerator_power: Watt = parameter(
        "mean power of one accelerator (its TDP times average_load where nobody says)", optional=True, above=0
    )
    duration_days: Day = parameter("days that the plan runs", default=30.0, above=0)
    run_tokens: Token = parameter("tokens of the whole run; sets how long it takes where given", optional=True, above=0)
    busy_fraction: Ratio = parameter(
        "part of the paid hours in which lasting progress is made", default=1.0, above=0, maximum=1
    )
    purchase_price: Usd = parameter(
        "price of an accelerator with its share of server and network (a published cost of ownership where not given)",
        optional=True, above=0,
    )  # fmt: skip
    lifetime: Second = parameter(
        "time over which a purchase is written off", default=constant("economics", "lifetime"), above=0
    )
    maintenance_rate: Ratio = parameter(
        "upkeep and staff a year, as a part of the purchase price",
        default=constant("economics", "maintenance_rate"),
        minimum=0,
    )
    residual_value: Ratio = parameter(
        "part of the purchase price that a sale at the end brings back",
        default=constant("economics", "residual_value"), minimum=0, maximum=1,
    )  # fmt: skip
    accelerator_share: Ratio = parameter(
        "accelerators' part of the power of their servers",
        default=constant("economics", "accelerator_share"),
        above=0,
        maximum=1,
    )
    average_load: Ratio = parameter(
        "drawn part of the TDP where nobody says", default=constant("economics", "average_load"), above=0, maximum=1
    )


@dataclass(frozen=True)
class EconomicsAnswer:
    """Money, energy, carbon. Costs of a token are NaN where there are none; samples and questions likewise."""

    cost_per_hour: UsdPerHour = column("the whole plan for an hour")
    cost_per_token: UsdPerToken = column("one token")
    cost_per_million_tokens: Usd = column("a million tokens")
    cost_per_sample: UsdPerSample = column("one sample")
    cost_per_query: Usd = column("one question, all samples together")
    cost_per_correct_answer: Usd = column("one question answered rightly")
    carbon_per_query: Gram = column("carbon dioxide equivalent of the electricity for one question")
    cost_per_run: Usd = column("the whole run")
    run_time: Second = column("the whole run")
    facility_power: Watt = column("power at the meter: servers and overhead of the site")
    energy_per_run: Joule = column("energy at the meter for the run")
    facility_energy_per_token: JoulePerToken = column("energy at the meter for one token")
    electricity_cost_per_run: Usd = column("the run's electricity; contained in rent")
    carbon_per_run: Gram = column("carbon dioxide equivalent of the run's electricity")
    owned_cost_per_hour: UsdPerHour = column("the whole plan for an hour on machines of one's own")
    rented_cost_per_hour: UsdPerHour = column("the whole plan for an hour on machines rented on demand")
    tco: Usd = column("owning the plan's machines over their lifetime")
    break_even_use: Ratio = column("part of the hours that must be used for owning to be the cheaper (above 1: never)")
    reasons: Reasons = column("why it is infeasible")


class EconomicsModel(Solver):
    """What a plan costs. Follows the solver before it: accelerators, throughput and power are taken from its columns.

    Rent is all-in. Ownership is capital, upkeep and electricity at the meter. A price that nobody has is an error.
    """

    @staticmethod
    def columns(plan: EconomicsPlan) -> EconomicsAnswer:
        """Price the plan."""
        price, grid = plan.price, plan.grid
        watts = server_power(otherwise(plan.accelerator_power, price.tdp * plan.average_load), plan.accelerator_share)
        electricity_per_hour = watts * grid.pue * HOUR * grid.electricity_price
        ownership = buy_or_rent(
            price, plan.purchase_price, plan.lifetime, plan.maintenance_rate, plan.residual_value, electricity_per_hour
        )
        bought = (price.is_owned > 0) & ~np.isnan(plan.purchase_price)
        cost_per_hour = where(bought, ownership.owned_per_hour, price.price_per_hour) * plan.n_accelerators
        pace = where(plan.effective_throughput > 0, plan.effective_throughput, np.nan) * plan.busy_fraction
        samples = otherwise(plan.sample_throughput, plan.throughput * plan.n_accelerators)
        duration = run_time(plan.duration_days, plan.run_tokens, pace)
        used = footprint(watts, plan.n_accelerators, duration, grid)
        cost_per_token = cost_per_hour / (HOUR * pace)
        return EconomicsAnswer(
            cost_per_hour=cost_per_hour,
            cost_per_token=cost_per_token,
            cost_per_million_tokens=cost_per_token * 1e6,
            cost_per_sample=cost_per_hour / (HOUR * plan.busy_fraction * samples),
            cost_per_query=cost_per_token * plan.tokens_per_query,
            cost_per_correct_answer=cost_per_token * plan.tokens_per_query / np.maximum(plan.answer_accuracy, 1e-9),
            carbon_per_query=used.power / pace * plan.tokens_per_query * grid.carbon_intensity,
            cost_per_run=cost_per_hour * (duration / HOUR),
            run_time=duration,
            facility_power=used.power,
            energy_per_run=used.energy,
            facility_energy_per_token=used.power / pace,
            electricity_cost_per_run=used.energy * grid.electricity_price,
            carbon_per_run=used.carbon,
            owned_cost_per_hour=ownership.owned_per_hour * plan.n_accelerators,
            rented_cost_per_hour=ownership.rented_per_hour * plan.n_accelerators,
            tco=ownership.owned_per_hour * plan.n_accelerators * (plan.lifetime / HOUR),
            break_even_use=ownership.break_even_use,
            reasons=np.int64(0),
        )
