"""Solvers in a row for one question: each takes by name what those before it made."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from contextvars import ContextVar
from typing import Any, Protocol

from solvers.chain import Chain
from solvers.complaints import Complaint, InvalidInput, near


class Notebook(Protocol):
    """Notes calls instead of answering them, while somebody looks at what a function would ask."""

    def answer(self, pipeline: Pipeline, given: Mapping[str, Any]) -> Any:
        """Note a call; what is returned stands for the answer."""


recording: ContextVar[Notebook | None] = ContextVar("recording", default=None)


class Pipeline:
    """A chain of solvers that answers one question with quantities.

    Pipeline([DistributedModel(), EconomicsModel()]).run(model="Llama3_70B", fleet="Frontier_8K", tp_size=8)
    """

    def __init__(self, solvers: Sequence[Any]) -> None:
        self.solvers = tuple(_solver_class(s) for s in solvers)
        self.chain = _chain(self.solvers)

    def run(self, *, strict: bool = False, **given: Any) -> dict[str, Any]:
        """Every solver's answer, by the solver's name.

        Args:
            strict: raise instead of answering for a plan that cannot be.
            **given: what the solvers ask; those after the first take what the earlier ones made.

        Raises:
            InvalidInput: an argument is unknown (with near names), missing, unreadable or out of range.
            InfeasiblePlan: under `strict`.
        """
        from solvers.solver import answers

        notebook = recording.get()
        if notebook is not None:
            return notebook.answer(self, given | ({"strict": True} if strict else {}))
        return answers(self.chain, given, strict=strict)


@functools.lru_cache(maxsize=64)
def _chain(solvers: tuple[Any, ...]) -> Chain:
    return Chain(solvers)


def _solver_class(solver: Any) -> Any:
    from solvers.menu import SOLVERS
    from solvers.solver import Solver

    if isinstance(solver, str):
        if solver not in SOLVERS:
            raise InvalidInput([Complaint(solver, f"is no solver{near(solver, SOLVERS)}")])
        return SOLVERS[solver]
    cls = solver if isinstance(solver, type) else type(solver)
    if not issubclass(cls, Solver):
        raise InvalidInput([Complaint(cls.__name__, "is no solver")])
    return cls
