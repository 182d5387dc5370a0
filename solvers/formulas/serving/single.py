"""One pass of a batch on one accelerator, for any kind of model."""

from __future__ import annotations

from typing import Any

import numpy as np

from solvers.columns import Array, Byte, Flop, Second, Token, either, given, otherwise, where
from solvers.formulas.kernels import Kernels, smooth_maximum
from solvers.formulas.serving.constants import Engine
from solvers.formulas.serving.plan import at_efficiency, usable
from solvers.formulas.serving.step import Layout, decode_attention, forward_step, prompt_attention, step_rates
from solvers.formulas.training.layer import FUSED, net_times, rates
from solvers.formulas.transformer import layer_params, mean_keys, windowed
from solvers.reasons import CONTEXT_EXCEEDED, DOES_NOT_FIT, PRECISION_UNSUPPORTED, flag
from solvers.records import Architecture, Device

WORDS = 2048.0
"""Tokens of a sequence where nobody says, for models whose context is as long."""
ALONE = Layout(np.float64(1.0), np.float64(1.0), np.float64(1.0), np.float64(1.0))
TRAINING_PASSES = 3.0
"""Forward, gradient of the input, gradient of the weights: each as much arithmetic (arXiv:2001.08361, section 2.1)."""
TRAINING_STATE = 16.0
"""Bytes a parameter: two of weights, two of gradients, twelve of Adam's states (Rajbhandari et al. 2020)."""
UPDATE_TRAFFIC = 30.0
"""Bytes a parameter that an update reads and writes: its states twice, weights and gradients."""


def single_pass(plan: Any) -> dict[str, Array]:
    """Every column of the answer."""
    model = plan.model
    kernels, engine = at_efficiency(plan.kernels, plan.engine, plan.efficiency)
    device = usable(plan.device, engine)
    training = plan.phase == 1
    is_net = model.hidden == 0.0
    tokens = where(is_net, 0.0, otherwise(plan.seq_len, np.minimum(WORDS, model.max_context)))
    passes = where(training, TRAINING_PASSES, 1.0)
    spent, compute, moving, work, overhead = either(
        is_net,
        lambda: _net(plan, tokens, training, device, kernels, engine),
        lambda: sequence_pass(model, plan.batch_size, np.maximum(tokens, 1.0), passes, device, kernels, engine),
    )
    update = training * model.params_total * UPDATE_TRAFFIC / (kernels.elementwise_fraction * device.memory_bandwidth)
    latency, memory, work = spent + update, moving + update, work * passes
    stored = model.params_total * where(training, TRAINING_STATE, device.weight_bytes)
    kept = where(
        is_net, model.forward_traffic / 4.0, tokens * model.hidden * device.activation_bytes * model.layers * 17.0
    )
    live = plan.batch_size * where(training, kept, where(is_net, model.forward_traffic / 20.0, 0.0))
    needed = stored + live + engine.non_torch_bytes
    busiest = np.maximum(np.maximum(compute, memory), overhead)
    return {
        "latency": latency,
        "throughput": plan.batch_size / latency,
        "token_throughput": plan.batch_size * tokens / latency,
        "compute_time": compute,
        "memory_time": memory,
        "overhead_time": overhead,
        "work": work,
        "traffic": memory * kernels.gemm_bandwidth_fraction * device.memory_bandwidth,
        "model_flops_utilization": work / (latency * device.peak_flops),
        "memory_per_accelerator": needed,
        "bottleneck": where(busiest == compute, 0, where(busiest == memory, 1, 3)),
        "reasons": flag(needed > device.memory_capacity, DOES_NOT_FIT)
        | flag(plan.device.precision_supported == 0.0, PRECISION_UNSUPPORTED)
        | flag(given(plan.seq_len) & (tokens > model.max_context), CONTEXT_EXCEEDED),
    }


def _net(
    plan: Any, tokens: Token, training: Array, device: Device, kernels: Kernels, engine: Engine
) -> tuple[Second, Second, Second, Flop, Second]:
    """A net forward, or trained as `DistributedModel` does it: (time, arithmetic, traffic, forward work, launches)."""
    model, batch = plan.model, plan.batch_size
    forward, arithmetic, traffic, launches = net_pass(model, batch, device, kernels, engine)
    rate = rates(plan.device, plan.constants, tokens, FUSED, plan.efficiency)
    learned = net_times(model, device, plan.constants, batch, rate)
    time = where(training, learned.forward + learned.backward, forward)
    compute = where(training, TRAINING_PASSES * batch * model.forward_flops / rate.convolution, arithmetic)
    return time, compute, where(training, time - compute, traffic), model.forward_flops * batch, launches


def net_pass(
    model: Architecture, batch: Array, device: Device, kernels: Kernels, engine: Engine
) -> tuple[Second, Second, Second, Second]:
    """Forward through a net given by its work and its activations' traffic: (time, arithmetic, traffic, launches).

    Convolutions reach a smaller part of the peak than large products, each layer is launched, and activations are
    written and read by fused kernels. Training such a net is timed as `DistributedModel` does it.
    """
    flops = model.forward_flops * batch
    moved = model.forward_traffic * batch * (device.activation_bytes / 2.0) + model.params_total * device.weight_bytes
    compute = flops * engine.convolution_slowdown / (kernels.gemm_flops_fraction * device.peak_flops)
    memory = moved * engine.net_traffic / (kernels.elementwise_fraction * device.memory_bandwidth)
    launches = model.layers * engine.net_kernel_time
    return launches + smooth_maximum(compute, memory), compute, memory, launches


def sequence_pass(
    model: Architecture, batch: Array, tokens: Token, passes: Array, device: Device, kernels: Kernels, engine: Engine
) -> tuple[Second, Second, Second, Flop, Second]:
    """A transformer over sequences: (time, arithmetic, traffic, work of a forward pass, launches).

    A sequence of one token decodes: its attention is bound by the cache, and every step costs the engine its own time.
    """
    single = tokens == 1.0
    decoding = decode_attention(model, ALONE, batch, 1.0, tokens, CACHE_BYTES, device, kernels, engine)
    reading = prompt_attention(model, ALONE, batch, tokens, tokens, device, kernels, engine)
    rated = step_rates(model, ALONE, device, kernels, engine)
    step = forward_step(
        ALONE, rated, batch * tokens, batch, where(single, decoding, reading),
        where(single, engine.kernel_time, engine.prefill_kernel_time), where(single, 1.0, rated.prompt_slowdown),
        where(single, rated.expert_slowdown, rated.expert_prompt_slowdown),
    )  # fmt: skip
    host = single * (engine.step_time + engine.sequence_time * batch)
    work = forward_work(model, batch, tokens)
    return passes * step.total + host, passes * step.compute, passes * step.memory, work, passes * step.overhead + host


CACHE_BYTES: Byte = 2.0
"""A 16-bit cache."""


def forward_work(model: Architecture, batch: Array, tokens: Token) -> Flop:
    """Two operations an active parameter and token, and the scores of attention."""
    params = layer_params(model)
    keys = mean_keys(model, tokens, tokens)
    seen = model.attention_layers * keys + model.sliding_layers * np.minimum(keys, windowed(model))
    scores = 2.0 * seen * model.heads * (model.head_dim + model.v_head_dim)
    return (
        batch * tokens * (2.0 * (model.params_active - params.embedding - params.head) + scores)
        + 2.0 * batch * params.head
    )
