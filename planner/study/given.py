"""What a study gives its chain: what is fixed, what varies, and what is assumed."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from planner.study.notes import Notes
from planner.study.parameters import ParameterError, choices, span
from planner.study.space import Parameter, Space
from solvers.chain import Chain, encode
from solvers.columns import REQUIRED, Column
from solvers.complaints import InvalidInput, near
from solvers.lowering import SELECTORS


class Given:
    """Reads `fixed` and `space` for a chain; `entries` are the catalogue entries behind each name's codes."""

    def __init__(self, notes: Notes, chain: Chain, catalog: Any) -> None:
        self.notes, self.chain, self.catalog = notes, chain, catalog
        self.entries: dict[str, tuple[Any, ...]] = {}
        self.fixed = self._fixed()
        self.space = self._space()
        self._defaults()

    def _fixed(self) -> dict[str, np.ndarray]:
        made: dict[str, np.ndarray] = {}
        for name, value in self.notes.section("fixed", dict).items():
            column = self.chain.parameter(name)
            if isinstance(value, (list, dict)):
                self.notes.complain(("fixed", name), f"{value!r} is not one value; choices and ranges go into space")
            elif value is None:
                self.notes.complain(("fixed", name), "has no value")
            elif column is None or self._made(name):
                self._unused(("fixed", name), name)
            elif column.unit == "name":
                entry = self._entry(name, value, ("fixed", name))
                if entry is not None:
                    self.entries[name], made[name] = (entry,), np.array([0])
            else:
                try:
                    made[name] = np.array([encode(column, value)])
                except InvalidInput as problem:
                    self.notes.complain(("fixed", name), problem.complaints[0].message)
        return made

    def _made(self, name: str) -> bool:
        return name in self.chain.outputs and name not in self.chain.inputs

    def _unused(self, path: tuple[Any, ...], name: str) -> None:
        if name in self.chain.outputs:
            self.notes.complain(path, f"is made by {self.chain.outputs[name].made_by}, so it cannot be given")
        else:
            self.notes.complain(
                path, f"no solver of {', '.join(self.chain.names)} uses it{near(name, self.chain.parameters())}"
            )

    def _entry(self, name: str, value: Any, path: tuple[Any, ...]) -> Any:
        from solvers.catalog import CatalogError, Entry

        kind = SELECTORS[name].kind
        if isinstance(value, Entry) and value.kind == kind:
            return value
        if not isinstance(value, (str, int, float)) or isinstance(value, bool):
            self.notes.complain(path, f"{value!r} is not the name of a {kind}")
            return None
        try:
            return self.catalog.find(kind, str(value))
        except CatalogError as problem:
            self.notes.complain(path, str(problem))
            return None

    def _space(self) -> Space:
        made = []
        given = self.notes.section("space", dict)
        if not given:
            self.notes.complain(("space",), "is empty: name at least one parameter with its choices or range")
        for name, written in given.items():
            column, path = self.chain.parameter(name), ("space", name)
            if name in self.fixed or name in self.notes.section("fixed", dict):
                self.notes.complain(path, "is fixed as well; one of the two has to go")
            elif column is None or self._made(name):
                self._unused(path, name)
            else:
                parameter = self._parameter(column, written, path)
                if parameter is not None:
                    made.append(parameter)
        return Space(tuple(made))

    def _parameter(self, column: Column, written: Any, path: tuple[Any, ...]) -> Parameter | None:
        try:
            if isinstance(written, dict):
                if column.unit in ("name", "bool", "choice"):
                    raise ParameterError("takes choices in a list, not a range")
                return span(
                    column.name, written, lambda v: _number(column, v), column.integer, lambda v: _step(column, v)
                )
            if not isinstance(written, list):
                raise ParameterError(
                    f"{written!r} is neither a list of choices nor a range; a single value goes into fixed"
                )
            if column.unit != "name":
                return choices(column.name, written, lambda v: _labelled(column, v))
            found = [self._entry(column.name, value, (*path, i)) for i, value in enumerate(written)]
            if written and None in found:
                return None
            names = iter([entry.name for entry in found])
            made = choices(column.name, written, lambda _: (name := next(names), name))
            self.entries[column.name] = tuple(found)
            return dataclasses.replace(made, held=np.arange(len(found)))
        except ParameterError as problem:
            self.notes.complain((*path, *problem.key), str(problem))
            return None

    def _defaults(self) -> None:
        """Write out what nobody gave, so that the record says what was assumed."""
        given = {*self.notes.section("fixed", dict), *self.notes.section("space", dict)}
        for name, column in self.chain.inputs.items():
            if name in given or column.optional or column.default is REQUIRED or name in self.chain.overridable:
                continue
            if column.unit == "name":
                entry = self._entry(name, column.default, ("fixed",))
                if entry is not None:
                    self.entries[name], self.fixed[name] = (entry,), np.array([0])
            else:
                self.fixed[name] = np.array([encode(column, column.default)])


def _number(column: Column, value: Any) -> float:
    try:
        return float(encode(column, value))
    except InvalidInput as problem:
        raise ValueError(problem.complaints[0].message) from problem


def _step(column: Column, value: Any) -> float:
    from solvers.units import bare

    if isinstance(value, bool):
        raise ValueError(f"{value!r} is not a number")
    return bare(value, column.unit)


def _labelled(column: Column, value: Any) -> tuple[Any, Any]:
    """What people read and what the chain takes for a choice as written."""
    try:
        code = encode(column, value)
    except InvalidInput as problem:
        raise ValueError(problem.complaints[0].message) from problem
    if column.choices:
        return column.choices[int(code)], int(code)
    if column.unit == "bool":
        return bool(code), bool(code)
    number = float(code)
    return (int(number) if column.integer and abs(number) < 2**53 else number), number
