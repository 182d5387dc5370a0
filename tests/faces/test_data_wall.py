"""The data wall through the faces that people call."""

from __future__ import annotations

import pytest

from solvers import SOLVERS, InvalidInput
from solvers.catalog import Hardware
from solvers.faces.data import DataModel
from solvers.faces.transformation import TransformationModel
from solvers.units import Q_


def test_unknown_storage_is_an_error_that_says_what_to_give() -> None:
    with pytest.raises(InvalidInput, match="storage_bandwidth: not known for T4"):
        DataModel().solve(workload_data_rate="1 GB/s", hardware="T4")


def test_a_stall_is_demand_above_supply() -> None:
    made = DataModel().solve(workload_data_rate=Q_(3, "GB/s"), hardware=Hardware.Cloud.A100)
    assert made.is_stalled
    assert made.utilization == pytest.approx((Q_(3, "GB/s") / made.supply_bw).m_as("dimensionless"))
    cached = DataModel().solve(workload_data_rate=Q_(3, "GB/s"), hardware=Hardware.Cloud.A100, cache_hit_rate=0.6)
    assert not cached.is_stalled
    assert cached.cold_utilization == made.utilization
    assert made.required_cache_hit_rate <= 0.6


def test_nothing_is_called_not_stalled_when_nobody_said_what_is_read() -> None:
    with pytest.warns(UserWarning, match="how fast data is consumed"):
        made = DataModel().solve(hardware="A100", cache_hit_rate=0.123)
    assert made.is_stalled
    assert made.reasons == ["data_demand_unknown"]


@pytest.mark.parametrize("rate, wrong", [("1 GB/s", "10 1/s"), ("1 GB/s", Q_(3, "USD"))])
def test_a_data_rate_in_another_dimension_is_refused(rate: str, wrong: object) -> None:
    DataModel().solve(workload_data_rate=rate, hardware="A100")
    with pytest.raises(InvalidInput, match="workload_data_rate"):
        DataModel().solve(workload_data_rate=wrong, hardware="A100")


def test_ratios_print_as_numbers() -> None:
    made = TransformationModel().solve(
        batch_size=256, sample_size_bytes="500 KB", cpu_throughput="2 GB/s", accelerator_step_time="32 ms"
    )
    assert f"{made.slowdown_factor:.2f}x {made.accelerator_utilization:.1%}" == "2.00x 50.0%"
    assert made.is_bottleneck
    assert made.data_bottleneck == "transform"
    assert made.transform_time.m_as("ms") == pytest.approx(64.0)


@pytest.mark.parametrize("n_workers", [8, 16, 64])
def test_workers_on_a_16_thread_server_level_off(n_workers: int) -> None:
    """ternaus/imread_benchmark: 1.3 to 2.9 thousand decoded images a second in total, not workers x 450 to 860."""
    made = TransformationModel().solve(
        batch_size=256, sample_size_bytes="109 KB", n_workers=n_workers, cpu_threads=16, accelerator_step_time="1 ms"
    )
    assert 1300 < made.fed_throughput.m_as("1/s") < 2900


def test_said_loaders_and_workers_free_the_accelerator() -> None:
    step = {"batch_size": 256, "sample_size_bytes": "115 KB", "accelerator_step_time": "60 ms"}
    starved = TransformationModel().solve(**step, n_workers=8)
    assert starved.is_bottleneck
    each = int(-(-starved.required_workers // starved.required_loaders))
    fed = TransformationModel().solve(**step, n_workers=2 * each, n_loaders=int(starved.required_loaders) + 1)
    assert fed.accelerator_utilization == 1.0


def test_a_training_step_demands_less_than_a_forward_pass() -> None:
    """The wall is overstated where a forward pass stands in for a step of training."""
    single = SOLVERS["SingleNodeModel"]()
    given = {"model": "ResNet50", "hardware": "A100", "batch_size": 256, "precision": "fp16"}
    forward, training = single.solve(**given), single.solve(**given, phase="training")
    assert training.latency > 2 * forward.latency


def test_the_chain_wires_itself() -> None:
    from solvers.chain import Chain
    from solvers.solver import answers

    solvers = tuple(SOLVERS[n] for n in ("SingleNodeModel", "DataModel", "TransformationModel"))
    made = answers(
        Chain(solvers),
        {"model": "ResNet50", "hardware": "A100", "batch_size": 256, "precision": "fp16", "phase": "training",
         "sample_size_bytes": "115 KB", "n_workers": 64, "n_loaders": 16},
    )  # fmt: skip
    single, data, fed = (made[s.__name__] for s in solvers)
    assert fed.accelerator_step_time == single.latency
    assert data.data_demand.m_as("byte/s") == pytest.approx(single.throughput.m_as("1/s") * 115e3)
    assert fed.load_time.m_as("s") == pytest.approx(256 * 115e3 / data.supply_bw.m_as("byte/s"))
