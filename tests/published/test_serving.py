"""Published serving figures, each with its source and a tolerance that another engine or version would need too."""

import warnings

import pytest

from solvers import ServingModel, SingleNodeModel


def solve(*args, **given):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ServingModel().solve(*args, **given)


@pytest.mark.parametrize(
    ("hardware", "precision", "tokens_per_second"),
    [("RTX4090", "q4_k_m", 127.7), ("RTX3090", "q4_k_m", 111.7), ("Apple-M2-Ultra", "fp16", 36.9)],
)
def test_one_sequence_on_a_desk(hardware, precision, tokens_per_second):
    """XiongjieDai, GPU-Benchmarks-on-LLM-Inference (May 2024): Llama-3-8B in llama.cpp, 512 tokens from nothing."""
    answer = solve("Llama-3-8B", hardware, precision=precision, engine="llama.cpp", seq_len=256)
    assert 1 / answer.itl.m_as("s") == pytest.approx(tokens_per_second, rel=0.2)


def test_tensor_parallelism_scales_far_below_linearly():
    """QwQ-32B at batch 1 on A100s, as users report it: 36, 50 and 63 tokens a second at TP 2, 4 and 8. Later engines
    are quicker at TP 8; the shape is Qwen3-32B's.
    """
    rates = [1 / solve("Qwen3-32B", "A100", tp_size=tp, seq_len=2048).itl.m_as("s") for tp in (2, 4, 8)]
    assert rates[:2] == pytest.approx([36, 50], rel=0.4)
    assert rates[2] / rates[0] < 3


@pytest.mark.parametrize(
    ("hardware", "tp_size", "prompt", "answer", "tokens_per_second"),
    [("H100", 4, 2048, 2048, 5640.31), ("H200", 4, 128, 4096, 11524.93), ("H200", 8, 20000, 2000, 2021.08)],
)
def test_max_load(hardware, tp_size, prompt, answer, tokens_per_second):
    """TensorRT-LLM perf-overview v0.19/0.20, Llama-3.1-70B in FP8, all requests queued."""
    made = solve(
        "Llama-3.1-70B", hardware, engine="TensorRT-LLM", precision="fp8", kv_precision="fp8", tp_size=tp_size,
        input_tokens=prompt, output_tokens=answer, max_load=True, num_requests=1500,
    )  # fmt: skip
    assert made.effective_throughput.m_as("token/s") == pytest.approx(tokens_per_second, rel=0.3)


def test_wide_expert_parallelism_on_96_h100():
    """SGLang team, "Deploying DeepSeek with PD disaggregation and large-scale EP on 96 H100" (2025-05-05): 22,300
    output tokens a second and node of eight, decoding on nine nodes, and 52,300 input tokens on four."""
    layout = {"engine": "SGLang", "precision": "fp8", "input_tokens": 2000}
    decode = solve("DeepSeek-V3", "H100", dp_size=72, ep_size=72, max_load=True, **layout)
    a_node = 8 * decode.running_batch.m_as("sample") / 72 / decode.itl.m_as("s")
    assert a_node == pytest.approx(22300, rel=0.4)
    prefill = solve("DeepSeek-V3", "H100", dp_size=32, ep_size=32, **layout)
    assert prefill.prefill_throughput.m_as("token/s") / 4 == pytest.approx(52300, rel=0.6)


def test_no_plan_decodes_faster_than_it_can_read():
    """A page claims 1,700 tokens a second of one 70 B sequence on one H200: at 4 bit, bandwidth caps it near 137."""
    for engine in ("vLLM", "TensorRT-LLM", "SGLang", "llama.cpp", "gpt-fast"):
        answer = solve("Llama3_70B", "H200", precision="w4a16", engine=engine, seq_len=128)
        assert 1 / answer.itl.m_as("s") < 137


def test_resnet_50_trains_at_published_rates():
    """NVIDIA DeepLearningExamples, ResNet-50 v1.5 on one A100 80 GB in mixed precision: 2,470 (PyTorch) to 3,410
    (MXNet, batch 512) images a second; a forward pass at half the peak would promise some 19,000."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        trained = SingleNodeModel().solve("ResNet50", "A100", batch_size=256, precision="fp16", phase="training")
    assert 2300 < trained.throughput.m_as("sample/s") < 3500


def test_bert_counts_sequences():
    """MLPerf Inference 4.1, closed, BERT-Large offline on eight H100 SXM: some 73,000 sequences a second."""
    answer = SingleNodeModel().solve(
        "BERT-Large", "H100", batch_size=256, seq_len=178, precision="int8", engine="TensorRT"
    )
    assert 8 * answer.throughput.m_as("sample/s") == pytest.approx(73000, rel=0.35)
