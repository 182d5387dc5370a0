"""What Optuna's users ask for that touches a planner; each test names the thread."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import optuna
import pytest

import planner
from planner.fronts import hypervolume
from planner.run.evaluate import Evaluator
from planner.search import Batch
from planner.search.fresh import FreshNSGAII
from planner.search.sampled import Sampled
from planner.study import Study, load_study
from tests.planner.test_runs import TRAINING

Make = Callable[..., Study]
ROOT = Path(__file__).parent.parent.parent
optuna.logging.set_verbosity(optuna.logging.WARNING)


def test_each_grid_cell_exactly_once_with_four_workers(tmp_path: Path) -> None:
    """optuna#5489, #2039, #4627."""
    run = planner.explore(TRAINING | {"search": {"batch": 4}}, tmp_path / "r", workers=4)
    assert run.trials()["trial"].tolist() == list(range(60))
    assert not run.trials().duplicated(["batch_size", "tp_size", "precision", "sequence_parallel"]).any()


def test_the_end_of_a_grid_is_exhausted_and_well(toy: Make) -> None:
    """optuna#4121."""
    run = planner.explore(toy())
    assert run.info["exhausted"] is True
    assert run.exit_code == 0


def test_a_batch_of_fifty_equals_fifty_single_evaluations(toy: Make) -> None:
    """optuna#2660."""
    study = toy(constraints=["latency < 20 s"])
    evaluate = Evaluator(study)
    numbers = np.arange(50) * 7
    batch = evaluate(Batch(0, study.space.cells(numbers), (50,)))
    for i, number in enumerate(numbers):
        one = evaluate(Batch(0, study.space.cells(np.array([number])), (1,)))
        for name in study.chain.outputs:
            assert one.full(one.metrics[name])[0] == batch.full(batch.metrics[name])[i]
        assert one.full(one.violation)[0] == batch.full(batch.violation)[i]


def test_an_infeasible_configuration_is_complete_with_a_constraint_above_zero_and_a_reason(toy: Make) -> None:
    """optuna#1134, #3434."""
    run = planner.explore(toy(["search.method=nsga2", "search.trials=150"], constraints=["latency < 9 s"]))
    study = run.optuna_study()
    infeasible = [t for t in study.get_trials() if any(v > 0 for v in t.constraints.values())]
    assert infeasible
    assert all(t.state.name == "COMPLETE" for t in study.get_trials())
    frame = run.trials().set_index("trial")
    for t in infeasible:
        assert frame.loc[t.user_attrs["trial"], "reasons"]


def test_when_all_is_infeasible_the_nearest_miss_and_what_binds_it_are_shown(toy: Make) -> None:
    """optuna#6242, #4180."""
    run = planner.explore(toy(["search.method=tpe", "search.trials=60"], constraints=["latency < 100 ms"]))
    assert run.exit_code == 2
    assert run.info["nearest_miss"]["reasons"] == ["constraint:latency < 100 ms"]
    assert run.info["nearest_miss"]["violation"] == run.trials()["violation"].min()


def test_optuna_agrees_on_which_trials_are_best(toy: Make) -> None:
    """Infeasible trials are no one's best, in Optuna's own reading as well."""
    run = planner.explore(toy(["search.method=nsga2", "search.trials=200"], constraints=["cost <= 500 USD"]))
    best = {tuple(t.values) for t in run.optuna_study().best_trials}
    front = run.front()
    assert best == set(zip(front["throughput"], front["cost"], strict=True))
    assert run.optuna_study().directions[0].name == "MAXIMIZE"


def test_the_dashboard_finds_constraints_where_it_looks(toy: Make) -> None:
    run = planner.explore(toy(["search.method=nsga2", "search.trials=60"], constraints=["cost <= 500 USD"]))
    for t in run.optuna_study().get_trials():
        assert len(t.system_attrs["constraints"]) == 2
        assert t.params.keys() == {"batch_size", "ovens", "heat", "kind"}
        assert t.params["kind"] in ("bread", "cake", "pie")


def test_a_torn_journal_is_mended(toy: Make, tmp_path: Path) -> None:
    """optuna#5138, #5921."""
    run = planner.explore(toy(["search.method=nsga2", "search.trials=60"]), tmp_path / "r")
    whole = len(run.optuna_study().get_trials())
    journal = tmp_path / "r" / "optuna" / "journal.log"
    for torn in (b'{"op_code":4,"worker', b'{"op_code":4,\n', b"\n"):
        with journal.open("ab") as file:
            file.write(torn)
        study = planner.load_run(tmp_path / "r").optuna_study()
        assert len(study.get_trials()) == whole
        study.set_user_attr("seen", True)
        assert planner.load_run(tmp_path / "r").optuna_study().user_attrs == {"seen": True}
    assert all(t.state.is_finished() for t in study.get_trials()), "optuna#6615: nothing is stuck in RUNNING"


def test_a_storage_gets_each_trial_once(toy: Make, tmp_path: Path) -> None:
    """optuna#6073: what is known is not done again."""
    url = f"sqlite:///{tmp_path / 'optuna.db'}"
    for trials in (20, 40):
        study = toy([f"search.trials={trials}", "search.method=nsga2", "search.batch=20"])
        planner.explore(study, tmp_path / "r", resume=True, storage=url)
        (name,) = optuna.get_all_study_names(url)
        held = optuna.load_study(study_name=name, storage=url).get_trials()
        assert sorted(t.user_attrs["trial"] for t in held) == list(range(trials))


def test_a_grid_is_an_optuna_study_too(toy: Make) -> None:
    run = planner.explore(toy())
    assert len(run.optuna_study().get_trials()) == 360
    importances = optuna.importance.get_param_importances(run.optuna_study(), target=lambda t: t.values[0])
    assert set(importances) == {"batch_size", "ovens", "heat", "kind"}


def test_a_catalogue_that_changed_starts_a_new_study() -> None:
    """optuna#2564: under another name, so that figures of two catalogues never mix."""
    from planner.run.mirror import study_name

    one = load_study(TRAINING)
    other = load_study(TRAINING | {"catalog": {"hardware": {"H100": {"memory_capacity": "96 GB"}}}})
    assert study_name(one) != study_name(other)
    assert one.digest != other.digest


def test_a_thousand_trials_of_three_objectives_take_seconds() -> None:
    """optuna#5203: under 30 CPU seconds."""
    objectives = [{"maximize": "effective_throughput"}, {"minimize": "memory_per_accelerator"}, {"minimize": "mfu"}]
    data = TRAINING | {"objectives": objectives, "search": {"method": "nsga2", "trials": 1000}}
    begun = time.process_time()
    assert planner.explore(data).info["trials"] == 1000
    assert time.process_time() - begun < 30


LARGER: dict[str, Any] = {
    "solvers": ["DistributedModel", "EconomicsModel"],
    "fixed": {"model": "Llama3_70B", "fleet": "Frontier_8K", "precision": "bf16", "seq_len": 4096},
    "space": {
        "batch_size": [1024, 1536, 2048, 3072, 4096, 6144, 8192, 12288, 16384],
        "tp_size": [1, 2, 4, 8],
        "pp_size": [1, 2, 4, 5, 8, 10, 16, 20],
        "microbatch_size": [1, 2, 4, 8],
        "zero_stage": [0, 1, 2, 3],
        "recompute": ["none", "selective", "full"],
    },
    "objectives": [{"maximize": "effective_throughput"}, {"minimize": "memory_per_accelerator"}],
    "search": {"method": "grid"},
}


def points(run: Any) -> np.ndarray:
    frame = run.front()
    return np.stack([-frame["effective_throughput"], frame["memory_per_accelerator"]], axis=1)


@pytest.mark.parametrize(("method", "trials"), [("nsga2", 1000), ("tpe", 300)])
def test_samplers_come_close_to_the_enumerated_truth(method: str, trials: int) -> None:
    truth = points(planner.explore(LARGER))
    reference = truth.max(axis=0) + 0.1 * np.ptp(truth, axis=0)
    run = planner.explore(LARGER | {"search": {"method": method, "trials": trials, "seed": 1}})
    found = hypervolume(points(run), reference) / hypervolume(truth, reference)
    assert found <= 1 + 1e-12, "nothing beats the truth"
    assert found > (0.98 if trials == 1000 else 0.95)


def test_our_own_share_of_an_adaptive_search_is_small() -> None:
    run = planner.explore(LARGER | {"search": {"method": "nsga2", "trials": 1000, "seed": 1}})
    timings = run.info["timings"]
    assert {"search", "evaluate", "keep", "write", "report", "total"} <= set(timings)
    assert sum(timings[k] for k in ("evaluate", "keep", "write")) < timings["search"]


def test_hypervolume_is_recorded_with_its_reference(toy: Make) -> None:
    """optuna#4776."""
    info = planner.explore(toy()).info["hypervolume"]
    reference = [-info["reference"]["maximize: throughput"], info["reference"]["minimize: TillModel.cost"]]
    front = planner.explore(toy()).front()
    again = hypervolume(np.stack([-front["throughput"], front["cost"]], axis=1), reference)
    assert again == pytest.approx(info["value"], rel=1e-12)


def test_generations_on_record_are_those_that_optuna_would_give() -> None:
    """Replaying relies on how NSGA-II numbers its generations; this notices when that changes."""
    from tests.planner.test_searches import SPACE, bowl

    search = Sampled(SPACE, "nsga2", seed=0, trials=100, objectives=2, constraints=["chain", "c"], batch=10)
    for batch in search.batches():
        search.tell(batch, *bowl(batch))
    key = FreshNSGAII._get_generation_key()
    asked = [t.system_attrs[key] for t in search.study.get_trials()]
    generation, completed, expected = 0, 0, []
    for start in range(0, 100, 10):
        if completed >= 10:
            generation, completed = generation + 1, 0
        expected += [generation] * 10
        completed += sum(t.state.name == "COMPLETE" for t in search.study.get_trials()[start : start + 10])
    assert asked == expected


def test_importing_the_planner_is_light() -> None:
    heavy = ("optuna", "pandas", "pyarrow", "pint", "moocore", "ruamel.yaml", "solvers.catalog")
    code = f"import sys, planner; dir(planner); print(*[m for m in {heavy!r} if m in sys.modules])"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    assert out.stdout.strip() == ""


def test_public_names_are_functions_whatever_was_imported_first() -> None:
    code = (
        "import planner.fronts, planner.run.explorer, planner, json;"
        "print(json.dumps([type(getattr(planner, n)).__name__ for n in planner.__all__]))"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    assert "module" not in json.loads(out.stdout)
    with pytest.raises(AttributeError, match="did you mean 'explore'"):
        planner.exploer  # noqa: B018
