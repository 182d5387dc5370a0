"""Fit the power response of accelerators to published measurements, and say how far off it is by task and GPU.

    python benchmarks/fit_power.py --measurements DIR [--write]

DIR holds `energy.csv`: mean power, batch and throughput of the ML.ENERGY leaderboard v3. Utilisation is computed from
the measured throughput and the model's shape, so that only the power response is tested. For image and video nets it
is not known; there `busy` is the best GPU-seconds an item of that model and GPU over those of the row.
"""

from __future__ import annotations

import argparse
import csv
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.optimize import least_squares

from solvers.catalog import catalog
from solvers.formulas.energy import accelerator_power
from solvers.formulas.kernels import experts_touched
from solvers.formulas.transformer import cache_bytes_per_token
from solvers.lowering.architecture import architecture_row
from solvers.lowering.device import device_row
from solvers.records import Architecture

CONSTANTS = Path(__file__).parents[1] / "solvers/catalog/data/energy_constants.csv"
SOURCE = "ML.ENERGY leaderboard v3 (Chung et al. 2025, arXiv:2505.06371), fitted by benchmarks/fit_power.py"
NAMES = ("waiting_power", "resident_response", "compute_response", "memory_response")
PROMPT = {"lm-arena-chat": 150.0, "gpqa": 250.0, "sourcegraph-fim": 2000.0, "image-chat": 1200.0, "video-chat": 4000.0}
"""Tokens of a usual prompt: estimates, they matter little."""
TEXT = ("lm-arena-chat", "gpqa", "sourcegraph-fim")
GPUS = {"B200-SXM-180GB": "B200", "H100-SXM-80GB": "H100-SXM"}
PRECISIONS = {"bfloat16": "bf16", "fp8": "fp8", "mxfp4": "mxfp4-weight-only"}
SATURATED = 0.5
"""Compute utilisation taken for diffusion nets while busy: any high figure gives the same power."""


def main() -> None:
    parser = argparse.ArgumentParser(description="Fit the power response of accelerators.")
    parser.add_argument("--measurements", type=Path, required=True, help="folder that holds energy.csv")
    parser.add_argument("--write", action="store_true", help="rewrite energy_constants.csv")
    options = parser.parse_args()
    rows = read(options.measurements / "energy.csv")
    trained = rows[~rows.task.isin(["image-chat", "video-chat"])]
    constants = fit(trained)
    print(dict(zip(NAMES, constants.round(3), strict=True)))
    rows["error"] = error(rows, constants)
    left_out = [error(group, fit(trained[trained.model != model])) for model, group in rows.groupby("model")]
    rows["left_out"] = pd.concat(left_out)
    rows["constant"] = abs(trained.power.median() / rows.power - 1)
    table = rows.groupby(["task", "gpu"])[["error", "left_out", "constant"]].median() * 100
    print(table.round(1).assign(rows=rows.groupby(["task", "gpu"]).size()).to_string())
    print((100 * rows[["error", "left_out", "constant"]].quantile([0.5, 0.9])).round(1))
    if options.write:
        write(constants, rows.left_out.median())


def read(path: Path) -> pd.DataFrame:
    frame = pd.read_csv(path)
    frame = frame[frame.flag.isna()].reset_index(drop=True)
    devices = {gpu: device_row(catalog.find("hardware", name), "bf16") for gpu, name in GPUS.items()}
    frame["power"] = frame.avg_power_w / frame.n_gpus / frame.gpu.map(lambda g: devices[g]["tdp"])
    language = frame.task.isin(PROMPT)
    frame.loc[language, ["compute", "memory"]] = [utilisations(row) for row in frame[language].itertuples()]
    frame.loc[language, "busy"] = 1.0
    joules = frame.energy_j_per_image.fillna(frame.energy_j_per_video)
    seconds = joules / (frame.avg_power_w / frame.n_gpus)
    best = seconds.groupby([frame.model, frame.gpu]).transform("min")
    frame["busy"] = frame.busy.fillna(best / seconds)
    return frame.fillna({"compute": SATURATED, "memory": 0.2})


def utilisations(row) -> tuple[float, float]:
    """Arithmetic and traffic of the measured throughput, over the peaks."""
    model = catalog.find("model", row.model)
    shape = Architecture(**architecture_row(model))
    device = device_row(catalog.find("hardware", GPUS[row.gpu]), PRECISIONS[row.precision])
    prompt = PROMPT[row.task]
    expert = shape.mlp_matrices * shape.hidden * shape.moe_ffn_hidden * shape.moe_layers
    touched = experts_touched(row.batch, shape.top_k, shape.num_experts) if shape.num_experts else 0.0
    weights = shape.params_total - (shape.num_experts - touched) * expert
    cache = cache_bytes_per_token(shape, 1.0, 2.0) * shape.attention_layers * (prompt + row.avg_output_len / 2)
    traffic = (weights * device["weight_bytes"] + row.batch * cache) * row.output_tok_s / row.batch
    work = 2 * shape.params_active * row.output_tok_s * (1 + prompt / row.avg_output_len)
    return (
        float(work / device["peak_flops"] / row.n_gpus), float(traffic / device["memory_bandwidth"] / row.n_gpus)
    )  # fmt: skip


def predict(rows: pd.DataFrame, constants: np.ndarray) -> pd.Series:
    return accelerator_power(1.0, rows.busy, rows.compute, rows.memory, *constants)


def fit(rows: pd.DataFrame) -> np.ndarray:
    """Robust fit of the logarithm; text and diffusion weigh alike."""
    text = rows.task.isin(TEXT)
    weight = np.sqrt(len(rows) / np.where(text, max(text.sum(), 1), max((~text).sum(), 1)))
    start = np.array([0.25, 0.7, 4.0, 0.5])
    limits = ([0.05, 0.0, 0.0, 0.0], [0.6, 3.0, 20.0, 5.0])
    return least_squares(
        lambda c: weight * np.log(predict(rows, c) / rows.power), start, loss="soft_l1", f_scale=0.1, bounds=limits
    ).x


def error(rows: pd.DataFrame, constants: np.ndarray) -> pd.Series:
    return abs(predict(rows, constants) / rows.power - 1)


def write(constants: np.ndarray, left_out: float) -> None:
    units = {"waiting_power": "share of the design power drawn while waiting for peers, host or requests"}
    with CONSTANTS.open("w", newline="") as out:
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(["quantity", "value", "unit", "source", "kind", "fit_error", "note"])
        for name, value in zip(NAMES, constants, strict=True):
            writer.writerow([name, f"{value:.3g}", "ratio", SOURCE, "fitted", f"{left_out:.2f}", units.get(name, "")])


if __name__ == "__main__":
    main()
