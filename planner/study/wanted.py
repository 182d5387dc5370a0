"""What a study wants: its objectives, its constraints, and how it is searched."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from planner.search import SEARCHES, chosen_method
from planner.study import SearchOptions
from planner.study.expressions import ExpressionError, Names
from planner.study.given import Given
from planner.study.goals import Constraint, Objective, constraint, objective, split_objective
from planner.study.impossible import never_holds
from planner.study.notes import Notes
from planner.study.space import Space
from solvers.complaints import near

SEARCH_KEYS = ("method", "trials", "seed", "batch", "keep")
KEEP = ("all", "front")
MOST_TRIALS = 2**53


def objectives_of(notes: Notes, names: Names, given: Given) -> tuple[Objective, ...]:
    made: list[Objective] = []
    listed = notes.section("objectives", list)
    if not listed:
        notes.complain(("objectives",), "a study has at least one, such as - maximize: effective_throughput")
    for i, written in enumerate(listed):
        path = ("objectives", i)
        try:
            if isinstance(written, dict) and len(written) == 1:
                ((direction, text),) = written.items()
            elif isinstance(written, str):
                direction, text = split_objective(written)
            else:
                raise ExpressionError("'maximize: column' or 'minimize: column' is due")
            if text is None:
                raise ExpressionError(f"{direction} what? a column is due, such as {direction}: effective_throughput")
            goal = objective(str(direction), str(text), names)
            if all(name in given.fixed for name in goal.expression.takes):
                raise ExpressionError(f"{text} is fixed: it is the same in every trial, so there is nothing to choose")
            if any(goal.expression.text == other.expression.text for other in made):
                raise ExpressionError(f"{text} is an objective twice")
            made.append(goal)
        except ExpressionError as problem:
            notes.complain(path, str(problem))
    return tuple(made)


def constraints_of(notes: Notes, names: Names) -> tuple[Constraint, ...]:
    made: dict[str, Constraint] = {}
    for i, given in enumerate(notes.section("constraints", list)):
        try:
            if not isinstance(given, str):
                raise ExpressionError(f"{given!r} is no constraint; write, for instance, 'step_latency_total < 30 s'")
            condition = constraint(given, names)
            if condition.text in made:
                raise ExpressionError(f"{condition.text!r} stands twice")
            made[condition.text] = condition
        except ExpressionError as problem:
            notes.complain(("constraints", i), str(problem))
    return tuple(made.values())


def refuse_impossible(notes: Notes, constraints: tuple[Constraint, ...], given: Given) -> None:
    if notes.complaints:
        return
    texts = [" ".join(str(t).split()) for t in notes.section("constraints", list)]
    for culprits in never_holds(constraints, given.space, given.fixed, given.chain.outputs):
        path = ("constraints", texts.index(culprits[0].text))
        if len(culprits) == 1:
            notes.complain(path, f"{culprits[0].text!r} holds nowhere in the space")
        else:
            said = " and ".join(repr(c.text) for c in culprits)
            notes.complain(path, f"{said} hold nowhere together in the space")


def options_of(notes: Notes, given: dict[str, Any], space: Space | None, objectives: int) -> SearchOptions:
    for key in given:
        if key not in SEARCH_KEYS:
            notes.complain(("search", key), f"is no key of search{near(str(key), SEARCH_KEYS)}")
    method, keep = given.get("method", "auto"), given.get("keep", "all")
    known = ("auto", *SEARCHES)
    if method not in known:
        notes.complain(
            ("search", "method"), f"{method!r} is no method{near(str(method), known)}; there are {', '.join(known)}"
        )
    if keep not in KEEP:
        notes.complain(("search", "keep"), f"{keep!r} is neither all nor front{near(str(keep), KEEP)}")
    if keep == "front" and method not in ("grid", "auto"):
        notes.complain(("search", "keep"), "front is possible only of a grid: other methods go on from their trials")
    trials = _whole(notes, given, "trials", 1, MOST_TRIALS)
    seed, batch = _whole(notes, given, "seed", 0, 2**32 - 1), _whole(notes, given, "batch", 1, 1_000_000)
    if space is not None and method in known and not notes.complaints:
        method = chosen_method(method, space, objectives, trials)
        if method == "grid" and space.continuous:
            for name in space.continuous:
                notes.complain(
                    ("space", name), "a range in a grid needs step or powers_of; other methods take it as it is"
                )
    if method != "grid":
        keep = "all"
    return SearchOptions(str(method), trials, seed or 0, batch, str(keep))


def _whole(notes: Notes, given: Mapping[str, Any], key: str, low: int, high: int) -> int | None:
    value = given.get(key)
    if value is None:
        return None
    if isinstance(value, float) and math.isfinite(value) and value == int(value):
        value = int(value)
    if type(value) is not int or not low <= value <= high:
        notes.complain(("search", key), f"{value!r} is not a whole number from {low} to {high}")
        return None
    return value
