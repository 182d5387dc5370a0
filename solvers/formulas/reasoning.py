"""Test-time compute: long chains of thought, several samples, and what they are worth.

A chain of thought decodes over a context that grows with every token, so that its time is an integral. Several samples
share the prompt, run together and end with the longest. Their worth is the chance that one of them is right, which
problems of unequal difficulty make grow slowly; and choosing the right one loses part of it.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from solvers.columns import Count, Ratio, Second, Token, where
from solvers.reasons import reason

NOT_A_DECODER = reason(
    "not_a_decoder",
    "{model} does not write text a token at a time, so it cannot think longer.",
    "Choose a model that counts tokens.",
)

_NODE = 0.28867513459481287
"""Distance of the two nodes of Gauss and Legendre from the middle of a unit interval: 1 / (2 sqrt 3)."""


def decoding_times(
    step_at: Callable[[Token], Second], start: Token, generated: Token, longest: Token
) -> tuple[Second, Second]:
    """Times to decode `generated` and `longest` tokens one after another from a context of `start`.

    Each is the integral of the step time over its contexts. For the mean length two points (Gauss and Legendre) are
    exact for step times up to cubic in the context; the longest is read off the line through the same two points, since
    attention is linear in the context (beyond a sliding window it is less).
    """
    early = step_at(start + generated * (0.5 - _NODE))
    late = step_at(start + generated * (0.5 + _NODE))
    middle = 0.5 * (early + late)
    beyond = (longest - generated) / (4.0 * _NODE * generated)
    return generated * middle, longest * (middle + beyond * (late - early))


def longest_of(n_samples: Count, length_variation: Ratio) -> Ratio:
    """Expected length of the longest of several samples over the mean length; 1 for one sample.

    Lengths are log-normal with the coefficient of variation given. The expected largest of N normal values,
    ln N sqrt(2 / (ln N + 2.17)), and its variance, 1 / (1 + 0.72 ln N), are within 3 % of the tables (Harter 1961,
    doi:10.1093/biomet/48.1-2.151) from 1 to 1,000.
    """
    spread = np.log1p(length_variation * length_variation)
    log_count = np.log(np.maximum(n_samples, 1.0))
    largest = log_count * np.sqrt(2.0 / (log_count + 2.17))
    variance = 1.0 / (1.0 + 0.72 * log_count)
    return np.exp(np.sqrt(spread) * largest + spread * (variance - 1.0) / 2.0)


def coverage(pass_rate: Ratio, difficulty_spread: Ratio, n_samples: Count) -> Ratio:
    """Part of the problems that at least one of N samples solves: the mean over problems of 1 - (1 - p)^N.

    Pass rates p of single problems follow a beta distribution with mean `pass_rate` and first shape
    `difficulty_spread`, so that coverage is 1 - B(a, b + N) / B(a, b). Equal p for all problems would promise nearly
    100 % where 250 samples solved 56 % (Brown et al. 2024, arXiv:2407.21787; the beta form: Levi 2024,
    arXiv:2410.16377).
    """
    mean = np.minimum(np.maximum(pass_rate, 1e-9), 1.0 - 1e-9)
    second = difficulty_spread * (1.0 - mean) / mean
    missed = np.exp(_log_gamma_step(second + n_samples, difficulty_spread) - _log_gamma_step(second, difficulty_spread))
    return 1.0 - np.minimum(missed, 1.0)


def _log_gamma_step(x: Ratio, step: Ratio) -> Ratio:
    """ln Gamma(x) - ln Gamma(x + step)."""
    return _log_gamma(x) - _log_gamma(x + step)


def _log_gamma(x: Ratio) -> Ratio:
    """ln Gamma(x) for x > 0 by Stirling's series above 8, to 1e-12; numpy has none, and scipy is slow to import."""
    shifted = x * (x + 1) * (x + 2) * (x + 3) * (x + 4) * (x + 5) * (x + 6) * (x + 7)
    y = x + 8.0
    inverse = 1.0 / y
    square = inverse * inverse
    series = inverse * (1.0 / 12.0 - square * (1.0 / 360.0 - square * (1.0 / 1260.0 - square / 1680.0)))
    half_log_two_pi = 0.9189385332046727
    large = (y - 0.5) * np.log(y) - y + half_log_two_pi + series
    # where the product would overflow, x is so large that the series needs no shift
    return where(x > 1e30, (x - 0.5) * np.log(x) - x + half_log_two_pi, large - np.log(np.minimum(shifted, 1e300)))


def chosen_accuracy(pass_rate: Ratio, covered: Ratio, selection_efficiency: Ratio) -> Ratio:
    """Part of the questions answered rightly once one sample is chosen.

    Unit tests or proofs choose perfectly (efficiency 1); a majority vote or a reward model keeps little of what
    coverage gains over one sample (about 0.2 on MATH beyond 100 samples: Brown et al. 2024, section 4.2).
    """
    return pass_rate + selection_efficiency * (covered - pass_rate)
