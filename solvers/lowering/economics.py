"""Prices and grids as columns."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any


def price_row(hardware: Any, terms: Any) -> Mapping[str, float]:
    """What an accelerator costs on the terms chosen; a price that nobody has is NaN, never 0."""
    return {
        "price_per_hour": _figure(hardware, f"price_per_hour_{terms.name}"),
        "rental_price": _figure(hardware, "price_per_hour_on_demand"),
        "ownership_price": _figure(hardware, "price_per_hour_owned"),
        "is_owned": float(terms.name == "owned"),
        "tdp": _figure(hardware, "tdp"),
        "node_power": _figure(hardware, "node_power"),
    }


def grid_row(region: Any) -> Mapping[str, float]:
    """Carbon intensity, price and overhead of the electricity of a region."""
    return {name: _figure(region, name) for name in ("carbon_intensity", "electricity_price", "pue")}


def _figure(entry: Any, quantity: str) -> float:
    value = None if entry is None else entry.get(quantity)
    return math.nan if value is None else float(value)
