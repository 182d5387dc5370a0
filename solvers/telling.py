"""Answers as people read them: quantities, words and sentences."""

from __future__ import annotations

import functools
import math
import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np

from solvers.chain import Wiring
from solvers.columns import Column, declared
from solvers.complaints import InfeasiblePlan
from solvers.reasons import codes, sentences


class InfeasibleWarning(UserWarning):
    """A face answered for a plan that cannot be; the answer is marked."""


class Answered:
    """What every dressed answer has besides its columns."""

    feasible: bool
    reasons: list[str]
    _bits: int = 0
    _figures: Any
    _why: str | None = None

    @property
    def why(self) -> str:
        """Why the plan cannot be, with figures and remedies; empty when it can."""
        return " ".join(sentences(self._bits, self._figures())) if self._why is None else self._why

    def __getstate__(self) -> dict[str, Any]:
        return {k: v for k, v in self.__dict__.items() if k != "_figures"} | {"_why": self.why}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)

    def __repr__(self) -> str:
        shown = ", ".join(f"{k}={v}" for k, v in self.__dict__.items() if not k.startswith("_"))
        return f"{type(self).__name__}({shown})"


@functools.cache
def _dressed_type(answer: type) -> type:
    return type(answer.__name__, (Answered, answer), {"__doc__": answer.__doc__, "__module__": answer.__module__})


def dress(wiring: Wiring, bare: Any, plan: Any, entries: Mapping[str, Any]) -> Any:
    """The answer with quantities: ratios and counts as plain floats, choices as words, flags as bool."""
    made: Any = object.__new__(_dressed_type(wiring.answer))
    fields = made.__dict__
    for name, column in wiring.says.items():
        fields[name] = dressed_value(column, getattr(bare, name))
    bits = int(_first(bare.reasons)) if "reasons" in wiring.says else 0
    fields["reasons"] = codes(bits)
    fields["feasible"] = bits == 0
    fields["_bits"] = bits
    fields["_figures"] = functools.partial(figures, wiring, plan, fields, entries)
    return made


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


def _first(value: Any) -> Any:
    return value.flat[0] if isinstance(value, np.ndarray) else value


class _Figures(dict[str, Any]):
    """Figures for a sentence; what is not known says so."""

    def __missing__(self, key: str) -> Any:
        return _Unstated()


class _Unstated:
    def __format__(self, spec: str) -> str:
        return "(not stated)"


def figures(wiring: Wiring, plan: Any, answers: Mapping[str, Any], entries: Mapping[str, Any]) -> Mapping[str, Any]:
    """Every figure of a plan and its answer, dressed for a sentence."""
    found = _Figures()
    for name, column in wiring.asks.items():
        value = getattr(plan, name)
        if column.record is None:
            found[name] = _spoken(dressed_value(column, value))
        elif not column.optional:
            for field, inner in declared(column.record).items():
                found.setdefault(field, _spoken(dressed_value(inner, getattr(value, field))))
    for name, value in answers.items():
        if not name.startswith("_"):
            found[name] = _spoken(value)
    for key, entry in entries.items():
        found[key] = getattr(entry, "name", entry)
    return found


def _spoken(value: Any) -> Any:
    from solvers.units import readable

    if isinstance(value, float):
        return int(value) if math.isfinite(value) and value == int(value) else value
    return readable(value) if hasattr(value, "is_compatible_with") else value


_warned: set[tuple[str, int]] = set()


def report(name: str, dressed: Any, strict: bool) -> None:
    """Say once that a plan cannot be, or raise.

    Raises:
        InfeasiblePlan: under `strict`, when the plan cannot be.
    """
    if dressed.feasible:
        return
    if strict:
        raise InfeasiblePlan(dressed.why, dressed)
    if (name, dressed._bits) not in _warned:
        _warned.add((name, dressed._bits))
        warnings.warn(f"{name}: infeasible plan. {dressed.why}", InfeasibleWarning, stacklevel=4)
