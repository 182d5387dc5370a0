"""What thinking longer, or answering several times, takes: `InferenceScalingModel`."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from solvers.columns import (
    Byte,
    Choice,
    Count,
    Joule,
    PerSecond,
    Ratio,
    Reasons,
    Sample,
    Second,
    Token,
    TokenPerSecond,
    Watt,
    column,
    parameter,
    record,
)
from solvers.formulas.kernels import Kernels
from solvers.formulas.power import PowerResponse, serving_power
from solvers.formulas.reasoning import NOT_A_DECODER, chosen_accuracy, coverage, decoding_times, longest_of
from solvers.formulas.serving.constants import Engine
from solvers.formulas.serving.memory import cache_on_rank, ledger
from solvers.formulas.serving.plan import KV_BYTES, KV_FORMATS, at_efficiency, decode_step, prompt_step, usable
from solvers.formulas.serving.step import Layout, step_rates
from solvers.lowering.constants import constant
from solvers.reasons import CONTEXT_EXCEEDED, DOES_NOT_FIT, PRECISION_UNSUPPORTED, TP_EXCEEDS_HEADS, flag
from solvers.records import WORK_UNITS, Architecture, Device
from solvers.solver import Solver


@dataclass(frozen=True)
class InferenceScalingPlan:
    """A question, how long the model thinks about it, and how often it tries."""

    model: Architecture = record("the model", needs=("hidden",))
    device: Device = record("the accelerator", needs=("memory_bandwidth", "memory_capacity", "tdp"))
    kernels: Kernels = record("how close its kernels come to its peaks")
    engine: Engine = record("the engine that serves")
    response: PowerResponse = record("how the accelerator's power follows its work")
    reasoning_steps: Count = parameter("steps of thought before the answer", default=8, integer=True, minimum=0)
    tokens_per_reasoning_step: Token = parameter(
        "tokens of one step of thought", default=constant("reasoning", "tokens_per_reasoning_step"), minimum=1
    )
    input_tokens: Token = parameter("tokens of a prompt", default=1024, minimum=1)
    output_tokens: Token = parameter("tokens of an answer", default=256, minimum=1)
    n_samples: Count = parameter("independent samples of one question", default=1, integer=True, minimum=1)
    concurrent_queries: Count = parameter(
        "questions that a replica answers together", default=1, integer=True, minimum=1
    )
    length_variation: Ratio = parameter("coefficient of variation of the lengths of samples", default=0.5, minimum=0)
    pass_rate: Ratio = parameter(
        "part of the questions that one sample answers rightly (give your own: it is of a model and a task)",
        default=constant("reasoning", "pass_rate"), minimum=0, maximum=1,
    )  # fmt: skip
    difficulty_spread: Ratio = parameter(
        "first shape of the beta distribution of questions' pass rates (small: few are in between)",
        default=constant("reasoning", "difficulty_spread"), above=0,
    )  # fmt: skip
    selection_efficiency: Ratio = parameter(
        "part of what several samples gain that choosing keeps: 1 with unit tests, about 0.2 by majority vote",
        default=1.0, minimum=0, maximum=1,
    )  # fmt: skip
    tp_size: Count = parameter("tensor-parallel ranks", default=1, integer=True, minimum=1)
    kv_precision: Choice = parameter("format of the cache", default="bf16", choices=KV_FORMATS)
    efficiency: Ratio = parameter(
        "replaces the achieved fraction of the compute peak", optional=True, above=0, maximum=1
    )


@dataclass(frozen=True)
class InferenceScalingAnswer:
    """Time, energy and worth of one question."""

    total_reasoning_time: Second = column("from the question to the answer, the longest of the samples included")
    ttft: Second = column("mean time to first token")
    itl: Second = column("time between two tokens of one sequence, undisturbed by newcomers' prompts")
    reasoning_tokens: Token = column("tokens of thought of one sample")
    tokens_per_query: Token = column("generated tokens of one question, all samples together")
    longest_sample: Token = column("generated tokens of the longest sample")
    effective_throughput: TokenPerSecond = column("output tokens a second of the whole plan")
    query_rate: PerSecond = column("questions a second of the whole plan")
    coverage: Ratio = column("part of the questions that at least one sample answers rightly")
    answer_accuracy: Ratio = column("part of the questions answered rightly after choosing a sample")
    accelerator_power: Watt = column("mean power of one accelerator")
    energy_per_query: Joule = column("energy of the accelerators for one question")
    energy_per_correct_answer: Joule = column("energy of the accelerators for one right answer")
    n_accelerators: Count = column("accelerators of the whole plan")
    kv_cache: Byte = column("cache that the batch needs on one accelerator")
    memory_per_accelerator: Byte = column("memory that the plan needs on one accelerator")
    reasons: Reasons = column("why it is infeasible")


class InferenceScalingModel(Solver):
    """What test-time compute takes and gives: chains of thought over a growing context, several samples, choosing one.

    Samples of a question share the cache of its prompt and decode together; the longest decides. Coverage assumes
    that problems differ in difficulty. All sequences run to the end at the full batch, which is slow by what the
    shorter ones would free.
    """

    @staticmethod
    def columns(plan: InferenceScalingPlan) -> InferenceScalingAnswer:
        """Time, energy and worth of one question."""
        model, layout = plan.model, Layout(plan.tp_size, 1.0, 1.0, 1.0)
        kernels, engine = at_efficiency(plan.kernels, plan.engine, plan.efficiency)
        device = usable(plan.device, engine)
        kv_bytes = KV_BYTES[plan.kv_precision]

        thought = plan.reasoning_steps * plan.tokens_per_reasoning_step
        generated = thought + plan.output_tokens
        room = np.maximum(model.max_context - plan.input_tokens, generated)
        longest = np.minimum(generated * longest_of(plan.n_samples, plan.length_variation), room)
        sequences: Sample = plan.n_samples * plan.concurrent_queries

        rates = step_rates(model, layout, device, kernels, engine)

        def step_at(context: Token) -> Second:
            return decode_step(
                model, layout, sequences, 1.0, context, kv_bytes, False, device, kernels, engine, rates
            ).total

        prompts = prompt_step(
            model, layout, plan.concurrent_queries, plan.input_tokens, plan.input_tokens, device, kernels, engine, rates
        )
        ttft = engine.first_token_time + prompts.total
        mean_time, longest_time = decoding_times(step_at, plan.input_tokens, generated, longest)
        total = ttft + longest_time
        tokens = plan.n_samples * generated
        busy = ttft + mean_time
        query_rate = plan.concurrent_queries / busy

        prompt_cache = cache_on_rank(model, layout, 1.0, plan.input_tokens, kv_bytes)
        sample_cache = cache_on_rank(model, layout, 1.0, plan.input_tokens + generated, kv_bytes) - prompt_cache
        kv_cache = plan.concurrent_queries * (prompt_cache + plan.n_samples * sample_cache)
        book = ledger(model, layout, plan.input_tokens, engine.memory_share, device, engine)
        needed = book.weights + book.activation_peak + book.reserved + kv_cache

        power = serving_power(
            model,
            device,
            plan.response,
            tokens * query_rate,
            sequences,
            plan.input_tokens + generated / 2.0,
            plan.input_tokens / tokens,
            plan.tp_size,
            kv_bytes,
        )
        energy = power * plan.tp_size / query_rate
        covered = coverage(plan.pass_rate, plan.difficulty_spread, plan.n_samples)
        accuracy = chosen_accuracy(plan.pass_rate, covered, plan.selection_efficiency)
        return InferenceScalingAnswer(
            total_reasoning_time=total,
            ttft=ttft,
            itl=mean_time / generated,
            reasoning_tokens=thought,
            tokens_per_query=tokens,
            longest_sample=longest,
            effective_throughput=tokens * query_rate,
            query_rate=query_rate,
            coverage=covered,
            answer_accuracy=accuracy,
            accelerator_power=power,
            energy_per_query=energy,
            energy_per_correct_answer=energy / np.maximum(accuracy, 1e-9),
            n_accelerators=1.0 * plan.tp_size,
            kv_cache=kv_cache,
            memory_per_accelerator=needed,
            reasons=flag(needed > book.limit, DOES_NOT_FIT)
            | flag(plan.device.precision_supported < 0.5, PRECISION_UNSUPPORTED)
            | flag(plan.input_tokens + generated > model.max_context, CONTEXT_EXCEEDED)
            | flag(model.work_unit != WORK_UNITS.index("token"), NOT_A_DECODER)
            | flag(model.heads % plan.tp_size != 0, TP_EXCEEDS_HEADS),
        )
