"""The matrix products of a model on one rank as a few times, so that a pass of any number of tokens is quickly told.

What depends on the model, the layout and the device alone is worked out once; a pass then costs a handful of
operations at the rank of its batch.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from solvers.columns import Byte, Count, FlopPerSecond, Ratio, Second, Token
from solvers.formulas.kernels import Kernels, smooth_maximum
from solvers.formulas.serving.constants import Engine
from solvers.formulas.serving.queueing import decay
from solvers.records import Architecture, Device


@dataclass(frozen=True)
class Products:
    """All products of one kind in a pass: fixed time, time to read weights, and times for each row."""

    fixed: Second
    read: Second
    walk: Second
    row_arithmetic: Second
    row_traffic: Second
    row_quantise: Second


@dataclass(frozen=True)
class Product:
    """How close the products in one arithmetic come to the peaks; never beyond them, whatever the engine's factors."""

    flops_fraction: Ratio
    read_fraction: Ratio
    overhead: Second
    walk: Second
    quantise_passes: Ratio


def own_product(kernels: Kernels, engine: Engine) -> Product:
    """Products in the precision's own arithmetic."""
    return Product(
        np.minimum(kernels.gemm_flops_fraction / engine.gemm_slowdown, 1.0) * engine.accumulate_gain,
        np.minimum(kernels.gemm_bandwidth_fraction / engine.read_slowdown, 1.0),
        kernels.gemm_overhead,
        kernels.gemm_walk * engine.walk_slowdown,
        kernels.quantise_passes,
    )


def wide_product(engine: Engine) -> Product:
    """Products that stay at 16 bit: the vocabulary head, and attention where only experts are narrow."""
    return Product(
        engine.wide_flops_fraction, engine.wide_bandwidth_fraction, engine.wide_overhead, engine.wide_walk, 0.0
    )


def mixed_product(wide: Ratio, one: Product, other: Product) -> Product:
    """The one where `wide` is 1, the other where it is 0."""
    return Product(*(
        wide * getattr(one, f) + (1.0 - wide) * getattr(other, f) for f in Product.__dataclass_fields__
    ))  # fmt: skip


def products(
    count: Count, layers: Count, weights: Count, width: Count, inner: Count, weight_bytes: Byte, peak: FlopPerSecond,
    device: Device, product: Product, unpack_work: Count = 0.0,
) -> Products:  # fmt: skip
    """`count` products in each of `layers`, that hold `weights` together and are joined by activations of `width`.

    Weights in blocks of few bits are read no faster than they are unpacked.
    """
    byte = layers / (product.read_fraction * device.memory_bandwidth)
    launches = layers * count
    return Products(
        fixed=launches * product.overhead,
        read=weights * np.maximum(weight_bytes * byte, layers * unpack_work / peak),
        walk=launches * inner * product.walk,
        row_arithmetic=layers * 2.0 * weights / (product.flops_fraction * peak),
        row_traffic=width * device.activation_bytes * byte,
        row_quantise=launches * inner * (product.quantise_passes * device.activation_bytes / device.memory_bandwidth),
    )


def products_time(made: Products, rows: Token, slowdown: Ratio = 1.0) -> tuple[Second, Second, Second]:
    """(time, arithmetic, traffic) of a pass of `rows` tokens through the products of one kind."""
    arithmetic = rows * (made.row_arithmetic * slowdown)
    traffic = made.read + rows * made.row_traffic
    return made.fixed + rows * made.row_quantise + smooth_maximum(arithmetic, traffic, made.walk), arithmetic, traffic


@dataclass(frozen=True)
class Experts:
    """The routed experts of all layers on the busiest rank."""

    fixed: Second
    miss: Ratio
    held: Count
    least: Count
    touched_arithmetic: Second
    touched_read: Second
    row_arithmetic: Second
    row_traffic: Second


def experts(
    model: Architecture, group: Count, ep_size: Count, device: Device, kernels: Kernels, engine: Engine
) -> Experts:
    """Routed experts divided over `ep_size` ranks, and each expert's width over the rest of the `group`.

    Tokens of one context choose alike, so they touch no more experts than fewer independent ones would; work goes to
    the busiest rank, which the kernels' measured power law of popularity loads above the mean.
    """
    num_experts = np.maximum(model.num_experts, 1.0)
    inner = model.moe_ffn_hidden * ep_size / group
    weights = model.mlp_matrices * model.hidden * inner
    routed = model.top_k / ep_size
    busiest = routed * (1.0 + kernels.routing_skew) * np.power(ep_size, engine.rank_skew_share * kernels.rank_skew)
    arithmetic = model.moe_layers * 2.0 * weights / (kernels.expert_flops_fraction * device.peak_flops)
    byte = model.moe_layers / (kernels.expert_bandwidth_fraction * device.memory_bandwidth)
    passes = kernels.expert_passes * (2.0 * model.hidden + model.mlp_matrices * inner) * device.activation_bytes
    return Experts(
        fixed=model.moe_layers * kernels.expert_overhead,
        miss=-engine.routing_independence * np.log1p(-np.minimum(model.top_k / num_experts, 0.999999)),
        held=num_experts / ep_size,
        least=np.minimum(routed, 1.0),
        touched_arithmetic=arithmetic * kernels.expert_half_rows,
        touched_read=weights * device.weight_bytes * byte,
        row_arithmetic=arithmetic * busiest,
        row_traffic=byte * passes * busiest,
    )


def experts_time(made: Experts, tokens: Token, slowdown: Ratio) -> tuple[Second, Second, Second]:
    """(time, arithmetic, traffic) of all routed experts in a pass of a group's `tokens`.

    They read the experts that the tokens touch, E (1 - (1 - k/E)^tokens), and work for the tokens routed.
    """
    touched = np.maximum(made.held * (1.0 - decay(tokens * made.miss)), made.least)
    arithmetic = tokens * made.row_arithmetic + touched * made.touched_arithmetic
    traffic = touched * made.touched_read + tokens * made.row_traffic
    return slowdown * (made.fixed + smooth_maximum(arithmetic, traffic)), arithmetic, traffic
