"""What is measured of training software rather than read from a data sheet.

The values live in `catalog/data/training_constants.csv`, each with its source and fit error;
`benchmarks/fit_training.py` fits those that are fitted.
"""

from __future__ import annotations

from dataclasses import dataclass

from solvers.columns import Byte, Count, FlopPerSecond, Ratio, Second, Token, column


@dataclass(frozen=True)
class TrainingConstants:
    """How far training kernels and wires stay below their peaks, on one accelerator in one precision."""

    wide_peak_flops: FlopPerSecond = column(
        "dense peak of the arithmetic that attention and the vocabulary head use (16 bit or wider)"
    )
    gemm_fraction: Ratio = column(
        "fraction of the peak that large matrix products of a layer reach", above=0, maximum=1
    )
    wide_gemm_fraction: Ratio = column(
        "the same for products in the wider arithmetic of attention and head", above=0, maximum=1
    )
    grouped_gemm_fraction: Ratio = column("of that, what the grouped products of experts reach", above=0, maximum=1)
    attention_fraction: Ratio = column(
        "fraction of the wide peak that the newest fused attention reaches on long sequences"
    )
    portable_attention_fraction: Ratio = column(
        "the same for fused attention not written for this generation", above=0, maximum=1
    )
    attention_half_speed: Token = column("length at which fused attention runs at half of its long-sequence speed")
    convolution_fraction: Ratio = column("fraction of the peak that convolutions reach", above=0, maximum=1)
    memory_fraction: Ratio = column(
        "fraction of the peak memory bandwidth that training kernels reach", above=0, maximum=1
    )
    kernel_gap: Second = column("device time lost at each kernel's start and end")
    launch_time: Second = column("host time to launch one kernel from the training framework")
    hidden_passes: Count = column(
        "hidden-sized tensors that one block reads and writes forward outside its matrix products"
    )
    inner_passes: Count = column(
        "times that the inner activations of a block are read or written forward outside its matrix products"
    )
    net_passes: Ratio = column(
        "activation traffic of a net forward in training over that in inference (batch statistics)"
    )
    thin_intensity: Ratio = column(
        "FLOP a byte at which a net's kernels (depthwise convolutions) reach half of the bandwidth that wide ones do"
    )
    cast_bytes: Byte = column("bytes read and written to bring one activation into the precision of its matrix product")
    logit_bytes: Byte = column("bytes read and written for each logit in the loss, forward and backward")
    score_bytes: Byte = column("bytes read and written for each attention score forward where attention is not fused")
    routed_kernels: Count = column("kernels that a layer of routed experts launches forward")
    collective_fraction: Ratio = column("fraction of the link's peak that collectives reach", above=0, maximum=1)
    network_fraction: Ratio = column("fraction of the network ports' peak that collectives reach", above=0, maximum=1)
    link_latency: Second = column("latency of one hop over the link")
    collective_start: Second = column("time to start a collective, whatever its size")
    tensor_overlap: Ratio = column(
        "share of tensor-parallel communication that sequence parallelism hides behind matrix products"
    )
    data_hidden: Ratio = column(
        "share of the backward (or forward) pass behind which data-parallel communication hides"
    )
    pipeline_overlap: Ratio = column("share of stage-to-stage transfers hidden when the schedule interleaves")
    expert_overlap: Ratio = column("share of expert dispatch hidden behind computation")
    straggling: Ratio = column("share by which a step gets longer with each doubling of the nodes")
    step_overhead: Second = column("time of a step that nothing explains: loop, logging, gradient norm, data hand-over")
    context_bytes: Byte = column("memory of the framework, its libraries and communicators on each accelerator")
    logit_memory: Byte = column("bytes held for each logit of a microbatch")
    fragmentation: Ratio = column("share by which the allocator holds more than the tensors of a step")
    idle_power: Ratio = column("share of the design power drawn while waiting")
    busy_power: Ratio = column("share of the design power drawn while computing")
