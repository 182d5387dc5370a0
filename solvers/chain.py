"""Solvers in a row: wired by name, checked once, run over arrays of any shape that broadcast.

A `Chain` knows what its solvers ask and say. `Chain.bind` checks what is fixed and which values the rest may take,
reports all that is wrong together, and returns a `Problem`; `Problem.run` turns columns into columns.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from solvers.columns import REQUIRED, Array, Column, declared
from solvers.complaints import Complaint, InvalidInput, near
from solvers.lowering import SELECTORS, gaps, hardware_of, keys_of, known_fields, lower


class ChainError(ValueError):
    """The solvers do not fit together."""


@dataclass(frozen=True)
class Wiring:
    """One solver of a chain: what it asks, what it says, and the function between."""

    name: str
    plan: type
    answer: type
    columns: Any
    asks: Mapping[str, Column]
    says: Mapping[str, Column]


class Chain:
    """Solvers that run one after another, each taking by name what those before it made.

    Raises:
        ChainError: a column would be overwritten or made after it is taken, or one name has two units.
    """

    def __init__(self, solvers: Sequence[Any]) -> None:
        if not solvers:
            raise ChainError("a chain needs at least one solver")
        self.wirings = tuple(solver.wiring() for solver in solvers)
        self.inputs: dict[str, Column] = {}
        self.outputs: dict[str, Column] = {}
        self.overridable: dict[str, Column] = {}
        for wiring in self.wirings:
            self._take_inputs(wiring)
            self._take_outputs(wiring)

    @property
    def names(self) -> tuple[str, ...]:
        """The solvers' names, in order."""
        return tuple(w.name for w in self.wirings)

    def _take_inputs(self, wiring: Wiring) -> None:
        for name, column in wiring.asks.items():
            if column.record is not None:
                self._take_record(column, wiring.name)
            elif name in self.outputs:
                self._same_unit(column, self.outputs[name], wiring.name)
            elif column.source in self.outputs:
                self._same_unit(column, self.outputs[column.source], wiring.name)
                self.inputs.setdefault(name, dataclasses.replace(column, optional=True, made_by=wiring.name))
            elif name in self.inputs:
                self._same_unit(column, self.inputs[name], wiring.name)
            else:
                self.inputs[name] = column

    def _take_record(self, column: Column, solver: str) -> None:
        assert column.record is not None
        for key in keys_of(column):
            selector = SELECTORS[key]
            default = REQUIRED if selector.default is None else selector.default
            optional = selector.optional or column.optional
            self.inputs.setdefault(key, Column(key, "name", selector.description, solver, default, optional))
        if not column.optional:
            for name, field in declared(column.record).items():
                known = self.overridable.setdefault(name, _overriding(field, column.record.__name__))
                self._same_unit(field, known, solver)

    def _take_outputs(self, wiring: Wiring) -> None:
        for name, column in wiring.says.items():
            if name == "reasons":
                continue
            if name in self.outputs:
                raise ChainError(f"{wiring.name} would overwrite {name}, which {self.outputs[name].made_by} makes")
            taker = next((c for c in self.inputs.values() if name in (c.name, c.source)), None)
            if taker is not None and taker.made_by != wiring.name:
                raise ChainError(
                    f"{taker.made_by} takes {name}, which {wiring.name} makes only after it: put {wiring.name} first"
                )
            self.outputs[name] = column

    @staticmethod
    def _same_unit(one: Column, other: Column, solver: str) -> None:
        if one.unit != other.unit:
            raise ChainError(f"{solver} takes {one.name} in {one.unit!r}, and {other.made_by} has it in {other.unit!r}")

    def parameter(self, name: str) -> Column | None:
        """The input, or overridable catalogue field, of that name."""
        return self.inputs.get(name) or self.overridable.get(name)

    def parameters(self) -> dict[str, Column]:
        """All that may be given: inputs first, then the catalogue's fields."""
        return {**self.overridable, **self.inputs}

    def bind(
        self, menus: Mapping[str, tuple[Any, ...]], given: Mapping[str, Any], place: Any = None, catalog: Any = None
    ) -> Problem:
        """Check the names that will be given and the catalogue's gaps; return what can be run.

        Args:
            menus: for each selecting name, the entries that its codes stand for.
            given: the names (and anything) that `run` will be given besides.
            place: says where a key stands, for complaints ("study.yaml:12:5").
            catalog: where a fleet's hardware is looked up, if not in the shipped catalogue.

        Raises:
            InvalidInput: with every complaint at once.
        """
        where = place or (lambda key: "")
        menus, complaints, linked = dict(menus), [], False
        if "fleet" in menus and "hardware" in self.inputs and "hardware" not in menus:
            menus["hardware"] = tuple(hardware_of(entry, catalog) for entry in menus["fleet"])
            linked = True
        for name in [*given, *menus]:
            if name in self.outputs and name not in self.inputs:
                message = f"is made by {self.outputs[name].made_by}, so it cannot be given"
                complaints.append(Complaint(name, message, where(name)))
            elif self.parameter(name) is None:
                message = f"no solver of {', '.join(self.names)} uses it{near(name, self.parameters())}"
                complaints.append(Complaint(name, message, where(name)))
        for name, column in self.inputs.items():
            if column.required and name not in given and name not in menus:
                complaints.append(Complaint(name, f"is missing: {column.description} ({column.allowed()})", where("")))
        if not complaints:
            complaints = self._catalogue_gaps(menus, given)
        if complaints:
            raise InvalidInput(complaints)
        return Problem(self, menus, linked)

    def _catalogue_gaps(self, menus: Mapping[str, tuple[Any, ...]], given: Mapping[str, Any]) -> list[Complaint]:
        found: dict[tuple[str, str], Complaint] = {}
        for wiring in self.wirings:
            for column in wiring.asks.values():
                for field, entry in gaps(column, menus, given):
                    unit = self.overridable[field].unit
                    message = (
                        f"not known for {entry}: the catalogue has no figure. Give {field} (in {unit}) among the fixed "
                        f"parameters, or add it to the entry"
                    )
                    found.setdefault((field, entry), Complaint(field, message))
        return list(found.values())


@dataclass(frozen=True)
class Problem:
    """A chain whose names are checked and whose codes have a meaning."""

    chain: Chain
    menus: Mapping[str, tuple[Any, ...]]
    hardware_follows_fleet: bool

    def run(self, columns: Mapping[str, Array]) -> dict[str, Array]:
        """Every column that the chain makes, for the given ones.

        Args:
            columns: SI floats, or integer codes for choices and selecting names, of shapes that broadcast.

        Returns:
            The chain's outputs, with `reasons` (all solvers' bits united) and `feasible`.
        """
        return self.trace(columns)[1]

    def trace(self, columns: Mapping[str, Array]) -> tuple[dict[str, Any], dict[str, Array], dict[str, Any]]:
        """As `run`, but also each solver's plan and answer: (plans, outputs, answers)."""
        codes = dict(columns)
        if self.hardware_follows_fleet and "hardware" not in codes:
            codes["hardware"] = codes.get("fleet", 0)
        made: dict[str, Array] = {}
        plans, answers = {}, {}
        reasons: Array = np.int64(0)
        for wiring in self.chain.wirings:
            plan = wiring.plan(**{n: self._value(c, columns, codes, made) for n, c in wiring.asks.items()})
            answer = wiring.columns(plan)
            for name in wiring.says:
                if name == "reasons":
                    reasons = reasons | answer.reasons
                else:
                    made[name] = getattr(answer, name)
            plans[wiring.name], answers[wiring.name] = plan, answer
        made["reasons"] = reasons
        made["feasible"] = np.asarray(reasons) == 0
        return plans, made, answers

    def _value(
        self, column: Column, given: Mapping[str, Array], codes: Mapping[str, Array], made: Mapping[str, Array]
    ) -> Any:
        if column.record is not None:
            whole = lower(column, self.menus, codes)
            if column.optional:
                return whole  # an override by name means the main record: the model, not the draft model
            over = {f: given[f] for f in known_fields(column.record) if f in given}
            return dataclasses.replace(whole, **over) if over else whole
        if column.name in given:
            return given[column.name]
        if column.name in made:
            return made[column.name]
        if column.source in made:
            return made[column.source]
        if column.source in given:
            return given[column.source]
        return default_value(column)


def _overriding(field: Column, record: str) -> Column:
    """A record's field as a person may give it: never negative, and a rate or peak that divides never zero."""
    bounded = field.minimum is not None or field.above is not None
    if bounded or field.unit in ("bool", "choice", "name"):
        return dataclasses.replace(field, made_by=record)
    limit = {"above": 0.0} if field.unit in ("byte/s", "FLOP/s") else {"minimum": 0.0}
    return dataclasses.replace(field, made_by=record, **limit)  # type: ignore[arg-type]


def default_value(column: Column) -> Array:
    """The value inside of an input that nobody gave: its default as an SI float or code, or NaN."""
    if column.default is REQUIRED:
        return np.array([math.nan])
    return np.array([encode(column, column.default)])


def encode(column: Column, value: Any) -> float | int | bool:
    """A person's value as the column holds it.

    Raises:
        InvalidInput: it cannot be read, is out of range, or is no choice; says what would do.
    """
    from solvers.units import UnitError, bare

    def refuse(what: str) -> InvalidInput:
        return InvalidInput([Complaint(column.name, f"{what}; give {column.allowed()}")])

    if column.choices:
        if str(value) in column.choices:
            return column.choices.index(str(value))
        raise refuse(f"{value!r} is not a choice{near(str(value), column.choices)}")
    if column.unit == "bool":
        if value in (True, False, 0, 1):
            return bool(value)
        raise refuse(f"{value!r} is neither true nor false")
    if isinstance(value, (bool, np.bool_)):
        raise refuse(f"{value!r} is not a number")
    try:
        number = value if type(value) in (float, int) else bare(value, column.unit)
    except (UnitError, TypeError, ValueError, OverflowError) as problem:
        raise refuse(str(problem)) from problem
    if not math.isfinite(number):
        raise refuse(f"{value!r} is not finite")
    too_small = column.minimum is not None and number < column.minimum
    too_large = column.maximum is not None and number > column.maximum
    if too_small or too_large or (column.above is not None and number <= column.above):
        raise refuse(f"{value!r} is out of range")
    if column.integer and number != int(number):
        raise refuse(f"{value!r} is not a whole number")
    return float(number)
