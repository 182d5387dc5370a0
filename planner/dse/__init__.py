"""A design-space explorer for any function: `DSE(space=..., objective=...).search(evaluate)`.

A function that is one call of a `Pipeline` runs over arrays; any other is called once for each configuration.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from planner.dse.byarrays import search_by_arrays
from planner.dse.byrows import RowSearch
from planner.dse.early import check_goals
from planner.search import SEARCHES, chosen_method
from planner.study.expressions import ExpressionError
from planner.study.parameters import ParameterError, choices, span
from planner.study.space import Parameter, Space
from solvers.complaints import Complaint, InvalidInput, near

Evaluate = Callable[[dict[str, Any]], Any]


class DSE:
    """Searches a space for the configurations that a function rates best.

    dse = DSE(space={"tp": [1, 2, 4, 8]}, objective="maximize: DistributedModel.effective_throughput")
    best = dse.search(evaluate)["best_params"]
    """

    def __init__(
        self,
        space: Mapping[str, Any],
        objective: str | None = None,
        *,
        objectives: Iterable[str] | None = None,
        constraints: Iterable[str] = (),
        method: str = "auto",
        trials: int | None = None,
        seed: int = 0,
        top: int = 10,
    ) -> None:
        """Check the space, the goals and the method.

        Args:
            space: for each parameter its choices, or a range such as `{"low": 1, "high": 16, "powers_of": 2}`.
            objective: `"maximize: column"` or `"minimize: Solver.column"`.
            objectives: several of these, instead.
            constraints: comparisons that must hold, such as `"DistributedModel.step_latency_total < 30 s"`.
            method: `grid`, `random`, `tpe`, `nsga2`, `gp`, or `auto`.
            trials: how many configurations to try; all of a grid where none is given.
            seed: of the random draws.
            top: how many candidates to keep.

        Raises:
            InvalidInput: with every complaint.
        """
        complaints: list[Complaint] = []
        self.space = _space(space, complaints)
        if (objective is None) == (objectives is None):
            complaints.append(Complaint("objective", "give either objective or objectives"))
        self.objectives = [objective] if objective is not None else list(objectives or ())
        self.constraints = [constraints] if isinstance(constraints, str) else list(constraints)
        known = ("auto", *SEARCHES)
        if method not in known:
            complaints.append(
                Complaint("method", f"{method!r} is none{near(str(method), known)}; there are {', '.join(known)}")
            )
        for name, value, low in (("trials", trials, 1), ("seed", seed, 0), ("top", top, 1)):
            if value is not None and (type(value) is not int or value < low):
                complaints.append(Complaint(name, f"{value!r} is not a whole number from {low}"))
        for text in [*self.objectives, *self.constraints]:
            try:
                check_goals(text, text in self.constraints, self.space)
            except ExpressionError as problem:
                complaints.append(Complaint(str(text), str(problem)))
        if not complaints:
            self.method = chosen_method(method, self.space, len(self.objectives), trials)
            if self.method == "grid":
                for name in self.space.continuous:
                    complaints.append(Complaint(name, "a range in a grid needs step or powers_of"))
        if complaints:
            raise InvalidInput(complaints)
        self.trials, self.seed, self.top = trials, seed, top
        self.result: dict[str, Any] | None = None
        """What was found; after an interruption, what was found until then."""

    def search(self, evaluate: Evaluate) -> dict[str, Any]:
        """Search, and say what was found.

        Args:
            evaluate: takes a dictionary of parameters; returns answers of solvers (one, or several by name), numbers
                by name, or one number.

        Returns:
            `best_params`, `best_objective` (in the unit of its column), `best_result`; `top_candidates`, each with
            `params`, `objective`, `result` and `trial`; `front`, likewise, for several objectives; `trials`, a
            DataFrame; and counts: `evaluated`, `distinct`, `feasible`, `failed`, `reasons`. Where nothing is feasible,
            the best are None and `nearest_miss` says what came closest.

        Raises:
            InvalidInput: a goal names no column, or a parameter is never used.
        """
        found = search_by_arrays(self, evaluate)
        if found is None:
            rows = RowSearch(self, evaluate)
            try:
                found = rows.run()
            except KeyboardInterrupt:
                self.result = rows.result()
                raise
        self.result = found
        return found


def _space(given: Mapping[str, Any], complaints: list[Complaint]) -> Space:
    made: list[Parameter] = []
    if not given:
        complaints.append(Complaint("space", "is empty: name at least one parameter with its choices or range"))
    for name, written in given.items():
        try:
            if isinstance(written, Mapping):
                made.append(span(str(name), written, float, False, float))
            elif isinstance(written, str) or not isinstance(written, Iterable):
                raise ParameterError(f"{written!r} is neither a list of choices nor a range")
            else:
                made.append(_choices(str(name), list(written)))
        except ParameterError as problem:
            key = ".".join([str(name), *(str(k) for k in problem.key if not isinstance(k, int))])
            complaints.append(Complaint(key, str(problem)))
    return Space(tuple(made))


def _choices(name: str, written: list[Any]) -> Parameter:
    """Levels of any kind: numbers, names, catalogue entries. Equal ones are refused."""
    plain = [v.item() if hasattr(v, "item") and hasattr(v, "dtype") else v for v in written]
    for i, value in enumerate(plain):
        if any(type(value) is type(other) and value == other for other in plain[:i]):
            raise ParameterError(f"{value!r} stands twice: each choice once")
    if all(isinstance(v, (int, float, str, bool)) for v in plain):
        return choices(name, plain, lambda v: (v, v))
    if not plain:
        raise ParameterError("has no choices")
    return Parameter(name, tuple(plain))
