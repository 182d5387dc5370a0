"""How long collectives take: bytes over the slowest wire, plus a latency for every hop.

A group is `size` ranks of which `inside` share one link domain (NVLink, ICI, Infinity Fabric, PCIe); the rest is
reached over the network. NCCL runs one ring through each of a node's ports, so a ring that has several of its ranks in
a node drives as many ports: eight data-parallel ranks in a node use eight ports, and tensor parallelism of eight leaves
one port to each data-parallel ring.

Messages are the whole tensor, not a rank's shard of it. Valid for ring and pairwise algorithms; in-network reduction
(SHARP) is not modelled. Thakur et al. 2005, doi:10.1177/1094342005051521; Chan et al. 2007, doi:10.1002/cpe.1206.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from solvers.columns import Byte, BytePerSecond, Count, Ratio, Second, where


@dataclass(frozen=True)
class Wires:
    """What a rank can send, and what each hop costs."""

    link_bandwidth: BytePerSecond
    link_latency: Second
    network_bandwidth: BytePerSecond
    network_latency: Second
    start: Second


def ranks_inside(size: Count, stride: Count, domain: Count) -> Count:
    """How many ranks of a group share a link domain, when neighbours in the group are `stride` accelerators apart."""
    return np.clip(np.floor(domain / stride), 1.0, size)


@dataclass(frozen=True)
class Ring:
    """A group that passes messages around: the share of a message that each rank sends, how fast, and the start."""

    share: Ratio
    bandwidth: BytePerSecond
    latency: Second

    def all_gather_time(self, message: Byte) -> Second:
        """An all-gather, or a reduce-scatter: every rank sends (n-1)/n of the message. An all-reduce is both."""
        return self.share * message / self.bandwidth + self.latency


def ring(size: Count, inside: Count, wires: Wires) -> Ring:
    """The ring of a group; inside a link domain the link bounds it, across domains the ports of its ranks in one."""
    nodes = size / inside
    network = np.minimum(wires.link_bandwidth, inside * wires.network_bandwidth)
    bandwidth = where(nodes > 1.0, network, wires.link_bandwidth)
    hops = (nodes - 1.0) * wires.network_latency + (size - nodes) * wires.link_latency
    latency = where(size > 1.0, wires.start + hops, 0.0)
    return Ring((size - 1.0) / size, bandwidth, latency)


def all_to_all_time(message: Byte, size: Count, inside: Count, remote_copies: Count, wires: Wires) -> Second:
    """Every rank sends its own message: a part to each other rank.

    Args:
        message: bytes that one rank holds to be sent (all copies of all its tokens).
        remote_copies: share of that message which crosses the network. Sending every copy separately it is
            (n - inside) / n; sending a token once to each node that wants it, it is less.
    """
    local = message * (inside - 1.0) / size / wires.link_bandwidth
    remote = message * remote_copies / wires.network_bandwidth
    hop = where(size > inside, wires.network_latency, wires.link_latency)
    return wires.start + np.maximum(local, remote) + np.log2(size) * hop


def neighbour_time(message: Byte, crosses: Count, wires: Wires) -> Second:
    """One rank sends to the next: over the network where the hop `crosses` from one link domain to another."""
    over_link = message / wires.link_bandwidth + wires.start
    over_network = message / wires.network_bandwidth + wires.start + wires.network_latency
    return where(crosses, np.maximum(over_link, over_network), over_link)
