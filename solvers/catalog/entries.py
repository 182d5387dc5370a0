"""What the catalogue holds: figures with their sources, gathered into entries."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple


class CatalogError(ValueError):
    """Something is wrong with a catalogue file, a name, or a figure asked for."""


class MissingFigure(CatalogError):
    """A figure that nobody has: it is absent, and never taken to be 0."""


class Source(NamedTuple):
    """Where figures come from."""

    key: str
    title: str
    locator: str
    date: str
    kind: str


class Figure(NamedTuple):
    """One figure of one entry, in SI and as it was given."""

    quantity: str
    value: Any
    unit: str
    given_value: str
    given_unit: str
    source: str
    note: str = ""
    kind: str = ""
    confidence: str = ""


@dataclass(frozen=True, eq=False, repr=False)
class Entry:
    """A model, an accelerator, a fleet, ...: a name and its figures.

    `entry.get(quantity)` gives a float in SI, or None; an attribute of that name gives a quantity with its unit.
    """

    kind: str
    name: str
    path: str
    aliases: tuple[str, ...] = ()
    figures: Mapping[str, Figure] = field(default_factory=dict)

    def get(self, quantity: str) -> float | None:
        """The figure in SI, or None where it is absent or a word."""
        figure = self.figures.get(quantity)
        return None if figure is None or isinstance(figure.value, str) else figure.value

    def text(self, quantity: str, default: str = "") -> str:
        """A figure that is a word (`family`, `accelerator`, ...)."""
        figure = self.figures.get(quantity)
        return default if figure is None else str(figure.value)

    def require(self, quantity: str) -> float:
        """The figure in SI.

        Raises:
            MissingFigure: nobody has it; the message says how to supply it.
        """
        value = self.get(quantity)
        if value is None:
            raise MissingFigure(self._absent(quantity))
        return value

    def replace(self, name: str | None = None, **figures: Any) -> Entry:
        """A derived entry, in which the given figures are recorded as given.

        Args:
            name: of the derived entry; its own where none is given.
            **figures: numbers in SI, quantities, or text such as `"4 TB/s"`.

        Raises:
            CatalogError: no entry of this kind has such a figure, or the value cannot be read.
        """
        from solvers.catalog.overrides import changed

        return changed(self, self.kind, name or self.name, figures)

    def __getattr__(self, quantity: str) -> Any:
        if quantity.startswith("_") or quantity == "figures":
            raise AttributeError(quantity)
        figure = self.figures.get(quantity)
        if figure is None:
            raise AttributeError(self._absent(quantity))
        if figure.unit in ("text", "date"):
            return figure.value
        from solvers.units import dressed

        return dressed(figure.value, "" if figure.unit == "bool" else figure.unit)

    def __repr__(self) -> str:
        return f"<{self.kind} {self.name}>"

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *self.figures})

    def _absent(self, quantity: str) -> str:
        near = near_names(quantity, self.figures)
        hint = f" (did you mean {near}?)" if near else ""
        return (
            f"the catalogue has no {quantity} for the {self.kind} {self.name}{hint}; supply it in a study as "
            f"catalog: {{{self.kind}: {{{self.name}: {{{quantity}: ...}}}}}}, or in Python with "
            f".replace({quantity}=...)"
        )


def near_names(name: str, known: Any, count: int = 5) -> str:
    """The names most like this one, joined by commas ('' where none is near)."""
    by_lower = {str(k).lower(): str(k) for k in known}
    close = difflib.get_close_matches(name.lower(), list(by_lower), n=count, cutoff=0.5)
    return ", ".join(by_lower[c] for c in close)
