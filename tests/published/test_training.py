"""Published training runs that no constant was fitted to, or whose figure is a round one from the paper."""

import warnings

import pytest

from solvers import DistributedModel


def solve(model, hardware, count, **given):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return DistributedModel().solve(model, hardware=hardware, n_accelerators=count, **given)


MEGATRON_2021 = {"attention_kernel": "unfused", "data_overlap": False, "sequence_parallel": False, "recompute": "full",
                 "precision": "fp16"}  # fmt: skip


def test_gpt3_175b_takes_about_34_days_on_1024_a100():
    """Narayanan et al. 2021, section 5.1: 300 billion tokens, 1,536 sequences a step, TP 8 x PP 8 x DP 16."""
    answer = solve("GPT3_175B", "A100", 1024, batch_size=1536, tp_size=8, pp_size=8, run_tokens=300e9, **MEGATRON_2021)
    assert answer.feasible
    assert answer.training_time.m_as("day") == pytest.approx(34, rel=0.1)


@pytest.mark.parametrize(
    ("count", "dp_size", "cp_size", "seq_len", "batch", "teraflops"),
    [(8192, 64, 1, 8192, 2048, 430), (16384, 128, 1, 8192, 2048, 400), (16384, 8, 16, 131072, 128, 380)],
)
def test_llama_3_405b(count, dp_size, cp_size, seq_len, batch, teraflops):
    """Llama team 2024, arXiv:2407.21783, table 4: BF16 TFLOP/s a GPU at TP 8 x PP 16, stages balanced by layers."""
    answer = solve(
        "Llama3.1_405B", "H100", count, batch_size=batch, seq_len=seq_len, tp_size=8, pp_size=16, cp_size=cp_size,
        dp_size=dp_size, v_stages=4, zero_stage=2, balanced_stages=True,
    )  # fmt: skip
    assert answer.achieved_flops.m_as("TFLOP/s") == pytest.approx(teraflops, rel=0.1)


def test_llama_3_405b_is_interrupted_eight_times_a_day():
    """The same paper, section 3.3.4: 419 unexpected interruptions in 54 days on 16,384 H100, over 90 % of time used."""
    answer = solve("Llama3.1_405B", "H100", 16384, batch_size=2048, seq_len=8192, tp_size=8, pp_size=16, zero_stage=2)
    assert answer.failures_per_day == pytest.approx(419 / 54, rel=0.1)
    assert answer.busy_fraction > 0.85


@pytest.mark.parametrize(("recompute", "parallel", "seconds"), [("full", False, 18.13), ("selective", True, 13.75)])
def test_gpt3_175b_with_and_without_recomputation(recompute, parallel, seconds):
    """Korthikanti et al. 2022, arXiv:2205.05198, table 5: 64 sequences on 64 A100, TP 8 x PP 8 x 3 chunks."""
    given = {**MEGATRON_2021, "recompute": recompute, "sequence_parallel": parallel}
    answer = solve("GPT3_175B", "A100", 64, batch_size=64, tp_size=8, pp_size=8, v_stages=3, **given)
    assert answer.feasible
    assert answer.step_latency_total.m_as("s") == pytest.approx(seconds, rel=0.15)


def test_interleaving_gains_as_published():
    """Narayanan et al. 2021, figure 12: interleaving gains about 10 % at a small batch of GPT-3 on 96 A100."""
    plain, chunks = (
        solve("GPT3_175B", "A100", 96, batch_size=24, tp_size=8, pp_size=12, v_stages=v, **MEGATRON_2021)
        for v in (1, 4)
    )
    assert 1.05 < plain.step_latency_total / chunks.step_latency_total < 1.45


def test_weak_scaling_of_tensor_parallelism():
    """Shoeybi et al. 2019, arXiv:1909.08053: 8.3 B on 8 GPUs of a node keeps about 3/4 of one GPU's rate."""
    given = {**MEGATRON_2021, "seq_len": 1024, "batch_size": 8, "microbatch_size": 8}
    eight = solve("GPT-3-6.7B", "V100", 8, tp_size=8, **given)
    shown = (eight.tensor_comm_time / eight.step_latency_total).m_as("")
    assert 0.1 < shown < 0.4


def test_deepseek_v3_within_its_factor():
    """DeepSeek-AI 2024, arXiv:2412.19437: 14.8 T tokens in 2.664 M hours of 2,048 H800, dispatch overlapped."""
    answer = solve(
        "DeepSeek-V3", "H800", 2048, batch_size=15360, seq_len=4096, pp_size=16, ep_size=64, zero_stage=1,
        precision="fp8", recompute="experts", routed_nodes=4, expert_overlap=0.9, v_stages=2,
    )  # fmt: skip
    assert answer.tokens_per_accelerator.m_as("token/s") == pytest.approx(14.8e12 / 2.664e6 / 3600, rel=0.35)
