"""Fit what the host adds to speculative decoding, and what methods usually accept, to published speed-ups.

    python benchmarks/fit_speculation.py --measurements FOLDER [--write]

FOLDER holds `speculative_decoding.csv`. Prints errors in-sample, with each source left out, and with each method left
out; `--write` puts the fitted values into the catalogue. Every constant is held near its prior in the
logarithm, so that what the rows do not tell stays where it is.
"""

from __future__ import annotations

import argparse
import csv
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.optimize import least_squares

from planner.validation.speculation import accepted_tokens, cycles, passes, usual_tokens
from planner.validation.speculation_rows import read_rows
from solvers.catalog import catalog
from solvers.lowering.constants import constants

CONSTANTS = Path(__file__).parents[1] / "solvers" / "catalog" / "data" / "speculation_constants.csv"
PRIORS = {
    "miss_growth": 1.08, "eager_kernel_time": 4e-5, "eager_step_time": 2e-3, "eager_loop_time": 3e-3,
    "eager_draft_time": 5e-4, "eager_cycle_time": 2e-3, "eager_verified_token_time": 5e-5, "served_draft_time": 1e-4,
    "served_cycle_time": 4e-4, "served_verified_token_time": 2e-5, "compiled_kernel_time": 2e-6, "snapshot_passes": 4.0,
    "additive_share": 0.7, "recurrence_time": 1e-5,
    "acceptance_samd": 0.75, "acceptance_p_eagle": 0.8, "acceptance_eagle_3": 0.8, "acceptance_eagle_2": 0.75,
    "acceptance_eagle_1": 0.7, "acceptance_hydra_2": 0.7, "acceptance_hydra": 0.65, "acceptance_medusa": 0.6,
    "acceptance_block": 0.8, "acceptance_mtp": 0.8, "acceptance_recycling": 0.6, "acceptance_rest": 0.4,
    "acceptance_lookahead": 0.4, "acceptance_n_gram": 0.45, "acceptance_draft_model": 0.7,
    "ease_written_translation": 0.85, "ease_written_summary": 0.95, "ease_written_retrieval": 0.85,
    "ease_written_question": 0.95, "ease_written_math": 1.2, "ease_written_chat": 1.1, "ease_written_code": 1.2,
    "ease_copied_translation": 0.4, "ease_copied_summary": 1.9, "ease_copied_retrieval": 1.0,
    "ease_copied_question": 0.6, "ease_copied_math": 1.1, "ease_copied_chat": 1.1, "ease_copied_code": 1.2,
}  # fmt: skip
"""What one would guess before the fit: launch and host times of PyTorch, acceptances as papers state them."""
TIMES, RATES, SPEED_ERROR, LENGTH_ERROR = 0.5, 0.12, 0.1, 0.15
"""Standard deviations of the priors of times and of rates, and of a row's speed-up and accepted length (logarithms)."""


class Fit:
    """Rows, and the constants that are free."""

    def __init__(self, frame: pd.DataFrame) -> None:
        numbers = ["gamma_num_spec_tokens", "acceptance_rate_alpha", "accepted_len_tau", "batch", "speedup"]
        frame = frame.assign(
            **{n: pd.to_numeric(frame[n].astype(str).str.extract(r"^\s*(\d+\.?\d*)")[0]) for n in numbers}
        )
        loaded = frame["workload"].notna() & frame["batch"].isna() & frame["speedup"].notna()
        frame = frame[~loaded].reset_index(drop=True)
        rows = read_rows(frame, catalog)
        usable = frame["speedup"].notna().to_numpy() & (rows.refusal == "")
        self.frame = frame[usable].reset_index(drop=True)
        self.rows = read_rows(self.frame, catalog)
        known = constants("speculation")
        self.prior = {name: c.value for name, c in known.items()} | PRIORS
        self.free = list(PRIORS)
        self.width = np.array([RATES if n.startswith(("acceptance", "ease", "miss")) else TIMES for n in self.free])
        self.steps = passes(self.rows, self.prior)
        group = self.frame.groupby(["source", "method"])["id"].transform("size")
        self.weight = 1.0 / np.sqrt(group.to_numpy(float))

    def figures(self, moved: np.ndarray) -> dict[str, float]:
        made = self.prior | {n: self.prior[n] * float(np.exp(v)) for n, v in zip(self.free, moved, strict=True)}
        return {n: min(v, 0.98) if n.startswith("acceptance") else v for n, v in made.items()}

    def speed_errors(self, figures: dict[str, float]) -> np.ndarray:
        tokens = accepted_tokens(self.frame, self.rows, figures)
        return np.log(cycles(self.rows, self.steps, tokens, figures).speedup / self.frame["speedup"].to_numpy(float))

    def length_errors(self, figures: dict[str, float]) -> np.ndarray:
        own = self.frame["accepted_len_tau"].to_numpy(float)
        usual = usual_tokens(self.rows, figures, np.full(len(own), np.nan))
        return np.where(np.isfinite(own), np.log(usual / np.where(np.isfinite(own), own, 1.0)), 0.0)

    def fitted(self, taken: np.ndarray) -> dict[str, float]:
        def loss(moved: np.ndarray) -> np.ndarray:
            figures = self.figures(moved)
            speed = self.weight * self.speed_errors(figures) / SPEED_ERROR
            length = self.weight * self.length_errors(figures) / LENGTH_ERROR
            return np.concatenate([speed[taken], length[taken], moved / self.width])

        return self.figures(least_squares(loss, np.zeros(len(self.free)), loss="soft_l1").x)

    def left_out(self, by: str) -> np.ndarray:
        found = np.full(len(self.frame), np.nan)
        for name in self.frame[by].unique():
            out = (self.frame[by] == name).to_numpy()
            found[out] = self.speed_errors(self.fitted(~out))[out]
        return found

    def report(self, title: str, errors: np.ndarray) -> None:
        off = np.abs(np.exp(errors) - 1)
        measured = np.log(self.frame["speedup"].to_numpy(float))
        side = np.mean(((errors + measured) >= 0) == (measured >= 0))
        cells = pd.Series(off).groupby(self.frame["method"]).median()
        print(
            f"{title}: median {np.median(off):.1%}, over methods {cells.median():.1%}, p90 {np.quantile(off, 0.9):.1%}"
        )
        print(f"    right side of 1 {side:.1%}, bias {np.median(errors):+.3f}")
        table = pd.DataFrame({"source": self.frame["source"], "error": off, "bias": errors})
        print(
            table.groupby("source")
            .agg(error=("error", "median"), bias=("bias", "median"), rows=("bias", "size"))
            .round(3)
        )


def write(figures: dict[str, float], error: float) -> None:
    """The fitted values, in place."""
    with CONSTANTS.open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    for row in rows:
        if row["quantity"] in (*PRIORS, "speedup_error"):
            row["value"] = f"{error if row['quantity'] == 'speedup_error' else figures[row['quantity']]:.3g}"
    with CONSTANTS.open("w", encoding="utf-8", newline="") as file:
        table = csv.DictWriter(file, rows[0], lineterminator="\n")
        table.writeheader()
        table.writerows(rows)


def main() -> None:
    """Fit, report, and write where asked to."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--measurements", type=Path, required=True)
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--quick", action="store_true", help="do not leave anything out")
    args = parser.parse_args()
    fit = Fit(pd.read_csv(args.measurements / "speculative_decoding.csv"))
    fit.report("before", fit.speed_errors(fit.prior))
    figures = fit.fitted(np.ones(len(fit.frame), bool))
    fit.report("in-sample", fit.speed_errors(figures))
    error = 0.0
    if not args.quick:
        by_source, by_method = fit.left_out("source"), fit.left_out("method")
        fit.report("source left out", by_source)
        fit.report("method left out", by_method)
        error = float(np.median(np.abs(by_source)) / 0.6745)
    for name in fit.free:
        print(f"{name:32s} {fit.prior[name]:10.4g} -> {figures[name]:.4g}")
    if args.write:
        write(figures, error or fit.prior["speedup_error"])


if __name__ == "__main__":
    main()
