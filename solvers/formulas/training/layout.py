"""How a training job is laid over a fleet: who holds which layers, microbatches and shards.

Ranks are numbered as Megatron does: tensor-parallel neighbours are adjacent, then context, then data (and experts),
then pipeline stages. Narayanan et al. 2021, doi:10.1145/3458817.3476209.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from solvers.columns import Count, Reasons, Sample, otherwise, where
from solvers.formulas.collectives import ranks_inside
from solvers.reasons import (
    BATCH_NOT_DIVISIBLE,
    EP_EXCEEDS_EXPERTS,
    LAYOUT_EXCEEDS_FLEET,
    PP_EXCEEDS_LAYERS,
    TP_EXCEEDS_HEADS,
    flag,
)
from solvers.records import Architecture


@dataclass(frozen=True)
class Layout:
    """The layout with nothing left open."""

    replicas: Count
    accelerators: Count
    microbatches: Count
    chunks: Count
    stage_layers: Count
    last_layers: Count
    tensor_inside: Count
    context_inside: Count
    data_ranks: Count
    data_inside: Count
    expert_inside: Count
    expert_replicas: Count
    expert_data_inside: Count
    stages_apart: Count
    nodes: Count


def layout(
    model: Architecture, n_accelerators: Count, domain: Count, per_node: Count, batch_size: Sample,
    microbatch_size: Sample, tp_size: Count, pp_size: Count, dp_size: Count, cp_size: Count, ep_size: Count,
    v_stages: Count,
) -> Layout:  # fmt: skip
    """Resolve what is left open; an impossible layout gets the nearest possible counts (see `layout_reasons`)."""
    inner = tp_size * cp_size
    stage = inner * pp_size
    replicas = otherwise(dp_size, np.maximum(np.floor(n_accelerators / stage), 1.0))
    layers = np.maximum(model.layers, 1.0)
    chunks = where(pp_size > 1, v_stages, 1.0)
    stage_layers = np.ceil(layers / pp_size)
    data_ranks = replicas * cp_size
    whole = data_ranks * tp_size
    expert_stride = where(ep_size > 1, ep_size, tp_size)
    expert_replicas = np.maximum(whole / expert_stride, 1.0)
    return Layout(
        replicas=replicas,
        accelerators=replicas * stage,
        microbatches=np.maximum(np.ceil(batch_size / (replicas * microbatch_size)), 1.0),
        chunks=chunks,
        stage_layers=stage_layers,
        last_layers=np.maximum(layers - (pp_size - 1.0) * stage_layers, 0.0),
        tensor_inside=ranks_inside(tp_size, 1.0, domain),
        context_inside=ranks_inside(cp_size, tp_size, domain),
        data_ranks=data_ranks,
        data_inside=ranks_inside(data_ranks, tp_size, domain),
        expert_inside=ranks_inside(ep_size, 1.0, domain),
        expert_replicas=expert_replicas,
        expert_data_inside=ranks_inside(expert_replicas, expert_stride, domain),
        stages_apart=where(whole * pp_size > domain, 1.0, 0.0),
        nodes=np.maximum(replicas * stage / per_node, 1.0),
    )


def layout_reasons(
    model: Architecture, made: Layout, n_accelerators: Count, batch_size: Sample, microbatch_size: Sample,
    tp_size: Count, pp_size: Count, cp_size: Count, ep_size: Count, v_stages: Count,
) -> Reasons:  # fmt: skip
    """The marks of a layout that no launcher would start."""
    heads = np.maximum(model.heads, 1.0)
    experts = np.maximum(model.num_experts, 1.0)
    whole = made.replicas * cp_size * tp_size
    does_not_divide = np.remainder(n_accelerators, made.accelerators) > 0
    return (
        flag(np.remainder(heads, tp_size) > 0, TP_EXCEEDS_HEADS)
        | flag(pp_size * v_stages > np.maximum(model.layers, 1.0), PP_EXCEEDS_LAYERS)
        | flag((np.remainder(experts, ep_size) > 0) | (np.remainder(whole, ep_size) > 0), EP_EXCEEDS_EXPERTS)
        | flag(does_not_divide | (made.accelerators > n_accelerators), LAYOUT_EXCEEDS_FLEET)
        | flag(np.remainder(batch_size, made.replicas * microbatch_size) > 0, BATCH_NOT_DIVISIBLE)
    )
