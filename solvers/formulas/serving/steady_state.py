"""Requests in steady state: a closed loop of clients, or an open stream of arrivals, over one replica."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from solvers.columns import Array, Count, PerSecond, Ratio, Sample, Second, Token, where
from solvers.formulas.serving.constants import Engine
from solvers.formulas.serving.queueing import CLOSEST, slot_wait


@dataclass(frozen=True)
class SteadyState:
    """What one replica gives and what its clients feel, on average."""

    tpot: Second
    ttft: Second
    wait: Second
    e2e_latency: Second
    request_rate: PerSecond


def token_time(decode: Second, prefill: Second, running: Sample, output: Token, engine: Engine) -> Second:
    """Mean time between a sequence's tokens: a decode step, and the newcomers' prompts that stall it.

    In steady state each token of each sequence is worth 1/output of a newcomer (continuous batching, Orca, Yu et al.
    2022; chunked or not, the work of the prompt delays those decoding).
    """
    return decode + engine.interference * running / np.maximum(output, 1.0) * prefill


def closed_loop(
    decode: Second, prefill: Second, prefill_pace: Second, stall: Second, running: Sample, clients: Sample,
    output: Token, variation: Ratio, requests_per_client: Count, engine: Engine,
) -> SteadyState:  # fmt: skip
    """A fixed number of clients, each of which sends its next request when the last is answered.

    All start together, so the first wave of prompts queues behind itself: averaged over each client's requests, half
    the wave's prefills divided by the requests of a client. Later waves disperse with the variation of the lengths; as
    far as they do not, clients stay in step and find a train of prompts before them. Clients beyond the sequences that
    run wait for a slot. `prefill` is a prompt's own latency, `prefill_pace` the time between finished prompts of a busy
    replica, `stall` what a prompt adds to the step it joins.
    """
    tpot = token_time(decode, stall, running, output, engine)
    burst = engine.burst_share / np.maximum(requests_per_client, 1.0) * (running - 1.0) * prefill_pace
    in_step = 1.0 / (1.0 + engine.dispersion * variation)
    own = (engine.first_token_prefill + engine.train_prompts * in_step) * prefill
    first = engine.first_token_time + own + burst + engine.first_token_steps * tpot
    service = first + (output - 1.0) * tpot
    wait = np.maximum(clients - running, 0.0) / running * service
    return SteadyState(tpot, first + wait, wait, service + wait, clients / (service + wait))


def capacity(decode: Second, prefill_pace: Second, running: Sample, output: Token, engine: Engine) -> PerSecond:
    """Requests a second that a replica finishes with `running` sequences at all times."""
    return running / (np.maximum(output, 1.0) * token_time(decode, prefill_pace, running, output, engine))


def running_at_rate(
    rate: PerSecond, output: Token, slow: Second, fast: Second, most: Sample, engine: Engine, prefill_pace: Second
) -> Sample:
    """Sequences that run at a request rate, by Little's law on the chord of the decode time between 1 and `most`.

    `fast` and `slow` are the decode times of 1 and of `most` sequences. Decode time is convex in the batch, so that
    the chord errs on the side of a fuller batch. Beyond saturation: `most`.
    """
    span = np.maximum(most - 1.0, 1e-9)
    slope = (slow - fast) / span + engine.interference / np.maximum(output, 1.0) * prefill_pace
    base = fast - (slow - fast) / span
    wanted = rate * output * base
    room = 1.0 - rate * output * slope
    return where(room * most > wanted, wanted / np.maximum(room, 1e-12), most)


def open_loop(
    decode: Second, prefill: Second, prefill_pace: Second, stall: Second, running: Sample, most: Sample,
    rate: PerSecond, prompt_rate: PerSecond, saturation: PerSecond, output: Token, variation: Ratio, engine: Engine,
) -> SteadyState:  # fmt: skip
    """Poisson arrivals at a rate. A newcomer waits for prompts in front of it (M/G/1), and for a slot.

    `prompt_rate` is that of a replica that takes prompts: the same one, or one of its own. Holds below saturation.
    """
    tpot = token_time(decode, stall, running, output, engine)
    load = rate / saturation
    prompts = np.minimum(prompt_rate * prefill_pace, 1.0 - CLOSEST)
    queue = prompts / (1.0 - prompts) * prefill_pace * (1.0 + variation * variation) / 2.0
    first = engine.first_token_time + engine.first_token_prefill * prefill + queue + engine.first_token_steps * tpot
    service = first + (output - 1.0) * tpot
    wait = slot_wait(load, most, service, variation)
    return SteadyState(tpot, first + wait, wait, service + wait, np.minimum(rate, saturation))


def choose(condition: Array, one: SteadyState, other: SteadyState) -> SteadyState:
    """One where the condition holds, the other elsewhere."""
    return SteadyState(
        *(where(condition, getattr(one, f), getattr(other, f)) for f in SteadyState.__dataclass_fields__)
    )


def static_batch(decode: Second, prefill: Second, running: Sample, output: Token) -> SteadyState:
    """A batch that starts and ends together: all prompts in one pass, then every token of every answer."""
    latency = prefill + (output - 1.0) * decode
    return SteadyState(decode, prefill, 0.0 * decode, latency, running / latency)


def with_end(state: SteadyState, running: Sample, sent: Count) -> SteadyState:
    """The mean rate of a run that sends a number of requests and then drains: its last batch runs ever emptier.

    The drain takes half a request's time longer than the steady rate would; endless streams lose nothing.
    """
    service = state.e2e_latency - state.wait
    drain = 0.5 * service * np.minimum(running / sent, 1.0) * state.request_rate / np.maximum(running, 1.0)
    return replace(state, request_rate=state.request_rate / (1.0 + drain))
