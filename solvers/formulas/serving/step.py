"""One pass through a model: a sum over kernel classes, each as long as its work or its traffic takes.

The same sum decodes, verifies drafts and prefills; only the attention differs. It is additive over classes, since the
kernels of one stream run one after another: so large batches and speculation cost what they should.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from solvers.columns import Byte, Count, Ratio, Second, Token, otherwise, where
from solvers.formulas.kernels import (
    Kernels,
    decode_attention_time,
    prefill_attention_time,
)
from solvers.formulas.serving.constants import Engine
from solvers.formulas.serving.exchange import Collective, all_reduces, all_to_alls, collective_time, hops
from solvers.formulas.serving.products import (
    Experts,
    Products,
    experts,
    experts_time,
    mixed_product,
    own_product,
    products,
    products_time,
    wide_product,
)
from solvers.formulas.transformer import (
    SELECTED_TOKENS,
    attended,
    cache_bytes_per_token,
    index_bytes_per_token,
    layer_params,
    mean_keys,
    windowed,
)
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

    projections: Second
    attention: Second
    mlp: Second
    experts: Second
    head: Second
    elementwise: Second
    communication: Second
    overhead: Second
    host_time: Second
    total: Second
    shared: Second
    compute: Second
    memory: Second


@dataclass(frozen=True)
class Rates:
    """What a pass costs by its tokens: all that model, layout, device and engine settle between them."""

    projections: Products
    mlp: Products
    head: Products
    experts: Experts
    prompt_slowdown: Ratio
    unpack: Second
    expert_slowdown: Ratio
    expert_prompt_slowdown: Ratio
    row_elementwise: Second
    row_bytes: Byte
    own_reduces: Collective
    library_reduces: Collective
    exchanges: Collective
    stages: Collective
    crossing: Second
    launches: Count


def step_rates(model: Architecture, layout: Layout, device: Device, kernels: Kernels, engine: Engine) -> Rates:
    """Work out what does not depend on the batch.

    Weights are read once by every pass; experts as far as the tokens touch them. Tensor parallelism divides the
    products and adds an all-reduce after each sublayer; attention data parallelism divides the tokens instead, and
    exchanges them around the experts, from each token to every rank that holds one of its experts. A group larger than
    the link domain pays the network. Layers of different shape (attention and state space, dense and shared) count as
    so many of their mean.
    """
    params = layer_params(model)
    shards, group = layout.tp_size, layout.tp_size * layout.dp_size
    attending = model.attention_layers + model.sliding_layers
    mixers = attending + model.linear_layers
    sharing = model.moe_layers * (model.shared_ffn_hidden > 0)
    dense = model.mlp_layers + sharing
    some_mixers, some_dense = np.maximum(mixers, 1.0), np.maximum(dense, 1.0)
    mixer_weights = (attending * params.attention + model.linear_layers * params.linear) / some_mixers
    mixer_width = (
        attending * (model.hidden + params.attention_inner / shards) + model.linear_layers * 3.0 * model.hidden
    ) / (some_mixers)
    dense_weights = (model.mlp_layers * params.mlp + sharing * params.shared) / some_dense
    dense_inner = (model.mlp_layers * model.ffn_hidden + sharing * model.shared_ffn_hidden) / some_dense
    sublayers = mixers + model.mlp_layers + model.moe_layers
    stretch = engine.gemm_slowdown * engine.prefill_slowdown
    own, wide = own_product(kernels, engine), wide_product(engine)
    bound = np.maximum(kernels.expert_flops_fraction, kernels.expert_bandwidth_fraction)
    exchanging = model.moe_layers * (layout.dp_size > 1)
    reduces = sublayers - exchanging
    link = otherwise(device.link_bandwidth, device.memory_bandwidth)
    own_reduces, library_reduces = all_reduces(
        engine.reduce_slowdown * reduces, shards, kernels,
        where(shards > device.link_domain, engine.network_bandwidth, link),
    )  # fmt: skip
    return Rates(
        projections=products(
            2.0, mixers, mixer_weights / shards, 2.0 * mixer_width, mixer_width / 2.0, engine.attention_weight_bytes,
            engine.attention_peak_flops, device, mixed_product(engine.attention_wide, wide, own), engine.unpack_work,
        ),
        mlp=products(
            2.0, dense, dense_weights / shards, 2.0 * model.hidden + model.mlp_matrices * dense_inner / shards,
            model.hidden,
            device.weight_bytes, device.peak_flops, device, own, engine.unpack_work,
        ),
        head=products(
            1.0, 1.0 * (params.head > 0), params.head / shards, model.hidden, model.hidden, engine.head_weight_bytes,
            engine.head_peak_flops, device, wide,
        ),
        experts=experts(model, group, layout.ep_size, device, kernels, engine),
        prompt_slowdown=own.flops_fraction
        / (np.minimum(kernels.gemm_flops_fraction / stretch, 1.0) * engine.accumulate_gain),
        unpack=engine.unpack_bytes / (kernels.elementwise_fraction * device.memory_bandwidth)
        * ((mixers * mixer_weights + dense * dense_weights) / shards
           + model.moe_layers * model.num_experts * params.expert / group),
        expert_slowdown=np.maximum(engine.expert_slowdown, bound),
        expert_prompt_slowdown=np.maximum(engine.expert_slowdown * engine.expert_prompt_slowdown, bound),
        row_elementwise=sublayers * engine.elementwise_tensors * model.hidden * device.activation_bytes
        / (kernels.elementwise_fraction * device.memory_bandwidth),
        row_bytes=model.hidden * device.activation_bytes,
        own_reduces=own_reduces,
        library_reduces=library_reduces,
        exchanges=all_to_alls(
            engine.reduce_slowdown * 2.0 * exchanging, group, np.minimum(model.top_k, layout.ep_size) / shards, kernels,
            where(group > device.link_domain, engine.network_bandwidth, link),
        ),
        stages=hops(layout.pp_size - 1.0, kernels, link),
        crossing=engine.network_latency * (
            reduces * (shards > device.link_domain) + 2.0 * exchanging * (group > device.link_domain)
        ),
        launches=engine.block_kernels * (attending + model.mlp_layers + model.moe_layers)
        + engine.linear_kernels * model.linear_layers
        + engine.expert_kernels * model.moe_layers
        + engine.latent_kernels * model.mla * attending,
    )  # fmt: skip


def forward_step(
    layout: Layout, rates: Rates, tokens: Token, logits: Count, attention: Second,
    kernel_time: Second, product_slowdown: Ratio, expert_slowdown: Ratio,
) -> Step:  # fmt: skip
    """One pass of `tokens` new tokens over a whole replica, of which `logits` reach the vocabulary head.

    Memory traffic and arithmetic overlap inside a class of kernels, and not between classes.
    """
    rows = tokens / layout.dp_size
    mixing, mixing_work, mixing_traffic = products_time(rates.projections, rows, product_slowdown)
    dense, dense_work, dense_traffic = products_time(rates.mlp, rows, product_slowdown)
    head, head_work, head_traffic = products_time(rates.head, logits / layout.dp_size, product_slowdown)
    routed, _, _ = experts_time(rates.experts, tokens, expert_slowdown)
    elementwise = rows * rates.row_elementwise
    size = rows * rates.row_bytes
    reduced = np.minimum(collective_time(rates.own_reduces, size), collective_time(rates.library_reduces, size))
    communication = reduced + collective_time(rates.exchanges, size) + rates.crossing
    overhead = rates.launches * kernel_time
    shared = mixing + dense + routed + overhead
    return Step(
        projections=mixing, attention=attention, mlp=dense, experts=routed, head=head, elementwise=elementwise,
        communication=communication, overhead=overhead, host_time=0.0 * overhead,
        total=shared + head + attention + elementwise + communication, shared=shared,
        compute=mixing_work + dense_work + head_work, memory=mixing_traffic + dense_traffic + head_traffic,
    )  # fmt: skip


def decode_attention(
    model: Architecture, layout: Layout, sequences: Count, queries: Token, context: Token, kv_bytes: Byte,
    device: Device, kernels: Kernels, engine: Engine,
) -> Second:  # fmt: skip
    """Attention of all layers for `queries` new tokens of each of a rank's sequences over their caches.

    Latent attention works on the latent itself (weights absorbed), so every head scores the whole rank. Sparse
    attention reads an indexer's keys of the whole context, and the cache of those it picks.
    """
    layers = model.attention_layers + model.sliding_layers
    keys = model.attention_layers * attended(model, context) + model.sliding_layers * (
        np.minimum(context, windowed(model))
    )
    states = 2.0 * model.linear_layers * model.linear_state_bytes / layout.tp_size
    index = model.attention_layers * index_bytes_per_token(model) * context
    cache = sequences * (keys * cache_bytes_per_token(model, layout.tp_size, kv_bytes) + (states + index))
    widths = where(model.mla, 2.0 * model.kv_lora_rank + model.qk_rope_head_dim, model.head_dim + model.v_head_dim)
    scoring = model.attention_layers * model.indexer_heads * model.indexer_head_dim * context
    work = 2.0 * sequences * queries * (keys * (model.heads / layout.tp_size * widths) + scoring)
    reading = decode_attention_time(cache, work, kernels, device.peak_flops, device.memory_bandwidth)
    slowdown = np.maximum(engine.attention_slowdown * engine.cache_slowdown, kernels.decode_bandwidth_fraction)
    return slowdown * (reading + (layers - 1.0) * kernels.decode_overhead)


def prompt_attention(
    model: Architecture, layout: Layout, sequences: Count, queries: Token, keys: Token,
    device: Device, kernels: Kernels, engine: Engine,
) -> Second:  # fmt: skip
    """Attention of all layers for whole prompts: the last `queries` of `keys` tokens, each seeing what is before it.

    Engines without fused attention write and read every score several times. Sparse attention scores an indexer's keys
    for every query, and works on the latents of those picked, which are wider than the keys and values that a short
    prompt is given.
    """
    layers = model.attention_layers + model.sliding_layers
    full = mean_keys(model, queries, keys)
    latents = (2.0 * model.kv_lora_rank + model.qk_rope_head_dim) / np.maximum(model.head_dim + model.v_head_dim, 1.0)
    worked = where(model.indexer_heads > 0.0, np.minimum(full, SELECTED_TOKENS * latents), full)
    seen = (model.attention_layers * worked + model.sliding_layers * np.minimum(full, windowed(model))) / (
        np.maximum(layers, 1.0)
    )
    heads = np.maximum(model.heads / layout.tp_size, 1.0)
    kv_heads = where(model.mla, heads, np.maximum(model.kv_heads / layout.tp_size, 1.0))
    each = prefill_attention_time(
        sequences, queries, keys, seen, heads, kv_heads, model.head_dim, model.v_head_dim, device.activation_bytes,
        kernels, device.peak_flops, device.memory_bandwidth,
    )  # fmt: skip
    slowdown = np.maximum(engine.attention_slowdown, kernels.attention_flops_fraction)
    scores = sequences * queries * seen * heads * engine.score_bytes
    index = 2.0 * sequences * queries * full * (model.indexer_heads * model.indexer_head_dim)
    return (
        slowdown * each
        + scores / (kernels.elementwise_fraction * device.memory_bandwidth)
        + index / (kernels.attention_flops_fraction * device.peak_flops)
    ) * layers
