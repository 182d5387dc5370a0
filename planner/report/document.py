"""What a run found as JSON-ready data: every figure a number in a stated unit."""

from __future__ import annotations

from typing import Any

from planner.report.findings import Findings
from planner.report.record import value

MOST_FRONT = 1_000


def document(found: Findings) -> dict[str, Any]:
    """The plans, the front, what binds and what fails."""
    record = found.record
    front = record.front
    return {
        "title": record.study.title,
        "trials": record.trials,
        "feasible": record.feasible,
        "units": {
            name: column.unit
            for name, column in record.columns.items()
            if column.unit not in ("choice", "name", "reasons")
        },
        "objectives": [
            {"objective": goal.text, "unit": goal.unit, "meaning": goal.description} for goal in found.goals
        ],
        "plans": [
            {"role": p.role, "trial": p.trial, "bound_by": list(p.binds)} | _row(found, p.trial) for p in found.plans
        ],
        "front": [_row(found, int(trial)) | {"trial": int(trial)} for trial in front["trial"][:MOST_FRONT]],
        "front_size": len(front),
        "constraints": [
            {"constraint": c, "least_to_spare": low, "most_to_spare": high} for c, low, high in found.slack
        ],
        "infeasible": [
            {"code": f.code, "trials": f.trials, "sentence": f.sentence, "remedy": f.remedy} for f in found.failures
        ],
        "nearest_miss": found.nearest,
        "relaxations": [{"constraint": r.constraint, "gains": list(r.gains)} for r in found.relaxations],
    }


def _row(found: Findings, trial: int) -> dict[str, Any]:
    record = found.record
    frame = record.front.take(record.front["trial"] == trial)
    row = frame.row(0)
    goals = {g.text: float(value(o, frame)[0]) for g, o in zip(found.goals, record.study.objectives, strict=True)}
    return {"parameters": {name: row[name] for name in record.parameters}, "objectives": goals}
