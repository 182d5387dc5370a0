"""The summary in the terminal: what was asked, the plans to choose among, what binds, what fails, how sure it is."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from planner.figures import say
from planner.report import words
from planner.report.accuracy import how_sure
from planner.report.findings import Findings, Plan
from planner.report.provenance import Used
from planner.show import width

FAILURES_SHOWN = 8


def summary(found: Findings, used: list[Used], page: Path | None = None, columns: int = 0) -> Iterator[tuple[str, str]]:
    """The summary, line by line: a style (`title`, `head`, `plain`, `dim`) and the line.

    Args:
        found: what the run found.
        used: the catalogue figures that it rests on.
        page: where the page lies, if it was written.
        columns: the terminal's width, to which sentences are wrapped; 0 wraps nothing.
    """
    record = found.record
    yield "title", record.study.title
    if record.study.question:
        yield from _wrapped(record.study.question, columns)
    yield "plain", counts(found)
    for plan in found.plans:
        yield "plain", ""
        yield from _plan(plan, columns)
    if not found.plans:
        yield "plain", ""
        yield "head", "No plan is feasible"
        if found.nearest:
            yield from _wrapped(f"The nearest miss is {found.nearest}.", columns, "  ")
    yield from _binding(found, columns)
    yield from _failures(found, columns)
    if found.relaxations:
        yield "plain", ""
        yield "head", "What a relaxed constraint is worth"
        for relaxed in found.relaxations:
            yield from _wrapped(f"without {relaxed.constraint}: {'; '.join(relaxed.gains)}", columns, "  ")
    yield from _sources(found, used, columns)
    yield "plain", ""
    if page is not None:
        yield "plain", f"page:     {page}"
    if found.plans:
        yield "plain", f"one plan: planner explain {record.path} {found.plans[0].trial}"


def counts(found: Findings) -> str:
    """How many plans were tried, how many fit, how many are on the front, and how fast that went."""
    record, info = found.record, found.record.info
    parts = [f"{record.trials:,} plans tried"]
    if info.get("state") != "done":
        parts.append(f"not at its end ({info.get('state')})")
    distinct = info.get("distinct")
    if isinstance(distinct, int) and distinct != record.trials:
        parts.append(f"{distinct:,} distinct")
    parts += [
        f"{record.feasible:,} feasible",
        f"{record.trials - record.feasible:,} not",
        f"{len(record.front):,} that nothing beats",
    ]
    seconds, rate = info.get("timings", {}).get("total"), info.get("rate")
    if seconds and rate:
        parts.append(f"{say(float(seconds), 's')} ({rate:,.0f} a second)")
    return ", ".join(parts)


def _plan(plan: Plan, columns: int) -> Iterator[tuple[str, str]]:
    yield "head", f"{plan.role}: {plan.name}"
    room = max(width(name) for name, _, _ in plan.figures)
    values = max(width(value) for _, value, _ in plan.figures)
    for name, value, compared in plan.figures:
        gap = " " * (room - width(name))
        yield "plain", f"  {name}{gap}   {' ' * (values - width(value))}{value}   {compared}".rstrip()
    if plan.details:
        yield from _wrapped("; ".join(f"{name} {value}" for name, value in plan.details[:6]), columns, "  ", "dim")
    for what in plan.binds:
        yield from _wrapped(f"bound by: {what}", columns, "  ")
    yield "dim", f"  trial {plan.trial}"


def _binding(found: Findings, columns: int) -> Iterator[tuple[str, str]]:
    lines = []
    total = sum(count for _, count in found.bottlenecks)
    if found.bottlenecks:
        lines.append(
            "bottleneck of the plans that nothing beats: "
            + ", ".join(f"{n} {words.share(c / total)}" for n, c in found.bottlenecks)
        )
    for text, least, most in found.slack:
        spread = (
            words.share(least)
            if words.share(least) == words.share(most)
            else f"{words.share(least)} to {words.share(most)}"
        )
        lines.append(f"{text}: {spread} to spare")
    if lines:
        yield "plain", ""
        yield "head", "What binds"
    for line in lines:
        yield from _wrapped(line, columns, "  ")


def _failures(found: Findings, columns: int) -> Iterator[tuple[str, str]]:
    if not found.failures:
        return
    record = found.record
    yield "plain", ""
    yield "head", f"Why {record.trials - record.feasible:,} plans are not feasible (a plan may have several reasons)"
    room = max(len(f"{f.trials:,}") for f in found.failures)
    for failure in found.failures[:FAILURES_SHOWN]:
        said = ". ".join(p.rstrip(".") for p in (failure.sentence, failure.remedy) if p)
        yield from _wrapped(
            f"{failure.trials:>{room},}  {failure.name}. {said}.".replace("..", "."), columns, "  ", hang=room + 2
        )
    if len(found.failures) > FAILURES_SHOWN:
        yield "dim", f"  and {len(found.failures) - FAILURES_SHOWN} more reasons (on the page)"


def _sources(found: Findings, used: list[Used], columns: int) -> Iterator[tuple[str, str]]:
    yield "plain", ""
    yield "head", "What it rests on"
    kinds = Counter(u.how for u in used)
    entries = dict.fromkeys(u.entry for u in used if u.kind in ("model", "hardware", "fleet"))
    if used:
        said = ", ".join(f"{count} {kind}" for kind, count in kinds.most_common())
        yield from _wrapped(f"{len(used)} catalogue figures ({said}) of {', '.join(entries)}", columns, "  ")
    prices = [u for u in used if u.quantity == f"price_per_hour_{terms_of(found)}"]
    if prices:
        said = ", ".join(f"{u.entry} {u.said}" for u in prices)
        yield from _wrapped(f"prices ({terms_of(found).replace('_', ' ')}): {said}", columns, "  ")
    estimates = dict.fromkeys(f"{u.quantity.replace('_', ' ')} of {u.entry}" for u in used if u.estimate)
    if estimates:
        yield from _wrapped(
            f"estimates among them: {', '.join(list(estimates)[:6])}{' ...' if len(estimates) > 6 else ''}",
            columns,
            "  ",
        )
    for line in how_sure(found.record.study.solvers, brief=True):
        yield from _wrapped(line, columns, "  ")


def terms_of(found: Findings) -> str:
    """The terms on which accelerators are had, where one is fixed."""
    menu = found.record.study.problem.menus.get("terms", ())
    return str(menu[0].name) if len(menu) == 1 else "on_demand"


def _wrapped(
    text: str, columns: int, indent: str = "", style: str = "plain", hang: int = 0
) -> Iterator[tuple[str, str]]:
    if columns <= 0:
        yield style, indent + text
        return
    rest = indent + " " * hang
    lines = textwrap.wrap(
        text, columns, initial_indent=indent, subsequent_indent=rest, break_long_words=False, break_on_hyphens=False
    )
    for line in lines or [indent]:
        yield style, line
