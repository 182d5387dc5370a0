"""What a person gives, read into plans: names to catalogue entries, numbers and text to SI, all complaints together."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Mapping
from typing import Any

import numpy as np

from solvers.chain import Chain, Wiring, default_value, encode
from solvers.columns import Array, Column
from solvers.complaints import Complaint, InvalidInput, near
from solvers.lowering import SELECTORS, absent, gaps, hardware_of, keys_of, known_fields, single


def read_given(chain: Chain, given: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """A person's arguments as NumPy scalars and catalogue entries; what has a default and is a name is added.

    Raises:
        InvalidInput: an argument is unknown, missing, unreadable or out of range; all complaints together.
    """
    complaints: list[Complaint] = []
    values: dict[str, Any] = {}
    entries: dict[str, Any] = {}
    for name, value in given.items():
        column = chain.parameter(name)
        if column is None:
            complaints.append(Complaint(name, _unknown(chain, name)))
        elif column.unit == "name":
            if value is not None:
                entries.update(_entry(name, value, complaints))
        elif value is not None:
            try:
                values[name] = np.array(encode(column, value))[()]
            except InvalidInput as problem:
                complaints += problem.complaints
        elif column.required:
            complaints.append(Complaint(name, f"None is no value; give {column.allowed()}"))
    if "fleet" in entries and "hardware" not in entries and "hardware" in chain.inputs:
        entries["hardware"] = hardware_of(entries["fleet"])
    for name, column in chain.inputs.items():
        if name in values or name in entries or name in given:
            continue
        if column.unit == "name" and isinstance(column.default, str):
            entries.update(_entry(name, column.default, complaints))
        elif column.required and column.source not in values:
            complaints.append(Complaint(name, f"is missing: {column.description} ({column.allowed()})"))
    if complaints:
        raise InvalidInput(complaints)
    return values, entries


def _unknown(chain: Chain, name: str) -> str:
    if name in chain.outputs:
        return f"is made by {chain.outputs[name].made_by}, so it cannot be given"
    return f"{', '.join(chain.names)} has no such argument{near(name, [*chain.inputs, 'strict', *chain.overridable])}"


def _entry(name: str, value: Any, complaints: list[Complaint]) -> dict[str, Any]:
    from solvers.catalog import CatalogError, Entry, catalog

    kind = SELECTORS[name].kind
    if isinstance(value, Entry):
        if value.kind == kind:
            return {name: value}
        complaints.append(Complaint(name, f"{value.name} is a {value.kind}, and a {kind} is due"))
        return {}
    if not isinstance(value, str):
        complaints.append(Complaint(name, f"{value!r} is not a {kind}; give a name or a catalogue entry"))
        return {}
    try:
        return {name: catalog.find(kind, value)}
    except CatalogError as problem:
        complaints.append(Complaint(name, str(problem)))
        return {}


def plan_of(wiring: Wiring, values: Mapping[str, Any], entries: Mapping[str, Any], made: Mapping[str, Array]) -> Any:
    """A solver's plan from what is given and from what the solvers before it made.

    Raises:
        InvalidInput: the catalogue lacks a figure without which there is no answer; says what to give.
    """
    return wiring.plan(**{name: _value(column, values, entries, made) for name, column in wiring.asks.items()})


def _value(column: Column, values: Mapping[str, Any], entries: Mapping[str, Any], made: Mapping[str, Array]) -> Any:
    if column.record is not None:
        chosen = tuple(entries.get(key) for key in keys_of(column))
        over = {} if column.optional else {f: values[f] for f in values if f in known_fields(column.record)}
        if not over:
            return _known(column, chosen)
        return dataclasses.replace(_known(column, chosen, tuple(over)), **over)
    for found in (values, made):
        if column.name in found:
            return found[column.name]
    for found in (made, values):
        if column.source in found:
            return found[column.source]
    return _default(column)


@functools.lru_cache(maxsize=1024)
def _known(column: Column, chosen: tuple[Any, ...], given: tuple[str, ...] = ()) -> Any:
    """The record of the chosen entries; what it needs is there, or among what is given."""
    assert column.record is not None
    if all(entry is None for entry in chosen):
        return absent(column.record)
    lacking = gaps(column, {k: (e,) for k, e in zip(keys_of(column), chosen, strict=True)}, dict.fromkeys(given))
    if lacking:
        what = "the catalogue has no figure"
        raise InvalidInput(Complaint(f, f"not known for {name}: {what}; give {f}=...") for f, name in lacking)
    return single(column.record, chosen)


@functools.cache
def _default(column: Column) -> Any:
    return default_value(column)[0]
