"""An accelerator's catalogue entry, in a precision, as the columns of a `Device`."""

from __future__ import annotations

import math

from solvers.catalog import Entry, catalog

BITS_PER_BYTE = 8.0


def device_row(hardware: Entry, precision: Entry | str, terms: str = "on_demand") -> dict[str, float]:
    """Every field of `Device`, in SI. A figure that nobody has is NaN, never 0.

    A precision names the arithmetics it may run in, best first; weight-only formats run at 16 bit, in whichever of
    BF16 and FP16 the chip has and is faster. A chip without any of them does not support the precision.

    Args:
        hardware: the accelerator.
        precision: the precision's entry, or its name.
        terms: on which an hour is had.
    """
    if isinstance(precision, str):
        precision = catalog.find("precision", precision)
    peak = peak_flops(hardware, precision)
    alone = hardware.get("link_domain") == 1.0
    return {
        "peak_flops": peak,
        "precision_supported": float(not math.isnan(peak)),
        "weight_bytes": precision.require("weight"),
        "activation_bytes": precision.require("activation"),
        "memory_capacity": _figure(hardware, "usable_memory", "memory_capacity"),
        "memory_bandwidth": _figure(hardware, "memory_bandwidth"),
        "link_bandwidth": _figure(hardware, *(("host_link_bandwidth",) if alone else ("link_bandwidth",))),
        "link_domain": _figure(hardware, "link_domain"),
        "host_link_bandwidth": _figure(hardware, "host_link_bandwidth"),
        "storage_bandwidth": _figure(hardware, "storage_bandwidth"),
        "tdp": _figure(hardware, "tdp"),
        "price_per_hour": _figure(hardware, f"price_per_hour_{terms}"),
    }


def peak_flops(hardware: Entry, precision: Entry) -> float:
    """Dense peak of the chip in the precision's arithmetic; NaN where it has none of them."""
    choices = precision.text("compute").split("|")
    peaks = [p for p in (hardware.get(f"peak_flops_{a}") for a in choices) if p is not None]
    return max(peaks) if peaks else math.nan


def _figure(hardware: Entry, *quantities: str) -> float:
    """The first of the figures that the entry has; NaN where it has none."""
    return next((v for v in map(hardware.get, quantities) if v is not None), math.nan)
