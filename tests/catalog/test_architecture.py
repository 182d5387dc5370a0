"""Shapes reproduce published parameter counts, and become complete records."""

from __future__ import annotations

import dataclasses
import math

import pytest

from solvers.catalog import Entry, catalog
from solvers.catalog.parameters import parameters
from solvers.lowering.architecture import architecture_row
from solvers.records import WORK_UNITS, Architecture

MODELS = catalog.entries("model")
BESIDE_THE_FORMULA = {"OPT-350M", "Gopher-280B", "Chinchilla-70B"}
"""Narrow embeddings with projections; relative-position projections. Their notes say so."""
TRANSFORMERS = [
    m
    for m in MODELS
    if m.text("form") in ("decoder", "moe_decoder", "ssm_hybrid", "encoder", "encoder_decoder")
    and m.name not in BESIDE_THE_FORMULA
]


def _row(name: str) -> dict[str, float]:
    return architecture_row(catalog.find("model", name))


def _counted(a: dict[str, float]) -> float:
    """Parameters from the record alone, norms and biases left out."""
    h, heads = a["hidden"], a["heads"]
    if a["mla"]:
        rank, keyed = a["q_lora_rank"], heads * a["head_dim"]
        attention = (rank * (h + keyed) if rank else h * keyed) + h * (a["kv_lora_rank"] + a["qk_rope_head_dim"])
        attention += a["kv_lora_rank"] * heads * (a["qk_nope_head_dim"] + a["v_head_dim"]) + heads * a["v_head_dim"] * h
        attention += rank * a["indexer_heads"] * a["indexer_head_dim"] + h * (
            a["indexer_head_dim"] + a["indexer_heads"]
        )
    else:
        attention = 2 * h * a["head_dim"] * (heads + a["kv_heads"])
    crossing = a["layers"] - a["encoder_layers"] if 0 < a["encoder_layers"] < a["layers"] else 0.0
    experts = a["mlp_matrices"] * (a["num_experts"] * a["moe_ffn_hidden"] + a["shared_ffn_hidden"]) + a["num_experts"]
    return (
        a["vocab"] * h * (1 if a["tied_embeddings"] else 2)
        + (a["attention_layers"] + a["sliding_layers"] + crossing) * attention
        + a["linear_layers"] * a["linear_params"]
        + a["mlp_layers"] * a["mlp_matrices"] * h * a["ffn_hidden"]
        + a["moe_layers"] * h * experts
    )


@pytest.mark.parametrize("model", TRANSFORMERS, ids=lambda m: m.name)
def test_the_record_reproduces_the_parameter_count(model: Entry) -> None:
    row = architecture_row(model)
    assert _counted(row) == pytest.approx(row["params_total"], rel=0.02)


@pytest.mark.parametrize("model", TRANSFORMERS, ids=lambda m: m.name)
def test_the_shape_reproduces_the_parameter_count(model: Entry) -> None:
    total, active = parameters(model)
    assert total == pytest.approx(model.require("params_total"), rel=0.02)
    assert active == pytest.approx(model.require("params_active"), rel=0.05)


@pytest.mark.parametrize("model", MODELS, ids=lambda m: m.name)
def test_the_record_is_complete(model: Entry) -> None:
    row = architecture_row(model)
    assert set(row) == {f.name for f in dataclasses.fields(Architecture)}
    assert not any(math.isnan(v) or v < 0 for v in row.values())
    attending = row["attention_layers"] + row["sliding_layers"] + row["linear_layers"]
    unit = WORK_UNITS[int(row["work_unit"])]
    if unit == "token":
        assert row["forward_flops"] == 0
        assert row["causal"] == 1
        assert 0 < attending <= row["layers"]
        assert row["params_active"] <= row["params_total"]
    elif unit in ("image", "step"):
        assert row["forward_flops"] > 0
        assert row["forward_traffic"] > 0


def test_llama_3_70b() -> None:
    row = _row("Llama3_70B")
    assert (row["layers"], row["hidden"], row["heads"], row["kv_heads"], row["head_dim"]) == (80, 8192, 64, 8, 128)
    assert (row["mlp_layers"], row["mlp_matrices"], row["ffn_hidden"], row["max_context"]) == (80, 3, 28672, 8192)


def test_a_latent_cache_holds_rank_and_rotary_part() -> None:
    row = _row("DeepSeek-V3")
    assert row["mla"] == 1
    assert (row["kv_lora_rank"], row["qk_rope_head_dim"], row["head_dim"], row["v_head_dim"]) == (512, 64, 192, 128)
    assert (row["mlp_layers"], row["moe_layers"]) == (3, 58)


def test_windows_and_full_attention_are_apart() -> None:
    row = _row("gpt-oss-120b")
    assert (row["attention_layers"], row["sliding_layers"], row["sliding_window"]) == (18, 18, 128)


def test_a_hybrid_counts_its_blocks_by_their_letters() -> None:
    row = _row("Nemotron-H-56B")
    assert (row["attention_layers"], row["linear_layers"], row["mlp_layers"]) == (10, 54, 54)
    assert row["linear_state_bytes"] > 4 * 256 * 64 * 256


def test_units_of_work() -> None:
    units = {n: WORK_UNITS[int(_row(n)["work_unit"])] for n in ("Llama-3-8B", "BERT-Large", "ResNet-50", "SDXL")}
    assert list(units.values()) == ["token", "sequence", "image", "step"]


def test_a_net_without_context_has_no_limit() -> None:
    assert _row("ResNet-50")["max_context"] == math.inf
    assert _row("Mamba-2.8B")["max_context"] == math.inf


@pytest.mark.parametrize(
    ("target", "draft", "shared"),
    [("Llama3_70B", "GPT2", False), ("Llama3_70B", "Llama3_8B", True), ("Llama-3.1-70B", "Llama-3.2-1B", True),
     ("Vicuna-7B", "Llama-2-7B", True), ("Vicuna-13B", "vicuna-68m", True), ("Qwen3-32B", "Qwen2.5-0.5B", True),
     ("Llama-2-70B", "Llama-3-8B", False), ("Mistral-7B", "Llama-2-7B", False), ("Llama-3-70B", "Qwama-0.5B", True)],
)  # fmt: skip
def test_which_models_share_a_vocabulary(target: str, draft: str, shared: bool) -> None:
    assert (_row(target)["tokenizer"] == _row(draft)["tokenizer"]) is shared
