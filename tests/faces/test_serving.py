"""What people ask of serving: loads, limits, drafts, and agreement with the single node."""

import itertools
import warnings

import pytest

from solvers import ServingModel, SingleNodeModel


def solve(*args, **given):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ServingModel().solve(*args, **given)


@pytest.mark.parametrize("model", ["Llama3_8B", "Mixtral-8x7B", "DeepSeek-V3"])
@pytest.mark.parametrize("hardware", ["A100", "H100", "RTX4090"])
def test_one_token_alone_costs_the_same_in_both_solvers(model, hardware):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        alone = SingleNodeModel().solve(model, hardware, batch_size=1, seq_len=1)
    assert solve(model, hardware, batch_size=1, seq_len=1).itl == alone.latency


def test_clients_that_do_not_fit_wait_and_batches_that_do_not_fit_are_infeasible():
    waiting = solve("Llama3_70B", "H100", tp_size=2, concurrency=4096, input_tokens=1000, output_tokens=1000)
    assert waiting.feasible
    assert waiting.running_batch < waiting.max_batch_size * 1.0001
    assert waiting.ttft > 10 * waiting.prefill_time
    asked = solve("Llama3_70B", "H100", tp_size=2, batch_size=1000, input_tokens=1000, output_tokens=1000)
    assert "cache_exceeds_memory" in asked.reasons


def test_prompts_count_when_a_load_is_all_prompts():
    answer = solve("Llama3_8B", "H100", input_tokens=2000, output_tokens=1, request_rate=500)
    assert answer.reasons == ["saturated"]
    assert answer.saturation_rate.m_as("1/s") < 60
    slower = solve("Llama3_8B", "H100", input_tokens=2000, output_tokens=1, request_rate=5)
    assert slower.feasible
    assert slower.ttft_p50 < slower.ttft_p95 < slower.ttft_p99


def test_a_rate_below_saturation_is_met_and_waits_grow_towards_it():
    rates = [1, 2, 4, 6]
    answers = [solve("Llama3_70B", "H100", tp_size=4, precision="fp8", request_rate=r) for r in rates]
    for rate, answer in zip(rates, answers, strict=True):
        assert answer.request_throughput.m_as("1/s") == pytest.approx(rate, rel=1e-6)
    assert all(a.ttft < b.ttft for a, b in itertools.pairwise(answers))
    assert all(a.running_batch < b.running_batch for a, b in itertools.pairwise(answers))


def test_replicas_share_a_rate():
    one = solve("Llama3_8B", "L40S", request_rate=4)
    four = solve("Llama3_8B", "L40S", request_rate=16, replicas=4)
    assert four.tpot == one.tpot
    assert four.n_accelerators == 4
    assert four.request_throughput.m_as("1/s") == pytest.approx(4 * one.request_throughput.m_as("1/s"))


def test_a_stricter_promise_is_kept_less_often():
    loose = solve("Llama3_70B", "H100", tp_size=4, precision="fp8", request_rate=3, ttft_slo="2 s", tpot_slo="100 ms")
    tight = solve("Llama3_70B", "H100", tp_size=4, precision="fp8", request_rate=3, ttft_slo="0.1 s", tpot_slo="10 ms")
    assert tight.goodput < 0.5 * loose.goodput
    assert loose.goodput.m_as("1/s") == pytest.approx(3, rel=0.02)


def test_prefixes_spare_time_and_are_fetched_only_where_that_is_quicker():
    plain, hot, host = (
        solve("Llama3_70B", "H100", tp_size=4, precision="fp8", input_tokens=8000, **more)
        for more in ({}, {"prefix_hit_rate": 0.8}, {"prefix_hit_rate": 0.8, "kv_offload": "host"})
    )
    assert hot.ttft < host.ttft < plain.ttft
    slow = solve(
        "Llama3_70B", "H100", tp_size=4, precision="fp8", input_tokens=8000, prefix_hit_rate=0.8,
        kv_offload="storage", kv_precision="bf16",
    )  # fmt: skip
    assert slow.ttft <= plain.ttft * 1.0001


def test_prefill_apart_keeps_tokens_steady():
    load = {"tp_size": 4, "precision": "fp8", "input_tokens": 2000, "output_tokens": 300, "replicas": 4}
    together = solve("Llama3_70B", "H100", request_rate=12, **load)
    apart = solve("Llama3_70B", "H100", request_rate=12, disaggregated=True, **load)
    assert apart.tpot < together.tpot
    assert 1 <= apart.best_prefill_replicas <= 3
    assert apart.transfer_time.m_as("ms") > 0
    assert "disaggregation_needs_two_replicas" in solve("Llama3_70B", "H100", tp_size=4, disaggregated=True).reasons


@pytest.mark.parametrize(
    ("plan", "reason"),
    [
        ({"model": "Llama3_70B", "tp_size": 128}, "tensor_parallel_exceeds_heads"),
        ({"model": "Llama3_70B", "pp_size": 128}, "pipeline_exceeds_layers"),
        ({"model": "Mixtral-8x7B", "tp_size": 64, "ep_size": 64}, "expert_parallel_exceeds_experts"),
        ({"model": "Llama3_8B", "ep_size": 2}, "expert_parallel_exceeds_experts"),
        ({"model": "Mixtral-8x7B", "tp_size": 2, "ep_size": 8}, "expert_parallel_outside_group"),
        ({"model": "Llama3_8B", "dp_size": 2}, "data_parallel_needs_experts"),
        ({"model": "GPT2", "seq_len": 4096}, "context_exceeded"),
        ({"model": "Llama3_8B", "hardware": "A100", "precision": "fp8"}, "precision_unsupported"),
    ],
)
def test_impossible_plans_say_why(plan, reason):
    answer = solve(**({"hardware": "H100"} | plan))
    assert reason in answer.reasons
    assert answer.why
    assert answer.itl.m_as("s") > 0


def test_drafting_pays_alone_and_not_with_itself_or_a_stranger():
    base = solve("Llama3_70B", "H100", seq_len=2048, batch_size=1)
    small = solve("Llama3_70B", "H100", seq_len=2048, draft_model="Llama3_8B", draft_acceptance_rate=0.75)
    itself = solve("Llama3_70B", "H100", seq_len=2048, draft_model="Llama3_70B", draft_acceptance_rate=0.75)
    stranger = solve("Llama3_70B", "H100", seq_len=2048, draft_model="GPT2", draft_acceptance_rate=0.75)
    assert 1.2 < base.itl / small.itl < 2.6
    assert base.itl / itself.itl <= 1
    assert {"vocabulary_mismatch", "draft_context_exceeded"} <= set(stranger.reasons)
    busy = solve("Llama3_70B", "H100", tp_size=4, seq_len=2048, batch_size=256, draft_model="Llama3_8B")
    assert busy.speculation_speedup < small.speculation_speedup


def test_sampling_by_top_p_sorts_the_vocabulary():
    greedy = solve("Qwen3-8B", "H100", batch_size=256)
    sorted_ = solve("Qwen3-8B", "H100", batch_size=256, sampling="top_p")
    assert sorted_.itl.m_as("ms") - greedy.itl.m_as("ms") > 5


def test_adapters_take_memory_beside_the_weights():
    """Rank 16 on all seven products of Llama-3-8B: 41.9 M parameters, 84 MB at 16 bit, for each slot."""
    plain, adapted = (ServingModel().solve("Llama3_8B", "H100", lora_slots=n, lora_rank=16) for n in (0, 8))
    more = adapted.weights_per_accelerator.m_as("byte") - plain.weights_per_accelerator.m_as("byte")
    assert more == pytest.approx(8 * 41.94e6 * 2, rel=0.01)
    assert adapted.kv_pool < plain.kv_pool


def test_energy_of_a_request_falls_with_the_batch():
    alone, crowd = (ServingModel().solve("Llama3_8B", "H100", batch_size=b).energy_per_request for b in (1, 64))
    assert 5 < alone / crowd < 60
