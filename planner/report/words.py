"""Columns and plans as people name them: `tp_size` 4 is TP 4, `effective_throughput` is effective throughput."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from planner.figures import say
from solvers.columns import Column

ACRONYMS = {
    "itl": "ITL", "ttft": "TTFT", "tpot": "TPOT", "mfu": "MFU", "kv": "KV", "tp": "TP", "pp": "PP", "dp": "DP",
    "ep": "EP", "cp": "CP", "zero": "ZeRO", "slo": "SLO", "tco": "TCO", "e2e": "end-to-end",
}  # fmt: skip
_SHORT = {
    "tp_size": "TP {}", "pp_size": "PP {}", "dp_size": "DP {}", "ep_size": "EP {}", "cp_size": "CP {}",
    "zero_stage": "ZeRO-{}", "batch_size": "batch {}", "microbatch_size": "microbatch {}",
    "v_stages": "{} chunks a stage",
    "recompute": "recompute {}", "kv_precision": "KV in {}", "concurrency": "{} clients", "replicas": "{} replicas",
    "seq_len": "context {}", "num_draft_tokens": "{} drafted tokens", "draft_model": "drafted by {}", "terms": "{}",
}  # fmt: skip
"""How a parameter stands in a plan; where nothing stands here, words stand alone and numbers with their name."""


def title(name: str) -> str:
    """A column's name in words."""
    first, *rest = name.removeprefix("n_").split("_")
    if first in ACRONYMS and rest == ["size"]:
        rest = []
    return " ".join(ACRONYMS.get(part, part) for part in (first, *rest))


def headline(text: str) -> str:
    """With a capital, as a heading begins."""
    return text[:1].upper() + text[1:]


def part_of_plan(column: Column | None, name: str, value: Any) -> str:
    """One parameter's value as a part of a plan's name."""
    shown = level(column, value)
    if name in _SHORT:
        return _SHORT[name].format(shown.removesuffix(" tokens").removesuffix(" samples"))
    if isinstance(value, str):
        return shown
    return f"{title(name)} {shown}"


def level(column: Column | None, value: Any) -> str:
    """A parameter's value with its unit."""
    if isinstance(value, str):
        return value
    if isinstance(value, float) and math.isnan(value):
        return "–"
    return say(value.item() if hasattr(value, "item") else value, column.unit if column is not None else "")


def plan_name(parameters: Mapping[str, Any], columns: Mapping[str, Column]) -> str:
    """A plan in a line: `H100-SXM · fp8 · TP 4 · batch 64`."""
    return " · ".join(part_of_plan(columns.get(name), name, value) for name, value in parameters.items())


def share(part: float) -> str:
    """A fraction as whole per cent, with a decimal where that is all there is."""
    if not math.isfinite(part):
        return "–"
    return f"{part:.0%}" if abs(part) >= 0.0995 or part == 0 else f"{part:.1%}"


def code_words(code: str) -> str:
    """A reason's code in words."""
    if code.startswith("constraint:"):
        return f"breaks {code.removeprefix('constraint:')}"
    if code.startswith("no_value:"):
        return f"has no {title(code.removeprefix('no_value:'))}"
    return title(code)
