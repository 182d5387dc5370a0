"""The account of one plan agrees with the trials around it."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest

from planner.report.explain import document, explain, lines
from planner.run import load_run
from solvers.complaints import InvalidInput


def test_variations_are_the_neighbouring_trials(serve: Path) -> None:
    trials = load_run(serve).trials()
    trial = trials[trials.feasible].iloc[0]
    found = explain(serve, int(trial.trial))
    parameters = ["hardware", "precision", "batch_size", "efficiency"]
    assert len(found.variations) == (3 - 1) + (2 - 1) + (5 - 1) + (4 - 1)
    for variation in found.variations:
        others = [p for p in parameters if p != variation.parameter]
        same = trials[(trials[others] == trial[others]).all(axis=1)]
        match = [r for _, r in same.iterrows() if r[variation.parameter] == variation.label]
        assert len(match) == 1, variation
        assert bool(match[0].feasible) == variation.feasible
        if math.isfinite(variation.changes[2]):
            assert variation.changes[2] == pytest.approx((trial.itl - match[0].itl) / trial.itl)


def test_more_of_a_price_is_dearer_and_more_bandwidth_no_slower(serve: Path) -> None:
    front = load_run(serve).front()
    found = explain(serve, int(front.trial.iloc[0]))
    levers = {
        lever.field: dict(zip(("throughput", "cost", "itl"), lever.changes, strict=True)) for lever in found.levers
    }
    assert levers["price_per_hour"]["cost"] == pytest.approx(-0.1)
    assert levers["memory_bandwidth"]["itl"] >= 0


def test_parts_make_up_the_whole(serve: Path) -> None:
    found = explain(serve, int(load_run(serve).front().trial.iloc[0]))
    for title, parts in found.breakdowns:
        assert sum(p.share for p in parts) == pytest.approx(1, abs=0.01), title


def test_an_infeasible_plan_says_why_and_what_would_help(serve: Path) -> None:
    trials = load_run(serve).trials()
    bad = trials[trials.reasons.fillna("").str.contains("does_not_fit")].iloc[0]
    found = explain(serve, int(bad.trial))
    assert not found.feasible
    assert any("GiB" in why for why in found.why)
    text = "\n".join(line for _, line in lines(found))
    assert "Not feasible" in text
    assert "make it feasible" in text or "makes it feasible" in text


def test_a_sampled_plan_is_varied_within_its_range(sampled: Path) -> None:
    found = explain(sampled, 3)
    moved = [v for v in found.variations if v.parameter == "efficiency"]
    assert moved
    assert all(0.3 <= v.label <= 0.6 for v in moved)


def test_json_holds_numbers_in_stated_units(serve: Path) -> None:
    trial = load_run(serve).front().iloc[0]
    made = json.loads(json.dumps(document(explain(serve, int(trial.trial)))))
    assert made["answers"]["ServingModel"]["itl"] == {"value": pytest.approx(trial.itl, rel=1e-12), "unit": "s"}
    assert made["feasible"] is True


def test_an_unknown_trial_is_refused(serve: Path) -> None:
    with pytest.raises(InvalidInput, match=r"no trial 999999.*0 to"):
        explain(serve, 999_999)
