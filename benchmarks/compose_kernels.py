"""Compose whole steps of dense decoders from the kernel constants, and compare with steps composed of measured kernels.

    python benchmarks/compose_kernels.py --kernels DIR

DIR holds `kernels/step_composition.parquet`: prefill and decode steps of Llama 3.1 8B and 70B that aiconfigurator-core
0.12.0 (NVIDIA, Apache-2.0) composed for three engines. The constants know no engine, so the spread between engines is
part of the error. Fractions are summed into the class that each kernel belongs to.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import pandas as pd
from fit_kernels import DEVICES

from solvers.catalog import catalog
from solvers.formulas import kernels as formulas
from solvers.formulas.kernels import Kernels
from solvers.lowering.device import device_row
from solvers.lowering.kernels import kernels_row

SHAPES = {"llama3.1-8b": (32, 4096, 32, 14336), "llama3.1-70b": (80, 8192, 64, 28672)}
"""Layers, hidden width, heads, width of the MLP; eight key-value heads of 128, 128,256 words."""
CLASSES = {
    "gemm": ("gemm_qkv_ms", "gemm_proj_ms", "gemm_gate_ffn1_ms", "gemm_ffn2_ms"), "logits": ("logits_ms",),
    "attention": ("attn_ms",), "all_reduce": ("ar_ms",), "elementwise": ("other_ms",),
}  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description="Compose steps from kernel constants.")
    parser.add_argument("--kernels", type=Path, required=True, help="folder that holds step_composition.parquet")
    folder = parser.parse_args().kernels
    folder = folder / "kernels" if (folder / "kernels").is_dir() else folder
    steps = pd.read_parquet(folder / "step_composition.parquet")
    steps = steps[steps.osl == 1024].reset_index(drop=True)
    out = pd.concat([compare(key, rows) for key, rows in steps.groupby(["model", "system", "precision"])])
    print((100 * out.groupby("system")[["prefill", "decode"]].median()).round(1))
    print((100 * out.groupby(["backend"])[["prefill", "decode"]].median()).round(1))
    print((100 * out[["prefill", "decode"]].quantile([0.5, 0.9])).round(1))
    print(out.groupby("system")[[c for c in out if "/" in c]].median().round(2).T)


def compare(key: tuple[str, str, str], rows: pd.DataFrame) -> pd.DataFrame:
    """Relative errors of the two phases, and predicted over composed time of each class."""
    model, system, precision = key
    entry = catalog.find("hardware", DEVICES[system])
    device, kernels = device_row(entry, precision), Kernels(**kernels_row(entry, precision))
    out = rows[["system", "backend", "model", "tp", "batch", "isl"]].copy()
    for phase, prefix in (("prefill", "ctx_"), ("decode", "gen_")):
        parts = step(model, rows, phase, device, kernels)
        truth = {c: rows[[prefix + n for n in names]].sum(axis=1) / 1e3 for c, names in CLASSES.items()}
        for name, seconds in parts.items():
            out[f"{phase}/{name}"] = np.where(truth[name] > 0, seconds / truth[name], np.nan)
        out[phase] = abs(sum(parts.values()) / sum(truth.values()) - 1)
    return out


def step(model: str, rows: pd.DataFrame, phase: str, device: dict, kernels: Kernels) -> dict[str, np.ndarray]:
    layers, hidden, heads, ffn = SHAPES[model]
    tp, batch, length = (rows[c].to_numpy(float) for c in ("tp", "batch", "isl"))
    m = batch * length if phase == "prefill" else batch
    weight, machine = device["weight_bytes"], (kernels, device["peak_flops"], device["memory_bandwidth"])
    shapes = [
        ((heads + 16) * 128 / tp, hidden), (hidden, heads * 128 / tp), (2 * ffn / tp, hidden), (hidden, ffn / tp)
    ]  # fmt: skip
    gemm = sum(formulas.gemm_time(m, n, k, weight, 2.0, *machine) for n, k in shapes)
    kv_heads = np.maximum(8 / tp, 1)
    keys = rows.isl.to_numpy(float) + rows.osl.to_numpy(float) / 2
    if phase == "prefill":
        attention = formulas.prefill_attention_time(
            batch, length, length, length / 2, heads / tp, kv_heads, 128.0, 128.0, 2.0, *machine
        )
    else:
        cache = batch * keys * kv_heads * 2 * 128 * (1.0 if weight < 2 else 2.0)
        attention = formulas.decode_attention_time(cache, 4 * batch * heads / tp * keys * 128, *machine)
    elementwise = formulas.elementwise_time(
        m * 2.0 * (8 * hidden + 3 * ffn / tp), kernels, device["memory_bandwidth"], launches=3.0
    )
    reduce = 2 * formulas.all_reduce_time(m * hidden * 2.0, tp, kernels, device["link_bandwidth"])
    bf16 = formulas.gemm_time(batch, 128256 / tp, hidden, 2.0, 2.0, *machine)
    return {
        "gemm": layers * gemm, "logits": bf16, "attention": layers * attention, "all_reduce": layers * reduce,
        "elementwise": layers * elementwise,
    }  # fmt: skip


if __name__ == "__main__":
    main()
