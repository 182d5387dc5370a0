"""The base of every solver: from two dataclasses and one function to a face that people call.

    class ServingModel(Solver):
        \"\"\"What it answers.\"\"\"

        @staticmethod
        def columns(plan: ServingPlan) -> ServingAnswer: ...

`solve` reads its parameters from the plan, so there is no second list of names. It takes quantities, plain numbers in
the documented unit, or text such as `"500 KB"`; runs the very function that a grid of ten million runs, on NumPy
scalars; and returns the answer's dataclass with quantities in its fields, plus `feasible`, `reasons` and `why`.
"""

from __future__ import annotations

import dataclasses
import functools
import inspect
import math
import typing
import warnings
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from solvers.chain import Chain, Wiring, default_value, encode
from solvers.columns import REQUIRED, Column, declared
from solvers.complaints import Complaint, InfeasiblePlan, InvalidInput, near
from solvers.lowering import SELECTORS, absent, gaps, hardware_of, keys_of, known_fields, single
from solvers.reasons import codes, sentences

SolverClass = Any
"""A subclass of `Solver` (its functions are cached by class, which a type checker cannot follow)."""


class InfeasibleWarning(UserWarning):
    """A face answered for a plan that cannot be; the answer is marked."""


class Solver:
    """A solver: subclasses write `columns`, everything else is derived from its annotations."""

    columns: ClassVar[Any]
    Plan: ClassVar[type]
    Answer: ClassVar[type]

    def __init_subclass__(cls) -> None:
        hints = typing.get_type_hints(cls.columns)
        answer = hints.pop("return")
        (plan,) = hints.values()
        cls.Plan, cls.Answer = plan, answer
        about = {"__doc__": answer.__doc__, "__module__": answer.__module__}
        cls._Dressed = type(answer.__name__, (_Answered, answer), about)
        cls.solve = _face(cls)  # type: ignore[method-assign]

    _Dressed: ClassVar[type]

    def solve(self, *args: Any, **kwargs: Any) -> Any:
        """Answer one question; replaced in every subclass by a function of its plan's own signature."""
        raise TypeError("Solver is abstract: call a subclass")

    @classmethod
    def wiring(cls) -> Wiring:
        """What the solver asks and says, for a chain."""
        solver: SolverClass = cls
        return _wiring(solver)


@functools.cache
def _wiring(cls: SolverClass) -> Wiring:
    name = cls.__name__
    return Wiring(name, cls.Plan, cls.Answer, cls.columns, declared(cls.Plan, name), declared(cls.Answer, name))


class _Answered:
    """What every dressed answer has besides its columns."""

    feasible: bool
    reasons: list[str]
    _figures: Any

    @property
    def why(self) -> str:
        """Why the plan cannot be, with figures and remedies; empty when it can."""
        return " ".join(sentences(self._bits, self._figures()))

    _bits: int = 0

    def __getstate__(self) -> dict[str, Any]:
        return {k: v for k, v in self.__dict__.items() if k != "_figures"} | {"_why": self.why}

    def __repr__(self) -> str:
        shown = ", ".join(f"{k}={v}" for k, v in self.__dict__.items() if not k.startswith("_"))
        return f"{type(self).__name__}({shown})"


@functools.cache
def selectors(cls: SolverClass) -> tuple[str, ...]:
    """The names of catalogue entries that a solver asks for, those for its main records first."""
    names: dict[str, None] = {}
    for column in _wiring(cls).asks.values():
        if column.record is not None:
            names.update(dict.fromkeys(keys_of(column)))
    return tuple(names)


@functools.cache
def _overridable(cls: SolverClass) -> Mapping[str, Column]:
    """The catalogue's fields that may be given by name instead: those of the solver's main records."""
    main = [c.record for c in _wiring(cls).asks.values() if c.record is not None and not c.optional]
    return {name: field for record in reversed(main) for name, field in declared(record).items()}


@functools.cache
def _positional(cls: SolverClass) -> tuple[str, ...]:
    """What may be given by position: the model, then the fleet or the hardware."""
    asked = selectors(cls)
    place = "fleet" if "fleet" in asked else "hardware"
    return tuple(name for name in ("model", place) if name in asked)


def _face(cls: SolverClass) -> Any:
    asks = declared(cls.Plan, cls.__name__)

    def solve(self: Solver, *args: Any, strict: bool = False, **given: Any) -> Any:
        positional = _positional(cls)
        if len(args) > len(positional):
            what = " and ".join(positional) or "nothing"
            raise TypeError(f"{cls.__name__}.solve takes {what} by position; name the rest")
        for name, value in zip(positional, args, strict=False):
            if name in given:
                raise TypeError(f"{cls.__name__}.solve got {name} twice")
            given[name] = value
        return answer(cls, given, strict=strict)

    solve.__doc__ = _document(cls, asks)
    solve.__signature__ = _signature(cls, asks)  # type: ignore[attr-defined]
    solve.__name__ = "solve"
    solve.__qualname__ = f"{cls.__name__}.solve"
    return solve


def _signature(cls: SolverClass, asks: Mapping[str, Column]) -> inspect.Signature:
    """What `help()` and editors show: selecting names first, then the parameters with their defaults."""
    kinds = inspect.Parameter
    positional = _positional(cls)
    shown = [kinds("self", kinds.POSITIONAL_ONLY)]
    shown += [kinds(name, kinds.POSITIONAL_OR_KEYWORD, default=None) for name in positional]
    for name in selectors(cls):
        if name not in positional:
            shown.append(kinds(name, kinds.KEYWORD_ONLY, default=SELECTORS[name].default))
    for column in asks.values():
        if column.record is None:
            default = kinds.empty if column.required else None if column.default is REQUIRED else column.default
            shown.append(kinds(column.name, kinds.KEYWORD_ONLY, default=default))
    shown.append(kinds("strict", kinds.KEYWORD_ONLY, default=False))
    return inspect.Signature(shown, return_annotation=cls.Answer)


def _document(cls: SolverClass, asks: Mapping[str, Column]) -> str:
    lines = [inspect.cleandoc(cls.__doc__ or cls.__name__), "", "Args:"]
    for column in asks.values():
        if column.record is not None:
            keys = ", ".join(keys_of(column))
            lines.append(f"    {keys}: select {column.description}.")
            continue
        default = "required" if column.required else "optional" if column.optional else f"default {column.default}"
        lines.append(f"    {column.name}: {column.description} ({column.allowed()}; {default}).")
    lines += ["    strict: raise InfeasiblePlan instead of returning an answer marked infeasible.", "", "Returns:"]
    for column in declared(cls.Answer, cls.__name__).values():
        lines.append(f"    {column.name}: {column.description}{f' ({column.unit})' if column.unit else ''}.")
    lines += ["", "Raises:", "    InvalidInput: an argument is unknown, missing or out of range; says which."]
    return "\n".join(lines)


def answer(cls: SolverClass, given: Mapping[str, Any], *, strict: bool = False) -> Any:
    """One solver's answer for what a person gives. See `Solver`."""
    values, entries = read_given(cls, given)
    plan = _plan(cls, values, entries)
    bare = cls.columns(plan)
    dressed = dress(cls, bare, plan, entries)
    _report(cls.__name__, dressed, strict)
    return dressed


def read_given(cls: SolverClass, given: Mapping[str, Any]) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """A person's arguments as NumPy scalars and catalogue entries, all complaints together."""
    asks, names = _wiring(cls).asks, selectors(cls)
    complaints: list[Complaint] = []
    values: dict[str, np.ndarray] = {}
    entries: dict[str, Any] = {}
    for name, value in given.items():
        column = asks.get(name) or _overridable(cls).get(name)
        if name in names:
            if value is not None:
                entries.update(_entry(name, value, complaints))
        elif column is None or column.record is not None:
            known = [*names, *(c.name for c in asks.values() if c.record is None), "strict", *_overridable(cls)]
            complaints.append(Complaint(name, f"{cls.__name__} has no such argument{near(name, known)}"))
        elif value is None:
            if not column.optional and column.default is REQUIRED:
                complaints.append(Complaint(name, f"None is no value; give {column.allowed()}"))
        else:
            try:
                values[name] = np.array(encode(column, value))[()]
            except InvalidInput as problem:
                complaints += problem.complaints
    if "fleet" in entries and "hardware" not in entries:
        entries["hardware"] = hardware_of(entries["fleet"])
    complaints += _missing(cls, values, entries)
    if complaints:
        raise InvalidInput(complaints)
    return values, entries


def _entry(name: str, value: Any, complaints: list[Complaint]) -> dict[str, Any]:
    from solvers.catalog import CatalogError, Entry, catalog

    kind = SELECTORS[name].kind
    if isinstance(value, Entry):
        if value.kind == kind:
            return {name: value}
        complaints.append(Complaint(name, f"{value.name} is a {value.kind}, and a {kind} is due"))
        return {}
    if not isinstance(value, str):
        complaints.append(Complaint(name, f"{value!r} is not a {kind}; give a name or a catalogue entry"))
        return {}
    try:
        return {name: catalog.find(kind, value)}
    except CatalogError as problem:
        complaints.append(Complaint(name, str(problem)))
        return {}


def _missing(cls: SolverClass, values: Mapping[str, Any], entries: dict[str, Any]) -> list[Complaint]:
    complaints = []
    for column in _wiring(cls).asks.values():
        if column.record is None:
            sourced = column.source in values
            if column.required and column.name not in values and not sourced:
                complaints.append(Complaint(column.name, f"is missing: {column.description} ({column.allowed()})"))
            continue
        for key in keys_of(column):
            selector = SELECTORS[key]
            if key in entries or column.optional:
                continue
            if selector.default is not None:
                entries.update(_entry(key, selector.default, complaints))
            elif not selector.optional:
                complaints.append(Complaint(key, f"is missing: {selector.description}"))
    unique = {str(c): c for c in complaints}
    return list(unique.values())


def _plan(cls: SolverClass, values: Mapping[str, np.ndarray], entries: Mapping[str, Any]) -> Any:
    return cls.Plan(**{name: _value(column, values, entries) for name, column in _wiring(cls).asks.items()})


def _value(column: Column, values: Mapping[str, np.ndarray], entries: Mapping[str, Any]) -> Any:
    if column.record is not None:
        chosen = tuple(entries.get(key) for key in keys_of(column))
        over = {} if column.optional else {f: values[f] for f in values if f in known_fields(column.record)}
        if not over:
            return _known(column, chosen)
        return dataclasses.replace(_known(column, chosen, tuple(over)), **over)
    if column.name in values:
        return values[column.name]
    if column.source in values:
        return values[column.source]
    return _default(column)


@functools.lru_cache(maxsize=1024)
def _known(column: Column, chosen: tuple[Any, ...], given: tuple[str, ...] = ()) -> Any:
    """The record of the chosen entries; what it needs is there, or among what is given."""
    assert column.record is not None
    if all(entry is None for entry in chosen):
        return absent(column.record)
    lacking = gaps(column, {k: (e,) for k, e in zip(keys_of(column), chosen, strict=True)}, dict.fromkeys(given))
    if lacking:
        what = "the catalogue has no figure"
        raise InvalidInput(Complaint(f, f"not known for {name}: {what}; give {f}=...") for f, name in lacking)
    return single(column.record, chosen)


@functools.cache
def _default(column: Column) -> Any:
    return default_value(column)[0]


def dress(cls: SolverClass, bare: Any, plan: Any, entries: Mapping[str, Any]) -> Any:
    """The answer with quantities: ratios and counts as plain floats, choices as words, flags as bool."""
    made = object.__new__(cls._Dressed)
    fields = made.__dict__
    for name, column in _wiring(cls).says.items():
        fields[name] = dressed_value(column, getattr(bare, name))
    bits = int(_first(bare.reasons)) if "reasons" in _wiring(cls).says else 0
    fields["reasons"] = codes(bits)
    fields["feasible"] = bits == 0
    fields["_bits"] = bits
    fields["_figures"] = functools.partial(figures, cls, plan, fields, entries)
    return made


def _first(value: Any) -> Any:
    return value.flat[0] if isinstance(value, np.ndarray) else value


def dressed_value(column: Column, value: Any) -> Any:
    """One column's value, as a person reads it."""
    from solvers.units import dressed

    value = _first(value)
    if column.choices:
        return column.choices[int(value)]
    if column.unit == "bool":
        return bool(value)
    if column.unit == "reasons":
        return codes(int(value))
    return dressed(float(value), column.unit)


class _Figures(dict[str, Any]):
    """Figures for a sentence; what is not known says so."""

    def __missing__(self, key: str) -> Any:
        return _Unstated()


class _Unstated:
    def __format__(self, spec: str) -> str:
        return "(not stated)"


def figures(cls: SolverClass, plan: Any, answers: Mapping[str, Any], entries: Mapping[str, Any]) -> Mapping[str, Any]:
    """Every figure of a plan and its answer, dressed for a sentence."""
    from solvers.units import readable

    found = _Figures()
    for name, column in _wiring(cls).asks.items():
        value = getattr(plan, name)
        if column.record is None:
            found[name] = _spoken(dressed_value(column, value), readable)
        elif not column.optional:
            for field, inner in declared(column.record).items():
                found.setdefault(field, _spoken(dressed_value(inner, getattr(value, field)), readable))
    for name, value in answers.items():
        if not name.startswith("_"):
            found[name] = _spoken(value, readable)
    for key, entry in entries.items():
        found[key] = getattr(entry, "name", entry)
    return found


def _spoken(value: Any, readable: Any) -> Any:
    if isinstance(value, float):
        return int(value) if math.isfinite(value) and value == int(value) else value
    return readable(value) if hasattr(value, "is_compatible_with") else value


_warned: set[tuple[str, int]] = set()


def _report(name: str, dressed: Any, strict: bool) -> None:
    if dressed.feasible:
        return
    if strict:
        raise InfeasiblePlan(dressed.why, dressed)
    if (name, dressed._bits) not in _warned:
        _warned.add((name, dressed._bits))
        warnings.warn(f"{name}: infeasible plan. {dressed.why}", InfeasibleWarning, stacklevel=5)


def answers(
    chain: Chain, solvers: tuple[SolverClass, ...], given: Mapping[str, Any], *, strict: bool = False
) -> dict[str, Any]:
    """Every solver's answer in a chain for what a person gives: by solver name, dressed.

    Raises:
        InvalidInput: an argument is unknown, missing, unreadable or out of range; all complaints together.
    """
    values, menus = _chain_given(chain, given)
    problem = chain.bind({k: (e,) for k, e in menus.items()}, values)
    menus = {k: entry for k, (entry,) in problem.menus.items()}
    plans, outputs, bare = problem.trace(values)
    dressed = {}
    for cls in solvers:
        dressed[cls.__name__] = dress(cls, bare[cls.__name__], plans[cls.__name__], menus)
    bits = int(_first(np.asarray(outputs["reasons"])))
    for cls in solvers:
        _report(cls.__name__, dressed[cls.__name__], strict and bits != 0)
    return dressed


def _chain_given(chain: Chain, given: Mapping[str, Any]) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    complaints: list[Complaint] = []
    values: dict[str, np.ndarray] = {}
    entries: dict[str, Any] = {}
    for name, value in given.items():
        column = chain.parameter(name)
        if value is None:
            continue
        if column is not None and column.unit == "name":
            entries.update(_entry(name, value, complaints))
        elif column is None:
            hint = near(name, chain.parameters())
            complaints.append(Complaint(name, f"no solver of {', '.join(chain.names)} has such an argument{hint}"))
        else:
            try:
                values[name] = np.array(encode(column, value))[()]
            except InvalidInput as problem:
                complaints += problem.complaints
    for name, column in chain.inputs.items():
        if column.unit == "name" and name not in entries and isinstance(column.default, str):
            entries.update(_entry(name, column.default, complaints))
    if complaints:
        raise InvalidInput(complaints)
    return values, entries
