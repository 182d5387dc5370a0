"""Small approximations from queueing, in products alone, so that one row and a million give the same bits."""

from __future__ import annotations

import numpy as np

from solvers.columns import Array, Count, Ratio, Second, where

CLOSEST = 0.03
"""The idle share below which waits are stated as at it: nearer to saturation they depend on how long one watches."""


def decay(x: Array) -> Array:
    """exp(-x) for x >= 0, as (1 + x/256)^-256: exact within 0.1 % of 1, and never negative."""
    y = 1.0 + np.minimum(np.maximum(x, 0.0), 600.0) / 256.0
    y = y * y
    y = y * y
    y = y * y
    y = y * y
    y = y * y
    y = y * y
    y = y * y
    return 1.0 / (y * y)


def quantile(mean: Array, variation: Ratio, normal: float) -> Array:
    """The quantile of a positive quantity of a mean and a coefficient of variation.

    Wilson and Hilferty (1931) for a gamma distribution: mean (1 - v2/9 + z v/3)^3; exact within 1 % for an
    exponential (v = 1) from the median to the 99th percentile, never below 0.
    """
    root = np.maximum(1.0 - variation * variation / 9.0 + normal * variation / 3.0, 0.0)
    return mean * root * root * root


def share_within(limit: Array, mean: Array, variation: Ratio) -> Ratio:
    """Share of a positive quantity that stays within a limit: the inverse of `quantile`, the normal as a logistic."""
    spread = np.maximum(variation, 1e-3)
    z = 3.0 * (np.cbrt(limit / np.maximum(mean, 1e-12)) - 1.0 + spread * spread / 9.0) / spread
    odds = decay(1.702 * np.abs(z))
    tail = odds / (1.0 + odds)
    return where(z > 0, 1.0 - tail, tail)


def slot_wait(load: Ratio, slots: Count, service: Second, variation: Ratio) -> Second:
    """Mean wait for one of many slots, Poisson arrivals: Halfin and Whitt (1981) for the chance to wait at all.

    `load` is the share of the capacity in use; at 1 and beyond there is no steady state, and the value is only finite.
    """
    idle = np.maximum(1.0 - load, CLOSEST)
    slack = idle * np.sqrt(slots)
    waits = decay(1.25 * slack + 0.5 * slack * slack)
    return waits * service / (np.maximum(slots, 1.0) * idle) * (1.0 + variation * variation) / 2.0
