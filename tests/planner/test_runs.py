from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars
import pyarrow as pa
import pyarrow.dataset
import pyarrow.parquet as pq
import pytest

import planner
from planner.errors import RunFault, RunInterrupted, RunRefused
from planner.fronts import nondominated
from planner.run.progress import Progress
from planner.study import Study
from solvers.complaints import InvalidInput

Make = Callable[..., Study]
ROOT = Path(__file__).parent.parent.parent
TRAINING: dict[str, Any] = {
    "solvers": ["DistributedModel", "EconomicsModel"],
    "fixed": {"model": "Llama3_8B", "fleet": "H100_64"},
    "space": {
        "batch_size": [64, 128, 256],
        "tp_size": [1, 2, 4, 8, 16],
        "precision": ["bf16", "fp8"],
        "sequence_parallel": [True, False],
    },
    "objectives": [{"maximize": "effective_throughput"}, {"minimize": "memory_per_accelerator"}],
    "constraints": ["step_latency_total < 100 s"],
}


def same(one: pd.DataFrame, other: pd.DataFrame) -> bool:
    pd.testing.assert_frame_equal(one, other, check_exact=True)
    return True


def test_every_reader_reads_the_trials_without_us(tmp_path: Path) -> None:
    run = planner.explore(TRAINING, tmp_path / "r")
    ours = run.trials()
    folder = tmp_path / "r" / "trials"
    for theirs in (
        pd.read_parquet(folder),
        duckdb.sql(f"select * from '{folder}/*.parquet' order by trial").df(),
        polars.read_parquet(f"{folder}/*.parquet").to_pandas(),
    ):
        assert list(theirs.columns) == list(ours.columns)
        assert theirs["trial"].tolist() == list(range(60))
        assert np.array_equal(theirs["violation"], ours["violation"])
        assert theirs["precision"].tolist() == ours["precision"].tolist()


def test_columns_are_those_that_are_promised(tmp_path: Path) -> None:
    run = planner.explore(TRAINING, tmp_path / "r")
    schema = pq.read_schema(next((tmp_path / "r" / "trials").glob("*.parquet")))
    kinds = {f.name: str(f.type) for f in schema}
    assert list(kinds)[:5] == ["trial", "batch_size", "tp_size", "precision", "sequence_parallel"]
    assert list(kinds)[-4:] == ["feasible", "reasons", "violation", "state"]
    assert kinds["trial"] == "int64"
    assert kinds["precision"] == "string"
    assert kinds["sequence_parallel"] == "bool"
    assert kinds["bottleneck"] == "string"
    assert kinds["effective_throughput"] == "double"
    assert kinds["feasible"] == "bool"
    about = schema.field("effective_throughput").metadata
    assert about[b"unit"] == b"token/s"
    assert about[b"made_by"] == b"DistributedModel"
    assert about[b"description"]
    assert json.loads(schema.metadata[b"study"])["solvers"] == ["DistributedModel", "EconomicsModel"]
    assert "optuna" in json.loads(schema.metadata[b"versions"])
    assert run.trials().attrs["units"]["memory_per_accelerator"] == "byte"


def test_feasible_means_it_fits_and_every_constraint_holds(tmp_path: Path) -> None:
    tight = TRAINING | {"constraints": ["step_latency_total < 3 s", "memory_per_accelerator <= 60 GiB"]}
    frame = planner.explore(tight, tmp_path / "r").trials()
    chain = planner.explore(TRAINING | {"constraints": []}).trials()
    holds = (frame["step_latency_total"] < 3) & (frame["memory_per_accelerator"] <= 60 * 2**30)
    assert (frame["feasible"] == (chain["feasible"] & holds)).all()
    assert (frame["feasible"] == (frame["violation"] <= 0)).all()
    assert (frame["reasons"].isna() == frame["feasible"]).all()
    late = frame["reasons"].fillna("").str.split(",").map(lambda codes: "constraint:step_latency_total < 3 s" in codes)
    assert (late == ~(frame["step_latency_total"] < 3)).all()
    assert 0 < frame["feasible"].sum() < len(frame)


def test_the_front_is_the_brute_force_front_of_the_trials(tmp_path: Path) -> None:
    run = planner.explore(TRAINING, tmp_path / "r")
    frame = run.trials()
    points = frame[["effective_throughput", "memory_per_accelerator"]].to_numpy() * [-1, 1]
    points[~frame["feasible"]] = np.nan
    expected = frame[nondominated(points)].sort_values("effective_throughput", ascending=False).reset_index(drop=True)
    front = run.front()
    assert same(front, expected)
    assert list(front.columns) == list(frame.columns)
    best = run.best()
    assert best.loc["maximize: effective_throughput", "trial"] == front["trial"].iloc[0]
    assert "knee" in best.index
    assert set(run.info["hypervolume"]["reference"]) == {
        "maximize: effective_throughput",
        "minimize: memory_per_accelerator",
    }
    assert run.info["hypervolume"]["value"] > 0
    assert run.exit_code == 0


def test_run_json_counts_what_the_trials_say(tmp_path: Path) -> None:
    run = planner.explore(TRAINING, tmp_path / "r")
    frame, info = run.trials(), run.info
    assert info["state"] == "done"
    assert info["exhausted"] is True
    assert info["trials"] == info["distinct"] == info["space"] == len(frame) == 60
    assert info["feasible"] == frame["feasible"].sum()
    counted = frame["reasons"].dropna().str.split(",").explode().value_counts().to_dict()
    assert info["reasons"] == counted
    assert {"start_up", "evaluate", "write", "report", "total"} <= set(info["timings"])
    assert len(info["digests"]["study"]) == 16
    assert info["digests"]["catalogue"]
    assert info["versions"]["optuna"].startswith("5")


def test_the_resolved_study_run_again_gives_the_same_trials(tmp_path: Path) -> None:
    for method in ({"method": "grid"}, {"method": "nsga2", "trials": 90, "seed": 5}):
        first = planner.explore(TRAINING | {"search": method}, tmp_path / f"{method['method']}1")
        again = planner.explore(first.path / "study.yaml", tmp_path / f"{method['method']}2")
        assert same(first.trials(), again.trials())


def test_when_nothing_is_feasible_the_nearest_miss_says_what_binds(toy: Make, tmp_path: Path) -> None:
    study = toy(constraints=["latency < 1 s", "cost <= 1000 USD"])
    run = planner.explore(study, tmp_path / "r")
    frame = run.trials()
    assert run.exit_code == 2
    assert run.info["front"] == 0
    assert len(run.front()) == 0
    assert list(run.front().columns) == list(frame.columns)
    miss = run.info["nearest_miss"]
    assert miss["trial"] == frame["violation"].idxmin()
    assert miss["violation"] == frame["violation"].min()
    assert miss["reasons"] == ["constraint:latency < 1 s"]
    assert miss["parameters"]["batch_size"] == 1
    assert len(run.best()) == 0


def test_an_objective_without_a_value_is_a_failed_trial(toy: Make, tmp_path: Path) -> None:
    study = toy(fixed={"break_at": 0.5}, objectives=[{"minimize": "latency"}])
    run = planner.explore(study, tmp_path / "r")
    frame = run.trials()
    broken = frame["heat"] >= 0.5
    assert (frame["state"] == np.where(broken, "failed", "complete")).all()
    assert frame.loc[broken, "reasons"].str.contains("no_value:latency", regex=False).all()
    assert not frame.loc[broken, "feasible"].any()
    assert np.isinf(frame.loc[broken, "violation"]).all()
    assert run.front()["heat"].max() < 0.5
    assert run.info["failed"] == broken.sum()


def test_the_front_alone_is_the_front_of_all(toy: Make, tmp_path: Path) -> None:
    every = planner.explore(toy(), tmp_path / "all")
    few = planner.explore(toy(["search.keep=front", "search.batch=50"]), tmp_path / "few")
    assert same(every.front(), few.front())
    assert few.info["trials"] == 360
    assert few.info["reasons"] == every.info["reasons"]
    assert len(few.trials()) < 120
    assert set(few.front()["trial"]) <= set(few.trials()["trial"])


@pytest.mark.parametrize("keep", ["all", "front"])
def test_a_missing_part_is_work_to_do(toy: Make, tmp_path: Path, keep: str) -> None:
    settings = [f"search.keep={keep}", "search.batch=50"]
    whole = planner.explore(toy(settings), tmp_path / "r")
    before = whole.trials()
    front = whole.front()
    parts = sorted((tmp_path / "r" / "trials").glob("part-*.parquet"))
    assert len(parts) == 8
    untouched = parts[3].stat().st_mtime_ns
    for gone in (parts[0], parts[5], parts[7]):
        gone.unlink()
    (tmp_path / "r" / "trials" / ".part-000-050.parquet.tmp").write_bytes(b"half")
    again = planner.explore(toy(settings), tmp_path / "r", resume=True)
    assert same(again.front(), front)
    assert parts[3].stat().st_mtime_ns == untouched
    if keep == "all":
        assert same(again.trials(), before)
    assert again.info["trials"] == 360
    assert not list((tmp_path / "r" / "trials").glob(".*"))


def test_foreign_and_truncated_parts_are_named_and_set_aside(toy: Make, tmp_path: Path) -> None:
    run = planner.explore(toy(["search.batch=100"]), tmp_path / "r")
    before, trials = run.trials(), tmp_path / "r" / "trials"
    parts = sorted(trials.glob("part-*.parquet"))
    parts[1].write_bytes(parts[1].read_bytes()[:-100])
    pq.write_table(pa.table({"a": [1]}), trials / "part-foreign.parquet")
    (trials / "notes.txt").write_text("mine")
    with pytest.warns(UserWarning, match="left out"):
        assert len(planner.load_run(tmp_path / "r").trials()) == 260
    again = planner.explore(toy(["search.batch=100"]), tmp_path / "r", resume=True)
    said = " ".join(again.info["notes"])
    assert all(name in said for name in (parts[1].name, "part-foreign.parquet", "notes.txt"))
    assert (tmp_path / "r" / "set_aside" / "notes.txt").read_text() == "mine"
    assert same(again.trials(), before)
    assert len(pd.read_parquet(trials)) == 360


def test_a_grid_may_be_extended_trial_by_trial(toy: Make, tmp_path: Path) -> None:
    assert len(planner.explore(toy(["search.trials=70"]), tmp_path / "r").trials()) == 70
    run = planner.explore(toy(["search.trials=250"]), tmp_path / "r", resume=True)
    assert run.trials()["trial"].tolist() == list(range(250))
    assert run.info["exhausted"] is False
    whole = planner.explore(toy(), tmp_path / "r", resume=True)
    assert same(whole.trials(), planner.explore(toy()).trials())
    assert whole.info["exhausted"] is True


@pytest.mark.parametrize("method", ["random", "tpe", "nsga2"])
def test_trials_are_the_total_and_repeats_are_rows_of_their_own(toy: Make, tmp_path: Path, method: str) -> None:
    space = {"batch_size": [1, 4], "ovens": [1, 2], "kind": ["bread", "pie"]}

    def make(trials: int) -> Study:
        return toy([f"search.trials={trials}"], space=space, search={"method": method, "batch": 20, "seed": 1})

    first = planner.explore(make(50), tmp_path / "r")
    assert first.trials()["trial"].tolist() == list(range(50))
    run = planner.explore(make(130), tmp_path / "r", resume=True)
    frame = run.trials()
    assert frame["trial"].tolist() == list(range(130))
    assert run.info["trials"] == 130
    assert run.info["distinct"] == len(frame.drop_duplicates(list(space))) <= 8
    assert same(frame, planner.explore(make(130)).trials())
    assert frame.groupby(list(space))["latency"].nunique().eq(1).all()
    assert run.front()["trial"].is_unique
    assert not run.front().duplicated(["throughput", "cost"]).any()


def test_an_existing_folder_is_refused_and_an_absent_one_starts(toy: Make, tmp_path: Path) -> None:
    planner.explore(toy(), tmp_path / "r", resume=True)
    with pytest.raises(RunRefused, match="exists"):
        planner.explore(toy(), tmp_path / "r")
    with pytest.raises(RunRefused, match=r"another study: .*setup"):
        planner.explore(toy(["setup=3 s"]), tmp_path / "r", resume=True)
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "thesis.txt").write_text("precious")
    with pytest.raises(RunRefused, match="other files"):
        planner.explore(toy(), tmp_path / "other", resume=True)
    assert sorted(p.name for p in (tmp_path / "other").iterdir()) == ["thesis.txt"]
    (tmp_path / "file").write_text("x")
    with pytest.raises(RunRefused):
        planner.explore(toy(), tmp_path / "file" / "r")
    (tmp_path / "empty").mkdir()
    assert planner.explore(toy(), tmp_path / "empty").info["state"] == "done"


def test_a_title_or_more_trials_are_no_other_study(toy: Make, tmp_path: Path) -> None:
    planner.explore(toy(), tmp_path / "r")
    assert planner.explore(toy(title="Another title"), tmp_path / "r", resume=True).info["title"] == "Another title"


def test_a_lock_refuses_others_and_dies_with_its_process(toy: Make, tmp_path: Path) -> None:
    script = f"""
import sys, time
from pathlib import Path
from planner.run.lock import Lock
Path({str(tmp_path / "r")!r}).mkdir()
held = Lock(Path({str(tmp_path / "r")!r}))
print("held", flush=True)
time.sleep(60)
"""
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True, cwd=ROOT) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        with pytest.raises(RunRefused, match=f"in use by another process \\({holder.pid}\\)"):
            planner.explore(toy(), tmp_path / "r")
        holder.kill()
        holder.wait()
    assert planner.explore(toy(), tmp_path / "r").info["state"] == "done"


def test_a_full_disk_is_said_and_what_is_finished_stays(
    toy: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, calls = os.fsync, []

    def fsync(descriptor: int) -> None:
        name = os.readlink(f"/proc/self/fd/{descriptor}")
        if "part-" in name:
            calls.append(name)
            if len(calls) > 2:
                raise OSError(28, "No space left on device")
        real(descriptor)

    monkeypatch.setattr(os, "fsync", fsync)
    with pytest.raises(RunFault, match="No space left on device") as caught:
        planner.explore(toy(["search.batch=50"]), tmp_path / "r")
    assert "100 finished trials are safe" in str(caught.value)
    assert "--resume" in str(caught.value)
    run = planner.load_run(tmp_path / "r")
    assert run.info["state"] == "failed"
    assert len(run.trials()) == 100
    monkeypatch.setattr(os, "fsync", real)
    whole = planner.explore(toy(["search.batch=50"]), tmp_path / "r", resume=True)
    assert same(whole.trials(), planner.explore(toy()).trials())


@pytest.mark.parametrize("method", ["grid", "nsga2"])
def test_ctrl_c_keeps_what_is_finished(toy: Make, tmp_path: Path, method: str) -> None:
    settings = [f"search.method={method}", "search.batch=50", "search.trials=300"]

    def stop(progress: Progress) -> None:
        if progress.done >= 120:
            raise KeyboardInterrupt

    import planner.run.progress as module

    pause, module.PAUSE = module.PAUSE, 0.0
    try:
        with pytest.raises(RunInterrupted, match="--resume"):
            planner.explore(toy(settings), tmp_path / "r", progress=stop)
    finally:
        module.PAUSE = pause
    kept = planner.load_run(tmp_path / "r")
    assert kept.info["state"] == "interrupted"
    assert sorted(kept.front()["trial"]) == sorted(planner.pareto(kept.trials(), kept.info["objectives"])["trial"])
    assert set(kept.best()["trial"]) <= set(kept.front()["trial"])
    assert len(kept.optuna_study().trials) == len(kept.trials())
    assert 100 <= len(kept.trials()) == kept.info["trials"] <= 200
    again = planner.explore(toy(settings), tmp_path / "r", resume=True)
    whole = planner.explore(toy(settings))
    assert same(again.trials(), whole.trials())
    assert same(again.front(), whole.front())
    assert again.info["hypervolume"] == whole.info["hypervolume"]


def test_a_storage_that_cannot_be_opened_is_refused_before_the_first_trial(toy: Make, tmp_path: Path) -> None:
    for url in ("foo://bar", "nothing", f"sqlite:///{tmp_path}/absent/x.db"):
        with pytest.raises(InvalidInput, match="--storage"):
            planner.explore(toy(), tmp_path / "r", storage=url)
    assert not (tmp_path / "r").exists()


def test_progress_comes_with_a_total_and_ends_full(toy: Make) -> None:
    seen: list[Progress] = []
    planner.explore(toy(), progress=seen.append)
    assert (seen[-1].done, seen[-1].total) == (360, 360)
    assert 0 < seen[-1].feasible < 360


def test_processes_share_a_grid_and_each_cell_comes_once(tmp_path: Path) -> None:
    alone = planner.explore(TRAINING | {"search": {"batch": 7}}, tmp_path / "one")
    shared = planner.explore(TRAINING | {"search": {"batch": 7}}, tmp_path / "four", workers=4)
    assert same(shared.trials(), alone.trials())
    assert same(shared.front(), alone.front())
    assert shared.info["reasons"] == alone.info["reasons"]


def test_a_record_that_comes_out_differently_now_is_not_mixed(toy: Make, tmp_path: Path) -> None:
    settings = ["search.method=nsga2", "search.trials=40", "search.batch=20"]
    planner.explore(toy(settings, constraints=["latency < 9 s"]), tmp_path / "r")
    part = min((tmp_path / "r" / "trials").glob("part-*.parquet"))
    table = pq.read_table(part)
    column = table.schema.get_field_index("violation")
    changed = table.set_column(column, table.schema.field(column), pa.array(table.column(column).to_numpy() + 1.0))
    pq.write_table(changed, part)
    with pytest.raises(RunRefused, match="come out differently"):
        planner.explore(
            toy(["search.trials=80", *settings[::2]], constraints=["latency < 9 s"]), tmp_path / "r", resume=True
        )


def test_a_folder_that_is_no_run_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="no run's folder"):
        planner.load_run(tmp_path)


def test_every_trial_survives_a_round_trip_through_a_dataset(toy: Make, tmp_path: Path) -> None:
    run = planner.explore(toy(["search.batch=50"]), tmp_path / "r")
    table = pyarrow.dataset.dataset(tmp_path / "r" / "trials").to_table().sort_by("trial")
    assert table.equals(run.table())


def test_a_first_parameter_that_gained_choices_runs_only_the_new_cells(toy: Make, tmp_path: Path) -> None:
    """optuna#6132, #5052, #3255: what is known is neither lost nor done again."""
    few = {"batch_size": [1, 4, 16], "ovens": [1, 2, 4, 8], "kind": ["bread", "pie"]}
    more = few | {"batch_size": [1, 4, 16, 64]}
    planner.explore(toy(space=few), tmp_path / "r")
    (old,) = (tmp_path / "r" / "trials").glob("part-*")
    before = old.stat().st_mtime_ns
    run = planner.explore(toy(space=more), tmp_path / "r", resume=True)
    assert old.stat().st_mtime_ns == before
    assert same(run.trials(), planner.explore(toy(space=more)).trials())
    assert same(run.front(), planner.explore(toy(space=more)).front())
    assert same(planner.explore(toy(space=more), tmp_path / "r", resume=True).trials(), run.trials())
    with pytest.raises(RunRefused, match=r"space.kind"):
        planner.explore(toy(space=more | {"kind": ["bread", "pie", "cake"]}), tmp_path / "r", resume=True)


def test_among_plans_that_do_not_fit_the_nearest_is_the_one_that_lacks_least(tmp_path: Path) -> None:
    tiny = TRAINING | {"fixed": TRAINING["fixed"] | {"memory_capacity": "2 GB"}, "constraints": []}
    run = planner.explore(tiny, tmp_path / "r")
    frame = run.trials()
    assert run.exit_code == 2
    alone = frame[frame["reasons"] == "does_not_fit"]
    nearest = frame.loc[frame["trial"] == run.info["nearest_miss"]["trial"]].iloc[0]
    assert nearest["memory_per_accelerator"] == alone["memory_per_accelerator"].min()
    assert 1 < nearest["violation"] < 2


def test_trials_that_rest_on_other_figures_are_not_mixed(toy: Make, tmp_path: Path) -> None:
    """optuna#2564."""
    planner.explore(toy(), tmp_path / "r")
    info = json.loads((tmp_path / "r" / "run.json").read_text())
    info["digests"]["catalogue"] = "0123456789abcdef"
    (tmp_path / "r" / "run.json").write_text(json.dumps(info))
    with pytest.raises(RunRefused, match="catalogue that has changed since"):
        planner.explore(toy(), tmp_path / "r", resume=True)


def test_dask_shares_a_grid_or_says_what_it_needs(tmp_path: Path) -> None:
    data = TRAINING | {"search": {"batch": 7}}
    if importlib.util.find_spec("distributed") is None:
        with pytest.raises(InvalidInput, match="pip install"):
            planner.explore(data, tmp_path / "r", dask="tcp://127.0.0.1:1")
        return
    from distributed import LocalCluster

    with LocalCluster(n_workers=2, threads_per_worker=2, dashboard_address=None) as cluster:
        shared = planner.explore(data, tmp_path / "r", dask=cluster.scheduler_address)
    alone = planner.explore(data)
    assert same(shared.trials(), alone.trials())
    assert same(shared.front(), alone.front())


def test_a_sampler_says_that_it_runs_in_one_process(toy: Make) -> None:
    run = planner.explore(toy(["search.method=random", "search.trials=10"]), workers=4)
    assert "one process" in " ".join(run.info["notes"])


def test_a_run_that_was_refused_leaves_no_folder(toy: Make, tmp_path: Path) -> None:
    many = [f"latency < {i} s" for i in range(1, 80)]
    with pytest.raises(InvalidInput, match="are possible here"):
        planner.explore(toy(constraints=many), tmp_path / "r")
    assert not (tmp_path / "r").exists()


def test_a_worker_that_dies_is_a_fault_of_the_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("planner.run.shards._do", _die)
    with pytest.raises(RunFault, match="A worker process died"):
        planner.explore(TRAINING | {"search": {"batch": 7}}, tmp_path / "r", workers=2)


def _die(shard: Any) -> None:
    os._exit(9)


@pytest.mark.parametrize("where", ["take", "fill"])
def test_an_interrupt_in_the_middle_of_a_batch_counts_it_nowhere(
    toy: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    from planner.run.columns import TrialColumns
    from planner.run.tally import Tally

    owner: Any = Tally if where == "take" else TrialColumns
    real, calls = getattr(owner, where), []

    def interrupted(*given: Any) -> None:
        real(*given)
        calls.append(1)
        if len(calls) == 3:
            raise KeyboardInterrupt

    settings = ["search.method=random", "search.batch=50", "search.trials=300"]
    monkeypatch.setattr(owner, where, interrupted)
    with pytest.raises(RunInterrupted):
        planner.explore(toy(settings), tmp_path / "r")
    monkeypatch.setattr(owner, where, real)
    kept = planner.load_run(tmp_path / "r")
    assert kept.info["trials"] == len(kept.trials()) == 100
    again = planner.explore(toy(settings), tmp_path / "r", resume=True)
    whole = planner.explore(toy(settings))
    assert [again.info[k] for k in ("trials", "feasible", "reasons")] == [
        whole.info[k] for k in ("trials", "feasible", "reasons")
    ]
