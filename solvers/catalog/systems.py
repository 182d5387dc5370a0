"""Fleets: so many nodes of a kind, on a fabric. The rest follows from the node and the fabric."""

from __future__ import annotations

from typing import Protocol

from solvers.catalog.entries import Entry, Figure


class _Finder(Protocol):
    def find(self, kind: str, name: str) -> Entry: ...


def with_parts(fleets: dict[str, Entry], catalog: _Finder) -> dict[str, Entry]:
    """Fleets with the figures of their nodes and fabric beside their own."""
    return {name: _with_parts(fleet, catalog) for name, fleet in fleets.items()}


def _with_parts(fleet: Entry, catalog: _Finder) -> Entry:
    node = catalog.find("node", fleet.text("node"))
    fabric = catalog.find("fabric", fleet.text("fabric"))
    per_node, nodes = node.figures["accelerators_per_node"], fleet.figures["node_count"]
    count = nodes.value * per_node.value
    inherited = {
        "hardware": node.figures["hardware"],
        "accelerators_per_node": per_node,
        "n_accelerators": nodes._replace(
            quantity="n_accelerators", value=count, given_value=f"{count:g}", kind="derived"
        ),
        "nic_bandwidth": _share(node.figures["nic_bandwidth"], node.require("nic_count") / per_node.value),
        "fabric_latency": fabric.figures["latency"]._replace(quantity="fabric_latency"),
        "accelerator_mtbf": node.figures["accelerator_mtbf"],
        "oversubscription": fabric.figures["oversubscription"],
    }
    return Entry(fleet.kind, fleet.name, fleet.path, fleet.aliases, {**inherited, **fleet.figures})


def _share(port: Figure, ports_each: float) -> Figure:
    """The bandwidth of an accelerator's share of the node's ports."""
    return port._replace(
        value=port.value * ports_each, note=f"{port.note}; {ports_each:g} ports an accelerator".lstrip("; ")
    )
