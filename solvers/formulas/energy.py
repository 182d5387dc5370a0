"""Power and energy of accelerators at work, from how busy they are and with what.

An accelerator that holds a job but waits (for other ranks, for the host, for requests) draws `waiting_power` of its
design power. While kernels run it draws more, and the more arithmetic and memory traffic they do the closer it comes
to its limit, where it stays: hence a saturating response. Host, network, cooling and grid are in
`solvers.formulas.cost`. Fitted by `benchmarks/fit_power.py` to the ML.ENERGY leaderboard v3 (Chung et al. 2025,
arXiv:2505.06371); forms and errors are in `docs/kernels.md`.
"""

from __future__ import annotations

import numpy as np

from solvers.columns import Array, Byte, BytePerSecond, Count, Flop, FlopPerSecond, Joule, Ratio, Second, Watt


def accelerator_power(
    tdp: Watt, busy: Ratio, compute_utilisation: Ratio, memory_utilisation: Ratio, waiting_power: Ratio,
    resident_response: Ratio, compute_response: Ratio, memory_response: Ratio,
) -> Watt:  # fmt: skip
    """Mean power of one accelerator over a time of which kernels run for the part `busy`.

    Args:
        tdp: design power, which is also the limit.
        busy: part of the time in which kernels run (not waiting for peers, host or requests).
        compute_utilisation: arithmetic over the peak of its precision, while busy.
        memory_utilisation: memory traffic over the peak bandwidth, while busy.
        waiting_power: share of the design power drawn while waiting, clocks up.
        resident_response: response to kernels being there at all.
        compute_response: response to arithmetic.
        memory_response: response to memory traffic.
    """
    response = resident_response + compute_response * compute_utilisation + memory_response * memory_utilisation
    drive = 1.0 - np.exp(-response)
    return tdp * (waiting_power + (1.0 - waiting_power) * busy * drive)


def utilisation(done: Array, duration: Second, peak: Array) -> Ratio:
    """Work (or bytes) done in a time over what the peak would do; at most 1, and 0 where nothing was done."""
    return np.minimum(done / np.maximum(duration * peak, 1e-300), 1.0)


def step_power(
    tdp: Watt, work: Flop, traffic: Byte, busy_time: Second, duration: Second,
    peak_flops: FlopPerSecond, memory_bandwidth: BytePerSecond, waiting_power: Ratio,
    resident_response: Ratio, compute_response: Ratio, memory_response: Ratio,
) -> Watt:  # fmt: skip
    """Mean power of one accelerator over a step of `duration`, in which its kernels take `busy_time`."""
    return accelerator_power(
        tdp, utilisation(busy_time, duration, 1.0), utilisation(work, busy_time, peak_flops),
        utilisation(traffic, busy_time, memory_bandwidth), waiting_power,
        resident_response, compute_response, memory_response,
    )  # fmt: skip


def energy_per_unit(power: Watt, n_accelerators: Count, throughput: Array) -> Joule:
    """Joules for one unit of work (token, request, image) when all accelerators together do `throughput` a second.

    It falls 5 to 20 times from batch 1 to full batches, so it means nothing without its batch.
    """
    return power * n_accelerators / throughput
