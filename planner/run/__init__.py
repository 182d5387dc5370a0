"""A finished or unfinished run: its trials, its front, and what is known of it."""

from __future__ import annotations

import functools
import json
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

from planner.run.folder import FRONT, INFO, STUDY, TRIALS
from planner.run.trials import parts_in
from planner.study import Study, load_study
from solvers.complaints import Complaint, InvalidInput

if TYPE_CHECKING:
    import optuna
    import pandas as pd
    import pyarrow as pa


class Run:
    """A run on disk.

    `info` is what `run.json` says: state, counts by reason, timings, versions, hypervolume, nearest miss.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)

    @functools.cached_property
    def info(self) -> dict[str, Any]:
        """What `run.json` says."""
        made: dict[str, Any] = json.loads((self.path / INFO).read_text())
        return made

    @functools.cached_property
    def study(self) -> Study:
        """The study as resolved."""
        return load_study(self.path / STUDY)

    @property
    def exit_code(self) -> int:
        """0 where a plan is feasible, 2 where none is."""
        return 0 if self.info["feasible"] else 2

    def table(self, columns: list[str] | None = None) -> pa.Table:
        """The trials as an Arrow table, in order; parts that cannot be read are named in a warning and left out."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        parts, broken = parts_in(self.path / TRIALS)
        for path, why in broken.items():
            warnings.warn(f"{path} is left out: {why}", stacklevel=3)
        if not parts:
            raise InvalidInput([Complaint("", f"{self.path} holds no trials")])
        return pa.concat_tables([pq.read_table(p.path, columns=columns) for p in parts])

    def trials(self, columns: list[str] | None = None) -> pd.DataFrame:
        """Every trial that was kept; units are in `.attrs["units"]`."""
        return frame_of(self.table(columns))

    def front_table(self) -> pa.Table:
        """The front as an Arrow table; that of the trials on disk where the run has not come to its end."""
        import pyarrow.parquet as pq

        if self.info["state"] == "done":
            return pq.ParquetFile(self.path / FRONT).read()
        from planner.run.summary import front_on_disk

        return front_on_disk(self.path / TRIALS, self.study)

    def front(self) -> pd.DataFrame:
        """The non-dominated feasible trials, best first objective first."""
        return frame_of(self.front_table())

    def best(self) -> pd.DataFrame:
        """The best feasible trial by each objective, and for several objectives the knee, as rows with those names."""
        from planner.fronts import knee
        from planner.run.summary import points_of

        table = self.front_table()
        front, rows = frame_of(table), {}
        if len(front):
            points = points_of(self.study, table)
            rows = {o.text: int(points[:, i].argmin()) for i, o in enumerate(self.study.objectives)}
            if len(rows) > 1:
                rows["knee"] = knee(points)
        made = front.iloc[list(rows.values())].set_axis(list(rows), axis=0)
        made.attrs = front.attrs
        return made

    def optuna_study(self) -> optuna.Study:
        """An Optuna study of the front and up to 5,000 trials, for Optuna's own tools."""
        from planner.run.mirror import journal_study, memory_study

        return journal_study(self.path) or memory_study(self)

    def __repr__(self) -> str:
        info = self.info
        return f"Run({str(self.path)!r}: {info['state']}, {info['trials']} trials, {info['feasible']} feasible)"


def load_run(path: str | Path) -> Run:
    """A run from its folder.

    Raises:
        InvalidInput: there is no run.
    """
    folder = Path(path)
    if not (folder / INFO).is_file():
        raise InvalidInput([Complaint("", f"{folder} is no run's folder: it holds no {INFO}")])
    return Run(folder)


def frame_of(table: pa.Table) -> pd.DataFrame:
    """An Arrow table of trials as a DataFrame that remembers units and makers."""
    made = table.to_pandas()
    about = {f.name: f.metadata or {} for f in table.schema}
    made.attrs["units"] = {n: m[b"unit"].decode() for n, m in about.items() if b"unit" in m}
    made.attrs["made_by"] = {n: m[b"made_by"].decode() for n, m in about.items() if b"made_by" in m}
    made.attrs["descriptions"] = {n: m[b"description"].decode() for n, m in about.items() if b"description" in m}
    return made
