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
    params_total: Count = column("parameters, embeddings and all experts included", above=0)
    params_active: Count = column("parameters that one token uses", above=0)
    layers: Count = column("blocks, encoder and decoder together", integer=True, minimum=1)
    encoder_layers: Count = column(
        "of which in an encoder (0 for decoders; all of them for encoders)", integer=True, minimum=0
    )
    hidden: Count = column("width of the residual stream", integer=True, minimum=1)
    heads: Count = column("query heads", integer=True, minimum=1)
    kv_heads: Count = column("key and value heads", integer=True, minimum=1)
    head_dim: Count = column("width of a query or key head", integer=True, minimum=1)
    v_head_dim: Count = column("width of a value head", integer=True, minimum=1)
    causal: Flag = column("attention looks only backwards")
    attention_layers: Count = column("layers with softmax attention over the whole context", integer=True, minimum=0)
    sliding_layers: Count = column("layers with softmax attention over a sliding window", integer=True, minimum=0)
    sliding_window: Token = column("length of that window", above=0)
    linear_layers: Count = column("state-space or linear-attention layers", integer=True, minimum=0)
    linear_state_bytes: Byte = column("recurrent state of one such layer a sequence (32 bit, as engines keep it)")
    linear_params: Count = column("parameters of one such layer", integer=True, minimum=0)
    mla: Flag = column("multi-head latent attention: the cache holds one latent a token")
    q_lora_rank: Count = column("rank of the query's compression (0: none)", integer=True, minimum=0)
    kv_lora_rank: Count = column("rank of the cached latent", integer=True, minimum=0)
    qk_nope_head_dim: Count = column("width of a key head's part without position", integer=True, minimum=0)
    qk_rope_head_dim: Count = column("width of a key head's rotary part", integer=True, minimum=0)
    indexer_heads: Count = column("heads of a sparse-attention indexer (0: none)", integer=True, minimum=0)
    indexer_head_dim: Count = column("width of an indexer head", integer=True, minimum=0)
    mlp_layers: Count = column("layers with a dense MLP", integer=True, minimum=0)
    ffn_hidden: Count = column("width inside a dense MLP", integer=True, minimum=0)
    mlp_matrices: Count = column("weight matrices in an MLP: 3 when gated, 2 when plain", integer=True, minimum=1)
    moe_layers: Count = column("layers with routed experts", integer=True, minimum=0)
    num_experts: Count = column("routed experts a layer", integer=True, minimum=0)
    top_k: Count = column("routed experts a token uses", integer=True, minimum=0)
    moe_ffn_hidden: Count = column("width inside one routed expert", integer=True, minimum=0)
    shared_ffn_hidden: Count = column("width of the shared experts of a layer together", integer=True, minimum=0)
    vocab: Count = column("entries in the vocabulary", integer=True, minimum=1)
    tied_embeddings: Flag = column("the head reuses the embedding matrix")
    max_context: Token = column("longest context the model was made for (infinite where it has none)", above=0)
    forward_flops: Flop = column("work of one unit forward, for nets that are no transformers over tokens (else 0)")
    forward_traffic: Byte = column("activation bytes written and read by one unit forward at 16 bit, for such nets")
    tokenizer: Count = column("code of the vocabulary's family: models of one family can draft for each other")


@dataclass(frozen=True)
class Device:
    """One accelerator as it computes in one precision. Figures that nobody has are NaN, never 0."""

    peak_flops: FlopPerSecond = column("dense peak in the arithmetic of the precision (NaN where the chip lacks it)")
    precision_supported: Flag = column("the chip computes in that arithmetic")
    weight_bytes: Byte = column("stored bytes of one quantised parameter, scales included", above=0)
    activation_bytes: Byte = column("bytes of one activation between kernels (2, or 4 at fp32 and tf32)", above=0)
    memory_capacity: Byte = column("memory that a process can use", above=0)
    memory_bandwidth: BytePerSecond = column("peak bandwidth of that memory")
    link_bandwidth: BytePerSecond = column("peak bandwidth to peers in the same link domain, one direction")
    link_domain: Count = column("accelerators that reach each other over that link", integer=True, minimum=1)
    host_link_bandwidth: BytePerSecond = column("peak bandwidth to the host, one direction")
    storage_bandwidth: BytePerSecond = column("storage bandwidth that the usual node gives each accelerator")
    tdp: Watt = column("thermal design power of the accelerator", above=0)
    price_per_hour: UsdPerHour = column("price of one accelerator for an hour, on the terms chosen")


@dataclass(frozen=True)
class Fleet:
    """What joins accelerators: nodes, their network, and how often they fail."""

    n_accelerators: Count = column("accelerators in the fleet", integer=True, minimum=1)
    accelerators_per_node: Count = column("accelerators in one node", integer=True, minimum=1)
    nic_bandwidth: BytePerSecond = column("an accelerator's share of its node's network ports, one direction")
    fabric_latency: Second = column("latency of a small message between nodes")
    oversubscription: Ratio = column(
        "how much less the core of the network carries than its edge (1: full bisection)", above=0
    )
    accelerator_mtbf: Second = column(
        "mean time between job-stopping failures, for one accelerator with its host", above=0
    )
