"""Measured memory, and plans that ran out of it, are scored beside speed and never as speed."""

from __future__ import annotations

from pathlib import Path

import pytest

from planner.validate import validate

HEAD = (
    "id,family,model,seq_len,global_batch_samples,micro_batch,tp_size,pp_size,dp_size,zero_stage,recompute,precision,"
    "hardware,n_gpus,gpus_per_node,metric,value,mem_gb_measured,flag,notes"
)
FITS = "Llama-2-7B,4096,8,1,8,1,1,0,selective,bf16,A100-80GB-SXM,8,8"
TOO_LARGE = "Llama-2-70B,4096,8,1,1,1,8,0,none,bf16,A100-80GB-SXM,8,8"


def written(tmp_path: Path, *rows: str) -> Path:
    path = tmp_path / "rows.csv"
    path.write_text("\n".join([HEAD, *rows]) + "\n")
    return path


@pytest.mark.parametrize(
    "end",
    [
        "iter_time_s,,,,CUDA out of memory",
        "iter_time_s,,,oom,",
        "iter_time_s,OOM,,,",
        "tokens_per_s_per_gpu,,OOM,,",
        "iter_time_s,0,,OOM,",
        "oom,1,,,",
        "fits,0,,,",
        "outcome,fail,,,",
    ],
)
def test_every_way_of_writing_that_memory_ran_out(tmp_path: Path, end: str) -> None:
    found = validate(written(tmp_path, f"a,f,{TOO_LARGE},{end}", f"b,f,{FITS},{end}", f"c,f,{FITS},iter_time_s,5,,,"))
    whole = found.memory[""]
    assert (whole.oom_cases, whole.oom_recalled) == (2, 1)
    assert found.overall.rows == found.overall.scored == 1
    document = found.document()
    assert document["overall"]["memory"]["oom_recalled"] == 1
    assert document["memory"][0]["family"] == "f"


def test_what_fits_is_no_case_and_what_ran_is_speed(tmp_path: Path) -> None:
    rows = (f"a,f,{FITS},oom,0,,,", f"b,f,{FITS},iter_time_s,5,,,OOM at micro batch 2")
    found = validate(written(tmp_path, *rows))
    assert "" not in found.memory
    assert found.overall.scored == 1


def test_memory_is_scored_beside_speed(tmp_path: Path) -> None:
    rows = (f"a,f,{FITS},iter_time_s,5,20,,", f"b,f,{FITS},iter_time_s,,20,,")
    found = validate(written(tmp_path, *rows))
    assert found.memory["f"].rows == 2
    assert 0 < found.memory["f"].median_ape < 0.6
    assert found.overall.rows == 1


def test_a_ledger_that_says_its_total_in_words(tmp_path: Path) -> None:
    path = tmp_path / "memory.csv"
    path.write_text(
        "id,engine,model,gpu,gpu_total_gib,tp,gpu_mem_util,max_model_len,kv_cache_gib_per_gpu,outcome,notes\n"
        "a,FasterTransformer,GPT-6.7B FP16,A100-80GB,,1,,,,ok,batch 8 isl 512 osl 32: total memory 18.72 GB\n"
        "b,vLLM v0.11.0,Llama-3.3-70B-FP8,H100 80GB,79.18,1,0.9,16000,,FAIL,no KV room\n"
    )
    found = validate(path)
    assert found.overall.refused == 0
    assert found.cells["FasterTransformer", "total_memory_gb"].median_ape < 0.05
    assert (found.memory[""].oom_cases, found.memory[""].oom_recalled) == (1, 1)
