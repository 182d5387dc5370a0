"""A model's parameters, counted from its shape."""

from __future__ import annotations

from solvers.catalog.entries import Entry
from solvers.catalog.linear_layers import linear_params


def parameters(model: Entry) -> tuple[float, float]:
    """Parameters in all, and those that one token uses (embeddings included).

    Counts matrices: embeddings, attention, MLPs, experts with their routers, linear layers, and two norms a layer.
    Biases are left out, so small old models come out a per cent short.
    """
    figure = _Figures(model)
    hidden, layers, encoder = figure("hidden"), figure("layers"), figure("encoder_layers")
    linear = figure("linear_layers")
    attending = figure("full_attn_layers") + figure("sliding_layers") or (0.0 if linear else layers)
    crossing = layers - encoder if 0 < encoder < layers else 0.0
    matrices = 3.0 if figure("gated_mlp") else 2.0
    moe = moe_layers(model)
    positions = figure("vocab") * (1.0 if figure("tied_embeddings") else 2.0) + figure("learned_positions")
    dense = (
        positions * hidden
        + (attending + crossing) * _attention(model)
        + linear * linear_params(model)
        + mlp_layers(model) * matrices * hidden * figure("ffn_hidden")
        + moe * hidden * (matrices * figure("shared_ffn_hidden") + figure("num_experts"))
        + moe * 2 * hidden * figure("moe_latent_dim")
        + (2 * layers + 1) * hidden
    )
    expert = matrices * (figure("moe_latent_dim") or hidden) * figure("moe_ffn_hidden")
    return dense + moe * figure("num_experts") * expert, dense + moe * figure("top_k") * expert


def moe_layers(model: Entry) -> float:
    """Layers with routed experts."""
    figure = _Figures(model)
    if not figure("num_experts"):
        return 0.0
    return figure("moe_layers") or figure("layers") - figure("dense_layers")


def mlp_layers(model: Entry) -> float:
    """Layers with a dense MLP.

    A hybrid writes its blocks as letters, `-` for a dense MLP; other models have an MLP wherever they have no experts.
    """
    figure = _Figures(model)
    pattern = model.text("layer_pattern")
    if pattern and set(pattern) <= set("Mm*-E"):
        return float(pattern.count("-"))
    return figure("layers") - moe_layers(model) if figure("ffn_hidden") else 0.0


def _attention(model: Entry) -> float:
    """Parameters of one attention layer, a sparse-attention indexer included."""
    figure = _Figures(model)
    hidden, heads, head_dim = figure("hidden"), figure("heads"), figure("head_dim")
    rank = figure("kv_lora_rank")
    if not rank:
        queries = heads * head_dim * (2.0 if figure("attn_output_gate") else 1.0)
        return hidden * (queries + heads * head_dim + 2 * figure("kv_heads") * head_dim)
    no_position, rotary, value = figure("qk_nope_head_dim"), figure("qk_rope_head_dim"), figure("v_head_dim")
    query_rank, keyed = figure("q_lora_rank"), heads * (no_position + rotary)
    queries = query_rank * (hidden + keyed) if query_rank else hidden * keyed
    latents = hidden * (rank + rotary) + rank * heads * (no_position + value)
    index_heads, index_width = figure("indexer_heads"), figure("indexer_head_dim")
    indexer = query_rank * index_heads * index_width + hidden * (index_width + index_heads)
    return queries + latents + heads * value * hidden + indexer


class _Figures:
    """An entry's figures, 0 where absent."""

    def __init__(self, model: Entry) -> None:
        self._model = model

    def __call__(self, quantity: str) -> float:
        return self._model.get(quantity) or 0.0
