"""Can the host's workers keep up? `TransformationModel` sets preprocessing beside the accelerator's step."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from solvers.columns import (
    Byte,
    BytePerSecond,
    Choice,
    Count,
    Flag,
    Ratio,
    Reasons,
    Sample,
    SamplePerSecond,
    Second,
    column,
    otherwise,
    parameter,
)
from solvers.formulas.data_pipeline import (
    STAGES,
    loader_sample_rate,
    overlapped_step,
    worker_sample_rate,
    workers_needed,
)
from solvers.lowering.constants import constant, table
from solvers.solver import Solver

DATA_KINDS = ("image", "video", "volume", "token")
"""What a sample is: JPEG image, H.264 clip, uncompressed 3D volume, packed token sequence."""
_DECODE = table("data_pipeline", "decode_bandwidth", DATA_KINDS)
_AUGMENT = table("data_pipeline", "augment_bandwidth", DATA_KINDS)
_EXPANSION = table("data_pipeline", "expansion", DATA_KINDS)


@dataclass(frozen=True)
class TransformationPlan:
    """One batch on its way to the accelerator."""

    batch_size: Sample = parameter("samples in one step of one accelerator", integer=True, minimum=1)
    sample_size_bytes: Byte = parameter("stored size of one sample", above=0)
    accelerator_step_time: Second = parameter("one step of the accelerator alone", above=0, source="latency")
    data_kind: Choice = parameter("what a sample is", default="image", choices=DATA_KINDS)
    decoded_size_bytes: Byte = parameter(
        "size of one sample once decoded (by kind where not given)", optional=True, above=0
    )
    cpu_throughput: BytePerSecond = parameter(
        "stored bytes a second that all workers preprocess together (from n_workers where it is not given)",
        optional=True, above=0,
    )  # fmt: skip
    n_workers: Count = parameter("worker processes of one loader", default=8, integer=True, minimum=0)
    n_loaders: Count = parameter("loaders on the host, each with its own workers", default=1, integer=True, minimum=1)
    cpu_threads: Count = parameter(
        "hardware threads for each loader (no limit where it is not given)", optional=True, integer=True, minimum=1
    )
    worker_throughput: BytePerSecond = parameter(
        "stored bytes a second that one worker preprocesses by itself (by kind where it is not given)",
        optional=True,
        above=0,
    )
    accelerators_fed: Count = parameter("accelerators that share the workers", default=1, integer=True, minimum=1)
    worker_scaling: Ratio = parameter(
        "part of its single rate that each of several workers keeps",
        default=constant("data_pipeline", "worker_scaling"), above=0, maximum=1,
    )  # fmt: skip
    handover_bandwidth: BytePerSecond = parameter(
        "decoded bytes a second through the process that collects the batches of one loader",
        default=constant("data_pipeline", "handover_bandwidth"), above=0,
    )  # fmt: skip
    supply_bw: BytePerSecond = parameter(
        "stored bytes a second from storage (left out where not given)", optional=True, above=0
    )
    copy_bw: BytePerSecond = parameter(
        "bandwidth of the copy to the accelerator (left out where not given)", optional=True, above=0
    )


@dataclass(frozen=True)
class TransformationAnswer:
    """What binds a step, and what it would take to free it."""

    transform_time: Second = column("preprocessing one batch on the host")
    accelerator_step_time: Second = column("one step of the accelerator alone")
    load_time: Second = column("reading one batch from storage (0 where it is left out)")
    copy_time: Second = column("copying one batch to the accelerator (0 where it is left out)")
    fed_step_time: Second = column("one step with its input: the slowest stage")
    is_bottleneck: Flag = column("preprocessing takes longer than the accelerator's step")
    data_bottleneck: Choice = column("the stage that decides the step", choices=STAGES)
    accelerator_utilization: Ratio = column("part of the step in which the accelerator works")
    slowdown_factor: Ratio = column("step with its input over step of the accelerator alone")
    fed_throughput: SamplePerSecond = column("samples that one accelerator gets through a second, input included")
    worker_processes: Count = column("worker processes of all loaders")
    required_cpu_throughput: BytePerSecond = column(
        "stored bytes a second to preprocess for the accelerators not to wait"
    )
    required_workers: Count = column("workers at which preprocessing would not bind, spread over required_loaders")
    required_loaders: Count = column("loaders that can collect batches fast enough")
    required_supply_bw: BytePerSecond = column("stored bytes a second from storage for one accelerator not to wait")
    reasons: Reasons = column("why it is infeasible")


class TransformationModel(Solver):
    """Can the host decode and augment as fast as the accelerator trains? Stages overlap: a step is its slowest stage.

    Give cpu_throughput where it is known; otherwise it follows from the number of workers, which do not scale as
    workers times the rate of one.
    """

    @staticmethod
    def columns(plan: TransformationPlan) -> TransformationAnswer:
        """Set the stages side by side."""
        kind = plan.data_kind
        decoded = otherwise(plan.decoded_size_bytes, plan.sample_size_bytes * _EXPANSION[kind])
        one_worker = otherwise(
            plan.worker_throughput / plan.sample_size_bytes,
            worker_sample_rate(plan.sample_size_bytes, decoded, _DECODE[kind], _AUGMENT[kind]),
        )
        loader = loader_sample_rate(
            plan.n_workers, plan.cpu_threads, one_worker, plan.worker_scaling, decoded, plan.handover_bandwidth
        )
        host = otherwise(plan.cpu_throughput, loader * plan.n_loaders * plan.sample_size_bytes)
        step = overlapped_step(
            plan.batch_size,
            plan.sample_size_bytes,
            decoded,
            plan.supply_bw,
            host / plan.accelerators_fed,
            plan.copy_bw,
            plan.accelerator_step_time,
        )
        wanted = plan.batch_size / plan.accelerator_step_time
        workers, loaders = workers_needed(
            wanted * plan.accelerators_fed, one_worker, plan.worker_scaling, decoded, plan.handover_bandwidth
        )
        stored_rate = wanted * plan.sample_size_bytes
        return TransformationAnswer(
            transform_time=step.transform_time,
            accelerator_step_time=plan.accelerator_step_time,
            load_time=step.load_time,
            copy_time=step.copy_time,
            fed_step_time=step.step_time,
            is_bottleneck=step.transform_time > plan.accelerator_step_time,
            data_bottleneck=step.binding,
            accelerator_utilization=plan.accelerator_step_time / step.step_time,
            slowdown_factor=step.step_time / plan.accelerator_step_time,
            fed_throughput=plan.batch_size / step.step_time,
            worker_processes=plan.n_workers * plan.n_loaders,
            required_cpu_throughput=stored_rate * plan.accelerators_fed,
            required_workers=workers,
            required_loaders=loaders,
            required_supply_bw=stored_rate,
            reasons=np.int64(0),
        )
