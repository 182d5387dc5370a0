"""What reports say of accuracy is what was recorded."""

from __future__ import annotations

from planner.report.accuracy import how_sure, recorded
from solvers.menu import SOLVERS


def test_every_score_is_of_a_solver() -> None:
    scores = recorded()
    assert scores
    assert {a.solver for a in scores} <= set(SOLVERS)
    assert all(0 < a.median_ape < 1 and a.rows >= a.cells > 0 for a in scores)


def test_every_solver_is_spoken_of_once_in_brief() -> None:
    lines = list(how_sure(SOLVERS, brief=True))
    assert [line.split(":")[0] for line in lines[:-1]] == list(SOLVERS)
    assert "expect worse" in lines[-1]


def test_metrics_stand_behind_their_kind_of_measurements() -> None:
    serving = next(a for a in recorded() if a.what == "serving" and a.metric == "tpot_ms")
    (line,) = (x for x in how_sure(["ServingModel"]) if "on serving" in x)
    assert f"tpot_ms {serving.median_ape:.1%}" in line or f"tpot_ms {serving.median_ape:.0%}" in line
