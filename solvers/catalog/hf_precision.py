"""The precision that a Hugging Face configuration's weights are stored in, in our names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_DTYPES = {"bfloat16": "bf16", "float16": "fp16", "float32": "fp32", "float8_e4m3fn": "fp8"}
_METHODS = {"fp8": "fp8", "fbgemm_fp8": "fp8", "mxfp4": "mxfp4", "awq": "w4a16", "gptq": "w4a16", "nvfp4": "nvfp4"}


def default_precision(text: Mapping[str, Any]) -> str:
    """The precision of the quantised weights, or of the data type; '' where neither is known."""
    quantised = text.get("quantization_config")
    if isinstance(quantised, Mapping):
        return _quantised(quantised)
    return _DTYPES.get(str(text.get("torch_dtype") or text.get("dtype")).removeprefix("torch."), "")


def _quantised(config: Mapping[str, Any]) -> str:
    algorithm = str(config.get("quant_algo") or config.get("quant_method") or "").lower()
    if algorithm in _METHODS:
        return _METHODS[algorithm]
    for group in (config.get("config_groups") or {}).values():
        weights, activations = group.get("weights") or {}, group.get("input_activations")
        bits, kind = weights.get("num_bits"), weights.get("type")
        if bits == 4:
            return "nvfp4" if kind == "float" and activations else "w4a16"
        if bits == 8:
            return "fp8" if kind == "float" else "int8" if activations else "w8a16"
    return ""
