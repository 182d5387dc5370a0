"""Published power, energy and throughput of requests against what `ServingModel` says of the same plan.

Each row of measurements is one plan that was watched: it yields a figure for each quantity that it states. Energy is of
the accelerators alone. Image and video nets are refused: their tables state neither the work of a step nor the steps.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from planner.validation.serving import columns_of, lookup, plan_columns, plan_of
from solvers.formulas.power import PowerResponse, serving_power
from solvers.lowering.constants import constants
from solvers.lowering.power import power_row
from solvers.reasons import CONTEXT_EXCEEDED, PRECISION_UNSUPPORTED, codes

NORMAL_80 = 1.2816
"""Standard deviations on either side of the mean that hold 80 % of a normal distribution."""
PROMPTS = {"image-chat": 1200.0, "video-chat": 4000.0, "sourcegraph-fim": 2000.0, "lm-arena-chat": 150.0, "gpqa": 250.0}
"""Mean tokens of the prompts of the leaderboard's tasks, pictures included: estimates, which matter little."""
PRECISIONS = {"bfloat16": "bf16", "float16": "fp16", "mxfp4": "", "fp8": "fp8"}
CACHE_BYTES = 2.0
METRICS = ("avg_power_w", "energy_j_per_request", "energy_j_per_token", "output_tok_s")
OTHERS = ("energy_j_per_image", "energy_j_per_video")
ERRORS = {"avg_power_w": 0.18, "energy_j_per_request": 0.28, "energy_j_per_token": 0.28, "output_tok_s": 0.28}
"""Standard deviations of the logarithm where the interval of a constant's fit says nothing of the whole."""


def predict(frame: pd.DataFrame, catalog: Any) -> pd.DataFrame:
    """One prediction for each figure that a row states."""
    rows = frame.reset_index(drop=True)
    asked = as_serving(rows)
    found = lookup(asked, catalog)
    writes = rows["avg_output_len"].notna().to_numpy()
    reason = np.where(writes, found["refused"].to_numpy(str), "no published work of its steps").astype(object)
    known = reason == ""
    figures = {name: np.full(len(rows), np.nan) for name in METRICS}
    if known.any():
        entries = found[known].reset_index(drop=True)
        chosen = asked[known].reset_index(drop=True)
        columns = plan_columns(chosen, entries)
        plan = plan_of("ServingModel", entries, columns)
        full = {k: np.broadcast_to(v, len(chosen)) for k, v in columns_of("ServingModel", plan).items()}
        count = rows["n_gpus"].to_numpy(float)[known]
        replicas = columns["replicas"]
        power = count * serving_power(
            plan.model,
            plan.device,
            response(),
            full["effective_throughput"] / replicas,
            full["running_batch"],
            columns["input_tokens"] + columns["output_tokens"] / 2.0,
            columns["input_tokens"] / columns["output_tokens"],
            count / replicas,
            CACHE_BYTES,
        )
        each = power / full["effective_throughput"]
        figures["avg_power_w"][known] = power
        figures["output_tok_s"][known] = full["effective_throughput"]
        figures["energy_j_per_token"][known] = each
        figures["energy_j_per_request"][known] = each * chosen["output_tokens"].to_numpy(float)
        bits = full["reasons"] & ~np.int64(CONTEXT_EXCEEDED.bit | PRECISION_UNSUPPORTED.bit)
        reason[known] = [",".join(codes(int(b))) for b in bits]
    return _stacked(rows, figures, reason, known)


def response() -> PowerResponse:
    """The power response of the catalogue."""
    return PowerResponse(**{k: np.float64(v) for k, v in power_row(None).items()})


def as_serving(rows: pd.DataFrame) -> pd.DataFrame:
    """The rows in the words of a serving file: vLLM with at most `batch` sequences at a time, lengths of the task."""
    task = rows["task"].fillna("").astype(str)
    precision = rows["precision"].fillna("").astype(str)
    blank = pd.Series(np.nan, index=rows.index)
    return pd.DataFrame(
        {
            "family": "energy",
            "source": rows["source"],
            "engine": "vllm",
            "model": rows["model"],
            "hardware": rows["gpu"],
            "n_gpus": rows["n_gpus"].astype(float),
            "tp_size": rows["tp"],
            "pp_size": blank,
            "dp_size": blank,
            "ep_size": blank,
            "moe_tp_size": blank,
            "weight_precision": precision.map(PRECISIONS).fillna(precision),
            "kv_precision": blank.astype(object),
            "input_tokens": task.map(PROMPTS).astype(float),
            "output_tokens": rows["avg_output_len"].astype(float).fillna(256.0),
            "concurrency": rows["batch"].astype(float),
            "request_rate": blank,
            "metric": "output_tok_s",
            "notes": "avg running batch",
        }
    )


def _stacked(rows: pd.DataFrame, figures: dict[str, np.ndarray], reason: np.ndarray, known: np.ndarray) -> pd.DataFrame:
    """A row for each figure that was measured."""
    parts = []
    spread = {**ERRORS, "avg_power_w": max(ERRORS["avg_power_w"], constants("energy")["waiting_power"].fit_error)}
    for metric in (*METRICS, *OTHERS):
        stated = rows[metric].notna().to_numpy() if metric in rows else np.zeros(len(rows), bool)
        value = figures.get(metric, np.full(len(rows), np.nan))
        band = np.exp(NORMAL_80 * spread.get(metric, 0.0))
        parts.append(
            pd.DataFrame(
                {
                    "id": rows["id"].to_numpy(object),
                    "family": rows["task"].to_numpy(object),
                    "metric": metric,
                    "measured": rows[metric].to_numpy(float) if metric in rows else np.nan,
                    "predicted": value,
                    "low": value / band,
                    "high": value * band,
                    "reason": reason,
                    "feasible": ~known | (reason == ""),
                }
            )[stated]
        )
    return pd.concat(parts, ignore_index=True)
