"""A report says what the trials hold, and nothing else."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from planner.report import read_report
from planner.report.document import document
from planner.report.summary import summary
from planner.run import load_run
from planner.run.explorer import explore
from solvers.complaints import InvalidInput


def test_the_plans_are_the_best_of_the_trials(serve: Path) -> None:
    trials = load_run(serve).trials()
    feasible = trials[trials["feasible"]]
    roles = {p.role: p.trial for p in read_report(serve).findings.plans}
    fastest = next(t for r, t in roles.items() if "ighest effective throughput" in r)
    cheapest = next(t for r, t in roles.items() if "owest cost per million tokens" in r)
    rows = trials.set_index("trial")
    assert rows.effective_throughput[fastest] == feasible.effective_throughput.max()
    assert rows.cost_per_million_tokens[cheapest] == feasible.cost_per_million_tokens.min()


def test_no_plan_that_cannot_be_is_recommended(serve: Path) -> None:
    trials = load_run(serve).trials().set_index("trial")
    assert all(trials.feasible[p.trial] for p in read_report(serve).findings.plans)


def test_counts_are_those_of_the_trials(serve: Path) -> None:
    found = read_report(serve).findings
    trials = load_run(serve).trials()
    assert (found.record.trials, found.record.feasible) == (len(trials), int(trials.feasible.sum()))
    codes = trials["reasons"].dropna().str.split(",").explode().value_counts()
    assert dict(found.record.reasons) == codes.to_dict()
    assert {f.code: f.trials for f in found.failures}.items() <= codes.to_dict().items()


def test_reasons_come_with_figures_and_remedies(serve: Path) -> None:
    failures = {f.code: f for f in read_report(serve).findings.failures}
    assert "GiB" in failures["does_not_fit"].sentence
    assert "Shard" in failures["does_not_fit"].remedy
    assert "fp8" in failures["precision_unsupported"].sentence
    assert not any("{" in f.sentence + f.remedy for f in failures.values())


def test_a_missing_value_is_not_counted_beside_its_cause(serve: Path) -> None:
    failures = {f.code for f in read_report(serve).findings.failures}
    assert not any(code.startswith("no_value") for code in failures if "precision_unsupported" in failures)


def test_relaxations_are_true(serve: Path) -> None:
    trials = load_run(serve).trials()
    best = trials[trials.feasible].effective_throughput.max()
    for relaxed in read_report(serve).findings.relaxations:
        alone = trials[trials.reasons == f"constraint:{relaxed.constraint}"]
        gain = [g for g in relaxed.gains if "throughput" in g]
        assert bool(gain) == bool(alone.effective_throughput.max() > best)


def test_spare_room_agrees_with_the_trials(serve: Path) -> None:
    slack = {text: (least, most) for text, least, most in read_report(serve).findings.slack}
    front = load_run(serve).front()
    assert slack["itl <= 60 ms"][0] == pytest.approx(float((1 - front.itl / 0.06).min()))


def test_nothing_feasible_names_the_nearest_miss(hopeless: Path) -> None:
    found = read_report(hopeless).findings
    assert found.plans == ()
    assert "does not fit" in found.nearest
    lines = [line for _, line in summary(found, [])]
    assert "No plan is feasible" in lines
    assert any("nearest miss" in line for line in lines)


def test_arithmetic_objectives_and_ranges_are_said(sampled: Path) -> None:
    report = read_report(sampled)
    (plan,) = report.findings.plans
    row = load_run(sampled).front().iloc[0]
    assert document(report.findings)["plans"][0]["objectives"] == {
        "maximize: effective_throughput / cost_per_hour": pytest.approx(
            row.effective_throughput / row.cost_per_hour * 3600
        )
    }
    assert "efficiency" in plan.name


def test_the_summary_wraps_only_where_it_is_told(serve: Path) -> None:
    report = read_report(serve)
    wrapped = [line for _, line in summary(report.findings, report.used, None, 80)]
    whole = [line for _, line in summary(report.findings, report.used, None)]
    assert max(map(len, whole)) > 110
    assert len(wrapped) > len(whole)
    assert " ".join(" ".join(wrapped).split()) == " ".join(" ".join(whole).split())


def test_json_holds_numbers_in_stated_units(serve: Path) -> None:
    made = json.loads(json.dumps(document(read_report(serve).findings)))
    front = load_run(serve).front().set_index("trial")
    for plan in made["plans"]:
        assert plan["objectives"]["minimize: itl"] == front.itl[plan["trial"]]
    assert made["units"]["itl"] == "s"
    assert made["front_size"] == len(made["front"]) == len(front)


def test_the_sample_of_others_leaves_out_the_front(serve: Path) -> None:
    record = read_report(serve).findings.record
    assert not np.isin(record.others["trial"], record.front["trial"]).any()
    assert len(record.others) + len(record.front) == record.trials


def test_every_source_is_named(serve: Path) -> None:
    used = read_report(serve).used
    assert all(u.source and u.how for u in used)
    assert {"Llama-3-8B", "H100-SXM", "L40S"} <= {u.entry for u in used}
    assert any(u.quantity == "memory_bandwidth" and u.said == "3.35 TB/s" for u in used if u.entry == "H100-SXM")


def test_a_folder_without_a_run_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="no run"):
        read_report(tmp_path)


def test_a_broken_part_is_left_out(serve: Path, tmp_path: Path) -> None:
    import shutil

    copy = tmp_path / "copy"
    shutil.copytree(serve, copy)
    (copy / "trials" / "part-foreign.parquet").write_bytes(b"PAR1 and no more")
    pd.DataFrame({"a": [1]}).to_parquet(copy / "trials" / "other.parquet")
    assert read_report(copy).findings.record.trials == read_report(serve).findings.record.trials


def summary_text(run: Path) -> str:
    return "\n".join(line for _, line in summary(read_report(run).findings, []))


def test_a_goal_may_take_what_is_fixed(tmp_path: Path) -> None:
    goals = [{"minimize": "itl"}, {"maximize": "effective_throughput / input_tokens"}]
    fixed = {"model": "Llama3_8B", "hardware": "H100", "input_tokens": 512}
    asked = {"solvers": ["ServingModel"], "fixed": fixed, "space": {"batch_size": [1, 8, 64]}, "objectives": goals}
    explore(asked, tmp_path / "run")
    said = summary_text(tmp_path / "run")
    assert "ighest effective_throughput / input_tokens" in said


def test_a_run_that_was_stopped_says_so_and_shows_what_it_has(serve: Path, tmp_path: Path) -> None:
    stopped = tmp_path / "run"
    shutil.copytree(serve, stopped)
    info = json.loads((stopped / "run.json").read_text())
    gone = ("best", "knee", "hypervolume", "front")
    kept = {k: v for k, v in info.items() if k not in gone}
    (stopped / "run.json").write_text(json.dumps(kept | {"state": "interrupted"}))
    (stopped / "front.parquet").unlink()
    whole, found = read_report(serve).findings, read_report(stopped).findings
    assert [p.trial for p in found.plans] == [p.trial for p in whole.plans]
    assert "not at its end (interrupted)" in summary_text(stopped)
    assert "not at its end" not in summary_text(serve)
