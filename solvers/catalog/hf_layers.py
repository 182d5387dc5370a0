"""Which layers of a Hugging Face configuration attend, over what, and which hold experts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_WINDOW_EVERY = {"gemma2": 2, "gemma3": 6, "gemma3_text": 6, "cohere2": 4}
"""One layer in so many attends over the whole context, where the file does not say."""


def attention_layers(text: Mapping[str, Any], kind: str, layers: int) -> dict[str, Any]:
    """Layers with full, sliding and linear attention, and the kind of the linear ones."""
    pattern = text.get("hybrid_override_pattern")
    if pattern:
        linear = pattern.count("M")
        return _split(pattern.count("*"), 0, linear, "mamba2") | {"layer_pattern": pattern}
    if kind in ("mamba", "falcon_mamba"):
        return _split(0, 0, layers, "mamba1")
    if kind == "mamba2":
        return _split(0, 0, layers, "mamba2")
    if text.get("layer_types"):
        types = list(text["layer_types"])
        linear = types.count("linear_attention")
        sliding = types.count("sliding_attention") + types.count("chunked_attention")
        return _split(layers - linear - sliding, sliding, linear, "gated_deltanet")
    if text.get("block_configs"):
        attending = sum(not block["attention"].get("no_op") for block in text["block_configs"])
        return _split(attending, 0, 0, "")
    if text.get("full_attention_interval"):
        full = layers // text["full_attention_interval"]
        return _split(full, 0, layers - full, "gated_deltanet")
    if text.get("attn_layer_period"):
        full = _every(layers, text["attn_layer_period"], text.get("attn_layer_offset", 0))
        return _split(full, 0, layers - full, "mamba1")
    full = _full_beside_windows(text, kind, layers)
    return _split(full, layers - full, 0, "")


def _full_beside_windows(text: Mapping[str, Any], kind: str, layers: int) -> int:
    if not window(text):
        return layers
    if kind == "llama4_text" or text.get("attention_chunk_size"):
        return layers // 4
    every = text.get("sliding_window_pattern") or _WINDOW_EVERY.get(kind)
    if every:
        return layers // int(every)
    if text.get("use_sliding_window"):
        return min(layers, int(text.get("max_window_layers") or 0))
    return 0


def window(text: Mapping[str, Any]) -> int | None:
    """The length of the sliding window, or of the chunk; None where attention sees all."""
    if text.get("use_sliding_window") is False:
        return None
    return text.get("sliding_window") or text.get("attention_chunk_size")


def expert_layers(text: Mapping[str, Any], kind: str, layers: int, shape: Mapping[str, Any]) -> dict[str, Any]:
    """Layers with experts and without, and the widths of routed and shared experts."""
    experts = shape["num_experts"]
    if not experts:
        return {"moe_layers": None, "dense_layers": None, "ffn_hidden": _mean_width(text, shape)}
    width = shape["moe_ffn_hidden"] or text.get("intermediate_size") or shape["ffn_hidden"]
    count = _expert_layer_count(text, layers)
    return {
        "moe_layers": count,
        "dense_layers": layers - count if not text.get("hybrid_override_pattern") else 0,
        "moe_ffn_hidden": width,
        "shared_ffn_hidden": _shared_width(text, kind, width),
    }


def _expert_layer_count(text: Mapping[str, Any], layers: int) -> int:
    pattern = text.get("hybrid_override_pattern")
    if pattern:
        return pattern.count("E")
    if text.get("expert_layer_period"):
        return _every(layers, text["expert_layer_period"], text.get("expert_layer_offset", 0))
    frequency = text.get("moe_layer_freq")
    if isinstance(frequency, list):
        return sum(bool(f) for f in frequency)
    step = text.get("interleave_moe_layer_step") or text.get("decoder_sparse_step") or frequency or 1
    dense_first = text.get("first_k_dense_replace") or 0
    return (layers - dense_first) // int(step) - len(text.get("mlp_only_layers") or [])


def _shared_width(text: Mapping[str, Any], kind: str, width: int) -> int:
    for key in ("shared_expert_intermediate_size", "moe_shared_expert_intermediate_size"):
        if text.get(key):
            return int(text[key])
    if text.get("enable_moe_block") or kind == "llama4_text":
        return int(text["intermediate_size"])
    return int(text.get("n_shared_experts") or 0) * width


def _mean_width(text: Mapping[str, Any], shape: Mapping[str, Any]) -> float | None:
    """The width inside the MLP; the mean of the blocks' widths where each block has its own."""
    blocks = text.get("block_configs")
    if not blocks:
        return shape["ffn_hidden"]
    multiples = [b["ffn"].get("ffn_mult") for b in blocks if not b["ffn"].get("no_op") and b["ffn"].get("ffn_mult")]
    return sum(_up_to(256, 2 * m * shape["hidden"] / 3) for m in multiples) / len(blocks)


def _up_to(step: int, width: float) -> int:
    return -(-int(width) // step) * step


def _every(layers: int, period: int, offset: int) -> int:
    return sum(layer % period == offset for layer in range(layers))


def _split(full: int, sliding: int, linear: int, kind: str) -> dict[str, Any]:
    return {
        "full_attn_layers": full,
        "sliding_layers": sliding,
        "linear_layers": linear,
        "ssm_type": kind if linear else None,
    }
