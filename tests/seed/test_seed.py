"""The three experiments that the project grew from, run as they stand but for their import lines."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent


def output(script: str) -> tuple[str, str]:
    ran = subprocess.run(
        [sys.executable, HERE / f"{script}.py"], capture_output=True, text=True, cwd=HERE.parent.parent
    )
    assert ran.returncode == 0, ran.stderr
    assert "dimensionless" not in ran.stdout
    return ran.stdout, ran.stderr


def test_the_data_wall() -> None:
    out, _ = output("data_wall")
    rows = re.findall(r"(?m)^\s*(\d+)\s+([\d.]+) ms\s+([\d.]+) ms\s+(\w+)\s+([\d.]+)%", out)
    assert [int(r[0]) for r in rows] == [16, 32, 64, 128, 256, 512, 1024]
    for batch, step, transform, binding, used in rows:
        assert float(transform) == pytest.approx(int(batch) * 500e3 / 2e9 * 1e3, abs=0.01)
        assert (binding == "Transformation") == (float(transform) > float(step))
        assert float(used) == pytest.approx(min(100.0, 100 * float(step) / float(transform)), abs=0.2)
    assert re.search(r"128\s+32(\.0+)? GB/s\s+100\.0%", out)


def test_the_layout_search_never_crowns_what_does_not_fit() -> None:
    out, _ = output("layout_search")
    best = re.search(r"Best Configuration: TP=(\d+), PP=(\d+), Batch=(\d+)", out)
    assert best is not None
    tp, pp, batch = map(int, best.groups())
    assert 16 * 70.6 / (tp * pp) < 85.9, "parameters, gradients and Adam's states alone exceed 80 GiB"
    assert batch % (8192 // (tp * pp)) == 0
    throughput = float(re.search(r"Max Throughput: ([\d,]+)", out)[1].replace(",", ""))  # type: ignore[index]
    peak = 8192 * 989e12
    assert throughput * 6 * 70.6e9 < 0.45 * peak, "beyond the efficiency that the script sets"
    assert throughput * 6 * 70.6e9 > 0.1 * peak


def test_speculative_decoding_and_reasoning() -> None:
    out, err = output("speculative_decoding")
    gains = [float(g) for g in re.findall(r"speedup:?\s+([\d.]+)x", out)]
    (main, half, same, nine, _, draft8b, itself) = gains
    assert 1.2 < main < 2.6
    assert main == same == draft8b
    assert half < same < nine
    assert itself <= 1.0
    assert "vocabulary" in err
    assert "infeasible" in err
    totals = [float(t) for t in re.findall(r"total ([\d.]+) s", out)]
    energies = [float(e) for e in re.findall(r"energy ([\d.]+) kJ", out)]
    assert totals == sorted(totals)
    assert energies == sorted(energies)
    assert min(totals) > 0
