"""What a training plan must answer, whatever the constants are."""

import dataclasses
import warnings

import numpy as np
import pytest

from solvers import DistributedModel
from solvers.catalog import catalog
from solvers.chain import Chain

FLEET = "Frontier_8K"


def solve(model="Llama3_70B", fleet=FLEET, **given):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return DistributedModel().solve(model, fleet, **{"batch_size": 2048, **given})


def node(model, hardware, count, **given):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return DistributedModel().solve(model, hardware=hardware, n_accelerators=count, **given)


def seconds(quantity):
    return quantity.m_as("s")


PARTS = ("compute_time", "tensor_comm_time", "context_comm_time", "expert_comm_time", "pipeline_comm_time",
         "data_comm_time", "bubble_time", "optimizer_time", "overhead_time")  # fmt: skip
LAYOUTS = (
    {"tp_size": 8, "pp_size": 4}, {"tp_size": 4, "pp_size": 8, "v_stages": 5, "zero_stage": 1},
    {"tp_size": 2, "cp_size": 4, "zero_stage": 3, "recompute": "full"},
    {"tp_size": 16, "pp_size": 2, "recompute": "none"},
)  # fmt: skip


@pytest.mark.parametrize("layout", LAYOUTS)
def test_the_parts_of_a_step_add_up(layout):
    answer = solve(**layout)
    assert sum(seconds(getattr(answer, part)) for part in PARTS) == pytest.approx(seconds(answer.step_latency_total))


@pytest.mark.parametrize("layout", LAYOUTS)
def test_the_parts_of_the_memory_add_up(layout):
    answer = solve(**layout)
    parts = ("weights", "gradients", "optimizer", "activations", "logits", "buffers", "framework")
    total = sum(getattr(answer, f"memory_{part}").m_as("GB") for part in parts)
    assert total == pytest.approx(answer.memory_per_accelerator.m_as("GB"))


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("precision", ["bf16", "fp8"])
def test_never_faster_than_the_arithmetic_at_the_peak(layout, precision):
    assert float(solve(**layout, precision=precision, efficiency=1.0).mfu) < 1.0


def test_plain_adam_in_16_bit_holds_sixteen_bytes_a_parameter():
    answer = solve(tp_size=8, pp_size=4)
    states = answer.memory_weights + answer.memory_gradients + answer.memory_optimizer
    assert states.m_as("GB") == pytest.approx(16 * 70.55 / 32, rel=0.03)


def test_samples_are_counted_and_ranks_without_one_do_not_work():
    few = solve("Llama3_8B", batch_size=1024, zero_stage=1)
    full = solve("Llama3_8B", batch_size=8192, zero_stage=1)
    assert few.reasons == ["batch_not_divisible"]
    assert full.feasible
    assert full.effective_throughput > 7 * few.effective_throughput


@pytest.mark.parametrize("batch", [1500, 2047])
def test_a_remainder_is_refused_and_not_dropped(batch):
    answer = solve("Llama3_8B", batch_size=batch, tp_size=8, zero_stage=1)
    assert "batch_not_divisible" in answer.reasons
    rate = answer.effective_throughput.m_as("token/s") * seconds(answer.step_latency_total)
    assert rate == pytest.approx(batch * 2048)


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ({"tp_size": 128}, "tensor_parallel_exceeds_heads"),
        ({"pp_size": 128}, "pipeline_exceeds_layers"),
        ({"pp_size": 16, "v_stages": 8}, "pipeline_exceeds_layers"),
        ({"ep_size": 2}, "expert_parallel_exceeds_experts"),
        ({"tp_size": 8, "pp_size": 4, "dp_size": 7}, "layout_exceeds_fleet"),
        ({"batch_size": 512, "tp_size": 8, "microbatch_size": 32}, "batch_not_divisible"),
    ],
)
def test_impossible_layouts_say_why(given, reason):
    answer = solve(**given)
    assert not answer.feasible
    assert reason in answer.reasons
    assert answer.why


def test_more_experts_parallel_than_experts_is_refused():
    assert "expert_parallel_exceeds_experts" in solve("Mixtral-8x7B", batch_size=8192, ep_size=64).reasons


def test_precisions_that_a_chip_lacks_are_refused():
    assert "precision_unsupported" in node("Llama3_8B", "A100", 8, batch_size=64, precision="fp8").reasons
    assert "precision_unsupported" in node("Llama3_8B", "V100", 8, batch_size=64, precision="bf16").reasons


def test_tensor_parallelism_across_nodes_is_allowed_and_pays_the_network():
    inside, across = solve(tp_size=8, pp_size=4), solve(tp_size=16, pp_size=2)
    assert across.feasible
    assert across.tensor_comm_time > 2 * inside.tensor_comm_time


def test_the_bubble_of_one_forward_one_backward():
    answer = node("Llama3_8B", "H100", 8, batch_size=16, pp_size=8, zero_stage=1, balanced_stages=False)
    stages, microbatches = 8, 16
    waits = seconds(answer.bubble_time) / (seconds(answer.compute_time) + seconds(answer.bubble_time))
    assert waits > (stages - 1) / (microbatches + stages - 1)


def test_interleaving_shrinks_the_bubble_and_costs_memory():
    plain, interleaved = (solve(tp_size=8, pp_size=8, v_stages=v) for v in (1, 5))
    assert interleaved.bubble_time < plain.bubble_time
    assert interleaved.memory_activations > plain.memory_activations


def test_accumulation_does_not_change_the_gradient_traffic():
    once, often = (solve(tp_size=8, pp_size=4, dp_size=64, batch_size=b, data_overlap=False) for b in (1024, 2048))
    assert seconds(once.data_comm_time) == pytest.approx(seconds(often.data_comm_time))


def test_zero_3_trades_memory_for_traffic():
    plain, sharded = (
        solve("Llama3_8B", batch_size=4096, tp_size=2, zero_stage=z, microbatch_size=1, data_overlap=False,
              bucket_size=1e12) for z in (0, 3)
    )  # fmt: skip
    assert sharded.memory_per_accelerator < 0.3 * plain.memory_per_accelerator
    assert sharded.data_comm_time > 1.3 * plain.data_comm_time


def test_only_as_much_is_hidden_as_there_is_to_hide_behind():
    slow = solve(tp_size=8, pp_size=4, nic_bandwidth="0.1 Gb/s")
    traffic = 2 * 70.55e9 / 32 * 2
    assert seconds(slow.data_comm_time) > 0.8 * 2 * traffic / 12.5e6 / 2
    assert slow.bottleneck in ("data_communication", "pipeline_communication")


def test_long_sequences_cost_attention_and_memory():
    short, long = (solve(batch_size=1024, tp_size=8, pp_size=8, seq_len=s) for s in (2048, 131072))
    assert long.model_flops.m_as("FLOP") > 64 * 1.5 * short.model_flops.m_as("FLOP")
    assert long.memory_activations > 30 * short.memory_activations


@pytest.mark.parametrize(("name", "unit_flops"), [("ResNet-50", 3 * 8.18e9), ("BERT-Large", 3 * 3.35e11)])
def test_work_is_counted_by_image_and_sequence(name, unit_flops):
    answer = node(name, "A100", 8, batch_size=256, microbatch_size=32, seq_len=512, precision="fp16")
    assert answer.model_flops.m_as("FLOP") / 256 == pytest.approx(unit_flops, rel=0.3)
    if name == "ResNet-50":
        assert answer.effective_throughput.m_as("1/s") == pytest.approx(answer.sample_throughput.m_as("1/s"))


def test_fp8_gains_less_than_its_peak():
    wide, narrow = (
        node("Llama3_70B", "H100", 64, batch_size=128, tp_size=4, pp_size=8, v_stages=5, zero_stage=1, precision=p,
             seq_len=4096) for p in ("bf16", "fp8")
    )  # fmt: skip
    assert 1.2 < narrow.effective_throughput / wide.effective_throughput < 1.8


@pytest.mark.parametrize("recompute", ["none", "selective", "experts", "full"])
def test_recomputation_never_saves_time_nor_costs_memory(recompute):
    order = ("none", "selective", "experts", "full")
    given = {"batch_size": 4096, "tp_size": 4, "pp_size": 8, "ep_size": 8, "attention_kernel": "unfused"}
    lighter = solve("Qwen3-235B-A22B", recompute=order[max(order.index(recompute) - 1, 0)], **given)
    own = solve("Qwen3-235B-A22B", recompute=recompute, **given)
    assert own.step_latency_total >= lighter.step_latency_total
    assert own.memory_activations <= 1.001 * lighter.memory_activations


def test_sharding_experts_lightens_the_weights():
    alone, spread = (solve("Mixtral-8x7B", batch_size=8192, ep_size=e, zero_stage=1) for e in (1, 8))
    assert spread.memory_weights < 0.2 * alone.memory_weights
    assert spread.expert_comm_time > alone.expert_comm_time


def test_low_rank_adapters_hold_no_optimizer_and_learn_faster():
    whole, adapters = (
        node("Llama3_8B", "H100", 8, batch_size=64, zero_stage=1, trained=t) for t in ("all", "lora")
    )  # fmt: skip
    assert adapters.memory_optimizer < 0.05 * whole.memory_optimizer
    assert adapters.step_latency_total < whole.step_latency_total


def test_failures_follow_the_size_of_the_job():
    small, large = (solve("Llama3_8B", batch_size=8192, zero_stage=1, dp_size=d) for d in (1024, 8192))
    assert large.failures_per_day == pytest.approx(8 * small.failures_per_day)
    assert large.best_checkpoint_interval < small.best_checkpoint_interval
    assert 0 < large.busy_fraction < small.busy_fraction < 1


def test_a_mesh_agrees_with_its_rows_to_the_last_bit():
    menus = {"model": (catalog.find("model", "Llama3_70B"),), "fleet": (catalog.find("fleet", FLEET),),
             "precision": (catalog.find("precision", "bf16"),)}  # fmt: skip
    batch, tp, pp = (np.array(v, float) for v in ([1024, 2048, 4096], [1, 2, 8], [1, 4, 8]))
    given = ("batch_size", "tp_size", "pp_size")
    problem = Chain([DistributedModel]).bind(menus, dict.fromkeys(given, None))
    codes = {name: np.zeros(1, int) for name in menus}
    axes = {"batch_size": batch[:, None, None], "tp_size": tp[None, :, None], "pp_size": pp[None, None, :]}
    mesh = problem.run({**codes, **axes})
    grid = [axis.ravel() for axis in np.meshgrid(batch, tp, pp, indexing="ij")]
    rows = problem.run({**codes, **dict(zip(given, grid, strict=True))})
    for name, values in mesh.items():
        whole = np.broadcast_to(values, (3, 3, 3)).ravel()
        assert np.array_equal(whole, np.broadcast_to(rows[name], (27,)), equal_nan=True), name


def test_every_column_is_finite_for_a_plain_plan():
    answer = solve(tp_size=8, pp_size=4)
    for field in dataclasses.fields(DistributedModel.Answer):
        value = getattr(answer, field.name)
        if field.name not in ("reasons", "bottleneck"):
            assert np.isfinite(getattr(value, "magnitude", value)), field.name
