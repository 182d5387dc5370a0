"""Questions on which tools of this kind go wrong, with the right answer, asked through the faces."""

from __future__ import annotations

import pytest

from solvers import (
    DistributedModel,
    InfeasiblePlan,
    InferenceScalingModel,
    InvalidInput,
    ServingModel,
    SingleNodeModel,
)

GIB = 2.0**30


def serving(model: str, hardware: str, **more: object):
    return ServingModel().solve(model, hardware, **more)


def training(model: str = "Llama3_8B", **more: object):
    asked = {"hardware": "H100", "n_accelerators": 64, "batch_size": 512, "seq_len": 2048, **more}
    return DistributedModel().solve(model, **asked)


def seconds(answer) -> float:
    return answer.step_latency_total.m_as("s")


def test_a_model_that_exceeds_its_chip_says_what_would_do() -> None:
    """70B at 16 bit: 141 GB of weights on 80 GB."""
    answer = serving("Llama3_70B", "H100", precision="fp16")
    assert not answer.feasible
    assert answer.weights_per_accelerator.m_as("GB") == pytest.approx(141, rel=0.02)
    assert answer.smallest_tp_size == 2
    assert "tp_size of at least 2" in answer.why
    assert "FP8" in answer.why
    assert answer.itl.m_as("s") > 0
    with pytest.raises(InfeasiblePlan, match="tp_size"):
        serving("Llama3_70B", "H100", precision="fp16", strict=True)
    assert serving("Llama3_70B", "H100", precision="fp16", tp_size=4).feasible


@pytest.mark.parametrize("model, hardware", [("Llama3_8B", "H100"), ("Qwen3-32B", "H200"), ("Mixtral-8x7B", "B200")])
def test_decoding_becomes_bound_by_arithmetic_and_never_beats_it(model: str, hardware: str) -> None:
    from solvers.catalog import catalog

    chip, shape = catalog.find("hardware", hardware), catalog.find("model", model)
    steps = []
    for batch in (1, 8, 64, 512, 4096):
        step = serving(model, hardware, batch_size=batch, seq_len=128).decode_step_time.m_as("s")
        assert step >= 2 * batch * shape.require("params_active") * 0.9 / chip.require("peak_flops_bf16")
        steps.append(step)
    assert steps == sorted(steps)
    assert steps[-1] > 3 * steps[0]


def test_a_prompt_of_one_token_reads_all_weights() -> None:
    answer = SingleNodeModel().solve("Llama3_8B", "H100", batch_size=1, seq_len=1)
    assert answer.latency.m_as("s") > 7.5e9 * 2 / 3.35e12


def test_a_mixture_of_experts_computes_by_active_and_reads_by_touched() -> None:
    """Experts touched: E (1 - (1 - k/E)^tokens), of Mixtral 2 at one token, all eight at many."""
    alone, many = (serving("Mixtral-8x7B", "H100", tp_size=2, batch_size=b, seq_len=128) for b in (1, 64))
    assert many.decode_step_time > 2.0 * alone.decode_step_time
    dense = serving("Llama3_70B", "H100", tp_size=2, precision="fp8", batch_size=1, seq_len=128)
    assert alone.decode_step_time < dense.decode_step_time
    prompt = serving("Mixtral-8x7B", "H100", tp_size=2, input_tokens=8192).prefill_time.m_as("s")
    assert 2 * 12.9e9 * 8192 / (2 * 989e12) < prompt < 2 * 46.7e9 * 8192 / (2 * 989e12) * 1.5


@pytest.mark.parametrize("tp_size", [1, 8])
def test_a_latent_cache_is_small_and_is_not_divided(tp_size: int) -> None:
    """DeepSeek-V3: 61 layers x (512 + 64) values of 2 bytes, on every rank."""
    answer = serving("DeepSeek-V3", "H200", precision="fp8", tp_size=tp_size)
    assert answer.kv_bytes_per_token.m_as("byte/token") == 61 * 576 * 2


def test_heads_are_copied_when_ranks_outnumber_them() -> None:
    four, eight = (serving("Qwen2.5-7B", "H100", tp_size=t).kv_bytes_per_token for t in (4, 14))
    assert four == eight


def test_a_cache_on_two_cards_is_divided_once() -> None:
    """R1-Distill-Qwen-14B at TP2: 96 KiB a token on each card."""
    answer = serving("DeepSeek-R1-Distill-Qwen-14B", "RTX4090", tp_size=2)
    assert answer.kv_bytes_per_token.m_as("byte/token") == 96 * 1024
    assert answer.kv_pool_tokens.m_as("token") == pytest.approx(answer.kv_pool.m_as("byte") / (96 * 1024), rel=0.01)


def test_context_beside_a_small_model_on_24_gb() -> None:
    """RTX 3090 at 0.9: a pool of about 3.8 GiB at a context of 20k, of about 2.9 GiB at 29k, which does not fit."""
    short, long = (serving("Llama-3.1-8B", "RTX3090", seq_len=n, memory_utilization=0.9) for n in (20_000, 29_000))
    assert short.feasible
    assert not long.feasible
    assert short.kv_pool.m_as("byte") / GIB == pytest.approx(3.8, abs=0.5)
    assert long.kv_pool.m_as("byte") / GIB == pytest.approx(2.9, abs=0.5)


def test_five_users_of_128k_each_hold_40_gib() -> None:
    answer = serving("Llama-3.1-70B", "H100", tp_size=4, batch_size=5, seq_len=131_072)
    assert answer.kv_cache.m_as("byte") * 4 / GIB == pytest.approx(5 * 40, rel=0.02)
    assert not answer.feasible
    assert "cache binds" in answer.why


def test_a_context_beyond_the_model_names_the_limit() -> None:
    answer = serving("GPT2", "H100", seq_len=4096)
    assert "context_exceeded" in answer.reasons
    assert "1024" in answer.why


@pytest.mark.parametrize(
    "hardware, precision, feasible",
    [("A100", "fp8", False), ("V100", "bf16", False), ("H100", "int4", False), ("H100", "w4a16", True)],
)
def test_a_chip_computes_in_what_it_has(hardware: str, precision: str, feasible: bool) -> None:
    answer = serving("Llama-3.2-1B", hardware, precision=precision)
    assert ("precision_unsupported" not in answer.reasons) == feasible


def test_weights_of_four_bits_help_alone_and_not_in_a_crowd() -> None:
    alone = [serving("Llama3_8B", "A100", precision=p, batch_size=1, seq_len=512).itl for p in ("w4a16", "bf16")]
    crowd = [serving("Llama3_8B", "A100", precision=p, batch_size=256, seq_len=512).itl for p in ("w4a16", "bf16")]
    assert alone[0] < 0.6 * alone[1]
    assert crowd[0] > 0.8 * crowd[1]


def test_bandwidth_caps_a_lonely_stream() -> None:
    """A page claims 1,700 tokens/s for batch 1 of a 70B on one H200; bandwidth caps it near 137 at four bits."""
    rate = 1 / serving("Llama3_70B", "H200", precision="w4a16", batch_size=1, seq_len=128).itl.m_as("s")
    assert 40 < rate < 137


@pytest.mark.parametrize("name", ["reasoning_steps", "n_samples"])
def test_negative_counts_are_refused(name: str) -> None:
    with pytest.raises(InvalidInput, match=name):
        InferenceScalingModel().solve("Llama3_8B", "H100", **{"reasoning_steps": 8, name: -1})


def test_thinking_longer_than_the_context_is_infeasible_and_the_longest_sample_decides() -> None:
    long = InferenceScalingModel().solve("Llama-3.1-8B", "H100", reasoning_steps=150, tokens_per_reasoning_step=1000)
    assert not long.feasible
    one, many = (
        InferenceScalingModel().solve("Llama3_8B", "H100", reasoning_steps=8, n_samples=n, length_variation=0.5)
        for n in (1, 16)
    )
    assert many.longest_sample > 1.3 * one.longest_sample
    assert many.total_reasoning_time > one.total_reasoning_time


@pytest.mark.parametrize(
    "layout, reason",
    [
        ({"tp_size": 64, "hardware": "H100"}, "tensor_parallel_exceeds_heads"),
        ({"pp_size": 64}, "pipeline_exceeds_layers"),
        ({"pp_size": 8, "v_stages": 8}, "pipeline_exceeds_layers"),
        ({"ep_size": 4}, "expert_parallel_exceeds_experts"),
        ({"batch_size": 100}, "batch_not_divisible"),
        ({"batch_size": 32}, "batch_not_divisible"),
        ({"tp_size": 8, "dp_size": 16}, "layout_exceeds_fleet"),
    ],
)
def test_layouts_that_cannot_be(layout: dict[str, object], reason: str) -> None:
    answer = training(**layout)
    assert reason in answer.reasons
    assert answer.why
    assert seconds(answer) > 0


def test_tensor_parallelism_across_nodes_is_allowed_and_pays_the_fabric() -> None:
    inside, across = (training("Llama3_70B", tp_size=t, pp_size=1, zero_stage=3) for t in (8, 16))
    assert "tensor_parallel_exceeds_heads" not in across.reasons
    assert across.tensor_comm_time > 2 * inside.tensor_comm_time


def test_accumulating_gradients_leaves_their_traffic_alone() -> None:
    slow, fast = (training(microbatch_size=m, data_overlap=False) for m in (1, 4))
    assert slow.data_comm_time.m_as("s") == pytest.approx(fast.data_comm_time.m_as("s"), rel=1e-6)


def test_zero_3_saves_memory_and_moves_more() -> None:
    whole, sharded = (training(zero_stage=z, microbatch_size=8, data_overlap=False) for z in (0, 3))
    assert sharded.memory_per_accelerator < 0.6 * whole.memory_per_accelerator
    assert sharded.data_comm_time > 1.2 * whole.data_comm_time


def test_a_slow_fabric_cannot_hide() -> None:
    fast, slow = (training(nic_bandwidth=b) for b in ("50 GB/s", "0.0125 GB/s"))
    assert seconds(slow) > 20 * seconds(fast)
    assert slow.bottleneck == "data_communication"


def test_the_bubble_shrinks_with_microbatches_and_interleaving() -> None:
    """(p - 1) / m of the busy time with even stages, a v-th of it when interleaved (Narayanan et al. 2021)."""
    few, many, interleaved = (
        training("GPT-3-175B", pp_size=8, batch_size=b, v_stages=v) for b, v in ((64, 1), (512, 1), (64, 4))
    )
    shares = [a.bubble_time / (a.step_latency_total - a.bubble_time) for a in (few, many, interleaved)]
    assert shares[0] == pytest.approx(7 / 8, rel=0.15)
    assert shares[1] == pytest.approx(7 / 64, rel=0.3)
    assert shares[2] < 0.4 * shares[0]
    assert few.pipeline_comm_time.m_as("s") > 0


def test_uneven_stages_cost_the_longest() -> None:
    """96 layers over five stages: all wait for those with twenty."""
    even, uneven = (training("GPT-3-175B", pp_size=p, n_accelerators=8 * p, dp_size=8, batch_size=512) for p in (4, 5))
    assert seconds(uneven) > seconds(even) * 20 / 24 * 0.99
    assert seconds(uneven) < seconds(even)


def test_a_long_context_takes_more_attention_and_memory() -> None:
    short, long = (
        training("Llama-3.1-8B", seq_len=n, batch_size=b, zero_stage=3) for n, b in ((2048, 4096), (131_072, 64))
    )
    assert long.effective_throughput < 0.7 * short.effective_throughput
    assert long.memory_activations > 10 * short.memory_activations


@pytest.mark.parametrize("model, work", [("BERT-Large", 246e9), ("ResNet50", 8.2e9)])
def test_encoders_and_nets_work_by_sequence_and_image(model: str, work: float) -> None:
    one = SingleNodeModel().solve(model, "A100", batch_size=1, precision="fp16", **_words(model))
    assert one.work.m_as("FLOP") == pytest.approx(work, rel=0.25)


def _words(model: str) -> dict[str, int]:
    return {"seq_len": 384} if model == "BERT-Large" else {}


def test_training_an_image_net_takes_three_times_its_forward_pass_or_more() -> None:
    forward, train = (
        SingleNodeModel().solve("ResNet50", "A100", batch_size=256, precision="fp16", phase=p)
        for p in ("inference", "training")
    )
    assert train.latency > 2.5 * forward.latency
    assert train.throughput.m_as("1/s") == pytest.approx(2470, rel=0.25)  # NVIDIA DeepLearningExamples, MXNet, DGX-A100


def test_prefixes_in_the_cache_spare_the_first_token() -> None:
    cold, warm = (
        serving("Llama3_70B", "H100", tp_size=4, input_tokens=4096, prefix_hit_rate=h, batch_size=8) for h in (0.0, 0.8)
    )
    assert warm.ttft < 0.6 * cold.ttft


def test_a_queue_beyond_saturation_is_unstable() -> None:
    answer = serving("Llama3_70B", "H100", tp_size=4, input_tokens=2000, output_tokens=1, request_rate=1000)
    assert "saturated" in answer.reasons
    prefill = answer.prefill_throughput.m_as("token/s")
    assert answer.saturation_rate.m_as("1/s") < prefill / 2000 * 1.05
