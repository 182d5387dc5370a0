"""Predictions against measurements: how far off, in what direction, in what order, how sure.

Errors are fractions. A cell is a family and a metric; the headline is the median over cells of each cell's median
error, so that no table of a thousand rows outvotes twenty small ones. A measured plan that we call infeasible is an
error of 100 %; what we refuse to predict is counted, with its reason, beside the scores.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from planner.validation.menu import Task, task_of
from planner.validation.reading import prepare, read_table

LOWER_IS_BETTER = ("_ms", "iter_time_s", "latency", "_j_per_", "power", "cost", "energy")
"""Endings and parts of metrics of which less is better, for regret."""


@dataclass(frozen=True)
class Scores:
    """How predictions of one set of rows compare with what was measured."""

    rows: int
    scored: int
    refused: int
    called_infeasible: int
    median_ape: float
    p90_ape: float
    mean_ape: float
    bias: float
    rank_correlation: float
    inside_interval: float
    refusals: dict[str, int]
    regret: float = float("nan")


@dataclass(frozen=True)
class Memory:
    """What of memory is measured beside speed: how much was held, and which plans ran out of it."""

    rows: int
    median_ape: float
    bias: float
    oom_cases: int
    oom_recalled: int


@dataclass(frozen=True)
class Validation:
    """A file's scores: overall, by cell, of the rows that carry a flag, and the rows themselves."""

    task: str
    headline: float
    overall: Scores
    cells: dict[tuple[str, str], Scores]
    flagged: Scores
    memory: dict[str, Memory]
    """By family, and of all families under the empty name; empty where a file tells nothing of memory."""
    frame: pd.DataFrame

    def document(self) -> dict[str, Any]:
        """As JSON-ready data; errors are fractions."""
        whole = self.overall
        overall = {
            "median_ape": self.headline, "pooled_median_ape": whole.median_ape, "mean_ape": whole.mean_ape,
            "rows": whole.rows, "scored": whole.scored, "refused": whole.refused,
            "called_infeasible": whole.called_infeasible, "p90_ape": whole.p90_ape, "bias": whole.bias,
            "rank_correlation": whole.rank_correlation, "inside_interval": whole.inside_interval,
            "refusals": whole.refusals, "flagged_rows": self.flagged.rows,
        }  # fmt: skip
        if np.isfinite(whole.regret):
            overall["regret"] = whole.regret
        if "" in self.memory:
            overall["memory"] = vars(self.memory[""])
        cells = [_cell(family, metric, scores) for (family, metric), scores in self.cells.items()]
        kept = ["id", "family", "metric", "measured", "predicted", "low", "high", "reason", "feasible", "flag"]
        rows = self.frame[kept].astype(object).where(self.frame[kept].notna(), None).to_dict("records")
        return {
            "task": self.task,
            "overall": overall,
            "cells": cells,
            "flagged": _cell("", "", self.flagged),
            "memory": [{"family": name, **vars(found)} for name, found in self.memory.items() if name],
            "rows": rows,
        }


def _cell(family: str, metric: str, scores: Scores) -> dict[str, Any]:
    made = {"family": family, "metric": metric, **vars(scores)}
    if not np.isfinite(scores.regret):
        del made["regret"]
    return made


def validate(path: str | Path, catalog: Any = None) -> Validation:
    """Predict every row of a measurement file and score the predictions.

    Raises:
        InvalidInput: the file cannot be read, or its columns tell no kind of measurements.
    """
    if catalog is None:
        from solvers.catalog import catalog
    path = Path(path)
    table = read_table(path)
    task = task_of(table.columns, str(path))
    return score(predictions(table, task, catalog), task)


def predictions(table: pd.DataFrame, task: Task, catalog: Any) -> pd.DataFrame:
    """One row for each measured figure of the file, with its prediction or the reason why there is none."""
    found = prepare(table, task.numbers, task.words, task.measured, task.memory, task.noted)
    made = [p for p in _predicted(found.usable, task, catalog) if len(p)]
    answered = pd.concat(made, ignore_index=True) if made else pd.DataFrame({"id": pd.Series(dtype=str)})
    answered = answered.reindex(columns=list(dict.fromkeys([*_ANSWERED, *answered.columns])))
    rows = found.rows.set_index("id", drop=False)
    silent = rows.index.difference(pd.Index(answered["id"].astype(str)), sort=False)
    place = dict(zip(rows["id"], range(len(rows)), strict=True))
    reasons = [found.refused.get(place[i], "nothing was predicted for it") for i in silent]
    absent = pd.DataFrame({"id": list(silent), "reason": reasons})
    absent["measured"] = rows.loc[silent, "value"].to_numpy(float) if "value" in rows else np.nan
    if "metric" in rows:
        absent["metric"] = rows.loc[silent, "metric"].to_numpy(object)
    whole = pd.concat([answered, absent], ignore_index=True) if len(absent) else answered
    context = [c for c in rows.columns if c not in whole.columns and c != "id"]
    whole = whole.join(rows[context], on="id")
    family = rows["family"] if "family" in rows else rows[task.cell]
    whole["family"] = whole["family"].where(whole["family"].notna(), whole["id"].map(family)).fillna("").astype(str)
    whole["metric"] = whole["metric"].fillna("").astype(str)
    whole["feasible"] = whole["feasible"].map(lambda v: True if pd.isna(v) else bool(v)).astype(bool)
    whole["reason"] = whole["reason"].fillna("").astype(str)
    for name in ("measured", "predicted", "low", "high"):
        whole[name] = pd.to_numeric(whole[name], errors="coerce")
    whole["flag"] = whole["flag"].fillna("").astype(str) if "flag" in whole else ""
    order = whole["id"].map(place)
    return whole.iloc[np.argsort(order.to_numpy(), kind="stable")].reset_index(drop=True)


_ANSWERED = ("id", "family", "metric", "measured", "predicted", "low", "high", "reason", "feasible")


def _predicted(rows: pd.DataFrame, task: Task, catalog: Any) -> Iterator[pd.DataFrame]:
    """Predict all rows at once; where a row stops that, halve until it stands alone, and refuse it."""
    if rows.empty:
        return
    predict = task.predict
    try:
        with np.errstate(all="ignore"):
            found = predict(rows.reset_index(drop=True), catalog)
        yield found
    except (ValueError, ArithmeticError) as problem:
        if len(rows) == 1:
            yield pd.DataFrame(
                {"id": rows["id"], "reason": [str(problem).splitlines()[0] if str(problem) else repr(problem)]}
            )
            return
        half = len(rows) // 2
        yield from _predicted(rows.iloc[:half], task, catalog)
        yield from _predicted(rows.iloc[half:], task, catalog)


def score(frame: pd.DataFrame, task: Task) -> Validation:
    """Score a frame of predictions (see `predictions`): rows with a flag, and plans that ran out of memory, apart."""
    ended = frame["ran_out"].eq(True) if "ran_out" in frame else pd.Series(False, index=frame.index)
    memory_only = frame["measured"].isna() & ~ended & _measured_memory(frame).gt(0)
    speeds = frame[~ended & ~memory_only]
    plain, flagged = speeds[speeds["flag"] == ""], speeds[speeds["flag"] != ""]
    cells = {(str(f), str(m)): _scores(rows, task) for (f, m), rows in plain.groupby(["family", "metric"], sort=True)}
    medians = [s.median_ape for s in cells.values() if s.scored]
    headline = float(np.median(medians)) if medians else float("nan")
    memory = _memory(frame, ended)
    return Validation(task.name, headline, _scores(plain, task), cells, _scores(flagged, task), memory, frame)


def _measured_memory(frame: pd.DataFrame) -> pd.Series:
    empty = pd.Series(np.nan, index=frame.index)
    return pd.to_numeric(frame["memory_measured"], errors="coerce") if "memory_measured" in frame else empty


def _memory(frame: pd.DataFrame, ended: pd.Series) -> dict[str, Memory]:
    """Memory held against ours, and plans that ran out against what we call infeasible, by family and together."""
    measured = _measured_memory(frame)
    predicted = pd.to_numeric(frame.get("memory_predicted", measured), errors="coerce")
    log = pd.Series(np.log((predicted / measured).where((measured > 0) & (predicted > 0))))
    told = ended | log.notna()
    found = {}
    for name in ["", *sorted(frame.loc[told, "family"].unique())] if told.any() else []:
        own = told & (frame["family"].eq(name) if name else True)
        logs, out = log[own].dropna(), ended & own
        error = pd.Series(np.exp(logs) - 1).abs()
        found[name] = Memory(
            rows=len(logs),
            median_ape=float(error.median()) if len(error) else float("nan"),
            bias=float(logs.median()) if len(logs) else float("nan"),
            oom_cases=int(out.sum()),
            oom_recalled=int((out & ~frame["feasible"]).sum()),
        )
    return found


def errors(frame: pd.DataFrame) -> pd.Series:
    """The absolute percentage error of each row as a fraction; NaN where nothing was predicted."""
    usable = (frame["measured"] > 0) & np.isfinite(frame["measured"])
    error = ((frame["predicted"] - frame["measured"]).abs() / frame["measured"]).where(frame["predicted"] > 0)
    return error.where(frame["feasible"], 1.0).where(usable).replace([np.inf, -np.inf], np.nan)


def _scores(frame: pd.DataFrame, task: Task) -> Scores:
    error = errors(frame)
    scored = frame[error.notna()]
    answered = scored[scored["feasible"]]
    refused = frame[error.isna()]
    logs = np.log((answered["predicted"] / answered["measured"]).to_numpy(float))
    stated = answered[answered["low"].notna() & answered["high"].notna()]
    inside = (stated["low"] <= stated["measured"]) & (stated["measured"] <= stated["high"])
    found = error.dropna()
    return Scores(
        rows=len(frame),
        scored=len(scored),
        refused=len(refused),
        called_infeasible=int((~scored["feasible"]).sum()),
        median_ape=float(found.median()) if len(found) else float("nan"),
        p90_ape=float(found.quantile(0.9)) if len(found) else float("nan"),
        mean_ape=float(found.mean()) if len(found) else float("nan"),
        bias=float(np.median(logs)) if len(logs) else float("nan"),
        rank_correlation=rank_correlation(answered, task.layout),
        inside_interval=float(inside.mean()) if len(inside) else float("nan"),
        refusals=dict(Counter(_short(r) for r in refused["reason"]).most_common()),
        regret=regret(answered, tuple(c for c in task.layout if c != "n_gpus")) if task.sweeps else float("nan"),
    )


def _short(reason: str) -> str:
    return reason.strip() or "no reason given"


def _groups(frame: pd.DataFrame, layout: tuple[str, ...], least: int) -> Iterator[pd.DataFrame]:
    """Rows that differ in layout or concurrency alone, in groups of at least so many."""
    keys = [c for c in _IDENTITY if c in frame.columns and c not in layout]
    for _, rows in frame.groupby(keys, dropna=False, sort=False):
        varied = [c for c in layout if c in rows.columns and rows[c].nunique(dropna=False) > 1]
        if len(rows) >= least and varied:
            yield rows


_IDENTITY = (
    "family", "metric", "engine", "software", "task", "model", "params", "layers", "hidden", "target", "draft",
    "method", "strategy", "hardware", "gpu", "system", "stage", "workload", "temperature", "precision",
    "weight_precision", "kv_precision", "seq_len", "global_batch_samples", "input_tokens", "output_tokens",
    "request_rate", "n_gpus", "inter_node_network",
)  # fmt: skip
"""What rows must share to differ in layout or concurrency alone."""


def rank_correlation(frame: pd.DataFrame, layout: tuple[str, ...]) -> float:
    """Spearman's rank correlation within groups that differ in layout or concurrency alone, weighted by their size.

    Groups have at least three rows and two measured values; predictions that are all equal order nothing, and count 0.
    """
    total = weight = 0.0
    for rows in _groups(frame, layout, 3):
        measured, predicted = rows["measured"].rank(), rows["predicted"].rank()
        if measured.nunique() < 2:
            continue
        total += len(rows) * (float(np.corrcoef(measured, predicted)[0, 1]) if predicted.nunique() > 1 else 0.0)
        weight += len(rows)
    return total / weight if weight else float("nan")


def regret(frame: pd.DataFrame, layout: tuple[str, ...]) -> float:
    """How much is lost by running the layout that is predicted to be best of a sweep: the mean over sweeps.

    A sweep is measured on as many accelerators throughout.

    Of a time, the part by which it is longer than the best measured; of a rate, the part by which it is less.
    """
    lost = []
    for rows in _groups(frame, layout, 3):
        lower = any(part in str(rows["metric"].iloc[0]) for part in LOWER_IS_BETTER)
        measured, predicted = rows["measured"].to_numpy(float), rows["predicted"].to_numpy(float)
        best = measured.min() if lower else measured.max()
        got = measured[predicted.argmin() if lower else predicted.argmax()]
        lost.append(got / best - 1 if lower else 1 - got / best)
    return float(np.mean(lost)) if lost else float("nan")
