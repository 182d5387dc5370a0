"""The science: formulas, the catalogue of figures, and the faces that people call.

    from solvers import ServingModel
    ServingModel().solve("Llama3_70B", "H100", tp_size=2, batch_size=16).itl

Knows nothing of searches, trials or printing. Names are imported when first used.
"""

from __future__ import annotations

from typing import Any

from solvers.menu import SOLVERS

__all__ = ["SOLVERS", "InfeasiblePlan", "InvalidInput", *SOLVERS]


def __getattr__(name: str) -> Any:
    if name in SOLVERS:
        return SOLVERS[name]
    if name in ("InfeasiblePlan", "InvalidInput"):
        from solvers import complaints

        return getattr(complaints, name)
    from solvers.complaints import near

    raise AttributeError(f"solvers has no {name!r}{near(name, __all__)}")


def __dir__() -> list[str]:
    return sorted(__all__)
