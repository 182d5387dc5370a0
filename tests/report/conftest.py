"""Small runs that the tests of reports read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from planner.run.explorer import explore

SERVE: dict[str, Any] = {
    "title": "What serves Llama-3-8B <best> & cheapest?",
    "question": "A small question.",
    "solvers": ["ServingModel", "EconomicsModel"],
    "fixed": {"model": "Llama3_8B", "input_tokens": 512, "output_tokens": 128},
    "space": {
        "hardware": ["A100", "H100", "L40S"],
        "precision": ["bf16", "fp8"],
        "batch_size": [1, 8, 64, 512, 4096],
        "efficiency": {"low": 0.3, "high": 0.6, "step": 0.1},
    },
    "objectives": [{"maximize": "effective_throughput"}, {"minimize": "cost_per_million_tokens"}, {"minimize": "itl"}],
    "constraints": ["itl <= 60 ms", "ttft <= 400 ms"],
    "search": {"method": "grid", "seed": 1},
}


@pytest.fixture(scope="session")
def serve(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run with a front, broken constraints and plans that cannot be."""
    return explore(SERVE, tmp_path_factory.mktemp("runs") / "serve").path


@pytest.fixture(scope="session")
def hopeless(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run in which nothing fits."""
    study = SERVE | {
        "title": "Too large",
        "fixed": {"model": "Llama3_70B"},
        "space": {"hardware": ["A100", "H100"], "precision": ["bf16"], "batch_size": [1, 8]},
        "objectives": [{"minimize": "itl"}],
        "constraints": [],
    }
    return explore(study, tmp_path_factory.mktemp("runs") / "hopeless").path


@pytest.fixture(scope="session")
def sampled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An adaptive run over a continuous range, with an objective that is arithmetic."""
    study = SERVE | {
        "space": {"hardware": ["A100", "H100"], "batch_size": [1, 8, 64], "efficiency": {"low": 0.3, "high": 0.6}},
        "objectives": [{"maximize": "effective_throughput / cost_per_hour"}],
        "search": {"method": "random", "trials": 40, "seed": 1},
    }
    return explore(study, tmp_path_factory.mktemp("runs") / "sampled").path
