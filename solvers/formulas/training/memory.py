"""What a training step holds on the fullest accelerator.

Parameters, gradients and optimizer states by ZeRO stage (Rajbhandari et al. 2020, arXiv:1910.02054); activations by
recomputation mode (Korthikanti et al. 2022, arXiv:2205.05198, which counts 34 bytes a hidden unit with dropout masks; without
dropout 32); microbatches in flight by schedule (Narayanan et al. 2021). The first stage holds most microbatches, the
last one the logits; the fuller decides.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from solvers.columns import Byte, Choice, Count, Flag, Ratio
from solvers.formulas.training.constants import TrainingConstants
from solvers.formulas.training.layer import FUSED, UNFUSED, Shard
from solvers.formulas.training.layout import Layout
from solvers.formulas.transformer import LayerParams
from solvers.records import Architecture, Device

RECOMPUTE = ("none", "selective", "experts", "full")
"""What is made again in the backward pass: nothing; attention scores, norms and expert activations; all of the routed
experts as well; or all but each layer's input."""

NONE, SELECTIVE, EXPERTS, FULL = range(4)

OPTIMIZERS = ("adam", "adam_16bit_moments", "sgd")
OPTIMIZER_BYTES = np.array([8.0, 4.0, 4.0])
"""Bytes of optimizer state a parameter, beside the 32-bit master copy that narrower weights need."""


@dataclass(frozen=True)
class Held:
    """Parameters on one rank before ZeRO; `whole` is what the first stage holds besides experts."""

    dense: Count
    whole: Count
    experts: Count
    embedding: Count
    head: Count
    layer: Count
    trained: Ratio


@dataclass(frozen=True)
class Memory:
    """Bytes on the fullest accelerator, by what holds them."""

    weights: Byte
    gradients: Byte
    optimizer: Byte
    activations: Byte
    logits: Byte
    buffers: Byte
    framework: Byte
    total: Byte


def held(
    model: Architecture, params: LayerParams, made: Layout, tp_size: Count, pp_size: Count, ep_size: Count, lora: Flag, lora_rank: Count
) -> Held:  # fmt: skip
    """Parameters of one rank's layers, of the embedding (first stage) and of the head (last stage)."""
    layers = np.maximum(model.layers, 1.0)
    blocks = _dense_per_layer(model, params) + params.other / layers
    experts = model.moe_layers / layers * model.num_experts * params.expert
    expert_shards = ep_size * np.where(ep_size > 1, 1.0, tp_size)
    table = model.vocab * model.hidden / tp_size
    adapters = lora_rank * (6.0 * model.hidden + 2.0 * model.ffn_hidden)
    per_layer = blocks / tp_size
    dense, head = made.stage_layers * per_layer, np.where(pp_size > 1, table, table * (1.0 - model.tied_embeddings))
    return Held(
        dense=dense,
        whole=dense + table + np.where(pp_size > 1, 0.0, head),
        experts=made.stage_layers * experts / expert_shards,
        embedding=table,
        head=head,
        layer=per_layer + experts / expert_shards,
        trained=np.where(lora, np.minimum(adapters / np.maximum(blocks, 1.0), 1.0), 1.0),
    )


def training_memory(
    model: Architecture, device: Device, constants: TrainingConstants, made: Layout, own: Held, part: Shard,
    pp_size: Count, ep_size: Count, zero_stage: Count, recompute: Choice, attention_kernel: Choice, optimizer: Choice,
    gradient_bytes: Byte, data_shards: Count,
) -> Memory:  # fmt: skip
    """The ledger of the fullest stage."""
    wide = device.activation_bytes
    stored = np.where(own.trained < 1.0, np.minimum(wide, device.weight_bytes), wide)
    master = np.where(wide < 4.0, 4.0, 0.0)
    states = (OPTIMIZER_BYTES[optimizer] + master) * own.trained
    gradient = gradient_bytes * own.trained
    one_stage = pp_size < 2
    last_share = np.where(one_stage, 1.0, made.last_layers / made.stage_layers)
    last = own.dense * last_share + own.head + np.where(one_stage, own.embedding, 0.0)

    flying = np.minimum(made.microbatches, pp_size + np.where(made.chunks > 1, (pp_size - 1.0) / made.chunks, 0.0))
    landing = np.minimum(made.microbatches, np.where(made.chunks > 1, pp_size - (pp_size - 1.0) / made.chunks, 1.0))
    layer_bytes, working = _layer_activations(
        model, part, ep_size, recompute, attention_kernel, wide, np.minimum(wide, device.weight_bytes)
    )
    transformer_first = flying * made.stage_layers * layer_bytes + working
    transformer_last = landing * made.stage_layers * last_share * layer_bytes + working
    net = 0.5 * part.sequences * model.forward_traffic * wide / 2.0
    logits = (
        part.tokens
        * model.vocab
        / part.tp_size
        * constants.logit_memory
        * np.where(model.encoder_layers > 0, 0.15, 1.0)
    )

    inverse, expert_inverse = 1.0 / data_shards, 1.0 / made.expert_replicas
    shards_weights, shards_gradients, shards_states = zero_stage >= 3, zero_stage >= 2, zero_stage >= 1
    weight = stored * np.where(shards_weights, inverse, 1.0)
    expert_weight = stored * np.where(shards_weights, expert_inverse, 1.0)
    gradient_each = gradient * np.where(shards_gradients, inverse, 1.0)
    expert_gradient = gradient * np.where(shards_gradients, expert_inverse, 1.0)
    state = states * np.where(shards_states, inverse, 1.0)
    expert_state = states * np.where(shards_states, expert_inverse, 1.0)

    each = weight + gradient_each + state
    first_total = own.whole * each + transformer_first + np.where(one_stage, logits, 0.0)
    last_total = last * each + transformer_last + logits
    on_last = last_total > first_total
    params = np.where(on_last, last, own.whole)
    experts = np.where(on_last, last_share, 1.0) * own.experts
    weights = weight * params + expert_weight * experts
    gradients = gradient_each * params + expert_gradient * experts
    optimizer_states = state * params + expert_state * experts
    held_logits = np.where(on_last | one_stage, logits, 0.0)
    activations = np.where(on_last, transformer_last, transformer_first) + net
    gathered = np.where(shards_weights, np.maximum(own.layer, own.embedding) * (stored + gradient), 0.0)
    buffers = gathered + constants.fragmentation * (activations + held_logits)
    framework = constants.context_bytes
    total = weights + gradients + optimizer_states + activations + held_logits + buffers + framework
    return Memory(weights, gradients, optimizer_states, activations, held_logits, buffers, framework, total)


def _dense_per_layer(model: Architecture, params: LayerParams) -> Count:
    """Parameters of the mean layer without its routed experts."""
    layers = np.maximum(model.layers, 1.0)
    whole = (
        (model.attention_layers + model.sliding_layers) * params.attention
        + model.linear_layers * params.linear
        + model.mlp_layers * params.mlp
        + model.moe_layers * params.shared
    )
    return whole / layers


def _layer_activations(
    model: Architecture,
    part: Shard,
    ep_size: Count,
    recompute: Choice,
    attention_kernel: Choice,
    wide: Byte,
    narrow: Byte,
) -> tuple[Byte, Byte]:
    """Bytes that the mean layer keeps for its backward pass, and the working set of the layer that is being run."""
    tp_size, hidden, layers = part.tp_size, model.hidden, np.maximum(model.layers, 1.0)
    heads = model.heads / tp_size
    kv_heads = np.where(model.kv_heads > 0, np.maximum(model.kv_heads / tp_size, 1.0), 0.0)
    key_heads = np.where(model.mla, heads, kv_heads)
    keys = key_heads * (model.head_dim + model.v_head_dim)
    thin = narrow / wide
    norms = np.where(recompute == NONE, 1.0 + thin, 1.0 + 0.5 * thin) * hidden * part.norm_tokens
    copied = np.where((attention_kernel != FUSED) & (model.mlp_matrices > 2), 1.0, 0.0)
    softmax = (model.attention_layers + model.sliding_layers) / layers
    kept_attention = softmax * (
        norms
        + (heads * (model.head_dim + thin * model.v_head_dim) + keys + copied * (heads + key_heads) * model.head_dim)
        * part.tokens
    )
    kept_linear = (
        model.linear_layers
        / layers
        * (norms + 2.0 * model.linear_params / tp_size / np.maximum(hidden, 1.0) * part.tokens)
    )
    mlp_width = (model.mlp_layers * model.ffn_hidden + model.moe_layers * model.shared_ffn_hidden) / layers / tp_size
    kept_mlp = (
        norms * (model.mlp_layers + model.moe_layers) / layers
        + (model.mlp_matrices - 1.0 + thin + copied) * mlp_width * part.tokens
    )
    rows = part.tokens * model.top_k / tp_size
    whole_rows = (1.0 + thin) * hidden + (model.mlp_matrices - 1.0 + thin) * model.moe_ffn_hidden
    kept_rows = np.where(
        recompute == NONE, whole_rows, thin * hidden + (model.mlp_matrices - 1.0) * model.moe_ffn_hidden
    )
    experts = model.moe_layers / layers * rows
    kept_experts = np.where(recompute == EXPERTS, 0.0, experts * kept_rows)
    scores = 5.0 * part.sequences * part.seq_len / part.cp_size * part.seq_len * heads * softmax
    scores = np.where((attention_kernel == UNFUSED) & (recompute == NONE), scores, 0.0)
    dense = wide * (kept_attention + kept_linear + kept_mlp) + scores
    everything = dense + wide * kept_experts
    working = dense + wide * experts * whole_rows
    inputs = wide * hidden * part.norm_tokens
    return np.where(recompute == FULL, inputs, everything), np.where(recompute >= EXPERTS, 0.5, 0.25) * working
