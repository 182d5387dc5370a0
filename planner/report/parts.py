"""Which columns are parts of which: where the time and the memory of a plan go."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from planner.figures import say
from planner.report import words


@dataclass(frozen=True)
class Breakdown:
    """A total and the columns that it is made of."""

    title: str
    total: str
    parts: tuple[str, ...]
    unit: str


@dataclass(frozen=True)
class Part:
    """One part of a total."""

    name: str
    share: float
    said: str


BREAKDOWNS = (
    Breakdown(
        "one training step", "step_latency_total",
        ("compute_time", "tensor_comm_time", "context_comm_time", "expert_comm_time", "pipeline_comm_time",
         "data_comm_time", "bubble_time", "optimizer_time", "overhead_time"), "s",
    ),
    Breakdown(
        "one decode step", "decode_step_time",
        ("decode_products_time", "decode_experts_time", "decode_attention_time", "decode_exchange_time",
         "decode_overhead_time"), "s",
    ),
    Breakdown(
        "memory of the fullest accelerator", "memory_per_accelerator",
        ("memory_weights", "memory_gradients", "memory_optimizer", "memory_activations", "memory_logits",
         "memory_buffers", "memory_framework"), "byte",
    ),
    Breakdown(
        "memory of one accelerator", "memory_per_accelerator",
        ("weights_per_accelerator", "kv_cache", "activation_peak"), "byte",
    ),
)  # fmt: skip
"""A line for each breakdown; one whose columns a chain does not make is not shown."""


def breakdown(given: Breakdown, trial: Mapping[str, Any]) -> tuple[Part, ...]:
    """The parts of a plan's total, the largest first, with what is left over; nothing where a column is absent."""
    if any(name not in trial for name in (given.total, *given.parts)):
        return ()
    total = float(trial[given.total])
    if not math.isfinite(total) or total <= 0:
        return ()
    sizes = {name: float(trial[name]) for name in given.parts}
    sizes["other"] = total - sum(sizes.values())
    whole = max(total, sum(s for s in sizes.values() if s > 0))
    shown = sorted(((n, s) for n, s in sizes.items() if s > 0.002 * whole), key=lambda item: -item[1])
    return tuple(Part(_part_name(name), size / whole, say(size, given.unit)) for name, size in shown)


def _part_name(name: str) -> str:
    for affix in ("memory_", "decode_", "_per_accelerator", "_time"):
        name = name.removeprefix(affix).removesuffix(affix)
    return words.title(name).replace("comm", "communication")
