"""Rows of published training runs as plans, and their predictions in the metric that was published.

A row's own shape overrides the catalogue. What a row leaves blank is filled by the assumptions in `docs/training.md`,
by what the software of the row does by default; nothing depends on which family a row is of.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pandas as pd

from planner.validation.training_rows import Run, read_runs
from solvers.faces.distributed import DistributedAnswer, DistributedModel
from solvers.formulas.training.layer import layer_mix
from solvers.formulas.training.work import model_flops
from solvers.formulas.transformer import layer_params
from solvers.lowering.constants import constants
from solvers.reasons import codes

NORMAL_80 = 1.2816
"""Standard deviations on either side of the mean that hold 80 % of a normal distribution."""

GB = 1e9


NO_PLAN = "the row's counts make no plan (a count of 0, or one beyond all measure)"
MEMORY_METRICS = ("mem_gb", "mem_gb_measured", "memory_gb", "peak_memory_gb", "memory_gb_per_gpu")
RATE_METRICS = ("tokens_per_s_per_gpu", "tok_s_per_gpu", "tokens_per_gpu_per_s")


def predict(frame: pd.DataFrame, catalog: Any) -> pd.DataFrame:
    """One prediction a row, in the row's metric; `reason` says why a row was refused, or is infeasible.

    `memory_measured` and `memory_predicted` are in bytes; a row of a plan that ran out of memory (`ran_out`) has no
    prediction but `feasible`, and is right when that is false.
    """
    run = read_runs(frame, catalog)
    answer = DistributedModel.columns(run.plan)
    predicted = in_metric(run, answer)
    spread = np.exp(NORMAL_80 * held_out_error(run))
    bits = np.broadcast_to(answer.reasons, predicted.shape)
    feasible = bits == 0
    reason = np.array([",".join(codes(int(b))) for b in bits], dtype=object)
    unknown = np.array([f"the metric {m} is not one that training predicts" for m in run.metric], dtype=object)
    out = frame["ran_out"].to_numpy(bool) if "ran_out" in frame else np.zeros(len(frame), dtype=bool)
    step = np.broadcast_to(answer.step_latency_total, predicted.shape)
    told = np.where(out, step, predicted)
    refusal = np.where((run.refusal == "") & np.isnan(told), unknown, run.refusal)
    refusal = np.where((refusal == "") & ~((told > 0) & np.isfinite(told)), NO_PLAN, refusal)
    usable = refusal == ""
    predicted = np.where(out, np.nan, predicted)
    return pd.DataFrame(
        {
            "id": frame["id"].to_numpy(object),
            "family": frame["family"].to_numpy(object),
            "metric": frame["metric"].to_numpy(object),
            "measured": frame["value"].to_numpy(float),
            "predicted": np.where(usable, predicted, np.nan),
            "low": np.where(usable, predicted / spread, np.nan),
            "high": np.where(usable, predicted * spread, np.nan),
            "reason": np.where(usable, reason, refusal),
            "feasible": feasible | ~usable,
            "memory_measured": run.memory_measured,
            "memory_predicted": np.where(
                usable, np.broadcast_to(answer.memory_per_accelerator, predicted.shape), np.nan
            ),
        }
    )


def in_metric(run: Run, answer: DistributedAnswer) -> np.ndarray:
    """The answer in each row's metric.

    Reported FLOP/s follow the row's convention: all of the attention or the causal half, and with hardware FLOP/s the
    recomputed forward pass as well.
    """
    step = answer.step_latency_total
    each = answer.accelerators_used
    reported = reported_flops(run)
    per_second = run.plan.batch_size * reported / step / each
    values = {
        "iter_time_s": step,
        **dict.fromkeys(RATE_METRICS, answer.effective_throughput / each),
        "tokens_per_s": answer.effective_throughput,
        "tflops_per_gpu": per_second / 1e12,
        "mfu": per_second / run.mfu_peak,
        "images_per_s": answer.sample_throughput,
        "sequences_per_s": answer.sample_throughput,
        "samples_per_s": answer.sample_throughput,
        "images_per_s_per_gpu": answer.sample_throughput / each,
        "sequences_per_s_per_gpu": answer.sample_throughput / each,
        **dict.fromkeys(MEMORY_METRICS, answer.memory_per_accelerator / GB),
    }
    made = np.full(len(run.metric), np.nan)
    for metric, value in values.items():
        made = np.where(run.metric == metric, np.broadcast_to(value, made.shape), made)
    return made


def reported_flops(run: Run) -> np.ndarray:
    """Work of one sample as the row's source counts it."""
    plan, model = run.plan, run.plan.model
    seq_len = plan.seq_len
    causal = model_flops(model, layer_params(model), layer_mix(model), seq_len, run.lora)
    scores = 2.0 * seq_len * seq_len * model.attention_layers * model.heads * (model.head_dim + model.v_head_dim)
    full = causal + np.where(run.counts_all_attention, 3.0 * 0.5 * model.causal * scores, 0.0)
    head = 6.0 * seq_len * model.vocab * model.hidden
    return np.where(run.hardware_flops, full + (full - head) / 3.0, full)


def held_out_error(run: Run) -> np.ndarray:
    """Standard deviation of the log error to expect, by class, from families left out of the fit."""
    table = {name.removeprefix("held_out_error_"): c.value for name, c in _errors().items()}
    return np.array([table.get(name, table["other"]) for name in run.error_class])


@functools.cache
def _errors() -> dict[str, Any]:
    return {name: c for name, c in constants("training").items() if name.startswith("held_out_error_")}
