"""Published memory ledgers of serving engines against the ledger of `ServingModel`: weights, peaks, and what is left.

A row whose outcome is FAIL has no figure of its own: it counts as right when we, too, call the plan infeasible.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pandas as pd

from planner.validation.serving import columns_of, plan_of
from planner.validation.serving_rows import engine_of, format_of
from solvers.catalog import CatalogError
from solvers.lowering.serving import ROOMY
from solvers.reasons import codes

GIB = 2.0**30
MEASURED = {
    "weights_gib_per_gpu": "weights_per_accelerator",
    "activation_peak_gib": "activation_peak",
    "kv_cache_gib_per_gpu": "kv_pool",
    "kv_tokens": "kv_pool_tokens",
    "kv_bytes_per_token_per_gpu": "kv_bytes_per_token",
    "total_memory_gb": "memory_per_accelerator",
}
"""Measured columns, and the columns of `ServingModel` that answer."""
UNITS = {"_gib": GIB, "_gib_per_gpu": GIB, "_gb": 1e9}
CHUNKED = 8192.0, 2048.0
"""Tokens that vLLM's engine V1 passes at once, on devices of much memory and of little (its documentation)."""
SPREAD = 1.15
"""Factor within which four of five ledger entries lay."""


def predict(frame: pd.DataFrame, catalog: Any) -> pd.DataFrame:
    """One row for each figure of each ledger."""
    rows = frame.reset_index(drop=True)
    known, refused = _entries(rows, catalog)
    made = [pd.DataFrame(refused, columns=["id", "family", "metric", "measured", "reason"])]
    if len(known):
        made.append(_figures(rows.loc[known.index].reset_index(drop=True), known.reset_index(drop=True)))
    whole = pd.concat(made, ignore_index=True)
    whole["feasible"] = (
        whole["feasible"].map(lambda v: True if pd.isna(v) else bool(v)) if "feasible" in whole else True
    )
    return whole.reindex(
        columns=["id", "family", "metric", "measured", "predicted", "low", "high", "reason", "feasible"]
    )


def _entries(rows: pd.DataFrame, catalog: Any) -> tuple[pd.DataFrame, list[dict[str, Any]]]:
    known, places, refused = [], [], []
    for place, row in rows.iterrows():
        words = str(row["model"])
        bare = re.sub(r"[ -](FP8|FP16|BF16|AWQ|GPTQ|INT4)$", "", words, flags=re.IGNORECASE)
        weights = words[len(bare) :].strip(" -").lower() or "bf16"
        try:
            model, chip = catalog.find("model", bare), catalog.find("hardware", _chip(str(row["gpu"])))
        except CatalogError:
            measured = next((row[m] for m in MEASURED if pd.notna(row[m])), np.nan)
            refused.append({
                "id": row["id"], "family": row["engine"], "metric": "kv_cache_gib_per_gpu", "measured": measured,
                "reason": "unknown model or hardware",
            })  # fmt: skip
            continue
        engine = engine_of(row["engine"])
        known.append({
            "model": model, "hardware": chip, "engine": catalog.find("engine", engine),
            "precision": catalog.find("precision", format_of(weights, bare, engine, chip)),
        })  # fmt: skip
        places.append(place)
    return pd.DataFrame(known, index=places), refused


def _chip(words: str) -> str:
    """The catalogue's name for a card as ledgers write it: `H100 80GB` is the SXM part, `RTX 3090` has no spaces."""
    known = {"H100 80GB": "H100-SXM", "A100-80GB": "A100-SXM-80", "A100 80GB": "A100-SXM-80"}
    return known.get(words, re.sub(r"\s+", "", words) if words.upper().startswith("RTX") else words)


def _chunked(rows: pd.DataFrame, entries: pd.DataFrame) -> pd.Series:
    """Tokens that the engine passes at once where its version settles it: V1 splits prompts, V0 passes them whole."""
    newer = rows["engine"].astype(str).str.contains(r"\bV1\b|v?0\.(?:8\.[3-9]|9|[1-9][0-9])|v?1\.[0-9]", case=False)
    memory = entries["hardware"].map(lambda h: h.get("memory_capacity") or 0.0)
    return pd.Series(np.where(memory > ROOMY, *CHUNKED), index=rows.index).where(newer)


def _figures(rows: pd.DataFrame, entries: pd.DataFrame) -> pd.DataFrame:
    total = rows["gpu_total_gib"].to_numpy(float) * GIB
    columns = {
        "tp_size": rows["tp"].fillna(1.0).to_numpy(float),
        "seq_len": np.where(rows["input_tokens"].notna(), np.nan, rows["max_model_len"].fillna(2048.0)),
        "memory_utilization": rows["gpu_mem_util"].to_numpy(float),
        "batching": rows["total_memory_gb"].notna().to_numpy(int),
        "batch_size": rows["batch_size"].fillna(1.0).to_numpy(float),
        "input_tokens": rows["input_tokens"].to_numpy(float),
        "output_tokens": rows["output_tokens"].fillna(256.0).to_numpy(float),
        "max_num_sequences": rows["max_num_sequences"].to_numpy(float),
        "max_batched_tokens": rows["max_batched_tokens"].fillna(_chunked(rows, entries)).to_numpy(float),
    }
    plan = plan_of("ServingModel", entries, columns)
    object.__setattr__(plan.device, "memory_capacity", np.where(np.isnan(total), plan.device.memory_capacity, total))
    answer = columns_of("ServingModel", plan)
    fails = rows["outcome"].astype(str).str.upper().eq("FAIL").to_numpy()
    fits = answer["reasons"] == 0
    made = []
    for place in range(len(rows)):
        shared = {"id": rows["id"][place], "family": rows["engine"][place]}
        if fails[place]:
            reason = ",".join(codes(int(answer["reasons"][place])))
            made.append(shared | {"metric": "outcome", "reason": reason, "feasible": bool(fits[place])})
            continue
        for measured, column in MEASURED.items():
            if pd.isna(rows[measured][place]):
                continue
            scale = next((unit for ending, unit in UNITS.items() if measured.endswith(ending)), 1.0)
            value = float(np.broadcast_to(answer[column], len(rows))[place]) / scale
            made.append(shared | {
                "metric": measured, "measured": rows[measured][place], "predicted": value, "low": value / SPREAD,
                "high": value * SPREAD, "feasible": bool(fits[place]),
                "reason": "" if fits[place] else ",".join(codes(int(answer["reasons"][place]))),
            })  # fmt: skip
    return pd.DataFrame(made)
