from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from planner.study import Study, load_study, shipped_studies
from planner.study.yamlwriter import to_yaml
from solvers.complaints import InvalidInput
from tests.planner.toy import study_data

Make = Callable[..., Study]


def refused(make: Make, **changes: Any) -> str:
    with pytest.raises(InvalidInput) as caught:
        make(**changes)
    return str(caught.value)


def test_all_complaints_come_together_with_their_places(toy: Make, tmp_path: Path) -> None:
    path = tmp_path / "study.yaml"
    path.write_text(
        "title: x\n"
        "solvers: [OvenModel]\n"
        "fixd: {}\n"
        "fixed:\n"
        "  setup: 3 GB\n"
        "  ovnes: 3\n"
        "space:\n"
        "  batch_size: {low: 1, high: 64, stepp: 4}\n"
        "  ovens: [1, 2, 2]\n"
        "  kind: [bread, bred]\n"
        "objectives:\n"
        "  - maximize: thruput\n"
        "constraints:\n"
        "  - latency < 3\n"
        "search: {method: gird, seed: -1}\n"
    )
    with pytest.raises(InvalidInput) as caught:
        load_study(path)
    said = str(caught.value)
    for line in (
        "study.yaml:3:1: fixd: is no key of a study; did you mean 'fixed'?",
        "study.yaml:5:3: fixed.setup: 3.0 GB is not in s",
        "study.yaml:6:3: fixed.ovnes: no solver of OvenModel uses it; did you mean 'ovens'?",
        "study.yaml:8:34: space.batch_size.stepp: is no key of a range; did you mean 'step'?",
        "study.yaml:9:17: space.ovens: 2 stands twice",
        "study.yaml:10:17: space.kind: 'bred' is not a choice; did you mean 'bread'?",
        "study.yaml:12:5: objectives: there is no column 'thruput'; did you mean 'throughput'?",
        "study.yaml:14:5: constraints: 3 (a plain number) cannot be compared with latency (in s)",
        "study.yaml:15:10: search.method: 'gird' is no method; did you mean 'grid'?",
        "study.yaml:15:24: search.seed: -1 is not a whole number",
    ):
        assert line in said, f"{line!r} not in\n{said}"


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"solvers": []}, "at least one solver"),
        ({"solvers": ["OvenModl"]}, "did you mean 'OvenModel'"),
        ({"solvers": ["OvenModel", "OvenModel"]}, "stands twice"),
        ({"solvers": "OvenModel"}, "a list is due"),
        ({"space": {}}, "is empty"),
        ({"space": []}, "keys with values are due"),
        ({"space": {"ovens": []}}, "has no choices"),
        ({"space": {"ovens": 3}}, "a single value goes into fixed"),
        ({"space": {"ovens": [1, "1"]}}, "stands twice"),
        ({"space": {"ovens": [1, True]}}, "not a number"),
        ({"space": {"ovens": [1, 1.5]}}, "not a whole number"),
        ({"space": {"ovens": [0]}}, "out of range"),
        ({"space": {"ovens": [float("nan")]}}, "not finite"),
        ({"space": {"ovens": [None]}}, "None"),
        ({"space": {"ovens": [[1]]}}, "is no choice"),
        ({"space": {"ovens": {"low": 8, "high": 1}}}, "low must not be above high"),
        ({"space": {"ovens": {"low": 1}}}, "a range needs high"),
        ({"space": {"ovens": {"low": 1, "high": 8}}}, "needs step or powers_of"),
        ({"space": {"ovens": {"low": 1, "high": 8, "step": 0}}}, "a step is above 0"),
        ({"space": {"ovens": {"low": 1, "high": 8, "step": 0.5}}}, "not a whole number"),
        ({"space": {"ovens": {"low": 1, "high": 8, "step": 1, "powers_of": 2}}}, "one of step"),
        ({"space": {"ovens": {"low": 5, "high": 7, "powers_of": 2}}}, "no power of 2"),
        ({"space": {"ovens": {"low": 1, "high": 8, "powers_of": 1}}}, "is no base"),
        ({"space": {"heat": {"low": 0.1, "high": 1, "step": "1 s"}}}, "not in plain numbers"),
        ({"space": {"heat": {"low": 0.1, "high": 1.5, "step": 0.1}}}, "out of range"),
        ({"space": {"heat": {"low": 0.1, "high": 1, "step": 1e-9}}}, "levels"),
        ({"space": {"kind": {"low": 1, "high": 2, "step": 1}}}, "takes choices in a list"),
        ({"space": {"ovens": [1, 2], "setup": ["1 s"]}}, "is fixed as well"),
        ({"space": {"ovens": [1, 2], "throughput": [1, 2]}}, "is made by OvenModel"),
        ({"space": {"batch_size": [1, 2]}}, "ovens: is missing"),
        ({"fixed": {"setup": [1, 2]}}, "choices and ranges go into space"),
        ({"fixed": {"setup": None}}, "has no value"),
        ({"fixed": {"latency": 3}}, "is made by OvenModel"),
        ({"objectives": []}, "at least one"),
        ({"objectives": ["throughput"]}, "is no objective"),
        ({"objectives": [{"maximize": "throughput", "minimize": "cost"}]}, "is due"),
        ({"objectives": [{"minimize": "cost"}, {"maximize": "cost"}]}, "twice"),
        ({"objectives": [{"minimize": "OvenModel.cost"}]}, "OvenModel makes no column 'cost'"),
        ({"constraints": ["latency < 3 s", "latency  <  3 s"]}, "stands twice"),
        ({"constraints": [3]}, "is no constraint"),
        ({"constraints": ["2 < 1"]}, "only constants"),
        ({"constraints": ["ovens >= 16"]}, "holds nowhere in the space"),
        ({"constraints": ["ovens >= 4", "ovens <= 2"]}, "hold nowhere together"),
        ({"constraints": ["setup <= 1 s"]}, "holds nowhere in the space"),
        ({"constraints": ["kind == pie"], "space": {"ovens": [1], "kind": ["bread"]}}, "holds nowhere"),
        ({"constraints": ["latency < -1 s"]}, "holds nowhere"),
        ({"constraints": ["memory < 0 GiB"]}, "holds nowhere"),
        ({"constraints": ["-1 s > latency"]}, "holds nowhere"),
        ({"constraints": ["break_at < 0.5"]}, "break_at is not given here"),
        ({"solvers": ["TillModel", "OvenModel"]}, "put OvenModel first"),
        ({"objectives": [{"maximize": "setup"}]}, "setup is fixed"),
        ({"objectives": [{"maximize": None}]}, "a column is due"),
        ({"search": {"seed": float("nan")}}, "not a whole number"),
        ({"search": {"trials": float("inf")}}, "not a whole number"),
        ({"search": {"trials": 0}}, "not a whole number"),
        ({"search": {"trials": 1.5}}, "not a whole number"),
        ({"search": {"keep": "none"}}, "neither all nor front"),
        ({"search": {"metod": "grid"}}, "did you mean 'method'"),
        ({"search": {"method": "tpe", "keep": "front"}}, "only of a grid"),
        ({"catalog": {"hardwar": {}}}, "hardware"),
        ({"catalog": {"hardware": {"H100": {"memory_bandwith": "4 TB/s"}}}}, "memory_bandwidth"),
        ({"title": [1]}, "a text is due"),
    ],
)  # fmt: skip
def test_what_makes_no_sense_is_refused_before_the_first_trial(toy: Make, changes: Any, said: str) -> None:
    assert said in refused(toy, **changes)


@pytest.mark.parametrize("data", [None, [], "text", 3, {}])
def test_what_is_no_study_is_refused(data: Any) -> None:
    from planner.study.reading import read_study

    with pytest.raises(InvalidInput, match="is not a study"):
        read_study(data, "x", lambda path: "")


def test_ranges_reach_their_ends(toy: Make) -> None:
    study = toy(
        space={"heat": {"low": 0.3, "high": 0.6, "step": 0.005}, "ovens": {"low": 1, "high": 64, "powers_of": 2}}
    )
    heat, ovens = study.space.parameters
    assert heat.labels is not None
    assert heat.labels[0] == 0.3
    assert heat.labels[-1] == 0.6
    assert heat.labels[47] == 0.535, "decimal arithmetic, no drift"
    assert ovens.labels == (1, 2, 4, 8, 16, 32, 64)
    with pytest.warns(UserWarning, match="end at 7, before high"):
        assert toy(space={"ovens": {"low": 1, "high": 8, "step": 2}}).space.parameters[0].labels == (1, 3, 5, 7)


def test_units_are_converted_and_plain_numbers_are_in_the_columns_unit(toy: Make) -> None:
    study = toy(fixed={}, space={"ovens": [1], "setup": ["100 ms", 2, "0.5 min"]})
    assert study.space.parameters[1].labels == (0.1, 2.0, 30.0)


def test_the_resolved_study_gives_the_same_study_again(toy: Make, tmp_path: Path) -> None:
    study = toy(constraints=["latency < 30 s"], question="Why?")
    (tmp_path / "study.yaml").write_text(to_yaml(study.data))
    again = load_study(tmp_path / "study.yaml")
    assert again.digest == study.digest
    assert again.data == study.data
    assert again.data["fixed"] == {"setup": "2 s", "fan": False, "price": 100.0}
    assert {n: v.tolist() for n, v in again.fixed.items()} == {n: v.tolist() for n, v in study.fixed.items()}
    assert study.data["search"]["method"] == "grid"


def test_settings_replace_any_key(toy: Make) -> None:
    study = toy(["search.seed=9", "space.ovens=[1, 2]", "setup=300 ms", "kind=pie", "title=Other", "fan=[true, false]"])
    assert study.search.seed == 9
    assert study.title == "Other"
    assert study.fixed["setup"] == 0.3
    assert study.space.names == ("batch_size", "ovens", "heat", "fan")
    assert study.fixed["kind"] == 2
    with pytest.raises(InvalidInput, match=r"--set fixed.kind: fixed.kind: 'brad' is not a choice"):
        toy(["fixed.kind=brad"])
    with pytest.raises(InvalidInput, match=r"--set ovns: fixed.ovns: no solver"):
        toy({"ovns": 3})
    with pytest.raises(InvalidInput, match="is not key=value"):
        toy(["seed"])


def test_what_auto_means_depends_on_the_space(toy: Make) -> None:
    def method(**changes: Any) -> str:
        return toy(**changes).search.method

    huge = {"ovens": {"low": 1, "high": 100_000, "step": 1}, "heat": {"low": 0.1, "high": 0.9, "step": 0.001}}
    free = {"ovens": [1, 2], "heat": {"low": 0.1, "high": 0.9}}
    one = [{"maximize": "throughput"}]
    assert method(search={}) == "grid"
    assert method(search={}, space=huge) == "nsga2"
    assert method(search={}, space=huge, objectives=one) == "tpe"
    assert method(search={}, space=free) == "nsga2"
    assert method(search={"trials": 100}) == "nsga2"
    assert method(search={"trials": 100_000}) == "grid"


def test_a_catalogue_figure_may_be_given_in_the_study() -> None:
    data = {
        "solvers": ["DistributedModel"],
        "catalog": {"hardware": {"MyGPU": {"based_on": "H100", "memory_capacity": "200 GB"}}},
        "fixed": {"model": "Llama3_8B", "hardware": "MyGPU", "fleet": "H100_64"},
        "space": {"batch_size": [64, 128], "tp_size": [1, 2]},
        "objectives": [{"maximize": "effective_throughput"}],
    }
    ours = load_study(data)
    theirs = load_study(data | {"fixed": data["fixed"] | {"hardware": "H100"}})  # type: ignore[operator]
    assert ours.problem.menus["hardware"][0].get("memory_capacity") == 200e9
    assert ours.catalog.digest() != theirs.catalog.digest() or ours.digest != theirs.digest


def test_names_of_the_catalogue_are_found_or_refused_with_near_names() -> None:
    data: dict[str, Any] = {
        "solvers": ["ServingModel"],
        "fixed": {"model": "Llama3_70"},
        "space": {"hardware": ["H100", "H100-SXM", "A100"], "tp_size": [1, 2]},
        "objectives": [{"minimize": "itl"}],
    }
    with pytest.raises(InvalidInput) as caught:
        load_study(data)
    said = str(caught.value)
    assert "near names" in said
    assert "Llama3_70B" in said.replace("LLAMA", "Llama")
    assert "space.hardware: 'H100-SXM' stands twice (as 'H100' before)" in said, "one part under two names"


def test_shipped_studies_are_found_by_name_and_offered_when_misspelt() -> None:
    for name in shipped_studies():
        assert load_study(name).name == name
    with pytest.raises(InvalidInput, match="no file and no shipped study"):
        load_study("no_such_study_at_all")


def test_a_study_may_name_a_catalogue_figure_in_a_constraint() -> None:
    study = load_study(
        {
            "solvers": ["DistributedModel"],
            "fixed": {"model": "Llama3_8B", "fleet": "H100_64"},
            "space": {"batch_size": [64, 128], "tp_size": [1, 2]},
            "objectives": [{"maximize": "effective_throughput"}],
            "constraints": ["memory_per_accelerator <= 0.9 * memory_capacity"],
        }
    )
    from planner.run.evaluate import Evaluator
    from planner.search.grid import Grid

    rows = Evaluator(study)(next(Grid(study.space).batches()))
    plans = study.problem.trace({**study.fixed, "batch_size": np.array([64.0]), "tp_size": np.array([1.0])})[0]
    limit = 0.9 * float(plans["DistributedModel"].device.memory_capacity[0])
    assert 60e9 < limit < 80e9
    held = np.broadcast_to(rows.violations[1], rows.batch.shape) <= 0
    assert (held == (np.broadcast_to(rows.metrics["memory_per_accelerator"], rows.batch.shape) <= limit)).all()


def test_data_need_not_be_a_file(toy: Make) -> None:
    assert toy().name == "study"
    assert study_data()["title"] == toy().title


@pytest.mark.parametrize("said", ["latency == 5 s", "latency <= 0 s", "latency > -1 s", "memory <= 1e9 GiB"])
def test_what_a_metric_may_come_to_is_for_the_trials_to_say(toy: Make, said: str) -> None:
    assert toy(constraints=[said]).constraints[0].text == said


@pytest.mark.parametrize("name", ["Llama3_8B", "Llama-3-8B", "meta-llama/Meta-Llama-3-8B", "'Llama-3-8B'"])
def test_a_constraint_knows_an_entry_by_all_its_names(name: str) -> None:
    study = load_study(
        {
            "solvers": ["ServingModel"],
            "fixed": {"hardware": "H100"},
            "space": {"model": ["Llama3_70B", "Llama3_8B"]},
            "objectives": [{"minimize": "itl"}],
            "constraints": [f"model == {name}"],
        }
    )
    assert study.constraints[0].violation({"model": np.array([0, 1])}).tolist() == [1.0, 0.0]
