"""Speculative decoding: a cheap drafter guesses ahead, the target checks all guesses in one pass.

A cycle drafts, verifies and keeps what agrees. It pays while reading weights is what a step waits for, and stops
paying once the batch fills the arithmetic: verification multiplies the tokens of a pass, and a pass is additive in
traffic and arithmetic. Leviathan et al. 2023, arXiv:2211.17192; Chen et al. 2023, arXiv:2302.01318.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from solvers.columns import Count, Flag, Ratio, Reasons, Sample, Second, Token, column
from solvers.reasons import flag, reason
from solvers.records import Architecture

MOST_DRAFT_TOKENS = 16
"""Longest draft that is counted: beyond it no published system drafts in a chain."""
ALWAYS = 1e9
"""A batch that no replica reaches: up to it, speculation always pays."""

VOCABULARY_MISMATCH = reason(
    "vocabulary_mismatch",
    "The drafting model {draft_model} has another vocabulary than {model}, so its tokens cannot be checked.",
    "Draft with a model of the same family, or with a head trained on the target.",
)
DRAFT_CONTEXT_EXCEEDED = reason(
    "draft_context_exceeded",
    "The sequence is longer than the drafting model was made for.",
    "Choose a draft with a longer context, or shorten the sequence.",
)


def draft_reasons(target: Architecture, draft: Architecture, context: Token) -> Reasons:
    """Why the one cannot draft for the other: another vocabulary, or too short a context. NaN drafts raise nothing."""
    return flag(draft.tokenizer != target.tokenizer, VOCABULARY_MISMATCH) * ~np.isnan(draft.tokenizer) | flag(
        context > draft.max_context, DRAFT_CONTEXT_EXCEEDED
    )


def expected_tokens(acceptance_rate: Ratio, acceptance_decay: Ratio, num_draft_tokens: Token) -> Token:
    """Tokens that a sequence gains a cycle: the accepted drafts, and the one that the target adds.

    `1 + a + a (a d) + a (a d) (a d^2) + ...`: the chance that a draft is accepted falls by `acceptance_decay` from one
    position to the next, since later guesses rest on guesses. With d = 1 this is (1 - a^(g+1)) / (1 - a), and g + 1 at
    a = 1 (Leviathan et al., equation 1). Drafts beyond MOST_DRAFT_TOKENS count for nothing.
    """
    tokens, kept, chance = 1.0, 1.0, acceptance_rate
    for position in range(1, MOST_DRAFT_TOKENS + 1):
        kept = kept * chance
        tokens = tokens + kept * (num_draft_tokens >= position)
        chance = chance * acceptance_decay
    return tokens


def branched_acceptance(acceptance_rate: Ratio, tree_width: Count, sibling_catch: Ratio) -> Ratio:
    """Chance that one of several candidates at a position is accepted: each sibling catches a part of what is missed.

    Trees (SpecInfer, arXiv:2305.09781; Medusa, arXiv:2401.10774; EAGLE-2, arXiv:2406.16858) verify several branches.
    Widths up to 4 count; siblings after the fourth add next to nothing.
    """
    missed = 1.0 - acceptance_rate
    for sibling in range(2, 5):
        missed = missed * np.where(tree_width >= sibling, 1.0 - sibling_catch, 1.0)
    return 1.0 - missed


@dataclass(frozen=True)
class Cycle:
    """One round of drafting and verifying."""

    tokens_per_step: Token = column("tokens that a sequence gains a cycle")
    cycle_time: Second = column("one round: drafting, verifying, accepting")
    itl: Second = column("time between two tokens of one sequence")
    speedup: Ratio = column("time of plain decoding over that of speculation (below 1 it is slower)")


def cycle(
    plain_step: Second,
    verify_step: Second,
    draft_step: Second,
    draft_passes: Count,
    tokens_per_step: Token,
    batch_size: Sample,
    verified_tokens: Token,
    cycle_overhead: Second,
    verified_token_time: Second,
) -> Cycle:
    """Plain decoding against rounds of `draft_passes` drafts and one verification.

    Args:
        plain_step: one decode step of the target at this batch.
        verify_step: one pass of the target over batch x `verified_tokens` tokens, each sequence's cache read once.
        draft_step: one pass of the drafter at this batch (0 for look-ups in the text).
        draft_passes: passes a cycle: as many as drafted tokens in a chain, the depth of a tree, 1 where all are guessed
            at once, 0 for look-ups.
        verified_tokens: of one sequence: drafted tokens (all nodes of a tree) and one more.
        cycle_overhead: host time of a cycle: building drafts, sampling, rolling the cache back.
        verified_token_time: host and kernel time of accepting, for each verified token of each sequence.
    """
    round_time = (
        draft_passes * draft_step + verify_step + cycle_overhead + batch_size * verified_tokens * verified_token_time
    )
    itl = round_time / tokens_per_step
    return Cycle(tokens_per_step, round_time, itl, plain_step / itl)


def best_draft_length(
    acceptance_rate: Ratio, acceptance_decay: Ratio, plain_step: Second, draft_step: Second, time_per_drafted_token: Second,
    cycle_overhead: Second,
) -> Token:  # fmt: skip
    """The number of drafted tokens that decodes fastest, by trying each; 0 where drafting does not pay.

    Args:
        time_per_drafted_token: what one more token to verify adds to a cycle: (verify_step - plain_step) over drafted
            tokens, and the host's share.
    """
    best, best_rate = 0.0 * acceptance_rate, 1.0 / plain_step
    tokens, kept, chance = 1.0, 1.0, acceptance_rate
    for length in range(1, MOST_DRAFT_TOKENS + 1):
        kept = kept * chance
        tokens = tokens + kept
        chance = chance * acceptance_decay
        rate = tokens / (plain_step + cycle_overhead + length * (draft_step + time_per_drafted_token))
        better = rate > best_rate
        best, best_rate = np.where(better, float(length), best), np.where(better, rate, best_rate)
    return best


def break_even_batch(saved_alone: Second, batch_size: Sample, saved_together: Second, many: Sample = 512.0) -> Sample:
    """The batch at which speculation stops paying, on the chord between two batches.

    Both savings are `tokens_per_step x plain step - cycle time`, at `batch_size` (say 1) and at `many`. A step is convex
    in the batch, so the chord errs towards stopping late. 0 where it never pays, ALWAYS where it still does at `many`.
    """
    falls = np.maximum(saved_alone - saved_together, 1e-12)
    crossing = batch_size + (many - batch_size) * saved_alone / falls
    return np.where(saved_alone <= 0.0, 0.0, np.where(saved_together > 0.0, ALWAYS, crossing))


def draft_head(target: Architecture, head_vocab: Count, experts: Flag) -> Architecture:
    """The shape of a drafting head that rests on the target's features: one of its layers, and a vocabulary head.

    EAGLE (arXiv:2401.15077) and multi-token prediction (DeepSeek-V3, arXiv:2412.19437, section 2.2) run one decoder
    layer a drafted token; EAGLE-3 (arXiv:2503.01840) predicts over a reduced vocabulary.

    Args:
        head_vocab: entries that the head predicts over; the target's own where it shares the head.
        experts: the layer keeps the target's routed experts (multi-token prediction), instead of a dense MLP of the
            width that one token uses.
    """
    routed = experts * (target.moe_layers > 0)
    active = np.where(target.ffn_hidden > 0, target.ffn_hidden, target.top_k * target.moe_ffn_hidden)
    return replace(
        target,
        layers=1.0 + 0.0 * target.layers,
        attention_layers=1.0 + 0.0 * target.layers,
        encoder_layers=0.0 * target.layers,
        sliding_layers=0.0 * target.layers,
        linear_layers=0.0 * target.layers,
        mlp_layers=1.0 - routed,
        moe_layers=1.0 * routed,
        ffn_hidden=active,
        vocab=head_vocab,
        params_total=0.0 * target.params_total,
    )
