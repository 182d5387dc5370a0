"""The kinds of measurement files: how each is told by its columns, and what it may hold."""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from solvers.complaints import Complaint, InvalidInput

_SOURCE = ("source", "url", "notes")


@dataclass(frozen=True)
class Task:
    """One kind of file.

    `tells` are the columns that a file of this kind has and no other; `measured` those that hold measured values;
    `layout` those that may differ between rows whose order we claim to predict; `cell` names the family of a row
    where the file has no `family`; `memory` are columns of measured memory beside the measured value; `noted`
    are columns that are read from the notes where they are not there, each with what it looks like.
    """

    name: str
    tells: tuple[str, ...]
    numbers: tuple[str, ...]
    words: tuple[str, ...]
    layout: tuple[str, ...]
    measured: tuple[str, ...] = ("value",)
    cell: str = "family"
    memory: tuple[str, ...] = ()
    noted: tuple[tuple[str, str], ...] = ()
    sweeps: bool = False

    @property
    def predict(self) -> Callable[..., Any]:
        """The function that predicts such a file.

        Raises:
            InvalidInput: nobody wrote one.
        """
        module = f"planner.validation.{self.name}"
        if importlib.util.find_spec(module) is None:
            message = f"files of {self.name.replace('_', ' ')} measurements are known, and nothing predicts them yet"
            raise InvalidInput([Complaint("", message)])
        predict: Callable[..., Any] = importlib.import_module(module).predict
        return predict


TASKS = (
    Task(
        "training",
        tells=("seq_len", "global_batch_samples", "metric", "value"),
        numbers=(
            "params", "layers", "hidden", "heads", "kv_heads", "head_dim", "ffn_hidden", "gated_mlp", "tied_embeddings",
            "vocab", "num_experts", "top_k", "moe_ffn_hidden", "shared_expert_ffn", "dense_layers", "active_params",
            "seq_len", "global_batch_samples", "micro_batch", "tp_size", "pp_size", "v_stages", "dp_size", "cp_size",
            "ep_size", "zero_stage", "sequence_parallel", "n_gpus", "gpus_per_node",
        ),
        words=("family", "task", "model", "attn", "recompute", "precision", "hardware", "intra_node_link",
               "inter_node_network", "software", "metric", "tflops_kind", "quality", "flag", *_SOURCE),
        layout=("n_gpus", "micro_batch", "tp_size", "pp_size", "v_stages", "dp_size", "cp_size", "ep_size",
                "zero_stage", "sequence_parallel", "recompute"),
        memory=("mem_gb_measured",),
        sweeps=True,
    ),
    Task(
        "serving",
        tells=("input_tokens", "output_tokens", "concurrency", "metric", "value"),
        numbers=("n_gpus", "tp_size", "pp_size", "dp_size", "ep_size", "moe_tp_size", "input_tokens", "output_tokens",
                 "concurrency", "request_rate"),
        words=("family", "engine", "model", "hardware", "weight_precision", "kv_precision", "metric", "flag", *_SOURCE),
        layout=("n_gpus", "tp_size", "pp_size", "dp_size", "ep_size", "moe_tp_size", "concurrency"),
    ),
    Task(
        "speculation",
        tells=("target", "draft", "speedup"),
        numbers=("gamma_num_spec_tokens", "acceptance_rate_alpha", "accepted_len_tau", "batch", "baseline_tok_s",
                 "spec_tok_s"),
        words=("target", "draft", "method", "hardware", "engine", "workload", "temperature", "flag", *_SOURCE),
        layout=("gamma_num_spec_tokens", "batch"),
        measured=("speedup",),
        cell="method",
    ),
    Task(
        "data_pipeline",
        tells=("stage", "workload", "metric", "value", "unit"),
        numbers=("n_accelerators", "n_hosts"),
        words=("family", "stage", "system", "hardware", "workload", "cores_or_workers", "metric", "unit", "flag",
               *_SOURCE),
        layout=("n_accelerators", "n_hosts", "cores_or_workers"),
        cell="workload",
    ),
    Task(
        "energy",
        tells=("gpu", "avg_power_w", "energy_j_per_request"),
        numbers=("n_gpus", "batch", "avg_output_len", "tp"),
        words=("model", "task", "gpu", "precision", "flag", *_SOURCE),
        layout=("n_gpus", "batch", "tp"),
        measured=("avg_power_w", "energy_j_per_request", "energy_j_per_token", "energy_j_per_image",
                  "energy_j_per_video", "output_tok_s"),
        cell="task",
    ),
    Task(
        "memory",
        tells=("gpu_mem_util", "kv_cache_gib_per_gpu"),
        numbers=("gpu_total_gib", "tp", "gpu_mem_util", "max_model_len", "batch_size", "input_tokens", "output_tokens",
                 "max_num_sequences", "max_batched_tokens"),
        words=("engine", "model", "gpu", "outcome", "flag", *_SOURCE),
        layout=("tp", "gpu_mem_util", "max_model_len"),
        measured=("weights_gib_per_gpu", "activation_peak_gib", "kv_cache_gib_per_gpu", "kv_tokens",
                  "kv_bytes_per_token_per_gpu", "total_memory_gb"),
        noted=(
            ("total_memory_gb", r"total memory ([0-9.]+) ?GB"), ("batch_size", r"\bbatch(?:[ _-]size)?[ =]([0-9]+)"),
            ("input_tokens", r"\bisl[ =]([0-9]+)"), ("output_tokens", r"\bosl[ =]([0-9]+)"),
            ("max_num_sequences", r"max[_-]num[_-]seqs[ =]([0-9]+)"),
            ("max_batched_tokens", r"max[_-]num[_-]batched[_-]tokens[ =]([0-9]+)"),
        ),
        cell="engine",
    ),
    Task(
        "reasoning",
        tells=("strategy", "n_samples", "metric", "value"),
        numbers=("n_samples",),
        words=("model", "task", "strategy", "hardware", "metric", "unit", "flag", *_SOURCE),
        layout=("n_samples",),
        cell="strategy",
    ),
)  # fmt: skip


def task_of(columns: Iterable[str], place: str = "") -> Task:
    """The kind of file that has these columns.

    Raises:
        InvalidInput: no kind has them all; names the nearest kind and what it lacks.
    """
    present = set(columns)
    for task in TASKS:
        if present >= set(task.tells):
            return task
    nearest = max(
        TASKS, key=lambda t: len(present & {*t.tells, *t.numbers, *t.words}) + 0.5 * len(present & set(t.tells))
    )
    lacking = [name for name in nearest.tells if name not in present]
    kinds = "; ".join(f"{t.name}: {', '.join(t.tells)}" for t in TASKS)
    without = f"nearest is {nearest.name}, without {', '.join(lacking)}"
    message = f"its columns tell no kind of measurement file; {without} ({kinds})"
    raise InvalidInput([Complaint("", message, place)])
