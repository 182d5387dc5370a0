"""Published rates of storage, decoders and loaders, and what accelerators need, against ours.

What a benchmark fixes (bytes of a record, batch, time of an emulated step, the utilisation at which a result is
accepted) is known from its rules, and the speed of a processor's decoder from a constant for its core. What only tells
how fast some storage is, or how large a data set, is an input of ours and no prediction: such rows are refused.
"""

from __future__ import annotations

import functools
import re
from typing import Any

import numpy as np
import pandas as pd

from solvers.formulas.data_pipeline import loader_sample_rate
from solvers.lowering.constants import constant

MIB = 2.0**20
NORMAL_80 = 1.2816
"""Standard deviations on either side of the mean that hold 80 % of a normal distribution."""

CORES = (
    (r"m4", "apple_m4"),
    (r"m3", "apple_m3"),
    (r"m[12]", "apple_m2"),
    (r"neoverse-?(v|2)|graviton[34]|grace|axion", "neoverse_v2"),
    (r"neoverse|graviton|ampere altra|t2a", "neoverse_n1"),
    (r"zen ?5|epyc 9.?.?5\b|epyc-9.?.?5\b|9b45|turin", "zen_5"),
    (r"epyc|ryzen|zen|amd", "zen_4"),
    (r"emerald|sapphire|granite|84\d\d|85\d\d|xeon 6|8581", "golden_cove"),
    (r"", "server"),
)
"""Kind of core by the first pattern that the hardware's lower-case name holds."""
DECODERS = (
    (r"pyvips|vips|tensorflow|ajpegli|jpegli", "slow"),
    (r"pillow|\bpil\b|imageio|skimage|scikit", "pillow"),
    (r"", "turbo"),
)
FRAMEWORKS = ((r"ffcv", "ffcv"), (r"litdata", "litdata"), (r"webdataset", "webdataset"), (r"", "streaming"))
PREDICTED = ("aggregate_read", "per_accelerator_read", "samples_per_s", "decode_rate", "loader_rate", "gpu_ingest")


def predict(frame: pd.DataFrame, catalog: Any) -> pd.DataFrame:
    """One prediction a row, in the row's metric and unit; `reason` says why a row was refused."""
    made = [_row(row, catalog) for _, row in frame.iterrows()]
    predicted = np.array([value for value, _, _ in made])
    spread = np.exp(NORMAL_80 * np.array([error for _, error, _ in made]))
    return pd.DataFrame(
        {
            "id": frame["id"].to_numpy(object),
            "family": frame["workload"].fillna("").astype(str).to_numpy(object),
            "metric": frame["metric"].to_numpy(object),
            "measured": frame["value"].to_numpy(float),
            "predicted": predicted,
            "low": predicted / spread,
            "high": predicted * spread,
            "reason": np.array([reason for _, _, reason in made], dtype=object),
            "feasible": True,
        }
    )


def _row(row: pd.Series, catalog: Any) -> tuple[float, float, str]:
    """Prediction, its relative error, and why there is none."""
    metric = _text(row, "metric")
    if metric in ("aggregate_read", "per_accelerator_read", "samples_per_s"):
        return _emulated(row, metric)
    if metric == "decode_rate":
        return _decoded(row), figure("decode_error"), ""
    if metric == "loader_rate":
        return _loaded(row)
    if metric == "gpu_ingest":
        return _ingested(row, catalog)
    return np.nan, 0.0, f"{metric or 'no metric'} is an input of ours, not a prediction"


def _text(row: pd.Series, name: str) -> str:
    value = row.get(name)
    return "" if value is None or value is pd.NA or (isinstance(value, float) and np.isnan(value)) else str(value)


def figure(quantity: str) -> float:
    """A constant of the data pipeline."""
    return constant("data_pipeline", quantity)


def _emulated(row: pd.Series, metric: str) -> tuple[float, float, str]:
    """What accelerators of a storage benchmark read: their demand at a little above the utilisation that is accepted.

    Systems are loaded with as many accelerators as they can feed, so all of them end just above the threshold.
    """
    text = f"{_text(row, 'workload')} {_text(row, 'family')}".lower()
    workload = next((w for w in ("unet3d", "cosmoflow", "resnet50") if w in text or w.replace("50", "") in text), None)
    chip = re.search(r"h100|a100|b200", f"{_text(row, 'hardware')} {_text(row, 'system')}".lower())
    if workload is None or chip is None or chip[0] == "b200":
        return np.nan, 0.0, "unknown benchmark"
    count = float(row["n_accelerators"]) if np.isfinite(row["n_accelerators"]) else 1.0
    utilization = figure(f"accepted_utilization_{workload}") * (1.0 + figure("utilization_margin"))
    rate = figure(f"benchmark_batch_{workload}") / figure(f"benchmark_step_{workload}_{chip[0]}") * utilization
    read = rate * figure(f"record_bytes_{workload}") / MIB
    made = {"aggregate_read": read * count, "per_accelerator_read": read, "samples_per_s": rate * count}
    return made[metric], figure("emulated_error"), ""


def decoder_rate(hardware: str, decoder: str) -> float:
    """ImageNet JPEGs that one core decodes a second."""
    core = next(name for pattern, name in CORES if re.search(pattern, hardware.lower()))
    kind = next(name for pattern, name in DECODERS if re.search(pattern, decoder.lower()))
    return figure(f"decode_rate_{core}") * figure(f"decoder_share_{kind}")


def _decoded(row: pd.Series) -> float:
    """One core, or the workers of one loader on a machine whose cores all are of that kind."""
    hardware = _text(row, "hardware")
    one = decoder_rate(hardware, _text(row, "system"))
    workers = re.match(r"\s*(\d+)(\.0)?\s*(workers?|proc\w*)?\s*$", _text(row, "cores_or_workers").lower())
    if workers is None or "thread" in _text(row, "cores_or_workers") or "dataloader" not in _text(row, "stage").lower():
        return one
    threads = re.search(r"(\d+) logical", _text(row, "notes"))
    decoded = figure("image_bytes") * figure("expansion_image")
    fastest = decoder_rate(hardware, "turbo")
    system = "spawned" if re.search(r"apple|darwin|mac|windows", hardware.lower()) else "forked"
    return float(
        loader_sample_rate(
            float(workers[1]),
            float(threads[1]) if threads else np.nan,
            one,
            figure("worker_scaling"),
            decoded,
            figure(f"handover_share_{system}") * fastest * decoded,
        )
    )


def _loaded(row: pd.Series) -> tuple[float, float, str]:
    """A whole loader on a many-core host: its cores, or the storage it reads from."""
    text = f"{_text(row, 'workload')} {_text(row, 'cores_or_workers')} {_text(row, 'hardware')}".lower()
    threads = re.search(r"(\d+)\s*vcpu", text)
    if threads is None and "litdata" not in _text(row, "family"):
        return np.nan, 0.0, "unknown number of cores"
    count = float(threads[1]) if threads else 32.0
    raw = "raw" in text
    framework = next(name for pattern, name in FRAMEWORKS if re.search(pattern, _text(row, "system").lower()))
    pixels = 512.0 if "512" in text else 256.0 if "256" in text else 0.0
    stored = _stored_bytes(raw, pixels)
    cost = "copy" if raw else "decode"
    each = figure(f"thread_{cost}_rate") * (figure("raw_bytes_256") / stored if raw else 1.0)
    cores = count * each * (1.0 if raw else figure(f"loader_share_{framework}"))
    warm = figure("cached_epoch_gain") if re.search(r"epoch ?2", text) else 1.0
    storage = figure("block_storage_bandwidth") / stored if re.search(r"\bebs\b", text) else np.inf
    return float(min(cores * warm, storage)), figure("loader_error"), ""


def _stored_bytes(raw: bool, pixels: float) -> float:
    if not pixels:
        return figure("image_bytes")
    return figure(f"{'raw' if raw else 'jpeg'}_bytes_{pixels:.0f}")


def _ingested(row: pd.Series, catalog: Any) -> tuple[float, float, str]:
    """Images a second that training consumes: the step of the training solver itself."""
    text = f"{_text(row, 'notes')} {_text(row, 'workload')}".lower()
    if "resnet" not in text and "rn50" not in text:
        return np.nan, 0.0, "unknown model"
    precision = "tf32" if "tf32" in text and "amp" not in text else "fp32" if "fp32" in text else "fp16"
    count = int(row["n_accelerators"]) if np.isfinite(row["n_accelerators"]) else 1
    rate = _training_rate(_text(row, "hardware"), precision, count)
    return (rate, figure("ingest_error"), "") if rate > 0 else (np.nan, 0.0, "unknown hardware")


@functools.cache
def _training_rate(hardware: str, precision: str, count: int) -> float:
    import warnings

    from solvers import SOLVERS, InvalidInput

    fleet = f"{'V100' if 'V100' in hardware else 'H100' if 'H100' in hardware else 'A100'}_8"
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            answer = SOLVERS["DistributedModel"]().solve(
                model="ResNet50", fleet=fleet, hardware=hardware, precision=precision,
                batch_size=256 * count, microbatch_size=256, dp_size=count,
            )  # fmt: skip
    except InvalidInput:
        return 0.0
    return float(answer.sample_throughput.magnitude)
