"""Collectives: bytes over the slowest wire, and what no bandwidth removes."""

import numpy as np
import pytest

from solvers.formulas.collectives import Wires, all_to_all_time, neighbour_time, ranks_inside, ring

WIRES = Wires(link_bandwidth=400e9, link_latency=1e-6, network_bandwidth=50e9, network_latency=5e-6, start=1e-5)
GB = 1e9


def test_an_all_gather_inside_a_node_moves_its_share_over_the_link():
    took = ring(8.0, 8.0, WIRES).all_gather_time(GB)
    assert took == pytest.approx(7 / 8 * GB / 400e9 + 7e-6 + 1e-5)


def test_across_nodes_the_ports_of_a_nodes_ranks_add_up():
    alone = ring(64.0, 1.0, WIRES).all_gather_time(GB)
    together = ring(64.0, 8.0, WIRES).all_gather_time(GB)
    assert alone > 7 * together


def test_one_rank_sends_nothing():
    assert ring(1.0, 1.0, WIRES).all_gather_time(GB) == 0.0


@pytest.mark.parametrize("size", [2.0, 8.0, 64.0, 1024.0])
def test_small_messages_are_bound_by_latency(size):
    group = ring(size, min(size, 8.0), WIRES)
    assert group.all_gather_time(1.0) == pytest.approx(group.latency, rel=1e-3)


def test_tensor_parallel_neighbours_fill_a_node_before_data_parallel_ones():
    assert ranks_inside(16.0, 8.0, 8.0) == 1.0
    assert ranks_inside(16.0, 2.0, 8.0) == 4.0
    assert ranks_inside(4.0, 1.0, 72.0) == 4.0


def test_sending_a_token_once_to_each_node_is_cheaper_than_every_copy():
    every = all_to_all_time(GB, 64.0, 8.0, 56 / 64, WIRES)
    once = all_to_all_time(GB, 64.0, 8.0, 0.5 * 56 / 64, WIRES)
    assert once < every


def test_a_hop_between_nodes_costs_the_network():
    assert neighbour_time(GB, np.array([1.0]), WIRES) > neighbour_time(GB, np.array([0.0]), WIRES)
