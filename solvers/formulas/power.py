"""Power of accelerators that serve a model, from what they do rather than from what they could.

The response to arithmetic and traffic is that of `solvers.formulas.energy`; here stands how much of both a decoding
replica does: `benchmarks/fit_power.py` fits the response with the same accounting.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from solvers.columns import Byte, Count, Ratio, Sample, Token, TokenPerSecond, Watt, column
from solvers.formulas.energy import accelerator_power
from solvers.formulas.kernels import experts_touched
from solvers.formulas.transformer import layer_params, sequence_cache_bytes
from solvers.records import Architecture, Device


@dataclass(frozen=True)
class PowerResponse:
    """How an accelerator's power follows what it does."""

    waiting_power: Ratio = column("share of the design power drawn while waiting")
    resident_response: Ratio = column("response of the power to kernels being there at all")
    compute_response: Ratio = column("response of the power to arithmetic")
    memory_response: Ratio = column("response of the power to memory traffic")


def serving_power(
    model: Architecture,
    device: Device,
    response: PowerResponse,
    tokens_per_second: TokenPerSecond,
    sequences: Sample,
    context: Token,
    prompt_share: Ratio,
    accelerators: Count,
    kv_bytes: Byte,
) -> Watt:
    """Mean power of each accelerator of a replica that decodes `tokens_per_second` over `sequences` at a time.

    Every step reads the weights (of experts, those touched) and the caches; every token is worth 2 FLOP an active
    parameter, and `prompt_share` tokens of prompts besides.

    Args:
        tokens_per_second: output tokens of the replica.
        prompt_share: prompt tokens that are passed for each output token.
        accelerators: of the replica.
    """
    expert = layer_params(model).expert
    touched = experts_touched(sequences, model.top_k, np.maximum(model.num_experts, 1.0))
    idle = np.maximum(model.num_experts - touched, 0.0) * model.moe_layers * expert
    weights = (model.params_total - idle) * device.weight_bytes
    steps = tokens_per_second / np.maximum(sequences, 1.0)
    traffic = steps * (weights + sequences * sequence_cache_bytes(model, 1.0, kv_bytes, context))
    work = 2.0 * model.params_active * tokens_per_second * (1.0 + prompt_share)
    return accelerator_power(
        device.tdp,
        1.0,
        np.minimum(work / (accelerators * device.peak_flops), 1.0),
        np.minimum(traffic / (accelerators * device.memory_bandwidth), 1.0),
        response.waiting_power,
        response.resident_response,
        response.compute_response,
        response.memory_response,
    )
