"""A model's catalogue entry as the columns of an `Architecture`."""

from __future__ import annotations

import math
import zlib

from solvers.catalog import Entry
from solvers.catalog.linear_layers import linear_params, linear_state_bytes
from solvers.catalog.parameters import mlp_layers, moe_layers
from solvers.records import WORK_UNITS


def architecture_row(model: Entry) -> dict[str, float]:
    """Every field of `Architecture`, in SI. What a model lacks is 0; a context without limit is infinite.

    Experts that act on a latent narrower than the model are given the width at which they have as many parameters on
    the full one, and the projections to and from the latent count with the shared expert.
    """
    figure = _Figures(model)
    decodes = figure("vocab") > 0 and figure("heads") + figure("linear_layers") > 0
    layers, linear = figure("layers"), figure("linear_layers")
    sliding = figure("sliding_layers")
    attention = figure("full_attn_layers") or (0.0 if linear or sliding else layers if figure("heads") else 0.0)
    encoder = figure("encoder_layers")
    matrices = 3.0 if figure("gated_mlp") else 2.0
    latent, hidden = figure("moe_latent_dim"), figure("hidden")
    narrowed = latent / hidden if latent and hidden else 1.0
    mla = figure("kv_lora_rank") > 0
    head_dim = figure("head_dim")
    key_width = figure("qk_nope_head_dim") + figure("qk_rope_head_dim") if mla else head_dim
    return {
        "work_unit": float(WORK_UNITS.index(model.text("work_unit", "token"))),
        "params_total": figure("params_total"),
        "params_active": figure("params_active"),
        "layers": layers,
        "encoder_layers": encoder,
        "hidden": hidden,
        "heads": figure("heads"),
        "kv_heads": figure("kv_heads"),
        "head_dim": key_width,
        "v_head_dim": figure("v_head_dim") or head_dim,
        "causal": float(decodes and encoder < layers),
        "attention_layers": attention,
        "sliding_layers": sliding,
        "sliding_window": figure("sliding_window"),
        "linear_layers": linear,
        "linear_state_bytes": linear_state_bytes(model),
        "linear_params": linear_params(model),
        "mla": float(mla),
        "q_lora_rank": figure("q_lora_rank"),
        "kv_lora_rank": figure("kv_lora_rank"),
        "qk_nope_head_dim": figure("qk_nope_head_dim"),
        "qk_rope_head_dim": figure("qk_rope_head_dim"),
        "indexer_heads": figure("indexer_heads"),
        "indexer_head_dim": figure("indexer_head_dim"),
        "mlp_layers": mlp_layers(model),
        "ffn_hidden": figure("ffn_hidden"),
        "mlp_matrices": matrices,
        "moe_layers": moe_layers(model),
        "num_experts": figure("num_experts"),
        "top_k": figure("top_k"),
        "moe_ffn_hidden": figure("moe_ffn_hidden") * narrowed,
        "shared_ffn_hidden": figure("shared_ffn_hidden") + 2 * latent / matrices,
        "vocab": figure("vocab"),
        "tied_embeddings": figure("tied_embeddings"),
        "max_context": figure("max_context") or math.inf,
        "forward_flops": figure("forward_flops"),
        "forward_traffic": figure("forward_traffic"),
        "tokenizer": _code(model.text("tokenizer") or f"{model.name} alone"),
    }


class _Figures:
    """An entry's figures, 0 where absent."""

    def __init__(self, model: Entry) -> None:
        self._model = model

    def __call__(self, quantity: str) -> float:
        return self._model.get(quantity) or 0.0


def _code(tokenizer: str) -> float:
    """A number for a vocabulary's family: the same for the same family, in every catalogue and on every machine."""
    return float(zlib.crc32(tokenizer.encode()))
