"""Which files hold which kind of entry, and in which of two shapes.

Most files hold one figure a row: `item, quantity, variant, value, unit, source, note, kind`. Models, precisions, prices
and terms have one row an item, because they are read as a whole; their columns' units stand here.
"""

from __future__ import annotations

from typing import NamedTuple


class Table(NamedTuple):
    """One kind of entry: its file, its shape, and where its entries stand in the catalogue's paths."""

    kind: str
    file: str
    root: str
    columns: dict[str, str] | None = None
    citations: bool = False
    """Sources are citations that stand in the row itself, rather than keys of `sources.csv`."""


_MODEL = {
    **dict.fromkeys(
        ("params_total", "params_active", "layers", "encoder_layers", "hidden", "heads", "kv_heads", "head_dim",
         "ffn_hidden", "vocab", "full_attn_layers", "sliding_layers", "linear_layers", "q_lora_rank", "kv_lora_rank",
         "qk_nope_head_dim", "qk_rope_head_dim", "v_head_dim", "indexer_heads", "indexer_head_dim", "num_experts",
         "top_k", "moe_ffn_hidden", "shared_ffn_hidden", "dense_layers", "moe_layers", "moe_latent_dim", "ssm_state",
         "ssm_heads", "ssm_head_dim", "ssm_groups", "ssm_conv", "ssm_expand", "ssm_dt_rank", "gdn_key_heads",
         "gdn_value_heads", "gdn_key_head_dim", "gdn_value_head_dim", "learned_positions"),
        "count",
    ),
    **dict.fromkeys(("gated_mlp", "tied_embeddings", "attn_output_gate"), "flag"),
    **dict.fromkeys(("max_context", "sliding_window"), "token"),
    **dict.fromkeys(("family", "form", "attention", "ssm_type", "layer_pattern", "work_unit", "input_shape",
                     "tokenizer", "default_precision", "unread"), "text"),
    "forward_flops": "FLOP",
    "forward_traffic": "byte",
}  # fmt: skip

_PRICE = {
    **dict.fromkeys(("hardware", "terms", "provider", "region"), "text"),
    "date": "date",
    "price_per_hour": "USD/hour",
    "representative": "flag",
}
_ENGINE = {"family": "text"}
_PRECISION = {"compute": "text", "weight": "bit", "activation": "byte"}

TABLES = {
    t.kind: t
    for t in (
        Table("model", "models.csv", "Models", _MODEL, citations=True),
        Table("hardware", "hardware.csv", "Hardware"),
        Table("node", "nodes.csv", "Systems.Nodes"),
        Table("fabric", "fabrics.csv", "Systems.Fabrics"),
        Table("fleet", "fleets.csv", "Systems.Clusters"),
        Table("price", "prices.csv", "Prices", _PRICE),
        Table("grid", "grids.csv", "Systems.Grids"),
        Table("precision", "precisions.csv", "Precisions", _PRECISION),
        Table("engine", "engines.csv", "Engines", {"family": "text"}, citations=True),
        Table("constant", "", "Constants"),
        Table("terms", "terms.csv", "Terms", {"meaning": "text"}),
    )
}

IDENTITY = ("name", "path", "aliases", "source", "note", "kind", "confidence")
"""Columns of a table that are not figures."""
FIGURE_ROW = ("item", "quantity", "variant", "value", "unit", "source", "note", "kind")
KINDS_OF_FIGURE = (
    "datasheet",
    "paper",
    "config",
    "documentation",
    "database",
    "measured",
    "derived",
    "estimate",
    "price",
    "definition",
)
"""How a figure came about: `derived` was computed from a cited one, `estimate` is ours, reasoned in the note."""
