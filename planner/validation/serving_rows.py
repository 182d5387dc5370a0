"""Rows of published serving figures as plans: what the words for engine, chip, format and layout mean.

A blank is filled by what the harness of the row is known to do, and by nothing else of the row's own value.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pandas as pd

ENGINES = (
    (r"vllm", "vLLM"),
    (r"sglang", "SGLang"),
    (r"tensorrt-?llm v?0\.([0-9]|1[0-6])(\D|$)", "TensorRT-LLM-0.x"),
    (r"trt-?llm|tensorrt-?llm", "TensorRT-LLM"),
    (r"tensorrt", "TensorRT"),
    (r"fastertransformer|^ft\b", "FasterTransformer"),
    (r"megatron", "Megatron"),
    (r"gpt-?fast", "gpt-fast"),
    (r"llama\.?cpp|ollama|gguf", "llama.cpp"),
    (r"exllama", "ExLlama"),
    (r"tinychat", "TinyChat"),
    (r"mlx", "MLX"),
    (r"mxnet", "MXNet"),
    (r"pytorch|torch|transformers", "PyTorch"),
)
"""Words in the engine's name, in order, and the catalogue's engine."""
GPT_OSS = r"gpt-oss"
LOCAL = ("gpt-fast", "llama.cpp", "ExLlama", "TinyChat", "MLX")
DIES = {"MI250X": "MI250X-GCD"}
"""Packages of two dies, each of which a framework counts as a device of its own."""
STATIC = ("TensorRT-LLM-0.x", "FasterTransformer", "Megatron")
PROMPTS = {"lm-arena-chat": 100.0, "gpqa": 250.0, "sourcegraph-fim": 300.0, "llama-2-70b": 294.0, "mixtral-8x7b": 400.0}
"""Mean prompts of public workloads whose tables leave them out, in orders of magnitude: LM Arena chat, GPQA, code
completion; OpenOrca alone, and with GSM8K and MBXP (MLPerf)."""


def engine_of(words: Any) -> str:
    """The catalogue's engine for a row's words; vLLM stands for engines that are not known."""
    text = str(words).lower()
    return next((name for pattern, name in ENGINES if re.search(pattern, text)), "vLLM")


def format_of(weights: Any, model: Any, engine: str, chip: Any) -> str:
    """The catalogue's precision for a row's words, as the chip runs it: weights alone where it lacks the arithmetic."""
    text = str(weights).strip().lower() if isinstance(weights, str) else ""
    has = lambda *names: any(chip.get(f"peak_flops_{n}") is not None for n in names)  # noqa: E731
    half = "bf16" if has("bf16") else "fp16"
    if re.search(GPT_OSS, str(model), re.IGNORECASE) and text in ("", "fp4", "fp8", "mxfp4", "w4a16"):
        return "mxfp4" if has("mxfp4", "nvfp4") and text != "fp8" else "mxfp4-weight-only"
    if not text:
        if engine == "TensorRT":
            return "int8" if has("int8") else half
        return half
    if text in ("bf16", "fp16", "half", "float16", "bfloat16"):
        return half
    if text in ("fp4", "nvfp4", "w4a4"):
        return "nvfp4" if has("nvfp4", "mxfp4") else "nvfp4-weight-only"
    if text in ("fp8", "w8a8", "fp8_e4m3"):
        return "fp8" if has("fp8") else "fp8-weight-only"
    if text in ("int8", "w8a16", "w8a8-int8"):
        return "w8a16" if engine in LOCAL else "int8" if has("int8") else "w8a16"
    if text in ("int4", "awq", "gptq", "w4a16", "4bit", "4-bit"):
        return "w4a16"
    return text


def cache_of(kv: Any, weights: str, engine: str) -> str:
    """The format of the cache: as published; 8 bit where TensorRT-LLM serves narrow checkpoints; else 16 bit."""
    text = str(kv).lower() if isinstance(kv, str) else ""
    if text in ("bf16", "fp16", "fp8", "int8", "fp4"):
        return text
    narrow = weights in ("fp8", "nvfp4")
    return "fp8" if narrow and engine in ("TensorRT-LLM", "TensorRT", "TensorRT-LLM-0.x") else "bf16"


def prompts_of(rows: pd.DataFrame) -> np.ndarray:
    """Tokens of a prompt: as published, else by the workload that the notes or the model name."""
    words = (rows["notes"].fillna("").astype(str) + " " + rows["model"].fillna("").astype(str)).str.lower()
    guess = np.select([words.str.contains(k, regex=False) for k in PROMPTS], list(PROMPTS.values()), 256.0)
    return np.where(rows["input_tokens"].notna(), np.maximum(rows["input_tokens"].fillna(1.0), 1.0), guess)


def layout_of(rows: pd.DataFrame, engines: pd.Series, experts: np.ndarray) -> dict[str, np.ndarray]:
    """Ranks by kind. What a row leaves out: the devices of the row work together, by tensors in a server and by layers
    in local engines; MLPerf's servers run one replica on as many as the weights need, which `fit_replicas` settles.
    """
    gpus = rows["n_gpus"].fillna(1.0).clip(lower=1.0).to_numpy(float)
    local = engines.isin(["llama.cpp", "ExLlama"]).to_numpy()
    notes = rows["notes"].fillna("").astype(str)
    tp = rows["tp_size"].where(rows["tp_size"] > 0).to_numpy(float)
    pp = rows["pp_size"].where(rows["pp_size"] > 0).to_numpy(float)
    dp = rows["dp_size"].where(rows["dp_size"] > 0).to_numpy(float)
    ep = rows["ep_size"].where(rows["ep_size"] > 0).to_numpy(float)
    dp = np.where(np.isnan(dp), 1.0, dp)
    pp = np.where(np.isnan(pp), np.where(local, gpus, 1.0), pp)
    pp = np.where(local, gpus, pp)
    tp = np.where(local, 1.0, tp)
    energy = (engines == "vLLM").to_numpy() & notes.str.contains("avg running batch").to_numpy()
    tp = np.where(energy, np.maximum(gpus / (pp * dp), 1.0), tp)
    tp = np.where(np.isnan(tp), np.maximum(np.where(np.isnan(ep), gpus / (pp * dp), gpus), 1.0), tp)
    attention_dp = notes.str.contains("enable_attention_dp").to_numpy() & experts & (dp == 1.0)
    wide = rows["family"].astype(str).str.contains("sglang_96").to_numpy()
    dp = np.where(attention_dp | (experts & (tp > 16)), tp, dp)
    ep = np.where(attention_dp | wide, dp, np.where(np.isnan(ep), 1.0, ep))
    tp = np.where((attention_dp | wide) & (dp > 1.0), 1.0, tp)
    ep = np.where(experts, np.minimum(ep, tp * dp), 1.0)
    dp = np.where(experts, dp, 1.0)
    replicas = np.maximum(np.floor(gpus / (tp * pp * dp)), 1.0)
    return {"tp_size": tp, "pp_size": pp, "dp_size": dp, "ep_size": ep, "replicas": replicas}


def sorts_logits(rows: pd.DataFrame) -> np.ndarray:
    """True where the harness samples by top-p or top-k: said by the notes, or by the model's own generation settings.

    The ML.ENERGY leaderboard serves with the settings a model ships (generation_config.json): Qwen3, Llama-3.x and
    -4, Gemma-3 and DeepSeek ship top_p or top_k; gpt-oss and Nemotron ship neither.
    """
    notes = rows["notes"].fillna("").astype(str)
    plain = rows["model"].fillna("").astype(str).str.contains("gpt-oss|nemotron", case=False)
    return ((notes.str.contains("avg running batch") & ~plain) | notes.str.contains("top_p")).to_numpy()


def variation_of(rows: pd.DataFrame) -> np.ndarray:
    """Coefficient of variation of the lengths: of a benchmark that draws them uniformly from 0.8 to 1 of the stated one
    (InferenceX), none where they are fixed, else that of people's requests.
    """
    source = rows["source"].fillna("").astype(str)
    drawn = source.str.contains("db-dump|source_file=20|inferencex|inferencemax", case=False, regex=True)
    fixed = source.str.contains("gap-analysis", regex=False)
    return np.select([drawn, fixed], [0.064, 0.0], 0.5)


RUNS = {
    (128, 128): 30000, (128, 2048): 3000, (128, 4096): 1500, (500, 2000): 3000, (1000, 1000): 3000, (1000, 2000): 1500,
    (1024, 2048): 1500, (2048, 128): 3000, (2048, 2048): 1500, (5000, 500): 1500, (20000, 2000): 1000,
}  # fmt: skip
"""Requests of a run of trtllm-bench by lengths of prompt and answer (TensorRT-LLM perf-overview, "Throughput")."""


def requests_of(rows: pd.DataFrame) -> np.ndarray:
    """Requests that a max-load run sends in all, where its documentation says so."""
    bench = rows["notes"].fillna("").astype(str).str.contains("trtllm-bench")
    pairs = zip(rows["input_tokens"].fillna(0), rows["output_tokens"].fillna(0), bench, strict=True)
    return np.array([float(RUNS.get((int(i), int(o)), np.nan)) if b else np.nan for i, o, b in pairs])
