"""What a function asks of a pipeline, found by calling it once with values that can only be passed on.

The values refuse every operation, so a function that comes through has not looked at them: where each ends up is where
it ends up for all values. Whoever computes with its parameters, branches on them, or changes the answer is left alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from planner.pipeline import Pipeline, recording


@dataclass(frozen=True)
class Traced:
    """A function that is one call of a pipeline."""

    pipeline: Pipeline
    constants: dict[str, Any]
    renamed: dict[str, str]
    """For each parameter of the function the argument of the pipeline that it becomes."""


class _LookedAt(BaseException):
    """Somebody did more with a value than passing it on."""


class _Opaque:
    """Stands for a value: it can be handed on, and nothing else."""

    def __getattribute__(self, name: str) -> Any:
        raise _LookedAt

    def __setattr__(self, name: str, value: Any) -> None:
        raise _LookedAt


def _refuse(self: Any, *args: Any) -> Any:
    raise _LookedAt


_OPERATIONS = """
    eq ne lt le gt ge hash bool len iter contains getitem call int float index complex str repr format bytes
    add radd sub rsub mul rmul truediv rtruediv floordiv rfloordiv mod rmod pow rpow divmod rdivmod neg pos abs invert
    and rand or ror xor rxor lshift rlshift rshift rrshift matmul rmatmul round trunc floor ceil
    enter exit reversed next reduce_ex copy deepcopy
"""
for _operation in _OPERATIONS.split():
    setattr(_Opaque, f"__{_operation}__", _refuse)


def trace(function: Callable[[dict[str, Any]], Any], parameters: Iterable[str]) -> Traced | None:
    """The one call of a pipeline that a function is, or None where that cannot be shown."""
    if not _may_be_called_so(function):
        return None
    stand_ins = {name: _Opaque() for name in parameters}
    notes = _Notes()
    token = recording.set(notes)
    try:
        returned = function(dict(stand_ins))
    except (_LookedAt, Exception):  # calling the function row by row will show whatever it is
        return None
    finally:
        recording.reset(token)
    if len(notes.calls) != 1 or returned is not notes.calls[0][2]:
        return None
    pipeline, given, _ = notes.calls[0]
    renamed: dict[str, str] = {}
    constants: dict[str, Any] = {}
    for argument, value in given.items():
        name = next((n for n, s in stand_ins.items() if s is value), None)
        if name is None:
            constants[argument] = value
        elif name in renamed:
            return None
        else:
            renamed[name] = argument
    if "strict" in constants or any(isinstance(v, (list, dict, tuple, set)) for v in constants.values()):
        return None
    return Traced(pipeline, constants, renamed) if set(renamed) == set(stand_ins) else None


_LEAVES_TRACES = {"append", "add", "extend", "insert", "update", "setdefault", "put", "write", "print", "info", "debug"}
"""What a function calls that remembers or shows its values: it would remember values that are none."""


def _may_be_called_so(function: Callable[..., Any]) -> bool:
    """Whether a function plainly works with a pipeline, and keeps no record of its own."""
    if isinstance(getattr(function, "__self__", None), Pipeline):
        return False
    code = getattr(function, "__code__", None)
    if code is None or _LEAVES_TRACES.intersection(code.co_names):
        return False
    cells = [c.cell_contents for c in getattr(function, "__closure__", None) or () if _filled(c)]
    used = [*cells, *(function.__globals__.get(name) for name in code.co_names)]
    return any(value is Pipeline or isinstance(value, Pipeline) for value in used)


def _filled(cell: Any) -> bool:
    try:
        cell.cell_contents  # noqa: B018 - looking is the test
    except ValueError:
        return False
    return True


class _Notes:
    """Notes calls, each with the empty answer that was given for it."""

    def __init__(self) -> None:
        self.calls: list[tuple[Pipeline, Mapping[str, Any], Any]] = []

    def answer(self, pipeline: Pipeline, given: Mapping[str, Any]) -> Any:
        """Note a call; the answer stands for what would have come."""
        self.calls.append((pipeline, given, _Opaque()))
        return self.calls[-1][2]
