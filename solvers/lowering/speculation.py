"""What speculation costs a serving engine, as columns."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from solvers.lowering.constants import constant

COSTS = {
    "miss_growth": "miss_growth",
    "additive_share": "additive_share",
    "snapshot_passes": "snapshot_passes",
    "recurrence_time": "recurrence_time",
    "draft_pass_time": "served_draft_time",
    "cycle_overhead": "served_cycle_time",
    "verified_token_time": "served_verified_token_time",
    "sibling_catch": "sibling_catch",
    "reduced_vocab": "eagle_3_vocab",
    "model_acceptance": "acceptance_draft_model",
    "eagle_acceptance": "acceptance_eagle_3",
    "mtp_acceptance": "acceptance_mtp",
    "medusa_acceptance": "acceptance_medusa",
    "ngram_acceptance": "acceptance_n_gram",
}
"""Field of `SpeculationCosts` -> the constant that it holds."""


def costs_row(engine: Any) -> Mapping[str, float]:
    """Every field of `SpeculationCosts`; published sweeps tell engines apart too little for constants of their own."""
    return {field: constant("speculation", quantity) for field, quantity in COSTS.items()}
