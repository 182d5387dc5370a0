"""Energy of requests as the ML.ENERGY leaderboard v3 published it (Chung et al. 2025, arXiv:2505.06371)."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from planner.validation.energy import predict
from solvers.catalog import catalog


def joules_per_token(model: str, gpu: str, batch: int, length: float, task: str = "lm-arena-chat") -> float:
    row = {"id": "r", "source": "", "model": model, "task": task, "gpu": gpu, "n_gpus": 1, "tp": 1.0, "batch": batch,
           "precision": "bfloat16", "avg_output_len": length, "energy_j_per_token": 1.0}  # fmt: skip
    made = predict(pd.DataFrame([row]), catalog)
    assert list(made["metric"]) == ["energy_j_per_token"]
    return float(made["predicted"][0])


@pytest.mark.parametrize(
    "model, gpu, batch, length, printed",
    [("Qwen/Qwen3-8B", "H100-SXM-80GB", 8, 646.7, 0.444), ("Qwen/Qwen3-8B", "B200-SXM-180GB", 8, 646.4, 0.430),
     ("meta-llama/Llama-3.1-8B-Instruct", "H100-SXM-80GB", 8, 396.7, 0.455),
     ("google/gemma-3-12b-it", "H100-SXM-80GB", 8, 724.4, 0.702)],
)  # fmt: skip
def test_energy_of_a_token_at_a_small_batch(model: str, gpu: str, batch: int, length: float, printed: float) -> None:
    assert joules_per_token(model, gpu, batch, length) == pytest.approx(printed, rel=0.35)


def test_energy_of_a_token_falls_with_the_batch() -> None:
    """Qwen3-8B on one H100: 0.444 J at 8, 0.072 J at 512."""
    few, many = (joules_per_token("Qwen/Qwen3-8B", "H100-SXM-80GB", b, 646.7) for b in (8, 512))
    assert 3 < few / many < 12


def test_pictures_are_refused_with_a_reason() -> None:
    row = {
        "id": "r",
        "source": "",
        "model": "FLUX.1-dev",
        "task": "text-to-image",
        "gpu": "H100",
        "n_gpus": 1,
        "tp": np.nan,
        "batch": 1,
        "precision": "bfloat16",
        "avg_output_len": np.nan,
        "avg_power_w": 600.0,
    }
    made = predict(pd.DataFrame([row]), catalog)
    assert made["predicted"].isna().all()
    assert "work" in made["reason"][0]
