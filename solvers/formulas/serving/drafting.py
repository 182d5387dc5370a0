"""Who drafts in a serving plan, what that takes of memory, and what it makes of a decode step."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from solvers.columns import Byte, Count, Flag, Ratio, Reasons, Sample, Token, given, otherwise, where
from solvers.formulas.serving.constants import Engine
from solvers.formulas.serving.memory import Ledger, cache_on_rank, weights_on_rank
from solvers.formulas.serving.step import Layout, Step
from solvers.formulas.speculation import Speculated, branched_acceptance, draft_head, draft_reasons, speculate
from solvers.records import Architecture, Device

DRAFT_METHODS = ("model", "off", "eagle", "mtp", "medusa", "ngram")
"""A drafting model, where one is named; nothing; one layer on the target's features (EAGLE-3), or with the target's
experts (multi-token prediction); heads that guess all tokens in one pass (Medusa); a look-up in the text."""
MODEL, OFF, EAGLE, MTP, MEDUSA, NGRAM = range(6)


@dataclass(frozen=True)
class Drafting:
    """Who drafts, and how much is drafted and verified a cycle."""

    drafter: Architecture
    drafts: Flag
    by_model: Flag
    passes: Count
    verified: Token
    acceptance: Ratio


def drafts_at_all(plan: Any, no_model: bool) -> bool:
    """False where no plan of a batch drafts, so that nothing about drafting needs to be worked out."""
    return not no_model or bool(np.any(plan.draft_method > OFF))


def drafting_of(plan: Any) -> Drafting:
    """The drafter's shape, its passes, and the drafts to verify, by method; a tree verifies every branch."""
    method, costs, length = plan.draft_method, plan.speculation, plan.num_draft_tokens
    by_model = (method == MODEL) & given(plan.draft.hidden)
    vocab = where(method == EAGLE, np.minimum(costs.reduced_vocab, plan.model.vocab), plan.model.vocab)
    head = draft_head(plan.model, vocab * where(method == MEDUSA, length, 1.0), method == MTP)
    usual = where(method == EAGLE, costs.eagle_acceptance, costs.model_acceptance)
    usual = where(method == MTP, costs.mtp_acceptance, usual)
    usual = where(method == MEDUSA, costs.medusa_acceptance, usual)
    usual = where(method == NGRAM, costs.ngram_acceptance, usual)
    chosen = otherwise(plan.draft_acceptance_rate, usual)
    names = [f.name for f in dataclasses.fields(Architecture)]
    return Drafting(
        drafter=Architecture(**{n: where(by_model, getattr(plan.draft, n), getattr(head, n)) for n in names}),
        drafts=by_model | (method > OFF),
        by_model=by_model,
        passes=where(method == MEDUSA, 1.0, where(method == NGRAM, 0.0, length)),
        verified=length * plan.draft_tree_width,
        acceptance=branched_acceptance(chosen, plan.draft_tree_width, costs.sibling_catch),
    )


def with_draft(
    book: Ledger,
    sequence_bytes: Byte,
    drafting: Drafting,
    layout: Layout,
    held: Token,
    kv_bytes: Byte,
    device: Device,
    engine: Engine,
) -> tuple[Ledger, Byte]:
    """The ledger with the drafter's weights and cache."""
    stored = drafting.drafts & (drafting.passes > 0.0)
    weights = where(stored, weights_on_rank(drafting.drafter, layout, device, engine), 0.0)
    cache = where(stored, cache_on_rank(drafting.drafter, layout, 1.0, held, kv_bytes), 0.0)
    pool = book.pool - engine.pool_share * weights
    return dataclasses.replace(book, weights=book.weights + weights, pool=pool), sequence_bytes + cache


def speculated(
    plan: Any,
    drafting: Drafting,
    running: Sample,
    plain: Step,
    passing: Callable[[Architecture, Sample, Token], Step],
    tp_size: Count,
    device: Device,
) -> Speculated:
    """What drafting makes of a decode step; plain decoding where a plan does not draft.

    Args:
        plain: the decode step of the running batch.
        passing: one pass of a model over a batch with so many new tokens a sequence.
    """
    made = speculate(
        passing, plan.model, drafting.drafter, running, plan.num_draft_tokens, drafting.passes, drafting.verified,
        drafting.acceptance, tp_size, device.memory_bandwidth, plan.speculation,
    )  # fmt: skip
    without = Speculated(1.0, plain.total, 1.0, 0.0, 0.0)
    names = [f.name for f in dataclasses.fields(Speculated)]
    return Speculated(**{n: where(drafting.drafts, getattr(made, n), getattr(without, n)) for n in names})


def drafting_reasons(plan: Any, drafting: Drafting, context: Token) -> Reasons:
    """Why a named model cannot draft; heads and look-ups share the target's vocabulary and context."""
    return draft_reasons(plan.model, plan.draft, context) * drafting.by_model
