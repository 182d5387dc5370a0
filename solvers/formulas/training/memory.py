"""What a training step holds on the fullest accelerator.

Parameters, gradients and optimizer states by ZeRO stage (Rajbhandari et al. 2020, arXiv:1910.02054); activations by
recomputation mode (Korthikanti et al. 2022, arXiv:2205.05198, who count 34 bytes a hidden unit with dropout masks;
without dropout 32); microbatches in flight by schedule (Narayanan et al. 2021). The first stage holds most
microbatches, the last one the logits; the fuller decides.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from solvers.columns import Byte, Choice, Count, Flag, Ratio, where
from solvers.formulas.training.constants import TrainingConstants
from solvers.formulas.training.layer import FUSED, MASKED, UNFUSED, Mix, Shard, dense_layer_params
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


KEPT_SCORE_BYTES = 5.0
"""Bytes kept for each score where attention is not fused: softmax's output, and dropout's output and mask."""


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
    model: Architecture, params: LayerParams, mix: Mix, made: Layout, tp_size: Count, pp_size: Count, ep_size: Count,
    lora: Flag, lora_rank: Count,
) -> Held:  # fmt: skip
    """Parameters of one rank's layers, of the embedding (first stage) and of the head (last stage)."""
    blocks = dense_layer_params(params, mix) + params.other / mix.layers
    experts = mix.experts * model.num_experts * params.expert
    expert_shards = ep_size * where(ep_size > 1, 1.0, tp_size)
    table = model.vocab * model.hidden / tp_size
    adapters = lora_rank * (6.0 * model.hidden + 2.0 * model.ffn_hidden)
    per_layer = blocks / tp_size
    dense, head = made.stage_layers * per_layer, where(pp_size > 1, table, table * (1.0 - model.tied_embeddings))
    return Held(
        dense=dense,
        whole=dense + table + where(pp_size > 1, 0.0, head),
        experts=made.stage_layers * experts / expert_shards,
        embedding=table,
        head=head,
        layer=per_layer + experts / expert_shards,
        trained=where(lora, np.minimum(adapters / np.maximum(blocks, 1.0), 1.0), 1.0),
    )


def training_memory(
    model: Architecture, device: Device, constants: TrainingConstants, mix: Mix, made: Layout, own: Held, part: Shard,
    pp_size: Count, zero_stage: Count, recompute: Choice, attention_kernel: Choice, optimizer: Choice,
    gradient_bytes: Byte, data_shards: Count,
) -> Memory:  # fmt: skip
    """The ledger of the fullest stage."""
    wide = device.activation_bytes
    stored = where(own.trained < 1.0, np.minimum(wide, device.weight_bytes), wide)
    master = where(wide < 4.0, 4.0, 0.0)
    states = (OPTIMIZER_BYTES[optimizer] + master) * own.trained
    gradient = gradient_bytes * own.trained
    one_stage = pp_size < 2
    last_share = where(one_stage, 1.0, made.last_layers / made.stage_layers)
    last = own.dense * last_share + own.head + where(one_stage, own.embedding, 0.0)

    flying = np.minimum(made.microbatches, pp_size + where(made.chunks > 1, (pp_size - 1.0) / made.chunks, 0.0))
    landing = np.minimum(made.microbatches, where(made.chunks > 1, pp_size - (pp_size - 1.0) / made.chunks, 1.0))
    narrow = np.minimum(wide, device.weight_bytes)
    layer_bytes, working = _layer_activations(model, mix, part, recompute, attention_kernel, wide, narrow)
    transformer_first = flying * made.stage_layers * layer_bytes + working
    transformer_last = landing * made.stage_layers * last_share * layer_bytes + working
    net = 0.5 * part.sequences * model.forward_traffic * wide / 2.0
    predicted = where(model.encoder_layers > 0, MASKED, 1.0)
    logits = predicted * part.tokens * model.vocab / part.tp_size * constants.logit_memory

    inverse, expert_inverse = 1.0 / data_shards, 1.0 / made.expert_replicas
    shards_weights, shards_gradients, shards_states = zero_stage >= 3, zero_stage >= 2, zero_stage >= 1
    weight = stored * where(shards_weights, inverse, 1.0)
    expert_weight = stored * where(shards_weights, expert_inverse, 1.0)
    gradient_each = gradient * where(shards_gradients, inverse, 1.0)
    expert_gradient = gradient * where(shards_gradients, expert_inverse, 1.0)
    state = states * where(shards_states, inverse, 1.0)
    expert_state = states * where(shards_states, expert_inverse, 1.0)

    each = weight + gradient_each + state
    first_total = own.whole * each + transformer_first + where(one_stage, logits, 0.0)
    last_total = last * each + transformer_last + logits
    on_last = last_total > first_total
    params = where(on_last, last, own.whole)
    experts = where(on_last, last_share, 1.0) * own.experts
    weights = weight * params + expert_weight * experts
    gradients = gradient_each * params + expert_gradient * experts
    optimizer_states = state * params + expert_state * experts
    held_logits = where(on_last | one_stage, logits, 0.0)
    activations = where(on_last, transformer_last, transformer_first) + net
    gathered = where(shards_weights, np.maximum(own.layer, own.embedding) * (stored + gradient), 0.0)
    buffers = gathered + constants.fragmentation * (activations + held_logits)
    framework = constants.context_bytes
    total = weights + gradients + optimizer_states + activations + held_logits + buffers + framework
    return Memory(weights, gradients, optimizer_states, activations, held_logits, buffers, framework, total)


def _layer_activations(
    model: Architecture, mix: Mix, part: Shard, recompute: Choice, attention_kernel: Choice, wide: Byte, narrow: Byte
) -> tuple[Byte, Byte]:
    """Bytes that the mean layer keeps for its backward pass, and the working set of the layer that is being run.

    Inputs of products are kept in the precision of the product. Where elementwise kernels are not fused, a gated MLP
    keeps its gate's activation and rotary embedding keeps both of its sides.
    """
    tokens, hidden = part.tokens, model.hidden
    thin = narrow / wide
    heads, kv_heads = model.heads / part.tp_size, np.maximum(model.kv_heads / part.tp_size, 1.0)
    key_heads = where(model.mla, heads, kv_heads)
    unfused = where((attention_kernel != FUSED) & (model.mlp_matrices > 2), 1.0, 0.0)
    norms = where(recompute == NONE, 1.0 + thin, 1.0 + 0.5 * thin) * hidden * part.norm_tokens
    queries_and_keys = (1.0 + unfused) * (heads + key_heads) * model.head_dim
    attention = norms + (queries_and_keys + (thin * heads + key_heads) * model.v_head_dim) * tokens
    linear = norms + 2.0 * model.linear_params / part.tp_size / np.maximum(hidden, 1.0) * tokens
    gates = model.mlp_matrices - 1.0
    width = (mix.mlp * model.ffn_hidden + mix.shared * model.shared_ffn_hidden) / part.tp_size
    mlp = (mix.mlp + mix.experts) * norms + (gates + thin + unfused) * width * tokens
    scores = where((attention_kernel == UNFUSED) & (recompute == NONE), KEPT_SCORE_BYTES, 0.0) * mix.attention
    scores = scores * heads * tokens * part.seq_len
    dense = wide * (mix.attention * attention + mix.linear * linear + mlp) + scores

    rows = wide * mix.experts * tokens * model.top_k / part.tp_size
    gated = gates * model.moe_ffn_hidden
    whole = (1.0 + thin) * hidden + gated + thin * model.moe_ffn_hidden
    kept = where(recompute == NONE, whole, thin * hidden + gated)
    held_back = dense + where(recompute == EXPERTS, 0.0, rows * kept)
    working = where(recompute >= EXPERTS, 0.5, 0.25) * (dense + rows * whole)
    return where(recompute == FULL, wide * hidden * part.norm_tokens, held_back), working
