"""What people read: the summary in the terminal, the page, and the account of one plan.

All of them say what `findings` found; nothing here runs a search.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from planner.report.findings import Findings
    from planner.report.provenance import Used
    from planner.study import Study


@dataclass(frozen=True)
class Report:
    """What a run found, the catalogue figures that it rests on, and where its page lies."""

    findings: Findings
    used: list[Used]
    path: Path | None = None


def read_report(run: str | Path, study: Study | None = None) -> Report:
    """What a run found, from its folder; `study` is what it answers, where that is loaded already.

    Raises:
        InvalidInput: the folder holds no run.
    """
    from planner.report.findings import find
    from planner.report.provenance import used_figures
    from planner.report.record import read_run

    record = read_run(run, study)
    return Report(find(record), used_figures(record.study))


def write_report(run: str | Path, path: str | Path, study: Study | None = None) -> Report:
    """Write a run's page, one self-contained file that opens offline.

    Raises:
        InvalidInput: the folder holds no run.
        OSError: the page cannot be written there.
    """
    from planner.report.page import write_page

    made = read_report(run, study)
    write_page(made.findings, made.used, Path(path))
    return Report(made.findings, made.used, Path(path))
