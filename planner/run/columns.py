"""The columns of a table of trials: their types, units and meanings, and how rows become them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from planner.run.evaluate import Rows, Signals, signals_of
from planner.study import Study
from planner.versions import versions

_OWN = {
    "trial": (pa.int64(), "", "the trial's number; in a grid, the row-major number of its cell"),
    "feasible": (pa.bool_(), "bool", "it fits, and every constraint holds"),
    "reasons": (pa.string(), "reasons", "why it is not feasible: codes joined by commas"),
    "violation": (pa.float64(), "", "how far from feasible: at most 0 when all constraints hold"),
    "state": (pa.string(), "", "complete, or failed when there is no answer"),
}


class TrialColumns:
    """Turns evaluated batches into columns of trials for one study."""

    def __init__(self, study: Study) -> None:
        self.study = study
        self.signals: Signals = signals_of(study)
        self.outputs = study.chain.outputs
        self.schema = self._schema()

    def _schema(self) -> pa.Schema:
        fields = [self._own("trial")]
        for parameter in self.study.space.parameters:
            column = self.study.columns[parameter.name]
            kind = pa.from_numpy_dtype(self._parameter_type(parameter.name))
            fields.append(_field(parameter.name, kind, column.unit, column.description, "the study"))
        for name, column in self.outputs.items():
            kind = pa.string() if column.choices else pa.bool_() if column.unit == "bool" else pa.float64()
            fields.append(_field(name, kind, column.unit, column.description, column.made_by))
        fields += [self._own(name) for name in ("feasible", "reasons", "violation", "state")]
        data = {k: v for k, v in self.study.data.items() if k != "versions"}
        about = {
            "study": json.dumps(data, default=str),
            "versions": json.dumps(versions()),
            "units": json.dumps(self._units()),
        }
        return pa.schema(fields, metadata=about)

    def _units(self) -> dict[str, str]:
        """Units by column, in the schema's metadata as well: other tools than pyarrow lose those of the fields."""
        named = {p.name: self.study.columns[p.name].unit for p in self.study.space.parameters}
        return named | {n: c.unit for n, c in self.outputs.items()}

    @staticmethod
    def _own(name: str) -> pa.Field:
        kind, unit, description = _OWN[name]
        return _field(name, kind, unit, description, "planner")

    def _parameter_type(self, name: str) -> Any:
        parameter = next(p for p in self.study.space.parameters if p.name == name)
        kind = parameter.label(np.zeros(1) if parameter.labels is None else np.zeros(1, dtype=int)).dtype
        return np.dtype("U") if kind.kind == "O" else kind

    def buffers(self, rows: int) -> dict[str, np.ndarray]:
        """Empty room for so many trials: words as codes, everything else as it is kept."""
        made = {"trial": np.empty(rows, np.int64)}
        for p in self.study.space.parameters:
            kind = self._parameter_type(p.name)
            made[p.name] = np.empty(rows, np.int32 if kind.kind == "U" else kind)
        for name, column in self.outputs.items():
            made[name] = np.empty(rows, np.int32 if column.choices else bool if column.unit == "bool" else np.float64)
        made["signals"], made["violation"] = np.empty(rows, np.int64), np.empty(rows, np.float64)
        return made

    def fill(self, buffers: Mapping[str, np.ndarray], at: int, rows: Rows) -> None:
        """Write a batch's rows at a place of the buffers; every array is broadcast as it is written."""
        shape, size = rows.batch.shape, rows.batch.size
        buffers["trial"][at : at + size] = np.arange(rows.batch.start, rows.batch.start + size)
        for p in self.study.space.parameters:
            into, coordinate = buffers[p.name][at : at + size].reshape(shape), rows.batch.coordinates[p.name]
            into[...] = coordinate if p.labels is not None and p.values.dtype == object else p.label(coordinate)
        for name in self.outputs:
            buffers[name][at : at + size].reshape(shape)[...] = rows.metrics[name]
        buffers["signals"][at : at + size].reshape(shape)[...] = rows.signals
        buffers["violation"][at : at + size].reshape(shape)[...] = rows.violation

    def table(
        self, buffers: Mapping[str, np.ndarray], rows: int, metadata: Mapping[str, Any] | None = None
    ) -> pa.Table:
        """The first rows of the buffers as an Arrow table with units and meanings."""
        made: list[pa.Array] = [pa.array(buffers["trial"][:rows])]
        for p in self.study.space.parameters:
            held = buffers[p.name][:rows]
            worded = p.labels is not None and p.values.dtype == object
            made.append(_words(held, [str(v) for v in p.labels or ()]) if worded else pa.array(held))
        for name, column in self.outputs.items():
            held = buffers[name][:rows]
            made.append(_words(held, list(column.choices)) if column.choices else pa.array(held))
        signals = buffers["signals"][:rows]
        made.append(pa.array(signals == 0))
        made.append(self._texts(signals, self.signals.text))
        made.append(pa.array(buffers["violation"][:rows]))
        made.append(self._texts(signals, self._state))
        schema = self.schema
        if metadata:
            about = {k: json.dumps(v) for k, v in metadata.items()}
            schema = schema.with_metadata({**(schema.metadata or {}), **about})
        return pa.table(made, schema=schema)

    def _state(self, bits: int) -> str:
        return "failed" if bits >> (len(self.signals.reasons) + len(self.signals.constraints)) else "complete"

    @staticmethod
    def _texts(signals: np.ndarray, text: Any) -> pa.Array:
        """A text for each row's signals, worked out once for each that occurs."""
        coded = pa.array(signals).dictionary_encode()
        words = pa.array([text(int(bits)) for bits in coded.dictionary.to_pylist()], pa.string())
        return words.take(coded.indices)


def _field(name: str, kind: pa.DataType, unit: str, description: str, made_by: str) -> pa.Field:
    return pa.field(name, kind, metadata={"unit": unit, "description": description, "made_by": made_by})


def _words(codes: np.ndarray, words: list[str]) -> pa.Array:
    return pa.array(words, pa.string()).take(pa.array(codes))
