"""Ways of drafting: what they cost, when they pay, when they stop."""

from __future__ import annotations

import pytest

from solvers import ServingModel

LLAMA = {"model": "Llama-3.1-8B", "hardware": "H100", "seq_len": 1024}


def speedup(batch: int, method: str, **more: object) -> float:
    return ServingModel().solve(**LLAMA, batch_size=batch, draft_method=method, **more).speculation_speedup


def test_off_and_no_drafting_model_are_plain_decoding() -> None:
    plain = ServingModel().solve(**LLAMA, batch_size=4)
    off = ServingModel().solve(**LLAMA, batch_size=4, draft_method="off", draft_model="Llama-3.2-1B")
    assert off.itl == plain.itl
    assert off.speculation_speedup == plain.speculation_speedup == 1.0


@pytest.mark.parametrize("method", ["eagle", "mtp", "medusa", "ngram"])
def test_the_gain_falls_with_the_batch(method: str) -> None:
    gains = [speedup(batch, method) for batch in (1, 8, 32, 128, 256)]
    assert gains == sorted(gains, reverse=True)
    assert gains[0] > 1.1
    assert gains[-1] < gains[0] / 1.5


def test_a_drafting_layer_on_one_h100_at_batch_64() -> None:
    """EAGLE-3 with SGLang on one H100, Llama-3.1-8B: 1.38 at batch 64 (arXiv:2503.01840, table 3)."""
    assert speedup(64, "eagle", num_draft_tokens=3) == pytest.approx(1.38, rel=0.15)


def test_heads_take_memory_and_look_ups_do_not() -> None:
    plain, eagle, looked = (
        ServingModel().solve(**LLAMA, batch_size=1, draft_method=m) for m in ("off", "eagle", "ngram")
    )
    assert eagle.weights_per_accelerator > plain.weights_per_accelerator
    assert eagle.kv_cache > plain.kv_cache
    assert looked.weights_per_accelerator == plain.weights_per_accelerator


def test_a_tree_accepts_more_and_verifies_more() -> None:
    chain, tree = (
        ServingModel().solve(**LLAMA, batch_size=128, draft_method="eagle", draft_tree_width=w) for w in (1, 3)
    )
    assert tree.tokens_per_step > chain.tokens_per_step
    assert tree.speculation_speedup < chain.speculation_speedup


def test_it_says_where_drafting_stops_paying() -> None:
    answer = ServingModel().solve(**LLAMA, batch_size=1, draft_method="ngram")
    stops = answer.break_even_batch.m_as("sample")
    assert speedup(max(1, int(stops / 4)), "ngram") > 1.0
    assert speedup(int(stops * 2), "ngram") < 1.0
