"""How an accelerator's power follows its work, as columns."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from solvers.lowering.constants import constant


def power_row(hardware: Any) -> Mapping[str, float]:
    """Every field of `PowerResponse`; measured on two generations that share one response."""
    names = ("waiting_power", "resident_response", "compute_response", "memory_response")
    return {name: constant("energy", name) for name in names}
