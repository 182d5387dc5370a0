"""An engine on a device in a precision as the columns of an `Engine`: the most particular constant there is of each."""

from __future__ import annotations

import csv
import dataclasses
import functools
import math
from collections.abc import Mapping
from importlib import resources
from typing import Any

from solvers.formulas.serving.constants import Engine
from solvers.lowering.kernels import kernels_row

WIDE = ("bf16", "fp16")
"""The arithmetics in which attention and the head run unless the format says otherwise."""
ROOMY = 70 * 2**30
"""Memory from which vLLM sizes its sampler and its passes for a larger load (its defaults for H100 and above)."""
NET_RUNNERS = ("eager", "compiled")
"""The kinds of engines that run nets for images; where another is named, an eager framework stands in for it."""
NET_CONSTANTS = ("convolution_slowdown", "net_traffic", "net_kernel_time")
FILLED = (
    "attention_weight_bytes", "attention_peak_flops", "head_weight_bytes", "head_peak_flops", "wide_flops_fraction",
    "wide_bandwidth_fraction", "wide_overhead", "wide_walk", "attention_wide",
)  # fmt: skip


def engine_row(hardware: Any, precision: Any, engine: Any) -> Mapping[str, float]:
    """Every field of `Engine`, in SI."""
    scopes = (engine_scopes(engine), device_scopes(hardware), precision_scopes(precision))
    row = {f.name: constant_for(f.name, *scopes) for f in dataclasses.fields(Engine) if f.name not in FILLED}
    if engine is not None and engine.text("family") not in NET_RUNNERS:
        row |= {name: constant_for(name, ("eager",), *scopes[1:]) for name in NET_CONSTANTS}
    roomy = hardware is not None and (hardware.get("usable_memory") or hardware.get("memory_capacity") or 0.0) > ROOMY
    if not roomy:
        row["profile_sequences"] = constant_for("small_profile_sequences", *scopes)
    return row | _formats(hardware, precision)


def engine_scopes(engine: Any) -> tuple[str, ...]:
    """What an engine's constants may be filed under, the most particular first."""
    return () if engine is None else (engine.name, engine.text("family"))


def device_scopes(hardware: Any) -> tuple[str, ...]:
    """What a device's constants may be filed under: its name, its generation with its market, either alone."""
    if hardware is None:
        return ()
    name = hardware.name
    generation = hardware.text("architecture", "").lower().split(" ")[0].rstrip("0123456789.-")
    market = next((kind for start, kind in _MARKETS if name.startswith(start)), "datacenter")
    if market in ("apple", "tpu"):
        generation = market
    return (name, f"{generation} {market}", generation, market)


_MARKETS = (
    ("Apple", "apple"), ("TPU", "tpu"), ("Jetson", "jetson"), ("DGX-Spark", "jetson"), ("RTX-PRO", "workstation"),
    ("RTX-A", "workstation"), ("RTX-4000-Ada", "workstation"), ("RTX-5000-Ada", "workstation"),
    ("RTX-6000-Ada", "workstation"), ("RTX", "geforce"), ("MI", "amd"), ("L4", "inference"), ("T4", "inference"),
    ("A40", "inference"),
)  # fmt: skip


def precision_scopes(precision: Any) -> tuple[str, ...]:
    """What a precision's constants may be filed under: its name, and the kind of its arithmetic and its weights."""
    if precision is None:
        return ()
    compute = precision.text("compute").split("|")[0]
    narrow = precision.require("weight") < 2.0
    weights_only = narrow and compute in ("fp16", "bf16")
    return (precision.name, "weight-only" if weights_only else compute)


@functools.cache
def constant_rows() -> tuple[dict[str, str], ...]:
    """Every row of the catalogue's serving constants."""
    text = resources.files("solvers.catalog").joinpath("data", "serving_constants.csv").read_text(encoding="utf-8")
    return tuple(csv.DictReader(text.splitlines()))


@functools.cache
def _filed() -> dict[tuple[str, str, str, str], float]:
    return {(r["quantity"], r["engine"], r["device"], r["precision"]): float(r["value"]) for r in constant_rows()}


def constant_for(
    quantity: str, engines: tuple[str, ...], devices: tuple[str, ...], precisions: tuple[str, ...]
) -> float:
    """The most particular figure: an engine's own before its family's before any, then so for device and precision.

    Raises:
        KeyError: the catalogue has none.
    """
    filed = _filed()
    for engine in (*engines, ""):
        for device in (*devices, ""):
            for precision in (*precisions, ""):
                value = filed.get((quantity, engine, device, precision))
                if value is not None:
                    return value
    raise KeyError(f"serving_constants.csv has no {quantity}")


def _formats(hardware: Any, precision: Any) -> dict[str, float]:
    """Widths and peaks of what a format leaves alone: the head, and attention where only experts are quantised."""
    if hardware is None or precision is None:
        return dict.fromkeys(FILLED, math.nan)
    compute = precision.text("compute").split("|")
    wide = _peak(hardware, WIDE if compute[0] not in ("fp32", "fp64", "tf32") else tuple(compute))
    own = _peak(hardware, tuple(compute))
    bits = precision.require("weight")
    mixed_blocks = precision.name.startswith(("q", "iq"))
    head = bits if mixed_blocks or bits > 2.0 else 2.0
    experts_only = precision.name.startswith("mxfp4")
    wide_kernels = kernels_row(hardware, precision.name if bits > 2.0 else "w8a16")
    return {
        "wide_flops_fraction": wide_kernels["gemm_flops_fraction"],
        "wide_bandwidth_fraction": wide_kernels["gemm_bandwidth_fraction"],
        "wide_overhead": wide_kernels["gemm_overhead"],
        "wide_walk": wide_kernels["gemm_walk"],
        "attention_wide": float(experts_only),
        "attention_weight_bytes": 2.0 if experts_only else bits,
        "attention_peak_flops": wide if experts_only or math.isnan(own) else own,
        "head_weight_bytes": head,
        "head_peak_flops": wide if not math.isnan(wide) else own,
    }


def _peak(hardware: Any, arithmetics: tuple[str, ...]) -> float:
    found = [v for v in (hardware.get(f"peak_flops_{a}") for a in arithmetics) if v is not None]
    return max(found) if found else math.nan


NORMAL_P90 = 1.2816
"""Four of five of a normal distribution lie within so many standard deviations of its middle."""


def interval_of(metric: str, engine: Any, hardware: Any, precision: Any, experts: bool) -> float:
    """The factor within which four of five figures of a kind lay when their family was left out of the fit.

    Wider where kernel constants were not measured on the device: their error is added in quadrature, as far as the
    engine's own constants were not fitted on such devices.
    """
    filed = _filed()
    scopes = (*engine_scopes(engine), "")
    quantities = [f"interval_{metric}_experts"] * experts + [f"interval_{metric}"]
    found = (filed.get((quantity, scope, "", "")) for quantity in quantities for scope in scopes)
    base = next((value for value in found if value is not None), filed["interval", "", "", ""])
    excess = max(kernels_row(hardware, precision)["kernel_error"] - filed["measured_kernel_error", "", "", ""], 0.0)
    share = constant_for("interval_kernel_share", engine_scopes(engine), (), ())
    return math.exp(math.hypot(math.log(base), share * NORMAL_P90 * excess))
