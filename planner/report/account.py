"""One plan run again: its answers with units, solver by solver, for sentences and for `explain`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from planner.study import Study
from solvers.telling import dress, figures


@dataclass(frozen=True, eq=False)
class Account:
    """One plan's answers."""

    answers: Mapping[str, Any]
    """By solver, as its face answers."""
    outputs: Mapping[str, np.ndarray]
    entries: Mapping[str, Any]
    figures: Mapping[str, Any]
    """Every figure by name, for sentences."""
    records: Mapping[str, float]
    """Every field of the catalogue records, as formulas take it."""
    given: Mapping[str, np.ndarray]
    """What the chain was given."""


def account(study: Study, labels: Mapping[str, Any]) -> Account:
    """Run one plan again, with the study's own chain.

    Args:
        study: as loaded from the run.
        labels: the value of each parameter, as people read it.
    """
    coordinates = study.space.restored({name: np.array([labels[name]], dtype=object) for name in study.space.names})
    given = {**study.fixed, **study.space.codes(coordinates)}
    with np.errstate(all="ignore"):
        plans, outputs, answers = study.problem.trace(given)
    entries = {}
    for key, menu in study.problem.menus.items():
        code = given.get(key, given.get("fleet", np.array([0])) if key == "hardware" else np.array([0]))
        entries[key] = menu[int(np.asarray(code).flat[0])]
    wirings = {wiring.name: wiring for wiring in study.chain.wirings}
    dressed = {name: dress(wirings[name], answers[name], plans[name], entries) for name in study.solvers}
    said: dict[str, Any] = {}
    for name, answer in dressed.items():
        found = figures(wirings[name], plans[name], answer.__dict__, entries)
        said = _joined(found, said)
    return Account(dressed, outputs, entries, said, dict(_fields(study, plans)), given)


def _fields(study: Study, plans: Mapping[str, Any]) -> Iterator[tuple[str, float]]:
    for wiring in study.chain.wirings:
        for name, column in wiring.asks.items():
            if column.record is not None and not column.optional:
                for field, value in vars(getattr(plans[wiring.name], name)).items():
                    yield field, float(np.asarray(value).flat[0])


def figures_of(study: Study, labels: Mapping[str, Any]) -> Mapping[str, Any]:
    """Every figure of one plan, dressed for a sentence."""
    return account(study, labels).figures


def _joined(found: Any, before: Mapping[str, Any]) -> Any:
    for key, value in before.items():
        found.setdefault(key, value)
    return found
