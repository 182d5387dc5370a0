"""The ledger of a serving engine: what holds weights, what a pass needs, and what is left for the cache."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from solvers.columns import Byte, Count, Ratio, Sample, Token, where
from solvers.formulas.serving.constants import Engine
from solvers.formulas.serving.step import Layout
from solvers.formulas.transformer import layer_params, sequence_cache_bytes
from solvers.records import Architecture, Device


@dataclass(frozen=True)
class Ledger:
    """One accelerator's memory. `pool` may be negative: then the weights alone do not fit."""

    weights: Byte
    activation_peak: Byte
    reserved: Byte
    limit: Byte
    pool: Byte


def weights_on_rank(model: Architecture, layout: Layout, device: Device, engine: Engine) -> Byte:
    """Bytes of weights on the fullest rank.

    Attention and MLPs are divided by tensor parallelism, experts by the whole group, layers by pipeline stages; the
    two ends of a pipeline hold the embedding and the head at 16 bit. Norms and other small parts stay at 16 bit. Local
    engines look tokens up on the host, and leave the embedding there.
    """
    params = layer_params(model)
    blocks = model.attention_layers + model.sliding_layers
    dense = (
        blocks * params.attention * engine.attention_weight_bytes
        + (model.mlp_layers * params.mlp + model.moe_layers * params.shared + model.linear_layers * params.linear)
        * device.weight_bytes
        + params.other * engine.head_weight_bytes
    ) / layout.tp_size
    experts = (
        model.moe_layers * model.num_experts * params.expert * device.weight_bytes / (layout.tp_size * layout.dp_size)
    )
    looked_up = params.embedding * (1.0 - engine.host_embedding)
    ends = where(layout.pp_size > 1.0, np.maximum(params.head, looked_up), params.head + looked_up)
    return (dense + experts) / layout.pp_size + ends * engine.head_weight_bytes / layout.tp_size


def ledger(
    model: Architecture, layout: Layout, prompt: Token, memory_share: Ratio, device: Device, engine: Engine,
) -> Ledger:  # fmt: skip
    """pool = share x usable memory - weights - activation peak - libraries - graphs, as vLLM keeps it.

    TensorRT-LLM takes nearly all memory and gives the cache a share of what is left (`pool_share`).

    The activation peak is the larger of a pass over a prompt (up to the tokens an engine passes at once) and of the
    sampler, which sorts the logits of as many sequences as the engine may run: about 38 bytes an entry, whatever the
    model's width (published ledgers of 0.6 B to 70 B models agree within 3 %).
    """
    weights = weights_on_rank(model, layout, device, engine)
    inner = np.maximum(model.ffn_hidden, np.maximum(model.moe_ffn_hidden * model.top_k, model.shared_ffn_hidden))
    token = engine.activation_copies * (model.hidden + inner / layout.tp_size) * device.activation_bytes
    passed = np.minimum(prompt, engine.max_batched_tokens) * token
    sampled = engine.profile_sequences * model.vocab * (model.encoder_layers < model.layers) * engine.sampler_bytes
    activation_peak = np.maximum(passed, sampled)
    together = layout.tp_size * layout.pp_size * layout.dp_size > 1
    reserved = engine.non_torch_bytes + together * engine.group_bytes + engine.graph_bytes
    limit = memory_share * device.memory_capacity
    pool = engine.pool_share * (limit - weights - activation_peak - reserved)
    return Ledger(weights, activation_peak, reserved, limit, pool)


def adapters_on_rank(model: Architecture, layout: Layout, slots: Count, rank: Count) -> Byte:
    """Bytes of 16-bit low-rank adapters on one rank, for every product of attention and of dense MLPs.

    The half of an adapter that faces the divided side of its product is divided by tensor parallelism, the other is
    copied (Hu et al. 2021, arXiv:2106.09685; slots are allocated up front, as vLLM does with max_loras).
    """
    blocks, wide = model.attention_layers + model.sliding_layers, model.mlp_matrices - 1.0
    copied = blocks * 4.0 * model.hidden + model.mlp_layers * (wide + 1.0) * model.hidden
    heads = (model.heads + 2.0 * model.kv_heads) * model.head_dim + model.heads * model.v_head_dim
    divided = blocks * heads + model.mlp_layers * (wide + 1.0) * model.ffn_hidden
    return 2.0 * slots * rank * (copied + divided / layout.tp_size) / layout.pp_size


def cache_on_rank(model: Architecture, layout: Layout, sequences: Sample, context: Token, kv_bytes: Byte) -> Byte:
    """Bytes of cache that `sequences` of a replica at a context take on one rank."""
    each = sequence_cache_bytes(model, layout.tp_size, kv_bytes, context) / layout.pp_size
    return sequences / layout.dp_size * each


def largest_batch(pool: Byte, sequence_bytes: Byte, dp_size: Count, engine: Engine) -> Sample:
    """Sequences of so many bytes that a replica's ranks hold, within the engine's own limit; 0 where none fits."""
    on_rank = np.floor(np.maximum(pool, 0.0) / np.maximum(sequence_bytes, 1.0))
    return np.minimum(on_rank, engine.max_sequences) * dp_size
