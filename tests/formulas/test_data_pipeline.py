"""Input pipelines: the slowest stage decides, workers do not multiply, the first epoch is cold."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from solvers.formulas.data_pipeline import (
    STAGES,
    cache_miss_fraction,
    loader_sample_rate,
    overlapped_step,
    supply_bandwidth,
    workers_needed,
)

RATES = st.floats(1e6, 1e12)
TIMES = st.floats(1e-4, 1e2)


def test_the_first_epoch_reads_everything() -> None:
    assert cache_miss_fraction(0.8, 1.0) == 1.0
    assert cache_miss_fraction(0.8, 4.0) == pytest.approx(0.4)
    assert cache_miss_fraction(0.8, np.nan) == pytest.approx(0.2)


def test_small_files_on_a_slow_file_system_are_bound_by_latency() -> None:
    one = {"storage_bandwidth": 20e9, "network_bandwidth": np.nan, "cache_bandwidth": 1e12, "miss_fraction": 1.0}
    lustre = supply_bandwidth(**one, sample_size_bytes=115e3, storage_latency=2.3e-3, reads_in_flight=8)
    nvme = supply_bandwidth(**one, sample_size_bytes=115e3, storage_latency=11e-6, reads_in_flight=8)
    assert lustre == pytest.approx(8 * 115e3 / 2.3e-3)
    assert nvme == 20e9


def test_a_cache_serves_at_its_own_bandwidth_at_most() -> None:
    supply = supply_bandwidth(1e9, np.nan, 2e10, 0.0, np.nan, 1e-5, 8)
    assert supply == 2e10


def test_one_worker_that_is_the_training_process_hands_nothing_over() -> None:
    assert loader_sample_rate(0, np.nan, 600.0, 0.9, 5e5, 1e6) == 600.0


@settings(deadline=None)
@given(st.integers(1, 64), st.integers(1, 64), st.floats(10, 1e4), st.floats(1e4, 1e7), st.floats(1e7, 1e10))
def test_workers_never_beat_their_number_nor_the_process_that_collects(
    n: int, threads: int, one: float, decoded: float, handover: float
) -> None:
    rate = loader_sample_rate(float(n), float(threads), one, 0.9, decoded, handover)
    assert rate <= n * one
    assert rate <= threads * one
    assert rate <= handover / decoded
    more = loader_sample_rate(float(n + 1), float(threads), one, 0.9, decoded, handover)
    assert more >= rate * (1 - 1e-12)


@settings(deadline=None)
@given(st.floats(1, 1e4), st.floats(1e3, 1e7), RATES, RATES, RATES, TIMES)
def test_a_step_is_its_longest_stage(
    batch: float, size: float, supply: float, host: float, copy: float, step: float
) -> None:
    made = overlapped_step(batch, size, 3 * size, supply, host, copy, step)
    stages = (step, made.load_time, made.transform_time, made.copy_time)
    assert made.step_time == max(stages)
    assert stages[int(made.binding)] == made.step_time
    assert STAGES[int(made.binding)] in STAGES


def test_stages_that_nobody_states_are_left_out() -> None:
    made = overlapped_step(256.0, 5e5, 2.5e6, np.nan, 2e9, np.nan, 0.01)
    assert made.load_time == 0.0
    assert made.copy_time == 0.0
    assert made.step_time == pytest.approx(256 * 5e5 / 2e9)


def test_the_workers_that_are_said_to_suffice_do() -> None:
    wanted, one, decoded, handover = 3000.0, 460.0, 5.5e5, 1.0e9
    workers, loaders = workers_needed(wanted, one, 0.9, decoded, handover)
    assert workers * one * 0.9 >= wanted
    assert loaders * handover / decoded >= wanted
    assert (workers - 1) * one * 0.9 < wanted
