"""The catalogue: entries by kind and name, read from the data files when first asked for."""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from solvers.catalog.calibration import read_constants
from solvers.catalog.entries import CatalogError, Entry, Source, near_names
from solvers.catalog.loader import DATA, Names, read_entries, read_names, read_sources
from solvers.catalog.names import NameIndex, UnknownName
from solvers.catalog.overrides import GIVEN, changed
from solvers.catalog.pricing import with_prices
from solvers.catalog.systems import with_parts
from solvers.catalog.tables import TABLES


class Catalog:
    """Models, hardware, fleets, prices, grids, precisions and constants: each figure with its source."""

    def __init__(self, folder: Path = DATA, extra: Mapping[tuple[str, str], Entry] | None = None) -> None:
        self._folder = folder
        self._extra = dict(extra or {})

    def find(self, kind: str, name: str) -> Entry:
        """The entry of a kind that a name, alias, path or form of it means.

        Raises:
            UnknownName: none, with near names.
            AmbiguousName: several, listed.
        """
        return self._index(_known_kind(kind)).find(name)

    def entries(self, kind: str) -> list[Entry]:
        """All entries of a kind, in the order of their file."""
        return list(self._entries(_known_kind(kind)).values())

    def source(self, key: str) -> Source:
        """The source that a figure names: a row of the sources, or (for models) the citation itself."""
        if key == GIVEN:
            return Source(GIVEN, "given by the user", "study or call", "", "given")
        return self._sources.get(key) or Source(key, key, key, "", "citation")

    def digest(self) -> str:
        """A hash of every figure in use: equal digests mean equal catalogues."""
        made = hashlib.sha256()
        for file in sorted(self._folder.glob("*.csv")):
            made.update(file.name.encode() + b"\0" + file.read_bytes().replace(b"\r\n", b"\n"))
        for key, entry in sorted(self._extra.items()):
            made.update(repr((key, sorted((f.quantity, f.value) for f in entry.figures.values()))).encode())
        return made.hexdigest()[:16]

    def with_overrides(self, overrides: Mapping[str, Mapping[str, Mapping[str, Any]]]) -> Catalog:
        """A catalogue with figures overridden and entries added; this one stays as it is.

        Args:
            overrides: by kind and name, the figures given. `based_on` names the entry that a new one derives from.

        Raises:
            CatalogError: with every unknown kind, figure and unreadable value.
        """
        extra, complaints = dict(self._extra), []
        for kind, named in overrides.items():
            try:
                kind = _known_kind(kind)
            except CatalogError as problem:
                complaints.append(str(problem))
                continue
            for name, given in named.items():
                try:
                    entry = self._overridden(kind, str(name), given)
                    extra[(kind, entry.name)] = entry
                except CatalogError as problem:
                    complaints.append(str(problem))
        if complaints:
            raise CatalogError("\n".join(complaints))
        return Catalog(self._folder, extra)

    def with_entries(self, *entries: Entry) -> Catalog:
        """A catalogue with entries added or replaced."""
        return Catalog(self._folder, {**self._extra, **{(e.kind, e.name): e for e in entries}})

    def _overridden(self, kind: str, name: str, given: Any) -> Entry:
        if not isinstance(given, Mapping):
            raise CatalogError(f"{kind} {name}: figures by name are due, not {given!r}")
        if kind == "constant":
            raise CatalogError(f"constant {name}: give it as a parameter of its solver, among the study's fixed values")
        values = {str(k): v for k, v in given.items()}
        based_on = values.pop("based_on", None)
        if based_on is not None:
            return changed(self.find(kind, str(based_on)), kind, name, values)
        meant = self._meant(kind, name)
        return changed(meant, kind, meant.name if meant else name, values)

    def _meant(self, kind: str, name: str) -> Entry | None:
        try:
            return self.find(kind, name)
        except UnknownName:
            return None

    @functools.cached_property
    def _sources(self) -> dict[str, Source]:
        return read_sources(self._folder)

    @functools.cached_property
    def _names(self) -> Names:
        return read_names(self._folder)

    @functools.cache  # noqa: B019 - catalogues are few and live as long as the process
    def _entries(self, kind: str) -> dict[str, Entry]:
        if kind == "constant":
            return read_constants(self._folder)
        entries = read_entries(self._folder, TABLES[kind], self._sources, self._names)
        if kind == "hardware":
            entries = with_prices(entries, self._entries("price"))
        if kind == "fleet":
            entries = with_parts(entries, self)
        return entries | {name: e for (k, name), e in self._extra.items() if k == kind}

    @functools.cache  # noqa: B019
    def _index(self, kind: str) -> NameIndex:
        return NameIndex(kind, self._entries(kind).values())


def _known_kind(kind: str) -> str:
    for known in (kind, kind.removesuffix("s")):
        if known in TABLES:
            return known
    raise CatalogError(f"the catalogue holds no {kind!r}; it holds {near_names(kind, TABLES) or ', '.join(TABLES)}")


catalog = Catalog()
"""The catalogue that ships with the package."""
