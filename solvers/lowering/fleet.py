"""The row of a fleet: a named one, or the usual node of an accelerator where only the accelerator is named."""

from __future__ import annotations

import functools
import math
from typing import Any

_FIELDS = (
    "n_accelerators",
    "accelerators_per_node",
    "nic_bandwidth",
    "fabric_latency",
    "oversubscription",
    "accelerator_mtbf",
)


def fleet_row(fleet: Any, hardware: Any) -> dict[str, float]:
    """The `Fleet` record of a fleet, or of the usual nodes of an accelerator (then `n_accelerators` is NaN: give it).

    Where nobody describes a node of it, its figures are NaN, and asking for them says what to give.
    """
    described = fleet if fleet is not None else usual_fleet(hardware.text("based_on") or hardware.name)
    if described is None:
        return dict.fromkeys(_FIELDS, math.nan)
    row = {name: value if (value := described.get(name)) is not None else math.nan for name in _FIELDS}
    return row if fleet is not None else row | {"n_accelerators": math.nan}


@functools.cache
def usual_fleet(hardware: str) -> Any:
    """The smallest listed fleet of that accelerator, or None."""
    from solvers.catalog import catalog

    made_of_it = [f for f in catalog.entries("fleet") if f.text("hardware") == hardware]
    return min(made_of_it, key=lambda f: f.get("n_accelerators") or math.inf, default=None)
