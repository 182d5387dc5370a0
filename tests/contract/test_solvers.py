"""What every listed solver promises; a new one is covered as soon as it is in the menu."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from solvers import SOLVERS, InvalidInput
from solvers.chain import Chain
from solvers.columns import declared
from solvers.lowering import LOWERINGS
from solvers.units import factor
from tests.contract.plans import problem, rows

ALL = list(SOLVERS)
NOT_UNITS = ("choice", "bool", "reasons", "name", "record")


def same(one: np.ndarray, other: np.ndarray) -> bool:
    """Equal to the last bit, NaN included."""
    return bool(np.array_equal(np.asarray(one, float), np.asarray(other, float), equal_nan=True))


def every_column() -> list:
    found = []
    for name in ALL:
        wiring = SOLVERS[name].wiring()
        found += [*wiring.asks.values(), *wiring.says.values()]
        for column in wiring.asks.values():
            if column.record is not None:
                found += declared(column.record, column.record.__name__).values()
    return [c for c in found if c.record is None]


def test_one_name_has_one_unit_everywhere() -> None:
    units: dict[str, dict[str, str]] = {}
    for column in every_column():
        units.setdefault(column.name, {})[column.unit] = column.made_by
    assert not {n: u for n, u in units.items() if len(u) > 1}


def test_every_unit_is_one_and_every_column_is_described() -> None:
    for column in every_column():
        assert column.description, column
        if column.unit not in NOT_UNITS:
            factor(column.unit)


@pytest.mark.parametrize("name", ALL)
def test_records_are_lowered(name: str) -> None:
    for column in SOLVERS[name].wiring().asks.values():
        if column.record is not None:
            assert column.record.__name__ in LOWERINGS


@pytest.mark.parametrize("name", ALL)
def test_rows_agree_with_single_rows_to_the_last_bit(name: str) -> None:
    bound, columns = rows(SOLVERS[name], 48, seed=1)
    together = bound.run(columns)
    for i in range(48):
        alone = bound.run({k: v[i : i + 1] for k, v in columns.items()})
        for column, values in together.items():
            row = np.broadcast_to(values, (48,))[i : i + 1]
            assert same(row, np.broadcast_to(alone[column], (1,))), (column, i, row, alone[column])


@pytest.mark.parametrize("name", ALL)
def test_slabs_agree_with_rows_to_the_last_bit(name: str) -> None:
    solver = SOLVERS[name]
    bound, columns = rows(solver, 3, seed=2)
    names = list(columns)
    rng = np.random.default_rng(3)
    for _ in range(12):
        axes = list(rng.choice(names, size=min(4, len(names)), replace=False))
        mesh = {k: v[:1].reshape(()) for k, v in columns.items()}
        for position, axis in enumerate(axes):
            shape = [1] * len(axes)
            shape[position] = 3
            mesh[axis] = columns[axis].reshape(shape)
        slab = bound.run(mesh)
        cells = list(itertools.product(range(3), repeat=len(axes)))
        flat = {k: np.repeat(v[:1], len(cells)) for k, v in columns.items()}
        for position, axis in enumerate(axes):
            flat[axis] = columns[axis][[cell[position] for cell in cells]]
        row = bound.run(flat)
        for column, values in slab.items():
            left = np.broadcast_to(values, (3,) * len(axes)).ravel()
            assert same(left, np.broadcast_to(row[column], (len(cells),))), (column, axes)


@pytest.mark.parametrize("name", ALL)
def test_faces_agree_with_rows_to_the_last_bit(name: str) -> None:
    solver = SOLVERS[name]
    bound, columns = rows(solver, 6, seed=4)
    together = bound.run(columns)
    asks = {**bound.chain.overridable, **solver.wiring().asks}
    for i in range(6):
        given = {}
        for key, value in columns.items():
            if key in bound.menus:
                given[key] = bound.menus[key][int(value[i])]
            elif asks[key].choices:
                given[key] = asks[key].choices[int(value[i])]
            elif not np.isnan(value[i]):
                given[key] = bool(value[i]) if asks[key].unit == "bool" else float(value[i])
        answer = solver().solve(**given)
        for key, column in solver.wiring().says.items():
            if key == "reasons":
                continue
            face = getattr(answer, key)
            row = np.broadcast_to(together[key], (6,))[i]
            if column.choices:
                assert face == column.choices[int(row)]
            else:
                assert same(getattr(face, "magnitude", face), row), key


@pytest.mark.parametrize("name", ALL)
def test_inputs_are_left_alone(name: str) -> None:
    bound, columns = rows(SOLVERS[name], 16, seed=5)
    for values in columns.values():
        values.setflags(write=False)
    before = {k: v.copy() for k, v in columns.items()}
    bound.run(columns)
    for key, values in columns.items():
        assert same(values, before[key])


@pytest.mark.parametrize("name", ALL)
def test_answers_are_finite_and_times_are_positive(name: str) -> None:
    bound, columns = rows(SOLVERS[name], 200, seed=6, given=1.0)
    outputs = bound.run(columns)
    for key, column in SOLVERS[name].wiring().says.items():
        values = np.asarray(outputs[key], float)
        assert not np.isnan(values).any(), key
        if column.unit == "s":
            assert (values >= 0).all(), key


@pytest.mark.parametrize("name", ALL)
def test_bad_arguments_are_refused_by_name(name: str) -> None:
    solver = SOLVERS[name]
    bound, plain = problem(solver)
    good = {k: entries[0] for k, entries in bound.menus.items()}
    plain = {k: c for k, c in plain.items() if k not in bound.chain.overridable}
    for key, column in plain.items():
        bad = [float("nan"), float("inf"), "a lot", [1], "5 lightyears"]
        if column.choices or column.unit == "bool":
            bad = ["perhaps", 3.7]
        elif column.minimum is not None:
            bad.append(column.minimum - 1)
        elif column.above is not None:
            bad.append(column.above)
        if column.integer:
            bad.append((column.minimum or 0) + 1.5)
        for value in bad:
            with pytest.raises(InvalidInput, match=key):
                solver().solve(**good, **{key: value})
    with pytest.raises(InvalidInput, match="no_such_argument"):
        solver().solve(**good, no_such_argument=1)


@pytest.mark.parametrize("name", ALL)
def test_no_figure_of_the_catalogue_is_replaced_by_nonsense(name: str) -> None:
    """A negative bandwidth would be a negative time, and none at all an endless one."""
    solver = SOLVERS[name]
    bound, _ = problem(solver)
    good = {k: entries[0] for k, entries in bound.menus.items()}
    for key, column in bound.chain.overridable.items():
        if column.unit in NOT_UNITS:
            continue
        bad = [-1.0, float("nan"), float("inf"), "a lot"]
        bad += [0] if column.unit in ("byte/s", "FLOP/s") or key in ("memory_capacity", "n_accelerators") else []
        for value in bad:
            with pytest.raises(InvalidInput, match=key):
                solver().solve(**good, **{key: value})


@pytest.mark.parametrize("name", ALL)
def test_a_chain_of_one_is_documented(name: str) -> None:
    chain = Chain([SOLVERS[name]])
    text = SOLVERS[name].solve.__doc__
    for key in chain.inputs:
        assert key in text
    assert (SOLVERS[name].__doc__ or "").strip()
