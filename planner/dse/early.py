"""A look at goals before the first result is there: what can be known to be wrong is refused at once."""

from __future__ import annotations

from typing import Any

from planner.study.expressions import DimensionError, ExpressionError, Names
from planner.study.goals import constraint, objective, split_objective
from planner.study.space import Parameter, Space
from solvers.columns import Column, declared
from solvers.complaints import near


class _EarlyNames(Names):
    """The columns of every listed solver and the parameters; anything else may still turn up in a result."""

    def column(self, name: str) -> Column:
        """A declared column, a parameter, or a stand-in."""
        from solvers.menu import SOLVERS

        solver, _, short = name.rpartition(".")
        if not solver:
            return self.columns.get(name) or self._stand_in(name)
        if solver in SOLVERS:
            makes = declared(SOLVERS[solver].Answer, solver)
            if short not in makes or short == "reasons":
                raise ExpressionError(f"{solver} makes no column {short!r}{near(short, makes)}")
            return makes[short]
        hint = near(solver, SOLVERS)
        if hint:
            raise ExpressionError(f"there is no solver {solver!r}{hint}")
        return self._stand_in(name)

    def _stand_in(self, name: str) -> Column:
        self.solvers[""] = frozenset()  # type: ignore[index]
        return Column(name, "", "")


def check_goals(text: Any, is_constraint: bool, space: Space) -> None:
    """Refuse an objective or constraint that cannot be read, or names what a listed solver does not make.

    Raises:
        ExpressionError: says what is wrong.
    """
    names = _EarlyNames({p.name: parameter_column(p) for p in space.parameters}, {})
    try:
        if not isinstance(text, str):
            raise ExpressionError("a text is due")
        if is_constraint:
            constraint(text, names)
        else:
            objective(*split_objective(text), names)
    except DimensionError:
        if not names.solvers:
            raise


def parameter_column(parameter: Parameter) -> Column:
    """The column that a parameter of a free space is: a plain number, a flag, or a word."""
    if parameter.labels is None or all(type(v) in (int, float) for v in parameter.labels):
        return Column(parameter.name, "", "")
    if all(isinstance(v, bool) for v in parameter.labels):
        return Column(parameter.name, "bool", "")
    return Column(parameter.name, "choice", "", choices=tuple(map(str, parameter.labels)))
