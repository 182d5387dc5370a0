"""Catalogue records as columns: the shape of a model, and what a chip and a fleet bring.

Formulas take these whole. `solvers.lower` fills them from the catalogue, one array a field, so that a formula sees
one model or a thousand alike. Every field can be overridden by name from a study.
"""

from __future__ import annotations

from dataclasses import dataclass

from solvers.columns import (
    Byte,
    BytePerSecond,
    Choice,
    Count,
    Flag,
    Flop,
    FlopPerSecond,
    Ratio,
    Second,
    Token,
    UsdPerHour,
    Watt,
    column,
)

WORK_UNITS = ("token", "sequence", "image", "step")
"""What a unit of work is: decoders count tokens, encoders sequences, vision nets images, diffusion denoising steps."""


@dataclass(frozen=True)
class Architecture:
    """The shape of a model. Counts are floats; what a model lacks is 0."""

    work_unit: Choice = column("what one unit of work is", choices=WORK_UNITS)
    params_total: Count = column("parameters, embeddings and all experts included")
    params_active: Count = column("parameters that one token uses")
    layers: Count = column("blocks, encoder and decoder together")
    encoder_layers: Count = column("of which in an encoder (0 for decoders; all of them for encoders)")
    hidden: Count = column("width of the residual stream")
    heads: Count = column("query heads")
    kv_heads: Count = column("key and value heads")
    head_dim: Count = column("width of a query or key head")
    v_head_dim: Count = column("width of a value head")
    causal: Flag = column("attention looks only backwards")
    attention_layers: Count = column("layers with softmax attention over the whole context")
    sliding_layers: Count = column("layers with softmax attention over a sliding window")
    sliding_window: Token = column("length of that window")
    linear_layers: Count = column("state-space or linear-attention layers")
    linear_state_bytes: Byte = column("recurrent state of one such layer a sequence (32 bit, as engines keep it)")
    linear_params: Count = column("parameters of one such layer")
    mla: Flag = column("multi-head latent attention: the cache holds one latent a token")
    q_lora_rank: Count = column("rank of the query's compression (0: none)")
    kv_lora_rank: Count = column("rank of the cached latent")
    qk_nope_head_dim: Count = column("width of a key head's part without position")
    qk_rope_head_dim: Count = column("width of a key head's rotary part")
    indexer_heads: Count = column("heads of a sparse-attention indexer (0: none)")
    indexer_head_dim: Count = column("width of an indexer head")
    mlp_layers: Count = column("layers with a dense MLP")
    ffn_hidden: Count = column("width inside a dense MLP")
    mlp_matrices: Count = column("weight matrices in an MLP: 3 when gated, 2 when plain")
    moe_layers: Count = column("layers with routed experts")
    num_experts: Count = column("routed experts a layer")
    top_k: Count = column("routed experts a token uses")
    moe_ffn_hidden: Count = column("width inside one routed expert")
    shared_ffn_hidden: Count = column("width of the shared experts of a layer together")
    vocab: Count = column("entries in the vocabulary")
    tied_embeddings: Flag = column("the head reuses the embedding matrix")
    max_context: Token = column("longest context the model was made for (infinite where it has none)")
    forward_flops: Flop = column("work of one unit forward, for nets that are no transformers over tokens (else 0)")
    forward_traffic: Byte = column("activation bytes written and read by one unit forward at 16 bit, for such nets")
    tokenizer: Count = column("code of the vocabulary's family: models of one family can draft for each other")


@dataclass(frozen=True)
class Device:
    """One accelerator as it computes in one precision. Figures that nobody has are NaN, never 0."""

    peak_flops: FlopPerSecond = column("dense peak in the arithmetic of the precision (NaN where the chip lacks it)")
    precision_supported: Flag = column("the chip computes in that arithmetic")
    weight_bytes: Byte = column("stored bytes of one quantised parameter, scales included")
    activation_bytes: Byte = column("bytes of one activation between kernels (2, or 4 at fp32 and tf32)")
    memory_capacity: Byte = column("memory that a process can use")
    memory_bandwidth: BytePerSecond = column("peak bandwidth of that memory")
    link_bandwidth: BytePerSecond = column("peak bandwidth to peers in the same link domain, one direction")
    link_domain: Count = column("accelerators that reach each other over that link")
    host_link_bandwidth: BytePerSecond = column("peak bandwidth to the host, one direction")
    storage_bandwidth: BytePerSecond = column("storage bandwidth that the usual node gives each accelerator")
    tdp: Watt = column("thermal design power of the accelerator")
    price_per_hour: UsdPerHour = column("price of one accelerator for an hour, on the terms chosen")


@dataclass(frozen=True)
class Fleet:
    """What joins accelerators: nodes, their network, and how often they fail."""

    n_accelerators: Count = column("accelerators in the fleet")
    accelerators_per_node: Count = column("accelerators in one node")
    nic_bandwidth: BytePerSecond = column("an accelerator's share of its node's network ports, one direction")
    fabric_latency: Second = column("latency of a small message between nodes")
    oversubscription: Ratio = column("how much less the core of the network carries than its edge (1: full bisection)")
    accelerator_mtbf: Second = column("mean time between job-stopping failures, for one accelerator with its host")
