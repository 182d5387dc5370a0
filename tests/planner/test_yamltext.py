from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.study import load_study
from planner.study.yamltext import MOST_BYTES, read
from planner.study.yamlwriter import to_yaml
from solvers.complaints import InvalidInput


def refused(text: bytes | str) -> str:
    with pytest.raises(InvalidInput) as caught:
        read(text, "study.yaml")
    return str(caught.value)


def test_words_and_numbers_are_those_of_yaml_1_2() -> None:
    text = "a: no\nb: on\nc: true\nd: 1e6\ne: 0o17\nf: ~\ng: '3'\nh: 12:30\ni: .5\nj: -7\nk: 1_000\n"
    assert read(text, "s").data == {
        "a": "no", "b": "on", "c": True, "d": 1e6, "e": "0o17", "f": None, "g": "3", "h": "12:30", "i": 0.5,
        "j": -7, "k": "1_000",
    }  # fmt: skip


def test_every_value_knows_its_line_and_column() -> None:
    text = read("space:\n  batch: {low: 1,\n    high: 2}\n  tp: [1, 2]\n", "study.yaml")
    assert text.place(("space", "batch", "high")) == "study.yaml:3:5"
    assert text.place(("space", "tp", 1)) == "study.yaml:4:11"
    assert text.place(("space", "pp", "low")) == "study.yaml:1:1"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a: 1\na: 2\n", "study.yaml:2:1: a: stands twice; first in line 1"),
        ("a: &x 1\n", "study.yaml:1:4: anchors and aliases"),
        ("a: *x\n", "study.yaml:1:4: anchors and aliases"),
        ("a: !!python/object/apply:os.system ['true']\n", "tags are not used"),
        ("a: !!int 3\n", "tags are not used"),
        ("? [1, 2]\n: 3\n", "a key is a plain word"),
        ("a: 1\n---\nb: 2\n", "second document"),
        ("a:\n\tb: 1\n", "study.yaml:2:1: a tab cannot indent"),
        ("a: [1, 2\n", "is not YAML"),
        (b"\x00\x01\x02", "control character"),
        (b"PK\x03\x04", "control character"),
        (b"\xff\xfe\x00", "not text in UTF-8"),
        ("[" * 1_000_000, "KiB"),
        ("[" * 100_000, "nested too deeply"),
        ("{a: " * 50_000, "nested too deeply"),
        ("- " * 100_000, "nested too deeply"),
        ("\n".join(" " * i + "a:" for i in range(600)), "nested too deeply"),
        ("a: [" + "1," * 60_000 + "]", "more than 20,000 values"),
    ],
)
def test_what_is_no_plain_document_is_refused_with_its_place(text: bytes | str, said: str) -> None:
    assert said in refused(text)


def test_what_is_huge_is_refused_without_being_read(tmp_path: Path) -> None:
    path = tmp_path / "study.yaml"
    with path.open("wb") as file:
        file.truncate(100 * 1024 * 1024)
    with pytest.raises(InvalidInput, match="at most"):
        load_study(path)
    assert MOST_BYTES < 1_000_000


def test_refusals_of_hostile_files_stay_cheap() -> None:
    begun = time.process_time()
    for text in ("[" * 200_000, "a: " + "x" * 200_000, "- - " * 50_000, "\n".join(f"k{i}: {i}" for i in range(20_000))):
        try:
            read(text, "s")
        except InvalidInput:
            continue
    assert time.process_time() - begun < 20, "a parser went quadratic"


def test_a_fifo_or_a_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="no file and no shipped study"):
        load_study(tmp_path)


PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**9), 10**9) | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(codec="ascii", categories=["L", "N", "P", "S", "Zs"]), max_size=12),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text("abc_", min_size=1), inner, max_size=4),
    max_leaves=12,
)  # fmt: skip


@given(st.dictionaries(st.text("abcxyz_", min_size=1, max_size=6), PLAIN, min_size=1, max_size=5))
def test_what_is_written_is_what_is_read(data: dict[str, Any]) -> None:
    assert read(to_yaml(data), "study.yaml").data == data
