"""One microbatch through the layers of a model, on one rank: matrix products, attention, and all that lies between.

Each kind of layer is counted at the shape that the rank really runs: tokens of its microbatch and context shard, widths
of its tensor-parallel shard. Times are means over the model's layers, so that a stage is its layers times the mean.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from solvers.columns import (
    Array,
    Byte,
    Choice,
    Count,
    Flag,
    FlopPerSecond,
    Ratio,
    Sample,
    Second,
    Token,
    otherwise,
    where,
)
from solvers.formulas.training.constants import TrainingConstants
from solvers.formulas.transformer import LayerParams, windowed
from solvers.records import Architecture, Device

ATTENTION_KERNELS = ("fused", "portable", "unfused")
"""Fused for this generation (cuDNN, FlashAttention-3), fused in general (FlashAttention-2, Triton), or not fused."""

FUSED, PORTABLE, UNFUSED = range(3)

CONTEXT_UNHIDDEN = 0.2
"""Share of the exchange of keys and values that hides behind nothing: the first step of the ring, uneven steps."""

ATTENTION_KERNEL_COUNT, MLP_KERNEL_COUNT, LINEAR_KERNEL_COUNT = 10.0, 6.0, 15.0
"""Kernels of a block forward where norms, rotary embedding and activation functions are fused."""

ADAPTER_PASSES, ADAPTER_KERNELS = 16.0, 12.0
"""Hidden-sized tensors that low-rank adapters of a layer read and write forward, and their kernels (two products and a
sum for each of four products)."""

SCAN_PASSES = 4.0
"""Times that the scan of a state-space layer reads or writes its inner activations."""

MASKED = 0.15
"""Share of its positions that an encoder predicts (Devlin et al. 2019, arXiv:1810.04805, section 3.1)."""

ACCUMULATED_BYTES = 8.0
"""Reading and writing a 32-bit gradient while it is added up."""

NET_KERNELS = 160.0
"""Kernels of a convolution net forward: some 53 convolutions of ResNet-50, each with its norm and activation."""


@dataclass(frozen=True)
class Mix:
    """How many of each kind of layer the mean layer is."""

    layers: Count
    attention: Ratio
    mlp: Ratio
    experts: Ratio
    shared: Ratio
    linear: Ratio


def layer_mix(model: Architecture) -> Mix:
    """The kinds of layer of a model; a layer usually has attention and an MLP, or experts."""
    layers = np.maximum(model.layers, 1.0)
    experts = model.moe_layers / layers
    return Mix(
        layers=layers,
        attention=(model.attention_layers + model.sliding_layers) / layers,
        mlp=model.mlp_layers / layers,
        experts=experts,
        shared=where(model.shared_ffn_hidden > 0, experts, 0.0),
        linear=model.linear_layers / layers,
    )


def dense_layer_params(params: LayerParams, mix: Mix) -> Count:
    """Parameters of the mean layer that every token multiplies by: all but the routed experts."""
    return (
        mix.attention * params.attention
        + mix.linear * params.linear
        + mix.mlp * params.mlp
        + mix.shared * params.shared
    )


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
    """One kind of layer forward: its products, their weights, what else it reads and writes, and its kernels."""

    gemm: Second
    weights: Count
    traffic: Byte
    kernels: Count


@dataclass(frozen=True)
class LayerTimes:
    """Mean times of a layer, for one microbatch on one rank."""

    forward: Second
    backward: Second
    attention_forward: Second
    experts_forward: Second
    context: Second

    def where(self, other_holds: Flag, other: LayerTimes) -> LayerTimes:
        """These times, or the others where the condition holds."""
        return LayerTimes(
            where(other_holds, other.forward, self.forward),
            where(other_holds, other.backward, self.backward),
            where(other_holds, other.attention_forward, self.attention_forward),
            where(other_holds, other.experts_forward, self.experts_forward),
            self.context,
        )


def shard(sequences: Sample, seq_len: Token, tp_size: Count, cp_size: Count, sequence_parallel: Flag) -> Shard:
    """The shapes of one rank; sequence parallelism also splits the tokens between tensor-parallel blocks."""
    tokens = sequences * seq_len / cp_size
    return Shard(sequences, seq_len, tokens, where(sequence_parallel, tokens / tp_size, tokens), tp_size, cp_size)


def rates(
    device: Device, constants: TrainingConstants, seq_len: Token, attention_kernel: Choice, efficiency: Ratio
) -> Rates:
    """Achieved rates; `efficiency` replaces the achieved fraction of the compute peak, and nothing else."""
    peak = otherwise(device.peak_flops, constants.wide_peak_flops)
    wide = constants.wide_peak_flops
    fused = where(attention_kernel == FUSED, constants.attention_fraction, constants.portable_attention_fraction)
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
    attention_kernel: Choice, frozen: Flag, ep_size: Count, expert_imbalance: Ratio, params: LayerParams, mix: Mix,
    exchange: Second,
) -> LayerTimes:  # fmt: skip
    """Forward and backward of the mean layer.

    The `exchange` of keys and values between context-parallel ranks hides behind attention as far as that lasts.
    Backward multiplies by the transposed weights and by the activations (the latter not where the weights are frozen),
    and fused attention recomputes its scores: five products against two. A pass takes as long as the device needs, or
    as long as the host needs to launch its kernels.
    """
    core = mix.attention * attention_core(model, constants, part, rate, attention_kernel)
    kinds = (
        (mix.attention, _attention_layer(model, device, constants, part, rate, params)),
        (1.0, _mlps(model, device, constants, part, rate, mix)),
        (mix.experts, _expert_layer(model, device, constants, part, rate, ep_size, expert_imbalance)),
        (mix.linear, _linear_layer(model, device, constants, part, rate)),
    )
    gemm = sum(share * work.gemm for share, work in kinds)
    between = sum(share * work.traffic for share, work in kinds) / rate.bandwidth
    accumulate = ACCUMULATED_BYTES * sum(share * work.weights for share, work in kinds) / rate.bandwidth
    kernels = sum(share * work.kernels for share, work in kinds) + where(frozen, ADAPTER_KERNELS, 0.0)
    adapters = where(frozen, ADAPTER_PASSES, 0.0) * part.tokens * model.hidden / part.tp_size
    between = between + adapters * device.activation_bytes / rate.bandwidth

    core_back = where(attention_kernel == UNFUSED, 2.0, 2.5) * core
    passed = mix.attention * exchange
    alone = CONTEXT_UNHIDDEN * passed
    shown = np.maximum(passed - core, 0.0) + alone
    shown_back = np.maximum(2.0 * passed - core_back, 0.0) + 2.0 * alone
    launch = where(attention_kernel == UNFUSED, 2.0, 1.0) * kernels * constants.launch_time
    products = gemm + kernels * constants.kernel_gap
    forward = products + core + shown + between
    backward = where(frozen, products, 2.0 * products + accumulate) + core_back + shown_back + 2.0 * between
    experts = kinds[2][1]
    return LayerTimes(
        forward=soft_maximum(forward, launch),
        backward=soft_maximum(backward, 1.5 * launch),
        attention_forward=core,
        experts_forward=mix.experts * (experts.gemm + experts.traffic / rate.bandwidth),
        context=shown + shown_back,
    )


def head_time(
    model: Architecture, device: Device, constants: TrainingConstants, part: Shard, rate: Rates, frozen: Flag
) -> Second:
    """The vocabulary head and the loss of one microbatch, forward and backward, in the wider arithmetic.

    An encoder is trained to predict its masked tokens only.
    """
    predicted = where(model.encoder_layers > 0, MASKED, 1.0)
    logits = part.tokens * predicted * model.vocab / part.tp_size
    learn = where(frozen, 2.0, 3.0)
    return learn * 2.0 * logits * model.hidden / rate.wide_gemm + constants.logit_bytes * logits / rate.bandwidth


def net_times(
    model: Architecture, device: Device, constants: TrainingConstants, images: Sample, rate: Rates
) -> LayerTimes:
    """One microbatch through a net that is no transformer over tokens: its published work and activation traffic."""
    wide = device.activation_bytes / 2.0
    achieved = where(model.heads > 0, rate.gemm, rate.convolution)
    work = images * model.forward_flops / achieved
    intensity = model.forward_flops / np.maximum(model.forward_traffic, 1.0)
    passes = constants.net_passes * (1.0 + constants.thin_intensity / np.maximum(intensity, 1.0))
    traffic = passes * images * model.forward_traffic * wide / rate.bandwidth
    launch = NET_KERNELS * constants.launch_time
    forward = soft_maximum(work + traffic, launch)
    return LayerTimes(forward, soft_maximum(2.0 * (work + traffic), 1.5 * launch), 0.0, 0.0, 0.0)


def soft_maximum(a: Array, b: Array) -> Array:
    """The larger of two, and up to 19 % more where they are alike: they overlap, but never quite."""
    return np.sqrt(np.hypot(a * a, b * b))


def attention_core(
    model: Architecture, constants: TrainingConstants, part: Shard, rate: Rates, attention_kernel: Choice
) -> Second:
    """Scores, softmax and weighted values of one layer forward.

    Fused kernels skip the half that a causal mask hides; separate kernels do not, and write every score to memory.
    """
    queries = part.sequences * part.seq_len / part.cp_size * (model.heads / part.tp_size)
    widths = model.head_dim + model.v_head_dim
    span = where(model.causal, 0.5, 1.0) * part.seq_len
    window = np.minimum(windowed(model), span)
    softmax_layers = np.maximum(model.attention_layers + model.sliding_layers, 1.0)
    keys = (model.attention_layers * span + model.sliding_layers * window) / softmax_layers
    fused = 2.0 * widths * keys / rate.attention
    unfused = part.seq_len * (2.0 * widths / rate.wide_gemm + constants.score_bytes / rate.bandwidth)
    return queries * where(attention_kernel == UNFUSED, unfused, fused)


def _product(device: Device, rate: Rates, tokens: Token, weights: Count, widths: Count) -> Second:
    """Products of `tokens` rows with `weights` in all, reading and writing `widths` a row."""
    compute = 2.0 * tokens * weights / rate.gemm
    memory = device.activation_bytes * (weights + tokens * widths) / rate.bandwidth
    return soft_maximum(compute, memory)


def _attention_layer(
    model: Architecture, device: Device, constants: TrainingConstants, part: Shard, rate: Rates, params: LayerParams
) -> Work:
    heads = model.heads / part.tp_size
    kv_heads = where(model.kv_heads > 0, np.maximum(model.kv_heads / part.tp_size, 1.0), 0.0)
    inner = (heads + kv_heads) * (model.head_dim + model.v_head_dim)
    latent = model.q_lora_rank + model.kv_lora_rank + model.qk_rope_head_dim
    copied = where(model.mla, model.hidden * latent, 0.0)
    weights = (params.attention - copied) / part.tp_size + copied
    gemm = _product(device, rate, part.tokens, weights, 2.0 * model.hidden + inner)
    casts = constants.cast_bytes * (model.hidden + heads * model.v_head_dim)
    norms = constants.hidden_passes * model.hidden * part.norm_tokens
    traffic = device.activation_bytes * (norms + constants.inner_passes * inner * part.tokens) + casts * part.tokens
    return Work(gemm, weights, traffic, ATTENTION_KERNEL_COUNT)


def _mlps(
    model: Architecture, device: Device, constants: TrainingConstants, part: Shard, rate: Rates, mix: Mix
) -> Work:
    """The dense MLP and the shared experts of the mean layer: so many blocks, of so much width in all."""
    blocks = mix.mlp + mix.shared
    inner = (mix.mlp * model.ffn_hidden + mix.shared * model.shared_ffn_hidden) / part.tp_size
    wide = model.mlp_matrices * inner
    weights = model.hidden * wide
    residual = blocks * model.hidden
    gemm = _product(device, rate, part.tokens, weights, 2.0 * residual + wide)
    casts = constants.cast_bytes * (residual + inner)
    norms = constants.hidden_passes * residual * part.norm_tokens
    traffic = device.activation_bytes * (norms + constants.inner_passes * wide * part.tokens) + casts * part.tokens
    return Work(gemm, weights, traffic, MLP_KERNEL_COUNT * blocks)


def _expert_layer(
    model: Architecture, device: Device, constants: TrainingConstants, part: Shard, rate: Rates,
    ep_size: Count, expert_imbalance: Ratio,
) -> Work:  # fmt: skip
    """The routed experts of a layer: grouped products, and tokens sorted to experts and back."""
    rows = part.tokens * model.top_k / part.tp_size * expert_imbalance
    wide = model.mlp_matrices * model.moe_ffn_hidden
    one = wide * model.hidden
    weights = one * model.num_experts / (ep_size * where(ep_size > 1, 1.0, part.tp_size))
    compute = 2.0 * rows * one / rate.grouped_gemm
    memory = device.activation_bytes * (weights + rows * (2.0 * model.hidden + wide)) / rate.bandwidth
    casts = constants.cast_bytes * (model.hidden + model.moe_ffn_hidden)
    passes = constants.hidden_passes * model.hidden + constants.inner_passes * wide
    return Work(
        gemm=soft_maximum(compute, memory),
        weights=weights,
        traffic=rows * (device.activation_bytes * passes + casts),
        kernels=constants.routed_kernels,
    )


def _linear_layer(model: Architecture, device: Device, constants: TrainingConstants, part: Shard, rate: Rates) -> Work:
    """A state-space or linear-attention layer: its products, and a scan that moves its inner activations."""
    weights = model.linear_params / part.tp_size
    inner = weights / np.maximum(model.hidden, 1.0)
    gemm = _product(device, rate, part.tokens, weights, 2.0 * model.hidden + inner)
    norms = constants.hidden_passes * model.hidden * part.norm_tokens
    traffic = device.activation_bytes * (norms + SCAN_PASSES * inner * part.tokens)
    return Work(gemm, weights, traffic, LINEAR_KERNEL_COUNT)
