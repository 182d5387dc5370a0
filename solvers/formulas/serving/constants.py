"""What an engine adds to the kernels it launches, as columns."""

from __future__ import annotations

from dataclasses import dataclass

from solvers.columns import Byte, BytePerSecond, Count, FlopPerSecond, Ratio, Second, Token, column


@dataclass(frozen=True)
class Engine:
    """A serving engine on one device in one precision: its overheads, limits and formats."""

    attention_weight_bytes: Byte = column("stored bytes of one parameter of the attention projections")
    attention_peak_flops: FlopPerSecond = column("dense peak in the arithmetic of the attention projections")
    head_weight_bytes: Byte = column("stored bytes of one parameter of the vocabulary head")
    head_peak_flops: FlopPerSecond = column("dense peak in the arithmetic of the vocabulary head")
    wide_flops_fraction: Ratio = column("share of the peak that a large product at 16 bit reaches", above=0, maximum=1)
    wide_bandwidth_fraction: Ratio = column(
        "share of the memory bandwidth that a thin product at 16 bit reaches", above=0, maximum=1
    )
    wide_overhead: Second = column("fixed time of a product at 16 bit")
    wide_walk: Second = column("time to advance one element along the inner dimension of a product at 16 bit")
    attention_wide: Ratio = column("1 where the attention projections stay at 16 bit though the rest is narrower")
    gemm_slowdown: Ratio = column("time of the engine's matrix products over that of the library's best")
    read_slowdown: Ratio = column("time to read the engine's weights over that of the library's best")
    walk_slowdown: Ratio = column(
        "time to walk the inner dimension of the engine's products over that of the library's"
    )
    attention_slowdown: Ratio = column("time of the engine's attention over the kernel's")
    cache_slowdown: Ratio = column("further slowdown of attention over the cache while decoding")
    score_bytes: Byte = column("traffic of each score of a prompt's attention (0 where scores stay in the kernel)")
    accumulate_gain: Ratio = column("peak at which the engine accumulates over that of 32-bit accumulation")
    unpack_work: Count = column("operations that a product of few rows spends on unpacking each narrow weight")
    unpack_bytes: Byte = column("bytes of a wide copy of each narrow weight that a pass over prompts makes first")
    expert_slowdown: Ratio = column("time of the engine's experts over the kernel's")
    reduce_slowdown: Ratio = column("time of the engine's collectives over the kernel's")
    prefill_slowdown: Ratio = column("further slowdown of matrix products over whole prompts")
    routing_independence: Ratio = column("independent tokens that touch as many experts, over those that come")
    rank_skew_share: Ratio = column("share of the kernels' skew between ranks that real routing shows")
    uneven_ranks: Ratio = column("share of another data-parallel rank's prompts that a rank waits for")
    expert_prompt_slowdown: Ratio = column("further slowdown of the experts over whole prompts")
    kernel_time: Second = column("time that each launched kernel adds while decoding")
    prefill_kernel_time: Second = column("time that each launched kernel adds to a prompt's pass")
    block_kernels: Count = column("kernels of an attention or MLP block")
    expert_kernels: Count = column("further kernels of a block of routed experts")
    latent_kernels: Count = column("further kernels of latent attention")
    linear_kernels: Count = column("kernels of a state-space or linear-attention block")
    step_time: Second = column("time of scheduling, sampling and streaming in each step")
    sequence_time: Second = column("time that each running sequence adds to a step")
    sort_time: Second = column("time to sort one logit, where sampling by top-p or top-k sorts the vocabulary")
    elementwise_tensors: Count = column("hidden-sized tensors read or written between the products of a block")
    convolution_slowdown: Ratio = column("time of convolutions over that of large products of as much work")
    net_traffic: Ratio = column("traffic of a net's activations over writing and reading each once")
    net_kernel_time: Second = column("time that each layer of a net adds to a pass")
    mixed_share: Ratio = column(
        "share of a decode step's weights and launches that a prompt passing with it need not repeat"
    )
    interference: Ratio = column("share of a newcomer's prefill that stalls the sequences already decoding")
    first_token_time: Second = column("time of a request outside the accelerator before its first token")
    first_token_prefill: Ratio = column("passes of its own prompt that a request waits for, queue apart")
    first_token_steps: Ratio = column("decode steps that a newcomer waits for")
    train_prompts: Ratio = column("prompts of its own length that a request waits for where clients stay in step")
    dispersion: Ratio = column("how fast the variation of lengths brings clients out of step")
    burst_share: Ratio = column("share of the other clients' prompts that a request waits for when all start together")
    host_embedding: Ratio = column("share of the token embedding that stays in the host's memory")
    non_torch_bytes: Byte = column("memory of the driver and the libraries on one device")
    group_bytes: Byte = column("memory of the collectives' buffers when devices work together")
    graph_bytes: Byte = column("memory of captured graphs, where the engine counts it")
    sampler_bytes: Byte = column("peak bytes of the sampler for each sequence and vocabulary entry")
    activation_copies: Ratio = column("widths of hidden and MLP that a token holds at the peak of a pass")
    max_sequences: Count = column("sequences that the engine decodes together at most")
    profile_sequences: Count = column("sequences that the engine sizes its sampler for")
    max_batched_tokens: Token = column("tokens of prompts that the engine passes at once")
    prompt_chunk: Token = column("tokens of one prompt that pass a pipeline stage together")
    stage_overlap: Ratio = column("share of the overlap of pipeline stages over a prompt's chunks that the engine gets")
    pool_share: Ratio = column("share of the memory left over that the cache takes")
    memory_share: Ratio = column("share of the memory that the engine takes by default")
    network_bandwidth: BytePerSecond = column("bandwidth between nodes for each accelerator, one direction")
    network_latency: Second = column("time that a collective takes longer when it crosses nodes")
