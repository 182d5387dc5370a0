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

import functools
import inspect
import typing
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from solvers.asking import plan_of, read_given
from solvers.chain import Chain, Wiring
from solvers.columns import REQUIRED, Column, declared
from solvers.lowering import SELECTORS, keys_of
from solvers.telling import dress, report

SolverClass = Any
"""A subclass of `Solver` (its functions are cached by class, which a type checker cannot follow)."""


class Solver:
    """A solver: subclasses write `columns`, everything else is derived from its annotations."""

    columns: ClassVar[Any]
    Plan: ClassVar[type]
    Answer: ClassVar[type]

    def __init_subclass__(cls) -> None:
        hints = typing.get_type_hints(cls.columns)
        cls.Answer = hints.pop("return")
        (cls.Plan,) = hints.values()
        cls.solve = _face(cls)  # type: ignore[method-assign]

    def solve(self, *args: Any, **kwargs: Any) -> Any:
        """Answer one question; replaced in every subclass by a function of its plan's own signature."""
        raise TypeError("Solver is abstract: call a subclass")

    @classmethod
    def wiring(cls) -> Wiring:
        """What the solver asks and says, for a chain."""
        solver: SolverClass = cls
        return _wiring(solver)


def answers(chain: Chain, given: Mapping[str, Any], *, strict: bool = False) -> dict[str, Any]:
    """Every solver's answer in a chain for what a person gives: by solver name, dressed.

    Raises:
        InvalidInput: an argument is unknown, missing, unreadable or out of range; all complaints together.
        InfeasiblePlan: under `strict`, when the plan cannot be.
    """
    values, entries = read_given(chain, given)
    made: dict[str, Any] = {}
    dressed = {}
    for wiring in chain.wirings:
        plan = plan_of(wiring, values, entries, made)
        with np.errstate(all="ignore"):  # a plan that cannot be may divide by zero on its way to saying so
            bare = wiring.columns(plan)
        made.update((name, getattr(bare, name)) for name in wiring.says if name != "reasons")
        dressed[wiring.name] = dress(wiring, bare, plan, entries)
    for name, answer in dressed.items():
        report(name, answer, strict)
    return dressed


@functools.cache
def _wiring(cls: SolverClass) -> Wiring:
    name = cls.__name__
    return Wiring(name, cls.Plan, cls.Answer, cls.columns, declared(cls.Plan, name), declared(cls.Answer, name))


@functools.cache
def selectors(cls: SolverClass) -> tuple[str, ...]:
    """The names of catalogue entries that a solver asks for, those for its main records first."""
    records = [column for column in _wiring(cls).asks.values() if column.record is not None]
    return tuple(dict.fromkeys(key for column in records for key in keys_of(column)))


@functools.cache
def _chain(cls: SolverClass) -> Chain:
    return Chain([cls])


def _face(cls: SolverClass) -> Any:
    positional = _positional(cls)

    def solve(self: Solver, *args: Any, strict: bool = False, **given: Any) -> Any:
        if len(args) > len(positional):
            what = " and ".join(positional) or "nothing"
            raise TypeError(f"{cls.__name__}.solve takes {what} by position; name the rest")
        for name, value in zip(positional, args, strict=False):
            if name in given:
                raise TypeError(f"{cls.__name__}.solve got {name} twice")
            given[name] = value
        return answers(_chain(cls), given, strict=strict)[cls.__name__]

    solve.__doc__ = _document(cls)
    solve.__signature__ = _signature(cls)  # type: ignore[attr-defined]
    solve.__name__ = "solve"
    solve.__qualname__ = f"{cls.__name__}.solve"
    return solve


def _positional(cls: SolverClass) -> tuple[str, ...]:
    """What may be given by position: the model, then the fleet or the hardware."""
    asked = selectors(cls)
    place = "fleet" if "fleet" in asked else "hardware"
    return tuple(name for name in ("model", place) if name in asked)


def _signature(cls: SolverClass) -> inspect.Signature:
    """What `help()` and editors show: selecting names first, then the parameters with their defaults."""
    kinds = inspect.Parameter
    positional = _positional(cls)
    shown = [kinds("self", kinds.POSITIONAL_ONLY)]
    shown += [kinds(name, kinds.POSITIONAL_OR_KEYWORD, default=None) for name in positional]
    for name in selectors(cls):
        if name not in positional:
            shown.append(kinds(name, kinds.KEYWORD_ONLY, default=SELECTORS[name].default))
    for column in _parameters(cls):
        default = kinds.empty if column.required else None if column.default is REQUIRED else column.default
        shown.append(kinds(column.name, kinds.KEYWORD_ONLY, default=default))
    shown.append(kinds("strict", kinds.KEYWORD_ONLY, default=False))
    return inspect.Signature(shown, return_annotation=cls.Answer)


def _parameters(cls: SolverClass) -> list[Column]:
    return [column for column in _wiring(cls).asks.values() if column.record is None]


def _document(cls: SolverClass) -> str:
    lines = [inspect.cleandoc(cls.__doc__ or cls.__name__), "", "Args:"]
    lines += [f"    {name}: {SELECTORS[name].description}." for name in selectors(cls)]
    for column in _parameters(cls):
        default = "required" if column.required else "optional" if column.optional else f"default {column.default}"
        lines.append(f"    {column.name}: {column.description} ({column.allowed()}; {default}).")
    lines += ["    strict: raise InfeasiblePlan instead of returning an answer marked infeasible.", "", "Returns:"]
    for column in _wiring(cls).says.values():
        lines.append(f"    {column.name}: {column.description}{f' ({column.unit})' if column.unit else ''}.")
    lines += ["", "Raises:", "    InvalidInput: an argument is unknown, missing or out of range; says which."]
    return "\n".join(lines)
