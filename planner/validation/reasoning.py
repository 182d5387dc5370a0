"""Published figures of test-time compute: tokens, energy of a request at its best and worst batch, coverage.

Energies are those of the same requests as in the energy files, with the batch and the accelerators that the notes name.
How long a model thinks is an input of ours: such rows are refused. Coverage at many samples follows from coverage at
one, by the spread of difficulty in the catalogue.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pandas as pd

from planner.validation.energy import ERRORS, NORMAL_80
from planner.validation.energy import predict as predict_energy
from solvers.formulas.reasoning import coverage
from solvers.lowering.constants import constant

COVERAGE_ERROR = 0.1
"""Standard deviation of the logarithm of coverage on another benchmark than the one that the spread was fitted to."""


def predict(frame: pd.DataFrame, catalog: Any) -> pd.DataFrame:
    """One prediction a row, in the row's metric; `reason` says why a row was refused."""
    rows = frame.reset_index(drop=True)
    metric = rows["metric"].fillna("").astype(str)
    predicted = np.full(len(rows), np.nan)
    spread = np.zeros(len(rows))
    reason = np.where(metric == "mean_output_tokens", "how long a model thinks is an input of ours", "").astype(object)
    feasible = np.ones(len(rows), bool)

    energies = metric.str.contains("energy").to_numpy()
    if energies.any():
        made = predict_energy(as_energy(rows, energies), catalog)
        per_request = made[made["metric"] == "energy_j_per_request"]
        predicted[energies] = per_request["predicted"].to_numpy(float)
        reason[energies] = per_request["reason"].to_numpy(object)
        feasible[energies] = per_request["feasible"].to_numpy(bool)
        spread[energies] = ERRORS["energy_j_per_request"]

    covers = (metric == "coverage").to_numpy()
    predicted[covers] = 100.0 * coverages(rows)[covers]
    spread[covers] = COVERAGE_ERROR
    unknown = np.isnan(predicted) & (reason == "")
    reason[unknown] = "nothing to predict it from"
    band = np.exp(NORMAL_80 * spread)
    return pd.DataFrame(
        {
            "id": rows["id"].to_numpy(object),
            "family": rows["strategy"].to_numpy(object),
            "metric": metric.to_numpy(object),
            "measured": rows["value"].to_numpy(float),
            "predicted": predicted,
            "low": predicted / band,
            "high": predicted * band,
            "reason": reason,
            "feasible": feasible,
        }
    )


def as_energy(rows: pd.DataFrame, chosen: np.ndarray) -> pd.DataFrame:
    """The chosen rows in the words of an energy file; batch and accelerators stand in the notes."""
    some = rows[chosen].reset_index(drop=True)
    notes = some["notes"].fillna("").astype(str)
    lengths = rows[rows["metric"] == "mean_output_tokens"].drop_duplicates(["model", "task", "hardware"])
    merged = some.merge(lengths[["model", "task", "hardware", "value"]], on=["model", "task", "hardware"], how="left",
                        suffixes=("", "_tokens"))  # fmt: skip
    per_token = pd.to_numeric(notes.str.extract(r"([0-9.]+) J/token")[0])
    return pd.DataFrame(
        {
            "id": some["id"],
            "source": some.get("source", ""),
            "model": some["model"],
            "task": some["task"],
            "gpu": some["hardware"],
            "n_gpus": pd.to_numeric(notes.str.extract(r"(\d+) GPU")[0]).fillna(1.0),
            "tp": np.nan,
            "batch": pd.to_numeric(notes.str.extract(r"batch (\d+)")[0]).fillna(8.0),
            "precision": [_precision(m) for m in some["model"].astype(str)],
            "avg_output_len": merged["value_tokens"].fillna(some["value"] / per_token),
            "energy_j_per_request": some["value"],
        }
    )


def _precision(model: str) -> str:
    if re.search(r"gpt-oss", model, re.IGNORECASE):
        return "mxfp4"
    return "fp8" if re.search(r"fp8|deepseek-v3", model, re.IGNORECASE) else "bfloat16"


def coverages(rows: pd.DataFrame) -> np.ndarray:
    """Coverage at each row's samples, from what the same model and task have at one; NaN where that is not stated.

    A row of one sample predicts nothing but itself, and gets nothing.
    """
    first = rows[(rows["metric"] == "coverage") & (rows["n_samples"] == 1)].drop_duplicates(["model", "task"])
    rate = rows.merge(first[["model", "task", "value"]], on=["model", "task"], how="left", suffixes=("", "_first"))
    alone = rate["value_first"].to_numpy(float) / 100.0
    samples = rows["n_samples"].to_numpy(float)
    several = np.where(np.isfinite(alone) & (samples > 1), alone, np.nan)
    return coverage(several, constant("reasoning", "difficulty_spread"), samples)
