"""Collectives worked out once take as long as those of the kernels' own formulas."""

import numpy as np
import pytest

from solvers.catalog import catalog
from solvers.formulas.kernels import Kernels, all_reduce_time, all_to_all_time, point_to_point_time
from solvers.formulas.serving.exchange import all_reduces, all_to_alls, collective_time, hops
from solvers.lowering import single

SIZES = np.geomspace(1e3, 1e9, 30)


def kernels(chip: str) -> Kernels:
    return single(Kernels, (catalog.find("hardware", chip), catalog.find("precision", "bf16")))


@pytest.mark.parametrize("ranks", [1.0, 2.0, 4.0, 8.0])
@pytest.mark.parametrize("chip", ["A100-SXM-80", "H100-SXM", "L40S"])
def test_as_the_kernels_say(chip: str, ranks: float) -> None:
    made, wire = kernels(chip), 450e9
    own, library = all_reduces(3.0, ranks, made, wire)
    reduced = np.minimum(collective_time(own, SIZES), collective_time(library, SIZES))
    assert reduced == pytest.approx(3 * all_reduce_time(SIZES, ranks, made, wire), rel=1e-9)
    exchanged = collective_time(all_to_alls(2.0, ranks, 4.0, made, wire), SIZES)
    assert exchanged == pytest.approx(2 * all_to_all_time(4 * SIZES, ranks, made, wire), rel=1e-9)
    passed = collective_time(hops(1.0, made, wire), SIZES)
    assert passed == pytest.approx(point_to_point_time(SIZES, made, wire), rel=1e-9)
