"""One pass through a model: a sum over kernel classes, each as long as its work or its traffic takes.

The same sum decodes, verifies drafts and prefills; only the attention differs. It is additive over classes, since the
kernels of one stream run one after another: so large batches and speculation cost what they should.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from solvers.columns import Byte, Count, FlopPerSecond, Ratio, Second, Token
from solvers.formulas.kernels import (
    Kernels,
    all_reduce_time,
    all_to_all_time,
    decode_attention_time,
    grouped_gemm_time,
    prefill_attention_time,
    smooth_maximum,
)
from solvers.formulas.serving.constants import Engine
from solvers.formulas.serving.queueing import decay
from solvers.formulas.transformer import cache_bytes_per_token, layer_params, mean_keys, windowed
from solvers.records import Architecture, Device


@dataclass(frozen=True)
class Layout:
    """How one replica is spread: attention by tp within dp ranks, experts by ep over all of tp x dp, layers by pp."""

    tp_size: Count
    pp_size: Count
    dp_size: Count
    ep_size: Count


@dataclass(frozen=True)
class Step:
    """One pass: the time of each class of kernels, of all, and of what a prompt that passes along would share."""

    attention_projections: Second
    attention: Second
    mlp: Second
    experts: Second
    linear: Second
    head: Second
    elementwise: Second
    communication: Second
    overhead: Second
    total: Second
    shared: Second
    compute: Second
    memory: Second


def decode_attention(
    model: Architecture, layout: Layout, sequences: Count, queries: Token, context: Token, kv_bytes: Byte,
    device: Device, kernels: Kernels, engine: Engine,
) -> Second:  # fmt: skip
    """Attention of all layers for `queries` new tokens of each of a rank's sequences over their caches.

    Latent attention works on the latent itself (weights absorbed), so every head scores the whole rank.
    """
    layers = model.attention_layers + model.sliding_layers
    keys = model.attention_layers * context + model.sliding_layers * np.minimum(context, windowed(model))
    cache = sequences * (
        keys * cache_bytes_per_token(model, layout.tp_size, kv_bytes)
        + 2.0 * model.linear_layers * model.linear_state_bytes / layout.tp_size
    )
    widths = np.where(
        model.mla, 2.0 * model.kv_lora_rank + model.qk_rope_head_dim, model.head_dim + model.v_head_dim
    )
    work = 2.0 * sequences * queries * keys * (model.heads / layout.tp_size) * widths
    per_kernel = decode_attention_time(cache, work, kernels, device.peak_flops, device.memory_bandwidth)
    slowdown = np.maximum(engine.attention_slowdown, kernels.decode_bandwidth_fraction)
    return slowdown * (per_kernel + (layers - 1.0) * kernels.decode_overhead)


def prompt_attention(
    model: Architecture, layout: Layout, sequences: Count, queries: Token, keys: Token,
    device: Device, kernels: Kernels, engine: Engine,
) -> Second:  # fmt: skip
    """Attention of all layers for whole prompts: the last `queries` of `keys` tokens, each seeing what is before it."""
    layers = np.maximum(model.attention_layers + model.sliding_layers, 1.0)
    full = mean_keys(model, queries, keys)
    seen = (model.attention_layers * full + model.sliding_layers * np.minimum(full, windowed(model))) / layers
    width = np.where(model.mla, model.qk_nope_head_dim + model.qk_rope_head_dim, model.head_dim)
    heads = np.maximum(model.heads / layout.tp_size, 1.0)
    kv_heads = np.where(model.mla, heads, np.maximum(model.kv_heads / layout.tp_size, 1.0))
    each = prefill_attention_time(
        sequences, queries, keys, seen, heads, kv_heads, width, model.v_head_dim, device.activation_bytes,
        kernels, device.peak_flops, device.memory_bandwidth,
    )  # fmt: skip
    slowdown = np.maximum(engine.attention_slowdown, kernels.attention_flops_fraction)
    return slowdown * each * (model.attention_layers + model.sliding_layers)


def forward_step(
    model: Architecture, layout: Layout, tokens: Token, logits: Count, attention: Second,
    kernel_time: Second, product_slowdown: Ratio, expert_slowdown: Ratio,
    device: Device, kernels: Kernels, engine: Engine,
) -> Step:  # fmt: skip
    """One pass of `tokens` new tokens over a whole replica, of which `logits` reach the vocabulary head.

    Weights are read once by every pass; experts are read as far as the tokens touch them. Tensor parallelism divides
    the products and adds two all-reduces a layer; attention data parallelism divides the tokens instead, and
    exchanges them around the experts. Memory traffic and arithmetic overlap inside a class, and not between classes.
    """
    params = layer_params(model)
    rows = tokens / layout.dp_size
    shards = layout.tp_size
    blocks = model.attention_layers + model.sliding_layers
    bandwidth = device.memory_bandwidth
    flops_fraction = np.minimum(kernels.gemm_flops_fraction / (engine.gemm_slowdown * product_slowdown), 1.0)
    read_fraction = np.minimum(kernels.gemm_bandwidth_fraction / engine.read_slowdown, 1.0)

    def products(
        count: Count, layers: Count, weights: Count, width: Count, inner: Count, m: Token,
        weight_bytes: Byte, peak: FlopPerSecond,
    ) -> tuple[Second, Second, Second]:  # fmt: skip
        """`count` products a layer that hold `weights` and are joined by activations of `width`, over all layers."""
        compute = m * (2.0 * weights / (flops_fraction * peak))
        memory = (weights * weight_bytes + m * (width * device.activation_bytes)) / (read_fraction * bandwidth)
        walk = count * inner * kernels.gemm_walk
        quantise = m * (kernels.quantise_passes * inner * count * device.activation_bytes / bandwidth)
        each = count * kernels.gemm_overhead + quantise + smooth_maximum(compute, memory, walk)
        return layers * each, layers * compute, layers * memory

    wide = model.hidden + params.attention_inner / shards
    projections = products(
        2.0, blocks, params.attention / shards, 2.0 * wide, wide / 2.0, rows,
        engine.attention_weight_bytes, engine.attention_peak_flops,
    )  # fmt: skip
    mlp = products(
        2.0, model.mlp_layers, params.mlp / shards, 2.0 * model.hidden + model.mlp_matrices * model.ffn_hidden / shards,
        model.hidden, rows, device.weight_bytes, device.peak_flops,
    )  # fmt: skip
    shared = products(
        2.0 * (model.shared_ffn_hidden > 0), model.moe_layers, params.shared / shards,
        2.0 * model.hidden + model.mlp_matrices * model.shared_ffn_hidden / shards,
        model.hidden, rows, device.weight_bytes, device.peak_flops,
    )  # fmt: skip
    linear = products(
        2.0, model.linear_layers, params.linear / shards, 6.0 * model.hidden, model.hidden, rows,
        device.weight_bytes, device.peak_flops,
    )  # fmt: skip
    head = products(
        1.0 * (params.head > 0), 1.0, params.head / shards, model.hidden, model.hidden, logits / layout.dp_size,
        engine.head_weight_bytes, engine.head_peak_flops,
    )  # fmt: skip
    experts = model.moe_layers * routed_time(model, layout, tokens, expert_slowdown, device, kernels, engine)
    sublayers = blocks + model.linear_layers + model.mlp_layers + model.moe_layers
    elementwise = rows * (
        sublayers * engine.elementwise_tensors * model.hidden * device.activation_bytes
        / (kernels.elementwise_fraction * bandwidth)
    )  # fmt: skip
    communication = exchange_time(model, layout, rows, sublayers, device, kernels, engine)
    kernels_launched = (
        engine.block_kernels * (blocks + model.mlp_layers + model.moe_layers)
        + engine.linear_kernels * model.linear_layers
        + engine.expert_kernels * model.moe_layers
        + engine.latent_kernels * model.mla * blocks
    )
    overhead = kernels_launched * kernel_time
    total = (
        projections[0] + mlp[0] + shared[0] + linear[0] + head[0] + experts + attention + elementwise + communication
        + overhead
    )  # fmt: skip
    return Step(
        attention_projections=projections[0], attention=attention, mlp=mlp[0] + shared[0], experts=experts,
        linear=linear[0], head=head[0], elementwise=elementwise, communication=communication, overhead=overhead,
        total=total, shared=projections[0] + mlp[0] + shared[0] + linear[0] + experts + overhead,
        compute=projections[1] + mlp[1] + shared[1] + linear[1] + head[1],
        memory=projections[2] + mlp[2] + shared[2] + linear[2] + head[2],
    )  # fmt: skip


def experts_touched(tokens: Token, top_k: Count, num_experts: Count) -> Count:
    """Expected number of distinct experts that independent tokens use: E (1 - (1 - k/E)^tokens)."""
    missed = np.log1p(-np.minimum(top_k / num_experts, 0.999999))
    return num_experts * (1.0 - decay(-tokens * missed))


def routed_time(
    model: Architecture, layout: Layout, tokens: Token, slowdown: Ratio, device: Device, kernels: Kernels, engine: Engine,
) -> Second:  # fmt: skip
    """The routed experts of one layer on the busiest rank of the group.

    Tokens of one context choose alike, so that they touch no more experts than fewer independent ones would; work goes
    to the busiest rank, which the kernels' measured power law of popularity loads above the mean.
    """
    group = layout.tp_size * layout.dp_size
    num_experts = np.maximum(model.num_experts, 1.0)
    touched = experts_touched(engine.routing_independence * tokens, model.top_k, num_experts) / layout.ep_size
    busiest = (1.0 + kernels.routing_skew) * np.power(layout.ep_size, kernels.rank_skew)
    rows = tokens * (model.top_k / layout.ep_size * busiest)
    inner = model.moe_ffn_hidden * layout.ep_size / group
    each = grouped_gemm_time(
        rows, np.maximum(touched, np.minimum(model.top_k / layout.ep_size, 1.0)), model.hidden, inner, model.mlp_matrices,
        device.weight_bytes, device.activation_bytes, kernels, device.peak_flops, device.memory_bandwidth,
    )  # fmt: skip
    return each * np.maximum(slowdown, np.maximum(kernels.expert_flops_fraction, kernels.expert_bandwidth_fraction))


def exchange_time(
    model: Architecture, layout: Layout, rows: Token, sublayers: Count, device: Device, kernels: Kernels, engine: Engine,
) -> Second:  # fmt: skip
    """What the ranks of a replica tell each other in one pass: all-reduces for tensor parallelism, exchanges for experts.

    A group larger than the link domain pays the network. Experts behind attention data parallelism take two
    all-to-alls a layer, of every token to each rank that holds one of its experts.
    """
    group = layout.tp_size * layout.dp_size
    size = rows * model.hidden * device.activation_bytes
    spans = layout.tp_size > device.link_domain
    wire = np.where(spans, engine.network_bandwidth, device.link_bandwidth)
    reduces = sublayers - model.moe_layers * (layout.dp_size > 1)
    reduced = reduces * all_reduce_time(size, layout.tp_size, kernels, wire)
    wide = np.where(group > device.link_domain, engine.network_bandwidth, device.link_bandwidth)
    copies = np.minimum(model.top_k, layout.ep_size)
    exchanged = all_to_all_time(size * copies / layout.tp_size, group, kernels, wide)
    return engine.reduce_slowdown * (reduced + np.where(layout.dp_size > 1, 2.0 * model.moe_layers * exchanged, 0.0))
