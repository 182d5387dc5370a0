"""Writes `docs/accuracy.md`, its plots, and what reports say of accuracy.

    python benchmarks/accuracy.py --measurements DIR

Every figure of the page comes from `planner validate`'s own scoring of the measurement files in the folder. What the
fitting commands print about families left out stands in `docs/training.md` and `docs/serving.md`.
"""

from __future__ import annotations

import argparse
import csv
import math
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

from planner.validate import Memory, Scores, Validation, validate

DOCS = Path(__file__).parent.parent / "docs"
FILES = {
    "training": "Training runs",
    "training_one_node": "Training on one node",
    "serving": "Serving",
    "speculative_decoding": "Speculative decoding",
    "data_pipeline": "Storage, loaders and decoders",
    "memory": "Memory ledgers of a serving engine",
    "energy": "Energy",
    "inference_scaling": "Test-time compute",
}
REPORTED = {
    "training": ("DistributedModel", "training runs"),
    "training_one_node": ("DistributedModel", "training on one node"),
    "serving": ("ServingModel", "serving"),
    "speculative_decoding": ("ServingModel", "speed-ups of speculative decoding"),
    "data_pipeline": ("TransformationModel", "storage, loaders and decoders"),
    "memory": ("ServingModel", "memory ledgers of engines"),
    "energy": ("ServingModel", "energy"),
    "inference_scaling": ("InferenceScalingModel", "test-time compute"),
}
"""Which solver each file measures, and what it holds, as reports say it."""
FEWEST_CELLS = 3
INTRODUCTION = """# Accuracy

How far the planner's figures are from what others measured and published, and how sure it says it is. Written by
`python benchmarks/accuracy.py --measurements DIR`; the files have the columns that [cli.md](cli.md) describes, and
`planner validate FILE` prints the same scores for anybody's own measurements.

Errors are absolute percentage errors. A cell is one family of measurements and one metric; the headline is the median
over cells of each cell's median error. *In 80 %* is the share of measured values inside the stated 80 % interval. A
measured plan that we call infeasible counts as an error of 100 %; rows that we refuse are counted. These rows were
there when the constants were fitted, so these are **in-sample** figures; what to expect of a family that the constants
have never seen is the leave-one-family-out score in [training.md](training.md), [serving.md](serving.md),
[speculation.md](speculation.md) and [kernels.md](kernels.md).
"""
LEFT_OUT = """
## Families left out

Medians of absolute errors when each family is predicted by constants fitted without it, as the fitting commands printed
them in December 2026 (`fit_training.py`, `fit_serving.py --leave-out`, `fit_speculation.py`, `fit_kernels.py`); every
family and what is worst, with the reasons, stand in the pages named above.

| measure | in-sample | left out |
|---|---|---|
| training, median over families and metrics | 7.0 % | 9.6 % |
| training, pooled median / mean | 6.1 / 10.5 % | 10.0 / 13.7 % |
| serving, time a token | 8.3 % | 11.0 % |
| serving, time to first token | 18.7 % | 22.9 % |
| serving, tokens a second at a concurrency | 10 % | 12 % |
| serving, maximum load: TensorRT-LLM 0.19 / 1.0 / MLPerf | 12 / 16 / 16 % | 12 / 17 / 29 % |
| whole requests / batch-1 decoding / prefill of local engines | 13 / 5-12 / 14-18 % | 13 / 5-12 / 13-18 % |
| images a second: MXNet / PyTorch / TensorRT | 14 / 15 / 14 % | 12 / 20 / 59 % |
| speculative decoding, each method / each source left out | 10.2 % | 12.9 / 17.9 % |
| kernels: products / attention / collectives, another generation | 9 / 4-8 / 5 % | 19 / 11-16 / 31 % |

Priors were moved during development after a look at figures like these, so they flatter a little. What is worst:
TensorRT's nets, whose constants no other family supplies; time to first token, since harnesses differ by up to three
times beyond lengths and arrivals; mixtures of experts in training, where releases of one container differ by more than
our error; and sources of speculative decoding, each of which measures in its own way.
"""


def main() -> None:
    """Validate every file of the folder, and write the page and the plots."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--measurements", type=Path, required=True, help="folder of the measurement files")
    folder = parser.parse_args().measurements
    parts = [INTRODUCTION, _headline_head()]
    found = {}
    for name in FILES:
        path = next((p for p in (folder / f"{name}.csv", folder / f"{name}.csv.gz") if p.exists()), None)
        if path is not None:
            found[name] = validate(path)
            parts.append(_headline(name, found[name]))
            print(f"{name}: {found[name].headline:.1%}")
    parts.append(LEFT_OUT)
    for name, validation in found.items():
        parts.append(f"\n## {FILES[name]}\n")
        if len(validation.frame) > 100:
            _plot(name, validation)
            parts.append(f"![predicted against measured: {FILES[name].lower()}](accuracy_{name}.png)\n")
        parts.append(_cells(validation))
        if "" in validation.memory:
            parts.append(_memory(validation.memory[""]))
    (DOCS / "accuracy.md").write_text("\n".join(parts) + "\n")
    _record(found)


def _record(found: dict[str, Validation]) -> None:
    """Write the scores that summaries and pages quote."""
    with (DOCS.parent / "planner" / "report" / "accuracy.csv").open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["solver", "what", "metric", "median_ape", "cells", "rows"])
        for name, validation in found.items():
            cells = {key: s for key, s in validation.cells.items() if s.scored}
            for metric in ["", *sorted({m for _, m in cells})]:
                chosen = [s for (_, m), s in cells.items() if metric in ("", m)]
                if not metric or len(chosen) >= FEWEST_CELLS:
                    median = float(np.median([s.median_ape for s in chosen]))
                    rows = sum(s.scored for s in chosen)
                    writer.writerow([*REPORTED[name], metric, f"{median:.3f}", len(chosen), rows])


def _headline_head() -> str:
    head = "file | rows | scored | refused | called infeasible | median over cells | pooled median | mean | in 80 %"
    return f"| {head} |\n|{'---|' * 9}"


def _headline(name: str, validation: Validation) -> str:
    whole = validation.overall
    cells = (
        FILES[name], whole.rows, whole.scored, whole.refused, whole.called_infeasible,
        f"**{_percent(validation.headline)}**",
        _percent(whole.median_ape), _percent(whole.mean_ape), _percent(whole.inside_interval),
    )  # fmt: skip
    return f"| {' | '.join(str(c) for c in cells)} |"


def _cells(validation: Validation) -> str:
    lines = ["| family | metric | rows | scored | median | p90 | bias | rank | in 80 % |", "|" + "---|" * 9]
    for (family, metric), scores in validation.cells.items():
        if scores.scored:
            lines.append(_cell(family, metric, scores))
    if validation.flagged.scored:
        lines.append(_cell("*flagged rows, apart*", "", validation.flagged))
    if validation.overall.refusals:
        reasons = "; ".join(f"{count} x {reason}" for reason, count in validation.overall.refusals.items())
        lines.append(f"\nRefused: {reasons}.")
    return "\n".join(lines)


def _memory(memory: Memory) -> str:
    held = f"Memory held: {memory.rows} rows, median error {_percent(memory.median_ape)}. " if memory.rows else ""
    ran_out = f"Plans that ran out of memory and are called infeasible: {memory.oom_recalled} of {memory.oom_cases}."
    return f"\n{held}{ran_out if memory.oom_cases else ''}".rstrip()


def _cell(family: str, metric: str, scores: Scores) -> str:
    cells = (
        family, metric, scores.rows, scores.scored, _percent(scores.median_ape), _percent(scores.p90_ape),
        "" if math.isnan(scores.bias) else f"{scores.bias:+.2f}",
        "" if math.isnan(scores.rank_correlation) else f"{scores.rank_correlation:.2f}",
        _percent(scores.inside_interval),
    )  # fmt: skip
    return f"| {' | '.join(str(c) for c in cells)} |"


def _percent(value: float) -> str:
    return "" if math.isnan(value) else f"{value:.1%}"


def _plot(name: str, validation: Validation) -> None:
    """Predicted over measured against measured, a panel a metric, a colour a family."""
    rows = validation.frame[(validation.frame["flag"] == "") & (validation.frame["predicted"] > 0)]
    metrics = [m for m, n in rows["metric"].value_counts().items() if n >= 5][:6]
    columns = min(3, max(1, len(metrics)))
    height = math.ceil(max(1, len(metrics)) / columns)
    figure, axes = plt.subplots(height, columns, figsize=(4.6 * columns, 4.0 * height), squeeze=False)
    families = sorted(rows["family"].unique())
    colours = dict(zip(families, plt.get_cmap("turbo")(np.linspace(0.05, 0.95, len(families))), strict=True))
    for axis, metric in zip(axes.flat, metrics, strict=False):
        chosen = rows[rows["metric"] == metric]
        for family, group in chosen.groupby("family"):
            axis.scatter(group["measured"], group["predicted"], s=7, alpha=0.6, color=colours[family], label=family)
        low, high = chosen[["measured", "predicted"]].min().min(), chosen[["measured", "predicted"]].max().max()
        line = np.array([low, high])
        axis.plot(line, line, color="black", linewidth=0.8)
        axis.plot(line, line * 1.25, color="grey", linewidth=0.5, linestyle=":")
        axis.plot(line, line / 1.25, color="grey", linewidth=0.5, linestyle=":")
        axis.set(xscale="log", yscale="log", title=metric, xlabel="measured", ylabel="predicted")
        axis.legend(fontsize=5, markerscale=1.5, frameon=False, loc="upper left")
    for axis in list(axes.flat)[len(metrics) :]:
        axis.set_visible(False)
    figure.suptitle(f"{FILES[name]}: predicted against measured (dotted: 25 % off)", fontsize=11)
    figure.tight_layout()
    figure.savefig(DOCS / f"accuracy_{name}.png", dpi=90)
    plt.close(figure)


if __name__ == "__main__":
    main()
