"""Why a plan is infeasible: one bit, one code, one sentence with figures and remedy for each reason.

A formula marks rows with `flag(condition, DOES_NOT_FIT)` and unites the marks with `|`. A face turns the bits into
sentences, a batch writes the codes, joined by commas.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from solvers.columns import Array


@dataclass(frozen=True)
class Reason:
    """One way in which a plan can be impossible.

    `sentence` is a format string over the names of the plan's columns (dressed with units), so that what is said
    carries the figures; `remedy` says what would do.
    """

    bit: int
    code: str
    sentence: str
    remedy: str


_ALL: list[Reason] = []


def reason(code: str, sentence: str, remedy: str) -> Reason:
    """Register a reason; codes are unique, and at most 62 fit a column."""
    if any(r.code == code for r in _ALL):
        raise ValueError(f"the reason {code!r} exists already")
    if len(_ALL) >= 62:
        raise ValueError("a reasons column holds at most 62 reasons")
    made = Reason(1 << len(_ALL), code, sentence, remedy)
    _ALL.append(made)
    return made


def all_reasons() -> tuple[Reason, ...]:
    """Every registered reason, in bit order."""
    return tuple(_ALL)


def flag(condition: Array, why: Reason) -> Array:
    """The reason's bit where the condition holds, 0 elsewhere (int64, broadcast like the condition)."""
    return np.multiply(condition, np.int64(why.bit))


def codes(bits: int) -> list[str]:
    """The codes in one row's bits."""
    return [r.code for r in _ALL if int(bits) & r.bit]


def sentences(bits: int, figures: Mapping[str, Any]) -> list[str]:
    """What to tell a person: each reason with its figures and its remedy."""
    return [f"{r.sentence.format_map(figures)} {r.remedy.format_map(figures)}" for r in _ALL if int(bits) & r.bit]


DOES_NOT_FIT = reason(
    "does_not_fit",
    "It needs {memory_per_accelerator:.1f~P} on each accelerator, and {memory_capacity:.1f~P} are usable.",
    "Shard it over more accelerators, use fewer bits, or take one with more memory.",
)
PRECISION_UNSUPPORTED = reason(
    "precision_unsupported",
    "The accelerator does not compute in {precision}.",
    "Choose a precision that it has, or quantise the weights alone (such as w4a16).",
)
CONTEXT_EXCEEDED = reason(
    "context_exceeded",
    "The sequence is longer than the {max_context:.0f~P} the model was made for.",
    "Shorten it, or choose a model with a longer context.",
)
TP_EXCEEDS_HEADS = reason(
    "tensor_parallel_exceeds_heads",
    "Tensor parallelism of {tp_size} does not divide the model's {heads} attention heads.",
    "Choose a tp_size that divides the heads.",
)
PP_EXCEEDS_LAYERS = reason(
    "pipeline_exceeds_layers",
    "{pp_size} pipeline stages of {v_stages} chunks each are more than the model's {layers} layers.",
    "Choose pp_size x v_stages at most the number of layers.",
)
EP_EXCEEDS_EXPERTS = reason(
    "expert_parallel_exceeds_experts",
    "Expert parallelism of {ep_size} does not divide the model's {num_experts} experts.",
    "Choose an ep_size that divides the experts; a dense model takes 1.",
)
LAYOUT_EXCEEDS_FLEET = reason(
    "layout_exceeds_fleet",
    "The layout does not divide the fleet of {n_accelerators} accelerators.",
    "Choose tp_size x pp_size x cp_size x dp_size that equals, or divides, the fleet.",
)
BATCH_NOT_DIVISIBLE = reason(
    "batch_not_divisible",
    "A global batch of {batch_size:.0f~P} is not a whole number of microbatches of {microbatch_size:.0f~P} on each of "
    "{data_parallel_ranks} data-parallel ranks.",
    "Choose a batch_size that dp_size x microbatch_size divides.",
)
