"""Figures that are often wrong elsewhere, and what must hold of every chip."""

from __future__ import annotations

import math

import pytest

from solvers.catalog import Entry, catalog

GIB = 2.0**30
ALL = catalog.entries("hardware")


def _of(name: str) -> Entry:
    return catalog.find("hardware", name)


@pytest.mark.parametrize(
    ("chip", "figure", "value"),
    [
        ("A100", "peak_flops_bf16", 312e12),  # NVIDIA A100 data sheet, dense
        ("H100", "peak_flops_fp16", 989.4e12),  # H100 data sheet prints 1,979 with sparsity
        ("H100", "peak_flops_fp8", 1979e12),
        ("H200", "memory_bandwidth", 4.8e12),
        ("B200", "peak_flops_nvfp4", 9000e12),
        ("GB200", "peak_flops_fp8", 5000e12),
        ("MI300X", "peak_flops_bf16", 1307.4e12),
        ("MI355X", "peak_flops_mxfp4", 10066e12),
        ("TPU-v5p", "peak_flops_bf16", 459e12),
        ("RTX4090", "peak_flops_fp16", 165.2e12),  # half of the FP16-accumulate rate
        ("H100", "link_bandwidth", 450e9),  # 900 on the sheet is both directions
        ("A100", "link_bandwidth", 300e9),
        ("MI300X", "peer_bandwidth", 64e9),
        ("L40S", "tdp", 350.0),
    ],
)
def test_a_figure_with_a_trap(chip: str, figure: str, value: float) -> None:
    assert _of(chip).get(figure) == pytest.approx(value, rel=1e-3)


@pytest.mark.parametrize(
    ("chip", "arithmetic"),
    [("A100", "fp8"), ("V100", "bf16"), ("V100", "int8"), ("H100", "int4"), ("H100", "nvfp4"), ("MI300X", "nvfp4"),
     ("MI355X", "nvfp4"), ("TPU-v4", "fp8"), ("RTX3090", "fp8"), ("T4", "bf16")],
)  # fmt: skip
def test_a_chip_lacks_an_arithmetic(chip: str, arithmetic: str) -> None:
    assert _of(chip).get(f"peak_flops_{arithmetic}") is None


@pytest.mark.parametrize("chip", ALL, ids=lambda e: e.name)
def test_every_chip_holds_together(chip: Entry) -> None:
    assert 0.5 * chip.require("memory_capacity") < chip.require("usable_memory") <= chip.require("memory_capacity")
    assert chip.require("memory_bandwidth") > 0
    assert any(q.startswith("peak_flops_") for q in chip.figures)
    assert all(f.value > 0 for f in chip.figures.values() if isinstance(f.value, float))
    if chip.get("link_bandwidth"):
        assert chip.require("link_domain") > 1
    for figure in chip.figures.values():
        assert figure.kind != "estimate" or figure.note or figure.unit == "text"


def test_enough_kinds_of_chip() -> None:
    assert len(ALL) >= 90
    assert len(catalog.entries("model")) >= 300


@pytest.mark.parametrize("chip", ["A100", "H100"])
def test_the_storage_of_the_usual_node_is_known_for_the_chips_of_the_experiments(chip: str) -> None:
    assert _of(chip).require("storage_bandwidth") >= 1e9


def test_storage_is_absent_where_nobody_says() -> None:
    assert _of("RTX4090").get("storage_bandwidth") is None


@pytest.mark.parametrize(("chip", "gib"), [("H100", 79.18), ("A100", 79.25), ("B200", 178.35), ("L40S", 44.99)])
def test_usable_memory_as_drivers_report_it(chip: str, gib: float) -> None:
    assert _of(chip).require("usable_memory") / GIB == pytest.approx(gib, abs=0.01)


def test_a_price_names_its_provider_and_date_and_terms_differ() -> None:
    h100 = _of("H100")
    assert "2026-05" in h100.figures["price_per_hour"].note
    assert h100.require("price_per_hour") == h100.require("price_per_hour_on_demand")
    assert h100.require("price_per_hour_spot") < h100.require("price_per_hour_on_demand")


def test_one_representative_price_for_each_chip_and_terms() -> None:
    chosen = [(p.text("hardware"), p.text("terms")) for p in catalog.entries("price") if p.get("representative")]
    assert len(chosen) == len(set(chosen))
    assert {t for _, t in chosen} == {"on_demand", "reserved", "spot", "owned"}


def test_frontier_8k_has_a_port_for_each_accelerator() -> None:
    fleet = catalog.find("fleet", "Frontier_8K")
    assert fleet.text("hardware") == "H100-SXM"
    assert fleet.get("n_accelerators") == 8192
    assert fleet.get("accelerators_per_node") == 8
    assert fleet.get("nic_bandwidth") == 50e9  # 400 Gb/s, one direction


@pytest.mark.parametrize("hardware", ["A100", "H100", "H200", "B200", "GB200", "MI300X", "TPU-v5p"])
def test_fleets_reach_from_a_node_to_a_hundred_thousand(hardware: str) -> None:
    name = _of(hardware).name
    sizes = [f.require("n_accelerators") for f in catalog.entries("fleet") if f.text("hardware") == name]
    assert min(sizes) <= 8
    assert max(sizes) >= 100_000


def test_every_fleet_is_made_of_known_parts() -> None:
    for fleet in catalog.entries("fleet"):
        catalog.find("hardware", fleet.text("hardware"))
        per_node, nodes = fleet.require("accelerators_per_node"), fleet.require("node_count")
        assert fleet.require("n_accelerators") == per_node * nodes
        assert fleet.require("nic_bandwidth") > 0
        assert fleet.require("fabric_latency") > 0


def test_reliability_as_llama_3_reports_it() -> None:
    """419 unexpected interruptions in 54 days on 16,384 H100 (arXiv:2407.21783, table 5)."""
    mtbf = catalog.find("fleet", "Frontier_8K").require("accelerator_mtbf")
    assert 54 * 86400 * 16384 / mtbf == pytest.approx(419, rel=0.01)


def test_the_default_region_has_all_that_a_grid_needs() -> None:
    usa = catalog.find("grid", "United States")
    assert usa.require("carbon_intensity") * 3.6e6 == pytest.approx(369.5, abs=0.1)
    assert 0.03 < usa.require("electricity_price") * 3.6e6 < 0.3
    assert 1.0 < usa.require("pue") < 2.0


@pytest.mark.parametrize("grid", catalog.entries("grid"), ids=lambda e: e.name)
def test_every_grid_is_plausible(grid: Entry) -> None:
    assert 0 <= grid.require("carbon_intensity") * 3.6e6 < 1100
    assert 1.0 <= grid.require("pue") < 2.0


@pytest.mark.parametrize(
    ("precision", "bits"),
    [("bf16", 16), ("fp8", 8), ("mxfp8", 8.25), ("nvfp4", 4.5), ("mxfp4", 4.25), ("w4a16", 4.15625), ("q4_0", 4.5),
     ("q4_k_m", 4.8944), ("q8_0", 8.5008)],
)  # fmt: skip
def test_stored_bits_with_their_scales(precision: str, bits: float) -> None:
    assert catalog.find("precision", precision).require("weight") == pytest.approx(bits / 8)


def test_no_figure_is_nan() -> None:
    for kind in ("model", "hardware", "fleet", "grid", "precision"):
        for entry in catalog.entries(kind):
            assert not any(isinstance(f.value, float) and math.isnan(f.value) for f in entry.figures.values())
