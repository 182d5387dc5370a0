"""Money, energy and carbon of a plan: rent or own, by the hour, the token and the run.

Rent is an all-in price for an accelerator and its share of the node, power included. Owning is capital written off
evenly over its life, upkeep, and electricity at the meter, which is what the servers draw times the PUE.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from solvers.columns import (
    Count,
    Flag,
    Gram,
    GramPerJoule,
    Joule,
    Ratio,
    Second,
    Token,
    TokenPerSecond,
    Usd,
    UsdPerHour,
    UsdPerJoule,
    Watt,
    column,
    otherwise,
)

HOUR = 3600.0
DAY = 86400.0
YEAR_HOURS = 8766.0


@dataclass(frozen=True)
class Price:
    """What an accelerator costs on the terms chosen, and what it and its share of the node draw."""

    price_per_hour: UsdPerHour = column("price of one accelerator for an hour, on the terms chosen")
    rental_price: UsdPerHour = column("price of one rented accelerator for an hour, on demand")
    ownership_price: UsdPerHour = column("published all-in cost of one owned accelerator for an hour, power included")
    is_owned: Flag = column("the terms are ownership")
    tdp: Watt = column("thermal design power of the accelerator")
    node_power: Watt = column("all-in power of one accelerator with its share of the node and network, at full load")


@dataclass(frozen=True)
class Grid:
    """Where the electricity comes from."""

    carbon_intensity: GramPerJoule = column("carbon dioxide equivalent of the grid's electricity")
    electricity_price: UsdPerJoule = column("price of electricity at the meter")
    pue: Ratio = column("energy of the whole site over energy of its servers (power usage effectiveness)")


def server_power(accelerator_power: Watt, accelerator_share: Ratio) -> Watt:
    """Power of an accelerator with its share of CPUs, memory, network and fans.

    Accelerators are `accelerator_share` of what the servers draw when busy: counting them alone understates. Elsworth
    et al. 2025, arXiv:2508.15734, table 1: 58 % of the energy of a prompt is in accelerators (of the site's; 63 % of
    the servers', by their PUE of 1.09).
    """
    return accelerator_power / accelerator_share


def amortised_price(
    purchase_price: Usd,
    lifetime: Second,
    maintenance_rate: Ratio,
    electricity_per_hour: UsdPerHour,
    residual_value: Ratio,
) -> UsdPerHour:
    """Cost of owning one accelerator for an hour, used or not: written off evenly, kept up, and powered.

    Args:
        purchase_price: of the accelerator with its share of server, network and room.
        maintenance_rate: upkeep and staff a year as a part of the purchase price.
        residual_value: part of the price that selling it at the end brings back.
    """
    life = lifetime / HOUR
    capital = purchase_price * (1.0 - residual_value) / life
    return capital + purchase_price * maintenance_rate / YEAR_HOURS + electricity_per_hour


@dataclass(frozen=True)
class Ownership:
    """Buying against renting, for one accelerator."""

    owned_per_hour: UsdPerHour = column("owning one accelerator for an hour")
    rented_per_hour: UsdPerHour = column("renting one accelerator for an hour")
    break_even_use: Ratio = column("part of the hours that must be used for owning to be the cheaper")


def buy_or_rent(price: Price, purchase_price: Usd, lifetime: Second, maintenance_rate: Ratio, residual_value: Ratio,
                electricity_per_hour: UsdPerHour) -> Ownership:  # fmt: skip
    """What an hour costs owned and rented; a published cost of ownership stands in where no purchase price is given.

    Renting is paid only while used; owning is paid in every hour, so it is the cheaper above `break_even_use` (above
    1 it never is).
    """
    bought = amortised_price(purchase_price, lifetime, maintenance_rate, electricity_per_hour, residual_value)
    owned = otherwise(bought, price.ownership_price)
    rented = otherwise(price.rental_price, price.price_per_hour)
    return Ownership(owned, rented, owned / np.maximum(rented, 1e-9))


def run_time(duration_days: Count, run_tokens: Token, tokens_per_second: TokenPerSecond) -> Second:
    """How long the plan runs: until `run_tokens` are through where they are given, `duration_days` otherwise."""
    return otherwise(run_tokens / tokens_per_second, duration_days * DAY)


@dataclass(frozen=True)
class Footprint:
    """What a plan takes from the grid."""

    power: Watt = column("power at the meter")
    energy: Joule = column("energy at the meter")
    carbon: Gram = column("carbon dioxide equivalent")


def footprint(server_watts: Watt, n_accelerators: Count, duration: Second, grid: Grid) -> Footprint:
    """Power, energy and carbon at the meter: servers times PUE. Carbon is location-based, without embodied carbon."""
    power = server_watts * n_accelerators * grid.pue
    energy = power * duration
    return Footprint(power, energy, energy * grid.carbon_intensity)
