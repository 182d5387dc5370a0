"""Fit the training constants to published runs, and say how well they predict families they have not seen.

    python benchmarks/fit_training.py --measurements DIR [--write] [--without-families]

DIR holds `training.csv` and `training_one_node.csv.gz`, in the form of `planner validate`. Each constant has a prior
(`benchmarks/training_priors.csv`: a value near what kernels and wires show, and a width in log units), so that few rows
cannot pull it far. The objective is the robust log error of each row, in which a family counts for at most twelve rows.

Prints the error of the fit by family, then of every family predicted by constants fitted without it. `--write` puts
the fitted values, their standard errors and the held-out error of each class into the catalogue.
"""

from __future__ import annotations

import argparse
import csv
import dataclasses
import warnings
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.optimize import least_squares

from planner.validation import training
from planner.validation.menu import task_of
from planner.validation.reading import prepare, read_table
from planner.validation.training_rows import Run, read_runs
from solvers.catalog import catalog
from solvers.faces.distributed import DistributedModel
from solvers.formulas.training.constants import TrainingConstants
from solvers.lowering.constants import constants
from solvers.lowering.training import training_row

HERE = Path(__file__).parent
CONSTANTS = HERE.parent / "solvers/catalog/data/training_constants.csv"
ONE_NODE_STRIDE = 13
"""Of the 1,440 one-node rows, one in so many is fitted: they are one family."""
FAMILY_ROWS = 12
"""A family with more rows than this counts as if it had this many."""
SCALE = 0.06
"""Log error below which a row counts by its square, above by its size: the noise between software releases."""
ESTIMATE = "estimate, as kernels and wires of like devices show (benchmarks/training_priors.csv)"
SOURCE = "fitted by benchmarks/fit_training.py to published training runs"


@dataclass(frozen=True)
class Rows:
    """Measured runs, as plans."""

    frame: pd.DataFrame
    run: Run
    kinds: tuple[tuple[object, object], ...]
    kind: np.ndarray

    @property
    def family(self) -> np.ndarray:
        """The family of each row."""
        return self.frame["family"].to_numpy(object)

    @property
    def measured(self) -> np.ndarray:
        """The measured value of each row."""
        return self.frame["value"].to_numpy(float)

    def predicted(self, values: dict[str, float]) -> np.ndarray:
        """Every row in its own metric, by these constants."""
        made = [training_row(h, p, values) for h, p in self.kinds]
        fields = [f.name for f in dataclasses.fields(TrainingConstants)]
        columns = {f: np.array([row[f] for row in made])[self.kind] for f in fields}
        plan = dataclasses.replace(self.run.plan, constants=TrainingConstants(**columns))
        return training.in_metric(dataclasses.replace(self.run, plan=plan), DistributedModel.columns(plan))


def read(folder: Path) -> Rows:
    """Both files of a folder, rows with a flag left out."""
    frames = []
    for name, stride in (("training.csv", 1), ("training_one_node.csv.gz", ONE_NODE_STRIDE)):
        table = read_table(folder / name)
        task = task_of(table.columns)
        frame = prepare(table, task.numbers, task.words, task.measured).usable
        frames.append(frame[frame["flag"].isna()].iloc[::stride])
    frame = pd.concat(frames, ignore_index=True)
    run = read_runs(frame, catalog)
    usable = np.flatnonzero((run.refusal == "") & frame["value"].notna().to_numpy())
    if len(usable) < len(frame):
        frame = frame.iloc[usable].reset_index(drop=True)
        run = read_runs(frame, catalog)
    named = [(h.name, p.name) for h, p in zip(run.hardware, run.precision, strict=True)]
    first = {pair: place for place, pair in reversed(list(enumerate(named)))}
    order = list(first)
    kinds = tuple((run.hardware[first[pair]], run.precision[first[pair]]) for pair in order)
    return Rows(frame, run, kinds, np.array([order.index(pair) for pair in named]))


@dataclass(frozen=True)
class Priors:
    """What the constants are believed to be before any run is looked at."""

    names: tuple[str, ...]
    value: np.ndarray
    width: np.ndarray
    fixed: dict[str, float]

    def at(self, steps: np.ndarray) -> dict[str, float]:
        """Every constant, the fitted ones so many widths from their prior; no share reaches 1."""
        made = self.value * np.exp(steps * self.width)
        shares = [n for n in self.names if any(word in n for word in ("fraction", "overlap", "data_hidden"))]
        fitted = {n: min(v, 0.97) if n in shares else float(v) for n, v in zip(self.names, made, strict=True)}
        return {**self.fixed, **fitted}


def priors() -> Priors:
    """From `training_priors.csv`; what is not in it is not fitted."""
    rows = list(csv.DictReader((HERE / "training_priors.csv").read_text().splitlines()))
    names = tuple(r["quantity"] for r in rows)
    fixed = {name: c.value for name, c in constants("training").items() if name not in names}
    return Priors(
        names, np.array([float(r["prior"]) for r in rows]), np.array([float(r["width"]) for r in rows]), fixed
    )


def fit(rows: Rows, prior: Priors, chosen: np.ndarray, steps: int = 10) -> tuple[dict[str, float], np.ndarray]:
    """The constants that fit the chosen rows best, and the standard error of each in log units."""
    family = pd.Series(rows.family[chosen])
    count = family.map(family.value_counts()).to_numpy(float)
    weight = np.sqrt(np.minimum(count, FAMILY_ROWS) / count)
    logs = np.log(rows.measured[chosen])

    def residuals(x: np.ndarray) -> np.ndarray:
        error = (np.log(rows.predicted(prior.at(x))[chosen]) - logs) / SCALE
        robust = np.sign(error) * np.sqrt(2.0 * (np.sqrt(1.0 + error * error) - 1.0))
        return np.concatenate([robust * weight, x])

    found = least_squares(residuals, np.zeros(len(prior.names)), max_nfev=steps, diff_step=1e-3)
    spread = np.sqrt(np.diag(np.linalg.inv(found.jac.T @ found.jac)))
    return prior.at(found.x), spread * prior.width


def without_each(rows: Rows, prior: Priors) -> np.ndarray:
    """Every family predicted by constants fitted to the others."""
    held = np.full(len(rows.frame), np.nan)
    for family in np.unique(rows.family):
        own = rows.family == family
        held[own] = rows.predicted(fit(rows, prior, ~own, steps=6)[0])[own]
    return held


def table(rows: Rows, predicted: np.ndarray, title: str) -> None:
    """Errors by family and metric, and their median."""
    error = np.abs(predicted / rows.measured - 1.0)
    frame = pd.DataFrame(
        {
            "family": rows.family,
            "metric": rows.frame["metric"],
            "error": error,
            "log": np.log(predicted / rows.measured),
        }
    )
    cells = frame.groupby(["family", "metric"])
    shown = pd.DataFrame(
        {
            "rows": cells.size(),
            "median": cells["error"].median(),
            "p90": cells["error"].quantile(0.9),
            "bias": cells["log"].median(),
        }
    )
    print(f"\n{title}\n{shown.round(3).to_string()}")
    print(
        f"median over cells {shown['median'].median():.3f}, over rows {np.median(error):.3f}, mean {np.mean(error):.3f}"
    )


def class_errors(rows: Rows, held: np.ndarray) -> dict[str, float]:
    """Standard deviation of the log error of left-out families by class, as 80 % of its rows imply."""
    logs = pd.Series(np.abs(np.log(held / rows.measured)))
    return {
        str(c): float(g.quantile(0.8) / training.NORMAL_80) for c, g in logs.groupby(np.array(rows.run.error_class))
    }


def write(values: dict[str, float], spread: dict[str, float], prior: Priors, classes: dict[str, float]) -> None:
    """Put the fitted figures into the catalogue's file; what no row informs stays the estimate that its prior is."""
    width = dict(zip(prior.names, prior.width, strict=True))
    lines = list(csv.DictReader(CONSTANTS.read_text().splitlines()))
    for line in lines:
        name = line["quantity"]
        if name in spread:
            informed = spread[name] < 0.95 * width[name]
            source, kind = (SOURCE, "fitted") if informed else (ESTIMATE, "estimate")
            line.update(value=f"{values[name]:.4g}", source=source, kind=kind, fit_error=f"{spread[name]:.2g}")
        error_of = name.removeprefix("held_out_error_")
        if error_of != name and error_of in classes:
            line.update(value=f"{classes[error_of]:.2g}", source=SOURCE, kind="fitted")
    with CONSTANTS.open("w", newline="") as file:
        writer = csv.DictWriter(file, lines[0].keys(), lineterminator="\n")
        writer.writeheader()
        writer.writerows(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--measurements", type=Path, required=True, help="folder of the measurement files")
    parser.add_argument("--write", action="store_true", help="put the fitted constants into the catalogue")
    parser.add_argument("--quick", action="store_true", help="do not leave families out")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    rows, prior = read(options.measurements), priors()
    values, spread = fit(rows, prior, np.full(len(rows.frame), True))
    for name, start, error in zip(prior.names, prior.value, spread, strict=True):
        print(f"{name:40} {start:9.4g} -> {values[name]:9.4g}  +- {error:.0%}")
    table(rows, rows.predicted(values), f"Fitted to all, {len(prior.names)} constants with priors")
    classes: dict[str, float] = {}
    if not options.quick:
        held = without_each(rows, prior)
        table(rows, held, "Each family by constants fitted without it")
        classes = class_errors(rows, held)
        print("held-out log error by class:", {k: round(v, 3) for k, v in classes.items()})
    if options.write:
        write(values, dict(zip(prior.names, spread, strict=True)), prior, classes)


if __name__ == "__main__":
    main()
