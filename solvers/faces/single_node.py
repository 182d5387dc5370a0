"""One model on one accelerator: how long a pass takes, how many samples a second, and what binds."""

from __future__ import annotations

from dataclasses import dataclass

from solvers.columns import (
    Byte,
    Choice,
    Flop,
    Ratio,
    Reasons,
    Sample,
    SamplePerSecond,
    Second,
    Token,
    TokenPerSecond,
    column,
    parameter,
    record,
)
from solvers.formulas.kernels import Kernels
from solvers.formulas.serving.constants import Engine
from solvers.formulas.serving.single import single_pass
from solvers.formulas.training.constants import TrainingConstants
from solvers.records import Architecture, Device
from solvers.solver import Solver


@dataclass(frozen=True)
class SingleNodePlan:
    """A batch on one accelerator."""

    model: Architecture = record("the model")
    device: Device = record("the accelerator", needs=("memory_bandwidth", "memory_capacity"))
    kernels: Kernels = record("how close its kernels come to its peaks")
    engine: Engine = record("the software that runs it")
    constants: TrainingConstants = record("how training kernels of its generation do")
    batch_size: Sample = parameter(
        "sequences, images or denoising steps in a batch", default=1, integer=True, minimum=1
    )
    seq_len: Token = parameter(
        "tokens in a sequence (the model's context up to 2048 where not given)", optional=True, integer=True, minimum=1
    )
    phase: Choice = parameter(
        "inference is a forward pass; training is forward, backward and update", default="inference",
        choices=("inference", "training"),
    )  # fmt: skip
    efficiency: Ratio = parameter(
        "replaces the achieved fraction of the compute peak", optional=True, above=0, maximum=1
    )


@dataclass(frozen=True)
class SingleNodeAnswer:
    """One pass of the batch."""

    latency: Second = column("one pass of the batch, start to end")
    throughput: SamplePerSecond = column("samples a second of one accelerator")
    token_throughput: TokenPerSecond = column("tokens a second of one accelerator (0 for what has no tokens)")
    compute_time: Second = column("the pass's arithmetic at the achieved rate")
    memory_time: Second = column("the pass's traffic at the achieved bandwidth")
    overhead_time: Second = column("launching kernels, and what the host adds")
    work: Flop = column("arithmetic of one pass of the batch")
    traffic: Byte = column("bytes that one pass of the batch moves")
    model_flops_utilization: Ratio = column("the pass's arithmetic over what the peak would do in its time")
    memory_per_accelerator: Byte = column("memory that the plan needs on one accelerator")
    bottleneck: Choice = column("what binds", choices=("Compute", "Memory", "Communication", "Overhead"))
    reasons: Reasons = column("why it is infeasible")


class SingleNodeModel(Solver):
    """One model on one accelerator.

    Decoders and encoders count sequences of `seq_len` tokens, vision nets images, diffusion nets denoising steps; a
    sequence of one token costs what `ServingModel` says a decoded token costs at a context of one.
    """

    @staticmethod
    def columns(plan: SingleNodePlan) -> SingleNodeAnswer:
        """See `solvers.formulas.serving.single`."""
        return SingleNodeAnswer(**single_pass(plan))
