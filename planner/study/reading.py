"""From a study's data to a checked `Study`: all complaints are gathered, each with its place, and raised together."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from functools import partial
from typing import Any

from planner import versions
from planner.study import SearchOptions, Study
from planner.study.expressions import Names
from planner.study.given import Given
from planner.study.notes import Notes, Place
from planner.study.settings import SECTIONS
from planner.study.wanted import constraints_of, objectives_of, options_of, refuse_impossible
from solvers.chain import Chain, ChainError
from solvers.columns import Column
from solvers.complaints import InvalidInput, near
from solvers.lowering import SELECTORS


def read_study(data: Any, name: str, place: Place, solvers: Mapping[str, Any] | None = None) -> Study:
    """The study that the data describe.

    Raises:
        InvalidInput: with every complaint.
    """
    notes = Notes(data, place)
    study = _study(notes, name, solvers)
    if notes.complaints or study is None:
        raise InvalidInput(notes.once())
    return study


def _study(notes: Notes, name: str, menu: Mapping[str, Any] | None) -> Study | None:
    for key in notes.data:
        if key not in SECTIONS:
            notes.complain((key,), f"is no key of a study{near(str(key), SECTIONS)}")
    title, question = notes.text("title", name), notes.text("question", "")
    catalog, chain = _catalog(notes), _chain(notes, menu)
    if chain is None or catalog is None:
        options_of(notes, notes.section("search", dict), None, 1)
        return None
    given = Given(notes, chain, catalog)
    problem = _bound(notes, chain, given)
    columns = _columns(chain, given)
    says = {w.name: frozenset(w.says) - {"reasons"} for w in chain.wirings}
    names = Names(columns, says, frozenset(chain.inputs) - frozenset(columns), partial(_canonical, catalog))
    objectives, constraints = objectives_of(notes, names, given), constraints_of(notes, names)
    refuse_impossible(notes, constraints, given)
    options = options_of(notes, notes.section("search", dict), given.space, max(len(objectives), 1))
    if notes.complaints or problem is None:
        return None
    return Study(
        name=name,
        title=title,
        question=question,
        chain=chain,
        problem=problem,
        space=given.space,
        fixed=given.fixed,
        columns=columns,
        objectives=objectives,
        constraints=constraints,
        search=options,
        catalog=catalog,
        data=_resolved(notes, title, question, chain, given, options),
    )


def _catalog(notes: Notes) -> Any:
    from solvers.catalog import CatalogError, catalog

    overrides = notes.section("catalog", dict)
    try:
        return catalog.with_overrides(overrides) if overrides else catalog
    except CatalogError as problem:
        for line in str(problem).splitlines():
            notes.complain(("catalog",), line)
        return None


def _chain(notes: Notes, menu: Mapping[str, Any] | None) -> Chain | None:
    from solvers.menu import SOLVERS

    known: Mapping[str, Any] = SOLVERS if menu is None else menu
    listed = notes.section("solvers", list)
    if not listed:
        notes.complain(("solvers",), f"a study names at least one solver: {', '.join(known)}")
        return None
    before = len(notes.complaints)
    for i, name in enumerate(listed):
        if not isinstance(name, str) or name not in known:
            notes.complain(("solvers", i), f"there is no solver {name!r}{near(str(name), known)}")
        elif name in listed[:i]:
            notes.complain(("solvers", i), f"{name} stands twice")
    if len(notes.complaints) > before:
        return None
    try:
        return Chain([known[name] for name in listed])
    except ChainError as problem:
        notes.complain(("solvers",), str(problem))
        return None


def _bound(notes: Notes, chain: Chain, given: Given) -> Any:
    if notes.complaints:
        return None
    values = [n for n in [*given.fixed, *given.space.names] if n not in given.entries]
    try:
        return chain.bind(given.entries, dict.fromkeys(values, True), catalog=given.catalog)
    except InvalidInput as problem:
        for c in problem.complaints:
            section = next((s for s in ("space", "fixed") if c.key in notes.section(s, dict)), "fixed")
            notes.complain((section, c.key), c.message)
        return None


def _canonical(catalog: Any, column: Column, word: str) -> str:
    """What the catalogue calls an entry that a person may call otherwise."""
    from solvers.catalog import CatalogError

    if column.unit != "name":
        return word
    try:
        found: str = catalog.find(SELECTORS[column.name].kind, word).name
    except CatalogError:
        return word
    return found


def _columns(chain: Chain, given: Given) -> dict[str, Column]:
    made = {**chain.overridable, **chain.outputs}
    labels = {p.name: tuple(map(str, p.labels or ())) for p in given.space.parameters}
    for name in [*given.fixed, *given.space.names]:
        column = chain.parameter(name)
        if column is not None and name not in chain.outputs:
            if column.unit == "name":
                words = labels.get(name) or tuple(e.name for e in given.entries.get(name, ()))
                column = dataclasses.replace(column, choices=words)
            made[name] = column
    return made


def _resolved(
    notes: Notes, title: str, question: str, chain: Chain, given: Given, options: SearchOptions
) -> dict[str, Any]:
    """The study with every default written out."""
    fixed, space = dict(notes.section("fixed", dict)), notes.section("space", dict)
    for name in given.fixed:
        if name not in fixed:
            fixed[name] = chain.inputs[name].default
    made = {
        "title": title,
        "question": question,
        "solvers": list(chain.names),
        "catalog": notes.section("catalog", dict),
        "fixed": {k: _plain(v) for k, v in fixed.items()},
        "space": {k: [_plain(x) for x in v] if isinstance(v, list) else v for k, v in space.items()},
        "objectives": notes.section("objectives", list),
        "constraints": notes.section("constraints", list),
        "search": {k: v for k, v in dataclasses.asdict(options).items() if v is not None},
        "versions": versions.versions(),
    }
    return {k: v for k, v in made.items() if v or k not in ("question", "catalog", "constraints")}


def _plain(value: Any) -> Any:
    """A catalogue entry by its name; anything else as it is."""
    from solvers.catalog import Entry

    if isinstance(value, Entry):
        return value.name
    return value if isinstance(value, (str, int, float, bool)) or value is None else str(value)
