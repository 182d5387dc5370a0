"""Searches by Optuna's samplers, asked and told in batches.

Each batch is drawn by a sampler seeded from the study's seed and the batch's number, so that a run that was killed
goes on exactly as it would have: the trials on record are given back to Optuna, and the next batch is asked for.
"""

from __future__ import annotations

import importlib.util
import math
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import optuna
from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution, IntDistribution
from optuna.samplers import BaseSampler
from optuna.trial import FrozenTrial, Trial, TrialState

from planner.search import Batch
from planner.search.fresh import FreshNSGAII, FreshTPE, Memory
from planner.study.space import Coordinates, Parameter, Space
from solvers.complaints import Complaint, InvalidInput

BATCHES = {"tpe": 16, "nsga2": 32, "gp": 4}
GP_TRIALS = 60
LARGEST = 1e30
"""Stands for an infinite violation: Optuna sums violations, and infinities do not subtract."""


@dataclass(frozen=True, eq=False)
class Known:
    """Trials on record: coordinates, and what became of them."""

    coordinates: Coordinates
    objectives: np.ndarray
    violations: np.ndarray
    failed: np.ndarray

    @property
    def size(self) -> int:
        """How many."""
        return len(self.failed)


class Sampled:
    """Optuna's `tpe`, `nsga2` or `gp` over a space."""

    def __init__(
        self,
        space: Space,
        method: str,
        *,
        seed: int,
        trials: int,
        objectives: int,
        constraints: Sequence[str],
        batch: int | None = None,
        known: Known | None = None,
    ) -> None:
        self.space, self.method, self.seed, self.trials = space, method, seed, trials
        self.constraints = list(constraints)
        self.batch = batch or BATCHES[method]
        self.known = known
        self.distributions = {p.name: distribution(p) for p in space.parameters}
        if method == "gp":
            _check_gp(space, trials)
        if method == "nsga2":
            self.batch = max(self.batch, 2)
        optuna.logging.set_verbosity(optuna.logging.WARNING)
        self.study = optuna.create_study(directions=["minimize"] * objectives)
        self.asked: list[Trial] = []
        self.generation, self.completed = 0, 0
        self.memory = Memory(space)

    def batches(self) -> Iterator[Batch]:
        """Batches until the number of trials is reached; those on record are not given again."""
        number = self._recall() // self.batch
        while number * self.batch < self.trials:
            first = number * self.batch
            size = min(self.batch, self.trials - first)
            self._seed(number)
            self.asked = [self._ask() for _ in range(size)]
            self._repeat(first)
            if self.asked:
                coordinates = {
                    p.name: np.array(
                        [t.params[p.name] for t in self.asked], dtype=np.float64 if p.size is None else np.int64
                    )
                    for p in self.space.parameters
                }
                yield Batch(first + size - len(self.asked), coordinates, (len(self.asked),))
            number += 1

    def tell(self, batch: Batch, objectives: np.ndarray, violations: np.ndarray, failed: np.ndarray) -> None:
        """What became of the batch asked for last."""
        for i, trial in enumerate(self.asked):
            self._tell(trial, objectives[i], violations[i], bool(failed[i]))
        self.asked = []

    def _ask(self) -> Trial:
        trial = self.study.ask(self.distributions)
        self.memory.add(trial.params)
        return trial

    def _tell(self, trial: Trial, objectives: np.ndarray, violations: np.ndarray, failed: bool) -> None:
        """Every trial gets every constraint, failed ones too: Optuna takes one that has none for feasible."""
        for name, value in zip(self.constraints, violations, strict=True):
            trial.set_constraint(name, _bounded(value))
        if failed:
            self.study.tell(trial, state=TrialState.FAIL)
        else:
            self.study.tell(trial, objectives.tolist())

    def _seed(self, number: int) -> None:
        seed = int(np.random.SeedSequence([self.seed, number]).generate_state(1)[0])
        self.study.sampler = self._sampler(seed)

    def _sampler(self, seed: int) -> BaseSampler:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
            if self.method == "nsga2":
                sampler: Any = FreshNSGAII(population_size=self.batch, seed=seed)
            elif self.method == "tpe":
                sampler = FreshTPE(seed=seed, multivariate=True, n_startup_trials=max(10, self.batch))
            else:
                return optuna.samplers.GPSampler(seed=seed, deterministic_objective=True)
        sampler.memory = self.memory
        self.memory.generator = np.random.default_rng(seed)
        return sampler

    def _recall(self) -> int:
        """Give Optuna the whole batches on record; how many trials these are."""
        if self.known is None:
            return 0
        whole = self.known.size // self.batch * self.batch
        for start in range(0, whole, self.batch):
            self._add(range(start, start + self.batch))
        if self.method == "nsga2" and whole:
            sampler = FreshNSGAII(population_size=self.batch)
            for generation in range(1, self.generation + 1):
                sampler.get_parent_population(self.study, generation)
        return whole

    def _add(self, rows: Sequence[int]) -> None:
        """Add trials on record as one batch, with the generation that NSGA-II gave them."""
        assert self.known is not None
        if self.completed >= self.batch:
            self.generation, self.completed = self.generation + 1, 0
        attributes = {}
        if self.method == "nsga2":
            attributes = {FreshNSGAII._get_generation_key(): self.generation}
        frozen = [self._frozen(row, attributes) for row in rows]
        for trial in frozen:
            self.memory.add(trial.params)
        self.study.add_trials(frozen)
        self.completed += int(np.count_nonzero(~self.known.failed[list(rows)]))

    def _frozen(self, row: int, attributes: dict[str, Any]) -> FrozenTrial:
        assert self.known is not None
        failed = bool(self.known.failed[row])
        made = optuna.trial.create_trial(
            state=TrialState.FAIL if failed else TrialState.COMPLETE,
            values=None if failed else self.known.objectives[row].tolist(),
            params={p.name: self._value(p, row) for p in self.space.parameters},
            distributions=self.distributions,
            system_attrs=dict(attributes),
        )
        for name, value in zip(self.constraints, self.known.violations[row], strict=True):
            made.set_constraint(name, _bounded(value))
        return made

    def _value(self, parameter: Parameter, row: int) -> Any:
        assert self.known is not None
        value = self.known.coordinates[parameter.name][row]
        return float(value) if parameter.size is None and not parameter.integer else int(value)

    def _repeat(self, first: int) -> None:
        """Answer from the record what the record holds of a batch that was begun."""
        if self.known is None or self.known.size <= first:
            return
        count = self.known.size - first
        for i, trial in enumerate(self.asked[:count]):
            row = first + i
            if all(trial.params[p.name] == self._value(p, row) for p in self.space.parameters):
                self._tell(trial, self.known.objectives[row], self.known.violations[row], bool(self.known.failed[row]))
            else:
                self.study.tell(trial, state=TrialState.FAIL)
                self.study.add_trial(self._frozen(row, {}))
        self.asked = self.asked[count:]


def distribution(parameter: Parameter) -> BaseDistribution:
    """Where a parameter's coordinate may lie, in Optuna's words: ordered levels keep their order."""
    if parameter.size is not None:
        if parameter.ordered:
            return IntDistribution(0, parameter.size - 1)
        return CategoricalDistribution(tuple(range(parameter.size)))
    if parameter.integer:
        return IntDistribution(int(parameter.low), int(parameter.high), log=parameter.log)
    return FloatDistribution(parameter.low, parameter.high, log=parameter.log)


def _bounded(value: float) -> float:
    return float(min(value, LARGEST)) if not math.isnan(value) else LARGEST


def _check_gp(space: Space, trials: int) -> None:
    if trials > GP_TRIALS:
        warnings.warn(
            f"gp is meant for some {GP_TRIALS} trials; {trials} will take long. nsga2 or tpe are quicker", stacklevel=4
        )
    worded = [p.name for p in space.parameters if p.size is not None and not p.ordered]
    if worded:
        warnings.warn(
            f"gp is meant for numeric axes; {', '.join(worded)} are words. nsga2 or tpe suit them", stacklevel=4
        )
    if importlib.util.find_spec("torch") is None:
        message = "gp needs PyTorch: pip install 'ml-capacity-planner[gp]', or take nsga2 or tpe"
        raise InvalidInput([Complaint("search.method", message)])


def make(space: Space, method: str, **options: Any) -> Sampled:
    """The search of that name."""
    return Sampled(space, method, **options)
