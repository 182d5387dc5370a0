"""What a serving plan asks of a pass: lengths, formats, and the passes that decode and that take prompts in."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

import numpy as np

from solvers.columns import Array, Byte, Flag, Sample, Token, given, otherwise, where
from solvers.formulas.kernels import Kernels
from solvers.formulas.serving.constants import Engine
from solvers.formulas.serving.exchange import collective_time
from solvers.formulas.serving.step import (
    Layout,
    Rates,
    Step,
    decode_attention,
    forward_step,
    prompt_attention,
    step_rates,
)
from solvers.records import Architecture, Device

KV_FORMATS = ("bf16", "fp16", "fp8", "int8", "fp4")
"""Formats of the cache."""
KV_BYTES = np.array([2.0, 2.0, 1.0, 1.0, 0.5625])
DEFAULT_PROMPT = 1024.0


@dataclass(frozen=True)
class Lengths:
    """Tokens of a request: all of its prompt, what is passed of it, and where decoding stands, on average and last."""

    prompt: Token
    passed: Token
    output: Token
    context: Token
    longest: Token


def limited(plan: Any, engine: Engine) -> Engine:
    """The engine with the limits that the plan states in place of its own; it sizes its sampler by them."""
    if never(given(plan.max_num_sequences), given(plan.max_batched_tokens)):
        return engine
    return dataclasses.replace(
        engine,
        max_sequences=otherwise(plan.max_num_sequences, engine.max_sequences),
        profile_sequences=otherwise(plan.max_num_sequences, engine.profile_sequences),
        max_batched_tokens=otherwise(plan.max_batched_tokens, engine.max_batched_tokens),
    )


def lengths(plan: Any) -> Lengths:
    """Prompt, answer and context of a mean request."""
    prompt = otherwise(plan.input_tokens, otherwise(plan.seq_len, DEFAULT_PROMPT))
    passed = np.maximum(prompt * (1.0 - plan.prefix_hit_rate), 1.0)
    context = otherwise(plan.seq_len, prompt + plan.output_tokens / 2.0)
    longest = where(
        given(plan.input_tokens), prompt + plan.output_tokens, otherwise(plan.seq_len, prompt + plan.output_tokens)
    )
    return Lengths(prompt, passed, plan.output_tokens, context, longest)


def never(*conditions: Flag) -> bool:
    """True where all are single conditions (of one value, or one for all rows) that do not hold: skip what they ask."""
    return all(np.size(condition) == 1 and not condition for condition in conditions)


def usable(device: Device, engine: Engine) -> Device:
    """The device with a finite peak also where it lacks the precision: an infeasible plan has finite figures."""
    if never(np.isnan(device.peak_flops)):
        return device
    return dataclasses.replace(device, peak_flops=otherwise(device.peak_flops, engine.head_peak_flops))


def at_efficiency(kernels: Kernels, engine: Engine, efficiency: Array) -> tuple[Kernels, Engine]:
    """Constants in which a stated efficiency replaces the achieved fraction of the compute peak, and nothing else."""
    stated = given(efficiency)
    if never(stated):
        return kernels, engine
    fraction = otherwise(efficiency, kernels.gemm_flops_fraction)
    experts = otherwise(efficiency, kernels.expert_flops_fraction)
    slow, prompts = where(stated, 1.0, engine.gemm_slowdown), where(stated, 1.0, engine.prefill_slowdown)
    return (
        dataclasses.replace(kernels, gemm_flops_fraction=fraction, expert_flops_fraction=experts),
        dataclasses.replace(
            engine,
            gemm_slowdown=slow,
            prefill_slowdown=prompts,
            wide_flops_fraction=otherwise(efficiency, engine.wide_flops_fraction),
        ),
    )


def decode_step(
    model: Architecture, layout: Layout, running: Sample, queries: Token, context: Token, kv_bytes: Byte, sorts: Flag,
    device: Device, kernels: Kernels, engine: Engine, rates: Rates | None = None,
) -> Step:  # fmt: skip
    """One pass of `running` sequences of a replica, each with `queries` new tokens at a context.

    With a pipeline, as many microbatches as stages are under way: a token takes all layers at a stage's share of the
    batch, and the hops between stages. Sampling by top-p or top-k sorts every sequence's logits, which costs more than
    the rest of what a sequence adds.
    """
    rates = step_rates(model, layout, device, kernels, engine) if rates is None else rates
    on_rank = np.maximum(running / (layout.pp_size * layout.dp_size), 1.0)
    tokens = on_rank * (layout.dp_size * queries)
    attention = decode_attention(model, layout, on_rank, queries, context, kv_bytes, device, kernels, engine)
    step = forward_step(layout, rates, tokens, tokens, attention, engine.kernel_time, 1.0, rates.expert_slowdown)
    host = engine.step_time + (engine.sequence_time + sorts * (model.vocab * engine.sort_time)) * on_rank
    passing = collective_time(rates.stages, on_rank * (queries * rates.row_bytes))
    return dataclasses.replace(step, total=step.total + passing + host, overhead=step.overhead + host, host_time=host)


def prompt_step(
    model: Architecture, layout: Layout, prompts: Sample, passed: Token, prompt: Token,
    device: Device, kernels: Kernels, engine: Engine, rates: Rates | None = None,
) -> Step:  # fmt: skip
    """One pass of `prompts` prompts on every rank, each with `passed` tokens that no cached prefix answers.

    Tokens beyond a chunk take further passes, each of which reads the weights, and unpacks them where the engine does.
    """
    rates = step_rates(model, layout, device, kernels, engine) if rates is None else rates
    attention = prompt_attention(model, layout, prompts, passed, prompt, device, kernels, engine)
    passes = np.maximum(prompts * passed / engine.prompt_chunk, 1.0)
    each = prompts * layout.dp_size / passes
    step = forward_step(
        layout, rates, each * passed, each, attention / passes,
        engine.prefill_kernel_time, rates.prompt_slowdown, rates.expert_prompt_slowdown,
    )  # fmt: skip
    unpacked = dataclasses.replace(step, total=step.total + rates.unpack, shared=step.shared + rates.unpack)
    return Step(*(getattr(unpacked, name) * passes for name in Step.__dataclass_fields__))
