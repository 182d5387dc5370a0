"""Published speed-ups of speculative decoding, each with its source and a tolerance."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from planner.validation.speculation import predict
from solvers.catalog import catalog

COLUMNS = ["target", "draft", "method", "gamma_num_spec_tokens", "acceptance_rate_alpha", "accepted_len_tau",
           "hardware", "engine", "batch", "workload", "speedup"]  # fmt: skip


def predicted(*rows: tuple) -> np.ndarray:
    frame = pd.DataFrame(rows, columns=COLUMNS).assign(id=[f"r{i}" for i in range(len(rows))])
    made = predict(frame, catalog)
    assert (made["reason"] == "").all()
    return made["predicted"].to_numpy(float)


def test_the_gain_falls_with_the_batch() -> None:
    """EAGLE-3, arXiv:2503.01840, table 3: one H100, SGLang, chains of 3: 1.81 at 2, about 1.35 from 32 to 64."""
    batches = [2.0, 8.0, 32.0, 64.0]
    gains = predicted(*[
        ("Llama-3.1-8B", "EAGLE-3 head", "EAGLE-3", 3.0, np.nan, np.nan, "1x H100", "SGLang v0.4.4", b, "chat", np.nan)
        for b in batches
    ])  # fmt: skip
    assert (np.diff(gains) < 0).all()
    assert gains == pytest.approx([1.81, 1.62, 1.32, 1.38], rel=0.25)


def test_a_full_batch_can_be_slower_with_drafts() -> None:
    """z-lab model card (2026-08), a hybrid 27 B model on one H200, 7 drafts of 3.74 kept: 1.96 alone, 0.77 at 32."""
    row = ("Qwen3.8-27B", "MTP", "MTP", 7.0, np.nan, 3.74, "1x H200", "SGLang FA3")
    alone, full = predicted((*row, 1.0, "MT-bench", np.nan), (*row, 32.0, "MT-bench", np.nan))
    assert alone == pytest.approx(1.96, rel=0.15)
    assert full < 1.0


def test_one_drafted_token_of_which_nine_in_ten_are_kept() -> None:
    """vLLM blog (2026-05-11): DeepSeek-V3.2 on eight B300, 125 to 234 tokens a second."""
    (gain,) = predicted(("DeepSeek-V3.2", "MTP=1", "MTP", 1.0, 0.9, np.nan, "8x B300 TP8", "vLLM", 1.0, None, np.nan))
    assert gain == pytest.approx(1.87, rel=0.15)


def test_rows_that_name_nothing_known_are_refused() -> None:
    frame = pd.DataFrame(
        [("A model nobody made", "", "EAGLE", np.nan, np.nan, 3.0, "1x H100", "", 1.0, "math", 2.0),
         ("Vicuna-7B", "", "EAGLE", np.nan, np.nan, 3.0, "1x abacus", "", 1.0, "math", 2.0)],
        columns=COLUMNS,
    ).assign(id=["a", "b"])  # fmt: skip
    made = predict(frame, catalog)
    assert list(made["reason"]) == ["unknown target", "unknown hardware"]
    assert made["predicted"].isna().all()
