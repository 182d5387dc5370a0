"""From a batch of configurations to metrics: the chain, the constraints and the objectives, each at its own rank."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from planner.search import Batch
from planner.study import Study
from solvers.columns import Array
from solvers.complaints import Complaint, InvalidInput
from solvers.reasons import all_reasons

SIGNAL_BITS = 62
SHORTFALLS = {"does_not_fit": ("memory_per_accelerator", "memory_capacity")}
"""Reasons that can be missed by more or less: the columns of what is needed and what is there."""


@dataclass(frozen=True, eq=False)
class Rows:
    """What became of a batch; arrays broadcast to the batch's shape."""

    batch: Batch
    metrics: Mapping[str, Array]
    signals: Array
    """A bit for each reason, each constraint that fails and each objective without a value; 0 is feasible."""
    violation: Array
    violations: tuple[Array, ...]
    """First whether the chain can be (how many reasons there are), then each constraint."""
    objectives: tuple[Array, ...]
    """Less is better."""
    failed: Array

    def full(self, values: Array) -> np.ndarray:
        """An array at the batch's full shape, flattened in the order of the trials."""
        return np.broadcast_to(values, self.batch.shape).reshape(-1)


@dataclass(frozen=True)
class Signals:
    """The codes behind the bits of a trial's signals."""

    reasons: tuple[str, ...]
    constraints: tuple[str, ...]
    objectives: tuple[str, ...]

    @property
    def codes(self) -> tuple[str, ...]:
        """Every code, in bit order."""
        return (*self.reasons, *self.constraints, *self.objectives)

    def text(self, bits: int) -> str | None:
        """The codes in one row's bits, joined by commas; None for none."""
        return ",".join(c for i, c in enumerate(self.codes) if bits >> i & 1) or None


def signals_of(study: Study) -> Signals:
    """The codes that a study's trials may carry.

    Raises:
        InvalidInput: there are more constraints than a trial has bits for.
    """
    reasons = tuple(r.code for r in all_reasons())
    made = Signals(
        reasons,
        tuple(c.code for c in study.constraints),
        tuple(f"no_value:{o.expression.text}" for o in study.objectives),
    )
    if len(made.codes) > SIGNAL_BITS:
        room = SIGNAL_BITS - len(reasons) - len(study.objectives)
        raise InvalidInput(
            [Complaint("constraints", f"there are {len(study.constraints)}; at most {room} are possible here")]
        )
    return made


class Evaluator:
    """A study's chain, constraints and objectives as one function over batches."""

    def __init__(self, study: Study) -> None:
        self.study = study
        self.signals = signals_of(study)
        goals = [*(o.expression.takes for o in study.objectives), *(c.takes for c in study.constraints)]
        goals += [(have,) for need, have in SHORTFALLS.values() if need in study.chain.outputs]
        known = {*study.chain.outputs, *study.fixed, *study.space.names}
        named = dict.fromkeys(n for takes in goals for n in takes if n not in known)
        self.from_records = tuple(n for n in named if n in study.chain.overridable)
        """Catalogue figures that are needed here although nobody gave them."""

    def __call__(self, batch: Batch) -> Rows:
        """Evaluate a batch."""
        codes = self.study.space.codes(batch.coordinates)
        given = {**self.study.fixed, **codes}
        with np.errstate(all="ignore"):
            plans, made, _ = self.study.problem.trace(given)
            columns = {**given, **made}
            for name in self.from_records:
                columns[name] = _from_plans(plans, name)
            return self._judged(batch, made, columns)

    def _judged(self, batch: Batch, made: Mapping[str, Array], columns: Mapping[str, Array]) -> Rows:
        signals = np.asarray(made["reasons"], dtype=np.int64)
        violations: list[Array] = [self._impossible(signals, columns)]
        bit = len(self.signals.reasons)
        for condition in self.study.constraints:
            missed = np.asarray(condition.violation(columns))
            violations.append(missed)
            signals = signals | (np.asarray(missed > 0, dtype=np.int64) << bit)
            bit += 1
        objectives, failed = [], np.zeros((1,), dtype=bool)
        for goal in self.study.objectives:
            value = np.asarray(goal.minimised(columns), dtype=np.float64)
            missing = ~np.isfinite(value)
            if missing.any():
                signals = signals | (missing.astype(np.int64) << bit)
                failed = failed | missing
            objectives.append(value)
            bit += 1
        violation = overall(violations)
        if failed.any():
            violation = np.where(failed, np.inf, violation)
        metrics = {n: made[n] for n in self.study.chain.outputs}
        return Rows(batch, metrics, signals, violation, tuple(violations), tuple(objectives), failed)

    def _impossible(self, signals: Array, columns: Mapping[str, Array]) -> Array:
        """How many reasons there are, each that can be measured with the share of the need that is lacking."""
        count = np.bitwise_count(signals).astype(np.float64)
        for code, (need, have) in SHORTFALLS.items():
            if need in columns and have in columns and code in self.signals.reasons:
                marked = signals >> self.signals.reasons.index(code) & 1
                lacking = np.maximum(1.0 - columns[have] / np.maximum(columns[need], 1e-300), 0.0)
                count = count + np.where(marked == 1, np.minimum(lacking, 1.0), 0.0)
        return count

    def matrix(self, rows: Rows) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """A batch's objectives and violations as matrices, and which rows failed."""
        objectives = np.stack([rows.full(o) for o in rows.objectives], axis=1)
        violations = np.stack([rows.full(v) for v in rows.violations], axis=1)
        return objectives, violations, rows.full(rows.failed)


def overall(violations: list[Array]) -> Array:
    """How far a row is from feasible: what is missed, summed; where all holds, the tightest constraint (0 or below)."""
    if len(violations) == 1:
        return violations[0]
    missed = np.maximum(violations[0], 0.0)
    tightest = violations[1]
    for v in violations[1:]:
        missed = missed + np.maximum(v, 0.0)
        tightest = np.maximum(tightest, v)
    return np.where(missed > 0, missed, tightest)


def _from_plans(plans: Mapping[str, Any], name: str) -> Array:
    for plan in plans.values():
        for item in dataclasses.fields(plan):
            value = getattr(plan, item.name)
            if dataclasses.is_dataclass(value) and any(f.name == name for f in dataclasses.fields(value)):
                return getattr(value, name)
    raise KeyError(name)
