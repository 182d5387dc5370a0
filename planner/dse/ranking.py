"""The best of some points."""

from __future__ import annotations

from typing import Any

import numpy as np

from planner.fronts import knee, nondominated


def ranked(points: np.ndarray, top: int, candidate: Any) -> dict[str, Any]:
    """The best of some points and those after it: by value for one objective, along the front for several."""
    if points.shape[1] == 1:
        order = np.argsort(points[:, 0], kind="stable")[:top]
        best = int(order[0])
        front = [candidate(best)]
        listed = [front[0], *(candidate(int(i)) for i in order[1:])]
    else:
        on_front = np.flatnonzero(nondominated(points))
        on_front = on_front[np.lexsort(points[on_front].T[::-1])]
        best = int(on_front[knee(points[on_front])])
        front = [candidate(int(i)) for i in on_front]
        listed = [candidate(best), *(c for i, c in zip(on_front, front, strict=True) if i != best)][:top]
    chosen = listed[0]
    return {
        "best_params": chosen["params"], "best_objective": chosen["objective"], "best_result": chosen["result"],
        "top_candidates": listed, "front": front,
    }  # fmt: skip


def spoken(texts: list[str], values: list[float]) -> Any:
    """One objective's value, or several by their texts."""
    if len(texts) == 1:
        return values[0] if values else None
    return dict(zip(texts, values, strict=False))
