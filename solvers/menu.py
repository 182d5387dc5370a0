"""The menu of solvers: one line each. Adding a line is all that a new solver needs besides its file."""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Mapping
from typing import Any

_MENU = {
    "SingleNodeModel": "single_node",
    "DataModel": "data",
    "TransformationModel": "transformation",
    "DistributedModel": "distributed",
    "ServingModel": "serving",
    "InferenceScalingModel": "inference_scaling",
    "EconomicsModel": "economics",
}


class _Menu(Mapping[str, Any]):
    """Solver classes by name, imported when first asked for."""

    def __getitem__(self, name: str) -> Any:
        return getattr(importlib.import_module(f"solvers.faces.{_MENU[name]}"), name)

    def __iter__(self) -> Iterator[str]:
        return iter(_MENU)

    def __len__(self) -> int:
        return len(_MENU)


SOLVERS = _Menu()
"""Every listed solver: `SOLVERS["ServingModel"]` is its class."""
