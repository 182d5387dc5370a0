"""A measurement file as a frame in which every known column exists, and every number is one.

A row with text where a number is due, or without a usable measured value, is set aside with its reason; the others
are predicted. A row that tells of a plan that ran out of memory needs no value: whether we call it infeasible is what
is measured.
"""

from __future__ import annotations

import csv
import gzip
import io
import re
import zlib
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from solvers.complaints import Complaint, InvalidInput


@dataclass(frozen=True)
class Measurements:
    """Rows that can be predicted, and why the others cannot, by their place in `rows`."""

    rows: pd.DataFrame
    refused: dict[int, str]

    @property
    def usable(self) -> pd.DataFrame:
        """The rows that can be predicted."""
        return self.rows.drop(index=list(self.refused)) if self.refused else self.rows


def read_table(path: Path) -> pd.DataFrame:
    """Every cell as text; blank cells are missing.

    Raises:
        InvalidInput: the file is absent, empty, not text, or no CSV with a header and rows.
    """
    if not path.is_file():
        raise _refusal(path, "no such file" if not path.exists() else "is not a file")
    try:
        header, *rows = _lines(path)
        names = [name.strip() for name in header]
        frame = pd.read_csv(_rectangle(names, rows), dtype=str)
    except (csv.Error, UnicodeDecodeError, EOFError, OSError, ValueError, zlib.error) as problem:
        told = str(problem).splitlines() or ["it is empty"]
        raise _refusal(path, f"is not a CSV file with a header: {told[0]}") from problem
    twice = sorted(name for name, times in Counter(names).items() if times > 1 and name)
    if twice:
        raise _refusal(path, f"has two columns named {', '.join(twice)}")
    if frame.empty:
        raise _refusal(path, "has a header and no rows")
    return frame.reset_index(drop=True)


def _lines(path: Path) -> list[list[str]]:
    """Every line's cells; commas part them, or semicolons or tabs where the header has those instead.

    Raises:
        ValueError: there is no line.
    """
    text = (gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()).decode("utf-8-sig")
    first = text.lstrip().split("\n", 1)[0]
    delimiter = max(",;\t", key=first.count)
    read = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, skipinitialspace=True)
    lines = [line for line in read if len(line) > 1 or any(line)]
    if not lines:
        raise ValueError("it is empty")
    return lines


def _rectangle(names: list[str], rows: list[list[str]]) -> io.StringIO:
    """The rows at the header's width, with what lies beyond it in a column of its own."""
    made = io.StringIO(newline="")
    writer, width = csv.writer(made), len(names)
    writer.writerow([*names, BEYOND])
    for row in rows:
        cells = (row + [""] * width)[:width]
        writer.writerow([*cells, " ".join(cell for cell in row[width:] if cell.strip())])
    made.seek(0)
    return made


BEYOND = "cells beyond the header"

WHOLE = (
    "n_gpus", "gpus_per_node", "tp_size", "pp_size", "dp_size", "cp_size", "ep_size", "moe_tp_size", "v_stages",
    "layers", "hidden", "heads", "kv_heads", "head_dim", "ffn_hidden", "vocab", "num_experts", "top_k",
    "moe_ffn_hidden", "seq_len", "micro_batch", "n_accelerators", "n_hosts", "n_samples", "tp",
    "batch_size", "max_model_len",
)  # fmt: skip
"""Columns that count things of which there are no parts."""

RAN_OUT = re.compile(r"\boom\b|out[ _-]*of[ _-]*memory|\boom[ _-]|does not fit|no kv room", re.IGNORECASE)
"""How files say that a plan ran out of memory."""
OUTCOMES = ("outcome", "fits", "oom", "out_of_memory", "infeasible")
"""Metrics whose value tells whether a plan ran, rather than how fast."""


def ran_out(frame: pd.DataFrame, measured: tuple[str, ...], memory: tuple[str, ...]) -> pd.Series:
    """True for rows of plans that ran out of memory: they say so and hold no figure, or their outcome is a failure."""
    text = {name: frame[name].fillna("").astype(str) for name in frame.columns}
    none = pd.Series("", index=frame.index)
    says = pd.Series(False, index=frame.index)
    for name in {*measured, *memory, "flag", "notes", "quality", "outcome", "metric"} & set(text):
        says |= text[name].str.contains(RAN_OUT)
    figure = pd.Series(False, index=frame.index)
    for name in {*measured, *memory} & set(text):
        figure |= pd.to_numeric(frame[name], errors="coerce") > 0
    failed = text.get("outcome", none).str.upper().isin(["FAIL", "FAILED", "OOM"])
    metric, value = text.get("metric", none).str.lower(), text.get("value", none).str.strip().str.lower()
    positive = value.isin(["1", "1.0", "true", "yes", "oom", "fail", "failed"])
    outcome = metric.isin(OUTCOMES) & np.where(metric == "fits", ~positive, positive | value.str.contains(RAN_OUT))
    return failed | outcome | (says & ~figure & ~metric.isin(OUTCOMES))


def prepare(
    frame: pd.DataFrame,
    numbers: tuple[str, ...],
    words: tuple[str, ...],
    measured: tuple[str, ...],
    memory: tuple[str, ...] = (),
    noted: tuple[tuple[str, str], ...] = (),
) -> Measurements:
    """The frame with numbers as float64, absent columns added as missing, and an `id` of its own for every row.

    Args:
        frame: every cell as text.
        numbers: columns that hold numbers.
        words: columns that hold words.
        measured: the columns that hold measured values; a row needs one of them above 0.
        memory: columns that hold measured memory; a row that has one needs no other value.
        noted: columns that the notes hold where the file has none, each with the pattern of its figure.
    """
    made = frame.apply(lambda column: column.str.strip())
    for name, pattern in noted:
        if name not in made and "notes" in made:
            made[name] = made["notes"].str.extract(pattern, flags=re.IGNORECASE)[0]
    refused: dict[int, str] = {}
    if BEYOND in made:
        _refuse(refused, made[BEYOND].notna(), lambda row: "the row has more cells than the header")
    out = ran_out(made, measured, memory)
    for name in {*measured, *memory} & set(made.columns):
        made.loc[out, name] = np.nan
    for name in (*numbers, *measured, *memory):
        given = made[name] if name in made else pd.Series(np.nan, index=made.index, dtype=object)
        made[name] = pd.to_numeric(given.map(_worded), errors="coerce").astype(float)
        _refuse(
            refused, given.notna() & made[name].isna(), lambda row, n=name, g=given: f"{n}: {g[row]!r} is not a number"
        )
        endless = np.isposinf(made[name]) & (name == "request_rate")  # all requests are queued at once
        infinite = made[name].notna() & ~np.isfinite(made[name]) & ~endless
        _refuse(refused, infinite, lambda row, n=name: f"{n} is not finite")
        if name not in (*measured, *memory):
            _refuse(refused, made[name] < 0, lambda row, n=name: f"{n} is negative")
        if name in WHOLE:
            parts = np.isfinite(made[name]) & (made[name] % 1 != 0)
            _refuse(refused, parts, lambda row, n=name: f"{n}: {made[n][row]:g} is not a whole number")
    for name in words:
        if name not in made:
            made[name] = pd.Series(np.nan, index=made.index, dtype=object)
    made["ran_out"] = out
    valued = (made[[*measured, *memory]] > 0).any(axis=1) | out
    _refuse(refused, ~valued, lambda row: "no measured value above 0")
    made["id"] = _unique_ids(made.get("id"), len(made))
    return Measurements(made, refused)


def _worded(cell: object) -> object:
    """True and false as the numbers they stand for."""
    return {"true": "1", "false": "0"}.get(str(cell).lower(), cell)


def _refuse(refused: dict[int, str], where: pd.Series, why) -> None:  # type: ignore[no-untyped-def]
    for row in np.flatnonzero(where.to_numpy(bool)):
        refused.setdefault(int(row), why(int(row)))


def _unique_ids(given: pd.Series | None, count: int) -> list[str]:
    """The ids given; `row 7` where there is none, and `a#2` where one comes again."""
    names = [f"row {i + 2}" for i in range(count)]
    if given is not None:
        names = [name if pd.isna(own) else str(own) for own, name in zip(given, names, strict=True)]
    seen: dict[str, int] = {}
    for place, name in enumerate(names):
        seen[name] = seen.get(name, 0) + 1
        if seen[name] > 1:
            names[place] = f"{name}#{seen[name]}"
    return names


def _refusal(path: Path, message: str) -> InvalidInput:
    return InvalidInput([Complaint("", message, str(path))])
