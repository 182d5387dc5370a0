"""Counts of what a transformer holds and caches, against published totals."""

import numpy as np
import pytest

from solvers.catalog import catalog
from solvers.formulas.transformer import cache_bytes_per_token, layer_params, mean_keys, sequence_cache_bytes
from solvers.lowering import single
from solvers.records import Architecture


def shape(name: str) -> Architecture:
    return single(Architecture, (catalog.find("model", name),))


def counted(model: Architecture) -> float:
    params = layer_params(model)
    blocks = model.attention_layers + model.sliding_layers
    whole = (
        blocks * params.attention
        + model.linear_layers * params.linear
        + model.mlp_layers * params.mlp
        + model.moe_layers * (model.num_experts * params.expert + params.shared)
        + params.head
        + params.embedding
    )
    return float(np.squeeze(whole))


@pytest.mark.parametrize(
    "name, within",
    [
        ("Llama-3-8B", 1e-3), ("Llama-3-70B", 1e-3), ("Llama-2-7B", 1e-3), ("GPT-3-175B", 0.01), ("Mixtral-8x7B", 1e-3),
        ("DeepSeek-V3", 1e-3), ("Qwen3-30B-A3B", 1e-3), ("gpt-oss-120b", 0.01), ("Gemma-3-12B", 1e-2),
    ],
)  # fmt: skip
def test_parts_add_up_to_the_published_total(name: str, within: float) -> None:
    model = shape(name)
    assert counted(model) == pytest.approx(float(model.params_total), rel=within)


def test_grouped_caches_divide_down_to_one_head_a_rank() -> None:
    llama = shape("Llama-3-70B")
    each = [float(llama.attention_layers * cache_bytes_per_token(llama, tp, 2.0)) for tp in (1.0, 8.0, 16.0)]
    assert each[0] == 327680.0  # 2 x 80 x 8 x 128 x 2 bytes
    assert each[1] == each[0] / 8
    assert each[2] == each[1], "heads are copied where ranks exceed them"


def test_a_latent_cache_is_whole_on_every_rank() -> None:
    """DeepSeek-V3: 61 layers x (512 + 64) values, arXiv:2412.19437."""
    deepseek = shape("DeepSeek-V3")
    for tp in (1.0, 8.0):
        assert float(deepseek.attention_layers * cache_bytes_per_token(deepseek, tp, 2.0)) == 61 * 576 * 2


def test_two_cards_hold_half_of_each_token() -> None:
    """Qwen-14B at TP 2: 48 layers x 4 of 8 heads x 128 x 2 x 2 bytes = 96 KiB a token on each card."""
    qwen = shape("DeepSeek-R1-Distill-Qwen-14B")
    assert float(qwen.attention_layers * cache_bytes_per_token(qwen, 2.0, 2.0)) == 96 * 1024


def test_windows_stop_growing() -> None:
    gemma = shape("Gemma-3-12B")
    at = [float(sequence_cache_bytes(gemma, 1.0, 2.0, tokens)) for tokens in (1024.0, 8192.0, 16384.0)]
    full = gemma.attention_layers * cache_bytes_per_token(gemma, 1.0, 2.0)
    assert at[2] - at[1] == pytest.approx(8192 * full)
    assert at[1] < 8 * at[0]


def test_states_do_not_grow_with_the_context() -> None:
    hybrid = shape("NVIDIA-Nemotron-Nano-9B-v2")
    short, long = (float(sequence_cache_bytes(hybrid, 1.0, 2.0, n)) for n in (1.0, 1001.0))
    per_token = float(hybrid.attention_layers * cache_bytes_per_token(hybrid, 1.0, 2.0))
    assert long - short == pytest.approx(1000 * per_token)
    assert short > 100 * per_token


def test_causal_queries_see_half_of_a_prompt() -> None:
    llama, bert = shape("Llama-3-8B"), shape("BERT-Large")
    assert float(np.squeeze(mean_keys(llama, 1001.0, 1001.0))) == 501.0
    assert float(np.squeeze(mean_keys(llama, 1.0, 1001.0))) == 1001.0
    assert float(np.squeeze(mean_keys(bert, 512.0, 512.0))) == 512.0
