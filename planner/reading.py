"""From a study's data to a checked `Study`: all complaints are gathered, each with its place, and raised together."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from planner import versions
from planner.expressions import ExpressionError, Names
from planner.goals import Constraint, Objective, constraint, objective, split_objective
from planner.impossible import never_holds
from planner.parameters import ParameterError, choices, span
from planner.search import SEARCHES, chosen_method
from planner.settings import SECTIONS
from planner.space import Parameter, Space
from planner.study import SearchOptions, Study
from solvers.chain import Chain, ChainError, encode
from solvers.columns import REQUIRED, Column
from solvers.complaints import Complaint, InvalidInput, near
from solvers.lowering import SELECTORS

Place = Callable[[tuple[Any, ...]], str]
SEARCH_KEYS = ("method", "trials", "seed", "batch", "keep")
KEEP = ("all", "front")
MOST_TRIALS = 2**53


def read_study(data: Any, name: str, place: Place, solvers: Mapping[str, Any] | None = None) -> Study:
    """The study that the data describe.

    Raises:
        InvalidInput: with every complaint.
    """
    reader = _Reader(data, place)
    study = reader.study(name, solvers)
    if reader.complaints or study is None:
        raise InvalidInput(_once(reader.complaints))
    return study


def _once(complaints: list[Complaint]) -> list[Complaint]:
    return list({str(c): c for c in complaints}.values())


class _Reader:
    """Reads one section after another; what is broken is noted, and what depends on it is left out."""

    def __init__(self, data: Any, place: Place) -> None:
        self.data: dict[str, Any] = data if isinstance(data, dict) else {}
        self.place = place
        self.complaints: list[Complaint] = []
        self.catalog: Any = None
        self.entries: dict[str, tuple[Any, ...]] = {}
        if not isinstance(data, dict) or not data:
            self.complain((), "is not a study: keys such as title, solvers, space and objectives are due")

    def complain(self, path: tuple[Any, ...], message: str) -> None:
        """Note a complaint about the value at a path."""
        key = ".".join(str(p) for p in path if not isinstance(p, int))
        self.complaints.append(Complaint(key, message, self.place(path)))

    def study(self, name: str, menu: Mapping[str, Any] | None) -> Study | None:
        """Read every section."""
        for key in self.data:
            if key not in SECTIONS:
                self.complain((key,), f"is no key of a study{near(str(key), SECTIONS)}")
        title, question = self._text("title", name), self._text("question", "")
        self.catalog = self._catalog()
        chain = self._chain(menu)
        search_data = self._section("search", dict)
        if chain is None or self.catalog is None:
            self._options(search_data, None, 1)
            return None
        fixed = self._fixed(chain)
        space = self._space(chain, fixed)
        self._defaults(chain, fixed, space)
        problem = self._bound(chain, fixed, space)
        columns = self._columns(chain, fixed, space)
        names = Names(columns, {w.name: frozenset(w.says) - {"reasons"} for w in chain.wirings})
        objectives, constraints = self._objectives(names), self._constraints(names)
        self._possible(constraints, space, fixed)
        options = self._options(search_data, space, max(len(objectives), 1))
        if self.complaints or problem is None:
            return None
        return Study(
            name, title, question, chain, problem, space, fixed, columns, objectives, constraints, options, self.catalog,
            self._resolved(title, question, chain, fixed, options),
        )  # fmt: skip

    def _section(self, key: str, kind: type) -> Any:
        given = self.data.get(key)
        if given is None:
            return kind()
        if not isinstance(given, kind):
            self.complain((key,), "a list is due" if kind is list else "keys with values are due")
            return kind()
        return given

    def _text(self, key: str, default: str) -> str:
        given = self.data.get(key, default)
        if not isinstance(given, (str, int, float)):
            self.complain((key,), "a text is due")
            return default
        return str(given)

    def _catalog(self) -> Any:
        from solvers.catalog import CatalogError, catalog

        overrides = self._section("catalog", dict)
        try:
            return catalog.with_overrides(overrides) if overrides else catalog
        except CatalogError as problem:
            for line in str(problem).splitlines():
                self.complain(("catalog",), line)
            return None

    def _chain(self, menu: Mapping[str, Any] | None) -> Chain | None:
        from solvers.menu import SOLVERS

        known: Mapping[str, Any] = SOLVERS if menu is None else menu
        listed = self._section("solvers", list)
        if not listed:
            self.complain(("solvers",), f"a study names at least one solver: {', '.join(known)}")
            return None
        before = len(self.complaints)
        for i, name in enumerate(listed):
            if not isinstance(name, str) or name not in known:
                self.complain(("solvers", i), f"there is no solver {name!r}{near(str(name), known)}")
            elif name in listed[:i]:
                self.complain(("solvers", i), f"{name} stands twice")
        if len(self.complaints) > before:
            return None
        try:
            return Chain([known[name] for name in listed])
        except ChainError as problem:
            self.complain(("solvers",), str(problem))
            return None

    def _fixed(self, chain: Chain) -> dict[str, np.ndarray]:
        made: dict[str, np.ndarray] = {}
        for name, value in self._section("fixed", dict).items():
            column = chain.parameter(name)
            if isinstance(value, (list, dict)):
                self.complain(("fixed", name), f"{value!r} is not one value; choices and ranges go into space")
            elif value is None:
                self.complain(("fixed", name), "has no value")
            elif column is None or (column.unit != "name" and name in chain.outputs and name not in chain.inputs):
                self._unused(("fixed", name), name, chain)
            elif column.unit == "name":
                entry = self._entry(name, value, ("fixed", name))
                if entry is not None:
                    self.entries[name], made[name] = (entry,), np.array([0])
            else:
                try:
                    made[name] = np.array([encode(column, value)])
                except InvalidInput as problem:
                    self.complain(("fixed", name), problem.complaints[0].message)
        return made

    def _unused(self, path: tuple[Any, ...], name: str, chain: Chain) -> None:
        if name in chain.outputs:
            self.complain(path, f"is made by {chain.outputs[name].made_by}, so it cannot be given")
        else:
            self.complain(path, f"no solver of {', '.join(chain.names)} uses it{near(name, chain.parameters())}")

    def _entry(self, name: str, value: Any, path: tuple[Any, ...]) -> Any:
        from solvers.catalog import CatalogError, Entry

        kind = SELECTORS[name].kind
        if isinstance(value, Entry) and value.kind == kind:
            return value
        if not isinstance(value, (str, int, float)) or isinstance(value, bool):
            self.complain(path, f"{value!r} is not the name of a {kind}")
            return None
        try:
            return self.catalog.find(kind, str(value))
        except CatalogError as problem:
            self.complain(path, str(problem))
            return None

    def _space(self, chain: Chain, fixed: Mapping[str, np.ndarray]) -> Space:
        made = []
        given = self._section("space", dict)
        if not given:
            self.complain(("space",), "is empty: name at least one parameter with its choices or range")
        for name, written in given.items():
            column, path = chain.parameter(name), ("space", name)
            if name in fixed or name in self._section("fixed", dict):
                self.complain(path, "is fixed as well; one of the two has to go")
            elif column is None or (name in chain.outputs and name not in chain.inputs):
                self._unused(path, name, chain)
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
                return span(column.name, written, lambda v: _number(column, v), column.integer, lambda v: _step(column, v))
            if not isinstance(written, list):
                raise ParameterError(f"{written!r} is neither a list of choices nor a range; a single value goes into fixed")
            if column.unit != "name":
                return choices(column.name, written, lambda v: _labelled(column, v))
            found = [self._entry(column.name, value, (*path, i)) for i, value in enumerate(written)]
            if written and None in found:
                return None
            made = choices(column.name, list(range(len(found))), lambda i: (found[i].name, found[i].name))
            self.entries[column.name] = tuple(found)
            return dataclasses.replace(made, held=np.arange(len(found)))
        except ParameterError as problem:
            self.complain((*path, *problem.key), str(problem))
            return None

    def _defaults(self, chain: Chain, fixed: dict[str, np.ndarray], space: Space) -> None:
        """Write out what nobody gave, so that the record says what was assumed."""
        given = {*self._section("fixed", dict), *self._section("space", dict)}
        for name, column in chain.inputs.items():
            if name in given or column.optional or column.default is REQUIRED:
                continue
            if column.unit == "name":
                entry = self._entry(name, column.default, ("fixed",))
                if entry is not None:
                    self.entries[name], fixed[name] = (entry,), np.array([0])
            else:
                fixed[name] = np.array([encode(column, column.default)])

    def _bound(self, chain: Chain, fixed: Mapping[str, np.ndarray], space: Space) -> Any:
        if self.complaints:
            return None
        values = [n for n in [*fixed, *space.names] if n not in self.entries]
        try:
            return chain.bind(self.entries, dict.fromkeys(values, True), catalog=self.catalog)
        except InvalidInput as problem:
            for c in problem.complaints:
                section = next((s for s in ("space", "fixed") if c.key in self._section(s, dict)), "fixed")
                self.complain((section, c.key), c.message)
            return None

    def _columns(self, chain: Chain, fixed: Mapping[str, np.ndarray], space: Space) -> dict[str, Column]:
        made = {**chain.overridable, **chain.outputs}
        labels = {p.name: tuple(map(str, p.labels or ())) for p in space.parameters}
        for name in [*fixed, *space.names]:
            column = chain.parameter(name)
            if column is not None and name not in chain.outputs:
                if column.unit == "name":
                    words = labels.get(name) or tuple(e.name for e in self.entries.get(name, ()))
                    column = dataclasses.replace(column, choices=words)
                made[name] = column
        return made

    def _objectives(self, names: Names) -> tuple[Objective, ...]:
        made: list[Objective] = []
        listed = self._section("objectives", list)
        if not listed:
            self.complain(("objectives",), "a study has at least one, such as - maximize: effective_throughput")
        for i, given in enumerate(listed):
            path = ("objectives", i)
            try:
                if isinstance(given, dict) and len(given) == 1:
                    ((direction, text),) = given.items()
                elif isinstance(given, str):
                    direction, text = split_objective(given)
                else:
                    raise ExpressionError("'maximize: column' or 'minimize: column' is due")
                goal = objective(str(direction), str(text), names)
                if any(goal.expression.text == other.expression.text for other in made):
                    raise ExpressionError(f"{text} is an objective twice")
                made.append(goal)
            except ExpressionError as problem:
                self.complain(path, str(problem))
        return tuple(made)

    def _constraints(self, names: Names) -> tuple[Constraint, ...]:
        made: dict[str, Constraint] = {}
        for i, given in enumerate(self._section("constraints", list)):
            try:
                if not isinstance(given, str):
                    raise ExpressionError(f"{given!r} is no constraint; write, for instance, 'step_latency_total < 30 s'")
                condition = constraint(given, names)
                if condition.text in made:
                    raise ExpressionError(f"{condition.text!r} stands twice")
                made[condition.text] = condition
            except ExpressionError as problem:
                self.complain(("constraints", i), str(problem))
        return tuple(made.values())

    def _possible(self, constraints: tuple[Constraint, ...], space: Space, fixed: Mapping[str, np.ndarray]) -> None:
        if self.complaints:
            return
        texts = [" ".join(str(t).split()) for t in self._section("constraints", list)]
        for culprits in never_holds(constraints, space, fixed):
            path = ("constraints", texts.index(culprits[0].text))
            if len(culprits) == 1:
                self.complain(path, f"{culprits[0].text!r} holds nowhere in the space")
            else:
                said = " and ".join(repr(c.text) for c in culprits)
                self.complain(path, f"{said} hold nowhere together in the space")

    def _options(self, given: dict[str, Any], space: Space | None, objectives: int) -> SearchOptions:
        for key in given:
            if key not in SEARCH_KEYS:
                self.complain(("search", key), f"is no key of search{near(str(key), SEARCH_KEYS)}")
        method, keep = given.get("method", "auto"), given.get("keep", "all")
        known = ("auto", *SEARCHES)
        if method not in known:
            self.complain(("search", "method"), f"{method!r} is no method{near(str(method), known)}; there are {', '.join(known)}")
        if keep not in KEEP:
            self.complain(("search", "keep"), f"{keep!r} is neither all nor front{near(str(keep), KEEP)}")
        trials = self._whole(given, "trials", 1, MOST_TRIALS)
        seed, batch = self._whole(given, "seed", 0, 2**32 - 1), self._whole(given, "batch", 1, 1_000_000)
        if space is not None and method in known and not self.complaints:
            method = chosen_method(method, space, objectives, trials)
            if method == "grid" and space.continuous:
                for name in space.continuous:
                    self.complain(("space", name), "a range in a grid needs step or powers_of; other methods take it as it is")
        return SearchOptions(str(method), trials, seed or 0, batch, str(keep))

    def _whole(self, given: Mapping[str, Any], key: str, low: int, high: int) -> int | None:
        value = given.get(key)
        if value is None:
            return None
        if isinstance(value, float) and value == int(value) and math.isfinite(value):
            value = int(value)
        if type(value) is not int or not low <= value <= high:
            self.complain(("search", key), f"{value!r} is not a whole number from {low} to {high}")
            return None
        return value

    def _resolved(self, title: str, question: str, chain: Chain, fixed: Mapping[str, Any], options: SearchOptions) -> dict[str, Any]:
        """The study with every default written out."""
        written = dict(self._section("fixed", dict))
        for name in fixed:
            if name not in written:
                written[name] = chain.inputs[name].default
        search = {k: v for k, v in dataclasses.asdict(options).items() if v is not None}
        made = {
            "title": title, "question": question, "solvers": list(chain.names), "catalog": self._section("catalog", dict),
            "fixed": {k: _plain(v) for k, v in written.items()},
            "space": {k: [_plain(x) for x in v] if isinstance(v, list) else v for k, v in self._section("space", dict).items()},
            "objectives": self._section("objectives", list), "constraints": self._section("constraints", list),
            "search": search, "versions": versions.versions(),
        }  # fmt: skip
        optional = ("question", "catalog", "constraints")
        return {k: v for k, v in made.items() if v or k not in optional}


def _plain(value: Any) -> Any:
    """A catalogue entry by its name; anything else as it is."""
    from solvers.catalog import Entry

    if isinstance(value, Entry):
        return value.name
    return value if isinstance(value, (str, int, float, bool)) or value is None else str(value)


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
