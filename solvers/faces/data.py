"""Can storage keep up? `DataModel` compares what a workload reads with what reaches the host."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from solvers.columns import (
    Byte,
    BytePerSecond,
    Count,
    Flag,
    Ratio,
    Reasons,
    SamplePerSecond,
    Second,
    column,
    otherwise,
    parameter,
    record,
    where,
)
from solvers.formulas.data_pipeline import cache_miss_fraction, supply_bandwidth
from solvers.lowering.constants import constant
from solvers.reasons import flag, reason
from solvers.records import Device
from solvers.solver import Solver

DATA_DEMAND_UNKNOWN = reason(
    "data_demand_unknown",
    "Nothing says how fast data is consumed.",
    "Give workload_data_rate, or sample_size_bytes after a solver that makes a throughput.",
)


@dataclass(frozen=True)
class DataPlan:
    """What reads, from where."""

    device: Device = record("the accelerator, for its share of the node's storage", needs=("storage_bandwidth",))
    workload_data_rate: BytePerSecond = parameter(
        "stored bytes that one accelerator consumes a second (throughput x sample_size_bytes where it is not given)",
        optional=True, minimum=0,
    )  # fmt: skip
    throughput: SamplePerSecond = parameter("samples that one accelerator consumes a second", optional=True, minimum=0)
    sample_size_bytes: Byte = parameter("stored size of one sample", optional=True, above=0)
    network_bandwidth: BytePerSecond = parameter(
        "network bandwidth of one accelerator's share towards remote storage (local storage where it is not given)",
        optional=True, above=0,
    )  # fmt: skip
    cache_hit_rate: Ratio = parameter("part of the reads that a warm cache answers", default=0.0, minimum=0, maximum=1)
    epochs: Count = parameter(
        "passes over the data, of which the first is cold (steady state where it is not given)",
        optional=True,
        minimum=1,
    )
    storage_latency: Second = parameter(
        "time to open and begin to read one sample", default=constant("data_pipeline", "storage_latency"), above=0
    )
    reads_in_flight: Count = parameter("samples read at a time", default=8, integer=True, minimum=1)
    cache_bandwidth: BytePerSecond = parameter(
        "bandwidth of the host's page cache, for each accelerator",
        default=constant("data_pipeline", "cache_bandwidth"), above=0,
    )  # fmt: skip
    copy_efficiency: Ratio = parameter(
        "achieved part of the host link's bandwidth",
        default=constant("data_pipeline", "copy_efficiency"),
        above=0,
        maximum=1,
    )


@dataclass(frozen=True)
class DataAnswer:
    """Whether storage binds."""

    data_demand: BytePerSecond = column("stored bytes that one accelerator consumes a second")
    supply_bw: BytePerSecond = column("stored bytes a second that reach the host for one accelerator")
    utilization: Ratio = column("demand over supply: above 1 the accelerator waits")
    is_stalled: Flag = column("storage cannot keep up")
    cold_utilization: Ratio = column("demand over supply in the first epoch, before anything is cached")
    required_storage_bandwidth: BytePerSecond = column(
        "storage bandwidth for one accelerator at which it would not wait"
    )
    required_cache_hit_rate: Ratio = column("cache hit rate at which this storage would keep up in the steady state")
    copy_bw: BytePerSecond = column("achieved bandwidth of the copy from host to accelerator")
    reasons: Reasons = column("why it is infeasible")


class DataModel(Solver):
    """Can storage feed the accelerator? Demand in stored bytes a second against what storage, network and cache supply.

    Holds for reads that run ahead of the training step. A chip whose storage nobody has stated is an error: its
    storage_bandwidth has to be given.
    """

    @staticmethod
    def columns(plan: DataPlan) -> DataAnswer:
        """Compare demand and supply."""
        demand = otherwise(plan.workload_data_rate, plan.throughput * plan.sample_size_bytes)
        unknown = np.isnan(demand)
        demand = where(unknown, 0.0, demand)

        def supply(miss: Ratio) -> BytePerSecond:
            return supply_bandwidth(
                plan.device.storage_bandwidth, plan.network_bandwidth, plan.cache_bandwidth, miss,
                plan.sample_size_bytes, plan.storage_latency, plan.reads_in_flight,
            )  # fmt: skip

        cold = supply(1.0)
        warm = supply(cache_miss_fraction(plan.cache_hit_rate, plan.epochs))
        return DataAnswer(
            data_demand=demand,
            supply_bw=warm,
            utilization=demand / warm,
            is_stalled=unknown | (demand > warm),
            cold_utilization=demand / cold,
            required_storage_bandwidth=demand * cache_miss_fraction(plan.cache_hit_rate, plan.epochs),
            required_cache_hit_rate=np.maximum(0.0, 1.0 - cold / np.maximum(demand, 1e-9)),
            copy_bw=plan.device.host_link_bandwidth * plan.copy_efficiency,
            reasons=flag(unknown, DATA_DEMAND_UNKNOWN),
        )
