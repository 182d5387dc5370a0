"""Power stays between waiting and the limit, rises with use, and comes near published figures."""

import numpy as np
import pytest

from solvers.formulas.energy import accelerator_power, energy_per_unit, step_power, utilisation
from solvers.lowering.constants import constant

RESPONSE = tuple(
    constant("energy", name) for name in ("waiting_power", "resident_response", "compute_response", "memory_response")
)
RNG = np.random.default_rng(3)
BUSY, COMPUTE, MEMORY = RNG.uniform(0, 1, (3, 500))


def test_power_lies_between_waiting_and_the_limit():
    power = accelerator_power(700.0, BUSY, COMPUTE, MEMORY, *RESPONSE)
    assert np.all(power >= 700.0 * RESPONSE[0])
    assert np.all(power <= 700.0)
    assert accelerator_power(700.0, 0.0, 1.0, 1.0, *RESPONSE) == pytest.approx(700.0 * RESPONSE[0])


@pytest.mark.parametrize("raised", [0, 1, 2])
def test_more_use_draws_more(raised):
    use = [BUSY, COMPUTE, MEMORY]
    more = [u + 0.05 * (i == raised) for i, u in enumerate(use)]
    assert np.all(accelerator_power(1.0, *more, *RESPONSE) >= accelerator_power(1.0, *use, *RESPONSE))


def test_arrays_and_scalars_agree_to_the_last_bit():
    together = accelerator_power(700.0, BUSY, COMPUTE, MEMORY, *RESPONSE)
    singly = [
        accelerator_power(700.0, b, c, m, *RESPONSE)
        for b, c, m in zip(BUSY.tolist(), COMPUTE.tolist(), MEMORY.tolist(), strict=True)
    ]
    assert np.array_equal(together, np.array(singly))


def test_step_power_is_the_power_of_its_utilisations():
    power = step_power(1000.0, 1e12, 1e9, 0.002, 0.004, 1e15, 1e12, *RESPONSE)
    assert power == pytest.approx(accelerator_power(1000.0, 0.5, 0.5, 0.5, *RESPONSE))
    assert utilisation(1.0, 0.0, 0.0) == 1.0


@pytest.mark.parametrize(
    "tdp, busy, compute, memory, watts, tolerance",
    [
        (700.0, 1.0, 0.22, 0.20, 690.0, 0.10),  # Llama-3.1-8B chat on one H100, largest batch
        (700.0, 1.0, 0.02, 0.64, 486.0, 0.15),  # the same at batch 8
        (700.0, 0.19, 0.5, 0.2, 292.0, 0.10),  # FLUX.1-dev, batch 1 over eight H100
        (700.0, 1.0, 0.5, 0.2, 686.0, 0.10),  # FLUX.1-dev on one H100
    ],
)
def test_power_as_published(tdp, busy, compute, memory, watts, tolerance):
    """ML.ENERGY leaderboard v3; utilisations from its throughput and the models' shapes."""
    assert accelerator_power(tdp, busy, compute, memory, *RESPONSE) == pytest.approx(watts, rel=tolerance)


def test_energy_falls_with_throughput():
    assert energy_per_unit(700.0, 8.0, 2800.0) == pytest.approx(2.0)
