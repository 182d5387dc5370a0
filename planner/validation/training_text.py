"""What the words of a training file mean: software, network, precision, parallel slices.

Every rule is about software or hardware in general, as its documentation describes it; none is about one table.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np

OLD = re.compile(r"megatron-?(lm|deepspeed)?.*(2019|2020|2021|2022)|megatron-?deepspeed|vtrain|bigscience|bloom", re.I)
"""Software whose attention is not fused and whose gradients are reduced after the backward pass."""

PORTABLE = re.compile(
    r"composer|llm-foundry|mosaic|nanotron|triton|pytorch|torchtitan|lit-?gpt|tinyllama|deepspeed|hugging ?face|"
    r"transformers|accelerate|colossal|internlm|axolotl|unsloth|fairscale|metaseq|gpt-neox",
    re.I,
)
"""Software that runs FlashAttention-1 or -2 on every generation."""

XLA = re.compile(r"jax|pax|xla", re.I)
"""Software compiled by XLA: without Transformer Engine its attention is as portable kernels are (not MaxText's)."""

MAXTEXT = re.compile(r"maxtext", re.I)

FSDP = re.compile(r"fsdp|zero-?3|maxtext|pax|composer", re.I)
"""Software that shards weights where a row does not say."""

DDP = re.compile(r"nanotron|pytorch|lightning|torch", re.I)
"""Software that leaves the reduction of gradients to PyTorch, in buckets of 25 MiB."""

BUCKET = 25.0 * 2**20

NEMO = re.compile(r"nemo|bridge", re.I)
"""Software whose performance recipes reduce gradients in 16 bit."""

BALANCED = re.compile(r"nanotron", re.I)
"""Software that shares layers out by their cost, the vocabulary head included."""

CAUSAL_FLOPS = re.compile(r"maxtext|bridge|model-?zoo|megatron[- ]core|nemo(?! ?(framework )?2[0-4])", re.I)
"""Software that counts the causal half of attention; before 2025 NeMo counted all of it."""

BALANCED_EXPERTS = re.compile(r"drop|force|balanced", re.I)
"""Routing that is forced to be even, or drops what is too much for an expert."""

HYBRID = re.compile(r"fsdp (?:\d+ )?in (node|slice)", re.I)
"""Weights sharded within a node or slice, and copied across."""

CLOUD_ETHERNET = re.compile(r"EFA|RoCE|TCP|ethernet", re.I)
INFINIBAND_LATENCY, ETHERNET_LATENCY = 5e-6, 15e-6
"""One hop between nodes, in seconds, software included."""

DEFAULT_PORTS = {
    "volta": 12.5e9, "ampere": 25e9, "hopper": 50e9, "blackwell": 50e9, "blackwell_ultra": 100e9, "ada": 12.5e9,
    "cdna": 50e9, "tpu": 6.25e9, "gaudi": 37.5e9, "other": 25e9,
}  # fmt: skip
"""Network bandwidth of one accelerator's share, in byte/s, where a row says nothing: reference nodes of the time."""

_UNITS = {"Tb": 125e9, "Gb": 0.125e9, "GB": 1e9}


def network_share(text: str, per_node: float, default: float) -> float:
    """Network bandwidth of one accelerator, in byte/s and one direction, from a source's own words.

    Understands "8x200Gb/s per node", "400Gb/s per GPU", "3200Gb/s per node", "1600Gb/s node-node", "8x50GB/s per node".
    A link inside the rack that is named before ("NVLink within 72-GPU rack; 400Gb/s") does not matter.
    """
    speed = re.search(
        r"(?:(\d+)\s*x\s*)?(\d+(?:\.\d+)?)\s*(Tb|Gb|GB)(?:/s|ps|it)?(?:\s*x\s*(\d+))?", text.replace(",", "")
    )
    if not speed:
        return default
    ports = speed.group(1) or speed.group(4)
    total = float(ports or 1) * float(speed.group(2)) * _UNITS[speed.group(3)]
    each = re.search(r"per (gpu|chip|accelerator|card|gcd|port)", text, re.I)
    shared = ports or re.search(r"per node|node-node|/node|per server|per host", text, re.I)
    return total / per_node if not each and (shared or total > 100e9) else total


def slice_size(text: str) -> float:
    """Chips of one slice of a pod, where a row's notes say how many; NaN elsewhere."""
    chips = re.search(r"\((\d+) chips each\)", text) or re.search(r"slice\(s\) of \S*?-(\d+)", text)
    return float(chips.group(1)) if chips else float(np.nan)


def precision_words(precision: Any, software: Any) -> tuple[str, ...]:
    """Names under which the catalogue may know a precision, the most exact first; FP8 where the software says so."""
    if isinstance(software, str) and re.search(r"amp_fp8|fp8 amp", software, re.I):
        return ("fp8",)
    if not isinstance(precision, str):
        return ("bf16",)
    word = precision.lower().rstrip("?")
    return (word, word.split("-")[0], re.split(r"[ ,/+(_]", word)[0])
