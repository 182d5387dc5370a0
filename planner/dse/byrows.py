"""A search over any function, one configuration after another."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from planner.dse.early import parameter_column
from planner.dse.metrics import ALONE, Metrics, metrics_of
from planner.dse.ranking import ranked, spoken
from planner.dse.watched import Watched
from planner.run.evaluate import overall
from planner.search import DEFAULT_TRIALS, SEARCHES, Batch
from planner.study.expressions import ExpressionError, Names
from planner.study.goals import Constraint, Objective, constraint, objective, split_objective
from solvers.columns import Column
from solvers.complaints import Complaint, InfeasiblePlan, InvalidInput
from solvers.telling import InfeasibleWarning

if TYPE_CHECKING:
    from planner.dse import DSE, Evaluate

DOMAIN_FAILURES = (ValueError, ArithmeticError)
"""What a function may raise for a configuration that has no answer; anything else is a mistake in the function."""
LOOKS = 50
"""After so many answers, a parameter that was never read is taken for unused."""


@dataclass(frozen=True, eq=False)
class Record:
    """One evaluation."""

    params: Mapping[str, Any]
    result: Any
    values: Mapping[str, Any]
    objectives: tuple[float, ...]
    """Less is better; NaN where there is none."""
    violations: tuple[float, ...]
    reasons: tuple[str, ...]
    failed: bool

    @property
    def feasible(self) -> bool:
        """It has an answer, it fits, and every constraint holds."""
        return not self.failed and all(v <= 0 for v in self.violations)

    @property
    def violation(self) -> float:
        """At most 0 when all constraints hold; infinite where there is no answer."""
        return float("inf") if self.failed else float(overall([np.float64(v) for v in self.violations]))


class _ResultNames(Names):
    """The names of a result's values, plain or with the solver that made them."""

    def column(self, name: str) -> Column:
        return self.columns[name] if name in self.columns else super().column(name)


class RowSearch:
    """Calls a function for each configuration that a search asks for, and keeps what came of it."""

    def __init__(self, dse: DSE, evaluate: Evaluate) -> None:
        self.dse, self.evaluate = dse, evaluate
        self.records: list[Record] = []
        self.known: dict[tuple[Any, ...], Record] = {}
        self.goals: tuple[tuple[Objective, ...], tuple[Constraint, ...]] | None = None
        self.units: dict[str, str] = {}
        self.unread = set(dse.space.names)
        self.answers = 0
        self.first_failure: Exception | None = None

    def run(self) -> dict[str, Any]:
        """Search to the end.

        Raises:
            InvalidInput: a goal names no value of the results, or a parameter is never read.
        """
        search = self._search()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", InfeasibleWarning)  # the trials say so
            for batch in search.batches():
                told = [self._record(key, params) for key, params in self._configurations(batch)]
                self._tell(search, batch, told)
        if self.first_failure is not None and not self.answers:
            raise self.first_failure
        self._refuse_unread()
        return self.result()

    def _search(self) -> Any:
        dse, method = self.dse, SEARCHES[self.dse.method]
        if dse.method == "grid":
            from planner.search.grid import Grid

            size = dse.space.size or 0
            return Grid(dse.space, 0, min(size, dse.trials or size), slab_rows=1024)
        trials = dse.trials or method.default_trials or DEFAULT_TRIALS
        names = ["chain", *dse.constraints]
        return method.load().make(
            dse.space, dse.method, seed=dse.seed, trials=trials, objectives=len(dse.objectives), constraints=names
        )

    def _configurations(self, batch: Batch) -> Iterator[tuple[tuple[Any, ...], dict[str, Any]]]:
        space = self.dse.space
        flat = {n: np.broadcast_to(c, batch.shape).reshape(-1) for n, c in batch.coordinates.items()}
        for row, key in enumerate(space.keys(flat)):
            params = {}
            for p in space.parameters:
                at = flat[p.name][row]
                whole = int(at) if p.integer else float(at)
                params[p.name] = p.labels[int(at)] if p.labels is not None else whole
            yield key, params

    def _tell(self, search: Any, batch: Batch, told: list[Record]) -> None:
        objectives = np.array([r.objectives for r in told], dtype=np.float64).reshape(len(told), -1)
        violations = np.array([r.violations for r in told], dtype=np.float64).reshape(len(told), -1)
        search.tell(batch, objectives, violations, np.array([r.failed for r in told]))

    def _record(self, key: tuple[Any, ...], params: dict[str, Any]) -> Record:
        record = self.known.get(key)
        if record is None:
            record = self.known[key] = self._evaluate(params)
        self.records.append(record)
        return record

    def _evaluate(self, params: dict[str, Any]) -> Record:
        given = Watched(params, self.unread)
        try:
            result = self.evaluate(given)
        except InfeasiblePlan as problem:
            reasons = tuple(getattr(problem.answer, "reasons", None) or ("infeasible",))
            return self._without_answer(params, reasons, failed=False)
        except DOMAIN_FAILURES as problem:
            self.first_failure = self.first_failure or problem
            return self._without_answer(params, (f"{type(problem).__name__}: {problem}",), failed=True)
        made = self._judged(params, result)
        self.answers += 1
        if self.answers == LOOKS:
            self._refuse_unread()
        return made

    def _without_answer(self, params: dict[str, Any], reasons: tuple[str, ...], *, failed: bool) -> Record:
        missing = (float("nan"),) * len(self.dse.objectives)
        broken = (1.0, *(0.0 for _ in self.dse.constraints))
        return Record(params, None, {}, missing, broken, reasons, failed)

    def _judged(self, params: dict[str, Any], result: Any) -> Record:
        metrics = metrics_of(result)
        if self.goals is None:
            self.goals = self._goals(metrics)
        objectives, constraints = self.goals
        columns = self._columns(metrics, params)
        with np.errstate(all="ignore"):
            aims = [np.float64(o.minimised(columns)) for o in objectives]
            missed = [float(c.violation(columns)) for c in constraints]
        reasons = [*metrics.reasons, *(c.code for c, v in zip(constraints, missed, strict=True) if v > 0)]
        missing = [o.expression.text for o, v in zip(objectives, aims, strict=True) if not np.isfinite(v)]
        reasons += [f"no_value:{text}" for text in missing]
        unfit = 0.0 if metrics.feasible else float(max(len(metrics.reasons), 1))
        if unfit and not metrics.reasons:
            reasons.append("infeasible")
        plain = {n: v for n, v in metrics.values.items() if "." not in n}
        return Record(params, result, plain, tuple(map(float, aims)), (unfit, *missed), tuple(reasons), bool(missing))

    def _columns(self, metrics: Metrics, params: Mapping[str, Any]) -> dict[str, Any]:
        """A row's values as the goals take them: words as codes; a value that changes its unit is a mistake."""
        made: dict[str, Any] = {}
        for p in self.dse.space.parameters:
            column = parameter_column(p)
            value = params[p.name]
            made[p.name] = column.choices.index(str(value)) if column.choices else value
        for name, value in metrics.values.items():
            column = metrics.columns[name]
            if self.units.setdefault(name, column.unit) != column.unit:
                raise TypeError(
                    f"{name} is in {self.units[name] or 'plain numbers'} in one trial and in {column.unit} in another"
                )
            made[name] = column.choices.index(value) if column.choices and value in column.choices else value
        return made

    def _goals(self, metrics: Metrics) -> tuple[tuple[Objective, ...], tuple[Constraint, ...]]:
        columns = {p.name: parameter_column(p) for p in self.dse.space.parameters} | dict(metrics.columns)
        names, complaints = _ResultNames(columns, metrics.solvers), []
        objectives, constraints = [], []
        alone = set(metrics.values) == {ALONE} and len(self.dse.objectives) == 1
        for text in self.dse.objectives:
            try:
                direction, expression = split_objective(text)
                objectives.append(
                    objective(direction, ALONE if alone and expression.isidentifier() else expression, names)
                )
            except ExpressionError as problem:
                complaints.append(Complaint(text, str(problem)))
        for text in self.dse.constraints:
            try:
                constraints.append(constraint(text, names))
            except ExpressionError as problem:
                complaints.append(Complaint(text, str(problem)))
        if complaints:
            raise InvalidInput(complaints)
        return tuple(objectives), tuple(constraints)

    def _refuse_unread(self) -> None:
        if self.unread and self.answers:
            raise InvalidInput(
                Complaint(name, "is never used by the function that was given") for name in sorted(self.unread)
            )

    def result(self) -> dict[str, Any]:
        """What was found so far."""
        records = self.records
        feasible = [i for i, r in enumerate(records) if r.feasible]
        reasons = Counter(code for r in records for code in r.reasons)
        made: dict[str, Any] = {
            "best_params": None, "best_objective": None, "best_result": None, "top_candidates": [], "front": [],
            "evaluated": len(records), "distinct": len(self.known), "feasible": len(feasible),
            "failed": sum(r.failed for r in records), "reasons": dict(reasons.most_common()), "method": self.dse.method,
            "exhausted": len(self.known) == self.dse.space.size, "trials": self._frame(),
        }  # fmt: skip
        if feasible:
            points = np.array([records[i].objectives for i in feasible])
            made |= ranked(points, self.dse.top, lambda at: self._candidate(feasible[at]))
        elif records:
            nearest = min(range(len(records)), key=lambda i: (records[i].violation, i))
            made["nearest_miss"] = self._candidate(nearest) | {
                "violation": records[nearest].violation, "reasons": list(records[nearest].reasons),
            }  # fmt: skip
        return made

    def _candidate(self, trial: int) -> dict[str, Any]:
        record = self.records[trial]
        objectives = self.goals[0] if self.goals else ()
        values = [-v if o.maximized else v for o, v in zip(objectives, record.objectives, strict=False)]
        return {
            "params": dict(record.params), "objective": spoken(self.dse.objectives, values), "result": record.result,
            "trial": trial,
        }  # fmt: skip

    def _frame(self) -> Any:
        import pandas as pd

        rows = [
            {
                "trial": i, **r.params, **{n: v for n, v in r.values.items() if n not in r.params},
                "feasible": r.feasible, "reasons": ",".join(r.reasons) or None, "violation": r.violation,
                "state": "failed" if r.failed else "complete",
            }
            for i, r in enumerate(self.records)
        ]  # fmt: skip
        made = pd.DataFrame(rows)
        own = ["feasible", "reasons", "violation", "state"]
        made = made[[c for c in made.columns if c not in own] + own] if rows else made
        made.attrs["units"] = {n: u for n, u in self.units.items() if "." not in n}
        return made
