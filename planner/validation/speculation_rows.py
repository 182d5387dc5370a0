"""Rows of published speed-ups as columns: which models, which drafter, on what, in which batch.

Names are read as papers write them ("1x A100-80GB (330W cap)", "Llama-2-70B INT4-g32", "8x B300 TP8"). A target that
the catalogue lacks stands in by a model of its family and size, else by a plain decoder of its parameter count. Rows
that name no hardware are taken to be on an A100, and rows that name no engine to be research code in eager PyTorch.
"""

from __future__ import annotations

import dataclasses
import functools
import math
import re
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import pandas as pd

from solvers.catalog import CatalogError
from solvers.formulas.kernels import Kernels
from solvers.formulas.serving.constants import Engine
from solvers.lowering.architecture import architecture_row
from solvers.lowering.device import device_row
from solvers.lowering.kernels import kernels_row
from solvers.lowering.serving import engine_row
from solvers.records import Architecture, Device


@dataclasses.dataclass(frozen=True)
class Method:
    """How a published method drafts.

    `drafter` is what makes the drafts: a model of its own, one decoder layer on the target's features, heads that all
    guess at once, a small block that guesses all tokens in one pass, or a look-up in text. `verified` nodes and `depth`
    hold where no chain length is given.
    """

    pattern: str
    name: str
    drafter: str
    verified: float
    depth: float


METHODS = (
    Method(r"samd", "samd", "layer", 60, 6),
    Method(r"p-?eagle", "p_eagle", "block", 7, 7),
    Method(r"eagle-?3", "eagle_3", "layer", 60, 8),
    Method(r"eagle-?2", "eagle_2", "layer", 60, 6),
    Method(r"eagle", "eagle_1", "layer", 26, 5),
    Method(r"hydra\+\+", "hydra_2", "heads", 64, 5),
    Method(r"hydra", "hydra", "heads", 64, 5),
    Method(r"medusa", "medusa", "heads", 64, 5),
    Method(r"dflash|dspark|block|diffusion", "block", "block", 7, 7),
    Method(r"mtp|nextn|next-n", "mtp", "layer", 1, 1),
    Method(r"recycl", "recycling", "text", 80, 6),
    Method(r"\brest\b", "rest", "text", 64, 6),
    Method(r"lookahead|jacobi", "lookahead", "text", 60, 5),
    Method(r"pld|prompt|n-?gram|suffix|sam\b", "n_gram", "text", 10, 10),
    Method(r"", "draft_model", "model", 5, 5),
)
"""Methods by the first pattern that their lower-case name holds; tree sizes are those of the papers' published code."""
DRAFTERS = ("model", "layer", "heads", "block", "text")

WORKLOADS = (
    (r"translat|wmt|de-?en|en-?de", "translation"),
    (r"summar|cnn|xsum|dailymail", "summary"),
    (r"\brag\b|retriev", "retrieval"),
    (r"math|gsm", "math"),
    (r"\bqa\b|natural ?q|question", "question"),
    (r"code|humaneval|mbpp|swe", "code"),
    (r"mt-?bench|dialog|chat|sharegpt|alpaca|conv", "chat"),
)
EAGER = r"pytorch|transformers|hugging|\bhf\b|spec-?bench|eager"


@dataclasses.dataclass(frozen=True)
class Rows:
    """What each row is about, as columns; `refusal` says why a row cannot be read."""

    target: Architecture
    draft: Architecture
    device: Device
    kernels: Kernels
    engine: Engine
    tp_size: np.ndarray
    batch: np.ndarray
    drafter: np.ndarray
    verified: np.ndarray
    drafted: np.ndarray
    passes: np.ndarray
    is_chain: np.ndarray
    is_eager: np.ndarray
    is_served: np.ndarray
    method: np.ndarray
    workload: np.ndarray
    refusal: np.ndarray


def read_rows(frame: pd.DataFrame, catalog: Any) -> Rows:
    """The frame as columns."""
    frame = frame.reset_index(drop=True)
    words = {c: frame[c].fillna("").astype(str) if c in frame else pd.Series("", frame.index) for c in _WORDS}
    methods = [_method(m, d) for m, d in zip(words["method"], words["draft"], strict=True)]
    targets = [_model(catalog, t) for t in words["target"]]
    drafts = [
        _model(catalog, d) if m.drafter == "model" else None for m, d in zip(methods, words["draft"], strict=True)
    ]
    places = [_place(catalog, h) for h in words["hardware"]]
    eager = np.array([_is_eager(e) for e in words["engine"]])
    formats = [_format(t) for t in words["target"]]
    hardware = [hw for hw, _ in places]
    number = functools.partial(_number, frame)
    chain = number("gamma_num_spec_tokens")
    is_chain = np.isfinite(chain)
    depth = np.array([m.depth for m in methods])
    drafter = np.array([DRAFTERS.index(m.drafter) for m in methods])
    one_pass = (drafter == DRAFTERS.index("heads")) | (drafter == DRAFTERS.index("block"))
    passes = np.where(drafter == DRAFTERS.index("text"), 0.0, np.where(one_pass, 1.0, np.where(is_chain, chain, depth)))
    batch = number("batch")
    engines = [_engine(catalog, e) for e in words["engine"]]
    known = [hw if hw is not None else catalog.find("hardware", "A100") for hw in hardware]
    precisions = [catalog.find("precision", f) for f in formats]
    anything = architecture_row(catalog.find("model", "TinyLlama-1.1B"))
    return Rows(
        target=_records(Architecture, [t or anything for t in targets]),
        draft=_records(Architecture, [d or anything for d in drafts]),
        device=_records(Device, [device_row(h, p) for h, p in zip(known, precisions, strict=True)]),
        kernels=_records(Kernels, [kernels_row(h, p) for h, p in zip(known, precisions, strict=True)]),
        engine=_records(Engine, [engine_row(h, p, e) for h, p, e in zip(known, precisions, engines, strict=True)]),
        tp_size=np.array([float(n) for _, n in places]),
        batch=np.where(np.isfinite(batch), batch, 1.0),
        drafter=drafter,
        verified=np.where(is_chain, chain, np.array([m.verified for m in methods])),
        drafted=np.where(is_chain, chain, np.array([m.depth for m in methods])),
        passes=passes,
        is_chain=is_chain,
        is_eager=eager,
        is_served=np.array([e.text("family") == "serving" for e in engines]),
        method=np.array([m.name for m in methods], dtype=object),
        workload=np.array([_workload(w) for w in words["workload"]], dtype=object),
        refusal=np.array([_refusal(t, d, m, h, w) for t, d, m, h, w in
                          zip(targets, drafts, methods, hardware, words["method"], strict=True)], dtype=object),
    )  # fmt: skip


_WORDS = ("target", "draft", "method", "hardware", "engine", "workload")


def _refusal(target: Any, draft: Any, method: Method, hardware: Any, word: str) -> str:
    if word.lower() == "none":
        return "no speculation"
    if target is None:
        return "unknown target"
    if hardware is None:
        return "unknown hardware"
    if method.drafter == "model" and draft is None:
        return "unknown draft"
    return ""


def _number(frame: pd.DataFrame, name: str) -> np.ndarray:
    """A column of numbers; text that begins with one counts as it."""
    if name not in frame:
        return np.full(len(frame), np.nan)
    if frame[name].dtype.kind in "fi":
        return frame[name].to_numpy(float)
    return pd.to_numeric(frame[name].astype(str).str.extract(r"^\s*(\d+\.?\d*)")[0]).to_numpy(float)


def _method(method: str, draft: str) -> Method:
    text = method.lower()
    if re.search(r"draft-target|draft model|speculative|\bsps\b|vanilla", text) and re.search(r"gram", draft.lower()):
        text = "n-gram"
    return next(m for m in METHODS if re.search(m.pattern, text))


def _workload(text: str) -> str:
    return next((name for pattern, name in WORKLOADS if re.search(pattern, text.lower())), "overall")


def _is_eager(engine: str) -> bool:
    return not engine.strip() or re.search(EAGER, engine.lower()) is not None


def _engine(catalog: Any, text: str) -> Any:
    """The serving engine that the words name; compiled code for one sequence where they name none of ours."""
    for entry in catalog.entries("engine"):
        if text.lower().startswith(entry.name.lower()):
            return entry
    served = "vLLM" if re.search(r"serv|lmdeploy|nim|tgi", text.lower()) else "gpt-fast"
    return catalog.find("engine", served)


def _place(catalog: Any, text: str) -> tuple[Any, int]:
    """The accelerator and how many of it; a row that names none is on one A100, eight hold a very large model."""
    count = re.match(r"\s*(\d+)\s*x\s+", text.lower())
    name = re.sub(r"^\s*\d+\s*x\s+", "", text, flags=re.IGNORECASE)
    name = re.sub(r"\(.*?\)|\bTP\d+\b|\bGPUs?\b", "", name).strip()
    return _hardware(catalog, name or "A100"), int(count[1]) if count else 1


@functools.lru_cache(maxsize=512)
def _hardware(catalog: Any, name: str) -> Any:
    try:
        return catalog.find("hardware", name)
    except CatalogError:
        return None


def _format(target: str) -> str:
    text = target.lower()
    for pattern, precision in ((r"int4|w4a16|gptq|awq|4.?bit", "w4a16"), (r"fp8", "fp8"), (r"gpt-oss", "mxfp4"),
                               (r"deepseek-(v3|r1)(?!.*distill)", "fp8")):  # fmt: skip
        if re.search(pattern, text):
            return precision
    return "bf16"


@functools.lru_cache(maxsize=1024)
def _model(catalog: Any, text: str) -> Mapping[str, float] | None:
    """The shape of a model by name, by family and size, or by its number of parameters."""
    name = re.sub(r"\b(INT4|INT8|FP8|NVFP4|AWQ|GPTQ)(-g\d+)?\b", "", text, flags=re.IGNORECASE).strip(" -")
    if not name:
        return None
    shape = re.search(r"\((\d+) layers, d=(\d+)\)", name)
    if shape is not None:
        return _plain_decoder(catalog, float(shape[2]), float(shape[1]))
    try:
        return _decoding_part(architecture_row(catalog.find("model", name)))
    except CatalogError:
        pass
    size = re.search(r"(\d+(?:\.\d+)?)\s*([BM])\b", name, re.IGNORECASE)
    if size is None:
        return None
    params = float(size[1]) * {"b": 1e9, "m": 1e6}[size[2].lower()]
    family = re.match(r"[A-Za-z]+", name)
    kin = [
        entry for entry in catalog.entries("model")
        if family and entry.name.lower().startswith(family[0].lower())
        and re.search(rf"(?<![\d.]){re.escape(size[0])}\b", entry.name, re.IGNORECASE)
        and (entry.get("vocab") or 0) > 0
    ]  # fmt: skip
    if kin:
        return architecture_row(kin[-1])
    hidden = 128.0 * max(round((128.0 * params / 12.0) ** (1.0 / 3.0) / 128.0), 2)
    return _plain_decoder(catalog, hidden, float(max(round(params / (12.0 * hidden * hidden)), 1)))


def _decoding_part(model: dict[str, float]) -> Mapping[str, float]:
    """What runs for each token: the decoder's layers, without an encoder that has read the prompt once."""
    part = 1.0 - model["encoder_layers"] / max(model["layers"], 1.0)
    scaled = {n: model[n] * part for n in ("layers", "attention_layers", "mlp_layers")} if part < 1.0 else {}
    return {**model, **scaled, "encoder_layers": 0.0}


def _plain_decoder(catalog: Any, hidden: float, layers: float) -> Mapping[str, float]:
    """A dense decoder in the proportions of Llama: 12 h^2 parameters a layer."""
    like = architecture_row(catalog.find("model", "Llama-2-7B"))
    params = 12.0 * hidden * hidden * layers
    return {
        **like, "params_total": params, "params_active": params, "hidden": hidden, "layers": layers,
        "attention_layers": layers, "mlp_layers": layers, "heads": hidden / 128.0,
        "kv_heads": hidden / 128.0, "ffn_hidden": hidden * 8.0 / 3.0, "max_context": math.inf,
    }  # fmt: skip


def _records(kind: Any, rows: Iterable[Mapping[str, float]]) -> Any:
    rows = list(rows)
    return kind(**{f.name: np.array([float(r[f.name]) for r in rows]) for f in dataclasses.fields(kind)})
