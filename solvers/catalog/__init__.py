"""Models, hardware, fleets, fabrics, prices, grids and precisions: every figure with its unit and its source."""

from solvers.catalog.catalog import Catalog, catalog
from solvers.catalog.entries import CatalogError, Entry, Figure, MissingFigure, Source
from solvers.catalog.names import AmbiguousName, UnknownName
from solvers.catalog.namespaces import Hardware, Models, Namespace, Systems

__all__ = [
    "AmbiguousName",
    "Catalog",
    "CatalogError",
    "Entry",
    "Figure",
    "Hardware",
    "MissingFigure",
    "Models",
    "Namespace",
    "Source",
    "Systems",
    "UnknownName",
    "catalog",
]
