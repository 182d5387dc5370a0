"""One microbatch through the layers of a model, on one rank: matrix products, attention, and all that lies between.

Each kind of layer is counted at the shape that the rank really runs: tokens of its microbatch and context shard, widths
of its tensor-parallel shard. Times are means over the model's layers, so that a stage is its layers times the mean.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from solvers.columns import Array, Choice, Count, Flag, FlopPerSecond, Ratio, Sample, Second, Token, otherwise
from solvers.formulas.training.constants import TrainingConstants
from solvers.formulas.transformer import LayerParams, windowed
from solvers.records import Architecture, Device

ATTENTION_KERNELS = ("fused", "portable", "unfused")
"""Fused for this generation (cuDNN, FlashAttention-3), fused in general (FlashAttention-1 and -2, Triton), or not fused."""

FUSED, PORTABLE, UNFUSED = range(3)

CONTEXT_UNHIDDEN = 0.2
"""Share of the exchange of keys and values that hides behind nothing: the first step of the ring, uneven steps."""

NET_KERNELS = 160.0
"""Kernels of a convolution net forward: some 53 convolutions of ResNet-50, each with its norm and activation."""


@dataclass(frozen=True)
class Rates:
    """Achieved rates of one rank."""

    gemm: FlopPerSecond
    wide_gemm: FlopPerSecond
    grouped_gemm: FlopPerSecond
    attention: FlopPerSecond
    convolution: FlopPerSecond
    bandwidth: Array


@dataclass(frozen=True)
class Shard:
    """What one rank runs of a microbatch."""

    sequences: Sample
    seq_len: Token
    tokens: Token
    norm_tokens: Token
    tp_size: Count
    cp_size: Count


@dataclass(frozen=True)
class Work:
    """Time of one kind of layer forward, by kernel class, and what its backward pass adds."""

    gemm: Second
    attention: Second
    elementwise: Second
    accumulate: Second
    kernels: Count


@dataclass(frozen=True)
class LayerTimes:
    """Mean times of a layer, for one microbatch on one rank."""

    forward: Second
    backward: Second
    attention_forward: Second
    gemm_forward: Second
    experts_forward: Second
    context: Second

    def where(self, other_holds: Flag, other: LayerTimes) -> LayerTimes:
        """These times, or the others where the condition holds."""
        return LayerTimes(
            np.where(other_holds, other.forward, self.forward),
            np.where(other_holds, other.backward, self.backward),
            np.where(other_holds, other.attention_forward, self.attention_forward),
            np.where(other_holds, other.gemm_forward, self.gemm_forward),
            np.where(other_holds, other.experts_forward, self.experts_forward),
            self.context,
        )


def shard(sequences: Sample, seq_len: Token, tp_size: Count, cp_size: Count, sequence_parallel: Flag) -> Shard:
    """The shapes of one rank; sequence parallelism also splits the tokens between tensor-parallel blocks."""
    tokens = sequences * seq_len / cp_size
    return Shard(sequences, seq_len, tokens, np.where(sequence_parallel, tokens / tp_size, tokens), tp_size, cp_size)


def rates(
    device: Device, constants: TrainingConstants, seq_len: Token, attention_kernel: Choice, efficiency: Ratio
) -> Rates:
    """Achieved rates; `efficiency` replaces the achieved fraction of the compute peak, and nothing else."""
    peak = otherwise(device.peak_flops, constants.wide_peak_flops)
    wide = constants.wide_peak_flops
    fused = np.where(attention_kernel == FUSED, constants.attention_fraction, constants.portable_attention_fraction)
    fused = fused * seq_len / (seq_len + constants.attention_half_speed)
    gemm = otherwise(efficiency, constants.gemm_fraction)
    return Rates(
        gemm=gemm * peak,
        wide_gemm=otherwise(efficiency, constants.wide_gemm_fraction) * wide,
        grouped_gemm=otherwise(efficiency, constants.gemm_fraction * constants.grouped_gemm_fraction) * peak,
        attention=otherwise(efficiency, fused) * wide,
        convolution=otherwise(efficiency, constants.convolution_fraction) * peak,
        bandwidth=constants.memory_fraction * device.memory_bandwidth,
    )


def layer_times(
    model: Architecture, device: Device, constants: TrainingConstants, part: Shard, rate: Rates,
    attention_kernel: Choice, frozen: Flag, ep_size: Count, expert_imbalance: Ratio, params: LayerParams, exchange: Second,
) -> LayerTimes:  # fmt: skip
    """Forward and backward of the mean layer.

    The `exchange` of keys and values between context-parallel ranks hides behind attention as far as that lasts. Backward
    multiplies by the transposed weights and by the activations (the latter not where the weights are frozen),
    and fused attention recomputes its scores: five products against two. A pass takes as long as the device needs, or
    as long as the host needs to launch its kernels.
    """
    attention = _attention_layer(model, device, constants, part, rate, attention_kernel, params)
    dense = _mlp_layer(model, device, constants, part, rate)
    experts = _expert_layer(model, device, constants, part, rate, ep_size, expert_imbalance)
    linear = _linear_layer(model, device, constants, part, rate)
    layers = np.maximum(model.layers, 1.0)
    a = (model.attention_layers + model.sliding_layers) / layers
    d, e, s = model.mlp_layers / layers, model.moe_layers / layers, model.linear_layers / layers
    gemm = a * attention.gemm + d * dense.gemm + e * experts.gemm + s * linear.gemm
    core = a * attention.attention
    core_back = np.where(attention_kernel == UNFUSED, 2.0, 2.5) * core
    passed, alone = a * exchange, CONTEXT_UNHIDDEN * a * exchange
    shown = np.maximum(passed - core, 0.0) + alone
    shown_back = np.maximum(2.0 * passed - core_back, 0.0) + 2.0 * alone
    between = a * attention.elementwise + d * dense.elementwise + e * experts.elementwise + s * linear.elementwise
    accumulate = a * attention.accumulate + d * dense.accumulate + e * experts.accumulate + s * linear.accumulate
    kernels = a * attention.kernels + d * dense.kernels + e * experts.kernels + s * linear.kernels

    launch = np.where(attention_kernel == UNFUSED, 2.0, 1.0) * kernels * constants.launch_time
    gaps = kernels * constants.kernel_gap
    learn = np.where(frozen, 1.0, 2.0)
    forward = gemm + core + shown + between + gaps
    backward = learn * gemm + core_back + shown_back + 2.0 * between + learn * gaps + np.where(frozen, 0.0, accumulate)
    return LayerTimes(
        forward=soft_maximum(forward, launch),
        backward=soft_maximum(backward, 1.5 * launch),
        attention_forward=core,
        gemm_forward=gemm,
        experts_forward=e * (experts.gemm + experts.elementwise),
        context=shown + shown_back,
    )


def head_time(
    model: Architecture, device: Device, constants: TrainingConstants, part: Shard, rate: Rates, frozen: Flag
) -> Second:
    """The vocabulary head and the loss of one microbatch, forward and backward, in the wider arithmetic.

    An encoder trained on masked tokens predicts about 15 % of its positions (Devlin et al. 2019, section 3.1).
    """
    predicted = np.where(model.encoder_layers > 0, 0.15, 1.0)
    logits = part.tokens * predicted * model.vocab / part.tp_size
    learn = np.where(frozen, 2.0, 3.0)
    return learn * 2.0 * logits * model.hidden / rate.wide_gemm + constants.logit_bytes * logits / rate.bandwidth


def net_times(
    model: Architecture, device: Device, constants: TrainingConstants, images: Sample, rate: Rates
) -> LayerTimes:
    """One microbatch through a net that is no transformer over tokens: its published work and activation traffic."""
    wide = device.activation_bytes / 2.0
    achieved = np.where(model.heads > 0, rate.gemm, rate.convolution)
    work = images * model.forward_flops / achieved
    intensity = model.forward_flops / np.maximum(model.forward_traffic, 1.0)
    passes = constants.net_passes * (1.0 + constants.thin_intensity / np.maximum(intensity, 1.0))
    traffic = passes * images * model.forward_traffic * wide / rate.bandwidth
    launch = NET_KERNELS * constants.launch_time
    forward = soft_maximum(work + traffic, launch)
    return LayerTimes(forward, soft_maximum(2.0 * (work + traffic), 1.5 * launch), 0.0, work, 0.0, 0.0)


def soft_maximum(a: Array, b: Array) -> Array:
    """The larger of two, and up to 19 % more where they are alike: they overlap, but never quite."""
    p, q = a * a, b * b
    return np.sqrt(np.sqrt(p * p + q * q))


def _product(
    device: Device, rate: Rates, flops: FlopPerSecond, tokens: Token, weights: Count, widths: Count
) -> tuple[Second, Second]:
    """Products of `tokens` rows with `weights` in all, reading and writing `widths` a row; and adding up their gradients."""
    compute = 2.0 * tokens * weights / flops
    memory = device.activation_bytes * (weights + tokens * widths) / rate.bandwidth
    return soft_maximum(compute, memory), 8.0 * weights / rate.bandwidth


def _attention_layer(
    model: Architecture, device: Device, constants: TrainingConstants, part: Shard, rate: Rates, attention_kernel: Choice,
    params: LayerParams,
) -> Work:  # fmt: skip
    heads = model.heads / part.tp_size
    kv_heads = np.where(model.kv_heads > 0, np.maximum(model.kv_heads / part.tp_size, 1.0), 0.0)
    qk_dim = model.head_dim
    inner = heads * (qk_dim + model.v_head_dim) + kv_heads * (qk_dim + model.v_head_dim)
    latent = model.q_lora_rank + model.kv_lora_rank + model.qk_rope_head_dim
    copied = np.where(model.mla, model.hidden * latent, 0.0)
    weights = (params.attention - copied) / part.tp_size + copied
    gemm, accumulate = _product(device, rate, rate.gemm, part.tokens, weights, 2.0 * model.hidden + inner)

    queries = part.sequences * part.seq_len / part.cp_size
    softmax_layers = np.maximum(model.attention_layers + model.sliding_layers, 1.0)
    span = np.where(model.causal, 0.5, 1.0) * part.seq_len
    window = np.minimum(windowed(model), span)
    keys = (model.attention_layers * span + model.sliding_layers * window) / softmax_layers
    fused = 2.0 * queries * keys * heads * (qk_dim + model.v_head_dim) / rate.attention
    scores = queries * part.seq_len * heads
    unfused = (
        2.0 * scores * (qk_dim + model.v_head_dim) / rate.wide_gemm + constants.score_bytes * scores / rate.bandwidth
    )
    core = np.where(attention_kernel == UNFUSED, unfused, fused)

    width = constants.hidden_passes * model.hidden
    casts = constants.cast_bytes * (part.tokens * (model.hidden + heads * model.v_head_dim))
    moved = device.activation_bytes * (width * part.norm_tokens + constants.inner_passes * inner * part.tokens) + casts
    return Work(gemm, core, moved / rate.bandwidth, accumulate, 10.0)


def _mlp_layer(model: Architecture, device: Device, constants: TrainingConstants, part: Shard, rate: Rates) -> Work:
    return _mlp(model, device, constants, part, rate, model.ffn_hidden)


def _mlp(
    model: Architecture, device: Device, constants: TrainingConstants, part: Shard, rate: Rates, width: Count
) -> Work:
    inner = width / part.tp_size
    weights = model.mlp_matrices * model.hidden * inner
    gemm, accumulate = _product(
        device, rate, rate.gemm, part.tokens, weights, 2.0 * model.hidden + model.mlp_matrices * inner
    )
    casts = constants.cast_bytes * part.tokens * (model.hidden + inner)
    moved = device.activation_bytes * (
        constants.hidden_passes * model.hidden * part.norm_tokens
        + constants.inner_passes * model.mlp_matrices * inner * part.tokens
    )
    return Work(gemm, 0.0 * gemm, (moved + casts) / rate.bandwidth, accumulate, 6.0)


def _expert_layer(
    model: Architecture, device: Device, constants: TrainingConstants, part: Shard, rate: Rates,
    ep_size: Count, expert_imbalance: Ratio,
) -> Work:  # fmt: skip
    shared = _mlp(model, device, constants, part, rate, model.shared_ffn_hidden)
    rows = part.tokens * model.top_k / part.tp_size * expert_imbalance
    one = model.mlp_matrices * model.hidden * model.moe_ffn_hidden
    held = one * model.num_experts / (ep_size * np.where(ep_size > 1, 1.0, part.tp_size))
    compute = 2.0 * rows * one / rate.grouped_gemm
    widths = 2.0 * model.hidden + model.mlp_matrices * model.moe_ffn_hidden
    memory = device.activation_bytes * (held + rows * widths) / rate.bandwidth
    routed = soft_maximum(compute, memory)
    casts = constants.cast_bytes * rows * (model.hidden + model.moe_ffn_hidden)
    moved = (
        device.activation_bytes
        * rows
        * (constants.hidden_passes * model.hidden + constants.inner_passes * model.mlp_matrices * model.moe_ffn_hidden)
    )
    between = (moved + casts) / rate.bandwidth + shared.elementwise
    has_shared = np.where(model.shared_ffn_hidden > 0, 1.0, 0.0)
    return Work(
        gemm=routed + has_shared * shared.gemm,
        attention=0.0 * routed,
        elementwise=between,
        accumulate=8.0 * held / rate.bandwidth + has_shared * shared.accumulate,
        kernels=constants.routed_kernels + 6.0 * has_shared,
    )


def _linear_layer(model: Architecture, device: Device, constants: TrainingConstants, part: Shard, rate: Rates) -> Work:
    """A state-space or linear-attention layer: its products, and a scan that moves its inner activations."""
    weights = model.linear_params / part.tp_size
    inner = weights / np.maximum(model.hidden, 1.0)
    gemm, accumulate = _product(device, rate, rate.gemm, part.tokens, weights, 2.0 * model.hidden + inner)
    moved = device.activation_bytes * (
        constants.hidden_passes * model.hidden * part.norm_tokens + 4.0 * inner * part.tokens
    )
    return Work(gemm, 0.0 * gemm, moved / rate.bandwidth, accumulate, 15.0)
