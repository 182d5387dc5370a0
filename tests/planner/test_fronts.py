from __future__ import annotations

import sys

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from planner import fronts
from planner.fronts import Front, hypervolume, knee, nondominated, pareto, reference_point
from solvers.complaints import InvalidInput

COARSE = st.sampled_from([0.0, -0.0, 1.0, 2.0, 3.0, -1.0, np.nan, np.inf, -np.inf])
POINTS = st.integers(1, 4).flatmap(
    lambda m: st.integers(0, 40).flatmap(lambda n: arrays(np.float64, (n, m), elements=COARSE))
)


def brute_force(points: np.ndarray) -> list[int]:
    """Row by row: finite, dominated by none, and the first of its equals."""
    kept = []
    for i, p in enumerate(points):
        others = [q for j, q in enumerate(points) if j != i and np.isfinite(q).all()]
        dominated = any((q <= p).all() and (q < p).any() for q in others)
        earlier = any((points[j] == p).all() for j in range(i))
        if np.isfinite(p).all() and not dominated and not earlier:
            kept.append(i)
    return kept


@given(POINTS)
def test_fronts_equal_brute_force(points: np.ndarray) -> None:
    assert np.flatnonzero(nondominated(points)).tolist() == brute_force(points)


@given(POINTS)
def test_fronts_equal_brute_force_without_the_library(points: np.ndarray) -> None:
    hidden = sys.modules.get("moocore")
    sys.modules["moocore"] = None  # type: ignore[assignment]
    try:
        assert np.flatnonzero(nondominated(points)).tolist() == brute_force(points)
    finally:
        del sys.modules["moocore"]
        if hidden is not None:
            sys.modules["moocore"] = hidden


@given(POINTS, st.integers(1, 7), st.randoms())
def test_streamed_in_any_order_gives_the_same_front(points: np.ndarray, pieces: int, random: object) -> None:
    finite = points[np.isfinite(points).all(axis=1)]
    order = np.arange(len(finite))
    random.shuffle(order)  # type: ignore[attr-defined]
    front = Front(points.shape[1])
    for part in np.array_split(order, pieces):
        front.add(finite[part], part)
    assert front.trials.tolist() == brute_force(finite)
    assert (front.points == finite[front.trials]).all()


def test_long_streams_stay_exact(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fronts, "STREAMED", 64)
    points = np.random.default_rng(0).normal(size=(5000, 3))
    front = Front(3)
    front.add(points, np.arange(5000))
    assert front.trials.tolist() == np.flatnonzero(nondominated(points)).tolist()


def test_hypervolume_of_known_figures() -> None:
    assert hypervolume(np.array([[1.0, 2.0], [2.0, 1.0]]), [3.0, 3.0]) == 3.0
    assert hypervolume(np.array([[0.0, 0.0, 0.0]]), [1.0, 2.0, 3.0]) == 6.0
    assert hypervolume(np.array([[np.nan, 0.0], [4.0, 4.0]]), [3.0, 3.0]) == 0.0


def test_the_reference_point_is_beyond_every_point() -> None:
    for points in (np.array([[1.0, -2.0]]), np.array([[0.0, 0.0]]), np.array([[1.0, 5.0], [4.0, -3.0]])):
        assert (np.array(reference_point(points)) > points.max(axis=0)).all()
        assert hypervolume(points, reference_point(points)) > 0


def test_the_knee_is_where_the_trade_off_bends() -> None:
    assert knee(np.array([[0.0, 10.0], [1.0, 1.0], [10.0, 0.0]])) == 1
    assert knee(np.array([[5.0, 5.0]])) == 0


FRAME = pd.DataFrame(
    {"trial": [0, 1, 2, 3], "a": [1.0, 2.0, 3.0, np.nan], "b": [1.0, 2.0, 9.0, 0.0], "w": list("xyzw"),
     "feasible": [True, True, False, True]}
)  # fmt: skip


def test_another_front_from_a_table() -> None:
    assert pareto(FRAME, ["maximize: a", "minimize: b"])["trial"].tolist() == [0, 1]
    assert pareto(FRAME, ["maximize: a"])["trial"].tolist() == [1]
    assert pareto(FRAME.drop(columns="feasible"), ["maximize: a"])["trial"].tolist() == [2]
    assert pareto(FRAME, [{"minimize": "b / a + 1"}])["trial"].tolist() == [0]


@pytest.mark.parametrize(
    ("objectives", "said"),
    [
        (["maximize: c"], "no column 'c'"),
        (["maximize a"], "is no objective"),
        (["maximize: w"], "no column 'w'"),
        ([], "none is given"),
    ],
)
def test_a_front_of_nothing_is_refused(objectives: list[str], said: str) -> None:
    with pytest.raises(InvalidInput, match=said):
        pareto(FRAME, objectives)


def test_twice_as_dear_weighs_the_same_everywhere() -> None:
    cost = np.array([1.0, 2.0, 4.0, 100.0])
    rate = -np.array([10.0, 30.0, 50.0, 60.0])
    assert knee(np.column_stack([cost, rate])) == knee(np.column_stack([cost * 7.0, rate * 3.0]))
    assert knee(np.column_stack([cost, rate])) in (1, 2)
