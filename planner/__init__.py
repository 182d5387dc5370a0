"""A capacity planner for machine-learning systems: what to run a workload on, laid out how, and at what cost.

    import planner
    run = planner.explore("serve_llama3_70b")
    run.front()

Names are imported when first used.
"""

from __future__ import annotations

import importlib
from typing import Any

_PLACES = {
    "explore": "planner.run.explorer",
    "load_study": "planner.study",
    "load_run": "planner.run",
    "pareto": "planner.fronts",
    "DSE": "planner.dse",
    "Pipeline": "planner.pipeline",
    "Models": "solvers.catalog",
    "Hardware": "solvers.catalog",
    "Systems": "solvers.catalog",
    "catalog": "solvers.catalog",
}

__all__ = ["DSE", "Hardware", "Models", "Pipeline", "Systems", "catalog", "explore", "load_run", "load_study", "pareto"]


def __getattr__(name: str) -> Any:
    if name not in _PLACES:
        from solvers.complaints import near

        raise AttributeError(f"planner has no {name!r}{near(name, __all__)}")
    made = getattr(importlib.import_module(_PLACES[name]), name)
    globals()[name] = made
    return made


def __dir__() -> list[str]:
    return sorted(__all__)
