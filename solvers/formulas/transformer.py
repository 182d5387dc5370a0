"""What a transformer holds, multiplies and caches: counts by layer kind, from the shape alone.

Everything else in serving and training rests on these counts: the parameters of each kind of layer, the width of its
matrix products, the bytes that one token leaves in the cache, and the pairs of query and key that attention scores.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from solvers.columns import Byte, Count, Token, where
from solvers.records import Architecture

SELECTED_TOKENS = 2048.0
"""Keys that a sparse indexer picks for each query (DeepSeek-V3.2 report; index_topk of DeepSeek-V3.2 and GLM-5)."""
INDEX_BYTES = 132.0 / 128.0
"""Bytes of an indexer's cached key a dimension: 8 bit, and a scale for each 128 (DeepSeek-V3.2 inference code)."""


@dataclass(frozen=True)
class LayerParams:
    """Parameters of one layer of each kind, of the head, and of what is left over."""

    attention: Count
    attention_inner: Count
    mlp: Count
    expert: Count
    shared: Count
    linear: Count
    head: Count
    embedding: Count
    other: Count


def layer_params(model: Architecture) -> LayerParams:
    """Parameters by kind of layer; `other` is what the published total holds beyond them (norms, biases, towers).

    `attention_inner` is the width between an attention layer's input and output products. Grouped-query attention
    projects to heads + 2 kv_heads; latent attention (DeepSeek-V2, arXiv:2405.04434, section 2.1) down to a latent
    and up again.
    """
    key_width = model.heads * model.head_dim + model.kv_heads * model.head_dim
    value_width = model.kv_heads * model.v_head_dim + model.heads * model.v_head_dim
    grouped = model.hidden * (key_width + value_width)
    latent_head = model.qk_nope_head_dim + model.qk_rope_head_dim
    query_in = where(model.q_lora_rank > 0, model.q_lora_rank, model.hidden)
    latent = (
        model.hidden * model.q_lora_rank
        + query_in * model.heads * latent_head
        + model.hidden * (model.kv_lora_rank + model.qk_rope_head_dim)
        + model.kv_lora_rank * model.heads * (model.qk_nope_head_dim + model.v_head_dim)
        + model.heads * model.v_head_dim * model.hidden
    )
    indexer = (
        model.indexer_heads * model.indexer_head_dim * (query_in + model.hidden / np.maximum(model.indexer_heads, 1.0))
    )
    attention = where(model.mla, latent + indexer, grouped)
    mlp = model.mlp_matrices * model.hidden * model.ffn_hidden
    expert = model.mlp_matrices * model.hidden * model.moe_ffn_hidden
    shared = model.mlp_matrices * model.hidden * model.shared_ffn_hidden
    table = model.vocab * model.hidden
    counted = (
        (model.attention_layers + model.sliding_layers) * attention
        + model.linear_layers * model.linear_params
        + model.mlp_layers * mlp
        + model.moe_layers * (model.num_experts * expert + shared)
        + table * (2.0 - model.tied_embeddings)
    )
    return LayerParams(
        attention=attention,
        attention_inner=model.heads * model.v_head_dim,
        mlp=mlp,
        expert=expert,
        shared=shared,
        linear=model.linear_params,
        head=table * (model.encoder_layers < model.layers),
        embedding=table * (1.0 - model.tied_embeddings * (model.encoder_layers < model.layers)),
        other=np.maximum(model.params_total - counted, 0.0),
    )


def cache_bytes_per_token(model: Architecture, tp_size: Count, kv_bytes: Byte) -> Byte:
    """Bytes that one token leaves in one attention layer's cache on one rank.

    Keys and values of the rank's heads, never fewer than one head: heads are copied where tensor parallelism exceeds
    them. A latent (kv_lora_rank + rope) is whole on every rank.
    """
    heads = np.maximum(model.kv_heads / tp_size, 1.0)
    grouped = heads * (model.head_dim + model.v_head_dim)
    latent = model.kv_lora_rank + model.qk_rope_head_dim
    return where(model.mla, latent, grouped) * kv_bytes


def index_bytes_per_token(model: Architecture) -> Byte:
    """Bytes that one token leaves in one layer's indexer on every rank; 0 where attention is not sparse."""
    return model.indexer_head_dim * INDEX_BYTES


def attended(model: Architecture, context: Token) -> Token:
    """Keys of a context that a query attends to: all, or as many as an indexer picks."""
    return where(model.indexer_heads > 0.0, np.minimum(context, SELECTED_TOKENS), context)


def sequence_cache_bytes(model: Architecture, tp_size: Count, kv_bytes: Byte, context: Token) -> Byte:
    """Bytes that one sequence of `context` tokens holds on one rank, all layers: cache, windows, recurrent states."""
    tokens = model.attention_layers * context + model.sliding_layers * np.minimum(context, windowed(model))
    states = model.linear_layers * model.linear_state_bytes / tp_size
    index = model.attention_layers * index_bytes_per_token(model) * context
    return cache_bytes_per_token(model, tp_size, kv_bytes) * tokens + (states + index)


def windowed(model: Architecture) -> Token:
    """The sliding window, or a length beyond any where the model has none."""
    return where(model.sliding_layers > 0, model.sliding_window, 1e12)


def mean_keys(model: Architecture, queries: Token, keys: Token) -> Token:
    """Keys that each of the last `queries` tokens of a context of `keys` sees on average: all before it, or all."""
    return keys - model.causal * (queries - 1.0) / 2.0
