"""Prefill and decode on machines of their own (Splitwise, arXiv:2311.18677; DistServe, arXiv:2401.09670), and caches
that are fetched rather than made again.
"""

from __future__ import annotations

import numpy as np

from solvers.columns import Byte, BytePerSecond, Count, Flag, PerSecond, Second, Token, otherwise, where


def prefill_replicas(replicas: Count, asked: Count, prefill_rate: PerSecond, decode_rate: PerSecond) -> Count:
    """How many of the replicas take prompts: as asked, or so that both sides finish equally many requests.

    With p of n replicas on prompts the plan finishes min(p x prefill_rate, (n - p) x decode_rate); the whole numbers
    around the crossing are tried. Both sides keep one replica.
    """
    crossing = replicas * decode_rate / (prefill_rate + decode_rate)
    fewer = np.minimum(np.maximum(np.floor(crossing), 1.0), np.maximum(replicas - 1.0, 1.0))
    more = np.minimum(fewer + 1.0, np.maximum(replicas - 1.0, 1.0))
    better = np.minimum(more * prefill_rate, (replicas - more) * decode_rate) > np.minimum(
        fewer * prefill_rate, (replicas - fewer) * decode_rate
    )
    best = where(better, more, fewer)
    return np.minimum(otherwise(asked, best), np.maximum(replicas - 1.0, 1.0))


def transfer_time(cache_on_rank: Byte, network_bandwidth: BytePerSecond) -> Second:
    """A prompt's cache goes from the prefill to the decode replica, every rank over its own port."""
    return cache_on_rank / network_bandwidth


def passed_tokens(
    prompt: Token, cached: Token, offloaded: Flag, token_time: Second, token_bytes: Byte, bandwidth: BytePerSecond,
) -> tuple[Token, Second]:  # fmt: skip
    """Tokens of a prompt that have to pass, and the time to fetch the rest, of which a prefix of `cached` is stored.

    A cache in the accelerator's own memory costs nothing. One in the host or on disk is fetched where that beats making
    it again (`token_time` a token); else the prompt passes whole.
    """
    fetch = token_bytes / bandwidth
    worth = ~offloaded | (fetch < token_time)
    kept = where(worth, cached, 0.0)
    return np.maximum(prompt - kept, 1.0), kept * where(offloaded, fetch, 0.0)
