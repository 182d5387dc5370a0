"""Runs that are killed at random moments, and resumed: every trial once, and the front of an uninterrupted run."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pandas as pd
import pytest

import planner

ROOT = Path(__file__).parent.parent.parent
STUDY = """\
title: layouts
solvers: [DistributedModel, EconomicsModel]
fixed: {model: Llama3_8B, fleet: H100_64}
space:
  batch_size: {low: 64, high: 4096, step: 64}
  tp_size: [1, 2, 4, 8]
  pp_size: [1, 2, 4, 8]
  microbatch_size: [1, 2, 4, 8]
  efficiency: {low: 0.30, high: 0.60, step: 0.01}
objectives: [{maximize: effective_throughput}, {minimize: memory_per_accelerator}]
"""
SEARCHES = {
    "grid": "search: {method: grid, batch: 2000}",
    "random": "search: {method: random, trials: 60000, seed: 2, batch: 500}",
    "nsga2": "search: {method: nsga2, trials: 1500, seed: 2}",
    "tpe": "search: {method: tpe, trials: 160, seed: 2}",
}


def run_and_kill(study: Path, out: Path, random_: random.Random) -> bool:
    """Run or resume, and kill after a moment; True when it came to an end before."""
    script = f"import planner; planner.explore({str(study)!r}, {str(out)!r}, resume=True)"
    process = subprocess.Popen([sys.executable, "-c", script], cwd=ROOT, stderr=subprocess.PIPE, start_new_session=True)
    deadline = time.monotonic() + 60
    parts = len(list((out / "trials").glob("part-*"))) if out.exists() else 0
    while process.poll() is None and time.monotonic() < deadline:
        trials = out / "trials"
        if trials.is_dir() and len(list(trials.glob("part-*"))) > parts:
            time.sleep(random_.uniform(0, 0.7))
            break
        time.sleep(0.01)
    ended = process.poll() is not None
    if not ended:
        os.kill(process.pid, signal.SIGKILL)
    _, said = process.communicate()
    assert not ended or process.returncode == 0, said.decode()
    return ended


@pytest.mark.crash
@pytest.mark.parametrize("method", SEARCHES)
def test_killed_and_resumed_is_as_if_nothing_had_happened(method: str, tmp_path: Path) -> None:
    study = tmp_path / "layouts.yaml"
    study.write_text(STUDY + SEARCHES[method] + "\n")
    out, random_ = tmp_path / "killed", random.Random(method)
    for _ in range(3):
        if run_and_kill(study, out, random_):
            break
    killed = planner.explore(study, out, resume=True)
    whole = planner.explore(study, tmp_path / "whole")
    assert killed.trials()["trial"].tolist() == list(range(whole.info["trials"]))
    pd.testing.assert_frame_equal(killed.trials(), whole.trials(), check_exact=True)
    pd.testing.assert_frame_equal(killed.front(), whole.front(), check_exact=True)
    for key in ("trials", "distinct", "feasible", "reasons", "front", "best", "hypervolume"):
        assert killed.info[key] == whole.info[key], key
    assert not list((out / "trials").glob(".*"))


@pytest.mark.crash
def test_processes_that_share_a_grid_are_killed_and_resumed(tmp_path: Path) -> None:
    study = tmp_path / "layouts.yaml"
    study.write_text(STUDY + SEARCHES["grid"] + "\n")
    out = tmp_path / "killed"
    script = f"""
import planner
if __name__ == "__main__":
    planner.explore({str(study)!r}, {str(out)!r}, workers=2)
"""
    (tmp_path / "main.py").write_text(script)
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    process = subprocess.Popen([sys.executable, str(tmp_path / "main.py")], env=environment, start_new_session=True)
    deadline = time.monotonic() + 60
    while process.poll() is None and time.monotonic() < deadline and len(list((out / "trials").glob("part-*"))) < 3:
        time.sleep(0.02)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    again = planner.explore(study, out, resume=True, workers=2)
    whole = planner.explore(study, tmp_path / "whole")
    pd.testing.assert_frame_equal(again.trials(), whole.trials(), check_exact=True)
    pd.testing.assert_frame_equal(again.front(), whole.front(), check_exact=True)


def children(pid: int) -> list[str]:
    """The processes that one began, by their numbers."""
    return Path(f"/proc/{pid}/task/{pid}/children").read_text().split()


@pytest.mark.crash
@pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="looks processes up in /proc")
@pytest.mark.parametrize("asked", [signal.SIGKILL, signal.SIGTERM])
def test_processes_that_share_a_grid_end_with_the_one_that_began_them(asked: signal.Signals, tmp_path: Path) -> None:
    study, out = tmp_path / "layouts.yaml", tmp_path / "run"
    study.write_text(STUDY + SEARCHES["grid"] + "\n")
    arguments = ["planner", "run", str(study), "--out", str(out), "--workers", "2", "--quiet"]
    code = f"import sys; sys.argv = {arguments!r}; from planner.cli import main; main()"
    process = subprocess.Popen([sys.executable, "-c", code], cwd=ROOT, stderr=subprocess.PIPE, text=True)
    deadline = time.monotonic() + 60
    while process.poll() is None and time.monotonic() < deadline and not list((out / "trials").glob("part-*")):
        time.sleep(0.02)
    begun = children(process.pid)
    process.send_signal(asked)
    said = process.communicate(timeout=60)[1]  # would wait for ever for a process that holds the other end of the pipe
    while time.monotonic() < deadline and any(Path(f"/proc/{pid}").exists() for pid in begun):
        time.sleep(0.02)
    assert not [pid for pid in begun if Path(f"/proc/{pid}").exists()]
    if asked == signal.SIGTERM:
        assert process.returncode == 130
        kept = planner.load_run(out)
        assert f"{len(kept.trials()):,} finished trials are safe" in said
        assert kept.info["trials"] == len(kept.trials()) < kept.study.space.size
