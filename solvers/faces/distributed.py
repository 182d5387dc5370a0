"""How fast does a fleet train a model? `DistributedModel` lays a job out: time, memory and power."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from solvers.columns import (
    Byte,
    Choice,
    Count,
    Flag,
    Flop,
    FlopPerSecond,
    Joule,
    JoulePerToken,
    Ratio,
    Reasons,
    Sample,
    SamplePerSecond,
    Second,
    Token,
    TokenPerSecond,
    Watt,
    column,
    otherwise,
    parameter,
    record,
    where,
)
from solvers.formulas.collectives import Wires
from solvers.formulas.training.constants import TrainingConstants
from solvers.formulas.training.layer import (
    ATTENTION_KERNELS,
    head_time,
    layer_mix,
    layer_times,
    net_times,
    rates,
    shard,
)
from solvers.formulas.training.layout import layout, layout_reasons
from solvers.formulas.training.memory import OPTIMIZERS, RECOMPUTE, held, training_memory
from solvers.formulas.training.run import interruptions
from solvers.formulas.training.step import context_exchange, layer_comm, step_times
from solvers.formulas.training.work import is_net, model_flops, run_samples, transformer_only
from solvers.formulas.transformer import layer_params
from solvers.reasons import DOES_NOT_FIT, PRECISION_UNSUPPORTED, flag
from solvers.records import Architecture, Device, Fleet
from solvers.solver import Solver

GRADIENT_PRECISIONS = ("bf16", "fp32")
GRADIENT_BYTES = np.array([2.0, 4.0])
TRAINED = ("all", "lora")
BOTTLENECKS = (
    "compute", "tensor_communication", "context_communication", "expert_communication", "pipeline_communication",
    "data_communication", "pipeline_bubble", "optimizer", "overhead",
)  # fmt: skip


@dataclass(frozen=True)
class DistributedPlan:
    """What is trained, on what, and how it is laid out."""

    model: Architecture = record("the model")
    device: Device = record("the accelerator", needs=("memory_bandwidth", "memory_capacity", "link_bandwidth", "tdp"))
    fleet: Fleet = record(
        "the fleet",
        needs=("n_accelerators", "accelerators_per_node", "nic_bandwidth", "fabric_latency", "accelerator_mtbf"),
    )
    constants: TrainingConstants = record("what is measured of training software")
    batch_size: Sample = parameter("sequences (images, samples) in the global batch", integer=True, minimum=1)
    seq_len: Token = parameter("tokens in a sequence", default=2048, integer=True, minimum=1)
    microbatch_size: Sample = parameter("sequences that a rank runs at a time", default=1, integer=True, minimum=1)
    tp_size: Count = parameter("tensor-parallel ranks", default=1, integer=True, minimum=1)
    pp_size: Count = parameter("pipeline stages", default=1, integer=True, minimum=1)
    dp_size: Count = parameter(
        "data-parallel ranks (what remains of the fleet)", optional=True, integer=True, minimum=1
    )
    cp_size: Count = parameter("context-parallel ranks", default=1, integer=True, minimum=1)
    ep_size: Count = parameter(
        "expert-parallel ranks, taken from the tensor-, context- and data-parallel ones",
        default=1,
        integer=True,
        minimum=1,
    )
    v_stages: Count = parameter(
        "model chunks on each pipeline stage (interleaving)", default=1, integer=True, minimum=1
    )
    balanced_stages: Flag = parameter(
        "the stage with the vocabulary head has fewer layers, as far as that evens out", default=False
    )
    zero_stage: Count = parameter(
        "what data-parallel ranks shard: 0 nothing, 1 optimizer, 2 gradients too, 3 weights too (FSDP)",
        default=0, integer=True, minimum=0, maximum=3,
    )  # fmt: skip
    shard_size: Count = parameter(
        "ranks over which ZeRO shards (all data-parallel ones; fewer is hybrid sharding)",
        optional=True,
        integer=True,
        minimum=1,
    )
    sequence_parallel: Flag = parameter("norms are split over the tensor-parallel ranks as well", default=True)
    recompute: Choice = parameter("activations made again in the backward pass", default="selective", choices=RECOMPUTE)
    attention_kernel: Choice = parameter(
        "attention written for this generation, in a portable language, or as separate kernels",
        default="fused", choices=ATTENTION_KERNELS,
    )  # fmt: skip
    gradient_precision: Choice = parameter(
        "precision in which gradients are added up and reduced", default="bf16", choices=GRADIENT_PRECISIONS
    )
    optimizer: Choice = parameter("the optimizer", default="adam", choices=OPTIMIZERS)
    trained: Choice = parameter("which parameters learn: all, or low-rank adapters", default="all", choices=TRAINED)
    lora_rank: Count = parameter("rank of the adapters", default=16, integer=True, minimum=1)
    data_overlap: Flag = parameter("data-parallel communication overlaps with computation", default=True)
    bucket_size: Byte = parameter(
        "gradients reduced together (a million parameters a data-parallel rank, at least forty million)",
        optional=True,
        above=0,
    )
    expert_imbalance: Ratio = parameter("load of the busiest expert rank over the mean", default=1.1, minimum=1)
    routed_nodes: Count = parameter(
        "link domains to which the experts of one token are limited (no limit)", optional=True, integer=True, minimum=1
    )
    efficiency: Ratio = parameter(
        "replaces the achieved fraction of the compute peak", optional=True, above=0, maximum=1
    )
    run_tokens: Token = parameter("tokens of the whole run (20 a parameter, compute-optimal)", optional=True, above=0)
    run_samples: Sample = parameter(
        "samples of the whole run, for models that do not count tokens", optional=True, above=0
    )
    checkpoint_time: Second = parameter("pause to save a checkpoint", default=30.0, above=0)
    checkpoint_interval: Second = parameter(
        "time between checkpoints (the best, by Young and Daly)", optional=True, above=0
    )
    restart_time: Second = parameter("from a failure to the first new step", default=600.0, minimum=0)


@dataclass(frozen=True)
class DistributedAnswer:
    """How fast, how full, and where the time goes. Times are of one optimizer step; the parts add up to the whole."""

    step_latency_total: Second = column("one optimizer step")
    effective_throughput: TokenPerSecond = column(
        "tokens a second of the whole job (units of work where there are no tokens)"
    )
    sample_throughput: SamplePerSecond = column("sequences, images or samples a second of the whole job")
    tokens_per_accelerator: TokenPerSecond = column("tokens a second and accelerator")
    mfu: Ratio = column(
        "model FLOP/s over the dense peak; causal attention counts its half, recomputation does not count"
    )
    model_flops: Flop = column("work of one step, recomputation not counted")
    achieved_flops: FlopPerSecond = column("model FLOP/s of one accelerator")
    compute_time: Second = column("kernels of one rank")
    tensor_comm_time: Second = column("exposed tensor-parallel communication")
    context_comm_time: Second = column("exposed context-parallel communication")
    expert_comm_time: Second = column("exposed expert-parallel communication")
    pipeline_comm_time: Second = column("exposed transfers between stages")
    data_comm_time: Second = column("exposed data-parallel communication")
    bubble_time: Second = column("stages that wait: filling, draining and unequal stages")
    optimizer_time: Second = column("the update")
    overhead_time: Second = column("stragglers, and what nothing explains")
    bottleneck: Choice = column("the largest part of the step", choices=BOTTLENECKS)
    memory_per_accelerator: Byte = column("held by the fullest accelerator")
    memory_weights: Byte = column("of which weights")
    memory_gradients: Byte = column("of which gradients")
    memory_optimizer: Byte = column("of which optimizer states and master weights")
    memory_activations: Byte = column("of which activations of the microbatches in flight")
    memory_logits: Byte = column("of which logits")
    memory_buffers: Byte = column("of which gathered weights and the allocator's loss")
    memory_framework: Byte = column("of which the framework, its libraries and communicators")
    data_parallel_ranks: Count = column("replicas of the model")
    microbatches: Count = column("microbatches of one replica in one step")
    accelerators_used: Count = column("accelerators that the layout uses")
    accelerator_power: Watt = column("mean power of one accelerator")
    energy_per_step: Joule = column("energy of the accelerators for one step")
    energy_per_token: JoulePerToken = column(
        "energy of the accelerators for one token (one unit of work where there are none)"
    )
    steps_per_run: Count = column("optimizer steps of the whole run")
    training_time: Second = column("the whole run, failures and checkpoints included")
    busy_fraction: Ratio = column("goodput: part of the run in which lasting progress is made")
    failures_per_day: Count = column("interruptions of the job in a day")
    best_checkpoint_interval: Second = column("time between checkpoints, as given or by Young and Daly")
    reasons: Reasons = column("why it is infeasible")


class DistributedModel(Solver):
    """Training on a fleet: one optimizer step layer by layer, its memory, its power, and the run that it makes.

    Every rank's matrix products, attention and communication are counted at the shapes that it really runs. Holds for
    transformers (dense, mixtures of experts, encoders) and, as data-parallel replicas, for nets known by their
    published work. Errors by model family are in `docs/training.md`.
    """

    @staticmethod
    def columns(plan: DistributedPlan) -> DistributedAnswer:
        """Lay the job out and time it."""
        device, fleet, constants = plan.device, plan.fleet, plan.constants
        model, known_by_work = transformer_only(plan.model), is_net(plan.model)
        seq_len = where(known_by_work, 1.0, plan.seq_len)
        lora = plan.trained == TRAINED.index("lora")
        gradient_bytes = np.maximum(
            GRADIENT_BYTES[plan.gradient_precision], where(device.activation_bytes > 2, 4.0, 2.0)
        )
        sequence_parallel = plan.sequence_parallel & (plan.tp_size > 1)
        domain = np.maximum(device.link_domain, 1.0)
        wires = Wires(
            link_bandwidth=constants.collective_fraction * device.link_bandwidth,
            link_latency=constants.link_latency,
            network_bandwidth=constants.network_fraction * fleet.nic_bandwidth / otherwise(fleet.oversubscription, 1.0),
            network_latency=fleet.fabric_latency,
            start=constants.collective_start,
        )

        made = layout(
            model, fleet.n_accelerators, domain, fleet.accelerators_per_node, plan.batch_size, plan.microbatch_size,
            plan.tp_size, plan.pp_size, plan.dp_size, plan.cp_size, plan.ep_size, plan.v_stages,
        )  # fmt: skip
        part = shard(plan.microbatch_size, seq_len, plan.tp_size, plan.cp_size, sequence_parallel)
        rate = rates(device, constants, seq_len, plan.attention_kernel, plan.efficiency)
        params, mix = layer_params(model), layer_mix(model)
        exchange = context_exchange(model, device, made, part, wires)
        transformer = layer_times(
            model, device, constants, part, rate, plan.attention_kernel, lora, plan.ep_size, plan.expert_imbalance,
            params, mix, exchange,
        )  # fmt: skip
        net = net_times(model, device, constants, plan.microbatch_size, rate)
        layer = transformer.where(known_by_work, net)
        head = head_time(model, device, constants, part, rate, lora)
        comm = layer_comm(
            model, device, constants, mix, made, part, layer, wires, plan.ep_size, plan.recompute, sequence_parallel,
            plan.expert_imbalance, plan.routed_nodes,
        )  # fmt: skip
        own = held(model, params, mix, made, plan.tp_size, plan.pp_size, plan.ep_size, lora, plan.lora_rank)
        shards = np.minimum(otherwise(plan.shard_size, made.data_ranks), made.data_ranks)
        times = step_times(
            model, device, constants, mix, made, own, part, layer, head, comm, wires, plan.tp_size, plan.pp_size,
            plan.zero_stage, plan.recompute, plan.attention_kernel, gradient_bytes, shards, plan.data_overlap,
            plan.bucket_size, plan.balanced_stages,
        )  # fmt: skip
        memory = training_memory(
            model, device, constants, mix, made, own, part, plan.pp_size, plan.zero_stage, plan.recompute,
            plan.attention_kernel, plan.optimizer, gradient_bytes, shards,
        )  # fmt: skip

        step = times.total
        samples = plan.batch_size / step
        tokens = samples * seq_len
        flops = plan.batch_size * model_flops(model, params, mix, seq_len, lora)
        achieved = flops / step / made.accelerators
        peak = otherwise(device.peak_flops, constants.wide_peak_flops)
        busy = times.compute / step
        power = device.tdp * (constants.idle_power + (constants.busy_power - constants.idle_power) * busy)
        energy = power * step * made.accelerators
        steps = np.ceil(run_samples(model, seq_len, plan.run_tokens, plan.run_samples) / plan.batch_size)
        run = interruptions(
            made.accelerators, fleet.accelerator_mtbf, plan.checkpoint_time, plan.restart_time, plan.checkpoint_interval
        )
        parts = (
            times.compute, times.tensor, times.context, times.expert, times.pipeline, times.data, times.bubble,
            times.optimizer, times.overhead,
        )  # fmt: skip
        reasons = (
            layout_reasons(
                model, made, fleet.n_accelerators, plan.batch_size, plan.microbatch_size, plan.tp_size, plan.pp_size,
                plan.cp_size, plan.ep_size, plan.v_stages,
            )
            | flag(memory.total > device.memory_capacity, DOES_NOT_FIT)
            | flag(device.precision_supported < 1, PRECISION_UNSUPPORTED)
        )  # fmt: skip
        return DistributedAnswer(
            step_latency_total=step,
            effective_throughput=tokens,
            sample_throughput=samples,
            tokens_per_accelerator=tokens / made.accelerators,
            mfu=achieved / peak,
            model_flops=flops,
            achieved_flops=achieved,
            compute_time=times.compute,
            tensor_comm_time=times.tensor,
            context_comm_time=times.context,
            expert_comm_time=times.expert,
            pipeline_comm_time=times.pipeline,
            data_comm_time=times.data,
            bubble_time=times.bubble,
            optimizer_time=times.optimizer,
            overhead_time=times.overhead,
            bottleneck=_largest(parts),
            memory_per_accelerator=memory.total,
            memory_weights=memory.weights,
            memory_gradients=memory.gradients,
            memory_optimizer=memory.optimizer,
            memory_activations=memory.activations,
            memory_logits=memory.logits,
            memory_buffers=memory.buffers,
            memory_framework=memory.framework,
            data_parallel_ranks=made.replicas,
            microbatches=made.microbatches,
            accelerators_used=made.accelerators,
            accelerator_power=power,
            energy_per_step=energy,
            energy_per_token=energy / (plan.batch_size * seq_len),
            steps_per_run=steps,
            training_time=steps * step / run.busy_fraction,
            busy_fraction=run.busy_fraction,
            failures_per_day=run.failures_per_day,
            best_checkpoint_interval=run.checkpoint_interval,
            reasons=reasons,
        )


def _largest(parts: tuple[Second, ...]) -> Choice:
    """The code of the largest of several times; the first of equals."""
    best, code = parts[0], np.asarray(0)
    for place, part in enumerate(parts[1:], start=1):
        code = where(part > best, np.int64(place), code)
        best = np.maximum(best, part)
    return code
