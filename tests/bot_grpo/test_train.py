"""`bot-grpo train` as a person runs it, with a tiny model and the real sandbox."""

from __future__ import annotations

import json
import math
import os
import pty
import re
import select
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
import torch
import yaml
from safetensors.torch import load_file
from tiny import save_tiny_model

from bot_grpo.alarms import SIGNS
from bot_grpo.algorithms import ALGORITHMS
from bot_grpo.cli import main
from bot_grpo.cli.train import parse
from bot_grpo.recipe_files import read_recipe, whole
from bot_grpo.rundir import RunDir
from bot_grpo.train import load_rows

FLAGS = """
    --config react-smollm2-cpu --model_dtype float32 --bf16 false --max_completion_length 24 --cold_start_steps 1
    --cold_start_batch_size 2 --eval_prompts 3 --per_device_train_batch_size 2 --gradient_accumulation_steps 2
    --num_generations 2 --per_device_eval_batch_size 3 --eval_steps 2 --save_steps 2 --lora_r 2
""".split()  # noqa: SIM905
TIMES = ("seconds/", "runtime", "per_second", "step_time")


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_tiny_model(tmp_path_factory.mktemp("tiny"))


def train(tiny: Path, out: Path, *flags: str) -> int:
    return main(["train", *FLAGS, "--model", str(tiny), "--output_dir", str(out), *flags])


@pytest.fixture(scope="module")
def straight(tiny: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of four steps that nothing interrupts."""
    out = tmp_path_factory.mktemp("runs") / "straight"
    assert train(tiny, out, "--max_steps", "4") == 0
    return out


def without_times(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{k: v for k, v in row.items() if not any(t in k for t in TIMES)} for row in rows]


@pytest.mark.browser
def test_a_run_leaves_what_the_run_directory_promises(straight: Path) -> None:
    rows = RunDir(straight).read_metrics()
    steps = [r for r in rows if "loss" in r]
    assert [r["step"] for r in steps] == [1, 2, 3, 4]
    promised = (
        "compile_rate render_rate requirements reward/outcome completion_length truncated seconds/generate "
        "seconds/score seconds/update algo/sigma grad_norm"
    )
    assert set(promised.split()) <= set(steps[0])
    assert [r["step"] for r in rows if "eval/compile_rate" in r] == [0, 2, 4]
    assert rows[0]["cold_start/steps"] == 1
    rollouts = pq.read_table(straight / "rollouts" / "step-00001.parquet").to_pylist()
    assert [r["group"] for r in rollouts] == [0, 0, 1, 1]
    for r in rollouts:
        assert len(r["token_ids"]) == len(r["spans"]) == len(r["token_rewards"]) == len(r["advantages"])
        assert r["status"]
    assert yaml.safe_load((straight / "config.yaml").read_text())["algorithm"] == "bot_grpo"
    assert json.loads((straight / "summary.json").read_text())["finished"] is True
    assert (straight / "model" / "adapter_model.safetensors").exists()


@pytest.mark.browser
def test_a_resumed_run_comes_to_the_same_numbers(tiny: Path, straight: Path, tmp_path: Path) -> None:
    out = tmp_path / "resumed"
    assert train(tiny, out, "--max_steps", "2") == 0
    config = ["train", "--config", str(out / "config.yaml"), "--output_dir", str(out), "--max_steps", "4"]
    assert main([*config, "--resume", "auto"]) == 0
    mine, theirs = (without_times(RunDir(p).read_metrics()) for p in (out, straight))
    assert [r for r in mine if "loss" in r] == [r for r in theirs if "loss" in r]
    assert [r for r in mine if "eval/compile_rate" in r and r["step"] == 4] == [
        r for r in theirs if "eval/compile_rate" in r and r["step"] == 4
    ]
    a, b = (load_file(p / "model" / "adapter_model.safetensors") for p in (out, straight))
    assert a.keys() == b.keys()
    for name in a:
        torch.testing.assert_close(a[name], b[name], rtol=0, atol=0)


@pytest.mark.browser
def test_ctrl_c_saves_a_checkpoint_and_says_how_to_go_on(tiny: Path, tmp_path: Path) -> None:
    out = tmp_path / "stopped"
    endless = "--max_steps 500 --save_steps 500 --eval_strategy no --eval_on_start false".split()  # noqa: SIM905
    train_flags = [*FLAGS, "--model", str(tiny), "--output_dir", str(out), *endless]
    command = [sys.executable, "-m", "bot_grpo", "train", *train_flags]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd=os.getcwd())
    deadline = time.monotonic() + 200
    while not RunDir(out).read_metrics()[1:] and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.2)
    process.send_signal(signal.SIGINT)
    text = process.communicate(timeout=100)[0]
    assert process.returncode == 1, text
    assert "--resume auto" in text
    done = json.loads((out / "summary.json").read_text())
    assert done["finished"] is False
    assert (out / "checkpoints" / f"checkpoint-{done['steps']}" / "trainer_state.json").exists()


@pytest.mark.browser
def test_ctrl_c_in_the_cold_start_ends_it_at_once_and_gives_the_cursor_back(tiny: Path, tmp_path: Path) -> None:
    out = tmp_path / "stopped"
    flags = [*FLAGS, "--model", str(tiny), "--output_dir", str(out), "--cold_start_steps", "100000"]
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "bot_grpo", "train", *flags]
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "100"}
    process = subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs, env=environment)
    os.close(theirs)
    seen = read_until(ours, r"cold start +[1-9]\d*/100000.*loss \d", within_s=200)
    process.send_signal(signal.SIGINT)
    seen += read_until(ours, "stopped", within_s=100)
    assert process.wait(100) == 130, seen
    assert "with a checkpoint" not in seen
    hidden, shown = seen.rindex("\x1b[?25l"), seen.rindex("\x1b[?25h")
    assert hidden < shown
    assert not list((out / "checkpoints").glob("checkpoint-*"))
    os.close(ours)


def read_until(terminal: int, pattern: str, within_s: float) -> str:
    """What comes from a terminal until it has the pattern; raises AssertionError where it does not come in time."""
    text, end = "", time.monotonic() + within_s
    while not re.search(pattern, text):
        assert time.monotonic() < end, text
        if select.select([terminal], [], [], 0.2)[0]:
            text += os.read(terminal, 1 << 16).decode("utf-8", "replace")
    return text


@pytest.mark.browser
def test_what_takes_long_says_so_where_there_is_no_terminal(
    tiny: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert train(tiny, tmp_path / "run", "--max_steps", "1", "--cold_start_steps", "3") == 0
    said = capsys.readouterr().out
    assert re.findall(r"^cold start (\d)/3  loss \d+\.\d{3}$", said, re.MULTILINE) == ["1", "2", "3"]
    assert said.index("\nevaluating held-out prompts\n") < said.index("held out: ")


@pytest.mark.browser
def test_a_kept_cold_start_is_taken_by_a_run_that_would_do_the_same(
    straight: Path, tiny: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    starts = tmp_path / "starts"
    keeping = ["--cold_starts", str(starts)]
    assert train(tiny, tmp_path / "first", *keeping, "--max_steps", "1", "--algorithm", "grpo") == 0
    (kept,) = starts.iterdir()
    assert "taken from" not in capsys.readouterr().out
    assert train(tiny, tmp_path / "second", *keeping, "--max_steps", "4") == 0
    assert "on reference answers, loss " in (said := capsys.readouterr().out)
    assert f", taken from {kept}\n" in said
    assert list(starts.iterdir()) == [kept]
    # The run is the one that does its own cold start, to the digit.
    second = RunDir(tmp_path / "second").read_metrics()
    assert without_times(second) == without_times(RunDir(straight).read_metrics())


def test_help_is_as_wide_as_the_terminal(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "72")
    assert main(["train", "--help"]) == 0
    options = capsys.readouterr().out.partition("only look:\n")[2]
    assert "\n  --cold_starts                Folder that keeps cold starts" in options
    (last,) = [line for line in options.splitlines() if len(line) > 70]
    assert last.startswith("every other field of trl.GRPOConfig")


BAD = [
    (["--algorithm", "bot_grop"], "did you mean 'bot_grpo'"),
    (["--algorithm", "gpro"], "'grpo'"),
    (["--model", "smollm2_135m"], "did you mean 'smollm2-135m'"),
    (["--columns", "prompt"], "prompt=NAME"),
    (["--columns", "prompt=ask"], "give them too"),
    (["--algorithm_settings", '{"sigma": 1}'], "no setting sigma"),
    (["--config", "no-such-recipe"], "neither a file nor a recipe"),
    (["--no_such_flag", "1"], "unknown setting --no_such_flag"),
    (["--num_generation", "4"], "did you mean --num_generations"),
    (["stray"], "stray"),
    (["--num_generations", "3"], "gradient_accumulation_steps"),
    (["--algorithm_settings", "{bogus"], "JSON"),
    (["--sandbox_workers", "0"], "sandbox_workers must be 1 or more"),
    (["--sandbox_workers", "rya"], "sandbox_workers must be 1 or more, ray, or ray://host:port"),
    (["--sandbox_timeout", "0"], "sandbox_timeout"),
    (["--eval_prompts", "-1"], "eval_prompts"),
    (["--model_dtype", "float8"], "model_dtype"),
    (["--model", "/nowhere/model"], "there is no such folder"),
    (["--prompts", "nothing.jsonl"], "nothing.jsonl"),
    (["--max_completion_length", "9000"], "context"),
    (["--reward_settings", '{"w_compil": 1}'], "w_compil"),
    (["--reward_settings", '{"w_code_judge": 1}'], "need a code_judge"),
    (["--reward_settings", '{"code_judge": {"modle": "m"}}'], "modle"),
    (["--reward_settings", '{"code_judge": {"model": "m", "api_key": "k"}}'], "OPENAI_API_KEY"),
    (["--reward_settings", '{"screenshot_judge": "gpt"}'], "is a mapping"),
    (["--epsilon", "0.3"], "clip_low"),
    (["--mask_truncated_completions", "true"], "overlong"),
    (["--resume", "nowhere/checkpoint-2"], "is not a whole checkpoint"),
    (["--task", "chess"], "no task 'chess'"),
    (["--tier", "huge"], "huge"),
    (["--max_steps", "many"], "many"),
    (["--gpu", "24GB"], "with --dry-run"),
    (["--dry-run", "--gpu", "big"], "24GB or 80GB"),
    (["--stop_tokens", "<|nothing|>"], "no token"),
    (["--cold_start_direct", "1.5"], "a share, from 0 to 1"),
    (["--cold_start_direct", "0.5"], "is of task aime, not react"),
    (["--task", "aime", "--cold_start_direct", "0.5", "--cold_start_steps", "0"], "nothing without a cold start"),
    (["--learning_rate", "nan"], "learning_rate must be a finite number; it is nan"),
    (["--learning_rate", "-1"], "learning_rate must be 0 or more"),
    (["--cold_start_learning_rate", "inf"], "cold_start_learning_rate must be a finite number"),
    (["--max_completion_length", "0"], "max_completion_length must be 1 or more; it is 0"),
    (["--max_steps", "0"], "max_steps must be 1 or more, or -1 for num_train_epochs"),
    (["--max_steps", "-5"], "max_steps must be"),
    (["--seed", "-1"], "seed must be from 0"),
    (["--vllm_gpu_memory_utilization", "7"], "a share, above 0 and at most 1"),
    (["--reward_settings", '{"window": -3}'], "window is a whole number of lines, 0 to 1000, not -3"),
    (["--reward_settings", "{window: 3}"], "--reward_settings is a mapping, which wants JSON on the command line"),
    (["--dry-run", "--reward_settings", '{"w_lint": -1}'], "w_lint is 0 or more, not -1"),
    (["--dry-run", "--tier", "huge"], "no tier 'huge'"),
    (["--dry-run", "--task", "aime", "--reward_settings", '{"window": 2}'], "window is an odd number"),
    (["--dry-run", "--task", "chess"], "no task 'chess'"),
]


def test_resuming_wants_a_run(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["train", "--config", "react-smollm2-cpu", "--resume", "auto"]) == 2
    assert capsys.readouterr().err.endswith("goes on with the run in --output_dir: say which\n")


@pytest.mark.parametrize(("flags", "says"), BAD, ids=lambda v: v[0] if isinstance(v, list) else "")
def test_bad_input_is_one_line_and_exit_code_2(
    flags: list[str], says: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "run"
    assert main(["train", "--config", "react-smollm2-cpu", "--output_dir", str(out), *flags]) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1, error
    assert says in error
    assert not out.exists() or not any(out.iterdir())


def test_an_existing_run_is_not_written_over(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "metrics.jsonl").write_text("{}\n")
    assert main(["train", "--config", "react-smollm2-cpu", "--output_dir", str(tmp_path)]) == 2
    assert "already holds a run" in capsys.readouterr().err
    assert (tmp_path / "metrics.jsonl").read_text() == "{}\n"


def test_an_unknown_key_in_a_config_names_the_nearest(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "c.yaml").write_text("algoritm: grpo\n")
    assert main(["train", "--config", str(tmp_path / "c.yaml")]) == 2
    assert "did you mean 'algorithm'" in capsys.readouterr().err


@pytest.mark.parametrize("recipe", whole())
def test_every_recipe_of_one_file_parses(recipe: str, tmp_path: Path) -> None:
    args = parse(["--config", recipe, "--output_dir", str(tmp_path)])
    assert read_recipe(recipe).settings["model"] == args.model
    args.make_algorithm()


def test_a_flag_wins_over_the_config(tmp_path: Path) -> None:
    args = parse(["--config", "react-smollm2-cpu", "--seed", "7", "--output_dir", str(tmp_path)])
    assert args.seed == 7


def test_without_held_out_prompts_nothing_is_evaluated(tmp_path: Path) -> None:
    flags = ["--config", "react-smollm2-cpu", "--output_dir", str(tmp_path)]
    assert parse(flags).eval_strategy == "steps"
    args = parse([*flags, "--eval_prompts", "0"])
    assert args.eval_strategy == "no"
    assert not args.eval_on_start
    assert not args.do_eval


def test_another_algorithm_does_not_inherit_the_settings_of_the_recipes(tmp_path: Path) -> None:
    flags = ["--config", "react-smollm2-cpu", "--output_dir", str(tmp_path)]
    assert parse([*flags, "--algorithm", "bot_grpo"]).algorithm_settings == {"sigma_floor": 0.1}
    assert parse([*flags, "--algorithm", "grpo"]).algorithm_settings == {}
    assert parse([*flags, "--algorithm", "grpo", "--algorithm_settings", '{"beta": 0.1}']).algorithm_settings == {
        "beta": 0.1
    }


def test_a_run_without_a_name_gets_a_folder_of_its_own() -> None:
    assert parse(["--config", "react-smollm2-cpu", "--seed", "3"]).output_dir.startswith("runs/react-bot_grpo-seed3-2")


def test_a_file_with_columns_of_its_own_is_read(tmp_path: Path) -> None:
    asked = [{"ask": f"Show {n}.", "checks": [{"check": "text", "text": str(n)}]} for n in range(20)]
    file = tmp_path / "own.jsonl"
    file.write_text("\n".join(json.dumps(row) for row in asked))
    args = parse(
        ["--prompts", str(file), "--columns", "prompt=ask, requirements=checks", "--tier", "", "--eval_prompts", "2"]
    )
    train_rows, held_out = load_rows(args)
    assert {r.prompt for r in [*train_rows, *held_out]} <= {row["ask"] for row in asked}
    assert all(r.row["requirements"] for r in train_rows)
    assert len(held_out) == 2


def test_a_cold_start_shows_a_share_of_the_answers_without_steps() -> None:
    def taught(share: str) -> list[str]:
        flags = ["--config", "aime-smollm2-cpu", "--cold_start_direct", share]
        return [row.reference or "" for row in load_rows(parse(flags))[0]]

    half = taught("0.5")
    direct = [text for text in half if "<step" not in text]
    assert 0.45 < len(direct) / len(half) < 0.55
    assert all(re.fullmatch(r"<final>\d+</final>", text) for text in direct)
    assert taught("0.5") == half
    assert all("<step 1>" in text for text in taught("0"))
    assert not any("<step" in text for text in taught("1"))


@pytest.mark.slow
@pytest.mark.browser
@pytest.mark.parametrize("name", ALGORITHMS)
def test_every_algorithm_trains_from_the_command_line(name: str, tiny: Path, tmp_path: Path) -> None:
    """Two updates of a batch, so that the ratio is not 1 in the second one."""
    more = ["--algorithm", name, "--num_iterations", "2", "--max_steps", "2", "--eval_strategy", "no"]
    assert train(tiny, tmp_path / name, *more, "--eval_on_start", "false", "--save_strategy", "no") == 0
    steps = [r for r in RunDir(tmp_path / name).read_metrics() if "loss" in r]
    assert [r["step"] for r in steps] == [1, 2]
    assert all(math.isfinite(r["loss"]) and math.isfinite(r["grad_norm"]) for r in steps)
    assert yaml.safe_load((tmp_path / name / "config.yaml").read_text())["algorithm"] == name


@pytest.mark.browser
def test_an_alarm_ends_the_run_with_a_checkpoint_where_that_is_asked_for(
    tiny: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "alarmed"
    more = "--stop_on_alarm true --max_steps 9 --eval_strategy no --eval_on_start false --save_steps 100".split()  # noqa: SIM905
    assert train(tiny, out, *more) == 1  # a random model never ends an answer
    steps = json.loads((out / "summary.json").read_text())["steps"]
    assert 3 <= steps < 9
    assert (out / "checkpoints" / f"checkpoint-{steps}" / "trainer_state.json").exists()
    alarms = [row for row in RunDir(out).read_metrics() if "alarms" in row]
    assert alarms[-1]["step"] == steps
    said = capsys.readouterr().out
    name = alarms[-1]["alarms"][0].split(":")[0]
    assert name in SIGNS
    assert f"alarm {name}:" in said
    assert f"stopped by {name}" in said
    assert "--resume auto" in said


def test_a_model_without_a_chat_template_is_one_line(
    tiny: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bare = shutil.copytree(tiny, tmp_path / "bare")
    (bare / "chat_template.jinja").unlink(missing_ok=True)
    settings = json.loads((bare / "tokenizer_config.json").read_text())
    settings.pop("chat_template", None)
    (bare / "tokenizer_config.json").write_text(json.dumps(settings))
    assert train(bare, tmp_path / "run") == 2
    assert "has no chat template" in capsys.readouterr().err
    assert not (tmp_path / "run").exists()
