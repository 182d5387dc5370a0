"""Entries, derived entries, and catalogues with a person's own figures."""

from __future__ import annotations

import math
import pickle
import subprocess
import sys

import pytest

from solvers.catalog import Catalog, CatalogError, Entry, Hardware, MissingFigure, catalog
from solvers.units import Q_


def test_a_figure_is_a_float_in_si_and_its_attribute_a_quantity() -> None:
    h100 = Hardware.Cloud.H100
    assert h100.get("memory_bandwidth") == 3.35e12
    assert h100.memory_bandwidth.to("TB/s").magnitude == pytest.approx(3.35)
    assert h100.architecture == "Hopper"
    assert "memory_bandwidth" in dir(h100)


def test_an_absent_figure_is_none_and_requiring_it_says_how_to_supply_it() -> None:
    b300 = catalog.find("hardware", "B300")
    assert b300.get("price_per_hour") is None
    with pytest.raises(MissingFigure, match=r"no price_per_hour for the hardware B300.*catalog:.*replace"):
        b300.require("price_per_hour")
    with pytest.raises(AttributeError, match=r"did you mean .*memory_bandwidth"):
        _ = b300.memory_bandwith


@pytest.mark.parametrize("given", ["4 TB/s", 4e12, Q_(4, "TB/s"), Q_("4000 GB/s")])
def test_a_derived_entry_takes_numbers_text_and_quantities(given: object) -> None:
    mine = Hardware.Cloud.H100.replace(name="Mine", memory_bandwidth=given)
    assert mine.get("memory_bandwidth") == pytest.approx(4e12)
    assert mine.figures["memory_bandwidth"].source == "given"
    assert (mine.get("tdp"), mine.text("based_on"), mine.aliases) == (700.0, "H100-SXM", ())
    assert Hardware.Cloud.H100.get("memory_bandwidth") == 3.35e12


@pytest.mark.parametrize("given", ["4 TB", "fast", math.nan, math.inf, -1.0, "-1 TB/s", True, None, [4e12]])
def test_a_value_that_is_no_such_figure_is_refused(given: object) -> None:
    with pytest.raises(CatalogError, match="memory_bandwidth"):
        Hardware.Cloud.H100.replace(memory_bandwidth=given)


def test_a_misspelt_figure_is_refused_with_the_near_name() -> None:
    with pytest.raises(CatalogError, match="near: memory_bandwidth"):
        Hardware.Cloud.H100.replace(memory_bandwith=4e12)


def test_a_catalogue_with_overrides_leaves_the_first_as_it_was() -> None:
    mine = catalog.with_overrides(
        {
            "hardware": {
                "h100": {"price_per_hour": "2.5 USD/hour"},
                "MyChip": {"based_on": "H100", "memory_bandwidth": "4 TB/s", "peak_flops_fp8": "3 PFLOP/s"},
            },
            "model": {"Llama3_70B": {"max_context": 131072}},
        }
    )
    assert mine.find("hardware", "H100-80GB-SXM").get("price_per_hour") == 2.5
    assert mine.find("hardware", "H100").get("price_per_hour_on_demand") == 2.5
    assert mine.find("hardware", "my-chip").get("memory_bandwidth") == 4e12
    assert mine.find("hardware", "MyChip").text("based_on") == "H100-SXM"
    assert mine.find("model", "Llama-3-70B").get("max_context") == 131072
    assert catalog.find("hardware", "H100").get("price_per_hour") != 2.5
    assert catalog.find("model", "Llama-3-70B").get("max_context") == 8192


def test_overrides_report_all_faults_together() -> None:
    with pytest.raises(CatalogError) as raised:
        catalog.with_overrides(
            {
                "hardwares": {"H100": {"tpd": 1}, "X": {"based_on": "H1OO"}},
                "modle": {},
                "model": {"GPT2": 7},  # type: ignore[dict-item]
                "constant": {"kernel x": {"value": 1}},
            }
        )
    assert all(said in str(raised.value) for said in ("near: tdp", "H1OO", "modle", "figures by name", "parameter"))


def test_an_entry_from_nothing() -> None:
    mine = catalog.with_overrides({"hardware": {"Slab": {"memory_bandwidth": "1 TB/s"}}}).find("hardware", "Slab")
    assert set(mine.figures) == {"memory_bandwidth"}


def test_entries_added_are_found() -> None:
    entry = Entry("model", "Own-1B", "", (), {})
    assert catalog.with_entries(entry).find("model", "own 1b") is entry


def test_entries_survive_pickling() -> None:
    h100 = pickle.loads(pickle.dumps(Hardware.Cloud.H100))
    assert (h100.name, h100.get("tdp")) == ("H100-SXM", 700.0)


def test_reading_the_catalogue_loads_neither_pint_nor_pandas() -> None:
    script = (
        "import sys; from solvers.catalog import Models, Hardware; Models.Language.Llama3_70B; Hardware.Cloud.H100;"
        "sys.exit(any(m in sys.modules for m in ('pint', 'pandas', 'optuna')))"
    )
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0


def test_the_digest_is_stable() -> None:
    assert Catalog().digest() == catalog.digest()
    assert len(catalog.digest()) == 16
