"""A Hugging Face `config.json` as a model.

The same shape is written under many names; `_NAMES` holds them, best first. Keys that bear on no shape (dropouts,
token ids, rope, ...) are passed over, and whatever else is left is named in the entry's `unread`, so that nobody takes
a half-read model for the whole.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from solvers.catalog.entries import CatalogError, Entry, Figure
from solvers.catalog.factors import FACTORS
from solvers.catalog.hf_layers import attention_layers, expert_layers, window
from solvers.catalog.hf_precision import default_precision
from solvers.catalog.parameters import parameters
from solvers.catalog.tables import TABLES


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


_NAMES: dict[str, tuple[str, ...]] = {
    "layers": ("num_hidden_layers", "n_layer", "n_layers", "num_layers"),
    "hidden": ("hidden_size", "n_embd", "d_model", "dim"),
    "heads": ("num_attention_heads", "n_head", "n_heads"),
    "kv_heads": ("num_key_value_heads", "num_kv_heads", "n_head_kv", "multi_query_group_num"),
    "head_dim": ("head_dim", "attention_head_dim", "kv_channels"),
    "ffn_hidden": ("intermediate_size_mlp", "intermediate_size", "n_inner", "ffn_hidden_size", "ffn_dim", "d_ff"),
    "vocab": ("vocab_size", "padded_vocab_size"),
    "max_context": ("max_position_embeddings", "n_positions", "max_seq_len", "max_sequence_length", "seq_length"),
    "num_experts": ("n_routed_experts", "num_experts", "num_local_experts", "moe_num_experts"),
    "top_k": ("num_experts_per_tok", "experts_per_token", "top_k_experts", "moe_top_k", "moe_k"),
    "moe_ffn_hidden": ("moe_intermediate_size",),
    "moe_latent_dim": ("moe_latent_size",),
    "q_lora_rank": ("q_lora_rank",),
    "kv_lora_rank": ("kv_lora_rank",),
    "qk_nope_head_dim": ("qk_nope_head_dim",),
    "qk_rope_head_dim": ("qk_rope_head_dim",),
    "v_head_dim": ("v_head_dim",),
    "indexer_heads": ("index_n_heads",),
    "indexer_head_dim": ("index_head_dim",),
    "ssm_state": ("ssm_state_size", "state_size", "mamba_d_state"),
    "ssm_heads": ("mamba_num_heads", "mamba_n_heads"),
    "ssm_head_dim": ("mamba_head_dim", "mamba_d_head"),
    "ssm_groups": ("n_groups", "mamba_n_groups"),
    "ssm_conv": ("conv_kernel", "linear_conv_kernel_dim", "mamba_d_conv"),
    "ssm_expand": ("expand", "mamba_expand"),
    "ssm_dt_rank": ("time_step_rank", "mamba_dt_rank"),
    "gdn_key_heads": ("linear_num_key_heads",),
    "gdn_value_heads": ("linear_num_value_heads",),
    "gdn_key_head_dim": ("linear_key_head_dim",),
    "gdn_value_head_dim": ("linear_value_head_dim",),
}
_ALSO_READ = _set(
    """
    model_type architectures text_config tie_word_embeddings quantization_config torch_dtype dtype layer_types
    sliding_window use_sliding_window max_window_layers sliding_window_pattern attention_chunk_size
    full_attention_interval attn_layer_period attn_layer_offset hybrid_override_pattern block_configs
    first_k_dense_replace moe_layer_freq decoder_sparse_step mlp_only_layers interleave_moe_layer_step
    expert_layer_period expert_layer_offset n_shared_experts shared_expert_intermediate_size
    moe_shared_expert_intermediate_size enable_moe_block multi_query new_decoder_architecture attn_output_gate
    expansion_ratio learned_pos_emb attn_config is_encoder_decoder
    """
)
_NO_SHAPE = re.compile(
    r""".*(dropout|_pdrop|_prob|token_id|token_index|_eps|epsilon|_coef|_factor|scale|clip.*|bias|initializer_range
    |_act|activation|activation_function|hidden_activation|_version|softcapping)$
    |(rope|rotary|partial_rotary|yarn|summary|alibi|output|norm|use_cache|use_mamba|use_conv|use_qk_norm|attn_temperature
    |time_step|residual|rescale|router|routed|scoring|topk|top_?k_method|n_group$|n_ctx$|pretraining_tp|ep_size|chunk_size
    |auto_map|_name_or_path|transformers|init_|mtp_|num_nextn|swiglu|initial_context|vision|audio|image|video|boa|boi
    |eoa|eoi|media|ignore_index|id2label|label2id|task_specific|tokenizer|attn_impl|logit|emb_|no_bias|no_repeat
    |num_logits|mamba_.*(act|dtype|bias)|nope|cache_implementation|index_topk|indexer_rope|aux_loss|seq_aux|qk_head_dim
    |parallel_attn|apply_residual|num_beam|num_return|length_penalty|max_length|min_length|diversity|do_sample|early_stop
    |repetition|temperature|top_p|typical|return_|remove_|prefix|problem_type|pruned|sep_|tf_legacy|tie_encoder
    |torchscript|use_bfloat16|is_decoder|finetuning|forced|exponential|encoder_no|cross_attention|add_cross|bad_words
    |begin_suppress|suppress|decoder_start|chunk|embedding_fraction|attention_type|moe_router|rms|layer_norm|use_bidirect
    |vocab_size_per|hidden_size_per|use_double|num_kv_shared|attention_k_eq_v|global_head_dim|num_global).*""",
    re.VERBOSE,
)
_LARGEST = 10_000_000
_PLAIN_MLP = _set(
    """
    gpt2 gpt_neox gptj gpt_bigcode starcoder2 falcon mpt opt bloom phi codegen nemotron nemotron_h bert roberta
    """
)
_TIED = _set(
    """
    gpt2 falcon mpt opt bloom gemma gemma2 gemma3 gemma3_text gpt_bigcode bert roberta mamba
    """
)
_ENCODERS = _set(
    """
    bert roberta xlm-roberta distilbert electra modernbert
    """
)


def model_from_config(config: Mapping[str, Any], name: str) -> Entry:
    """A model from its `config.json`.

    Args:
        config: the parsed file; a nested `text_config` is read in its place.
        name: what to call the model.

    Raises:
        CatalogError: with everything that is missing or makes no sense.
    """
    if not isinstance(config, Mapping):
        raise CatalogError("a config.json holds an object of keys and values")
    inner = config.get("text_config")
    text = {**config, **inner} if isinstance(inner, Mapping) else dict(config)
    kind = str(text.get("model_type", ""))
    _refuse_what_is_no_language_model(text, config, name)
    shape = _shape(text, kind, name)
    figures = {q: _figure(q, v) for q, v in shape.items() if v not in (None, "", 0)}
    bare = Entry("model", name, "", (), figures)
    total, active = parameters(bare)
    words = {
        "family": kind or name,
        "work_unit": "sequence" if kind in _ENCODERS else "token",
        "tokenizer": _tokenizer(kind, shape["vocab"]),
        "default_precision": default_precision(text),
        "unread": ", ".join(_unread(text)),
    }
    figures |= {q: _figure(q, v) for q, v in words.items() if v}
    figures |= {"params_total": _figure("params_total", total), "params_active": _figure("params_active", active)}
    return Entry("model", name, "", (), figures)


def read_config(path: Path, name: str | None = None) -> Entry:
    """A model from a `config.json` on disk; called after the file's own name for it, or its folder, unless named.

    Raises:
        CatalogError: the file cannot be read, is no JSON, or is no model that is understood.
    """
    try:
        if path.stat().st_size > _LARGEST:
            raise CatalogError(f"{path}: too large for a configuration ({path.stat().st_size} bytes)")
        config = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, json.JSONDecodeError, RecursionError) as problem:
        raise CatalogError(f"{path}: no readable JSON ({problem})") from problem
    written = config.get("_name_or_path") if isinstance(config, dict) else None
    return model_from_config(config, name or str(written or path.resolve().parent.name).rstrip("/").rsplit("/", 1)[-1])


def _refuse_what_is_no_language_model(text: Mapping[str, Any], config: Mapping[str, Any], name: str) -> None:
    if text.get("is_encoder_decoder"):
        raise CatalogError(f"{name}: encoder-decoder models are not read; add a row to the catalogue's models.csv")
    vocab = _first(text, "vocab")
    if vocab is None and ("vision_config" in config or "image_size" in config or "_class_name" in config):
        raise CatalogError(f"{name}: this is no language model (no vocab_size); give its work as forward_flops")


def _shape(text: Mapping[str, Any], kind: str, name: str) -> dict[str, Any]:
    """The figures of the shape, absent ones left out."""
    shape: dict[str, Any] = {q: _first(text, q) for q in _NAMES}
    attentive = kind not in ("mamba", "mamba2", "falcon_mamba")
    needed = ["layers", "hidden", "vocab", *(["heads"] if attentive else [])]
    missing = [f"{q} ({' or '.join(_NAMES[q])})" for q in needed if not shape[q]]
    wrong = [
        f"{q} is {v!r}, and a whole number above 0 is due"
        for q, v in shape.items()
        if v is not None and not (isinstance(v, int | float) and not isinstance(v, bool) and v >= 0 and v == int(v))
    ]
    if missing or wrong:
        raise CatalogError(f"{name}: " + "; ".join([*(f"no {m}" for m in missing), *wrong]))
    layers, hidden, heads = shape["layers"], shape["hidden"], shape["heads"] or 0
    if heads:
        shape["head_dim"] = shape["v_head_dim"] if shape["kv_lora_rank"] else shape["head_dim"] or hidden // heads
        shape["kv_heads"] = _kv_heads(text, shape["kv_heads"], heads)
    if not shape["ffn_hidden"] and not shape["moe_ffn_hidden"] and attentive:
        shape["ffn_hidden"] = int(text.get("expansion_ratio", 4) * hidden)
    shape |= attention_layers(text, kind, layers)
    shape |= expert_layers(text, kind, layers, shape)
    shape["sliding_window"] = window(text) if shape["sliding_layers"] else None
    shape["gated_mlp"] = kind not in _PLAIN_MLP
    shape["tied_embeddings"] = bool(text.get("tie_word_embeddings", kind in _TIED))
    shape["attn_output_gate"] = bool(text.get("attn_output_gate", kind == "qwen3_next"))
    shape["learned_positions"] = _learned_positions(text, kind, shape["max_context"])
    shape["encoder_layers"] = layers if kind in _ENCODERS else None
    return shape


def _kv_heads(text: Mapping[str, Any], given: int | None, heads: int) -> int:
    if text.get("multi_query") and not text.get("new_decoder_architecture"):
        return 1
    groups = [b["attention"].get("n_heads_in_group") for b in text.get("block_configs") or []]
    group = next((g for g in groups if g), None)
    return given or (heads // group if group else heads)


def _learned_positions(text: Mapping[str, Any], kind: str, context: int | None) -> int | None:
    alibi = (text.get("attn_config") or {}).get("alibi")
    learned = kind in ("gpt2", "gpt_bigcode", "bert", "roberta", "opt") or (kind == "mpt" and not alibi)
    return context if learned else None


def _tokenizer(kind: str, vocab: int) -> str:
    """The family that all catalogue models with a vocabulary of this size share, or one of its own."""
    from solvers.catalog.catalog import catalog

    known = {e.text("tokenizer") for e in catalog.entries("model") if e.get("vocab") == vocab}
    return known.pop() if len(known) == 1 else f"{kind}-{vocab}"


def _unread(text: Mapping[str, Any]) -> list[str]:
    read = {n for names in _NAMES.values() for n in names} | _ALSO_READ
    return sorted(k for k, v in text.items() if v is not None and k not in read and not _NO_SHAPE.fullmatch(k))


def _first(text: Mapping[str, Any], quantity: str) -> Any:
    return next((text[n] for n in _NAMES[quantity] if text.get(n) is not None and text[n] != "auto"), None)


def _figure(quantity: str, value: Any) -> Figure:
    unit = (TABLES["model"].columns or {})[quantity]
    held = value if unit == "text" else float(value)
    return Figure(quantity, held, FACTORS[unit][1], str(value), unit, "config.json", kind="config")
