"""Serving and memory files: every row is answered or refused with its reason, and nothing stops the rest."""

import numpy as np
import pandas as pd

from planner.validation.memory import predict as predict_memory
from planner.validation.menu import TASKS
from planner.validation.reading import prepare
from planner.validation.serving import predict
from solvers.catalog import catalog


def read(task_name: str, rows: list[dict[str, object]]) -> pd.DataFrame:
    task = next(t for t in TASKS if t.name == task_name)
    frame = pd.DataFrame(rows).astype("string").astype(object).where(lambda f: f.notna(), np.nan)
    return prepare(frame, task.numbers, task.words, task.measured).rows


ROW = {
    "id": "a", "family": "f", "engine": "vllm 0.19.0", "model": "Llama-3.1-70B", "hardware": "H100-SXM", "n_gpus": 4,
    "tp_size": 4, "weight_precision": "fp8", "input_tokens": 1024, "output_tokens": 1024, "concurrency": 16,
    "metric": "tpot_ms", "value": 14.0,
}  # fmt: skip


def test_every_metric_has_an_answer_near_its_measurement() -> None:
    answer = predict(read("serving", [ROW]), catalog)
    assert answer["predicted"][0] == np.clip(answer["predicted"][0], 9, 20)
    assert answer["low"][0] < answer["predicted"][0] < answer["high"][0]
    assert answer["feasible"][0]


def test_unknown_names_are_refused_or_fall_to_a_class_and_nothing_stops_the_rest() -> None:
    rows = [
        ROW,
        ROW | {"id": "b", "model": "Nobody-99B"},
        ROW | {"id": "c", "hardware": "Abacus"},
        ROW | {"id": "d", "engine": "my own engine", "weight_precision": "int3"},
        ROW | {"id": "e", "concurrency": None, "request_rate": "inf", "metric": "output_tok_s", "value": 4000},
        ROW | {"id": "f", "metric": "colour"},
        ROW | {"id": "g", "model": "ResNet-50", "metric": "images_per_s", "input_tokens": None, "concurrency": None},
    ]
    answer = predict(read("serving", rows), catalog).set_index("id")
    assert answer.loc["b", "reason"] == "unknown model"
    assert answer.loc["c", "reason"] == "unknown hardware"
    for known in ("a", "d", "e", "g"):
        assert np.isfinite(answer.loc[known, "predicted"]), known
        assert answer.loc[known, "reason"] == "", known
    assert np.isnan(answer.loc["f", "predicted"])
    assert answer.loc["f", "reason"]


def test_batches_and_rows_agree() -> None:
    rows = [ROW | {"id": str(i), "concurrency": c, "tp_size": t} for i, (c, t) in enumerate([(4, 4), (64, 8), (16, 2)])]
    together = predict(read("serving", rows), catalog)["predicted"].to_numpy()
    alone = [predict(read("serving", [row]), catalog)["predicted"][0] for row in rows]
    assert together.tolist() == alone


def test_ledgers() -> None:
    row = {
        "id": "m", "engine": "vLLM v0.11.0", "model": "Llama-3.1-8B", "gpu": "H100 80GB", "gpu_total_gib": 79.18,
        "tp": 1,
        "gpu_mem_util": 0.9, "max_model_len": 16000, "weights_gib_per_gpu": 14.99, "kv_cache_gib_per_gpu": 51.38,
        "outcome": "ok",
    }  # fmt: skip
    answer = predict_memory(read("memory", [row, row | {"id": "n", "model": "Nobody-1B"}]), catalog)
    pool = answer[(answer["id"] == "m") & (answer["metric"] == "kv_cache_gib_per_gpu")]
    assert abs(pool["predicted"].iloc[0] - 51.38) < 0.5
    assert answer[answer["id"] == "n"]["reason"].iloc[0] == "unknown model or hardware"
