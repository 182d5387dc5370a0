"""`planner catalog`: the figures and where they come from."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from planner.cli.output import echo_json, echo_table, heading

if TYPE_CHECKING:
    from solvers.catalog import Catalog, Entry, Figure


@click.command("catalog", epilog="Example: planner catalog hardware H100")
@click.argument("kind", required=False)
@click.argument("name", required=False)
@click.option("--json", "as_json", is_flag=True, help="Print as JSON, figures in stated units.")
def command(kind: str | None, name: str | None, as_json: bool) -> None:
    """Show the kinds of entries, the entries of a KIND, or every figure of the one called NAME.

    Each figure comes with its source, how it came about (data sheet, paper, measured, derived, estimate), and a note.
    """
    from solvers.catalog import catalog

    if kind is None:
        _kinds(catalog, as_json)
    elif name is None:
        _entries(catalog, kind, as_json)
    else:
        _entry(catalog, catalog.find(kind.lower(), name), as_json)


def _kinds(catalog: Catalog, as_json: bool) -> None:
    from solvers.catalog.tables import TABLES

    counts = {kind: len(catalog.entries(kind)) for kind in TABLES}
    if as_json:
        echo_json({"digest": catalog.digest(), "kinds": counts})
        return
    rows = [[kind, count, ", ".join(e.name for e in catalog.entries(kind)[:4])] for kind, count in counts.items()]
    echo_table(["kind", "entries", "such as"], rows)
    click.echo("\nAll of a kind: planner catalog hardware.  One entry, with sources: planner catalog hardware H100.")


def _entries(catalog: Catalog, kind: str, as_json: bool) -> None:
    entries = catalog.entries(kind.lower())
    if as_json:
        echo_json([{"name": e.name, "path": e.path, "aliases": list(e.aliases), "figures": _bare(e)} for e in entries])
        return
    shown = _KEY_FIGURES.get(entries[0].kind if entries else "", ())
    rows = [[e.name, *(_said(e, q) for q in shown), e.path] for e in entries]
    echo_table(["name", *(q.replace("_", " ") for q in shown), "path"], rows)


_KEY_FIGURES = {
    "model": ("params_total", "params_active", "layers", "hidden", "max_context"),
    "hardware": ("memory_capacity", "memory_bandwidth", "peak_flops_bf16", "link_bandwidth", "tdp", "price_per_hour"),
    "node": ("hardware", "accelerators_per_node", "nic_bandwidth"),
    "fabric": ("bandwidth", "latency"),
    "fleet": ("hardware", "n_accelerators", "nic_bandwidth"),
    "price": ("hardware", "terms", "provider", "price_per_hour", "date"),
    "grid": ("carbon_intensity", "electricity_price", "pue"),
    "precision": ("compute", "weight", "activation"),
    "constant": ("value",),
}
"""What a list of entries shows of each; everything stands under its name."""


def _said(entry: Entry, quantity: str) -> str:
    from planner.figures import say

    figure = entry.figures.get(quantity)
    if figure is None:
        return "–"
    return figure.given_value if quantity.endswith("year") else say(figure.value, figure.unit)


def _as_given(figure: Figure) -> str:
    return f"{figure.given_value} {'' if figure.given_unit in _UNSPOKEN else figure.given_unit}".strip()


_UNSPOKEN = ("text", "count", "flag", "date")


def _bare(entry: Entry) -> dict[str, dict[str, Any]]:
    return {q: {"value": f.value, "unit": f.unit} for q, f in entry.figures.items()}


def _entry(catalog: Catalog, entry: Entry, as_json: bool) -> None:
    sources = {f.source: catalog.source(f.source) for f in entry.figures.values()}
    if as_json:
        figures = {
            q: {
                "value": f.value, "unit": f.unit, "given": _as_given(f), "kind": f.kind,
                "source": f.source, "note": f.note, "confidence": f.confidence,
            }
            for q, f in entry.figures.items()
        }  # fmt: skip
        cited = {key: s._asdict() for key, s in sources.items()}
        echo_json(
            {
                "kind": entry.kind,
                "name": entry.name,
                "path": entry.path,
                "aliases": list(entry.aliases),
                "figures": figures,
            }
            | {"sources": cited}
        )
        return
    heading(f"{entry.name}  ({entry.kind})")
    if entry.path:
        click.echo(f"path {entry.path}" + (f"; also {', '.join(entry.aliases)}" if entry.aliases else ""))
    numbers = {key: number for number, key in enumerate(sources, 1)}
    notes = {f.note for f in entry.figures.values()}
    shared = notes.pop() if len(notes) == 1 else ""
    rows = [
        [q, _said(entry, q), _as_given(f), f.kind, f"[{numbers[f.source]}]", "" if shared else f.note]
        for q, f in entry.figures.items()
    ]
    echo_table(["figure", "value", "as given", "kind", "source", "note"], rows)
    if shared:
        click.echo(f"\nnote: {shared}")
    click.echo()
    for key, source in sources.items():
        words = dict.fromkeys(w for w in (source.title, source.locator, source.date) if w)
        click.echo(f"[{numbers[key]}] {', '.join(words)}")
