"""A whole serving plan: from its step and its ledger to what clients feel and what the plan yields."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

import numpy as np

from solvers.columns import Array, Byte, Flag, Sample, Token, given, otherwise
from solvers.formulas.kernels import Kernels, point_to_point_time
from solvers.formulas.serving.constants import Engine
from solvers.formulas.serving.memory import Ledger, cache_on_rank, largest_batch, ledger
from solvers.formulas.serving.queueing import quantile, share_within
from solvers.formulas.serving.reasons import serving_reasons, smallest_power_of_two
from solvers.formulas.serving.steady_state import (
    capacity,
    choose,
    closed_loop,
    open_loop,
    running_at_rate,
    static_batch,
    with_end,
)
from solvers.formulas.serving.step import (
    Layout,
    Rates,
    Step,
    decode_attention,
    forward_step,
    prompt_attention,
    step_rates,
)
from solvers.formulas.transformer import cache_bytes_per_token, sequence_cache_bytes
from solvers.records import Architecture, Device

KV_FORMATS = ("bf16", "fp16", "fp8", "int8", "fp4")
"""Formats of the cache."""
KV_BYTES = np.array([2.0, 2.0, 1.0, 1.0, 0.5625])
NORMAL_P95, NORMAL_P99 = 1.6449, 2.3263
DEFAULT_PROMPT = 1024.0
ENDLESS = 1e15


@dataclass(frozen=True)
class Lengths:
    """Tokens of a request: what is passed, what is cached before it, where decoding stands on average and at the end."""

    prompt: Token
    passed: Token
    output: Token
    context: Token
    longest: Token


def lengths(plan: Any) -> Lengths:
    """Prompt, answer and context of a mean request."""
    prompt = otherwise(plan.input_tokens, otherwise(plan.seq_len, DEFAULT_PROMPT))
    passed = np.maximum(prompt * (1.0 - plan.prefix_hit_rate), 1.0)
    context = otherwise(plan.seq_len, prompt + plan.output_tokens / 2.0)
    longest = np.where(
        given(plan.input_tokens), prompt + plan.output_tokens, otherwise(plan.seq_len, prompt + plan.output_tokens)
    )
    return Lengths(prompt, passed, plan.output_tokens, context, longest)


def usable(device: Device, engine: Engine) -> Device:
    """The device with a finite peak also where it lacks the precision, so that an infeasible plan has finite figures."""
    return dataclasses.replace(device, peak_flops=otherwise(device.peak_flops, engine.head_peak_flops))


def at_efficiency(kernels: Kernels, engine: Engine, efficiency: Array) -> tuple[Kernels, Engine]:
    """Constants in which a stated efficiency replaces the achieved fraction of the compute peak, and nothing else."""
    stated = given(efficiency)
    fraction = otherwise(efficiency, kernels.gemm_flops_fraction)
    experts = otherwise(efficiency, kernels.expert_flops_fraction)
    slow, prompts = np.where(stated, 1.0, engine.gemm_slowdown), np.where(stated, 1.0, engine.prefill_slowdown)
    return (
        dataclasses.replace(kernels, gemm_flops_fraction=fraction, expert_flops_fraction=experts),
        dataclasses.replace(engine, gemm_slowdown=slow, prefill_slowdown=prompts),
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
    step = forward_step(
        model, layout, rates, tokens, tokens, attention, engine.kernel_time, 1.0, rates.expert_slowdown, kernels
    )
    host = engine.step_time + (engine.sequence_time + sorts * (model.vocab * engine.sort_time)) * on_rank
    size = on_rank * (queries * rates.row_bytes)
    hop = point_to_point_time(size, kernels, otherwise(device.link_bandwidth, device.memory_bandwidth))
    return dataclasses.replace(
        step, total=step.total + (layout.pp_size - 1.0) * hop + host, overhead=step.overhead + host, host_time=host
    )


def prompt_step(
    model: Architecture, layout: Layout, prompts: Sample, passed: Token, prompt: Token,
    device: Device, kernels: Kernels, engine: Engine, rates: Rates | None = None,
) -> Step:  # fmt: skip
    """One pass of `prompts` prompts on every rank, each with `passed` tokens that no cached prefix answers."""
    rates = step_rates(model, layout, device, kernels, engine) if rates is None else rates
    attention = prompt_attention(model, layout, prompts, passed, prompt, device, kernels, engine)
    everywhere = prompts * layout.dp_size
    return forward_step(
        model, layout, rates, everywhere * passed, everywhere, attention,
        engine.prefill_kernel_time, rates.prompt_slowdown, rates.expert_prompt_slowdown, kernels,
    )  # fmt: skip


def serve(plan: Any) -> dict[str, Array]:
    """Every column of the answer."""
    model = plan.model
    layout = Layout(plan.tp_size, plan.pp_size, plan.dp_size, plan.ep_size)
    kernels, engine = at_efficiency(plan.kernels, plan.engine, plan.efficiency)
    engine = dataclasses.replace(
        engine,
        max_sequences=otherwise(plan.max_num_sequences, engine.max_sequences),
        max_batched_tokens=otherwise(plan.max_batched_tokens, engine.max_batched_tokens),
    )
    device = usable(plan.device, engine)
    kv_bytes = KV_BYTES[plan.kv_precision]
    request = lengths(plan)
    static = plan.batching == 1

    book = ledger(
        model, layout, request.longest, otherwise(plan.memory_utilization, engine.memory_share), device, engine
    )
    each = sequence_cache_bytes(model, layout.tp_size, kv_bytes, request.context) / layout.pp_size
    most = largest_batch(model, layout, book.pool, np.where(static, request.longest, request.context), kv_bytes, engine)
    sent = otherwise(plan.num_requests, ENDLESS) / plan.replicas
    slots = np.minimum(np.maximum(most, 1.0), np.maximum(sent, 1.0))

    rates = step_rates(model, layout, device, kernels, engine)

    def step(running: Sample) -> Step:
        return decode_step(model, layout, running, 1.0, request.context, kv_bytes, plan.sampling == 1, device, kernels, engine, rates)

    one_step, full_step = step(1.0).total, step(slots).total
    clients = otherwise(plan.concurrency, plan.batch_size)
    closed = np.where(given(plan.concurrency), np.minimum(clients, slots), clients)
    rate = otherwise(plan.request_rate, 1e-9) / plan.replicas
    streams = given(plan.request_rate)
    settled = np.where(plan.max_load, slots, np.where(streams, 1.0, closed))
    together = np.where(static, settled / layout.dp_size, newcomers(settled, request, layout, engine))
    prompts = prompt_step(model, layout, together, request.passed, request.prompt, device, kernels, engine, rates)
    chunks = np.ceil(request.passed / engine.prompt_chunk)
    overlapped = (chunks + layout.pp_size - 1.0) / (chunks * layout.pp_size)
    prefill = np.maximum(prompts.total, 1e-12) * (1.0 - engine.stage_overlap * (1.0 - overlapped))
    pace = np.maximum(prompts.total, 1e-12) / (together * layout.dp_size * layout.pp_size)

    opened = running_at_rate(rate, request.output, full_step, one_step, slots, engine, pace)
    running = np.maximum(np.where(streams & ~plan.max_load, np.minimum(opened, slots), settled), 1.0)
    clients = np.where(given(plan.concurrency) & ~plan.max_load, clients, running)
    decode = step(running)
    spared = np.minimum(engine.mixed_share * decode.shared / (together * layout.dp_size * layout.pp_size), 0.8 * pace)
    stall = (pace - spared) * (1.0 + (layout.dp_size - 1.0) * engine.uneven_ranks)
    loop = closed_loop(
        decode.total, prefill, pace, stall, running, clients, request.output, plan.length_variation, plan.requests_per_client,
        engine,
    )  # fmt: skip
    saturation = capacity(full_step, stall, slots, request.output, engine)
    stream = open_loop(
        decode.total, prefill, pace, stall, running, slots, rate, saturation, request.output, plan.length_variation, engine
    )
    batch = static_batch(decode.total, prefill, running, request.output)
    state = choose(streams & ~plan.max_load, stream, choose(static, batch, loop))

    state = with_end(state, running, sent)
    replicas, ranks = plan.replicas, layout.tp_size * layout.pp_size * layout.dp_size
    accelerators = replicas * ranks
    requests = state.request_rate * replicas
    throughput = requests * request.output
    load = np.where(streams, rate / saturation, state.request_rate / np.maximum(saturation, 1e-12))
    spread = plan.length_variation
    wait_spread = np.sqrt(spread * spread + np.minimum(load * load, 1.0))
    needed = cache_on_rank(model, layout, running, request.context, kv_bytes)
    memory = book.weights + book.activation_peak + book.reserved + needed
    overdue = share_within(otherwise(plan.ttft_slo, 1e9), state.ttft, np.maximum(wait_spread, 0.1))
    paced = share_within(otherwise(plan.tpot_slo, 1e9), state.tpot, np.maximum(0.3 * spread, 0.05))
    compute, traffic = decode.compute, decode.memory + decode.attention
    wires, rest = decode.communication, decode.overhead
    busiest = np.maximum(np.maximum(compute, traffic), np.maximum(wires, rest))
    bottleneck = np.where(
        busiest == traffic, 1, np.where(busiest == compute, 0, np.where(busiest == wires, 2, 3))
    )
    return {
        "itl": decode.total,
        "tpot": state.tpot,
        "tpot_p99": quantile(state.tpot, np.maximum(0.3 * spread, 0.05), NORMAL_P99),
        "ttft": state.ttft,
        "ttft_p50": quantile(state.ttft, wait_spread, 0.0),
        "ttft_p95": quantile(state.ttft, wait_spread, NORMAL_P95),
        "ttft_p99": quantile(state.ttft, wait_spread, NORMAL_P99),
        "e2e_latency": state.e2e_latency,
        "e2e_latency_p50": quantile(state.e2e_latency, spread, 0.0),
        "e2e_latency_p95": quantile(state.e2e_latency, spread, NORMAL_P95),
        "e2e_latency_p99": quantile(state.e2e_latency, spread, NORMAL_P99),
        "prefill_time": prefill,
        "decode_step_time": decode.total,
        "effective_throughput": throughput,
        "tokens_per_accelerator": throughput / accelerators,
        "prefill_throughput": request.prompt / pace * replicas,
        "request_throughput": requests,
        "saturation_rate": saturation * replicas,
        "goodput": requests * overdue * paced,
        "serving_load": load,
        "running_batch": running,
        "max_batch_size": most,
        "max_context_tokens": longest_context(model, layout, book, running, kv_bytes),
        "kv_pool": np.maximum(book.pool, 0.0),
        "kv_pool_tokens": np.maximum(book.pool, 0.0) / np.maximum(each, 1.0) * request.context * layout.dp_size,
        "kv_bytes_per_token": (model.attention_layers + model.sliding_layers)
        * cache_bytes_per_token(model, layout.tp_size, kv_bytes) / layout.pp_size,
        "kv_cache": needed,
        "weights_per_accelerator": book.weights,
        "activation_peak": book.activation_peak,
        "memory_per_accelerator": memory,
        "smallest_tp_size": smallest_power_of_two(
            book.weights * layout.tp_size, book.limit - book.activation_peak - book.reserved
        ),
        "tokens_per_step": np.ones_like(decode.total),
        "n_accelerators": accelerators,
        "accelerator_power": device.tdp * (0.3 + 0.6 * np.minimum(compute / decode.total, 1.0) + 0.1 * traffic / decode.total),
        "bottleneck": bottleneck,
        "reasons": serving_reasons(plan, layout, request, book, needed, memory, most, load, streams),
    }  # fmt: skip


def newcomers(running: Sample, request: Lengths, layout: Layout, engine: Engine) -> Sample:
    """Prompts that enter a rank together: as many as answers end in a step, within what one pass takes."""
    arriving = running / (layout.dp_size * request.output)
    return np.maximum(np.minimum(arriving, engine.max_batched_tokens / request.passed), 1.0)


def longest_context(model: Architecture, layout: Layout, book: Ledger, running: Sample, kv_bytes: Byte) -> Token:
    """The context at which the batch just fills the pool, no longer than the model's own."""
    token = cache_on_rank(model, layout, running, 1.0, kv_bytes)
    return np.minimum(np.floor(np.maximum(book.pool, 0.0) / np.maximum(token, 1e-9)), model.max_context)

