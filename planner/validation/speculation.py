"""Published speed-ups of speculative decoding against ours.

A row's acceptance is taken, in this order, from its own accepted length; from its acceptance rate and chain length;
from the accepted length that its method has on the whole benchmark, on the same target and hardware; or from what its
method usually accepts, by kind of text. Nothing is taken from a measured speed-up.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from planner.validation.speculation_rows import DRAFTERS, Rows, read_rows
from solvers.columns import Array
from solvers.formulas.serving.plan import decode_step
from solvers.formulas.serving.step import Layout, Step
from solvers.formulas.speculation import (
    Cycle,
    SpeculationCosts,
    branched_acceptance,
    cycle,
    draft_head,
    expected_tokens,
    verification_time,
)
from solvers.lowering.constants import constants
from solvers.lowering.speculation import COSTS

NORMAL_80 = 1.2816
"""Standard deviations on either side of the mean that hold 80 % of a normal distribution."""
CONTEXT = 512.0
"""Tokens of context at which short benchmark questions are decoded on average."""
CACHE_BYTES = 2.0
COPYING = ("n_gram", "samd")
"""Methods whose drafts are copied from the text so far."""
TREE = 20
"""Nodes beyond which drafts without a chain length are a tree."""


def predict(frame: pd.DataFrame, catalog: Any) -> pd.DataFrame:
    """One prediction of the speed-up a row; `reason` says why a row was refused."""
    rows = read_rows(frame, catalog)
    figures = {name: c.value for name, c in constants("speculation").items()}
    tokens = accepted_tokens(frame, rows, figures)
    predicted = cycles(rows, passes(rows, figures), tokens, figures).speedup
    usable = rows.refusal == ""
    spread = np.exp(NORMAL_80 * figures["speedup_error"])
    return pd.DataFrame(
        {
            "id": frame["id"].to_numpy(object),
            "family": frame["method"].to_numpy(object),
            "metric": "speedup",
            "measured": frame["speedup"].to_numpy(float),
            "predicted": np.where(usable, predicted, np.nan),
            "low": np.where(usable, predicted / spread, np.nan),
            "high": np.where(usable, predicted * spread, np.nan),
            "reason": rows.refusal,
            "feasible": True,
        }
    )


@dataclasses.dataclass(frozen=True)
class Pass:
    """One pass of a model: its kernels' own time, and how many kernels are launched."""

    kernels: Array
    launches: Array
    arithmetic: Array

    def time(self, kernel_time: Array, step_time: Array) -> Array:
        """The pass with what the host adds to each launch and each step."""
        return self.kernels + self.launches * kernel_time + step_time


@dataclasses.dataclass(frozen=True)
class Passes:
    """Every pass that a row's cycle may need."""

    plain: Pass
    verify: Pass
    model: Pass
    layer: Pass
    heads: Pass
    block: Pass


def passes(rows: Rows, figures: Mapping[str, float]) -> Passes:
    """The passes of each row, timed by the very step that serving takes."""
    layout = Layout(rows.tp_size, 1.0, 1.0, 1.0)
    kernel_time = 1e-6
    engine = dataclasses.replace(rows.engine, kernel_time=kernel_time, step_time=0.0, sequence_time=0.0)

    def step(model: Any, queries: Array) -> tuple[Pass, Step]:
        made = decode_step(
            model, layout, rows.batch, queries, CONTEXT, CACHE_BYTES, False, rows.device, rows.kernels, engine
        )
        return Pass(made.total - made.overhead, made.overhead / kernel_time, made.compute), made

    small = np.where(rows.method == "eagle_3", figures["eagle_3_vocab"], rows.target.vocab)
    head = draft_head(rows.target, np.minimum(small, rows.target.vocab), rows.method == "mtp")
    deep = figures["block_layers"]
    block = dataclasses.replace(
        head,
        attention_layers=deep * head.attention_layers,
        mlp_layers=deep * head.mlp_layers,
        moe_layers=deep * head.moe_layers,
    )
    layer, parts = step(head, 1.0)
    return Passes(
        plain=step(rows.target, 1.0)[0],
        verify=step(rows.target, rows.verified + 1.0)[0],
        model=step(rows.draft, 1.0)[0],
        layer=layer,
        heads=Pass(figures["parallel_heads"] * parts.head, figures["parallel_heads"], 0.0),
        block=step(block, rows.verified)[0],
    )


def cycles(rows: Rows, steps: Passes, tokens: Array, figures: Mapping[str, float]) -> Cycle:
    """One round of each row, run in eager PyTorch, by a serving engine, or by code compiled for one sequence."""

    served = rows.is_served & ~rows.is_eager

    def by_way(quantity: str, of_engine: Array = np.nan) -> np.ndarray:
        own = figures.get(f"served_{quantity}", of_engine)
        return np.where(
            rows.is_eager, figures[f"eager_{quantity}"], np.where(served, own, figures[f"compiled_{quantity}"])
        )

    launch = by_way("kernel_time", rows.engine.kernel_time)
    host = by_way("step_time", rows.engine.step_time + rows.engine.sequence_time * rows.batch)
    drafting = by_way("draft_time")
    draft_step = np.select(
        [rows.drafter == DRAFTERS.index(name) for name in ("model", "layer", "heads", "block")],
        [part.time(launch, drafting) for part in (steps.model, steps.layer, steps.heads, steps.block)],
        0.0,
    )
    return cycle(
        plain_step=steps.plain.time(launch, host) + np.where(rows.is_eager, figures["eager_loop_time"], 0.0),
        verify_step=verification_time(
            steps.verify.time(launch, host),
            steps.verify.arithmetic - steps.plain.arithmetic,
            rows.target.linear_layers * rows.target.linear_state_bytes / rows.tp_size,
            rows.target.linear_layers,
            rows.batch,
            rows.verified,
            rows.device.memory_bandwidth,
            costs_of(figures),
        ),
        draft_step=draft_step,
        draft_passes=rows.passes,
        tokens_per_step=tokens,
        batch_size=rows.batch,
        verified_tokens=rows.verified + 1.0,
        cycle_overhead=by_way("cycle_time"),
        verified_token_time=by_way("verified_token_time"),
    )


def costs_of(figures: Mapping[str, float]) -> SpeculationCosts:
    """The constants of verification, as serving has them."""
    return SpeculationCosts(**{field: figures[quantity] for field, quantity in COSTS.items()})


def accepted_tokens(frame: pd.DataFrame, rows: Rows, figures: Mapping[str, float]) -> np.ndarray:
    """Tokens that a sequence gains a cycle, from what the row says, or from what is usual."""
    own = frame["accepted_len_tau"].to_numpy(float)
    rate = frame["acceptance_rate_alpha"].to_numpy(float)
    by_rate = expected_tokens(rate, 1.0, rows.drafted)
    usual = usual_tokens(rows, figures, _of_benchmark(frame, own))
    return np.where(np.isfinite(own), own, np.where(np.isfinite(by_rate), by_rate, usual))


def usual_tokens(rows: Rows, figures: Mapping[str, float], overall: np.ndarray) -> np.ndarray:
    """Tokens that a method usually gains a cycle on a kind of text, or on the whole benchmark where that is known.

    Methods that copy from the prompt gain where the answer repeats it, and those that write do where text is easy.
    """
    rate = np.array([figures[f"acceptance_{m}"] for m in rows.method])
    tree = ~rows.is_chain & (rows.verified > TREE)
    branched = branched_acceptance(rate, np.where(tree, figures["tree_width"], 1.0), figures["sibling_catch"])
    gained = expected_tokens(branched, figures["miss_growth"], rows.drafted)
    kind = np.where(np.isin(rows.method, COPYING), "copied", "written")
    ease = np.array([figures[f"ease_{k}_{w}"] for k, w in zip(kind, rows.workload, strict=True)])
    eased = 1.0 + (np.where(np.isfinite(overall), overall, gained) - 1.0) * ease
    return np.minimum(eased, rows.drafted + 1.0)


def _of_benchmark(frame: pd.DataFrame, own: np.ndarray) -> np.ndarray:
    """The accepted length printed for the whole benchmark, on the same target, method and hardware."""
    keys = ["target", "method", "hardware", "engine"]
    whole = frame["workload"].fillna("").astype(str).str.contains("overall|average|mean", case=False)
    table = frame.assign(_own=np.where(whole, own, np.nan))[[*keys, "_own"]]
    return table.groupby(keys, dropna=False)["_own"].transform("mean").to_numpy(float)
