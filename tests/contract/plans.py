"""Random plans for any solver, made from nothing but what it declares."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from solvers.catalog import catalog
from solvers.chain import Chain, Problem, default_value
from solvers.columns import Column
from solvers.solver import Solver

NAMES: Mapping[str, tuple[str, ...]] = {
    "model": ("Llama3_70B", "Llama3_8B", "Mixtral-8x7B", "DeepSeek-V3", "BERT-Large", "ResNet50", "Qwen3-30B-A3B"),
    "hardware": ("H100", "A100", "B200", "MI300X", "H200"),
    "fleet": ("Frontier_8K", "H100_64", "A100_64"),
    "precision": ("bf16", "fp8", "w4a16"),
    "draft_model": ("Llama3_8B", "GPT2"),
}

NEEDED = dict.fromkeys(("memory_capacity", "memory_bandwidth", "link_bandwidth", "tdp"), False)
"""Figures that every accelerator of the menus has."""

TYPICAL: Mapping[str, tuple[float, float]] = {
    "s": (1e-3, 1e3),
    "byte": (1e3, 1e9),
    "byte/s": (1e8, 1e13),
    "FLOP": (1e9, 1e15),
    "FLOP/s": (1e12, 1e16),
    "token": (16, 32768),
    "sample": (1, 512),
    "token/s": (10, 1e7),
    "sample/s": (1, 1e5),
    "W": (10, 1e6),
    "J": (1, 1e9),
    "USD/hour": (0.1, 20),
}


def menus(solver: type[Solver]) -> dict[str, tuple[Any, ...]]:
    """Catalogue entries for each selecting name that the solver asks for."""
    from solvers.lowering import SELECTORS
    from solvers.solver import selectors

    found = {}
    for name in selectors(solver):
        kind = SELECTORS[name].kind
        if name == "hardware" and "fleet" in selectors(solver):
            continue  # the fleet brings it
        chosen = NAMES.get(name)
        entries = [catalog.find(kind, n) for n in chosen] if chosen else catalog.entries(kind)[:4]
        found[name] = tuple(entries)
    return found


def values(column: Column, rng: np.random.Generator, n: int) -> np.ndarray:
    """`n` permitted values of a parameter, spread over its usual magnitudes."""
    if column.choices:
        return rng.integers(0, len(column.choices), n)
    if column.unit == "bool":
        return rng.integers(0, 2, n).astype(bool)
    low, high = TYPICAL.get(column.unit, (1, 16) if column.integer else (0.05, 1.0))
    floor = column.minimum if column.minimum is not None else column.above if column.above is not None else low
    low, high = max(low, floor or low), max(low, floor, high if column.maximum is None else min(high, column.maximum))
    drawn = np.exp(rng.uniform(np.log(max(low, 1e-9)), np.log(max(high, low, 1e-9)), n))
    if not column.integer:
        return np.minimum(drawn, high)
    powers = np.maximum(2.0 ** np.round(np.log2(drawn)), floor or 0)
    return powers if column.maximum is None else np.minimum(powers, column.maximum)


def problem(solver: type[Solver]) -> tuple[Problem, dict[str, Column]]:
    """The solver alone in a chain, bound to the test's menus, its plain parameters and the figures that it needs.

    Needed figures are given by name, since the catalogue may lack them for some entry.
    """
    chain = Chain([solver])
    found = menus(solver)
    plain = {n: c for n, c in chain.inputs.items() if c.unit != "name"}
    for wiring in chain.wirings:
        for column in wiring.asks.values():
            plain |= {n: chain.overridable[n] for n in column.needs if NEEDED.get(n, True)}
    return chain.bind(found, dict.fromkeys(plain)), plain


def rows(solver: type[Solver], n: int, seed: int, given: float = 0.67) -> tuple[Problem, dict[str, np.ndarray]]:
    """`n` random plans as columns; of the optional inputs the part `given` is given, the rest is NaN."""
    rng = np.random.default_rng(seed)
    bound, plain = problem(solver)
    columns: dict[str, np.ndarray] = {}
    for name, entries in bound.menus.items():
        if name == "hardware" and bound.hardware_follows_fleet:
            continue
        columns[name] = rng.integers(0, len(entries), n)
    for name, column in plain.items():
        drawn = values(column, rng, n)
        if name in bound.chain.overridable:
            pass
        elif column.optional:
            drawn = np.where(rng.random(n) < given, drawn, np.nan)
        elif column.default is not None and not column.required and column.source == "":
            drawn = np.where(rng.random(n) < 0.5, drawn, default_value(column))
        columns[name] = drawn.astype(float) if drawn.dtype.kind == "f" else drawn
    return bound, columns
