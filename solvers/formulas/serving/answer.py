"""A whole serving plan: from its passes and its ledger to what clients feel and what the plan yields."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from solvers.columns import Array, Byte, PerSecond, Sample, Second, Token, Watt, given, otherwise, where
from solvers.formulas.energy import accelerator_power
from solvers.formulas.kernels import Kernels
from solvers.formulas.serving.constants import Engine
from solvers.formulas.serving.disaggregated import passed_tokens, prefill_replicas, transfer_time
from solvers.formulas.serving.drafting import drafting_of, drafting_reasons, speculated, with_draft
from solvers.formulas.serving.memory import adapters_on_rank, cache_on_rank, largest_batch, ledger
from solvers.formulas.serving.plan import (
    KV_BYTES,
    Lengths,
    at_efficiency,
    decode_step,
    lengths,
    limited,
    never,
    prompt_step,
    usable,
)
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
from solvers.formulas.serving.step import Layout, Rates, Step, step_rates
from solvers.formulas.transformer import cache_bytes_per_token, index_bytes_per_token
from solvers.records import Architecture, Device

NORMAL_P95, NORMAL_P99 = 1.6449, 2.3263
ENDLESS = 1e15
OFFLOAD = ("none", "host", "storage")
"""Where prefixes are kept that do not stay in the accelerator's memory."""
SHORTEST = 1e-12
TOKEN_SPREAD = 0.3
"""Variation of the time a token over that of the lengths: a mean over many steps moves less than its parts."""


def serve(plan: Any, drafting: bool) -> dict[str, Array]:
    """Every column of the answer. `drafting` says that some plan drafts."""
    model = plan.model
    layout = Layout(plan.tp_size, plan.pp_size, plan.dp_size, plan.ep_size)
    kernels, engine = at_efficiency(plan.kernels, plan.engine, plan.efficiency)
    engine = limited(plan, engine)
    device = usable(plan.device, engine)
    kv_bytes = KV_BYTES[plan.kv_precision]
    request = lengths(plan)
    static, streams = plan.batching == 1, given(plan.request_rate) & ~plan.max_load
    rates = step_rates(model, layout, device, kernels, engine)

    # memory
    passing_together = where(static, plan.batch_size / layout.dp_size * request.prompt, request.longest)
    book = ledger(
        model, layout, passing_together, otherwise(plan.memory_utilization, engine.memory_share), device, engine
    )
    adapters = adapters_on_rank(model, layout, plan.lora_slots, plan.lora_rank)
    book = dataclasses.replace(book, weights=book.weights + adapters, pool=book.pool - engine.pool_share * adapters)
    held = where(static, request.longest, request.context)
    sequence_bytes = cache_on_rank(model, layout, 1.0, held, kv_bytes)
    drafted = drafting_of(plan) if drafting else None
    if drafted is not None:
        book, sequence_bytes = with_draft(book, sequence_bytes, drafted, layout, held, kv_bytes, plan.device, engine)
    token_bytes = sequence_bytes / held
    most = largest_batch(book.pool, sequence_bytes, layout.dp_size, engine)
    sent = otherwise(plan.num_requests, ENDLESS) / plan.replicas
    slots = np.minimum(np.maximum(most, 1.0), np.maximum(sent, 1.0))

    def step(running: Sample) -> Step:
        return decode_step(
            model, layout, running, 1.0, request.context, kv_bytes, plan.sampling == 1, device, kernels, engine, rates
        )

    # prompts
    request, fetching = with_prefix(plan, request, rates, token_bytes)
    clients = otherwise(plan.concurrency, plan.batch_size)
    closed = where(given(plan.concurrency), np.minimum(clients, slots), clients)
    settled = where(plan.max_load, slots, where(streams, 1.0, closed))
    together = where(static, np.maximum(settled / layout.dp_size, 1.0), newcomers(settled, request, layout, engine))
    crowd = np.maximum(engine.prompt_chunk / request.passed, 2.0)
    side_by_side = layout.dp_size * layout.pp_size
    lone = prompt_step(model, layout, 1.0, request.passed, request.prompt, device, kernels, engine, rates).total
    crowded = prompt_step(model, layout, crowd, request.passed, request.prompt, device, kernels, engine, rates).total
    chunks = np.ceil(request.passed / engine.prompt_chunk)
    overlapped = (chunks + layout.pp_size - 1.0) / (chunks * layout.pp_size)
    split = plan.disaggregated & ~static
    moving = where(split, transfer_time(token_bytes * request.prompt, engine.network_bandwidth), 0.0)
    fullness = np.minimum((together - 1.0) / (crowd - 1.0), 1.0)
    between = (lone + fullness * (crowded - lone)) * np.maximum(together / crowd, 1.0)
    pass_time = np.maximum(between, SHORTEST)
    prefill = pass_time * (1.0 - engine.stage_overlap * (1.0 - overlapped)) + fetching
    pace = pass_time / (together * side_by_side)
    fast_pace = np.maximum(crowded, SHORTEST) / (crowd * side_by_side)

    # steady state of a replica
    farthest = engine.max_sequences * layout.dp_size
    full = step(slots).total
    taking = where(
        split,
        prefill_replicas(
            plan.replicas, plan.prefill_replicas, 1.0 / fast_pace, capacity(full, 0.0, slots, request.output, engine)
        ),
        0.0,
    )
    decoding = where(split, np.maximum(plan.replicas - taking, 1.0), plan.replicas)
    rate = otherwise(plan.request_rate, SHORTEST) / decoding
    prompt_rate = where(split, otherwise(plan.request_rate, SHORTEST) / np.maximum(taking, 1.0), rate)
    if never(streams):
        running = np.maximum(settled, 1.0)
    else:
        far, alone = step(farthest).total, step(1.0).total
        opened = running_at_rate(rate, request.output, far, alone, farthest, engine, where(split, 0.0, pace))
        running = np.maximum(where(streams, np.minimum(opened, slots), settled), 1.0)
    clients = where(given(plan.concurrency) & ~plan.max_load, clients, running)
    decode = step(running)
    spared = np.minimum(engine.mixed_share * decode.shared / (together * side_by_side), 0.8 * pace)
    stall = where(split, 0.0, (pace - spared) * (1.0 + (layout.dp_size - 1.0) * engine.uneven_ranks))

    def passing(drawn: Architecture, batch: Sample, queries: Token) -> Step:
        return decode_step(
            drawn, layout, batch, queries, request.context, kv_bytes, plan.sampling == 1, device, kernels, engine
        )

    guess = None if drafted is None else speculated(plan, drafted, running, decode, passing, layout.tp_size, device)
    itl = decode.total if guess is None else guess.itl
    drafted_full = full if guess is None else full * (itl / decode.total)  # as much faster a token as at this batch
    saturation = capacity(drafted_full, stall, slots, request.output, engine)
    spread = plan.length_variation
    loop = closed_loop(
        itl, prefill, fast_pace, stall, running, clients, request.output, spread, plan.requests_per_client, engine
    )
    state = choose(static, static_batch(itl, prefill, running, request.output), loop)
    if not never(streams):
        stream = open_loop(
            itl,
            prefill,
            fast_pace,
            stall,
            running,
            slots,
            rate,
            prompt_rate,
            saturation,
            request.output,
            spread,
            engine,
        )
        state = choose(streams, stream, state)
    state = with_end(state, running, sent)

    # the whole plan
    ranks = layout.tp_size * side_by_side
    accelerators = plan.replicas * ranks
    prompt_limit = where(split, np.maximum(taking, 1.0) / fast_pace, np.inf)
    requests = np.minimum(state.request_rate * decoding, prompt_limit)
    saturated_at = np.minimum(saturation * decoding, prompt_limit)
    load = where(streams, plan.request_rate, requests) / np.maximum(saturated_at, SHORTEST)
    throughput = requests * request.output
    ttft, e2e = state.ttft + moving, state.e2e_latency + moving
    wait_spread = np.sqrt(spread * spread + np.minimum(load * load, 1.0))
    token_spread = np.maximum(TOKEN_SPREAD * spread, 0.05)
    needed = running / layout.dp_size * sequence_bytes
    in_time = share_within(otherwise(plan.ttft_slo, 1e9), ttft, np.maximum(wait_spread, 0.1))
    in_pace = share_within(otherwise(plan.tpot_slo, 1e9), state.tpot, token_spread)
    reasons = serving_reasons(plan, layout, request, book, needed, most, load, streams, split)
    if drafted is not None:
        reasons = reasons | drafting_reasons(plan, drafted, request.context)
    power = mean_power(plan, request, decode, state.tpot, requests / accelerators, kernels, device)
    return {
        "itl": itl,
        "tpot": state.tpot,
        "tpot_p99": quantile(state.tpot, token_spread, NORMAL_P99),
        "ttft": ttft,
        "ttft_p50": quantile(ttft, wait_spread, 0.0),
        "ttft_p95": quantile(ttft, wait_spread, NORMAL_P95),
        "ttft_p99": quantile(ttft, wait_spread, NORMAL_P99),
        "e2e_latency": e2e,
        "e2e_latency_p50": quantile(e2e, spread, 0.0),
        "e2e_latency_p95": quantile(e2e, spread, NORMAL_P95),
        "e2e_latency_p99": quantile(e2e, spread, NORMAL_P99),
        "prefill_time": prefill,
        "decode_step_time": decode.total,
        "decode_products_time": decode.projections + decode.mlp + decode.head,
        "decode_experts_time": decode.experts,
        "decode_attention_time": decode.attention,
        "decode_exchange_time": decode.communication,
        "decode_overhead_time": decode.overhead,
        "transfer_time": moving + fetching,
        "effective_throughput": throughput,
        "tokens_per_accelerator": throughput / accelerators,
        "prefill_throughput": request.prompt / fast_pace * where(split, taking, plan.replicas),
        "request_throughput": requests,
        "saturation_rate": saturated_at,
        "goodput": requests * in_time * in_pace,
        "serving_load": load,
        "running_batch": running,
        "best_prefill_replicas": taking,
        "max_batch_size": most,
        "max_context_tokens": np.minimum(
            np.floor(np.maximum(book.pool, 0.0) / np.maximum(running / layout.dp_size * token_bytes, SHORTEST)),
            model.max_context,
        ),
        "kv_pool": np.maximum(book.pool, 0.0),
        "kv_pool_tokens": np.maximum(book.pool, 0.0) / np.maximum(token_bytes, SHORTEST) * layout.dp_size,
        "kv_bytes_per_token": (
            (model.attention_layers + model.sliding_layers) * cache_bytes_per_token(model, layout.tp_size, kv_bytes)
            + model.attention_layers * index_bytes_per_token(model)
        ) / layout.pp_size,
        "kv_cache": needed,
        "weights_per_accelerator": book.weights,
        "activation_peak": book.activation_peak,
        "memory_per_accelerator": (book.weights + book.activation_peak + book.reserved + needed / engine.pool_share)
        * (device.memory_capacity / book.limit),
        "smallest_tp_size": smallest_power_of_two(
            book.weights * layout.tp_size, book.limit - book.activation_peak - book.reserved
        ),
        "tokens_per_step": np.ones_like(itl) if guess is None else guess.tokens_per_step,
        "speculation_speedup": np.ones_like(itl) if guess is None else guess.speculation_speedup,
        "best_draft_tokens": np.zeros_like(itl) if guess is None else guess.best_draft_tokens,
        "break_even_batch": np.zeros_like(itl) if guess is None else guess.break_even_batch,
        "n_accelerators": accelerators,
        "accelerator_power": power,
        "energy_per_request": power * accelerators / np.maximum(requests, SHORTEST),
        "tokens_per_query": request.output * np.ones_like(itl),
        "bottleneck": busiest_of(decode),
        "reasons": reasons,
    }  # fmt: skip


def newcomers(running: Sample, request: Lengths, layout: Layout, engine: Engine) -> Sample:
    """Prompts that enter a rank together: as many as answers end in a step, within what one pass takes."""
    arriving = running / (layout.dp_size * request.output)
    return np.maximum(np.minimum(arriving, engine.prompt_chunk / request.passed), 1.0)


def with_prefix(plan: Any, request: Lengths, rates: Rates, token_bytes: Byte) -> tuple[Lengths, Array]:
    """Lengths with what a cached prefix spares, and the time to fetch it where it is kept off the accelerator."""
    device = plan.device
    per_token = (
        rates.projections.row_arithmetic + rates.mlp.row_arithmetic + rates.experts.row_arithmetic
    ) * rates.prompt_slowdown
    wire = where(plan.kv_offload == 2, device.storage_bandwidth, device.host_link_bandwidth)
    passed, fetching = passed_tokens(
        request.prompt,
        request.prompt - request.passed,
        plan.kv_offload > 0,
        per_token,
        token_bytes,
        otherwise(wire, 1.0),
    )
    return dataclasses.replace(request, passed=passed), fetching


def mean_power(
    plan: Any, request: Lengths, decode: Step, token_time: Second, rate: PerSecond, kernels: Kernels, device: Device
) -> Watt:
    """Power of one accelerator, from the share of time its kernels run and what they do in it.

    Args:
        rate: requests a second for each accelerator.
    """
    busy = np.minimum(1.0 - decode.host_time / np.maximum(token_time, SHORTEST), 1.0)
    work = 2.0 * plan.model.params_active * (request.passed + request.output) * rate
    reading = decode.memory * kernels.gemm_bandwidth_fraction + decode.attention * kernels.decode_bandwidth_fraction
    return accelerator_power(
        device.tdp, np.maximum(busy, 0.0), np.minimum(work / device.peak_flops, 1.0),
        np.minimum(reading / np.maximum(decode.total, SHORTEST), 1.0),
        plan.waiting_power, plan.resident_response, plan.compute_response, plan.memory_response,
    )  # fmt: skip


def busiest_of(step: Step) -> Array:
    """Code of what most of a step goes into: 0 arithmetic, 1 memory, 2 communication, 3 overhead."""
    traffic = step.memory + step.attention
    most = np.maximum(np.maximum(step.compute, traffic), np.maximum(step.communication, step.overhead))
    return where(most == traffic, 1, where(most == step.compute, 0, where(most == step.communication, 2, 3)))
