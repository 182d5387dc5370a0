"""Samplers that would rather try a neighbour than what was tried before.

In a space of levels a third to a half of a sampler's suggestions repeat earlier ones, and teach nothing. A suggestion
that is known has one parameter after another drawn anew, until it is not; in a space nearly exhausted it stands.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from optuna.samplers import NSGAIISampler, TPESampler

from planner.study.space import Parameter, Space

TRIES = 24


class Memory:
    """What was suggested so far, and how a known suggestion is changed."""

    def __init__(self, space: Space) -> None:
        self.parameters = space.parameters
        self.seen: set[tuple[Any, ...]] = set()
        self.generator = np.random.default_rng(0)

    def add(self, suggestion: dict[str, Any]) -> None:
        """Remember a suggestion."""
        self.seen.add(self._key(suggestion))

    def freshened(self, suggestion: dict[str, Any]) -> dict[str, Any]:
        """The suggestion, completed by chance where it is silent, and changed where it is known."""
        free = [p for p in self.parameters if p.size != 1]
        made = {p.name: suggestion[p.name] if p.name in suggestion else self._drawn(p) for p in free}
        changed = dict(made)
        for _ in range(TRIES):
            if self._key(changed) not in self.seen:
                return changed
            parameter = free[int(self.generator.integers(len(free)))]
            changed[parameter.name] = self._drawn(parameter)
        return made

    def _key(self, suggestion: dict[str, Any]) -> tuple[Any, ...]:
        return tuple(suggestion.get(p.name, 0) for p in self.parameters)

    def _drawn(self, parameter: Parameter) -> Any:
        from planner.search.random import drawn

        value = drawn(parameter, self.generator, 1)[0]
        return float(value) if parameter.size is None and not parameter.integer else int(value)


class FreshNSGAII(NSGAIISampler):
    """NSGA-II whose children were not born before."""

    memory: Memory

    def sample_relative(self, study: Any, trial: Any, search_space: Any) -> dict[str, Any]:
        """A child of the population; none in the first generation."""
        return _freshened(super().sample_relative, self.memory, study, trial, search_space)


class FreshTPE(TPESampler):
    """TPE that suggests what it has not suggested before."""

    memory: Memory

    def sample_relative(self, study: Any, trial: Any, search_space: Any) -> dict[str, Any]:
        """What promises most; nothing while too little is known."""
        return _freshened(super().sample_relative, self.memory, study, trial, search_space)


def _freshened(draw: Callable[..., dict[str, Any]], memory: Memory, study: Any, trial: Any, search_space: Any) -> Any:
    made = draw(study, trial, search_space)
    return memory.freshened(made) if made else made
