"""Why a serving plan cannot be."""

from __future__ import annotations

from typing import Any

import numpy as np

from solvers.columns import Array, Byte, Count, Flag, Ratio, Reasons, Sample, where
from solvers.formulas.serving.memory import Ledger
from solvers.formulas.serving.step import Layout
from solvers.reasons import (
    CONTEXT_EXCEEDED,
    DOES_NOT_FIT,
    EP_EXCEEDS_EXPERTS,
    PP_EXCEEDS_LAYERS,
    PRECISION_UNSUPPORTED,
    TP_EXCEEDS_HEADS,
    flag,
    reason,
)

WEIGHTS_EXCEED_MEMORY = reason(
    "weights_exceed_memory",
    "The weights take {weights_per_accelerator:.1f~P} of each accelerator's {memory_capacity:.1f~P}, which leaves "
    "nothing for the cache.",
    "At this precision it needs a tp_size of at least {smallest_tp_size}; or use FP8 or 4-bit weights, or more memory.",
)
CACHE_EXCEEDS_MEMORY = reason(
    "cache_exceeds_memory",
    "The cache of {batch_size:.0f~P} needs {kv_cache:.1f~P} on each accelerator; the weights leave {kv_pool:.1f~P}: "
    "the cache binds.",
    "At most {max_batch_size:.0f~P} fit at this context; shorten it, use an FP8 cache, or take more accelerators.",
)
SATURATED = reason(
    "saturated",
    "The load is {serving_load:.2f} of what the plan can finish: the queue grows without end, no percentile is stable.",
    "Add replicas or accelerators, or lower the rate below {saturation_rate:.3g~P}.",
)
BATCH_EXCEEDS_ENGINE = reason(
    "batch_exceeds_engine",
    "The engine runs at most {max_sequences} sequences a rank, fewer than the batch asked for.",
    "Lower the batch, or raise max_num_sequences.",
)
DP_NEEDS_EXPERTS = reason(
    "data_parallel_needs_experts",
    "Attention data parallelism of {dp_size} shares experts, and the model has none.",
    "Use replicas for independent copies of a dense model.",
)

EP_OUTSIDE_GROUP = reason(
    "expert_parallel_outside_group",
    "Experts spread over {ep_size} ranks do not divide the {tp_size} x {dp_size} ranks of a replica.",
    "Choose an ep_size that divides tp_size x dp_size.",
)
NEEDS_TWO_REPLICAS = reason(
    "disaggregation_needs_two_replicas",
    "Prefill and decode apart need a replica each.",
    "Choose replicas of at least 2, or serve both on the same machines.",
)


def serving_reasons(
    plan: Any, layout: Layout, request: Any, book: Ledger, needed: Byte, most: Sample, load: Ratio, streams: Flag,
    split: Flag,
) -> Reasons:  # fmt: skip
    """All that stands against a plan, as bits."""
    model, device = plan.model, plan.device
    group = layout.tp_size * layout.dp_size
    dense = model.num_experts < 1.0
    weights = book.pool <= 0.0
    waits = plan.max_load | ~np.isnan(plan.concurrency) | streams
    cache = ~weights & where(waits, most < 1.0, needed > book.pool)
    too_many = (
        ~waits & (plan.batch_size > plan.engine.max_sequences * layout.dp_size) & np.isnan(plan.max_num_sequences)
    )
    heads = np.maximum(model.heads, 1.0)
    uneven = (heads % layout.tp_size != 0.0) & (model.heads > 0.0)
    experts = where(dense, layout.ep_size > 1.0, layout.ep_size > model.num_experts)
    unspread = ~dense & (group % layout.ep_size != 0.0)
    return (
        flag(weights | cache, DOES_NOT_FIT)
        | flag(weights, WEIGHTS_EXCEED_MEMORY)
        | flag(cache, CACHE_EXCEEDS_MEMORY)
        | flag(too_many, BATCH_EXCEEDS_ENGINE)
        | flag(device.precision_supported == 0.0, PRECISION_UNSUPPORTED)
        | flag(request.longest > model.max_context, CONTEXT_EXCEEDED)
        | flag(uneven, TP_EXCEEDS_HEADS)
        | flag(layout.pp_size > np.maximum(model.layers, 1.0), PP_EXCEEDS_LAYERS)
        | flag(experts, EP_EXCEEDS_EXPERTS)
        | flag(unspread, EP_OUTSIDE_GROUP)
        | flag((layout.dp_size > 1.0) & dense, DP_NEEDS_EXPERTS)
        | flag(streams & (load >= 1.0), SATURATED)
        | flag(split & (plan.replicas < 2.0), NEEDS_TWO_REPLICAS)
    )


def smallest_power_of_two(total: Byte, room: Byte) -> Count:
    """The smallest power of two of equal parts of which one fits in a room; 1024 where none up to it does."""
    parts: Array = total / np.maximum(room, 1.0)
    found = np.ones_like(parts)
    for power in (1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0, 512.0):
        found = found + where(parts > power, power, 0.0)
    return found
