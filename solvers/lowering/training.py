"""Training constants as columns: by generation of accelerator and width of arithmetic, else by class, else for all."""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Mapping
from typing import Any

from solvers.formulas.training.constants import TrainingConstants
from solvers.lowering.constants import constants

GENERATIONS = {
    "volta": "volta", "turing": "volta", "ampere": "ampere", "ada": "ada", "hopper": "hopper", "blackwell 2": "ada",
    "blackwell ultra": "blackwell_ultra", "blackwell": "blackwell", "cdna": "cdna", "tpu": "tpu", "gaudi": "gaudi",
}  # fmt: skip
"""Which calibrated generation stands for an architecture: the first of these words that its name begins with."""

WIDE = ("bf16", "fp16")


def training_row(hardware: Any, precision: Any, known: Mapping[str, float] | None = None) -> Mapping[str, float]:
    """The constants of one accelerator in one precision; `known` replaces the catalogue's during a fit."""
    values = known or _values()
    width, generation = _width(precision), generation_of(hardware)
    names = [f.name for f in dataclasses.fields(TrainingConstants) if f.name != "wide_peak_flops"]
    row = {name: _constant(name, generation, width, values) for name in names}
    row["wide_peak_flops"] = _wide_peak(hardware, precision)
    return row


@functools.cache
def _values() -> dict[str, float]:
    return {name: figure.value for name, figure in constants("training").items()}


def generation_of(hardware: Any) -> str:
    """The calibrated generation that an accelerator belongs to (`other` where none is like it)."""
    if hardware is None:
        return "other"
    words = hardware.text("architecture", hardware.name).lower()
    named = hardware.name.lower()
    for start, generation in GENERATIONS.items():
        if words.startswith(start) or named.startswith(start):
            return generation
    return "other"


def _width(precision: Any) -> str:
    """The class of arithmetic: `half`, `tf32`, `single`, `fp8` or `fp4`."""
    compute = "bf16" if precision is None else precision.text("compute", precision.name)
    first = compute.split("|")[0]
    if first in ("fp32", "fp64"):
        return "single"
    if first in ("tf32", "fp8"):
        return first
    if first in ("nvfp4", "mxfp4", "fp4", "int4"):
        return "fp4"
    return "fp8" if first == "int8" else "half"


def _constant(quantity: str, generation: str, width: str, values: Mapping[str, float]) -> float:
    """The most particular figure there is: of the generation and width, of the generation, of the width, of all."""
    line = (generation, generation.split("_")[0])
    for end in (*(f"_{g}_{width}" for g in line), *(f"_{g}" for g in line), f"_{width}", ""):
        if quantity + end in values:
            return values[quantity + end]
    raise KeyError(f"training_constants.csv has no {quantity}")


def _wide_peak(hardware: Any, precision: Any) -> float:
    """The peak in which attention and the vocabulary head run: 16 bit, or the precision's own where that is wider."""
    if hardware is None:
        return math.nan
    width = _width(precision)
    names = WIDE if width not in ("tf32", "single") else (("tf32",) if width == "tf32" else ()) + ("fp32",)
    found = [value for name in names if (value := hardware.get(f"peak_flops_{name}")) is not None]
    fallback = [value for name in (*WIDE, "fp32", "fp8") if (value := hardware.get(f"peak_flops_{name}")) is not None]
    return float((found or fallback or [math.nan])[0])
