"""Speed and memory, as ratios measured in one run: `python benchmarks/speed.py [--cells 10000000] [--json PATH]`.

Every figure comes from a process of its own. Rates are of whole runs, with start-up and the page reported apart.
"""

from __future__ import annotations

import argparse
import json
import platform
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

LAYOUTS = """
title: layouts of Llama-3-70B on 8,192 H100
solvers: [DistributedModel, EconomicsModel]
fixed: {{model: Llama3_70B, fleet: Frontier_8K, precision: bf16, seq_len: 4096}}
space:
  batch_size: {{low: 1024, high: 65536, step: 512}}
  tp_size: [1, 2, 4, 8]
  pp_size: [1, 2, 4, 5, 8, 10, 16, 20]
  microbatch_size: [1, 2, 4, 8]
  efficiency: {{low: 0.30, high: 0.60, step: {step}}}
objectives: [{{maximize: effective_throughput}}, {{minimize: cost_per_token}}]
search: {{method: grid, seed: 1, keep: {keep}}}
"""
PER_EFFICIENCY = 127 * 4 * 8 * 4

RUN = """
import json, resource, sys, planner
run = planner.explore(sys.argv[1], out=sys.argv[2])
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
print(json.dumps({**json.load(open(sys.argv[2] + "/run.json")), "peak_bytes": peak}))
"""
FACES = """
import json, time, warnings
warnings.simplefilter("ignore")
from solvers import DistributedModel, EconomicsModel, ServingModel, SingleNodeModel
from planner.pipeline import Pipeline

def best(call, n=300):
    call()
    times = []
    for _ in range(5):
        start = time.perf_counter()
        for _ in range(n):
            call()
        times.append((time.perf_counter() - start) / n)
    return min(times)

layout = dict(batch_size=1024, seq_len=4096, tp_size=8, pp_size=4, precision="bf16")
chain = Pipeline([DistributedModel(), EconomicsModel()])
print(json.dumps({
    "SingleNodeModel": best(lambda: SingleNodeModel().solve("ResNet50", "A100", batch_size=256, precision="fp16")),
    "DistributedModel": best(lambda: DistributedModel().solve("Llama3_70B", "Frontier_8K", **layout)),
    "ServingModel": best(lambda: ServingModel().solve("Llama3_70B", "H100", tp_size=4, batch_size=16)),
    "chain": best(lambda: chain.run(model="Llama3_70B", fleet="Frontier_8K", **layout)),
}))
"""


def measured(code: str, *args: str) -> Any:
    """What a process of its own prints as JSON."""
    out = subprocess.run([sys.executable, "-c", code, *args], check=True, capture_output=True, text=True)
    return json.loads(out.stdout.strip().splitlines()[-1])


def grid(cells: int, keep: str) -> dict[str, Any]:
    """A grid of about `cells` layouts: rate while evaluating and writing, start-up, page, peak memory."""
    values = max(2, cells // PER_EFFICIENCY)
    with tempfile.TemporaryDirectory() as folder:
        study = Path(folder, "layouts.yaml")
        study.write_text(LAYOUTS.format(step=0.3 / (values - 1), keep=keep))
        info = measured(RUN, str(study), str(Path(folder, "run")))
    timings = info["timings"]
    busy = timings["total"] - timings["start_up"] - timings.get("report", 0.0)
    return {
        "cells": info["trials"],
        "rate": info["trials"] / busy,
        "start_up": timings["start_up"],
        "page": timings.get("report", 0.0),
        "peak_bytes": info["peak_bytes"],
    }


def adaptive(method: str, trials: int) -> dict[str, Any]:
    """An adaptive search against the exhaustive truth of the layout study that ships."""
    code = """
import json, sys, planner
import numpy as np
from planner.fronts import hypervolume, reference_point

def front(run):
    return np.column_stack([-run.front()["effective_throughput"], run.front()["cost_per_token"]])

change = {"objectives": [{"maximize": "effective_throughput"}, {"minimize": "cost_per_token"}]}
truth = front(planner.explore(planner.load_study("train_llama3_70b", change)))
search = {**change, "search.method": sys.argv[1], "search.trials": int(sys.argv[2])}
run = planner.explore(planner.load_study("train_llama3_70b", search))
reference = [0.0, 2 * truth[:, 1].max()]
print(json.dumps({**run.info, "hypervolume_share": hypervolume(front(run), reference) / hypervolume(truth, reference)}))
"""
    info = measured(code, method, str(trials))
    timings = info["timings"]
    theirs = timings.get("search", 0.0)
    return {"share": info["hypervolume_share"], "total": timings["total"], "own": 1 - theirs / timings["total"]}


def starting() -> dict[str, float]:
    """Times of `import numpy`, `import planner` and `planner --help`: the best of seven processes each."""
    commands = {
        "numpy": [sys.executable, "-c", "import numpy"],
        "planner": [sys.executable, "-c", "import planner"],
        "help": [str(Path(sys.executable).with_name("planner")), "--help"],
    }
    best = {}
    for name, command in commands.items():
        times = []
        for _ in range(7):
            start = time.perf_counter()
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
            times.append(time.perf_counter() - start)
        best[name] = min(times)
    return best


def main() -> None:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cells", type=int, default=10_000_000)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    start, faces = starting(), measured(FACES)
    front, small, every = grid(options.cells, "front"), grid(options.cells // 10, "front"), grid(options.cells, "all")
    searches = {method: adaptive(method, 1000) for method in ("tpe", "nsga2")}
    loop = 1 / faces["chain"]
    lines = [
        ("machine", f"{platform.machine()}, Python {platform.python_version()}, {time.strftime('%Y-%m-%d')}"),
        ("import planner / import numpy", f"{start['planner'] / start['numpy']:.2f}"),
        ("planner --help / import numpy", f"{start['help'] / start['numpy']:.2f}"),
        *((f"one {name} call", f"{faces[name] * 1e3:.3f} ms") for name in faces if name != "chain"),
        ("a loop over the two faces", f"{loop:,.0f} layouts/s"),
        (
            f"grid of {front['cells']:,}, front only",
            f"{front['rate']:,.0f} layouts/s, {front['rate'] / loop:,.0f} x the loop",
        ),
        (
            f"grid of {every['cells']:,}, all in Parquet",
            f"{every['rate']:,.0f} layouts/s, {every['rate'] / loop:,.0f} x the loop",
        ),
        ("start-up / page", f"{every['start_up']:.2f} s / {every['page']:.2f} s"),
        ("peak memory, front only", f"{front['peak_bytes'] / 2**20:,.0f} MiB"),
        ("peak memory, all in Parquet", f"{every['peak_bytes'] / 2**20:,.0f} MiB"),
        ("memory of the grid / of one a tenth its size", f"{front['peak_bytes'] / small['peak_bytes']:.2f}"),
    ]
    for method, found in searches.items():
        text = (
            f"{found['share']:.2%} of the exhaustive hypervolume, {found['total']:.1f} s, ours {found['own']:.0%} of it"
        )
        lines.append((f"{method}, 1,000 trials", text))
    width = max(len(name) for name, _ in lines)
    for name, value in lines:
        print(f"{name:<{width}}  {value}")
    if options.json:
        options.json.write_text(
            json.dumps({"start": start, "faces": faces, "front": front, "all": every, **searches}, indent=2)
        )


if __name__ == "__main__":
    main()
