"""Test-time compute through the face."""

from __future__ import annotations

import pytest

from solvers import InvalidInput
from solvers.faces.inference_scaling import InferenceScalingModel


def solve(**given: object):  # type: ignore[no-untyped-def]
    return InferenceScalingModel().solve(**{"model": "Llama-3.1-8B", "hardware": "H100", **given})


def test_no_steps_of_thought_still_answer() -> None:
    times = [solve(reasoning_steps=k).total_reasoning_time.m_as("s") for k in (0, 8, 32)]
    assert 0 < times[0] < times[1] < times[2]


def test_negative_and_broken_counts_are_refused() -> None:
    for bad in (-1, 1.5, float("nan"), "many"):
        with pytest.raises(InvalidInput, match="reasoning_steps"):
            solve(reasoning_steps=bad)


def test_a_long_thought_slows_down_as_its_context_grows() -> None:
    short, long = solve(reasoning_steps=8), solve(reasoning_steps=900)
    assert long.itl > short.itl
    assert long.kv_cache > 50 * short.kv_cache


def test_150_thousand_tokens_exceed_a_context_of_131_thousand() -> None:
    with pytest.warns(UserWarning, match="longer than the"):
        made = solve(reasoning_steps=1500, tokens_per_reasoning_step=100)
    assert "context_exceeded" in made.reasons


def test_samples_share_the_prompt_and_wait_for_the_longest() -> None:
    one, eight = solve(input_tokens=16384), solve(input_tokens=16384, n_samples=8)
    assert eight.kv_cache < 3 * one.kv_cache
    assert eight.longest_sample > eight.tokens_per_query / 8
    assert eight.total_reasoning_time > one.total_reasoning_time
    assert eight.coverage > one.coverage


def test_energy_of_a_question_falls_with_the_batch() -> None:
    """5 to 20 times from one request to a full batch: never to be stated without it."""
    alone, together = solve(), solve(concurrent_queries=64)
    assert 5 < alone.energy_per_query / together.energy_per_query < 60


def test_an_encoder_does_not_think() -> None:
    with pytest.warns(UserWarning, match="token at a time"):
        assert "not_a_decoder" in solve(model="BERT-Large").reasons
