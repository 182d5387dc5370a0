"""Names as people and published benchmarks write them."""

from __future__ import annotations

import pytest

from solvers.catalog import AmbiguousName, CatalogError, Hardware, Models, Systems, UnknownName, catalog
from tests.catalog.written_names import HARDWARE, MODELS, PRECISIONS, UNKNOWN_MODELS


@pytest.mark.parametrize(("written", "meant"), MODELS.items())
def test_a_model_as_written(written: str, meant: str) -> None:
    assert catalog.find("model", written).name == meant


@pytest.mark.parametrize(("written", "meant"), HARDWARE.items())
def test_hardware_as_written(written: str, meant: str) -> None:
    assert catalog.find("hardware", written).name == meant


@pytest.mark.parametrize(("written", "meant"), PRECISIONS.items())
def test_a_precision_as_written(written: str, meant: str) -> None:
    assert catalog.find("precision", written).name == meant


@pytest.mark.parametrize("written", UNKNOWN_MODELS)
def test_what_is_no_model_is_unknown(written: str) -> None:
    with pytest.raises(UnknownName):
        catalog.find("model", written)


def test_every_name_alias_and_path_finds_its_entry() -> None:
    for kind in ("model", "hardware", "fleet", "node", "fabric", "grid", "precision", "terms"):
        for entry in catalog.entries(kind):
            assert all(catalog.find(kind, n) is entry for n in (entry.name, entry.path, *entry.aliases))


def test_the_paths_of_the_experiments() -> None:
    assert Models.Language.GPT2.get("params_total") == pytest.approx(1.5577e9, rel=1e-3)
    assert Models.Language.Llama3_70B.get("params_total") == 70553706496
    assert Models.Language.Llama3_8B.get("params_total") == 8030261248
    assert Models.Vision.ResNet50.get("forward_flops") == pytest.approx(8.2e9, rel=0.01)
    assert Hardware.Cloud.A100.name == "A100-SXM-80"
    assert Hardware.Cloud.H100.name == "H100-SXM"
    assert Systems.Clusters.Frontier_8K.get("n_accelerators") == 8192


def test_exact_names_tell_the_two_gpt2_apart_and_other_spellings_do_not() -> None:
    assert catalog.find("model", "GPT2").name == "GPT-2-XL"
    assert catalog.find("model", "gpt2").name == "GPT-2"
    with pytest.raises(AmbiguousName, match="GPT-2, GPT-2-XL"):
        catalog.find("model", "Gpt_2")


def test_a_dot_between_digits_counts() -> None:
    assert catalog.find("model", "gpt 1.3b").name == "GPT-3-1.3B"
    assert catalog.find("model", "gpt 13b").name == "GPT-3-13B"


def test_an_unknown_name_offers_near_ones() -> None:
    with pytest.raises(UnknownName, match="Llama-3"):
        catalog.find("model", "Lama-3-70B")
    with pytest.raises(UnknownName, match="H100"):
        catalog.find("hardware", "H10")


@pytest.mark.parametrize("written", ["", "x" * 10_000, 7, None])
def test_nonsense_is_refused(written: object) -> None:
    with pytest.raises(CatalogError):
        catalog.find("model", written)  # type: ignore[arg-type]


def test_an_unknown_kind_is_refused() -> None:
    with pytest.raises(CatalogError, match="hardware"):
        catalog.find("hardwear", "H100")


def test_attribute_errors_offer_near_names_and_dir_lists_children() -> None:
    with pytest.raises(AttributeError, match="Llama3_70B"):
        _ = Models.Language.Llama3_7OB
    assert {"Language", "Vision", "Diffusion"} <= set(dir(Models))
    assert "H100" in dir(Hardware.Cloud)


@pytest.mark.parametrize("written", ["Qwen2-57B", "Qwen25-72B"])
def test_digits_that_meet_keep_their_seam(written: str) -> None:
    assert catalog.find("model", "Qwen2_5_7B").name == "Qwen2.5-7B"
    with pytest.raises(UnknownName):
        catalog.find("model", written)
