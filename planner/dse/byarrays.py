"""A function that is one call of a pipeline, searched over arrays."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from planner.dse.metrics import metrics_of
from planner.dse.ranking import ranked, spoken
from planner.dse.tracing import Traced, trace
from planner.run.folder import TRIALS
from planner.run.summary import points_of
from planner.run.trials import parts_in
from solvers.complaints import InvalidInput

if TYPE_CHECKING:
    from planner.dse import DSE, Evaluate
    from planner.run import Run
    from planner.study import Study

CHECKED = 4
"""Configurations whose answer is asked for both ways, and must be the same."""


class _Result(dict[str, Any]):
    """What was found; the table of trials is read when it is asked for, for it may be long."""

    def __init__(self, found: dict[str, Any], run: Run, names: dict[str, str]) -> None:
        super().__init__(found)
        self._run, self._names = run, names

    def __missing__(self, key: str) -> Any:
        if key != "trials":
            raise KeyError(key)
        self["trials"] = self._run.trials().rename(columns=self._names)
        return self["trials"]


def search_by_arrays(dse: DSE, evaluate: Evaluate) -> dict[str, Any] | None:
    """What a search finds over arrays; None where the function is not known to be one call of a pipeline.

    Raises:
        InvalidInput: a goal or an argument makes no sense for the pipeline.
    """
    if any(v is None for p in dse.space.parameters for v in p.labels or ()):
        return None
    traced = trace(evaluate, dse.space.names)
    study = None if traced is None else _study(dse, traced)
    if study is None or traced is None:
        return None
    from planner.run.explorer import explore

    run = explore(study)
    return _found(dse, evaluate, traced, study, run)


def _study(dse: DSE, traced: Traced) -> Any:
    """The study that the function amounts to; None where single configurations cannot be read."""
    from planner.study.reading import read_study

    def argument(text: str) -> str:
        for name, renamed in traced.renamed.items():
            text = re.sub(rf"(?<![\w.]){re.escape(name)}(?![\w.])", renamed, text)
        return text

    space: dict[str, Any] = {}
    for p in dse.space.parameters:
        ends = {"low": p.low, "high": p.high, "log": p.log, "integer": p.integer}
        space[traced.renamed[p.name]] = list(p.labels) if p.labels is not None else ends
    search = {"method": dse.method, "trials": dse.trials, "seed": dse.seed}
    data = {
        "title": "DSE", "solvers": [cls.__name__ for cls in traced.pipeline.solvers],
        "fixed": {k: v for k, v in traced.constants.items() if v is not None}, "space": space,
        "objectives": [argument(t) for t in dse.objectives], "constraints": [argument(t) for t in dse.constraints],
        "search": {k: v for k, v in search.items() if v is not None},
    }  # fmt: skip
    menu = {cls.__name__: cls for cls in traced.pipeline.solvers}
    try:
        return read_study(data, "dse", lambda path: "level" if len(path) > 2 and path[0] == "space" else "", menu)
    except InvalidInput as problem:
        if all(c.place == "level" for c in problem.complaints):
            return None
        raise


def _found(dse: DSE, evaluate: Evaluate, traced: Traced, study: Study, run: Run) -> dict[str, Any] | None:
    info = run.info
    names = {argument: name for name, argument in traced.renamed.items()}
    found: dict[str, Any] = {
        "best_params": None, "best_objective": None, "best_result": None, "top_candidates": [], "front": [],
        "evaluated": info["trials"], "distinct": info["distinct"], "feasible": info["feasible"],
        "failed": info["failed"], "reasons": info["reasons"], "method": info["method"], "exhausted": info["exhausted"],
    }  # fmt: skip
    if info["feasible"]:
        rows = _leading(study, run, dse.top)
        points = points_of(study, rows)
        candidates = [_candidate(dse, evaluate, study, rows, points, i) for i in range(rows.num_rows)]
        if not all(_agrees(c["result"], study, rows, i) for i, c in enumerate(candidates[:CHECKED])):
            return None
        found |= ranked(points, dse.top, candidates.__getitem__)
    elif "nearest_miss" in info:
        missed = info["nearest_miss"]
        params = _params(dse, study, {n: [v] for n, v in missed["parameters"].items()}, 0)
        found["nearest_miss"] = {
            "params": params, "trial": missed["trial"], "violation": missed["violation"], "reasons": missed["reasons"],
            "result": evaluate(dict(params)),
        }  # fmt: skip
    return _Result(found, run, names)


def _leading(study: Study, run: Run, top: int) -> pa.Table:
    """The trials that may be candidates: the best few by one objective, or the front of several."""
    if len(study.objectives) > 1:
        return run.front_table()
    best: list[pa.Table] = []
    for part in parts_in(run.path / TRIALS)[0]:
        table = pq.read_table(part.path)
        best = [_best(study, pa.concat_tables([*best, table.filter(table.column("feasible"))]), top)]
    return best[0]


def _best(study: Study, table: pa.Table, top: int) -> pa.Table:
    return table.take(pa.array(np.argsort(points_of(study, table)[:, 0], kind="stable")[:top]))


def _params(dse: DSE, study: Study, labels: Mapping[str, Any], row: int) -> dict[str, Any]:
    """A trial's parameters as the person who wrote the space wrote them."""
    held = study.space.restored({n: [v[row]] for n, v in labels.items()})
    made = {}
    for own, p in zip(dse.space.parameters, study.space.parameters, strict=True):
        at = held[p.name][0]
        made[own.name] = own.labels[int(at)] if own.labels is not None else labels[p.name][row]
    return made


def _candidate(
    dse: DSE, evaluate: Evaluate, study: Study, rows: pa.Table, points: np.ndarray, row: int
) -> dict[str, Any]:
    labels = {n: rows.column(n).slice(row, 1).to_pylist() for n in study.space.names}
    params = _params(dse, study, labels, 0)
    values = [float(-v if o.maximized else v) for o, v in zip(study.objectives, points[row], strict=True)]
    trial = rows.column("trial")[row].as_py()
    return {
        "params": params,
        "objective": spoken(dse.objectives, values),
        "result": evaluate(dict(params)),
        "trial": trial,
    }


def _agrees(result: Any, study: Study, rows: pa.Table, row: int) -> bool:
    """Whether the function's own answer is the row, to the last bit."""
    own = metrics_of(result).values
    kept = {n: rows.column(n)[row].as_py() for n in study.chain.outputs}
    return all(own.get(n) == v or (own.get(n) != own.get(n) and v != v) for n, v in kept.items())
