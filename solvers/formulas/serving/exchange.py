"""Collectives of a pass as a few times each, so that a message of any size is quickly told.

The same forms and constants as `solvers.formulas.kernels`; what the ranks and the wire settle is worked out once.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from solvers.columns import Byte, BytePerSecond, Count, Ratio, Second
from solvers.formulas.kernels import Kernels


@dataclass(frozen=True)
class Collective:
    """Start, time on the wire for each byte, the ramp between them, and the least time for each byte."""

    start: Second
    byte: Second
    ramp: Second
    least: Second


def collective_time(made: Collective, size: Byte) -> Second:
    """Time of collectives of `size` bytes a rank each (their number is in the times); never below the wire's own."""
    wire = size * made.byte
    return made.start + np.maximum(wire + np.sqrt(wire * made.ramp), size * made.least)


def all_reduces(
    count: Count, ranks: Count, kernels: Kernels, bandwidth: BytePerSecond
) -> tuple[Collective, Collective]:
    """`count` all-reduces by the engine's own kernel, and by the library; the faster is taken. One rank needs none."""
    several = count * (ranks > 1)
    moved = several * 2.0 * (ranks - 1.0) / (ranks * bandwidth)
    crowd = (ranks - 2.0) / ranks
    own_crowding = np.maximum(1.0 + kernels.reduce_crowding * crowd, 0.0)
    crowding = np.maximum(1.0 + kernels.link_crowding * crowd, 0.0)
    least = several / bandwidth
    own = Collective(
        several * (kernels.reduce_overhead + (ranks - 1.0) * kernels.reduce_hop),
        moved / kernels.reduce_fraction * own_crowding, several * kernels.reduce_ramp, least,
    )  # fmt: skip
    library = Collective(
        several * (kernels.collective_overhead + 2.0 * (ranks - 1.0) * kernels.collective_hop),
        moved / kernels.link_fraction * crowding, several * kernels.link_ramp, least,
    )  # fmt: skip
    return own, library


def all_to_alls(count: Count, ranks: Count, copies: Ratio, kernels: Kernels, bandwidth: BytePerSecond) -> Collective:
    """`count` exchanges of `copies` of a message, of which (n-1)/n leave a rank."""
    several = count * (ranks > 1)
    moved = several * copies * (ranks - 1.0) / (ranks * bandwidth)
    crowded = np.maximum(1.0 + kernels.link_crowding * (ranks - 2.0) / ranks, 0.0)
    return Collective(
        several * kernels.alltoall_overhead, moved / kernels.link_fraction * crowded, several * kernels.link_ramp, moved
    )


def hops(count: Count, kernels: Kernels, bandwidth: BytePerSecond) -> Collective:
    """`count` messages, each to the next stage of a pipeline."""
    least = count / bandwidth
    return Collective(
        count * kernels.collective_overhead, least / kernels.link_fraction, count * kernels.link_ramp, least
    )
