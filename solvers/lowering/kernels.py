"""Kernel constants of an accelerator in a precision: its own where they were fitted, else those of its class.

Each constant is looked up by itself along a chain - the device, its class, its kind of link, any accelerator - and at
each place first for the precision and then for any. So a device never seen takes what is known of its generation, and
`kernel_error` says how far such a guess was off when it was tried on devices that were left out.
"""

from __future__ import annotations

import csv
import dataclasses
import functools
import re
from importlib import resources
from typing import NamedTuple

import numpy as np

from solvers.catalog import Entry, catalog
from solvers.formulas.kernels import Kernels
from solvers.lowering.device import peak_flops

CLASSES = (
    (r"^TPU", "tpu", "ici"),
    (r"^Gaudi", "gaudi", "fabric"),
    (r"^(Trainium|Inferentia)", "trainium", "fabric"),
    (r"^Apple", "apple", "pcie"),
    (r"^(Jetson|DGX-Spark)", "jetson", "pcie"),
    (r"(CPU|EPYC|Xeon)", "cpu", "pcie"),
    (r"CDNA ?4", "cdna4", "xgmi"),
    (r"CDNA ?3", "cdna3", "xgmi"),
    (r"CDNA", "cdna2", "xgmi"),
    (r"(Xe|Generation)", "xe", "pcie"),
    (r"Volta", "volta", "nvlink2"),
    (r"^T4 ", "turing", "pcie"),
    (r"^RTX-\d+(Ti)? ", "geforce", "nvlink3"),
    (r"^A(100|800|30)\b.*Ampere", "ampere", "nvlink3"),
    (r"Ampere", "ampere_workstation", "nvlink3"),
    (r"Ada", "ada", "pcie"),
    (r"Hopper", "hopper", "nvlink4"),
    (r"Blackwell 2", "blackwell_workstation", "pcie"),
    (r"Blackwell", "blackwell", "nvlink5"),
    (r"", "accelerator", "pcie"),
)
"""Pattern over "name architecture", class of its kernels, class of its link where it has one of its own."""

FAMILIES = {"fp8": "fp8", "int8": "fp8", "nvfp4": "nvfp4", "mxfp4": "nvfp4", "int4": "nvfp4"}
"""Arithmetic to the precision in which kernels were measured; all others count as 16 bit."""

SIXTEEN_BIT = {"attention": ("bf16",), "decode": ("bf16",)}
"""What runs at 16 bit on chips that have nothing narrower, whatever the weights."""

ERROR_SHOWN_BY = (
    "gemm_flops_fraction", "attention_flops_fraction", "decode_bandwidth_fraction", "expert_flops_fraction",
    "link_fraction",
)  # fmt: skip
"""One constant of each kind of kernel, to average their errors over."""


POWERED_BY = {
    "class:hopper": "H100-SXM", "class:ada": "L40S", "class:ampere": "A100-SXM-80", "class:blackwell": "B200",
    "class:blackwell_workstation": "RTX-PRO-6000-Blackwell-Server",
}  # fmt: skip
"""The device whose power for each operation the constants of a class were measured at."""
BOUND_BY_POWER = ("gemm_flops_fraction", "expert_flops_fraction", "attention_flops_fraction")


class Figure(NamedTuple):
    """One constant and where it comes from."""

    value: float
    error: float
    place: str
    kind: str
    source: str


def kernels_row(hardware: Entry, precision: Entry | str) -> dict[str, float]:
    """Every field of `Kernels`, in SI.

    The catalogue's fraction for attention is of the 16-bit peak, in which attention mostly runs; here it becomes a
    fraction of the precision's own peak. A card with less power for each operation than the one that was measured falls
    short of its peak by more.
    """
    entry = catalog.find("precision", precision) if isinstance(precision, str) else precision
    figures = kernel_figures(hardware, entry)
    row = {name: figure.value for name, figure in figures.items()}
    for name in BOUND_BY_POWER:
        row[name] *= power_share(hardware, figures[name].place)
    sixteen_bit, own = peak_flops(hardware, catalog.find("precision", "w8a16")), peak_flops(hardware, entry)
    row["attention_flops_fraction"] *= float(np.fmin(1.0, sixteen_bit / own))
    row["kernel_error"] = float(np.mean([figures[name].error for name in ERROR_SHOWN_BY]))
    return row


def kernel_figures(hardware: Entry, precision: Entry | str) -> dict[str, Figure]:
    """Every constant with its error and its origin: fitted on the device, on its class, or an estimate."""
    entry = catalog.find("precision", precision) if isinstance(precision, str) else precision
    family = FAMILIES.get(entry.text("compute").split("|")[0], "bf16")
    formats = {"nvfp4": ("nvfp4", "fp8", "any")}.get(family, (family, "any"))
    places = [hardware.name, *classes(hardware), "class:accelerator", "class:pcie"]
    names = [f.name for f in dataclasses.fields(Kernels) if f.name != "kernel_error"]
    return {name: _first(name, places, (*formats, *SIXTEEN_BIT.get(name.split("_")[0], ()))) for name in names}


def power_share(hardware: Entry, place: str) -> float:
    """How much of a measured fraction a card with less power for each operation keeps, at most all of it.

    Dynamic power rises with the cube of the clock, voltage following it, so that sustained work falls with the cube
    root of the power that is there for each operation at the peak.
    """
    measured = POWERED_BY.get(place)
    if measured is None:
        return 1.0
    each = [_power_each(device) for device in (hardware, catalog.find("hardware", measured))]
    return min(1.0, float(np.cbrt(each[0] / each[1]))) if all(each) else 1.0


def _power_each(hardware: Entry) -> float:
    peak = hardware.get("peak_flops_bf16") or hardware.get("peak_flops_fp16")
    return (hardware.get("tdp") or 0.0) / peak if peak else 0.0


def classes(hardware: Entry) -> tuple[str, str]:
    """The classes of a device's kernels and of its link. A chip without links of its own reduces over PCIe."""
    name = f"{hardware.name} {hardware.text('architecture')}"
    _, kernels, link = next(c for c in CLASSES if re.search(c[0], name))
    alone = hardware.get("link_domain") in (None, 1.0)
    return f"class:{kernels}", f"class:{'pcie' if alone else link}"


def _first(name: str, places: list[str], formats: tuple[str, ...]) -> Figure:
    found = (_figures().get((place, form, name)) for place in places for form in formats)
    return next(figure for figure in found if figure is not None)


@functools.cache
def _figures() -> dict[tuple[str, str, str], Figure]:
    text = resources.files("solvers.catalog").joinpath("data", "kernel_constants.csv").read_text(encoding="utf-8")
    return {
        (row["device"], row["precision"], row["quantity"]): Figure(
            float(row["value"]), float(row["fit_error"]), row["device"], row["kind"], row["source"]
        )
        for row in csv.DictReader(text.splitlines())
    }
