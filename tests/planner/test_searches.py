from __future__ import annotations

import importlib.util
import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.run.evaluate import Evaluator
from planner.search import Batch
from planner.search.grid import Grid, cut
from planner.search.random import Random
from planner.search.sampled import Known, Sampled
from planner.study import Study
from planner.study.space import Parameter, Space

Make = Callable[..., Study]
SHAPES = st.lists(st.integers(1, 9), min_size=1, max_size=5)


def space_of(shape: list[int]) -> Space:
    return Space(tuple(Parameter(f"p{i}", tuple(range(n)), np.arange(float(n))) for i, n in enumerate(shape)))


def cells(batch: Batch) -> list[tuple[int, ...]]:
    flat = [np.broadcast_to(c, batch.shape).reshape(-1).tolist() for c in batch.coordinates.values()]
    return list(zip(*flat, strict=True))


@given(SHAPES, st.integers(1, 200))
def test_each_cell_comes_exactly_once_in_row_major_order(shape: list[int], rows: int) -> None:
    made, at = [], 0
    for batch in Grid(space_of(shape), slab_rows=rows).batches():
        assert batch.start == at
        assert batch.size <= max(rows, 1)
        made += cells(batch)
        at += batch.size
    assert made == list(itertools.product(*(range(n) for n in shape)))


@given(SHAPES, st.integers(1, 200), st.data())
def test_any_stretch_of_cells(shape: list[int], rows: int, data: st.DataObject) -> None:
    total = math.prod(shape)
    start = data.draw(st.integers(0, total))
    stop = data.draw(st.integers(start, total))
    made = [c for batch in Grid(space_of(shape), start, stop, slab_rows=rows).batches() for c in cells(batch)]
    assert made == list(itertools.product(*(range(n) for n in shape)))[start:stop]


@given(SHAPES, st.integers(1, 200))
def test_a_cut_knows_where_its_slabs_begin(shape: list[int], rows: int) -> None:
    made = cut(shape, rows)
    starts = [made.start(i) for i in range(made.slabs + 1)]
    assert starts[0] == 0
    assert starts[-1] == math.prod(shape)
    assert all(0 < b - a <= max(rows, 1) for a, b in itertools.pairwise(starts))


def test_a_mesh_and_its_rows_evaluate_to_the_same_bits(toy: Make) -> None:
    study = toy(constraints=["latency * ovens < 60 s", "slowest == baking", "hot == false"])
    evaluate = Evaluator(study)
    for batch in Grid(study.space, slab_rows=40).batches():
        mesh = evaluate(batch)
        numbers = np.arange(batch.start, batch.start + batch.size)
        rows = evaluate(Batch(batch.start, study.space.cells(numbers), (batch.size,)))
        for name in study.chain.outputs:
            assert np.array_equal(mesh.full(mesh.metrics[name]), rows.full(rows.metrics[name])), name
        assert np.array_equal(mesh.full(mesh.signals), rows.full(rows.signals))
        assert np.array_equal(mesh.full(mesh.violation), rows.full(rows.violation))
        one = evaluate(Batch(batch.start, study.space.cells(numbers[:1]), (1,)))
        assert one.full(one.violation)[0] == rows.full(rows.violation)[0]


def test_random_draws_depend_on_seed_and_number_alone() -> None:
    space = Space(
        (
            Parameter("a", (1, 2, 3), np.arange(3.0)),
            Parameter("b", None, low=1e-3, high=10.0, log=True),
            Parameter("c", None, low=1, high=100, integer=True, log=True),
            Parameter("d", None, low=-5, high=5, integer=True),
        )
    )

    def drawn(trials: int, **more: Any) -> np.ndarray:
        batches = list(Random(space, seed=4, trials=trials, batch=50, **more).batches())
        return np.array([row for b in batches for row in zip(*b.coordinates.values(), strict=True)])

    whole = drawn(500)
    assert np.array_equal(drawn(123), whole[:123])
    known = Known({}, np.empty((77, 1)), np.empty((77, 1)), np.zeros(77, dtype=bool))
    assert np.array_equal(drawn(500, known=known), whole[77:])
    assert set(whole[:, 0]) == {0, 1, 2}
    assert whole[:, 1].min() >= 1e-3
    assert (whole[:, 1] < 0.1).mean() == pytest.approx(0.5, abs=0.1), "uniform in the logarithm"
    assert set(np.unique(whole[:, 2])) <= set(range(1, 101))
    assert set(np.unique(whole[:, 3])) == set(range(-5, 6))


def bowl(batch: Batch) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Two objectives over (a, b, w); some rows infeasible, some without an answer."""
    a, b, w = (np.asarray(c, dtype=np.float64) for c in batch.coordinates.values())
    objectives = np.stack([(a - 20) ** 2 + b, (b - 3) ** 2 + a + w], axis=1)
    violations = np.stack([np.where(a < 5, 1.0, 0.0), (b - 6) / 6], axis=1)
    return objectives, violations, w == 3


SPACE = Space(
    (
        Parameter("a", tuple(range(40)), np.arange(40.0)),
        Parameter("b", None, low=0.0, high=8.0),
        Parameter("w", ("x", "y", "z", "broken"), np.arange(4)),
    )
)


def history(method: str, trials: int, known: Known | None = None, batch: int | None = None) -> list[tuple[Any, ...]]:
    search = Sampled(
        SPACE, method, seed=7, trials=trials, objectives=2, constraints=["chain", "c"], batch=batch, known=known
    )
    rows = []
    for made in search.batches():
        rows += list(zip(*(c.tolist() for c in made.coordinates.values()), strict=True))
        search.tell(made, *bowl(made))
    return rows


@pytest.mark.parametrize("method", ["tpe", "nsga2"])
@pytest.mark.parametrize("cut_at", [0, 1, 20, 33, 60, 117, 120])
def test_a_search_that_is_resumed_goes_on_as_it_would_have(method: str, cut_at: int) -> None:
    whole = history(method, 120, batch=20)
    first = np.array(whole[:cut_at], dtype=np.float64).reshape(-1, 3)
    names = SPACE.names
    coordinates = {n: first[:, i] for i, n in enumerate(names)}
    known = Known(coordinates, *bowl(Batch(0, coordinates, (cut_at,)))) if cut_at else None
    assert whole[:cut_at] + history(method, 120, known, batch=20) == whole


@pytest.mark.parametrize("method", ["tpe", "nsga2"])
def test_asking_for_more_later_equals_asking_for_all_at_once(method: str) -> None:
    assert history(method, 50, batch=16) == history(method, 90, batch=16)[:50]


def test_every_trial_carries_every_constraint() -> None:
    search = Sampled(SPACE, "nsga2", seed=0, trials=60, objectives=2, constraints=["chain", "c"], batch=20)
    for batch in search.batches():
        search.tell(batch, *bowl(batch))
    trials = search.study.get_trials()
    assert len(trials) == 60
    assert all(set(t.constraints) == {"chain", "c"} for t in trials)
    assert {t.state.name for t in trials} == {"COMPLETE", "FAIL"}


def test_gp_says_what_it_needs() -> None:
    from solvers.complaints import InvalidInput

    def make() -> None:
        with pytest.warns(UserWarning, match="words"), pytest.warns(UserWarning, match="meant for some 60 trials"):
            Sampled(SPACE, "gp", seed=0, trials=100, objectives=1, constraints=[])

    if importlib.util.find_spec("torch") is None:
        with pytest.raises(InvalidInput, match="pip install"):
            make()
    else:
        make()
