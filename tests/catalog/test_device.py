"""A chip in a precision as a complete record."""

from __future__ import annotations

import dataclasses
import math

import pytest

from solvers.catalog import Entry, catalog
from solvers.lowering.device import device_row
from solvers.records import Device


def _row(hardware: str, precision: str) -> dict[str, float]:
    return device_row(catalog.find("hardware", hardware), catalog.find("precision", precision))


@pytest.mark.parametrize("chip", catalog.entries("hardware"), ids=lambda e: e.name)
def test_every_chip_in_every_precision_is_a_complete_record(chip: Entry) -> None:
    for precision in catalog.entries("precision"):
        row = device_row(chip, precision)
        assert set(row) == {f.name for f in dataclasses.fields(Device)}
        assert row["precision_supported"] == (not math.isnan(row["peak_flops"]))
        assert not any(v == 0 for k, v in row.items() if k != "precision_supported")


@pytest.mark.parametrize(
    ("chip", "precision", "supported"),
    [("A100", "fp8", False), ("V100", "bf16", False), ("H100", "int4", False), ("H100", "w4a16", True),
     ("V100", "w4a16", True), ("H100", "nvfp4", False), ("B200", "nvfp4", True), ("B200", "mxfp4", True),
     ("MI355X", "mxfp4", True), ("MI355X", "nvfp4", False), ("MI355X", "fp4", True),
     ("H100", "mxfp4-weight-only", True),
     ("Apple-M1", "q4_0", True), ("A100", "int4", True)],
)  # fmt: skip
def test_what_a_chip_computes_in(chip: str, precision: str, supported: bool) -> None:
    assert bool(_row(chip, precision)["precision_supported"]) is supported


def test_weight_only_formats_read_less_and_compute_at_16_bit() -> None:
    wide, narrow = _row("H100", "bf16"), _row("H100", "w4a16")
    assert narrow["peak_flops"] == wide["peak_flops"]
    assert narrow["weight_bytes"] < 0.3 * wide["weight_bytes"]


def test_what_nobody_knows_is_nan() -> None:
    assert math.isnan(_row("RTX4090", "fp16")["storage_bandwidth"])
    assert math.isnan(_row("GB300", "bf16")["price_per_hour"])


def test_a_card_without_a_link_reaches_its_peers_over_the_host() -> None:
    row = _row("L40S", "bf16")
    assert row["link_bandwidth"] == row["host_link_bandwidth"] == pytest.approx(31.5e9)


def test_figures_of_an_h100() -> None:
    row = _row("H100", "fp8")
    assert row["peak_flops"] == pytest.approx(1979e12)
    assert row["memory_capacity"] / 2**30 == pytest.approx(79.18)
    assert (row["link_domain"], row["activation_bytes"], row["weight_bytes"]) == (8, 2, 1)
