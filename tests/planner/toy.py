"""A small real solver that tests can see through: a shop with ovens, and a till that prices its bread."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from solvers.columns import (
    Byte,
    Choice,
    Count,
    Flag,
    Ratio,
    Reasons,
    Sample,
    SamplePerSecond,
    Second,
    Usd,
    column,
    parameter,
)
from solvers.reasons import DOES_NOT_FIT, TP_EXCEEDS_HEADS, flag
from solvers.solver import Solver


@dataclass(frozen=True)
class OvenPlan:
    batch_size: Sample = parameter("loaves baked together", default=1, integer=True, minimum=1)
    ovens: Count = parameter("ovens", integer=True, minimum=1)
    heat: Ratio = parameter("how hot", default=0.5, above=0, maximum=1)
    kind: Choice = parameter("what is baked", default="bread", choices=("bread", "cake", "pie"))
    fan: Flag = parameter("whether a fan blows", default=False)
    setup: Second = parameter("time to begin", default=1.0, minimum=0)
    break_at: Ratio = parameter("heat at which there is no answer", optional=True, above=0)


@dataclass(frozen=True)
class OvenAnswer:
    latency: Second = column("time for a batch")
    throughput: SamplePerSecond = column("loaves a second")
    memory: Byte = column("room that it takes")
    slowest: Choice = column("what takes the time", choices=("setup", "baking"))
    hot: Flag = column("whether it is hot")
    reasons: Reasons = column("why it cannot be")


class OvenModel(Solver):
    """How long ovens take."""

    @staticmethod
    def columns(plan: OvenPlan) -> OvenAnswer:
        baking = (1.0 + plan.kind) * np.sqrt(plan.batch_size) / (plan.heat * (1.0 + 0.5 * plan.fan))
        latency = plan.setup + baking
        broken = np.where(plan.heat >= plan.break_at, np.nan, 1.0)
        memory = plan.batch_size * 2.0**30
        return OvenAnswer(
            latency=latency * broken,
            throughput=plan.ovens * plan.batch_size / latency,
            memory=memory,
            slowest=np.where(plan.setup > baking, 0, 1),
            hot=plan.heat > 0.75,
            reasons=flag(memory > 64 * 2.0**30, DOES_NOT_FIT) | flag(plan.ovens > plan.batch_size, TP_EXCEEDS_HEADS),
        )


@dataclass(frozen=True)
class TillPlan:
    throughput: SamplePerSecond = parameter("loaves a second")
    ovens: Count = parameter("ovens", integer=True, minimum=1)
    heat: Ratio = parameter("how hot", default=0.5, above=0, maximum=1)
    price: Usd = parameter("what an oven costs", default=100.0, minimum=0)


@dataclass(frozen=True)
class TillAnswer:
    cost: Usd = column("what the shop costs")
    cost_each: Usd = column("what a loaf a second costs")
    reasons: Reasons = column("why it cannot be")


class TillModel(Solver):
    """What ovens cost."""

    @staticmethod
    def columns(plan: TillPlan) -> TillAnswer:
        cost = plan.ovens * plan.price * (1.0 + plan.heat)
        return TillAnswer(cost=cost, cost_each=cost / plan.throughput, reasons=np.zeros_like(cost, dtype=np.int64))


MENU = {"OvenModel": OvenModel, "TillModel": TillModel}


def study_data(**changes: Any) -> dict[str, Any]:
    """A study of 5 x 4 x 6 x 3 cells with two objectives."""
    data: dict[str, Any] = {
        "title": "Which ovens?",
        "solvers": ["OvenModel", "TillModel"],
        "fixed": {"setup": "2 s"},
        "space": {
            "batch_size": [1, 4, 16, 64, 128],
            "ovens": {"low": 1, "high": 8, "powers_of": 2},
            "heat": {"low": 0.25, "high": 0.75, "step": 0.1},
            "kind": ["bread", "pie", "cake"],
        },
        "objectives": [{"maximize": "throughput"}, {"minimize": "TillModel.cost"}],
        "search": {"method": "grid", "seed": 3},
    }
    return data | changes
