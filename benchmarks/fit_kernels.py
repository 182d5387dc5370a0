"""Fit the kernel constants to measured kernels, and say how far off they are.

    python benchmarks/fit_kernels.py --kernels DIR [--write]

DIR holds `kernels/*.parquet` (or the files themselves): GEMM, attention, MoE and collective timings of
aiconfigurator-core 0.12.0 (NVIDIA, Apache-2.0), one row a shape. Fractions are of the catalogue's peaks, for prefill
attention of the 16-bit one. The loss is robust and logarithmic. `--write` replaces the fitted rows of
`solvers/catalog/data/kernel_constants.csv`, and keeps the others.
"""

from __future__ import annotations

import argparse
import csv
import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy.optimize import least_squares

from solvers.catalog import catalog
from solvers.columns import declared
from solvers.formulas import kernels as formulas
from solvers.formulas.kernels import Kernels
from solvers.lowering.device import device_row

CONSTANTS = Path(__file__).parents[1] / "solvers/catalog/data/kernel_constants.csv"
SOURCE = "aiconfigurator-core 0.12.0 kernel timings (NVIDIA, Apache-2.0), fitted by benchmarks/fit_kernels.py"
HEADER = ["device", "precision", "quantity", "value", "unit", "source", "kind", "fit_error", "n_rows", "note"]

DEVICES = {
    "a100_sxm": "A100-SXM-80", "h100_sxm": "H100-SXM", "h200_sxm": "H200-SXM", "b200_sxm": "B200", "b300_sxm": "B300",
    "gb200": "GB200", "gb300": "GB300", "l40s": "L40S", "rtx_pro_6000_server": "RTX-PRO-6000-Blackwell-Server",
    "b60": "Intel-Arc-B60",
}  # fmt: skip
SIBLINGS = ("ampere", "hopper", "blackwell", "ada", "blackwell_workstation", "xe")
CLASSES = {
    "accelerator": ["a100_sxm", "h100_sxm", "b200_sxm", "l40s", "rtx_pro_6000_server"],
    "ampere": ["a100_sxm"], "hopper": ["h100_sxm", "h200_sxm"], "blackwell": ["b200_sxm", "b300_sxm", "gb200", "gb300"],
    "ada": ["l40s"], "blackwell_workstation": ["rtx_pro_6000_server"], "xe": ["b60"],
}  # fmt: skip
LINKS = {
    "nvlink3": ["a100_sxm"], "nvlink4": ["h100_sxm", "h200_sxm"], "pcie": ["l40s", "rtx_pro_6000_server"],
    "nvlink5": ["b200_sxm", "b300_sxm", "gb200", "gb300"],
}  # fmt: skip
OTHER_GENERATION = {
    "a100_sxm": ["h100_sxm", "h200_sxm"], "h100_sxm": ["a100_sxm", "b200_sxm"], "h200_sxm": ["a100_sxm", "b200_sxm"],
    "b200_sxm": ["h100_sxm", "h200_sxm"], "b300_sxm": ["h100_sxm", "h200_sxm"], "gb200": ["h100_sxm", "h200_sxm"],
    "gb300": ["h100_sxm", "h200_sxm"], "l40s": ["rtx_pro_6000_server", "a100_sxm"],
    "rtx_pro_6000_server": ["l40s", "b200_sxm"], "b60": ["l40s", "rtx_pro_6000_server"],
}  # fmt: skip
PRECISIONS = {"bfloat16": "bf16", "fp8": "fp8", "nvfp4": "nvfp4"}
FORMATS = {"bf16": "bf16", "fp8": "fp8", "nvfp4": "nvfp4", "any": "bf16"}
WEIGHT_BYTES = {"bf16": 2.0, "fp8": 1.0, "nvfp4": 0.5625}
START = {
    "fraction": 0.7, "overhead": 5e-6, "walk": 1e-9, "passes": 1.0, "length": 1000.0, "rows": 30.0, "skew": 0.2,
    "hop": 1e-6, "crowding": 0.0, "ramp": 5e-6,
}  # fmt: skip
FIELDS = tuple(f.name for f in dataclasses.fields(Kernels))
HELD = {("gemm", "bf16"): {"quantise_passes": 0.0}}
"""Nothing is quantised at 16 bit."""
FIXED = {"quantise_overhead": 0.0, "softmax_width": 50.0, "elementwise_fraction": 0.85, "elementwise_overhead": 2.5e-6}


@dataclasses.dataclass(frozen=True)
class Rows:
    """Measured kernels of one kind on one device in one precision."""

    inputs: dict[str, np.ndarray]
    seconds: np.ndarray
    peaks: dict[str, float]


@dataclasses.dataclass(frozen=True)
class Kind:
    """A kind of kernel: its constants, its prediction, and how its rows are read."""

    constants: tuple[str, ...]
    predict: Callable[[Rows, Kernels], np.ndarray]
    read: Callable[[pd.DataFrame], dict[str, np.ndarray]]
    table: str
    precision: str
    keys: tuple[str, ...]


def main() -> None:
    parser = argparse.ArgumentParser(description="Fit the kernel constants to measured kernels.")
    parser.add_argument("--kernels", type=Path, required=True, help="folder that holds kernels/*.parquet")
    parser.add_argument("--write", action="store_true", help="rewrite kernel_constants.csv")
    options = parser.parse_args()
    folder = options.kernels / "kernels" if (options.kernels / "kernels").is_dir() else options.kernels
    data = read(folder)
    fits = {key: fit(KINDS[key[0]], rows, HELD.get(key[:2])) for key, rows in data.items()}
    split_quantisation(folder, fits)
    report = [errors(key, data, fits) for key in data]
    print(pd.DataFrame(report).to_string(index=False, float_format=lambda v: f"{v:.1f}", na_rep=""))
    print(pd.DataFrame(report).groupby(["kind"])[["fit", "p90", "sibling", "other_generation"]].median().round(1))
    if options.write:
        write(fits, report)


def read(folder: Path, engine: str = "", names: tuple[str, ...] = ()) -> dict[tuple[str, str, str], Rows]:
    """Rows by (kind, precision, system): the geometric mean over engines of each shape."""
    found = {}
    for name, kind in KINDS.items():
        if names and name not in names:
            continue
        frame = PREPARE.get(name, lambda f: f)(pd.read_parquet(folder / kind.table))
        frame = frame[frame.framework == engine] if engine else frame
        frame = frame.assign(precision=frame[kind.precision].map(PRECISIONS) if kind.precision else "any")
        for (precision, system), group in frame.dropna(subset=["precision"]).groupby(["precision", "system"]):
            by_shape = np.log(group.latency_us * 1e-6).groupby([group[k] for k in kind.keys])
            logs = by_shape.agg(AGGREGATE.get(name, "mean"))
            shapes = logs.index.to_frame(index=False)
            peak_of = "bf16" if name == "prefill" else FORMATS[precision]
            device = device_row(catalog.find("hardware", DEVICES[system]), peak_of)
            peaks = {peak: device[peak] for peak in ("peak_flops", "memory_bandwidth", "link_bandwidth")}
            inputs = kind.read(shapes) | {"weight_bytes": np.array(WEIGHT_BYTES.get(precision, 2.0))}
            found[name, precision, system] = Rows(inputs, np.exp(logs.to_numpy()), peaks)
    return found


def fit(kind: Kind, rows: Rows, given: dict[str, Any] | None = None) -> dict[str, Any]:
    """The constants that minimise a robust sum of squared log errors, the others as given."""
    held = {n: v for n, v in (given or {}).items() if n in FIELDS}
    names = tuple(n for n in kind.constants if n not in held)
    start = np.array([encode(name, START[suffix(name)]) for name in names])

    def residuals(code: np.ndarray) -> np.ndarray:
        return np.log(kind.predict(rows, build(names, code, held)) / rows.seconds)

    code = least_squares(residuals, start, loss="soft_l1", f_scale=0.1, bounds=bounds(names)).x
    return {n: v for n, v in held.items() if n in kind.constants} | {
        n: decode(n, c) for n, c in zip(names, code, strict=True)
    }


def split_quantisation(folder: Path, fits: dict) -> None:
    """The fixed time of a low-precision product beyond that at 16 bit is its quantisation, which engines fuse or not.

    Taken as the geometric mean of the engines' own fixed times, since one engine measured ten times more shapes.
    """
    kind = KINDS["gemm"]
    for engine in ("trtllm", "vllm"):
        for key, rows in read(folder, engine, ("gemm",)).items():
            if key[1] != "bf16":
                free = Kind(("gemm_overhead",), kind.predict, kind.read, kind.table, kind.precision, kind.keys)
                others = {n: v for n, v in fits[key].items() if n != "gemm_overhead"}
                fits[key].setdefault("engines", []).append(fit(free, rows, others)["gemm_overhead"])
    for (name, _, system), constants in fits.items():
        if name == "gemm":
            base = fits[name, "bf16", system]["gemm_overhead"]
            whole = float(np.exp(np.mean(np.log(constants.pop("engines", [base])))))
            constants |= {"gemm_overhead": base, "quantise_overhead": max(whole - base, 0.0)}


def suffix(name: str) -> str:
    return name.rsplit("_", 1)[-1]


def encode(name: str, value: float) -> float:
    return value if suffix(name) == "crowding" else float(np.log(value))


def decode(name: str, code: Any) -> Any:
    return code if suffix(name) == "crowding" else np.exp(code)


def bounds(names: tuple[str, ...]) -> tuple[list[float], list[float]]:
    low = [-0.8 if suffix(n) == "crowding" else -25.0 for n in names]
    high = [{"crowding": 5.0, "fraction": 0.0, "skew": 0.5}.get(suffix(n), 12.0) for n in names]
    return low, high


def build(names: tuple[str, ...], code: Any, held: dict[str, Any] | None = None) -> Kernels:
    values = dict.fromkeys(FIELDS, float("nan")) | FIXED | (held or {})
    return Kernels(**(values | {n: decode(n, c) for n, c in zip(names, code, strict=True)}))


def deviation(kind: Kind, rows: Rows, constants: dict[str, float]) -> np.ndarray:
    """Relative error of each row, in per cent."""
    kernels = build((), [], constants)
    return 100 * np.abs(kind.predict(rows, kernels) / rows.seconds - 1)


def middle(chosen: list[dict[str, float]]) -> dict[str, float]:
    """The default of a class: the geometric mean of its devices' constants."""
    return {n: mean([c[n] for c in chosen]) for n in chosen[0]}


def mean(values: list[float]) -> float:
    """Geometric where all are positive."""
    return float(np.exp(np.mean(np.log(values))) if min(values) > 0 else np.mean(values))


def errors(key: tuple[str, str, str], data: dict, fits: dict) -> dict[str, Any]:
    """In-sample error, and that of constants which never saw the device: its siblings', another generation's."""
    name, precision, system = key
    kind, rows = KINDS[name], data[key]
    own = deviation(kind, rows, fits[key])
    siblings = [s for c in SIBLINGS if system in CLASSES[c] for s in CLASSES[c] if s != system]
    out = {"kind": name, "precision": precision, "device": system, "rows": len(rows.seconds)}
    out |= {"fit": np.median(own), "p90": np.quantile(own, 0.9)}
    for label, donors in {"sibling": siblings, "other_generation": OTHER_GENERATION[system]}.items():
        chosen = [fits[name, precision, d] for d in donors if (name, precision, d) in fits]
        out[label] = np.median(deviation(kind, rows, middle(chosen))) if chosen else np.nan
    return out


def write(fits: dict, report: list[dict[str, Any]]) -> None:
    """Fitted rows by device and by class, then the estimates that were made by hand."""
    known = {(r["kind"], r["precision"], r["device"]): r for r in report}
    units = {name: c.unit for name, c in declared(Kernels).items()}
    lines = []
    for (name, precision, system), constants in fits.items():
        r = known[name, precision, system]
        for quantity, value in constants.items():
            lines.append([DEVICES[system], precision, quantity, value, r["fit"] / 100, r["rows"], ""])
    for table, members_by_class in (("compute", CLASSES), ("link", LINKS)):
        for group, members in members_by_class.items():
            for name, kind in KINDS.items():
                if (table == "link") != (kind.precision == ""):
                    continue
                for precision in ("bf16", "fp8", "nvfp4", "any"):
                    chosen = [m for m in members if (name, precision, m) in fits]
                    if not chosen:
                        continue
                    rows = [known[name, precision, m] for m in chosen]
                    label = "sibling" if group in SIBLINGS and len(chosen) > 1 else "other_generation"
                    error = np.nanmedian([*(r[label] for r in rows), np.nan if len(rows) > 1 else 30.0]) / 100
                    note = "mean of " + " ".join(DEVICES[m] for m in chosen) + "; error: left-out device"
                    count = sum(r["rows"] for r in rows)
                    for quantity, value in middle([fits[name, precision, m] for m in chosen]).items():
                        lines.append([f"class:{group}", precision, quantity, value, error, count, note])
    with CONSTANTS.open() as old:
        kept = [row for row in csv.DictReader(old) if row["kind"] != "fitted"]
    with CONSTANTS.open("w", newline="") as out:
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(HEADER)
        for device, precision, quantity, value, error, count, note in lines:
            figures = [f"{value:.4g}", units[quantity], SOURCE, "fitted", f"{error:.3f}", count, note]
            writer.writerow([device, precision, quantity, *figures])
        writer.writerows([[row[name] for name in HEADER] for row in kept])


def numbers(shapes: pd.DataFrame, **names: str) -> dict[str, np.ndarray]:
    return {new: shapes[old].to_numpy(float) for new, old in names.items()}


def gemm(rows: Rows, k: Kernels) -> np.ndarray:
    i, p = rows.inputs, rows.peaks
    return formulas.gemm_time(i["m"], i["n"], i["k"], i["weight_bytes"], 2.0, k, p["peak_flops"], p["memory_bandwidth"])


def prefill(rows: Rows, k: Kernels) -> np.ndarray:
    i, p = rows.inputs, rows.peaks
    return formulas.prefill_attention_time(
        i["batch"], i["length"], i["length"], i["length"] / 2, i["heads"], i["kv_heads"], i["width"], i["width"], 2.0,
        k, p["peak_flops"], p["memory_bandwidth"],
    )  # fmt: skip


def decode_attention(rows: Rows, k: Kernels) -> np.ndarray:
    return formulas.decode_attention_time(
        rows.inputs["cache"], 0.0, dataclasses.replace(k, attention_flops_fraction=1.0),
        rows.peaks["peak_flops"], rows.peaks["memory_bandwidth"],
    )  # fmt: skip


def experts(rows: Rows, k: Kernels) -> np.ndarray:
    """Balanced rows spread tokens over as many experts as they can; power-law rows follow the routing formula."""
    i, p = rows.inputs, rows.peaks
    shape = (i["hidden"], i["inner"] / i["tp"], 3.0)
    machine = (i["weight_bytes"], 2.0, k, p["peak_flops"], p["memory_bandwidth"])
    routed = i["tokens"] * i["top_k"]
    balanced = formulas.grouped_gemm_time(
        routed / i["ranks"], np.minimum(i["num_experts"], routed) / i["ranks"], *shape, *machine
    )
    skewed = formulas.experts_time(i["tokens"], i["top_k"], i["num_experts"], *shape, i["ranks"], *machine)
    return np.where(i["balanced"], balanced, skewed)


def read_experts(shapes: pd.DataFrame) -> dict[str, np.ndarray]:
    names = {
        "tokens": "num_tokens", "top_k": "topk", "num_experts": "num_experts", "hidden": "hidden_size",
        "inner": "inter_size", "tp": "moe_tp_size", "ranks": "moe_ep_size",
    }  # fmt: skip
    return numbers(shapes, **names) | {"balanced": (shapes.distribution == "balanced").to_numpy()}


def library(rows: Rows, k: Kernels) -> np.ndarray:
    i, link = rows.inputs, rows.peaks["link_bandwidth"]
    alone = dataclasses.replace(
        k, reduce_overhead=np.inf, reduce_hop=1.0, reduce_fraction=1.0, reduce_crowding=0.0, reduce_ramp=0.0
    )
    reduce = formulas.all_reduce_time(i["size"], i["ranks"], alone, link)
    ring = formulas.ring_time(i["size"], i["ranks"], k, link)
    exchange = formulas.all_to_all_time(i["size"], i["ranks"], k, link)
    return np.select([i["op"] == 0, i["op"] == 1], [reduce, ring], exchange)


def own_reduce(rows: Rows, k: Kernels) -> np.ndarray:
    alone = dataclasses.replace(
        k, collective_overhead=np.inf, collective_hop=1.0, link_fraction=1.0, link_crowding=0.0, link_ramp=0.0
    )
    return formulas.all_reduce_time(rows.inputs["size"], rows.inputs["ranks"], alone, rows.peaks["link_bandwidth"])


def read_collective(shapes: pd.DataFrame) -> dict[str, np.ndarray]:
    codes = {"all_reduce": 0.0, "all_gather": 1.0, "reduce_scatter": 1.0, "alltoall": 2.0}
    return numbers(shapes, size="bytes", ranks="num_gpus") | {"op": shapes.op_name.map(codes).to_numpy()}


def healthy_nccl(frame: pd.DataFrame) -> pd.DataFrame:
    """16-bit rows; of L40S two ranks, since its table at 4 and 8 is of a node whose PCIe is ten times slower."""
    keep = (frame["dtype"] == "half") & ~((frame.system == "l40s") & (frame.num_gpus > 2))
    return frame[keep & ~((frame.system == "b60") & (frame.op_name == "all_gather"))]


def captured_reduce(frame: pd.DataFrame) -> pd.DataFrame:
    """Kernels inside CUDA graphs, as engines run them; up to 8 ranks; of L40S at 4 and 8 only the healthy node's."""
    graph = (frame["mode"] == "graph") | frame.kernel_source.str.startswith("TRTLLM") | (frame.system == "b60")
    slow_node = (frame.system == "l40s") & (frame.num_gpus > 2) & (frame.framework != "sglang")
    return frame[graph & (frame.num_gpus <= 8) & ~slow_node]


PREPARE = {"collective": healthy_nccl, "all_reduce": captured_reduce}
AGGREGATE = {"collective": "min", "all_reduce": "min"}
SHAPE = ("batch_size", "isl", "num_heads", "num_key_value_heads", "head_dim")

KINDS = {
    "gemm": Kind(
        ("gemm_flops_fraction", "gemm_bandwidth_fraction", "gemm_overhead", "gemm_walk", "quantise_passes"),
        gemm, lambda s: numbers(s, m="m", n="n", k="k"), "gemm.parquet", "gemm_dtype", ("m", "n", "k"),
    ),
    "prefill": Kind(
        ("attention_flops_fraction", "attention_half_length", "attention_overhead", "attention_walk"), prefill,
        lambda s: numbers(
            s, batch="batch_size", length="isl", heads="num_heads", kv_heads="num_key_value_heads", width="head_dim"
        ),
        "attention_context.parquet", "kv_cache_dtype", SHAPE,
    ),
    "decode": Kind(
        ("decode_bandwidth_fraction", "decode_overhead"), decode_attention, lambda s: numbers(s, cache="kv_bytes"),
        "attention_generation.parquet", "kv_cache_dtype", ("kv_bytes", *SHAPE, "kv_len"),
    ),
    "experts": Kind(
        (
            "expert_flops_fraction", "expert_bandwidth_fraction", "expert_overhead", "expert_half_rows",
            "expert_passes", "routing_skew", "rank_skew",
        ),
        experts, read_experts, "moe.parquet", "moe_dtype",
        (
            "num_tokens", "topk", "num_experts", "hidden_size", "inter_size", "moe_tp_size", "moe_ep_size",
            "distribution",
        ),
    ),
    "collective": Kind(
        ("collective_overhead", "collective_hop", "alltoall_overhead", "link_fraction", "link_crowding", "link_ramp"),
        library, read_collective, "nccl.parquet", "", ("op_name", "num_gpus", "bytes"),
    ),
    "all_reduce": Kind(
        ("reduce_overhead", "reduce_hop", "reduce_fraction", "reduce_crowding", "reduce_ramp"), own_reduce,
        lambda s: numbers(s, size="bytes", ranks="num_gpus"), "allreduce.parquet", "",
        ("num_gpus", "bytes"),
    ),
}  # fmt: skip

if __name__ == "__main__":
    main()
