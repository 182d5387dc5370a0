"""Scores against measurements mean what they say, and a broken file cannot stop them."""

from __future__ import annotations

import dataclasses
import gzip
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from planner.cli.output import plain
from planner.validate import Validation, predictions, rank_correlation, regret, score, validate
from planner.validation import TASKS, Task, task_of
from planner.validation.reading import read_table
from solvers.complaints import InvalidInput

TRAINING = next(t for t in TASKS if t.name == "training")
HEADER = "id,family,model,seq_len,global_batch_samples,tp_size,n_gpus,metric,value,flag"


class Doubling(Task):
    """A kind of file whose predictions are what the test says."""

    @property
    def predict(self) -> Any:
        def predict(frame: pd.DataFrame, catalog: Any) -> pd.DataFrame:
            if (frame["model"] == "poison").any():
                raise InvalidInput([])
            made = frame[["id", "family", "metric"]].copy()
            made["measured"] = frame["value"]
            made["predicted"] = frame["value"] * np.where(frame["model"] == "twice", 2.0, 1.0)
            made["low"], made["high"] = made["predicted"] * 0.9, made["predicted"] * 1.1
            made["feasible"] = frame["model"] != "impossible"
            made["reason"] = np.where(frame["model"] == "unknown", "the model is not known", "")
            made.loc[(frame["model"] == "unknown").to_numpy(), "predicted"] = np.nan
            return made[frame["model"].to_numpy() != "silent"]

        return predict


TASK = Doubling(**{f.name: getattr(TRAINING, f.name) for f in dataclasses.fields(TRAINING)})


def scored(tmp_path: Path, *lines: str) -> Validation:
    path = tmp_path / "rows.csv"
    path.write_text("\n".join([HEADER, *lines]) + "\n")
    return score(predictions(read_table(path), TASK, None), TASK)


def test_the_headline_is_the_median_over_cells(tmp_path: Path) -> None:
    many = [f"a{i},one,right,2048,8,1,8,iter_time_s,{i + 1}," for i in range(9)]
    few = ["b,two,twice,2048,8,1,8,iter_time_s,1,", "c,three,twice,2048,8,1,8,mfu,0.4,"]
    found = scored(tmp_path, *many, *few)
    assert found.headline == 1.0
    assert found.overall.median_ape == 0.0
    assert found.overall.mean_ape == pytest.approx(2 / 11)
    assert found.cells["two", "iter_time_s"].bias == pytest.approx(math.log(2))
    assert found.cells["one", "iter_time_s"].inside_interval == 1.0
    assert found.cells["two", "iter_time_s"].inside_interval == 0.0


def test_a_measured_plan_called_impossible_is_an_error_of_100_percent(tmp_path: Path) -> None:
    found = scored(tmp_path, "a,f,impossible,2048,8,1,8,mfu,0.4,", "b,f,right,2048,8,1,8,mfu,0.4,")
    assert (found.overall.called_infeasible, found.overall.scored) == (1, 2)
    assert found.overall.mean_ape == 0.5


def test_rows_with_a_flag_are_scored_apart(tmp_path: Path) -> None:
    found = scored(tmp_path, "a,f,twice,2048,8,1,8,mfu,0.4,doubtful", "b,f,right,2048,8,1,8,mfu,0.4,")
    assert (found.overall.rows, found.flagged.rows) == (1, 1)
    assert (found.headline, found.flagged.median_ape) == (0.0, 1.0)


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("a,f,unknown,2048,8,1,8,mfu,0.4,", "the model is not known"),
        ("a,f,silent,2048,8,1,8,mfu,0.4,", "nothing was predicted for it"),
        ("a,f,right,many,8,1,8,mfu,0.4,", "seq_len: 'many' is not a number"),
        ("a,f,right,2048,8,-1,8,mfu,0.4,", "tp_size is negative"),
        ("a,f,right,2048,8,1,inf,mfu,0.4,", "n_gpus is not finite"),
        ("a,f,right,2048,8,1,8,mfu,,", "no measured value above 0"),
        ("a,f,right,2048,8,1,8,mfu,nan,", "no measured value above 0"),
        ("a,f,right,2048,8,1,8,mfu,0,", "no measured value above 0"),
        ("a,f,right,2048,8,1,8,mfu,fast,", "value: 'fast' is not a number"),
        ("a", "no measured value above 0"),
        ("a,f,poison,2048,8,1,8,mfu,0.4,", "InvalidInput('')"),
    ],
)
def test_a_broken_row_is_refused_with_its_reason(tmp_path: Path, line: str, reason: str) -> None:
    found = scored(tmp_path, line, *(f"b{i},f,right,2048,8,1,8,mfu,0.4," for i in range(4)))
    assert (found.overall.refused, found.overall.scored) == (1, 4)
    assert found.overall.refusals == {reason: 1}


def test_ids_that_repeat_or_lack_stay_apart(tmp_path: Path) -> None:
    found = scored(
        tmp_path, *(f"{i},f,{m},2048,8,1,8,mfu,0.4," for i, m in [("a", "right"), ("a", "twice"), ("", "right")])
    )
    assert found.frame["id"].tolist() == ["a", "a#2", "row 4"]
    assert found.overall.mean_ape == pytest.approx(1 / 3)


@pytest.mark.parametrize(
    ("content", "said"),
    [(b"", "is not a CSV"), (b"\x89PNG\r\n\x1a\n\x00\xff\xfe", "is not a CSV"), (b"a,b\n1,2\n", "tell no kind"),
     (HEADER.encode(), "no rows"), (b"a,a\n1,2\n", "tell no kind|two columns"), (b"\n\n\n", "is not a CSV")],
)  # fmt: skip
def test_what_is_no_file_of_measurements_is_refused(tmp_path: Path, content: bytes, said: str) -> None:
    path = tmp_path / "x.csv"
    path.write_bytes(content)
    with pytest.raises(InvalidInput, match=said):
        validate(path)


def test_a_gzipped_file_that_is_none_is_refused(tmp_path: Path) -> None:
    (tmp_path / "x.csv.gz").write_bytes(gzip.compress(b"id,metric\n")[:-6])
    with pytest.raises(InvalidInput):
        validate(tmp_path / "x.csv.gz")
    with pytest.raises(InvalidInput, match="no such file"):
        validate(tmp_path / "absent.csv")


def test_the_kind_of_a_file_is_told_by_its_columns() -> None:
    for task in TASKS:
        assert task_of([*task.tells, "anything"]) is task
    with pytest.raises(InvalidInput, match="nearest is serving, without output_tokens"):
        task_of(["input_tokens", "concurrency", "metric", "value", "engine"])


def rows(measured: list[float], predicted: list[float], **more: Any) -> pd.DataFrame:
    made = pd.DataFrame({"measured": measured, "predicted": predicted, "family": "f", "metric": "iter_time_s"})
    return made.assign(tp_size=range(len(measured)), n_gpus=8.0, **more)


def test_rank_correlation_is_within_groups_and_weighted_by_size() -> None:
    one, two = rows([1, 2, 3], [10, 20, 30]), rows([1, 2, 3, 4, 5, 6], [6, 5, 4, 3, 2, 1], hardware="other")
    both = pd.concat([one.assign(hardware="some"), two], ignore_index=True)
    assert rank_correlation(one, ("tp_size",)) == pytest.approx(1)
    assert rank_correlation(both, ("tp_size",)) == pytest.approx((3 * 1 - 6 * 1) / 9)
    assert math.isnan(rank_correlation(one.iloc[:2], ("tp_size",)))
    assert rank_correlation(rows([1, 2, 3], [5, 5, 5]), ("tp_size",)) == 0


def test_regret_is_what_the_wrong_choice_costs() -> None:
    assert regret(rows([1.0, 1.5, 2.0], [3, 2, 4]), ("tp_size",)) == pytest.approx(0.5)
    rates = rows([100, 80, 50], [1, 2, 0.5]).assign(metric="tokens_per_s_per_gpu")
    assert regret(rates, ("tp_size",)) == pytest.approx(0.2)
    assert regret(rows([1.0, 1.5, 2.0], [1, 2, 3]), ("tp_size",)) == 0


def test_the_json_has_the_promised_keys(tmp_path: Path) -> None:
    found = scored(tmp_path, "a,f,twice,2048,8,1,8,mfu,0.4,", "b,f,unknown,2048,8,1,8,mfu,0.4,")
    made = json.loads(json.dumps(plain(found.document()), allow_nan=False))
    assert {"median_ape", "pooled_median_ape", "mean_ape", "rows", "scored", "refused", "called_infeasible"} <= set(
        made["overall"]
    )
    (cell,) = made["cells"]
    keys = {"family", "metric", "rows", "scored", "refused", "median_ape", "p90_ape", "bias", "rank_correlation"}
    assert keys <= set(cell)
    assert made["rows"][0] | {"low": 0, "high": 0} == {
        "id": "a", "family": "f", "metric": "mfu", "measured": 0.4, "predicted": 0.8, "low": 0, "high": 0, "reason": "",
        "feasible": True, "flag": "",
    }  # fmt: skip
    assert made["rows"][1]["predicted"] is None


@settings(deadline=None, max_examples=60)
@given(
    st.lists(
        st.text(st.characters(codec="utf-8"), max_size=8),
        min_size=len(HEADER.split(",")),
        max_size=len(HEADER.split(",")),
    )
)
def test_no_row_of_text_stops_it(tmp_path_factory: pytest.TempPathFactory, cells: list[str]) -> None:
    path = tmp_path_factory.mktemp("fuzz") / "x.csv"
    row = ",".join('"' + c.replace('"', '""').replace("\0", "") + '"' for c in cells)
    path.write_text(f"{HEADER}\n{row}\nb,f,right,2048,8,1,8,mfu,0.4,\n", encoding="utf-8", newline="")
    found = score(predictions(read_table(path), TASK, None), TASK)
    assert found.overall.rows + found.flagged.rows == 2


def written(path: Path, *lines: str) -> Path:
    path.write_text("\n".join(lines) + "\n")
    return path


SERVING = "family,input_tokens,output_tokens,concurrency,tp_size,model,hardware,metric,value"
SERVED = "a,512,128,8,1,Llama-3-8B,H100,output_tok_s,900"


def test_semicolons_and_tabs_part_cells_too(tmp_path: Path) -> None:
    commas = validate(written(tmp_path / "a.csv", SERVING, SERVED)).document()["rows"]
    for sign in ";\t":
        other = written(tmp_path / "b.csv", SERVING.replace(",", sign), SERVED.replace(",", sign))
        assert validate(other).document()["rows"] == commas


def test_cells_that_belong_nowhere_are_told(tmp_path: Path) -> None:
    found = validate(
        written(tmp_path / "a.csv", SERVING, SERVED, SERVED + ",,", SERVED + ",12", SERVED.replace(",1,L", ",1.5,L"))
    )
    reasons = [row["reason"] for row in found.document()["rows"]]
    assert reasons[2:] == ["the row has more cells than the header", "tp_size: 1.5 is not a whole number"]
    assert not any(reasons[:2])
    with pytest.raises(InvalidInput, match="two columns named value"):
        validate(written(tmp_path / "b.csv", SERVING + ",value", SERVED + ",1"))
