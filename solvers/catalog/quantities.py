"""The figures that an entry of each kind may have, with the unit we hold them in.

A name that is not here is refused, so that a misspelt override cannot pass unnoticed.
"""

from __future__ import annotations

import functools

from solvers.catalog.entries import CatalogError, near_names
from solvers.catalog.factors import FACTORS
from solvers.catalog.tables import TABLES

ARITHMETICS = ("fp64", "fp32", "tf32", "fp16", "bf16", "fp8", "int8", "int4", "nvfp4", "mxfp4", "mxfp6")
"""The arithmetics a chip may have; each peak is dense, one multiply-accumulate counted as two operations."""
TERMS = ("on_demand", "reserved", "spot", "owned")
"""The terms on which an hour of an accelerator is had."""

_HARDWARE = {
    **{f"peak_flops_{a}": "FLOP/s" for a in ARITHMETICS},
    "memory_capacity": "byte",
    "usable_memory": "byte",
    "memory_bandwidth": "byte/s",
    "link_bandwidth": "byte/s",
    "peer_bandwidth": "byte/s",
    "link_domain": "",
    "host_link_bandwidth": "byte/s",
    "storage_bandwidth": "byte/s",
    "tdp": "W",
    "node_power": "W",
    "price_per_hour": "USD/hour",
    **{f"price_per_hour_{t}": "USD/hour" for t in TERMS},
    "release_year": "",
    "processors": "",
    "clock": "1/s",
    "l2_cache": "byte",
    "architecture": "text",
    "memory_type": "text",
    "vendor": "text",
    "segment": "text",
}
_NODE = {
    "hardware": "text", "accelerators_per_node": "", "link_domain": "", "nic_count": "", "nic_bandwidth": "byte/s",
    "host_link_bandwidth": "byte/s", "storage_bandwidth": "byte/s", "host_cpu": "text", "host_cores": "",
    "host_memory": "byte", "local_storage": "byte", "max_power": "W",
    "accelerator_mtbf": "s",
}  # fmt: skip
_FABRIC = {"bandwidth": "byte/s", "latency": "s", "switch_latency": "s", "oversubscription": ""}
_FLEET = {
    "node": "text", "hardware": "text", "fabric": "text", "node_count": "", "n_accelerators": "",
    "accelerators_per_node": "", "nic_bandwidth": "byte/s", "fabric_latency": "s", "oversubscription": "",
    "accelerator_mtbf": "s",
}  # fmt: skip
_GRID = {"carbon_intensity": "g/J", "electricity_price": "USD/J", "pue": "", "provider": "text", "location": "text"}

_FIGURES = {"hardware": _HARDWARE, "node": _NODE, "fabric": _FABRIC, "fleet": _FLEET, "grid": _GRID}


@functools.cache
def quantities(kind: str) -> dict[str, str]:
    """The figures that entries of a kind may have, with the unit held."""
    columns = TABLES[kind].columns
    if columns is not None:
        return {name: FACTORS[unit][1] for name, unit in columns.items()}
    return _FIGURES.get(kind, {})


def unit_of(kind: str, quantity: str) -> str:
    """The unit in which we hold a figure.

    Raises:
        CatalogError: no entry of the kind has such a figure; the message offers near names.
    """
    known = quantities(kind)
    if quantity not in known:
        near = near_names(quantity, known)
        raise CatalogError(
            f"no {kind} has such a figure" + (f"; near: {near}" if near else f"; known: {', '.join(known)}")
        )
    return known[quantity]
