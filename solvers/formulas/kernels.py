"""Time of one kernel: matrix products, attention, experts, collectives and copies.

Every time has the same shape: a fixed overhead, and a smooth maximum of the arithmetic, of the memory traffic and of
the walk along the inner dimension, which no amount of parallel hardware shortens. A step is a sum of such kernels, not
one maximum over the whole. Roofline: Williams et al. 2009, doi:10.1145/1498765.1498785.

All fractions are at most 1, so that no kernel is faster than its work at the peak or its bytes at the peak bandwidth.
Constants are fitted by `benchmarks/fit_kernels.py`; forms, errors and what was tried are in `docs/kernels.md`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from solvers.columns import Array, Byte, BytePerSecond, Count, FlopPerSecond, Ratio, Second, Token, column, where


@dataclass(frozen=True)
class Kernels:
    """How close the kernels of one device in one precision come to its peaks."""

    gemm_flops_fraction: Ratio = column("share of the peak that a large matrix product reaches", above=0, maximum=1)
    gemm_bandwidth_fraction: Ratio = column(
        "share of the memory bandwidth that a thin matrix product reaches", above=0, maximum=1
    )
    gemm_overhead: Second = column("fixed time of a matrix product")
    quantise_overhead: Second = column("fixed time of quantising its input, which engines fuse or launch apart")
    gemm_walk: Second = column("time to advance one element along the inner dimension of a matrix product")
    quantise_passes: Ratio = column("extra passes over the input of a matrix product, to quantise it")
    attention_flops_fraction: Ratio = column(
        "share of the precision's peak that attention over long contexts reaches", above=0, maximum=1
    )
    attention_half_length: Token = column("mean keys a query sees at which prefill attention is half as efficient")
    attention_overhead: Second = column("fixed time of a prefill attention kernel")
    attention_walk: Second = column("time to advance one key along the context in prefill attention")
    softmax_width: Count = column("head dimensions that cost as much as the softmax of a score")
    decode_bandwidth_fraction: Ratio = column(
        "share of the memory bandwidth at which decode attention reads its cache", above=0, maximum=1
    )
    decode_overhead: Second = column("fixed time of a decode attention kernel")
    expert_flops_fraction: Ratio = column("share of the peak that grouped expert products reach", above=0, maximum=1)
    expert_bandwidth_fraction: Ratio = column(
        "share of the memory bandwidth at which experts are read", above=0, maximum=1
    )
    expert_overhead: Second = column("fixed time of a layer of experts: routing, permutation and two grouped products")
    expert_half_rows: Token = column("tokens of an expert at which its products are half as efficient")
    expert_passes: Ratio = column("passes over the activations of a layer of experts")
    routing_skew: Ratio = column("load of real routing over that of balanced routing, on one rank")
    rank_skew: Ratio = column("power of the number of ranks by which the busiest rank is loaded above the mean")
    collective_overhead: Second = column("fixed time of a library collective")
    collective_hop: Second = column("added time of each further step around the ring")
    alltoall_overhead: Second = column("fixed time of an all-to-all")
    link_fraction: Ratio = column(
        "share of the link's bandwidth that a large collective of two reaches", above=0, maximum=1
    )
    link_crowding: Ratio = column("added time for each byte as ranks go from two to very many (negative: they help)")
    link_ramp: Second = column("time scale over which a collective reaches its bandwidth")
    reduce_overhead: Second = column("fixed time of the engine's own all-reduce")
    reduce_hop: Second = column("its added time for each further rank")
    reduce_fraction: Ratio = column(
        "share of the link's bandwidth that it reaches between two ranks", above=0, maximum=1
    )
    reduce_crowding: Ratio = column("its added time for each byte as ranks go from two to very many")
    reduce_ramp: Second = column("time scale over which it reaches its bandwidth")
    elementwise_fraction: Ratio = column(
        "share of the memory bandwidth that copies and elementwise kernels reach", above=0, maximum=1
    )
    elementwise_overhead: Second = column("fixed time of an elementwise kernel")
    kernel_error: Ratio = column("typical relative error of a kernel's time, by the fit or by transfer to this device")


def smooth_maximum(a: Array, b: Array, c: Array = 0.0) -> Array:
    """The cube root of the sum of cubes: the largest, plus up to 26 % where two are equal and do not quite overlap."""
    return np.cbrt(a * a * a + b * b * b + c * c * c)


def gemm_time(
    m: Count, n: Count, k: Count, weight_bytes: Byte, activation_bytes: Byte,
    kernels: Kernels, peak_flops: FlopPerSecond, memory_bandwidth: BytePerSecond,
) -> Second:  # fmt: skip
    """One product of activations [m, k] with weights [k, n].

    `weight_bytes` is of one stored weight, `activation_bytes` of one activation between kernels (2 at 16 bit, also
    where the product itself runs at 8 or 4 bit: the quantisation is a pass of its own). Inside a cache small products
    may beat the memory's bandwidth; that is not modelled. Holds for m from 1 to 32768.
    """
    work = 2 * m * n * k
    traffic = n * k * weight_bytes + (m * k + m * n) * activation_bytes
    compute = work / (kernels.gemm_flops_fraction * peak_flops)
    memory = traffic / (kernels.gemm_bandwidth_fraction * memory_bandwidth)
    walk = k * kernels.gemm_walk
    quantise = kernels.quantise_overhead + kernels.quantise_passes * m * k * activation_bytes / memory_bandwidth
    return kernels.gemm_overhead + quantise + smooth_maximum(compute, memory, walk)


def prefill_attention_time(
    sequences: Count, queries: Token, keys: Token, mean_keys: Token, heads: Count, kv_heads: Count,
    head_dim: Count, v_head_dim: Count, activation_bytes: Byte,
    kernels: Kernels, peak_flops: FlopPerSecond, memory_bandwidth: BytePerSecond,
) -> Second:  # fmt: skip
    """Fused attention of `queries` new tokens a sequence over a context of `keys`, of which each sees `mean_keys`.

    A causal prompt of s tokens has queries = keys = s and mean_keys = s / 2; full attention has mean_keys = s; a
    chunk that starts after p tokens has keys = p + s and mean_keys = p + s / 2; a window caps both.
    Tiles that see few keys pay their prologue and their masked half, hence the half-saturation length. The softmax
    costs each score as much as `softmax_width` head dimensions (FlashAttention-3, Shah et al. 2024, fig. 5: 64, 128
    and 256 wide heads reach about 500, 650 and 750 TFLOP/s), and the fitted fraction is the one at 128.
    """
    scores = sequences * queries * heads * (mean_keys + kernels.attention_half_length)
    widths = head_dim + v_head_dim
    reference = 256.0 / (256.0 + 2 * kernels.softmax_width)
    work = 2 * scores * (widths + 2 * kernels.softmax_width) * reference
    compute = work / (kernels.attention_flops_fraction * peak_flops)
    bound = 2 * sequences * queries * heads * mean_keys * widths / peak_flops
    traffic = sequences * (queries * heads + keys * kv_heads) * widths * activation_bytes
    memory = traffic / memory_bandwidth
    walk = keys * kernels.attention_walk
    return kernels.attention_overhead + np.maximum(smooth_maximum(compute, walk), np.maximum(memory, bound))


def decode_attention_time(
    cache_bytes: Byte, work: Array, kernels: Kernels, peak_flops: FlopPerSecond, memory_bandwidth: BytePerSecond,
) -> Second:  # fmt: skip
    """Attention of one new token a sequence (or a few, when verifying a draft) over its cache.

    `cache_bytes` is what this device reads of the cache for the layer over the whole batch, `work` its arithmetic:
    4 x sequences x heads x keys x head_dim, which matters only where many heads share one latent.
    """
    memory = cache_bytes / (kernels.decode_bandwidth_fraction * memory_bandwidth)
    compute = work / (kernels.attention_flops_fraction * peak_flops)
    return kernels.decode_overhead + smooth_maximum(memory, compute)


def experts_touched(tokens: Token, top_k: Count, num_experts: Count) -> Count:
    """Expected number of distinct experts that a batch uses, when tokens choose independently: E (1 - (1-k/E)^T)."""
    return num_experts * (1.0 - np.power(1.0 - top_k / num_experts, tokens))


def experts_time(
    tokens: Token, top_k: Count, num_experts: Count, hidden: Count, inner: Count, matrices: Count, ranks: Count,
    weight_bytes: Byte, activation_bytes: Byte,
    kernels: Kernels, peak_flops: FlopPerSecond, memory_bandwidth: BytePerSecond,
) -> Second:  # fmt: skip
    """The routed experts of one layer, on the busiest of the `ranks` that share them out.

    `tokens` are all tokens of the expert-parallel group, `inner` is the width that one rank holds of an expert.
    Weights are read for the experts touched, work is done for the tokens routed. Real routing is skewed: the
    constants are those of a power law with exponent 1.2, as the measurements use; balanced routing is some 20 % faster.
    """
    touched = experts_touched(tokens, top_k, num_experts) / ranks
    rows = tokens * top_k / ranks * (1.0 + kernels.routing_skew) * np.power(ranks, kernels.rank_skew)
    return grouped_gemm_time(
        rows, touched, hidden, inner, matrices, weight_bytes, activation_bytes, kernels, peak_flops, memory_bandwidth
    )


def grouped_gemm_time(
    rows: Token, touched: Count, hidden: Count, inner: Count, matrices: Count,
    weight_bytes: Byte, activation_bytes: Byte,
    kernels: Kernels, peak_flops: FlopPerSecond, memory_bandwidth: BytePerSecond,
) -> Second:  # fmt: skip
    """Products of `rows` tokens with the weights of `touched` experts on one rank, and the traffic around them.

    An expert with few tokens leaves tiles half empty, hence the half-saturation rows.
    """
    work = 2 * matrices * hidden * inner * (rows + kernels.expert_half_rows * touched)
    weights = touched * matrices * hidden * inner * weight_bytes
    activations = kernels.expert_passes * rows * (2 * hidden + matrices * inner) * activation_bytes
    compute = work / (kernels.expert_flops_fraction * peak_flops)
    memory = (weights + activations) / (kernels.expert_bandwidth_fraction * memory_bandwidth)
    return kernels.expert_overhead + smooth_maximum(compute, memory)


def all_reduce_time(size: Byte, ranks: Count, kernels: Kernels, link_bandwidth: BytePerSecond) -> Second:
    """All-reduce of `size` bytes a rank inside a link domain, by the faster of the engine's kernel and the library's.

    Bandwidth is per direction. In-switch reduction (NVLink SHARP) moves each byte once each way instead of
    2 (n-1)/n times, so the bound is size / bandwidth. One rank takes no time.
    """
    library = _collective(
        2 * (ranks - 1) / ranks * size, size, kernels.collective_overhead + 2 * (ranks - 1) * kernels.collective_hop,
        ranks, kernels.link_fraction, kernels.link_crowding, kernels.link_ramp, link_bandwidth,
    )  # fmt: skip
    own = _collective(
        2 * (ranks - 1) / ranks * size, size, kernels.reduce_overhead + (ranks - 1) * kernels.reduce_hop,
        ranks, kernels.reduce_fraction, kernels.reduce_crowding, kernels.reduce_ramp, link_bandwidth,
    )  # fmt: skip
    return where(ranks > 1, np.minimum(own, library), 0.0)


def ring_time(size: Byte, ranks: Count, kernels: Kernels, link_bandwidth: BytePerSecond) -> Second:
    """All-gather to `size` bytes, or reduce-scatter of `size` bytes, a rank: (n-1)/n of them over each link."""
    moved = (ranks - 1) / ranks * size
    start = kernels.collective_overhead + (ranks - 1) * kernels.collective_hop
    took = _collective(
        moved, moved, start, ranks, kernels.link_fraction, kernels.link_crowding, kernels.link_ramp, link_bandwidth
    )
    return where(ranks > 1, took, 0.0)


def all_to_all_time(size: Byte, ranks: Count, kernels: Kernels, link_bandwidth: BytePerSecond) -> Second:
    """All-to-all of `size` bytes held by each rank, of which (n-1)/n leave it: one exchange, no ring."""
    moved = (ranks - 1) / ranks * size
    took = _collective(
        moved, moved, kernels.alltoall_overhead, ranks,
        kernels.link_fraction, kernels.link_crowding, kernels.link_ramp, link_bandwidth,
    )  # fmt: skip
    return where(ranks > 1, took, 0.0)


def point_to_point_time(size: Byte, kernels: Kernels, link_bandwidth: BytePerSecond) -> Second:
    """One message of `size` bytes to a peer in the link domain."""
    return _collective(
        size, size, kernels.collective_overhead, 2.0, kernels.link_fraction, 0.0, kernels.link_ramp, link_bandwidth
    )


def elementwise_time(traffic: Byte, kernels: Kernels, memory_bandwidth: BytePerSecond, launches: Count = 1.0) -> Second:
    """Kernels that move `traffic` bytes and compute next to nothing: norms, activations, copies, optimizers."""
    return launches * kernels.elementwise_overhead + traffic / (kernels.elementwise_fraction * memory_bandwidth)


def _collective(
    moved: Byte, least: Byte, start: Second, ranks: Count, fraction: Ratio, crowding: Ratio, ramp: Second,
    link_bandwidth: BytePerSecond,
) -> Second:  # fmt: skip
    """Latency, bandwidth, and between them a ramp: a pipeline fills as the square root of the message.

    On PCIe ranks crowd a shared root, through an NVLink switch they help each other, as (n-2)/n of `crowding`.
    """
    wire = moved / (fraction * link_bandwidth) * (1.0 + crowding * (ranks - 2) / ranks)
    return start + np.maximum(wire + np.sqrt(np.maximum(wire, 0.0) * ramp), least / link_bandwidth)
