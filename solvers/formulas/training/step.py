"""The time of one optimizer step: the pipeline of microbatches, what of the communication shows, and the update.

The slowest stage sets the beat; filling and draining the pipeline adds every other stage once, or a v-th of it where
each rank holds v chunks (Narayanan et al. 2021, section 2.2). Communication hides only behind computation that is
there.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from solvers.columns import Byte, Choice, Count, Flag, Ratio, Second, otherwise, where
from solvers.formulas.collectives import Wires, all_to_all_time, neighbour_time, ring
from solvers.formulas.training.constants import TrainingConstants
from solvers.formulas.training.layer import UNFUSED, LayerTimes, Mix, Shard
from solvers.formulas.training.layout import Layout
from solvers.formulas.training.memory import EXPERTS, FULL, NONE, Held
from solvers.records import Architecture, Device

BUCKET_PARAMS = 1e6
"""Megatron-Core reduces gradients in buckets of a million parameters a data-parallel rank, at least forty million."""

LAYER_TENSORS = 12.0
"""Weight tensors of a GPT layer: four matrices, their biases, and two norms. Without overlap each is gathered alone."""


@dataclass(frozen=True)
class LayerComm:
    """Exposed communication of the mean layer for one microbatch, forward and backward together."""

    tensor: Second
    expert: Second


@dataclass(frozen=True)
class StepTimes:
    """One optimizer step, by what shows of each part; the parts add up to the whole."""

    compute: Second
    tensor: Second
    context: Second
    expert: Second
    pipeline: Second
    data: Second
    bubble: Second
    optimizer: Second
    overhead: Second
    total: Second


def layer_comm(
    model: Architecture, device: Device, constants: TrainingConstants, mix: Mix, made: Layout, part: Shard,
    layer: LayerTimes, wires: Wires, ep_size: Count, recompute: Choice, sequence_parallel: Flag,
    expert_imbalance: Ratio, routed_nodes: Count,
) -> LayerComm:  # fmt: skip
    """Tensor- and expert-parallel communication of one layer.

    Tensor parallelism all-reduces the hidden activations after attention and after the MLP, forward and backward
    (Shoeybi et al. 2019, arXiv:1909.08053); with sequence parallelism a reduce-scatter and an all-gather move the same,
    and a share of them hides behind the layer. Experts get each token and return it, forward and backward, once for
    every node that wants it (DeepSeek-V3, arXiv:2412.19437, section 3.2.2). Independent choices of k experts reach
    N (1 - (1-1/N)^k) of N nodes, here within 6 % by N k / (N + (k-1)/2); routing may be limited to fewer.
    """
    again = where(recompute == FULL, 1.5, 1.0)
    hidden_bytes = part.tokens * model.hidden * device.activation_bytes
    group = ring(part.tp_size, made.tensor_inside, wires)
    tensor = 8.0 * again * where(part.tp_size > 1, group.all_gather_time(hidden_bytes), 0.0)
    hides = where(sequence_parallel, constants.tensor_overlap, 0.0)
    tensor = tensor - np.minimum(hides * tensor, (1.0 - constants.data_hidden) * layer.forward)

    rows = hidden_bytes / part.tp_size * model.top_k * expert_imbalance
    expert_nodes = ep_size / made.expert_inside
    top_k = np.maximum(model.top_k, 1.0)
    reached = np.minimum(expert_nodes * top_k / (expert_nodes + 0.5 * (top_k - 1.0)), expert_nodes)
    reached = np.minimum(reached, otherwise(routed_nodes, reached))
    remote = reached / top_k * (expert_nodes - 1.0) / expert_nodes
    exchange = all_to_all_time(rows, ep_size, made.expert_inside, remote, wires)
    shown = 4.0 * (1.0 - constants.expert_overlap) * mix.experts
    expert = where(ep_size > 1, shown * where(recompute >= EXPERTS, 1.5, 1.0) * exchange, 0.0)
    return LayerComm(tensor, expert)


def context_exchange(model: Architecture, device: Device, made: Layout, part: Shard, wires: Wires) -> Second:
    """Context parallelism passes the keys and values of a layer around a ring (Liu et al. 2023, arXiv:2310.01889)."""
    kv_heads = np.maximum(model.kv_heads / part.tp_size, 1.0)
    kv_bytes = part.tokens * kv_heads * (model.head_dim + model.v_head_dim) * device.activation_bytes * part.cp_size
    group = ring(part.cp_size, made.context_inside, wires)
    return where(part.cp_size > 1, group.all_gather_time(kv_bytes), 0.0)


def step_times(
    model: Architecture, device: Device, constants: TrainingConstants, mix: Mix, made: Layout, own: Held, part: Shard,
    layer: LayerTimes, head: Second, comm: LayerComm, wires: Wires, tp_size: Count, pp_size: Count,
    zero_stage: Count, recompute: Choice, attention_kernel: Choice, gradient_bytes: Byte, data_shards: Count,
    data_overlap: Flag, bucket_size: Byte, balanced: Flag,
) -> StepTimes:  # fmt: skip
    """The whole step."""
    again = where(recompute == FULL, layer.forward, 0.0)
    scores_again = (recompute != NONE) & (recompute != FULL) & (attention_kernel == UNFUSED)
    again = again + where(scores_again, layer.attention_forward, 0.0)
    again = again + where(recompute == EXPERTS, layer.experts_forward, 0.0)
    backward = layer.backward + again
    layer_shown = layer.forward + backward + comm.tensor + comm.expert
    layers = mix.layers
    whole = layers * layer_shown + head
    even_beat = np.maximum(made.stage_layers * layer_shown, made.last_layers * layer_shown + head)
    fair = whole / layer_shown / pp_size
    most = np.floor(layers / np.maximum(pp_size - 1.0, 1.0))
    fewer, more = np.minimum(np.floor(fair), most), np.minimum(np.ceil(fair), most)
    fair_beat = np.minimum(
        _beat(fewer, layers, layer_shown, head, pp_size), _beat(more, layers, layer_shown, head, pp_size)
    )
    beat = where(balanced, np.minimum(even_beat, fair_beat), even_beat)

    message = part.tokens / tp_size * model.hidden * device.activation_bytes
    hop = where(pp_size > 1, neighbour_time(message, made.stages_apart, wires), 0.0)
    hidden_hops = where(made.chunks > 1, constants.pipeline_overlap, 0.0)
    pipeline = 2.0 * hop * (made.microbatches * made.chunks * (1.0 - hidden_hops) + (pp_size - 1.0))
    bubble = (whole - beat) / made.chunks
    steady = made.microbatches * beat

    data = _data_parallel(device, constants, made, own, wires, layer.forward, backward, zero_stage,
                          gradient_bytes, data_shards, data_overlap, bucket_size)  # fmt: skip
    optimizer = _update(device, constants, made, own, zero_stage, gradient_bytes, data_shards)
    known = steady + bubble + pipeline + data + optimizer
    overhead = constants.step_overhead + constants.straggling * np.log2(made.nodes) * known

    busy = made.microbatches * whole / pp_size
    share = made.microbatches * layers / pp_size
    context_layer = layer.context * where(recompute == FULL, 4.0 / 3.0, 1.0)
    tensor, context, expert = share * comm.tensor, share * context_layer, share * comm.expert
    return StepTimes(
        compute=busy - tensor - context - expert,
        tensor=tensor,
        context=context,
        expert=expert,
        pipeline=pipeline,
        data=data,
        bubble=steady - busy + bubble,
        optimizer=optimizer,
        overhead=overhead,
        total=known + overhead,
    )


def _data_parallel(
    device: Device, constants: TrainingConstants, made: Layout, own: Held, wires: Wires, forward: Second,
    backward: Second, zero_stage: Count, gradient_bytes: Byte, data_shards: Count,
    data_overlap: Flag, bucket_size: Byte,
) -> Second:  # fmt: skip
    """What shows of the data-parallel traffic.

    Gradients are reduced once a step, behind the backward pass of the last microbatch; sharded parameters are gathered
    again behind the forward pass. ZeRO-3 gathers the weights of each layer for every microbatch, forward and
    backward. The first layer's gather and the last layer's reduction hide behind nothing.
    """
    wide = device.activation_bytes
    gradients = gradient_bytes * own.trained
    group = ring(made.data_ranks, made.data_inside, wires)
    peers = ring(made.expert_replicas, made.expert_data_inside, wires)
    bucket = otherwise(bucket_size, gradient_bytes * BUCKET_PARAMS * np.maximum(40.0, made.data_ranks))
    starts = np.maximum(own.whole * gradients / bucket - 1.0, 0.0) * group.latency
    across = where((zero_stage >= 3) & (data_shards < made.data_ranks), 2.0, 1.0)
    shard_group = ring(data_shards, np.minimum(made.data_inside, data_shards), wires)
    experts_move = where(own.experts > 0, 1.0, 0.0)
    reduce = across * group.all_gather_time(own.whole * gradients) + starts
    reduce = reduce + experts_move * peers.all_gather_time(own.experts * gradients)
    gather = shard_group.all_gather_time(own.whole * wide) + starts
    gather = gather + experts_move * peers.all_gather_time(own.experts * wide)

    can_hide = where(data_overlap, constants.data_hidden, 0.0)
    last_one = 1.0 / np.maximum(made.stage_layers, 1.0)
    forward_cover = can_hide * made.stage_layers * forward
    backward_cover = can_hide * made.stage_layers * backward
    update = where(zero_stage >= 1, _shown(own.trained * gather, forward_cover, last_one), 0.0)
    once = _shown(where(zero_stage >= 1, 1.0, 2.0) * reduce, backward_cover, last_one) + update

    start = (made.stage_layers * where(data_overlap, 1.0, LAYER_TENSORS) - 1.0) * group.latency
    gather = gather + start
    every = _shown(gather, forward_cover, last_one) + _shown(gather + reduce + start, backward_cover, last_one)
    shown = where(zero_stage >= 3, made.microbatches * every, once)
    return where(made.data_ranks > 1, shown, 0.0)


def _beat(stage_layers: Count, layers: Count, layer: Second, head: Second, pp_size: Count) -> Second:
    """Time of the slowest stage when all but the last have so many layers."""
    return np.maximum(stage_layers * layer, (layers - (pp_size - 1.0) * stage_layers) * layer + head)


def _shown(communication: Second, cover: Second, at_least: Count) -> Second:
    """The part of a communication that outlasts its cover; at least the share that has none."""
    return np.maximum(communication - cover, at_least * communication)


def _update(
    device: Device,
    constants: TrainingConstants,
    made: Layout,
    own: Held,
    zero_stage: Count,
    gradient_bytes: Byte,
    data_shards: Count,
) -> Second:
    """The optimizer reads the gradient, reads and writes master weights and two moments, and writes the weights."""
    traffic = (gradient_bytes + 24.0 + device.activation_bytes) * own.trained
    dense = own.whole / where(zero_stage >= 1, data_shards, 1.0)
    experts = own.experts / where(zero_stage >= 1, made.expert_replicas, 1.0)
    return traffic * (dense + experts) / (constants.memory_fraction * device.memory_bandwidth)
