"""A whole run: how long, how often it is interrupted, how often to save, and what is left of the time.

Young 1974, doi:10.1145/361147.361115; Daly 2006, doi:10.1016/j.future.2004.11.016: the best interval between
checkpoints is sqrt(2 x checkpoint time x mean time between failures), and half an interval is lost at each failure.
Holds while a checkpoint and a restart are short against the time between failures.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from solvers.columns import Count, Ratio, Second, otherwise


@dataclass(frozen=True)
class Interruptions:
    """What failures make of the time."""

    job_mtbf: Second
    checkpoint_interval: Second
    failures_per_day: Count
    busy_fraction: Ratio


DAY = 86400.0


def interruptions(
    accelerators: Count,
    accelerator_mtbf: Second,
    checkpoint_time: Second,
    restart_time: Second,
    checkpoint_interval: Second,
) -> Interruptions:
    """The share of time in which a run makes progress that it keeps."""
    job_mtbf = accelerator_mtbf / accelerators
    best = np.sqrt(2.0 * checkpoint_time * job_mtbf)
    interval = np.maximum(otherwise(checkpoint_interval, best), checkpoint_time)
    lost = checkpoint_time / interval + (0.5 * interval + restart_time) / job_mtbf
    return Interruptions(job_mtbf, interval, DAY / job_mtbf, 1.0 / (1.0 + lost))
