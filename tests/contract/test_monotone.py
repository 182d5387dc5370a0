"""More bandwidth, arithmetic or memory, or cheaper power, is never a slower, dearer or less feasible plan."""

from __future__ import annotations

import numpy as np
import pytest

from solvers import SOLVERS
from tests.contract.plans import rows

GENEROUS = {
    "peak_flops": "Device",
    "memory_capacity": "Device",
    "memory_bandwidth": "Device",
    "link_bandwidth": "Device",
    "host_link_bandwidth": "Device",
    "storage_bandwidth": "Device",
    "nic_bandwidth": "Fleet",
}
LOWER_IS_BETTER = (
    "latency",
    "step_latency_total",
    "itl",
    "ttft",
    "tpot",
    "e2e_latency",
    "training_time",
    "total_reasoning_time",
    "slowdown_factor",
    "cost_per_token",
    "cost_per_hour",
    "cost_per_run",
)
HIGHER_IS_BETTER = ("throughput", "effective_throughput", "sample_throughput", "supply_bw", "max_batch_size")
CASES = [(name, record, field) for name in SOLVERS for field, record in GENEROUS.items()]


@pytest.mark.parametrize("name, record, field", CASES)
def test_more_is_never_worse(name: str, record: str, field: str) -> None:
    solver = SOLVERS[name]
    owner = next(
        (n for n, c in solver.wiring().asks.items() if c.record and c.record.__name__ == record and not c.optional),
        None,
    )
    if owner is None:
        return
    bound, columns = rows(solver, 400, seed=11)
    plans, before, _ = bound.trace(columns)
    base = np.broadcast_to(getattr(getattr(plans[name], owner), field), (400,))
    for factor in (1.01, 2.0, 10.0):
        after = bound.run({**columns, field: base * factor})
        lost = np.broadcast_to(before["feasible"], (400,)) & ~np.broadcast_to(after["feasible"], (400,))
        assert not lost.any(), f"{field} x {factor} makes plan {np.argmax(lost)} infeasible"
        fuller = np.broadcast_to(after.get("running_batch", 0.0) > before.get("running_batch", 0.0), (400,))
        for column in LOWER_IS_BETTER:
            if column in before:
                # what runs as many sequences as fit runs more of them in more memory, each at a slower pace
                worse = np.broadcast_to(after[column] > before[column] * (1 + 1e-9), (400,)) & ~fuller
                assert not worse.any(), f"{column} rises with {field} x {factor} in plan {np.argmax(worse)}"
        for column in HIGHER_IS_BETTER:
            if column in before:
                worse = np.broadcast_to(after[column] < before[column] * (1 - 1e-9), (400,))
                assert not worse.any(), f"{column} falls with {field} x {factor} in plan {np.argmax(worse)}"
