"""Fit the serving constants to published step times and benchmarks, and say how they do on families left out.

    python benchmarks/fit_serving.py --measurements DIR [--write] [--leave-out]

Every constant is a factor on a prior, held by a spread that says how sure we are of the prior; an engine's own
constants are factors on its kind's. Each family and metric weighs the same, whatever its number of rows.
"""

from __future__ import annotations

import argparse
import csv
import dataclasses
import math
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy.optimize import least_squares

from planner.validation import serving as validation
from planner.validation.menu import TASKS
from planner.validation.reading import prepare, read_table
from solvers.catalog import catalog
from solvers.formulas.serving.constants import Engine
from solvers.lowering import serving as lowering

DATA = Path(__file__).resolve().parent.parent / "solvers" / "catalog" / "data" / "serving_constants.csv"
PRIORS = Path(__file__).resolve().parent / "serving_priors.csv"
"""The constants as they are known before the fit, so that fitting twice gives the same."""
SOURCE = "TensorRT-LLM, MLPerf, ML.ENERGY, llama.cpp and InferenceX tables, fitted by benchmarks/fit_serving.py"
ROWS_A_CELL = 60
ROBUST = 0.15
"""Log error beyond which a row's pull stops growing."""

Key = tuple[str, str, str, str]


@dataclasses.dataclass(frozen=True)
class Free:
    """A constant to fit: where it is filed, what it is a factor on, and the spread of the factor's logarithm."""

    quantity: str
    engine: str = ""
    device: str = ""
    precision: str = ""
    spread: float = 0.5

    @property
    def key(self) -> Key:
        """Where the constant is filed."""
        return (self.quantity, self.engine, self.device, self.precision)


SERVERS = ("vLLM", "SGLang", "TensorRT-LLM")
FREE = (
    Free("read_slowdown", spread=0.15), Free("attention_slowdown", spread=0.15), Free("reduce_slowdown", spread=0.15),
    Free("expert_slowdown", spread=0.2), Free("walk_slowdown", "", "", "nvfp4", spread=1.0),
    Free("prefill_slowdown", spread=0.1),
    Free("expert_prompt_slowdown", spread=0.3), Free("train_prompts"), Free("dispersion", spread=0.7),
    Free("mixed_share", spread=0.3), Free("routing_independence", spread=0.4), Free("uneven_ranks", spread=1.0),
    Free("rank_skew_share"), Free("kernel_time"), Free("prefill_kernel_time"),
    Free("expert_kernels"), Free("latent_kernels"), Free("linear_kernels"),
    Free("step_time"), Free("sequence_time", spread=1.0),
    Free("sort_time"), Free("sort_time", "static"), Free("elementwise_tensors", spread=0.3),
    Free("expert_slowdown", "", "", "weight-only", spread=0.5), Free("expert_slowdown", "", "", "nvfp4", spread=0.3),
    Free("read_slowdown", "", "", "nvfp4", spread=0.3), Free("gemm_slowdown", "", "", "nvfp4", spread=0.3),
    Free("interference", spread=0.12), Free("first_token_time", spread=1.0), Free("first_token_prefill", spread=0.3),
    Free("first_token_steps", spread=0.5), Free("burst_share", spread=0.3),
    *(Free(q, e, spread=s) for e in SERVERS for q, s in (
        ("kernel_time", 0.3), ("step_time", 0.5), ("sequence_time", 0.5), ("interference", 0.15),
        ("first_token_time", 0.7), ("first_token_prefill", 0.3), ("first_token_steps", 0.5), ("burst_share", 0.5),
        ("prefill_slowdown", 0.1),
    )),
    *(Free(q, "static", spread=s) for q, s in (
        ("kernel_time", 0.7), ("step_time", 1.0), ("gemm_slowdown", 0.3), ("read_slowdown", 0.3),
        ("attention_slowdown", 0.5),
        ("reduce_slowdown", 0.3), ("prefill_slowdown", 0.3),
    )),
    *(Free(q, "FasterTransformer", spread=s) for q, s in (
        ("kernel_time", 0.5), ("step_time", 1.0), ("gemm_slowdown", 0.3),
    )),
    *(Free(q, "local", spread=s) for q, s in (
        ("kernel_time", 0.5), ("read_slowdown", 0.3), ("prefill_slowdown", 0.5), ("attention_slowdown", 0.7),
        ("stage_overlap", 0.5),
    )),
    *(Free(q, "local", "apple", spread=s) for q, s in (
        ("kernel_time", 0.5), ("read_slowdown", 0.3), ("prefill_slowdown", 0.5),
    )),
    *(Free(q, "gpt-fast", spread=s) for q, s in (("kernel_time", 0.5), ("read_slowdown", 0.2))),
    *(Free(q, "llama.cpp", spread=s) for q, s in (
        ("cache_slowdown", 0.5), ("score_bytes", 0.4), ("elementwise_tensors", 0.4),
    )),
    Free("cache_slowdown", "llama.cpp", "apple", spread=0.7), Free("unpack_work", "llama.cpp", "apple", "q4_k_m", 0.3),
    *(Free(q, e, spread=s) for e in ("ExLlama", "TinyChat") for q, s in (
        ("kernel_time", 0.3), ("prefill_slowdown", 0.5),
    )),
    Free("convolution_slowdown", spread=0.5), Free("net_traffic", spread=0.5), Free("net_kernel_time", spread=1.0),
    *(Free(q, e, spread=s) for e in ("eager", "compiled") for q, s in (
        ("convolution_slowdown", 0.5), ("net_kernel_time", 1.0), ("net_traffic", 0.5),
    )),
    Free("prefill_slowdown", "compiled", spread=0.5), Free("attention_slowdown", "compiled", spread=1.0),
    Free("convolution_slowdown", "PyTorch", spread=0.3), Free("net_kernel_time", "PyTorch", spread=0.5),
)  # fmt: skip


class Problem:
    """The rows of a measurement folder, and their predictions as a function of the constants."""

    def __init__(self, folder: Path) -> None:
        task = next(t for t in TASKS if t.name == "serving")
        rows = prepare(read_table(folder / "serving.csv"), task.numbers, task.words, task.measured).usable
        rows = rows[rows["flag"].isna() & ~rows["metric"].str.contains("cost")].reset_index(drop=True)
        found = validation.lookup(rows, catalog)
        known = ~found["refused"].astype(bool)
        self.rows, self.entries = rows[known].reset_index(drop=True), found[known].reset_index(drop=True)
        self.prior = {(r["quantity"], r["engine"], r["device"], r["precision"]): float(r["value"]) for r in priors()}
        self.fields = [f.name for f in dataclasses.fields(Engine) if f.name not in lowering.FILLED]

    def part(self, rows_a_cell: int, seed: int = 0) -> Part:
        """At most so many rows of each family and metric."""
        picked = self.rows.groupby(["family", "metric"]).sample(frac=1.0, random_state=seed)
        picked = picked.groupby(["family", "metric"]).head(rows_a_cell).index.sort_values()
        return Part(self, picked)


class Part:
    """Some of the rows, with everything prepared that the constants do not change."""

    def __init__(self, whole: Problem, picked: pd.Index) -> None:
        self.whole = whole
        self.rows = whole.rows.loc[picked].reset_index(drop=True)
        self.entries = whole.entries.loc[picked].reset_index(drop=True)
        self.family = self.rows["family"].to_numpy(str)
        self.metric = self.rows["metric"].to_numpy(str)
        self.measured = self.rows["value"].to_numpy(float)
        self.asked = validation.prepared(self.rows, self.entries)
        keys = {*whole.prior, *(f.key for f in FREE)}
        self.rows_engine = Resolved(whole.fields, self.entries, keys)
        nets = self.entries[self.asked.nets].reset_index(drop=True)
        self.nets_engine = Resolved(whole.fields, nets, keys) if len(nets) else None

    def log_errors(self, constants: dict[Key, float]) -> np.ndarray:
        """The logarithm of predicted over measured for each row; 3 where no figure is made."""
        asked = dataclasses.replace(self.asked, plan=self.rows_engine.into(self.asked.plan, constants))
        if self.nets_engine is not None:
            asked = dataclasses.replace(asked, net_plan=self.nets_engine.into(asked.net_plan, constants))
        predicted, _, _ = validation.answered(asked)
        error = np.log(np.maximum(predicted, 1e-12) / self.measured)
        return np.where(np.isfinite(error), np.clip(error, -3.0, 3.0), 3.0)

    def weights(self, left_out: str = "") -> np.ndarray:
        """Equal weight for each family and metric; none for a family left out."""
        cells = pd.Series(self.family) + "|" + pd.Series(self.metric)
        size = cells.map(cells.value_counts()).to_numpy(float)
        few = np.minimum(size / 10.0, 1.0)
        return np.where(self.family == left_out, 0.0, few / size) if left_out else few / size


class Resolved:
    """Which constant each row takes for each field of `Engine`, found once."""

    def __init__(self, fields: list[str], entries: pd.DataFrame, keys: set[Key]) -> None:
        self.fields = fields
        kept, lowering._filed = lowering._filed, lambda: {k: i for i, k in enumerate(order)}  # type: ignore[assignment, misc]
        order = sorted(keys)
        try:
            column = validation.declared(validation.SOLVERS["ServingModel"].Plan, "ServingModel")["engine"]
            record = validation.gathered(column, entries)
        finally:
            lowering._filed = kept
        self.order = order
        self.index = {name: getattr(record, name).astype(int) for name in fields}

    def into(self, plan: Any, constants: dict[Key, float]) -> Any:
        """A plan with these constants."""
        values = np.array([constants.get(k, math.nan) for k in self.order])
        engine = dataclasses.replace(plan.engine, **{name: values[index] for name, index in self.index.items()})
        return dataclasses.replace(plan, engine=engine)


def parent(free: Free, prior: dict[Key, float]) -> Key | None:
    """The more general constant that this one is a factor on: its engine's kind's, or any engine's."""
    kinds = {e.name: e.text("family") for e in catalog.entries("engine")}
    engine = kinds.get(free.engine, "")
    candidates = [(free.quantity, free.engine, "", ""), (free.quantity, engine, "", ""), (free.quantity, "", "", "")]
    return next((c for c in candidates if c != free.key and c in prior), None)


def unfold(logs: np.ndarray, free: tuple[Free, ...], prior: dict[Key, float]) -> dict[Key, float]:
    """Constants from the logarithms of their factors: a factor on the prior's ratio to its parent, times the parent."""
    made = dict(prior)
    for log, item in zip(logs, free, strict=True):
        up = parent(item, prior)
        own = prior.get(item.key, prior[up] if up else math.nan)
        base = made[up] * own / prior[up] if up is not None and prior[up] else own
        value = base * math.exp(log)
        made[item.key] = (
            min(value, 1.0) if item.quantity in ("stage_overlap", "mixed_share", "routing_independence") else value
        )
    return made


def fit(
    part: Part, free: tuple[Free, ...], start: np.ndarray | None = None, left_out: str = "", rounds: int = 12
) -> np.ndarray:
    """The logarithms of the factors that fit best, robustly, under their priors."""
    weights = np.sqrt(part.weights(left_out))
    spreads = np.array([f.spread for f in free])
    strength = math.sqrt(PRIOR)

    def residuals(logs: np.ndarray) -> np.ndarray:
        error = part.log_errors(unfold(logs, free, part.whole.prior)) / ROBUST
        robust = np.sign(error) * np.sqrt(2.0 * (np.sqrt(1.0 + error * error) - 1.0))
        return np.concatenate([weights * robust, strength * logs / spreads])

    first = np.zeros(len(free)) if start is None else start
    return least_squares(residuals, first, max_nfev=rounds, x_scale=spreads, diff_step=0.02).x


PRIOR = 0.03
"""Weight of one spread of a prior against a family and metric whose rows are all off by the robust scale."""


def scores(part: Part, error: np.ndarray) -> pd.DataFrame:
    """Median absolute percentage error and bias of each family and metric."""
    frame = pd.DataFrame({"family": part.family, "metric": part.metric, "log": error, "ape": np.abs(np.expm1(error))})
    return frame.groupby(["metric", "family"]).agg(
        rows=("ape", "size"), median=("ape", "median"), bias=("log", "median")
    )


def priors() -> list[dict[str, str]]:
    """The rows of the priors."""
    with PRIORS.open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


def write(constants: dict[Key, float], free: tuple[Free, ...], error: float) -> None:
    """File the fitted constants in the catalogue."""
    rows = priors()
    by_key = {(r["quantity"], r["engine"], r["device"], r["precision"]): r for r in rows}
    units = {r["quantity"]: r["unit"] for r in rows}
    for item in free:
        row = by_key.get(item.key)
        if row is None:
            row = dict(zip(("quantity", "engine", "device", "precision"), item.key, strict=True)) | {"note": ""}
            rows.append(row)
            by_key[item.key] = row
        row |= {
            "value": f"{constants[item.key]:.4g}", "unit": units[item.quantity], "source": SOURCE, "kind": "fitted",
            "fit_error": f"{error:.2g}",
        }  # fmt: skip
    with DATA.open("w", newline="", encoding="utf-8") as file:
        names = ("quantity", "engine", "device", "precision", "value", "unit", "source", "kind", "fit_error", "note")
        writer = csv.DictWriter(file, names, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--measurements", type=Path, required=True, help="folder that holds serving.csv")
    parser.add_argument("--write", action="store_true", help="file the constants in the catalogue")
    parser.add_argument("--leave-out", action="store_true", help="score each family by constants fitted without it")
    parser.add_argument("--rounds", type=int, default=12)
    chosen = parser.parse_args()
    pd.set_option("display.width", 160, "display.max_rows", 200)
    problem = Problem(chosen.measurements)
    part, whole = problem.part(ROWS_A_CELL), problem.part(10**6)
    logs = fit(part, FREE, rounds=chosen.rounds)
    constants = unfold(logs, FREE, problem.prior)
    error = whole.log_errors(constants)
    table = scores(whole, error)
    print(table.round(3).to_string())
    print(table["median"].groupby("metric").median().round(3).to_string())
    for item, log in zip(FREE, logs, strict=True):
        print(
            f"{' '.join(item.key):60} {constants[item.key]:.4g}"
            f"  (x{math.exp(log):.2f}, {log / item.spread:+.1f} spreads)"
        )
    if chosen.write:
        write(constants, FREE, float(np.median(np.abs(error))))
    if chosen.leave_out:
        leave_out(part, whole, logs)


def leave_out(part: Part, whole: Part, logs: np.ndarray) -> None:
    """Score each family by constants fitted without it."""
    held = np.zeros(len(whole.family))
    for family in sorted(set(part.family)):
        without = fit(part, FREE, start=logs, left_out=family, rounds=4)
        error = whole.log_errors(unfold(without, FREE, whole.whole.prior))
        held = np.where(whole.family == family, error, held)
    table = scores(whole, held)
    print("families left out")
    print(table.round(3).to_string())
    print(table["median"].groupby("metric").median().round(3).to_string())
    frame = pd.DataFrame({"metric": whole.metric, "size": np.abs(held)})
    print(np.exp(frame.groupby("metric")["size"].quantile(0.8)).round(2).to_string())


if __name__ == "__main__":
    main()
