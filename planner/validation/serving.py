"""Published serving figures against the very columns that a study explores.

All rows are predicted at once: catalogue records are gathered row by row, and `ServingModel.columns` runs over them.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pandas as pd

from planner.validation.serving_rows import (
    DIES,
    LOCAL,
    STATIC,
    cache_of,
    engine_of,
    format_of,
    layout_of,
    prompts_of,
    requests_of,
    sorts_logits,
    variation_of,
)
from solvers import SOLVERS
from solvers.catalog import CatalogError
from solvers.chain import default_value
from solvers.columns import declared
from solvers.formulas.serving.plan import KV_FORMATS
from solvers.formulas.serving.reasons import SATURATED
from solvers.lowering import LOWERINGS
from solvers.lowering.serving import interval_of
from solvers.reasons import CONTEXT_EXCEEDED, PRECISION_UNSUPPORTED, codes

FAR_BATCH = 256.0
"""Images or sequences that an offline benchmark passes together where it does not say."""


METRICS = (
    "tpot_ms", "itl_ms", "ttft_ms", "e2e_latency_ms", "output_tok_s", "tok_s_per_gpu", "tokens_per_s_per_gpu",
    "prefill_tok_s", "prefill_tok_s_per_gpu", "prefill_tok_s_per_node", "decode_tok_s_per_node", "images_per_s",
    "sequences_per_s", "cost_usd_per_m_output_tokens",
)  # fmt: skip
"""Metrics of serving files that have an answer."""
SQUAD_TOKENS = 178.0
"""Mean tokens of a SQuAD question with its paragraph, which MLPerf's BERT passes without padding to 384."""


def predict(frame: pd.DataFrame, catalog: Any) -> pd.DataFrame:
    """Predict every row; refuse, with the reason, what names no known model, chip or metric."""
    rows = frame.reset_index(drop=True)
    found = lookup(rows, catalog)
    strange = ~rows["metric"].isin(METRICS) & found["refused"].eq("")
    found["refused"] = found["refused"].mask(strange, "unknown metric")
    known = ~found["refused"].astype(bool).to_numpy()
    answered = pd.DataFrame({
        "id": rows["id"], "family": rows["family"], "metric": rows["metric"], "measured": rows["value"],
        "predicted": np.nan, "low": np.nan, "high": np.nan, "reason": found["refused"], "feasible": True,
    })  # fmt: skip
    if known.any():
        chosen, entries = rows[known].reset_index(drop=True), found[known].reset_index(drop=True)
        values, feasible, why = figures(chosen, entries)
        answered.loc[known, "predicted"] = values
        answered.loc[known, "feasible"] = feasible
        answered.loc[known, "reason"] = why
        spread = interval(chosen["metric"], entries)
        answered.loc[known, "low"] = values / spread
        answered.loc[known, "high"] = values * spread
    return answered


def lookup(rows: pd.DataFrame, catalog: Any) -> pd.DataFrame:
    """The catalogue's entries of each row, or why it is refused."""
    made = []
    seen: dict[tuple[Any, ...], dict[str, Any]] = {}
    for model, chip, weights, engine in zip(
        rows["model"], rows["hardware"], rows["weight_precision"], rows["engine"], strict=True
    ):
        key = (str(model), str(chip), str(weights), str(engine))
        if key not in seen:
            seen[key] = _entries(model, chip, weights, engine, catalog)
        made.append(seen[key])
    return pd.DataFrame(made)


def _entries(model: Any, chip: Any, weights: Any, engine: Any, catalog: Any) -> dict[str, Any]:
    found: dict[str, Any] = {"model": None, "hardware": None, "precision": None, "engine": None, "refused": ""}
    for kind, name in (("model", model), ("hardware", chip)):
        try:
            found[kind] = catalog.find(kind, str(name))
        except CatalogError:
            return found | {"refused": f"unknown {kind}"}
    name = engine_of(engine)
    found["engine"] = catalog.find("engine", name)
    if name in LOCAL and found["hardware"].name in DIES:
        found["hardware"] = catalog.find("hardware", DIES[found["hardware"].name])
    try:
        found["precision"] = catalog.find("precision", format_of(weights, model, name, found["hardware"]))
    except CatalogError:
        found["precision"] = catalog.find("precision", "bf16")
    return found


@dataclasses.dataclass(frozen=True)
class Prepared:
    """Rows as plans: of `ServingModel` for all, of `SingleNodeModel` for those that pass images or sequences."""

    rows: pd.DataFrame
    entries: pd.DataFrame
    columns: dict[str, np.ndarray]
    plan: Any
    nets: np.ndarray
    net_plan: Any


def prepared(rows: pd.DataFrame, entries: pd.DataFrame) -> Prepared:
    """The plans of rows whose entries are known."""
    columns = plan_columns(rows, entries)
    nets = rows["metric"].isin(["images_per_s", "sequences_per_s"]).to_numpy()
    batch = rows["concurrency"].fillna(FAR_BATCH).to_numpy(float)[nets]
    words = np.where(rows["metric"][nets] == "sequences_per_s", SQUAD_TOKENS, np.nan)
    some = entries[nets].reset_index(drop=True)
    net_plan = plan_of("SingleNodeModel", some, {"batch_size": batch, "seq_len": words}) if nets.any() else None
    return Prepared(rows, entries, columns, plan_of("ServingModel", entries, columns), nets, net_plan)


def figures(rows: pd.DataFrame, entries: pd.DataFrame) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The predicted figure of each row, whether its plan is feasible, and why not."""
    return answered(prepared(rows, entries))


def answered(asked: Prepared) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The predicted figure of each row, whether its plan is feasible, and why not."""
    count = len(asked.rows)
    served = columns_of("ServingModel", asked.plan)
    predicted = served_figures(asked, served)
    bits = np.broadcast_to(served["reasons"], count).copy()
    if asked.nets.any():
        passed = columns_of("SingleNodeModel", asked.net_plan)
        predicted[asked.nets] = passed["throughput"] * asked.rows["n_gpus"].fillna(1.0).to_numpy(float)[asked.nets]
        bits[asked.nets] = passed["reasons"]
    bits = bits & ~np.int64(CONTEXT_EXCEEDED.bit | PRECISION_UNSUPPORTED.bit | SATURATED.bit)
    texts = {int(b): ",".join(codes(int(b))) for b in np.unique(bits)}
    return predicted, bits == 0, np.array([texts[int(b)] for b in bits], dtype=object)


def plan_columns(rows: pd.DataFrame, entries: pd.DataFrame) -> dict[str, np.ndarray]:
    """What each row asks of `ServingModel`, as columns."""
    engines = entries["engine"].map(lambda e: e.name)
    experts = entries["model"].map(lambda m: bool(m.get("num_experts"))).to_numpy(bool)
    layout = layout_of(rows, engines, experts)
    local, static = engines.isin(LOCAL).to_numpy(), engines.isin(STATIC).to_numpy()
    metric = rows["metric"].to_numpy(str)
    prompts = prompts_of(rows)
    answers = np.where(rows["output_tokens"].notna(), np.maximum(rows["output_tokens"].fillna(1.0), 1.0), 256.0)
    rate = rows["request_rate"].to_numpy(float)
    streams = np.isfinite(rate) & (rate > 0) & ~np.isin(metric, ["images_per_s", "sequences_per_s"])
    clients = own_clients(rows, layout)
    queued = (np.isinf(rate) | (np.isnan(clients) & ~streams)) & ~local & ~static
    layout = fit_replicas(rows, entries, layout)
    decoding = np.where(local, np.where(rows["input_tokens"].fillna(0.0) > 0, prompts, 0.0) + answers / 2.0, np.nan)
    longest = entries["model"].map(lambda m: m.get("max_context") or 1e9).to_numpy(float)
    formats = [
        cache_of(k, p.name, e) for k, p, e in zip(rows["kv_precision"], entries["precision"], engines, strict=True)
    ]
    return {
        **layout,
        "input_tokens": prompts,
        "output_tokens": answers,
        "seq_len": np.where(local, np.maximum(np.minimum(decoding, longest), 1.0), np.nan),
        "batch_size": np.where(static | local, np.where(np.isnan(clients), 1.0, clients), 1.0),
        "concurrency": np.where(static | local | queued | streams, np.nan, clients),
        "request_rate": np.where(streams, rate, np.nan),
        "max_load": queued,
        "batching": np.where(static | local, 1, 0),
        "kv_precision": np.array([KV_FORMATS.index(f) for f in formats]),
        "num_requests": np.where(queued, requests_of(rows), np.nan),
        "length_variation": variation_of(rows),
        "sampling": sorts_logits(rows).astype(int),
        "max_num_sequences": np.where(noted_batch(rows), clients, np.nan),
    }


def noted_batch(rows: pd.DataFrame) -> np.ndarray:
    """True where the row's concurrency is the engine's own limit (the leaderboard that notes the running batch)."""
    return rows["notes"].fillna("").astype(str).str.contains("avg running batch").to_numpy()


def own_clients(rows: pd.DataFrame, layout: dict[str, np.ndarray]) -> np.ndarray:
    """Clients of the row's own devices: the notes' figure of a rank where the row counts a larger deployment."""
    clients = rows["concurrency"].to_numpy(float)
    noted = rows["notes"].fillna("").astype(str).str.extract(r"per dp rank ([0-9.]+)")[0].astype(float).to_numpy()
    ranks = noted * layout["dp_size"] * layout["replicas"]
    return np.where(clients > 4.0 * ranks, ranks, clients) / layout["replicas"]


def fit_replicas(rows: pd.DataFrame, entries: pd.DataFrame, layout: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """MLPerf's servers divide their devices into replicas, each as small as its weights and a cache allow."""
    perf = rows["family"].astype(str).str.startswith("mlperf").to_numpy() & rows["tp_size"].isna().to_numpy()
    if not perf.any():
        return layout
    gpus = rows["n_gpus"].fillna(1.0).to_numpy(float)
    weights = np.array([
        (m.get("params_total") or 0.0) * p.require("weight")
        for m, p in zip(entries["model"], entries["precision"], strict=True)
    ])  # fmt: skip
    memory = np.array([h.get("usable_memory") or h.get("memory_capacity") or 1e11 for h in entries["hardware"]])
    tp = 2.0 ** np.ceil(np.log2(np.maximum(weights / (0.75 * memory), 1.0)))
    tp = np.minimum(tp, gpus)
    return {
        "tp_size": np.where(perf, tp, layout["tp_size"]),
        "pp_size": layout["pp_size"],
        "dp_size": np.where(perf, 1.0, layout["dp_size"]),
        "ep_size": np.where(perf, 1.0, layout["ep_size"]),
        "replicas": np.where(perf, np.maximum(np.floor(gpus / tp), 1.0), layout["replicas"]),
    }


def plan_of(solver: str, entries: pd.DataFrame, columns: dict[str, np.ndarray]) -> Any:
    """A solver's plan over rows that each have their own catalogue entries."""
    cls = SOLVERS[solver]
    plan = {}
    for name, column in declared(cls.Plan, solver).items():
        if column.record is not None:
            plan[name] = gathered(column, entries)
        else:
            plan[name] = columns[name] if name in columns else default_value(column)
    return cls.Plan(**plan)


def columns_of(solver: str, plan: Any) -> dict[str, np.ndarray]:
    """What a solver says of a plan, by column."""
    answer = SOLVERS[solver].columns(plan)
    return {f.name: np.asarray(getattr(answer, f.name)) for f in dataclasses.fields(answer)}


def gathered(column: Any, entries: pd.DataFrame) -> Any:
    """A record with a value for each row; each combination of entries is lowered once."""
    from solvers.lowering import absent, keys_of

    keys = keys_of(column)
    if any(key not in entries for key in keys):
        return absent(column.record)
    row = LOWERINGS[column.record.__name__].row()
    combinations = list(zip(*(entries[key] for key in keys), strict=True))
    place: dict[Any, int] = {}
    code = np.array([place.setdefault(tuple(id(e) for e in c), len(place)) for c in combinations])
    first = {place[tuple(id(e) for e in c)]: c for c in combinations}
    made = [row(*first[i]) for i in range(len(first))]
    return column.record(**{
        f.name: np.array([float(m[f.name]) for m in made])[code] for f in dataclasses.fields(column.record)
    })  # fmt: skip


def served_figures(asked: Prepared, served: dict[str, np.ndarray]) -> np.ndarray:
    """The column that answers for each row's metric, in the metric's unit."""
    rows, entries, columns = asked.rows, asked.entries, asked.columns
    metric = rows["metric"].to_numpy(str)
    full = {k: np.broadcast_to(v, len(rows)) for k, v in served.items()}
    engines = entries["engine"].map(lambda e: e.name)
    local, static = engines.isin(LOCAL).to_numpy(), engines.isin(STATIC).to_numpy()
    gpus = rows["n_gpus"].fillna(1.0).to_numpy(float)
    perf = np.isfinite(columns["request_rate"])
    ranks = columns["tp_size"] * columns["pp_size"] * columns["dp_size"]
    batch_rate = np.where(
        local, 1.0 / full["itl"], columns["batch_size"] * columns["output_tokens"] / full["e2e_latency"]
    )
    output = np.where(local | static, batch_rate, full["effective_throughput"])
    first = np.where(perf, full["ttft_p99"], full["ttft"])
    token = np.where(local, full["itl"], np.where(perf, full["tpot_p99"], full["tpot"]))
    price = np.array(
        [h.get("price_per_hour_on_demand") or h.get("price_per_hour") or np.nan for h in entries["hardware"]]
    )
    per_device = full["running_batch"] / (full["itl"] * ranks)  # decode apart from prefill
    prefill = np.where(local, columns["input_tokens"] / full["prefill_time"], full["prefill_throughput"])
    choices = {
        "tpot_ms": token * 1e3,
        "itl_ms": full["itl"] * 1e3,
        "ttft_ms": first * 1e3,
        "e2e_latency_ms": full["e2e_latency"] * 1e3,
        "output_tok_s": output,
        "tok_s_per_gpu": output / np.maximum(np.where(static, ranks, gpus), 1.0),
        "tokens_per_s_per_gpu": output / gpus,
        "prefill_tok_s": prefill,
        "prefill_tok_s_per_gpu": prefill / np.maximum(columns["replicas"] * ranks, 1.0),
        "prefill_tok_s_per_node": prefill / np.maximum(columns["replicas"] * ranks, 1.0) * 8.0,
        "decode_tok_s_per_node": per_device * 8.0,
        "cost_usd_per_m_output_tokens": price / (per_device * 3600.0) * 1e6,
    }
    return np.select([metric == name for name in choices], list(choices.values()), np.nan)


def interval(metric: pd.Series, entries: pd.DataFrame) -> np.ndarray:
    """Half-width, as a factor, of the interval that held four of five measurements when their family was left out."""
    places: dict[tuple[Any, ...], float] = {}
    factors = []
    for asked in zip(
        metric, entries["engine"], entries["hardware"], entries["precision"], entries["model"], strict=True
    ):
        key = (asked[0], *(entry.name for entry in asked[1:]))
        if key not in places:
            places[key] = interval_of(*asked[:4], experts=bool(asked[4].get("num_experts")))
        factors.append(places[key])
    return np.array(factors)
