from __future__ import annotations

import warnings
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from planner.dse import DSE
from planner.dse.tracing import trace
from planner.pipeline import Pipeline
from solvers import DistributedModel, EconomicsModel
from solvers.catalog import catalog
from solvers.complaints import InfeasiblePlan, InvalidInput
from solvers.units import Q_

GRID = {"x": [1, 2, 3], "y": [10, 20]}
TRAINING = {"batch_size": [64, 128, 256, 250], "tp": [1, 2, 4, 8], "pp": [1, 2, 4]}
MODEL, FLEET = catalog.find("model", "Llama3_8B"), catalog.find("fleet", "H100_64")


def search(evaluate: Callable[..., Any], space: Any = GRID, objective: str = "minimize: value", **more: Any) -> Any:
    if "objectives" in more:
        return DSE(space, **more).search(evaluate)
    return DSE(space, objective, **more).search(evaluate)


def by_pipeline(params: dict[str, Any]) -> Any:
    pipe = Pipeline([DistributedModel(), EconomicsModel()])
    return pipe.run(
        model=MODEL, fleet=FLEET, batch_size=params["batch_size"], tp_size=params["tp"], pp_size=params["pp"],
        efficiency=0.45,
    )  # fmt: skip


def by_hand(params: dict[str, Any]) -> Any:
    """The same, in a way that cannot be followed."""
    return by_pipeline({k: v + 0 for k, v in params.items()})


@pytest.mark.parametrize(
    ("result", "best"),
    [
        (lambda p: p["x"] * p["y"], {"x": 1, "y": 10}),
        (lambda p: {"value": -p["x"] * p["y"]}, {"x": 3, "y": 20}),
        (lambda p: SimpleNamespace(value=p["x"] - p["y"]), {"x": 1, "y": 20}),
        (lambda p: {"Shop": {"value": p["x"] + p["y"]}}, {"x": 1, "y": 10}),
        (lambda p: np.float64(p["x"] - p["y"]), {"x": 1, "y": 20}),
        (lambda p: Q_(p["x"] - p["y"], "ms"), {"x": 1, "y": 20}),
    ],
)
def test_whatever_holds_numbers_can_be_searched(result: Any, best: dict[str, int]) -> None:
    assert search(result)["best_params"] == best


def test_quantities_are_compared_by_what_they_are() -> None:
    given = {"slow": Q_("2 s"), "quick": Q_("100 ms"), "days": Q_("1 day")}
    found = search(lambda p: {"latency": given[p["name"]]}, {"name": list(given)}, "minimize: latency")
    assert found["best_params"] == {"name": "quick"}
    assert found["best_objective"] == 0.1
    assert [c["params"]["name"] for c in found["top_candidates"]] == ["quick", "slow", "days"]
    assert found["trials"].attrs["units"]["latency"] == "s"


def test_a_value_that_changes_its_dimension_is_a_mistake() -> None:
    given = {1: Q_("2 s"), 2: Q_("1 GB"), 3: Q_("1 s")}
    with pytest.raises(TypeError, match="latency is in s in one trial and in byte"):
        search(lambda p: {"latency": given[p["x"]]}, {"x": [1, 2, 3]}, "minimize: latency")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"space": {}}, "is empty"),
        ({"space": {"tp": [8, 8, 8]}}, "stands twice"),
        ({"space": {"tp": []}}, "has no choices"),
        ({"space": {"tp": 8}}, "neither a list"),
        ({"space": {"tp": "8"}}, "neither a list"),
        ({"space": {"tp": {"low": 1, "high": 8}}, "method": "grid"}, "needs step or powers_of"),
        ({"objective": "effective_throughput"}, "is no objective"),
        ({"objective": "maximise-ish: value"}, "neither maximize nor minimize"),
        ({"objective": "maximize: DistributedModel.effective_troughput"}, "did you mean 'effective_throughput'"),
        ({"objective": "maximize: DistributdModel.effective_throughput"}, "did you mean 'DistributedModel'"),
        ({"objective": None}, "either objective or objectives"),
        ({"constraints": ["x => 3"]}, "write >="),
        ({"constraints": ["x < 1 s"]}, "cannot be compared"),
        ({"constraints": ["x << 1"]}, "a number or a column is due"),
        ({"constraints": ["DistributedModel.step_latency_total < 3"]}, "a plain number"),
        ({"constraints": ["DistributedModl.step_latency_total < 3 s"]}, "did you mean 'DistributedModel'"),
        ({"method": "gird"}, "did you mean 'grid'"),
        ({"seed": -1}, "not a whole number"),
        ({"trials": 0}, "not a whole number"),
    ],
)
def test_what_makes_no_sense_is_refused_before_the_first_trial(arguments: dict[str, Any], said: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        DSE(**{"space": GRID, "objective": "minimize: value"} | arguments)
    assert said in str(caught.value)


def test_a_goal_that_no_result_has_is_an_error_with_near_names() -> None:
    with pytest.raises(InvalidInput, match="did you mean 'latency'"):
        search(lambda p: {"latency": 1.0, "cost": 2.0}, objective="minimize: latncy")
    with pytest.raises(InvalidInput, match="no column 'costs'; did you mean 'cost'"):
        search(lambda p: {"latency": 1.0, "cost": 2.0}, objective="minimize: latency", constraints=["costs < 3"])


@pytest.mark.parametrize(
    ("text", "expected"), [("x<2", 2), ("x < 2", 2), ("x * y <= 30", 4), ("value >= 2", 4), ("good == True", 4)]
)
def test_constraints_hold_with_or_without_spaces(text: str, expected: int) -> None:
    found = search(lambda p: {"value": p["x"] + 0 * p["y"], "good": p["x"] > 1}, constraints=[text])
    assert found["feasible"] == expected
    refused = found["trials"].query("not feasible")
    assert (refused["reasons"] == f"constraint:{text}").all()
    assert (refused["violation"] > 0).all()


def test_a_mistake_in_the_function_stops_with_its_traceback() -> None:
    def broken(params: dict[str, Any]) -> float:
        return params["x"] * undefined  # type: ignore[name-defined, no-any-return]  # noqa: F821

    for mistake, kind in (
        (broken, NameError),
        (lambda p: p["z"], KeyError),
        (lambda p: None, TypeError),
        (lambda: 1, TypeError),
    ):
        with pytest.raises(kind):
            search(mistake)


def test_a_failure_of_the_domain_is_a_trial_with_its_reason() -> None:
    def evaluate(params: dict[str, Any]) -> float:
        if params["x"] == 2:
            raise ValueError("two does not divide")
        if params["x"] == 3:
            raise InfeasiblePlan("too large", SimpleNamespace(reasons=["does_not_fit"]))
        return float(params["y"])

    found = search(evaluate)
    frame = found["trials"]
    assert found["failed"] == 2
    assert found["feasible"] == 2
    assert set(frame.loc[frame["x"] == 2, "state"]) == {"failed"}
    assert set(frame.loc[frame["x"] == 2, "reasons"]) == {"ValueError: two does not divide"}
    assert set(frame.loc[frame["x"] == 3, "state"]) == {"complete"}
    assert set(frame.loc[frame["x"] == 3, "reasons"]) == {"does_not_fit"}
    assert found["best_params"] == {"x": 1, "y": 10}


def test_a_function_that_fails_everywhere_says_why() -> None:
    def evaluate(params: dict[str, Any]) -> Any:
        return Pipeline([DistributedModel]).run(
            model=MODEL, fleet=FLEET, batch_size=params["x"] * params["y"], tp=params["x"]
        )

    with pytest.raises(InvalidInput, match=r"did you mean .*'tp_size'"):
        search(evaluate)


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), float("-inf")])
def test_what_is_no_number_is_a_failed_trial_and_never_best(bad: float) -> None:
    for direction in ("minimize", "maximize"):
        found = search(
            lambda p: {"value": bad if p["x"] == 2 else float(p["x"] * p["y"])}, objective=f"{direction}: value"
        )
        assert found["best_params"]["x"] != 2
        assert found["failed"] == 2
        assert found["trials"].query("x == 2")["reasons"].eq("no_value:value").all()
        values = [c["objective"] for c in found["top_candidates"]]
        assert values == sorted(values, reverse=direction == "maximize")


def test_the_record_is_what_was_asked() -> None:
    def evaluate(params: dict[str, Any]) -> float:
        value = float(params["x"] + params["y"])
        params["x"] = 99
        params.pop("y")
        params.clear()
        return value

    found = search(evaluate)
    assert found["best_params"] == {"x": 1, "y": 10}
    assert set(found["trials"]["x"]) == {1, 2, 3}


def test_a_parameter_that_nobody_uses_is_refused() -> None:
    with pytest.raises(InvalidInput, match="tpp: is never used"):
        search(lambda p: p["x"], {"x": [1, 2], "tpp": [1, 2]})
    for uses in (
        lambda p: sum(p.values()),
        lambda p: f(**p),
        lambda p: dict(p)["x"],
        lambda p: p.copy()["x"] + p.get("y"),
    ):

        def f(x: int, y: int) -> int:
            return x * y

        assert search(uses)["best_params"]["x"] == 1


def test_nothing_feasible_gives_the_nearest_miss_and_no_best() -> None:
    found = search(lambda p: p["x"] + p["y"], constraints=["value < 11"])
    assert found["best_params"] is None
    assert found["best_objective"] is None
    assert found["top_candidates"] == []
    assert found["nearest_miss"]["params"] == {"x": 1, "y": 10}
    assert found["nearest_miss"]["reasons"] == ["constraint:value < 11"]


def test_several_objectives_give_a_front() -> None:
    found = search(lambda p: {"a": p["x"], "b": -p["x"] + p["y"]}, objectives=["maximize: a", "maximize: b"])
    assert [c["params"] for c in found["front"]] == [{"x": 3, "y": 20}, {"x": 2, "y": 20}, {"x": 1, "y": 20}]
    assert found["best_params"] == {"x": 2, "y": 20}
    assert found["best_objective"] == {"maximize: a": 2.0, "maximize: b": 18.0}


@pytest.mark.parametrize("method", ["random", "tpe", "nsga2"])
def test_samplers_answer_repeats_from_what_is_known(method: str) -> None:
    calls = []

    def evaluate(params: dict[str, Any]) -> float:
        calls.append(tuple(params.values()))
        return float(params["x"] * params["y"])

    found = search(evaluate, method=method, trials=60)
    assert len(found["trials"]) == found["evaluated"] == 60
    assert len(calls) == len(set(calls)) == found["distinct"] <= 6
    assert found["best_params"] == {"x": 1, "y": 10}


def test_ranges_without_levels_are_for_samplers() -> None:
    found = search(lambda p: (p["x"] - 3) ** 2, {"x": {"low": 0.0, "high": 10.0}}, method="tpe", trials=100)
    assert found["best_params"]["x"] == pytest.approx(3, abs=0.3)
    assert search(lambda p: p["n"], {"n": {"low": 1, "high": 64, "powers_of": 2, "integer": True}})["evaluated"] == 7


def test_an_interrupted_search_keeps_what_it_found() -> None:
    def evaluate(params: dict[str, Any]) -> float:
        if params["x"] == 3:
            raise KeyboardInterrupt
        return float(params["x"] * params["y"])

    dse = DSE(GRID, "minimize: value")
    with pytest.raises(KeyboardInterrupt):
        dse.search(evaluate)
    assert dse.result is not None
    assert len(dse.result["trials"]) == 4


# A function that is one call of a pipeline


def test_a_pipeline_runs_over_arrays_with_the_answers_of_rows() -> None:
    assert trace(by_pipeline, TRAINING) is not None
    assert trace(by_hand, TRAINING) is None
    goals: dict[str, Any] = {
        "objective": "maximize: DistributedModel.effective_throughput",
        "constraints": ["tp * pp <= 16", "EconomicsModel.cost_per_million_tokens < 10 USD/token"],
    }
    arrays, rows = search(by_pipeline, TRAINING, **goals), search(by_hand, TRAINING, **goals)
    assert arrays["best_params"] == rows["best_params"]
    assert arrays["best_objective"] == rows["best_objective"]
    assert [c["params"] for c in arrays["top_candidates"]] == [c["params"] for c in rows["top_candidates"]]
    assert [c["trial"] for c in arrays["top_candidates"]] == [c["trial"] for c in rows["top_candidates"]]
    assert arrays["feasible"] == rows["feasible"] > 0
    one, other = arrays["trials"], rows["trials"]
    for name in ("trial", "batch_size", "tp", "pp", "feasible", "effective_throughput", "step_latency_total"):
        assert np.array_equal(one[name], other[name]), name
    assert ((one["violation"] > 0) == (other["violation"] > 0)).all()
    first = arrays["top_candidates"][0]["result"]["DistributedModel"]
    assert first.effective_throughput.m_as("1/s") == arrays["best_objective"]
    assert f"{arrays['best_objective']:,.0f}"


def test_an_infeasible_plan_is_never_best() -> None:
    space = {"batch_size": [1024, 2048, 4096, 8192], "tp": [1, 2, 4, 8], "pp": [1, 2, 4]}
    big, fleet = catalog.find("model", "Llama3_70B"), catalog.find("fleet", "Frontier_8K")

    def evaluate(p: dict[str, Any]) -> Any:
        return Pipeline([DistributedModel()]).run(
            model=big, fleet=fleet, batch_size=p["batch_size"], tp_size=p["tp"], pp_size=p["pp"]
        )

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = search(evaluate, space, "maximize: DistributedModel.effective_throughput")
    assert found["evaluated"] == 48
    assert 0 < found["feasible"] <= 12
    for candidate in found["top_candidates"]:
        assert candidate["result"]["DistributedModel"].feasible
        shards = candidate["params"]["tp"] * candidate["params"]["pp"]
        assert 16 * 70.6e9 / shards < 85.9e9, "16 bytes a parameter have to fit"
    assert found["reasons"]["does_not_fit"] > 20


@pytest.mark.parametrize(
    "evaluate",
    [
        lambda p: by_pipeline({**p, "tp": 2 if p["tp"] == 1 else p["tp"]}),
        lambda p: by_pipeline({**p, "tp": p["tp"] * 1}),
        lambda p: by_pipeline(p)["DistributedModel"],
        lambda p: dict(by_pipeline(p)),
        lambda p: by_pipeline(p) and by_pipeline(p),
        lambda p: by_pipeline({**p, "tp": int(p["tp"])}),
        lambda p: by_pipeline({**p, "tp": p["tp"] if isinstance(p["tp"], int) else 3}),
        lambda p: by_pipeline({**p, "tp": {1: 1, 2: 2}[p["tp"]]}),
        lambda p: by_pipeline({**p, "tp": float(f"{p['tp']}")}),
        lambda p: by_pipeline({**p, "tp": p["pp"]}),
    ],
)
def test_whoever_looks_at_the_values_is_called_row_by_row(evaluate: Any) -> None:
    assert trace(evaluate, TRAINING) is None


def test_what_looks_at_a_value_inside_a_traced_function_is_seen() -> None:
    def clamped(p: dict[str, Any]) -> Any:
        pipe = Pipeline([DistributedModel()])
        return pipe.run(model=MODEL, fleet=FLEET, batch_size=p["batch_size"], tp_size=min(p["tp"], 4))

    def chosen(p: dict[str, Any]) -> Any:
        pipe = Pipeline([DistributedModel()])
        size = 8 if p["tp"] == 1 else p["tp"]
        return pipe.run(model=MODEL, fleet=FLEET, batch_size=p["batch_size"], tp_size=size)

    def swallowed(p: dict[str, Any]) -> Any:
        try:
            size = p["tp"] + 0
        except Exception:
            size = 1
        return Pipeline([DistributedModel()]).run(model=MODEL, fleet=FLEET, batch_size=p["batch_size"], tp_size=size)

    for function in (clamped, chosen, swallowed):
        assert trace(function, ("batch_size", "tp")) is None


def test_names_of_the_catalogue_and_entries_may_be_choices() -> None:
    entries = [catalog.find("model", n) for n in ("Llama3_8B", "Llama3_70B")]
    for models in (entries, ["Llama3_8B", "Llama3_70B"]):
        found = search(
            lambda p: Pipeline([DistributedModel()]).run(fleet=FLEET, batch_size=256, tp_size=8, pp_size=2, **p),
            {"model": models, "precision": ["bf16", "fp8"]},
            "maximize: DistributedModel.effective_throughput",
        )
        assert found["best_params"]["model"] is models[0]
        assert len(found["trials"]) == 4


def test_a_goal_is_checked_before_the_first_trial_of_a_pipeline() -> None:
    with pytest.raises(InvalidInput, match="did you mean 'effective_throughput'"):
        search(by_pipeline, TRAINING, "maximize: efective_throughput")


def test_a_misspelt_argument_of_a_pipeline_is_refused() -> None:
    with pytest.raises(InvalidInput, match=r"did you mean .*'tp_size'"):
        Pipeline([DistributedModel()]).run(model=MODEL, fleet=FLEET, batch_size=64, tp=8)
    with pytest.raises(InvalidInput, match="did you mean 'DistributedModel'"):
        Pipeline(["DistributdModel"])
    with pytest.raises(InvalidInput, match="int: is no solver"):
        Pipeline([3])
