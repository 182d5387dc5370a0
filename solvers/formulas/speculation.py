"""Speculative decoding: a cheap drafter guesses ahead, the target checks all guesses in one pass.

A cycle drafts, verifies and keeps what agrees. It pays while reading weights is what a step waits for, and stops
paying once the batch fills the arithmetic: verification multiplies the tokens of a pass, and a pass is additive in
traffic and arithmetic. Leviathan et al. 2023, arXiv:2211.17192; Chen et al. 2023, arXiv:2302.01318.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from solvers.columns import Byte, BytePerSecond, Count, Flag, Ratio, Reasons, Sample, Second, Token, column, where
from solvers.reasons import flag, reason
from solvers.records import Architecture

MOST_DRAFT_TOKENS = 16
"""Longest draft that is counted: beyond it no published system drafts in a chain."""
MANY = 256.0
"""A batch at which speculation is tried again, to see where it stops paying."""
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


def expected_tokens(acceptance_rate: Ratio, miss_growth: Ratio, num_draft_tokens: Token) -> Token:
    """Tokens that a sequence gains a cycle: the accepted drafts, and the one that the target adds.

    `1 + a1 + a1 a2 + a1 a2 a3 + ...` with `1 - a(i+1) = (1 - a(i)) x miss_growth`: misses grow from one position to the
    next, since later guesses rest on guesses. With a growth of 1 this is (1 - a^(g+1)) / (1 - a), and at a = 1 it is
    g + 1 in any case (Leviathan et al., equation 1). Drafts beyond MOST_DRAFT_TOKENS count for nothing.
    """
    tokens, kept, chance = 1.0, 1.0, acceptance_rate
    for position in range(1, MOST_DRAFT_TOKENS + 1):
        kept = kept * chance
        tokens = tokens + kept * (num_draft_tokens >= position)
        chance = np.maximum(1.0 - (1.0 - chance) * miss_growth, 0.0)
    return tokens


def branched_acceptance(acceptance_rate: Ratio, tree_width: Count, sibling_catch: Ratio) -> Ratio:
    """Chance that one of several candidates at a position is accepted: each sibling catches a part of what is missed.

    Trees (SpecInfer, arXiv:2305.09781; Medusa, arXiv:2401.10774; EAGLE-2, arXiv:2406.16858) verify several branches.
    Widths up to 4 count; siblings after the fourth add next to nothing.
    """
    missed = 1.0 - acceptance_rate
    for sibling in range(2, 5):
        missed = missed * where(tree_width >= sibling, 1.0 - sibling_catch, 1.0)
    return 1.0 - missed


@dataclass(frozen=True)
class SpeculationCosts:
    """What speculation adds to the passes themselves, and how acceptance falls; fitted to published speed-ups."""

    miss_growth: Ratio = column("chance that a drafted token is refused over that at the position before")
    additive_share: Ratio = column("part of the verified tokens' arithmetic that does not overlap with reading weights")
    snapshot_passes: Ratio = column("passes over the recurrent state for each drafted token, kept to roll back")
    recurrence_time: Second = column("time of a drafted token in one recurrent layer, which is sequential")
    draft_pass_time: Second = column("host time of a drafting pass")
    cycle_overhead: Second = column("host time of a cycle: sampling, scheduling, rolling back")
    verified_token_time: Second = column("time to accept or refuse one drafted token of one sequence")
    sibling_catch: Ratio = column("part of the misses that a further candidate at a position catches")
    reduced_vocab: Count = column("entries that a drafting layer predicts over (EAGLE-3)")
    model_acceptance: Ratio = column("usual acceptance of a drafting model's tokens")
    eagle_acceptance: Ratio = column("usual acceptance of a drafting layer's tokens (EAGLE-3)")
    mtp_acceptance: Ratio = column("usual acceptance of multi-token prediction")
    medusa_acceptance: Ratio = column("usual acceptance of Medusa's heads")
    ngram_acceptance: Ratio = column("usual acceptance of tokens looked up in the text")


def verification_time(
    pass_time: Second,
    added_arithmetic: Second,
    state_bytes: Byte,
    recurrent_layers: Count,
    batch_size: Sample,
    drafted_tokens: Token,
    memory_bandwidth: BytePerSecond,
    costs: SpeculationCosts,
) -> Second:
    """One pass of the target over the drafts of a whole batch, and what it takes beyond a pass of so many tokens.

    Arithmetic on drafted tokens is (nearly) additive to reading weights, as measured: a pure roofline would promise
    the same gain at every batch. Recurrent layers walk through the drafts one by one and keep their state after each,
    so that rejected drafts can be rolled back.

    Args:
        pass_time: one pass over batch x (drafted + 1) tokens.
        added_arithmetic: time of its matrix products at their achieved rate, less that of a plain step.
        state_bytes: recurrent state of one sequence on one rank.
    """
    kept = costs.snapshot_passes * batch_size * drafted_tokens * state_bytes / memory_bandwidth
    walked = costs.recurrence_time * recurrent_layers * drafted_tokens
    return pass_time + costs.additive_share * added_arithmetic + kept + walked


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
    acceptance_rate: Ratio,
    miss_growth: Ratio,
    plain_step: Second,
    draft_step: Second,
    time_per_drafted_token: Second,
    cycle_overhead: Second,
) -> Token:
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
        chance = np.maximum(1.0 - (1.0 - chance) * miss_growth, 0.0)
        rate = tokens / (plain_step + cycle_overhead + length * (draft_step + time_per_drafted_token))
        better = rate > best_rate
        best, best_rate = where(better, float(length), best), where(better, rate, best_rate)
    return best


def break_even_batch(saved_alone: Second, batch_size: Sample, saved_together: Second, many: Sample = MANY) -> Sample:
    """The batch at which speculation stops paying, on the chord between two batches.

    Both savings are `tokens_per_step x plain step - cycle time`, at `batch_size` (say 1) and at `many`. A step is
    convex in the batch, so the chord errs towards stopping late. 0 where it never pays, ALWAYS where it still does at
    `many`.
    """
    falls = np.maximum(saved_alone - saved_together, 1e-12)
    crossing = batch_size + (many - batch_size) * saved_alone / falls
    return where(saved_alone <= 0.0, 0.0, where(saved_together > 0.0, ALWAYS, crossing))


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
    active = where(target.ffn_hidden > 0, target.ffn_hidden, target.top_k * target.moe_ffn_hidden)
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


@dataclass(frozen=True)
class Speculated:
    """What a drafting model makes of a serving plan's decode step."""

    tokens_per_step: Token = column("tokens that a sequence gains a step (more than 1 with speculation)")
    itl: Second = column("time between two tokens of one sequence, undisturbed by newcomers' prompts")
    speculation_speedup: Ratio = column("time of a token without speculation over that with it (below 1 it is slower)")
    best_draft_tokens: Token = column("tokens to draft a step for the fastest decoding (0: do not speculate)")
    break_even_batch: Sample = column("batch at which speculation stops paying (0: it never pays)")


def speculate(
    step: Callable[[Architecture, Sample, Token], Any],
    target: Architecture,
    draft: Architecture,
    batch_size: Sample,
    num_draft_tokens: Token,
    draft_passes: Count,
    verified_tokens: Token,
    acceptance_rate: Ratio,
    tp_size: Count,
    memory_bandwidth: BytePerSecond,
    costs: SpeculationCosts,
) -> Speculated:
    """Draft with a model or a head, verify with the target, at a batch and where it stops paying.

    Args:
        draft_passes: passes of the drafter a cycle (0 for look-ups in the text).
        verified_tokens: drafts of one sequence to verify: as many as drafted in a chain, all nodes of a tree.
        step: one pass of a model over a batch of sequences with so many new tokens each: an object with its `total`
            time, its `compute` (matrix products at their achieved rate) and its `host_time` (scheduling and sampling,
            contained in `total`).
    """
    tokens = expected_tokens(acceptance_rate, costs.miss_growth, num_draft_tokens)
    state_bytes = target.linear_layers * target.linear_state_bytes / tp_size

    def at(batch: Sample) -> tuple[Second, Second, Second]:
        plain, verify, drafted = (
            step(target, batch, 1.0),
            step(target, batch, verified_tokens + 1.0),
            step(draft, batch, 1.0),
        )
        checked = verification_time(
            verify.total,
            verify.compute - plain.compute,
            state_bytes,
            target.linear_layers,
            batch,
            verified_tokens,
            memory_bandwidth,
            costs,
        )
        return plain.total, checked, drafted.total - drafted.host_time + costs.draft_pass_time

    def whole(batch: Sample, times: tuple[Second, Second, Second]) -> Cycle:
        plain, checked, drafted = times
        return cycle(
            plain,
            checked,
            drafted,
            draft_passes,
            tokens,
            batch,
            verified_tokens + 1.0,
            costs.cycle_overhead,
            costs.verified_token_time,
        )

    here, alone, many = at(batch_size), at(1.0), at(MANY)
    now = whole(batch_size, here)
    saved_alone = tokens * alone[0] - whole(1.0, alone).cycle_time
    saved_together = tokens * many[0] - whole(MANY, many).cycle_time
    each = (here[1] - here[0]) / num_draft_tokens + batch_size * costs.verified_token_time
    best = best_draft_length(
        acceptance_rate,
        costs.miss_growth,
        here[0],
        here[2] * draft_passes / num_draft_tokens,
        each,
        costs.cycle_overhead + batch_size * costs.verified_token_time,
    )
    return Speculated(
        tokens_per_step=tokens,
        itl=now.itl,
        speculation_speedup=now.speedup,
        best_draft_tokens=best,
        break_even_batch=break_even_batch(saved_alone, 1.0, saved_together, MANY),
    )
