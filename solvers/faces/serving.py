"""What a serving plan gives and what its clients feel: time a token, time to first token, capacity, memory."""

from __future__ import annotations

from dataclasses import dataclass

from solvers.columns import (
    Byte,
    BytePerToken,
    Choice,
    Count,
    Flag,
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
from solvers.formulas.serving.answer import OFFLOAD, serve
from solvers.formulas.serving.constants import Engine
from solvers.formulas.serving.drafting import DRAFT_METHODS, drafts_at_all
from solvers.formulas.serving.plan import KV_FORMATS
from solvers.formulas.speculation import SpeculationCosts
from solvers.lowering import absent
from solvers.lowering.constants import constant
from solvers.records import Architecture, Device
from solvers.solver import Solver


def _energy(name: str, description: str) -> float:
    made: float = parameter(description, default=constant("energy", name), minimum=0)
    return made


@dataclass(frozen=True)
class ServingPlan:
    """A model on accelerators under a load."""

    model: Architecture = record("the model", needs=("hidden",))
    device: Device = record("the accelerator", needs=("memory_bandwidth", "memory_capacity"))
    kernels: Kernels = record("how close its kernels come to its peaks")
    engine: Engine = record("the engine that serves")
    draft: Architecture = record("the model that drafts", keys=("draft_model",), optional=True)
    speculation: SpeculationCosts = record("what speculation costs the engine")
    batch_size: Sample = parameter("sequences that a replica decodes together", default=1, integer=True, minimum=1)
    concurrency: Sample = parameter(
        "clients of a replica in a closed loop; those beyond what fits wait (batch_size where not given)",
        optional=True, minimum=1,
    )  # fmt: skip
    request_rate: PerSecond = parameter(
        "requests a second over all replicas, as an open stream", optional=True, above=0
    )
    max_load: Flag = parameter(
        "all requests are queued: a replica runs as many as memory and engine allow", default=False
    )
    batching: Choice = parameter(
        "continuous, or static: a whole batch of prompts first, then all decode", default="continuous",
        choices=("continuous", "static"),
    )  # fmt: skip
    seq_len: Token = parameter(
        "context while decoding (prompt and half the answer where not given)", optional=True, integer=True, minimum=1
    )
    input_tokens: Token = parameter("tokens of a prompt (seq_len, or 1024, where not given)", optional=True, minimum=1)
    output_tokens: Token = parameter("tokens of an answer", default=256, minimum=1)
    length_variation: Ratio = parameter(
        "coefficient of variation of the lengths of prompts and answers", default=0.5, minimum=0
    )
    prefix_hit_rate: Ratio = parameter(
        "share of a prompt that a cached prefix answers", default=0.0, minimum=0, maximum=1
    )
    num_requests: Count = parameter(
        "requests of a run that ends (endless where not given)", optional=True, integer=True, minimum=1
    )
    kv_offload: Choice = parameter(
        "where cached prefixes are kept: none means the accelerator's own memory", default="none", choices=OFFLOAD
    )
    requests_per_client: Count = parameter("requests that each client of a closed loop sends", default=10, minimum=1)
    tp_size: Count = parameter("tensor-parallel ranks", default=1, integer=True, minimum=1)
    pp_size: Count = parameter("pipeline stages", default=1, integer=True, minimum=1)
    dp_size: Count = parameter(
        "attention data-parallel ranks that share the experts", default=1, integer=True, minimum=1
    )
    ep_size: Count = parameter("ranks that divide the experts among them", default=1, integer=True, minimum=1)
    replicas: Count = parameter("independent copies", default=1, integer=True, minimum=1)
    sampling: Choice = parameter(
        "greedy (or temperature alone), or by top-p or top-k, which sorts the vocabulary", default="greedy",
        choices=("greedy", "top_p"),
    )  # fmt: skip
    disaggregated: Flag = parameter("prefill and decode on replicas of their own", default=False)
    prefill_replicas: Count = parameter(
        "replicas that take prompts, where prefill and decode are apart (the best number where not given)",
        optional=True, integer=True, minimum=1,
    )  # fmt: skip
    kv_precision: Choice = parameter("format of the cache", default="bf16", choices=KV_FORMATS)
    memory_utilization: Ratio = parameter(
        "share of the memory that the engine takes", optional=True, above=0, maximum=1
    )
    max_batched_tokens: Token = parameter(
        "tokens of prompts that the engine passes at once", optional=True, integer=True, minimum=1
    )
    max_num_sequences: Count = parameter(
        "sequences that a rank's engine decodes together at most", optional=True, integer=True, minimum=1
    )
    efficiency: Ratio = parameter(
        "replaces the achieved fraction of the compute peak", optional=True, above=0, maximum=1
    )
    lora_slots: Count = parameter("low-rank adapters held beside the weights", default=0, integer=True, minimum=0)
    lora_rank: Count = parameter("rank of the adapters", default=16, integer=True, minimum=1)
    draft_method: Choice = parameter(
        "how tokens are drafted: by the drafting model where one is named, not at all, by one layer on the target's "
        "features (EAGLE-3), by multi-token prediction, by Medusa's heads, or by a look-up in the text",
        default="model",
        choices=DRAFT_METHODS,
    )
    draft_acceptance_rate: Ratio = parameter(
        "chance that a drafted token is accepted (what is published of the method, where not given)",
        optional=True,
        minimum=0,
        maximum=1,
    )
    draft_tree_width: Count = parameter(
        "candidates drafted at each position: 1 is a chain, more a tree", default=1, integer=True, minimum=1, maximum=4
    )
    num_draft_tokens: Token = parameter("tokens drafted a step", default=4, integer=True, minimum=1)
    waiting_power: Ratio = _energy("waiting_power", "share of the design power drawn while kernels wait")
    resident_response: Ratio = _energy("resident_response", "response of power to kernels being there at all")
    compute_response: Ratio = _energy("compute_response", "response of power to arithmetic")
    memory_response: Ratio = _energy("memory_response", "response of power to memory traffic")
    ttft_slo: Second = parameter("time to first token that a request must meet to count", optional=True, above=0)
    tpot_slo: Second = parameter("time a token that a request must meet to count", optional=True, above=0)


@dataclass(frozen=True)
class ServingAnswer:
    """Means unless the name says otherwise; rates are of the whole plan."""

    itl: Second = column("time between two tokens of one sequence, undisturbed by newcomers' prompts")
    tpot: Second = column("mean time an output token, newcomers' prompts included")
    tpot_p99: Second = column("99th percentile of the time a token")
    ttft: Second = column("mean time to first token")
    ttft_p50: Second = column("median time to first token")
    ttft_p95: Second = column("95th percentile of the time to first token")
    ttft_p99: Second = column("99th percentile of the time to first token")
    e2e_latency: Second = column("mean time of a whole request")
    e2e_latency_p50: Second = column("median time of a whole request")
    e2e_latency_p95: Second = column("95th percentile of the time of a whole request")
    e2e_latency_p99: Second = column("99th percentile of the time of a whole request")
    prefill_time: Second = column("one prompt's own pass on an idle replica")
    decode_step_time: Second = column("one pass of the running batch")
    decode_products_time: Second = column("of which products with dense weights, the vocabulary head included")
    decode_experts_time: Second = column("of which routed experts")
    decode_attention_time: Second = column("of which attention over the cache")
    decode_exchange_time: Second = column("of which exchanges between ranks")
    decode_overhead_time: Second = column("of which launches, scheduling and sampling")
    transfer_time: Second = column("time to bring a prompt's cache: from the host or disk, or between replicas")
    effective_throughput: TokenPerSecond = column("output tokens a second of the whole plan")
    tokens_per_accelerator: TokenPerSecond = column("output tokens a second of one accelerator")
    prefill_throughput: TokenPerSecond = column("prompt tokens a second of the whole plan when it only prefills")
    request_throughput: PerSecond = column("requests a second that the whole plan finishes")
    saturation_rate: PerSecond = column("requests a second at which the whole plan saturates")
    goodput: PerSecond = column("requests a second that meet the objectives for first token and time a token")
    serving_load: Ratio = column("share of the saturation rate in use")
    running_batch: Sample = column("sequences that a replica decodes together in steady state")
    best_prefill_replicas: Count = column("replicas that take prompts, where prefill and decode are apart")
    max_batch_size: Sample = column("largest batch that a replica's memory and engine allow")
    max_context_tokens: Token = column("longest context that fits at the batch asked for")
    kv_pool: Byte = column("memory left for the cache on one accelerator (0 where the weights do not fit)")
    kv_pool_tokens: Token = column("tokens of context that a replica's cache holds")
    kv_bytes_per_token: BytePerToken = column("cache of one token on one accelerator")
    kv_cache: Byte = column("cache that the batch needs on one accelerator")
    weights_per_accelerator: Byte = column("weights on one accelerator")
    activation_peak: Byte = column("peak of activations and sampling on one accelerator")
    memory_per_accelerator: Byte = column("memory that one accelerator needs, with what the engine leaves free")
    smallest_tp_size: Count = column("smallest power of two of tensor-parallel ranks at which the weights fit")
    tokens_per_step: Ratio = column("tokens that a sequence gains a step (more than 1 with speculation)")
    speculation_speedup: Ratio = column("time of a token without speculation over that with it (below 1 it is slower)")
    best_draft_tokens: Token = column("tokens to draft a step for the fastest decoding (0: do not speculate)")
    break_even_batch: Sample = column("batch at which speculation stops paying (0: it never pays)")
    n_accelerators: Count = column("accelerators of the whole plan")
    accelerator_power: Watt = column("mean power of one accelerator")
    energy_per_request: Joule = column("energy of the accelerators for one request, at this load")
    tokens_per_query: Token = column("generated tokens of one request")
    bottleneck: Choice = column(
        "what most of a decode step goes into", choices=("Compute", "Memory", "Communication", "Overhead")
    )
    reasons: Reasons = column("why it is infeasible")


class ServingModel(Solver):
    """Serve a model: one step by kernel classes, the engine's memory ledger, and requests in steady state.

    Load is one of: `batch_size` sequences that run together (must fit); `concurrency` clients in a closed loop (those
    beyond what fits wait); `request_rate` arrivals a second (unstable when above the saturation rate); `max_load`.
    """

    @staticmethod
    def columns(plan: ServingPlan) -> ServingAnswer:
        """See `solvers.formulas.serving`."""
        return ServingAnswer(**serve(plan, drafting=drafts_at_all(plan, no_model=plan.draft is absent(Architecture))))
