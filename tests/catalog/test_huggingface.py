"""Configurations of many families, against the parameter counts their makers publish."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from solvers.catalog import CatalogError, catalog
from solvers.catalog.huggingface import model_from_config, read_config
from solvers.lowering.architecture import architecture_row

CONFIGS: dict[str, dict[str, Any]] = json.loads(Path(__file__).with_name("configs.json").read_text())

PUBLISHED = {
    "llama-3.1-8b": (8030261248, "Llama-3.1-8B"),
    "deepseek-v3": (671.0e9, "DeepSeek-V3"),
    "qwen3.5-397b": (397e9, "Qwen3.5-397B-A17B"),
    "mixtral-8x7b": (46702792704, "Mixtral-8x7B"),
    "gpt-oss-20b": (20.91e9, "gpt-oss-20b"),
    "llama-4-scout": (107.77e9, "Llama-4-Scout"),
    "qwen3-32b-fp8": (32.76e9, "Qwen3-32B"),
    "kimi-k2.5": (1.026e12, "Kimi-K2.5"),
    "nemotron-super-49b": (49.87e9, "Llama-3.3-Nemotron-Super-49B"),
    "gpt2": (124439808, "GPT-2"),
    "falcon-7b": (6.92e9, "Falcon-7B"),
    "falcon-40b": (41.3e9, "Falcon-40B"),
    "nemotron-3-nano-30b": (31.6e9, "Nemotron-3-Nano-30B-A3B"),
    "mpt-7b": (6.65e9, "MPT-7B"),
    "glm-5": (744e9, "GLM-5"),
    "gemma-4-26b": (25.2e9, "Gemma-4-26B-A4B"),
    "mistral-7b-v0.1": (7241732096, "Mistral-7B"),
    "glm-4.5-air": (106e9, "GLM-4.5-Air"),
}


@pytest.mark.parametrize(("name", "published"), PUBLISHED.items())
def test_a_configuration_has_the_published_parameters(name: str, published: tuple[float, str]) -> None:
    model = model_from_config(CONFIGS[name], name)
    assert model.require("params_total") == pytest.approx(published[0], rel=0.015)


@pytest.mark.parametrize(("name", "published"), PUBLISHED.items())
def test_a_configuration_has_the_shape_of_the_catalogue(name: str, published: tuple[float, str]) -> None:
    read = architecture_row(model_from_config(CONFIGS[name], name))
    held = architecture_row(catalog.find("model", published[1]))
    counted = {"params_total", "params_active", "tokenizer", "max_context"}
    assert {k: v for k, v in read.items() if k not in counted} == {k: v for k, v in held.items() if k not in counted}


@pytest.mark.parametrize(
    ("name", "precision"),
    [("llama-3.1-8b", "bf16"), ("deepseek-v3", "fp8"), ("gpt-oss-20b", "mxfp4"), ("kimi-k2.5", "w4a16")],
)
def test_the_stored_precision(name: str, precision: str) -> None:
    assert model_from_config(CONFIGS[name], name).text("default_precision") == precision


def test_keys_that_are_not_understood_are_named() -> None:
    odd = {**CONFIGS["llama-3.1-8b"], "num_flux_capacitors": 3, "attention_dropout": 0.0}
    assert model_from_config(odd, "odd").text("unread") == "num_flux_capacitors"


def test_a_known_vocabulary_gives_the_tokenizer() -> None:
    own = architecture_row(model_from_config(CONFIGS["llama-3.1-8b"], "own"))
    assert own["tokenizer"] == architecture_row(catalog.find("model", "Llama3_70B"))["tokenizer"]


@pytest.mark.parametrize(
    ("config", "said"),
    [
        ([], "an object of keys"),
        ({}, "no layers"),
        ({"hidden_size": 64, "num_hidden_layers": 2, "vocab_size": 10}, "no heads"),
        ({**CONFIGS["gpt2"], "n_layer": -1}, "whole number"),
        ({**CONFIGS["gpt2"], "n_layer": 1.5}, "whole number"),
        ({**CONFIGS["gpt2"], "n_layer": "12"}, "whole number"),
        ({**CONFIGS["gpt2"], "n_layer": True}, "whole number"),
        ({"is_encoder_decoder": True}, "encoder-decoder"),
        ({"vision_config": {}, "hidden_size": 64}, "no language model"),
    ],
)
def test_what_cannot_be_read_is_refused(config: Any, said: str) -> None:
    with pytest.raises(CatalogError, match=said):
        model_from_config(config, "x")


def test_a_file_is_named_after_its_folder(tmp_path: Path) -> None:
    folder = tmp_path / "my-model"
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps(CONFIGS["llama-3.1-8b"]))
    assert read_config(folder / "config.json").name == "my-model"
    assert read_config(folder / "config.json", "Other").name == "Other"


@pytest.mark.parametrize("text", ["", "{", "\x00", "[" * 100_000])
def test_a_broken_file_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "config.json").write_text(text)
    with pytest.raises(CatalogError):
        read_config(tmp_path / "config.json")


def test_an_imported_model_can_be_given_to_a_study() -> None:
    model = model_from_config(CONFIGS["deepseek-v3"], "own")
    figures = {q: f.value for q, f in model.figures.items()}
    again = catalog.with_overrides({"model": {"own": figures}}).find("model", "own")
    assert architecture_row(again) == architecture_row(model)
