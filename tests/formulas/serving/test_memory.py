"""Ledgers: against published ones, and what binds."""

import warnings

import pytest

from solvers import ServingModel
from solvers.units import Q_

GIB = 2.0**30
MODEL = ServingModel()


def solve(*args: object, **kwargs: object) -> object:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return MODEL.solve(*args, **kwargs)


@pytest.mark.parametrize(
    "model, precision, tp, weights, activations, pool",
    [
        ("Llama-3.1-8B", "bf16", 1, 14.99, 4.76, 51.38),
        ("Llama-3.3-70B", "fp8", 2, 33.88, 4.84, 32.0),
        ("Qwen3-32B", "bf16", 1, 61.03, 5.64, 4.45),
        ("Qwen3-32B", "bf16", 2, 30.59, 5.64, 34.49),
        ("Qwen3-0.6B", "bf16", 1, 1.12, 5.56, 64.45),
    ],
)
def test_published_ledgers(
    model: str, precision: str, tp: int, weights: float, activations: float, pool: float
) -> None:
    """vLLM 0.11, H100 80GB at 0.9, 16,000 tokens: llm-d-planner, docs/empirical-vllm-memory-results.md, April 2026."""
    answer = solve(model, "H100-SXM", precision=precision, tp_size=tp, seq_len=16000, memory_utilization=0.9)
    assert answer.weights_per_accelerator.m_as("GiB") == pytest.approx(weights, abs=0.1)
    assert answer.activation_peak.m_as("GiB") == pytest.approx(activations, abs=0.25)
    assert answer.kv_pool.m_as("GiB") == pytest.approx(pool, abs=0.5)


@pytest.mark.parametrize(
    "model, precision, tokens",
    [("Llama-3.3-70B", "fp8", 16000), ("Qwen3-32B", "bf16", 32000), ("DeepSeek-V3", "fp8", 16000)],
)
def test_published_failures_are_infeasible(model: str, precision: str, tokens: int) -> None:
    """The same source: one H100 runs out of memory."""
    answer = solve(model, "H100-SXM", precision=precision, seq_len=tokens)
    assert not answer.feasible
    assert "does_not_fit" in answer.reasons


def test_a_longer_context_needs_a_larger_peak_and_leaves_less() -> None:
    """RTX 3090, Llama-3.1-8B at 0.9: 20k fits with about 3.8 GiB of cache; at 29k some 2.9 GiB are too few."""
    fits = solve("Llama-3.1-8B", "RTX3090", seq_len=20000)
    fails = solve("Llama-3.1-8B", "RTX3090", seq_len=29000)
    assert fits.feasible
    assert fits.kv_pool.m_as("GiB") == pytest.approx(3.8, abs=0.5)
    assert not fails.feasible
    assert fails.kv_pool.m_as("GiB") == pytest.approx(2.9, abs=0.5)
    assert fails.kv_pool < fits.kv_pool


def test_seventy_billion_parameters_do_not_fit_one_card_and_it_says_what_would() -> None:
    answer = solve("Llama3_70B", "H100", seq_len=2048)
    assert {"does_not_fit", "weights_exceed_memory"} <= set(answer.reasons)
    assert answer.smallest_tp_size == 2
    assert "tp_size of at least 2" in answer.why
    assert "FP8" in answer.why
    assert answer.itl.m_as("ms") > 0


def test_five_users_of_a_long_context_are_bound_by_the_cache() -> None:
    answer = solve("Llama-3.1-70B", "H100", tp_size=4, seq_len=131072, batch_size=5)
    each = answer.kv_cache.m_as("GiB") * 4 / 5
    assert each == pytest.approx(40.0, rel=1e-3)
    assert "cache_exceeds_memory" in answer.reasons
    assert "weights_exceed_memory" not in answer.reasons


def test_a_batch_of_the_largest_size_fits_and_one_more_does_not() -> None:
    most = solve("Llama3_8B", "L40S", seq_len=8192).max_batch_size.m_as("sample")
    assert solve("Llama3_8B", "L40S", seq_len=8192, batch_size=most).feasible
    assert not solve("Llama3_8B", "L40S", seq_len=8192, batch_size=most + 1).feasible


def test_drafts_take_memory() -> None:
    plain = solve("Llama3_70B", "H200", precision="fp8", seq_len=4096)
    drafted = solve("Llama3_70B", "H200", precision="fp8", seq_len=4096, draft_model="Llama3_8B")
    more = drafted.weights_per_accelerator - plain.weights_per_accelerator
    assert more > Q_("7 GiB")
    assert drafted.max_batch_size < plain.max_batch_size


def test_two_cards_share_the_heads_and_hold_no_more_tokens_than_one_of_them() -> None:
    """R1-Distill-Qwen-14B on two RTX 4090: 96 KiB a token on each; the tokens of one pool, not of two."""
    answer = solve("R1-Distill-Qwen-14B", "RTX4090", tp_size=2, seq_len=4096)
    assert answer.kv_bytes_per_token.m_as("KiB/token") == pytest.approx(96.0)
    assert answer.kv_pool_tokens.m_as("token") == pytest.approx(answer.kv_pool.m_as("KiB") / 96.0)


def test_a_smaller_engine_sizes_its_sampler_for_fewer_and_keeps_more_for_the_cache() -> None:
    few = solve("Llama-3.1-8B", "RTX3090", seq_len=2048, max_num_sequences=16)
    many = solve("Llama-3.1-8B", "RTX3090", seq_len=2048)
    assert few.kv_pool > many.kv_pool + Q_("0.5 GiB")


def test_local_engines_leave_the_embedding_on_the_host() -> None:
    """llama.cpp runs Llama-3-70B at FP16 on six RTX 3090 (XiongjieDai/GPU-Benchmarks-on-LLM-Inference, May 2024)."""
    cards = {"precision": "fp16", "engine": "llama.cpp", "pp_size": 6, "seq_len": 1024}
    assert solve("Llama-3-70B", "RTX3090", **cards).feasible
    assert not solve("Llama-3-70B", "RTX3090", **cards | {"pp_size": 5}).feasible


@pytest.mark.parametrize(
    "batch, prompt, answer, total", [(1, 128, 8, 15.55), (64, 128, 8, 22.17), (8, 512, 32, 18.72), (64, 512, 32, 41.84)]
)
def test_a_static_batch_passes_its_prompts_together(batch: int, prompt: int, answer: int, total: float) -> None:
    """GPT-6.7B at FP16 on A100: FasterTransformer, docs/gpt_guide.md, total memory in GB."""
    found = solve(
        "GPT-6.7B", "A100", precision="fp16", engine="FasterTransformer", batching="static", batch_size=batch,
        input_tokens=prompt, output_tokens=answer,
    )  # fmt: skip
    assert found.memory_per_accelerator.m_as("GB") == pytest.approx(total, rel=0.05)
