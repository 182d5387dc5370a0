"""`Models.Language.Llama3_70B`: the catalogue's paths as attributes, for people at a prompt."""

from __future__ import annotations

from collections.abc import Iterator

from solvers.catalog.catalog import Catalog, catalog
from solvers.catalog.entries import Entry, near_names
from solvers.catalog.tables import TABLES


class Namespace:
    """A node of the path tree. Attributes are further nodes, or entries."""

    def __init__(self, prefix: str, source: Catalog = catalog) -> None:
        self._prefix = prefix
        self._source = source

    def __getattr__(self, name: str) -> Namespace | Entry:
        if name.startswith("__"):
            raise AttributeError(name)
        children = dir(self)
        if name in children:
            path = f"{self._prefix}.{name}"
            found = next((entry for entry in self if entry.path == path), None) or Namespace(path, self._source)
            self.__dict__[name] = found  # asked for once, it is found at once
            return found
        near = near_names(name, children)
        raise AttributeError(f"{self._prefix} has no {name}" + (f"; near: {near}" if near else ""))

    def __dir__(self) -> list[str]:
        return sorted({entry.path[len(self._prefix) + 1 :].split(".")[0] for entry in self})

    def __iter__(self) -> Iterator[Entry]:
        for table in TABLES.values():
            if table.root.startswith(self._prefix.split(".")[0]):
                yield from (e for e in self._source.entries(table.kind) if e.path.startswith(self._prefix + "."))

    def __repr__(self) -> str:
        return f"{self._prefix}: {', '.join(dir(self))}"


Models = Namespace("Models")
Hardware = Namespace("Hardware")
Systems = Namespace("Systems")
