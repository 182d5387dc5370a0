"""Which versions of what made a run."""

from __future__ import annotations

import platform
from importlib.metadata import PackageNotFoundError, version

RECORDED = ("ml-capacity-planner", "numpy", "optuna", "pyarrow", "moocore")


def versions() -> dict[str, str]:
    """The versions that trials depend on, by distribution."""
    made = {"python": platform.python_version()}
    for name in RECORDED:
        try:
            made[name] = version(name)
        except PackageNotFoundError:
            made[name] = "source"
    return made
