"""Calibration constants from their catalogue files: defaults of parameters, and tables to gather from by choice.

Each row of `solvers/catalog/data/<family>_constants.csv` is one figure with its unit, source, kind (fitted, cited or
estimate) and error. A parameter of a solver takes it as its default, so that a study may replace it by name.
"""

from __future__ import annotations

import csv
import functools
from collections.abc import Sequence
from importlib import resources
from typing import NamedTuple

import numpy as np


class Constant(NamedTuple):
    """One calibrated figure, in SI."""

    quantity: str
    value: float
    unit: str
    source: str
    kind: str
    fit_error: float
    note: str


@functools.cache
def constants(family: str) -> dict[str, Constant]:
    """Every constant of a family of formulas, by quantity.

    Raises:
        ValueError: a quantity appears twice, or a row has no source.
    """
    text = resources.files("solvers.catalog").joinpath("data", f"{family}_constants.csv").read_text(encoding="utf-8")
    found: dict[str, Constant] = {}
    for row in csv.DictReader(text.splitlines()):
        if row["quantity"] in found or not row["source"]:
            raise ValueError(f"{family}_constants.csv: {row['quantity']} is there twice, or has no source")
        found[row["quantity"]] = Constant(
            row["quantity"],
            float(row["value"]),
            row["unit"],
            row["source"],
            row["kind"],
            float(row["fit_error"]),
            row["note"],
        )
    return found


def constant(family: str, quantity: str) -> float:
    """One figure, in SI."""
    return constants(family)[quantity].value


@functools.cache
def table(family: str, quantity: str, choices: Sequence[str]) -> np.ndarray:
    """The figures `<quantity>_<choice>` in the order of the choices, to be gathered from by their codes."""
    return np.array([constant(family, f"{quantity}_{choice}") for choice in choices])
