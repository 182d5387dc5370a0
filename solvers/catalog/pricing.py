"""Prices by the hour, folded into the accelerators they are for."""

from __future__ import annotations

from collections.abc import Mapping

from solvers.catalog.entries import Entry, Figure

DEFAULT_TERMS = "on_demand"
"""The terms that `price_per_hour` means where nobody says otherwise."""


def with_prices(hardware: dict[str, Entry], prices: Mapping[str, Entry]) -> dict[str, Entry]:
    """Accelerators with `price_per_hour_<terms>` from the price marked as representative, and `price_per_hour`.

    A chip that nobody prices gets none.
    """
    chosen: dict[str, dict[str, Figure]] = {}
    for price in prices.values():
        if not price.get("representative"):
            continue
        terms, figure = price.text("terms"), price.figures["price_per_hour"]
        note = ", ".join(p for p in (price.text("provider"), price.text("region"), price.text("date")) if p)
        figures = chosen.setdefault(price.text("hardware"), {})
        for quantity in (f"price_per_hour_{terms}", *(["price_per_hour"] if terms == DEFAULT_TERMS else [])):
            figures[quantity] = figure._replace(quantity=quantity, note=f"{terms}: {note}; {figure.note}".rstrip("; "))
    return {
        name: Entry(e.kind, e.name, e.path, e.aliases, {**e.figures, **chosen[name]}) if name in chosen else e
        for name, e in hardware.items()
    }


def priced(given: dict[str, Figure]) -> dict[str, Figure]:
    """Given figures in which a price without terms is the price on the default terms."""
    named = f"price_per_hour_{DEFAULT_TERMS}"
    if "price_per_hour" in given and named not in given:
        return {**given, named: given["price_per_hour"]._replace(quantity=named)}
    if named in given:
        return {**given, "price_per_hour": given[named]._replace(quantity="price_per_hour")}
    return given
