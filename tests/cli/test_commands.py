"""Each command parses, calls the library, prints, and ends with the promised code."""

from __future__ import annotations

import csv
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from planner.cli import run
from planner.cli.menu import COMMANDS
from planner.show import width

HEAVY = ("optuna", "pandas", "pyarrow", "pint", "plotly", "rich", "scipy", "jinja2", "ruamel.yaml")
STUDY = """
title: A small study
solvers: [ServingModel, EconomicsModel]
fixed: {model: Llama3_8B, input_tokens: 512, output_tokens: 128}
space: {hardware: [A100, H100], precision: [bf16, fp8], batch_size: [1, 16, 4096]}
objectives: [{maximize: effective_throughput}, {minimize: cost_per_million_tokens}]
constraints: [itl <= 60 ms]
search: {method: grid}
"""


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of one's own with a study in it."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "small.yaml").write_text(STUDY)
    return tmp_path


def planner(*arguments: str) -> int:
    """The exit code of a command line."""
    return run(list(arguments))


def test_help_loads_nothing_heavy() -> None:
    loaded = f"print('LOADED', *[m for m in {HEAVY!r} if m in sys.modules])"
    code = f"import sys; from planner.cli import run; run(['--help']); {loaded}"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert out.strip().endswith("LOADED")
    assert all(name in out for name in COMMANDS)


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_help_with_an_example(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert planner(name, "--help") == 0
    shown = capsys.readouterr().out
    assert f"Example: planner {name}" in " ".join(shown.split())


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["frobnicate"], "no command 'frobnicate'"),
        (["rnu"], "did you mean 'run'"),
        (["run", "small.yaml", "--frobnicate"], "No such option '--frobnicate'"),
        (["run"], "Missing argument"),
        (["run", "absent.yaml"], "no file and no shipped study"),
        (["run", "small.yaml", "--trials", "0"], "is not in the range"),
        (["run", "small.yaml", "--set", "nonsense"], "is not key=value"),
        (["run", "small.yaml", "--set", "space.tp=[1]"], "tp_size"),
        (["solve", "ServinModel", "a=1"], "did you mean 'ServingModel'"),
        (["solve", "ServingModel", "model"], "is not key=value"),
        (["solve", "ServingModel", "model=GPT2", "model=GPT2"], "given twice"),
        (["solve", "ServingModel", "model=Llama3_70B", "hardwear=H100"], "did you mean 'hardware'"),
        (["solve", "ServingModel", "model=Llama3_70B", "hardware=H100", "batch_size=nan"], "not finite"),
        (["solve", "ServingModel", "model=Llama3_70B", "hardware=H100", "batch_size=-4"], "out of range"),
        (["solve", "ServingModel", "model=Llama3_70B", "hardware=H100", "batch_size=3 GB"], "batch_size"),
        (["catalog", "hadware"], "hardware"),
        (["catalog", "hardware", "H999"], "no hardware named"),
        (["report", "nowhere"], "no run"),
        (["explain", "nowhere", "3"], "no run"),
        (["explain", "nowhere", "three"], "not a valid integer"),
        (["pareto", "nowhere", "--objective", "minimize: itl"], "no such run or file"),
        (["validate", "nowhere.csv"], "no such file"),
        (["import-model", "nowhere"], "no such file"),
    ],
)
def test_bad_input_ends_with_1_and_says_what_is_wrong(
    here: Path, arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert planner(*arguments) == 1
    shown = capsys.readouterr()
    assert said in " ".join(shown.err.split())
    assert shown.out == ""
    assert "Traceback" not in shown.err


def test_a_run_leaves_what_was_promised(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert planner("run", "small.yaml") == 0
    folder = here / "runs" / "small"
    assert {"study.yaml", "trials", "front.parquet", "report.html", "run.json"} <= {p.name for p in folder.iterdir()}
    shown = capsys.readouterr()
    assert "12 plans tried" in shown.out
    assert shown.err == ""
    assert "\x1b" not in shown.out


def test_quiet_prints_the_folder_alone(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert planner("run", "small.yaml", "--out", "r", "--quiet") == 0
    shown = capsys.readouterr()
    assert (shown.out, shown.err) == ("r\n", "")


def test_an_existing_folder_is_refused_and_resumed_when_asked(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert planner("run", "small.yaml", "--out", "r", "--resume", "--quiet") == 0
    assert planner("run", "small.yaml", "--out", "r", "--quiet") == 1
    assert "exists" in capsys.readouterr().err
    assert planner("run", "small.yaml", "--out", "r", "--resume", "--quiet") == 0


def test_settings_replace_keys(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert planner("run", "small.yaml", "--set", "batch_size=[1, 2]", "--set", "title=Another", "--json") == 0
    made = json.loads(capsys.readouterr().out)
    assert (made["title"], made["trials"]) == ("Another", 8)
    assert made["plans"][0]["objectives"]["maximize: effective_throughput"] > 0


def test_nothing_feasible_ends_with_2_and_says_why(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert planner("run", "small.yaml", "--set", "model=Llama3_405B", "--set", "precision=bf16", "--out", "r") == 2
    shown = capsys.readouterr().out
    assert "No plan is feasible" in shown
    assert "nearest miss" in shown
    assert "does not fit" in shown
    assert planner("report", "r") == 2


def test_report_pareto_and_explain_read_a_run(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert planner("run", "small.yaml", "--out", "r") == 0
    first = capsys.readouterr().out
    assert planner("report", "r") == 0
    assert capsys.readouterr().out == first
    assert planner("report", "r", "--html", "again.html", "--quiet") == 0
    assert (here / "again.html").read_text() == (here / "r" / "report.html").read_text()
    assert planner("pareto", "r", "--objective", "minimize: itl", "--json") == 0
    (best,) = json.loads(capsys.readouterr().out)["front"]
    assert best["batch_size"] == 1
    assert planner("explain", "r", str(best["trial"])) == 0
    assert "Which figures it rests on" in capsys.readouterr().out


def test_pareto_reads_any_table(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    import pandas as pd

    pd.DataFrame({"name": ["a", "b", "c"], "speed": [3.0, 2.0, 1.0], "price": [3.0, 1.0, 2.0]}).to_parquet("t.parquet")
    asked = ["--objective", "maximize: speed", "--objective", "minimize: price"]
    assert planner("pareto", "t.parquet", *asked, "--out", "front.parquet") == 0
    assert "2 of 3 trials" in capsys.readouterr().out
    assert pd.read_parquet("front.parquet").name.tolist() == ["a", "b"]
    assert planner("pareto", "t.parquet", "--objective", "maximize: sped") == 1
    assert "did you mean 'speed'" in capsys.readouterr().err
    (here / "x.parquet").write_bytes(b"no table")
    assert planner("pareto", "x.parquet", *asked) == 1


def test_solve_prints_every_column_with_its_unit(capsys: pytest.CaptureFixture[str]) -> None:
    from solvers import ServingModel

    arguments = ["model=Llama3_8B", "hardware=H100", "precision=fp8", "batch_size=16"]
    assert planner("solve", "ServingModel", *arguments) == 0
    shown = capsys.readouterr().out
    says = [n for n in ServingModel.wiring().says if n != "reasons"]
    assert [line.split()[0] for line in shown.splitlines()[3:]] == says
    assert planner("solve", "ServingModel", *arguments, "--json") == 0
    made = json.loads(capsys.readouterr().out)
    direct = ServingModel().solve("Llama3_8B", "H100", precision="fp8", batch_size=16)
    assert made["answers"]["ServingModel"]["itl"]["value"] == direct.itl.m_as("s")
    assert made["answers"]["ServingModel"]["itl"]["unit"] == "s"
    assert all(
        not isinstance(v["value"], str) or n in ("bottleneck",) for n, v in made["answers"]["ServingModel"].items()
    )


def test_an_infeasible_plan_ends_with_2_and_the_reason(capsys: pytest.CaptureFixture[str]) -> None:
    assert planner("solve", "ServingModel", "model=Llama3_70B", "hardware=H100", "precision=fp16") == 2
    shown = capsys.readouterr()
    assert "GiB" in shown.err
    assert "itl" in shown.out
    assert planner("solve", "ServingModel", "model=Llama3_70B", "hardware=H100", "precision=fp16", "--json") == 2
    made = json.loads(capsys.readouterr().out)
    assert made["feasible"] is False
    assert "does_not_fit" in made["reasons"]


def test_solvers_in_a_row_pass_columns_on(capsys: pytest.CaptureFixture[str]) -> None:
    asked = ["model=Llama3_8B", "hardware=H100", "batch_size=16", "price_per_hour=2 USD/hour", "--json"]
    assert planner("solve", "ServingModel,EconomicsModel", *asked) == 0
    answers = json.loads(capsys.readouterr().out)["answers"]
    rate = answers["ServingModel"]["effective_throughput"]["value"]
    assert answers["EconomicsModel"]["cost_per_million_tokens"]["value"] == pytest.approx(2 / 3600 / rate * 1e6)


def test_solve_without_values_lists_what_it_asks(capsys: pytest.CaptureFixture[str]) -> None:
    assert planner("solve", "ServingModel") == 0
    shown = capsys.readouterr().out
    assert "tp_size" in shown
    assert "itl" in shown


def test_every_figure_of_the_catalogue_has_its_source(capsys: pytest.CaptureFixture[str]) -> None:
    assert planner("catalog", "hardware", "H100", "--json") == 0
    made = json.loads(capsys.readouterr().out)
    assert made["figures"]["memory_bandwidth"] | {"source": 0, "note": 0} == made["figures"]["memory_bandwidth"] | {
        "value": 3.35e12, "unit": "byte/s", "source": 0, "note": 0,
    }  # fmt: skip
    assert all(f["source"] in made["sources"] for f in made["figures"].values())
    assert planner("catalog", "hardware", "H100") == 0
    shown = capsys.readouterr().out
    assert "3.35 TB/s" in shown
    assert "[1]" in shown


def test_kinds_and_entries_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert planner("catalog") == 0
    assert planner("catalog", "model") == 0
    assert planner("catalog", "constant") == 0
    assert planner("catalog", "fleet", "--json") == 0
    shown = capsys.readouterr().out
    assert "Frontier_8K" in shown
    assert "Llama-3-70B" in shown


def test_an_imported_model_can_be_studied(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config: dict[str, Any] = {
        "architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": 2048, "intermediate_size": 8192,
        "num_hidden_layers": 16, "num_attention_heads": 32, "num_key_value_heads": 8, "vocab_size": 128256,
        "max_position_embeddings": 131072, "tie_word_embeddings": True, "torch_dtype": "bfloat16", "head_dim": 64,
    }  # fmt: skip
    (here / "config.json").write_text(json.dumps(config))
    assert planner("import-model", "config.json", "--name", "Mine") == 0
    snippet = capsys.readouterr().out
    assert snippet.startswith("catalog:")
    (here / "mine.yaml").write_text(STUDY.replace("Llama3_8B", "Mine") + snippet)
    assert planner("run", "mine.yaml", "--quiet") == 0
    assert planner("import-model", ".", "--name", "Mine", "--out", "part.yaml") == 0
    assert (here / "part.yaml").read_text() == snippet
    (here / "config.json").write_text("[1, 2")
    assert planner("import-model", "config.json") == 1


def test_the_schema_takes_the_shipped_studies(capsys: pytest.CaptureFixture[str]) -> None:
    from planner.study import shipped_studies
    from planner.study.yamltext import read

    assert planner("schema") == 0
    schema = json.loads(capsys.readouterr().out)
    properties = schema["properties"]
    for path in shipped_studies().values():
        data = read(path.read_bytes(), path.name).data
        assert set(data) <= set(properties)
        for section in ("fixed", "space"):
            assert set(data.get(section, {})) <= set(properties[section]["properties"]), path.name


def test_the_shipped_studies_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert planner("studies", "--json") == 0
    names = [s["name"] for s in json.loads(capsys.readouterr().out)]
    assert {"serve_llama3_70b", "train_llama3_70b"} <= set(names)


def test_validate_writes_json(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    columns = (
        "id,family,engine,model,hardware,n_gpus,tp_size,weight_precision,kv_precision,input_tokens,output_tokens,"
        "concurrency,metric,value"
    )
    line = [
        "a",
        "mine",
        "vLLM",
        "Llama-3-8B",
        "H100-SXM",
        "1",
        "1",
        "bf16",
        "bf16",
        "1024",
        "256",
        "16",
        "tpot_ms",
        "10",
    ]
    with Path("m.csv").open("w", newline="") as file:
        csv.writer(file).writerows([columns.split(","), line, [*line[:3], "nothing-like-this", *line[4:]]])
    assert planner("validate", "m.csv", "--json", "out.json") == 0
    assert "median error over" in capsys.readouterr().out
    made = json.loads((here / "out.json").read_text())
    assert (made["overall"]["rows"], made["overall"]["refused"]) == (2, 1)
    assert made["rows"][1]["reason"]


def test_a_warning_is_a_sentence(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    setting = "space.efficiency={low: 0.1, high: 0.35, step: 0.1}"
    assert planner("run", "small.yaml", "--out", "r", "--quiet", "--set", setting) == 0
    assert capsys.readouterr().err == "planner: steps of 0.1 end at 0.3, before high: 0.35\n"


@pytest.mark.parametrize("option", ["--html", "--out"])
def test_a_place_that_cannot_be_written_is_named(here: Path, capsys: pytest.CaptureFixture[str], option: str) -> None:
    assert planner("run", "small.yaml", "--out", "r", "--quiet") == 0
    command = ["report", "r"] if option == "--html" else ["pareto", "r", "--objective", "minimize: itl"]
    assert planner(*command, option, "absent/x") == 1
    said = capsys.readouterr().err
    assert said.startswith("planner: absent/")
    assert said.endswith(": No such file or directory\n")


def test_a_fault_of_ours_shows_its_traceback(
    here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken(*_: Any, **__: Any) -> None:
        raise NameError("a bug")

    monkeypatch.setattr("planner.study.shipped_studies", broken)
    assert planner("studies") == 3
    shown = capsys.readouterr().err
    assert "Traceback" in shown
    assert "NameError: a bug" in shown


def test_an_interrupted_run_ends_with_130_and_says_how_to_go_on(
    here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("planner.run.explorer.explore_grid", interrupted)
    assert planner("run", "small.yaml", "--out", "r") == 130
    shown = capsys.readouterr().err
    assert "--resume" in shown
    assert "Traceback" not in shown


def test_a_full_disk_ends_with_3_and_says_what_is_safe(
    here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def full(*_: Any, **__: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("planner.run.explorer.explore_grid", full)
    assert planner("run", "small.yaml", "--out", "r") == 3
    shown = capsys.readouterr().err
    assert "No space left on device" in shown
    assert "--resume" in shown
    assert "Traceback" not in shown


def test_a_reader_that_goes_away_is_no_fault(here: Path) -> None:
    code = "import sys; from planner.cli import main; sys.argv = ['planner', 'catalog', 'model']; main()"
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.readline()
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait() == 0


def test_tables_in_a_terminal_and_in_a_pipe_line_up(capsys: pytest.CaptureFixture[str]) -> None:
    planner("catalog", "grid")
    lines = capsys.readouterr().out.splitlines()
    assert lines[1].startswith("─")
    assert all(width(line) <= width(lines[1]) for line in lines)
