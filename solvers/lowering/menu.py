"""The menu of records: which names select each, and which function fills it."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Selector:
    """A parameter whose value is the name of a catalogue entry."""

    kind: str
    description: str
    default: str | None = None
    optional: bool = False


SELECTORS = {
    "model": Selector("model", "the model, by name"),
    "draft_model": Selector("model", "the model that drafts, by name", optional=True),
    "hardware": Selector("hardware", "the accelerator, by name (a fleet brings its own)"),
    "fleet": Selector("fleet", "the fleet, by name", optional=True),
    "precision": Selector("precision", "format of weights and arithmetic", default="bf16"),
    "engine": Selector("engine", "the software that serves, by name", default="vLLM"),
    "terms": Selector("terms", "the terms on which accelerators are had", default="on_demand"),
    "region": Selector("grid", "where the electricity comes from, by name", default="United States"),
}


@dataclass(frozen=True)
class Lowering:
    """How a record is filled: the keys that select it, and `module:function` that makes its row from their entries."""

    keys: tuple[str, ...]
    function: str

    def row(self) -> Callable[..., Any]:
        """The row function, imported when first needed."""
        module, name = self.function.split(":")
        return getattr(importlib.import_module(f"solvers.lowering.{module}"), name)


LOWERINGS = {
    "Architecture": Lowering(("model",), "architecture:architecture_row"),
    "Device": Lowering(("hardware", "precision"), "device:device_row"),
    "Fleet": Lowering(("fleet", "hardware"), "fleet:fleet_row"),
    "Kernels": Lowering(("hardware", "precision"), "kernels:kernels_row"),
    "Price": Lowering(("hardware", "terms"), "economics:price_row"),
    "Grid": Lowering(("region",), "economics:grid_row"),
    "PowerResponse": Lowering(("hardware",), "power:power_row"),
    "SpeculationCosts": Lowering(("engine",), "speculation:costs_row"),
    "Engine": Lowering(("hardware", "precision", "engine"), "serving:engine_row"),
    "TrainingConstants": Lowering(("hardware", "precision"), "training:training_row"),
}
