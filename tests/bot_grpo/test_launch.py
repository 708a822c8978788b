"""`bot-grpo train --nproc N`: shipped configs, what is refused, exit codes, Ctrl-C, going on with another number."""

from __future__ import annotations

import json
import os
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
from accelerate.commands.config.config_args import load_config_from_file
from accelerate.commands.launch import _validate_launch_command, launch_command_parser
from accelerate.utils.launch import prepare_deepspeed_cmd_env, prepare_multi_gpu_env
from safetensors.torch import load_file
from tiny import save_tiny_model

from bot_grpo import launch
from bot_grpo.cli import main
from bot_grpo.errors import UserError
from bot_grpo.rundir import RunDir

KINDS = {"ddp": "MULTI_GPU", "fsdp2": "FSDP", "zero2": "DEEPSPEED", "zero3": "DEEPSPEED"}


def as_launched(name: str, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """The environment that `accelerate launch` would give the processes of a shipped config."""
    words = launch.Plan(launch.config_file(name), 4, 1, cpu=False).words()
    args = launch_command_parser().parse_args([*words, "-m", "bot_grpo", "train"])
    args, _, _ = _validate_launch_command(args)
    if KINDS[name] == "DEEPSPEED":
        args.deepspeed_fields_from_accelerate_config = ""
        return prepare_deepspeed_cmd_env(args)[1]
    return prepare_multi_gpu_env(args)


@pytest.mark.parametrize("name", launch.config_names())
def test_the_configs_that_ship_are_accelerates(name: str) -> None:
    found: Any = load_config_from_file(str(launch.config_file(name)))
    assert found.distributed_type.value == KINDS[name]
    assert found.mixed_precision == "bf16"
    assert launch.config_file(name).read_text().startswith("# ")


def test_all_kinds_ship() -> None:
    assert launch.config_names() == sorted(KINDS)


def test_ddp_and_fsdp2_reach_the_processes_as_meant(monkeypatch: pytest.MonkeyPatch) -> None:
    assert as_launched("ddp", monkeypatch).get("ACCELERATE_USE_FSDP") is None
    given = as_launched("fsdp2", monkeypatch)
    wanted = {
        "ACCELERATE_USE_FSDP": "true",
        "ACCELERATE_MIXED_PRECISION": "bf16",
        "FSDP_VERSION": "2",
        "FSDP_AUTO_WRAP_POLICY": "TRANSFORMER_BASED_WRAP",
        "FSDP_RESHARD_AFTER_FORWARD": "true",
        "FSDP_STATE_DICT_TYPE": "FULL_STATE_DICT",  # else what is saved is no model that can be loaded
        "FSDP_CPU_RAM_EFFICIENT_LOADING": "false",
    }
    assert {name: given.get(name) for name in wanted} == wanted


@pytest.mark.parametrize(("name", "stage", "init"), [("zero2", "2", "false"), ("zero3", "3", "true")])
def test_deepspeed_reaches_the_processes_as_meant(
    name: str, stage: str, init: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = as_launched(name, monkeypatch)
    assert given["ACCELERATE_USE_DEEPSPEED"] == "true"
    assert given["ACCELERATE_DEEPSPEED_ZERO_STAGE"] == stage
    assert given["ACCELERATE_DEEPSPEED_ZERO3_INIT"].lower() == init
    if stage == "3":
        assert given["ACCELERATE_DEEPSPEED_ZERO3_SAVE_16BIT_MODEL"].lower() == "true"


def test_the_processes_are_planned_for_this_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    on_cpu = launch.plan(2, None, cpu=True)
    assert (on_cpu.processes, on_cpu.cpu, on_cpu.config.stem) == (2, True, "ddp")
    monkeypatch.setattr(torch.accelerator, "is_available", lambda: True)
    monkeypatch.setattr(torch.accelerator, "device_count", lambda: 4)
    assert launch.plan(None, "fsdp2", cpu=False).processes == 4
    assert launch.plan(2, None, cpu=False).cpu is False
    own = yaml.safe_load(launch.config_file("ddp").read_text()) | {"num_machines": 2, "num_processes": 8}
    (tmp_path / "own.yaml").write_text(yaml.safe_dump(own))
    assert launch.plan(None, str(tmp_path / "own.yaml"), cpu=False).processes == 8
    with pytest.raises(UserError, match="there are 4"):
        launch.plan(8, None, cpu=False)


@pytest.mark.parametrize(
    ("processes", "config", "says"),
    [
        (2, "fsdp2", "on a CPU there is ddp"),
        (2, "zero3", "pip install deepspeed"),
        (2, "fsdp3", "ddp, fsdp2, zero2, zero3"),
        (None, "ddp", "say with --nproc"),
    ],
)
def test_what_this_machine_cannot_is_said(processes: int | None, config: str, says: str) -> None:
    with pytest.raises(UserError, match=says):
        launch.plan(processes, config, cpu=True)


def test_a_config_for_one_process_starts_no_two(tmp_path: Path) -> None:
    (tmp_path / "own.yaml").write_text('distributed_type: "NO"\nnum_processes: 1\n')
    assert launch.plan(1, str(tmp_path / "own.yaml"), cpu=True).processes == 1
    with pytest.raises(UserError, match="starts one process"):
        launch.plan(2, str(tmp_path / "own.yaml"), cpu=True)


def test_a_file_that_is_no_config_is_said(tmp_path: Path) -> None:
    (tmp_path / "own.yaml").write_text("distributed_type: MULTI_GPU\nnum_proceses: 2\n")
    with pytest.raises(UserError, match="num_proceses"):
        launch.plan(2, str(tmp_path / "own.yaml"), cpu=True)
    for text in ("root:x:0:0:root:/root:/bin/bash", "- a list", ""):
        (tmp_path / "own.yaml").write_text(text)
        with pytest.raises(UserError, match="is no config of accelerate: it is no mapping"):
            launch.plan(2, str(tmp_path / "own.yaml"), cpu=True)


@pytest.mark.parametrize(
    ("flags", "says"),
    [(["--nproc", "none"], "number of processes"), (["--nproc=0"], "1 or more"), (["--accelerate"], "or a file")],
)
def test_bad_flags_are_one_line(flags: list[str], says: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["train", "--config", "react-smollm2-cpu", *flags]) == 2
    assert says in capsys.readouterr().err


def test_a_process_of_several_starts_no_more(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("LOCAL_RANK", "0")
    assert main(["train", "--nproc", "2"]) == 2
    assert "already" in capsys.readouterr().err


@pytest.mark.parametrize("setting", ["prompts", "eval_source"])
def test_a_dry_run_says_that_a_file_is_not_there(
    setting: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    flags = ["--config", "react-smollm2-cpu", f"--{setting}", str(tmp_path / "mine.jsonl"), "--dry-run"]
    assert main(["train", *flags]) == 2
    assert capsys.readouterr().err == f"bot-grpo train: {setting}: there is no file {tmp_path}/mine.jsonl\n"
    (tmp_path / "mine.jsonl").touch()
    assert main(["train", *flags]) == 0


def test_a_dry_run_is_for_the_processes_that_would_start(capsys: pytest.CaptureFixture[str]) -> None:
    main(["train", "--config", "react-qwen2.5-3b-8gpu", "--nproc", "8", "--dry-run"])
    said = capsys.readouterr().out
    assert "in 8 micro-batches of 2 on 8 processes" in said
    assert "bot-grpo train --nproc 8" in said


# -- real processes ----------------------------------------------------------------------------------------------------

SETTINGS = """
    --task aime --prompts arithmetic:1 --algorithm bot_grpo --model_dtype float32 --bf16 false --lora_r 2 --seed 5
    --num_generations 2 --max_completion_length 6 --eval_prompts 3 --per_device_eval_batch_size 2
    --num_generations_eval 1 --save_steps 1
    --eval_steps 2 --eval_strategy steps --logging_steps 1 --report_to none --use_cpu true --optim sgd
    --learning_rate 0.5 --max_grad_norm 0 --lr_scheduler_type constant
""".split()  # noqa: SIM905
BATCH = "--per_device_train_batch_size"


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_tiny_model(tmp_path_factory.mktemp("tiny"))


def command(tiny: Path, out: Path, *flags: str) -> list[str]:
    rewards = ["--rewards", json.dumps([{"model": "bot_grpo.step_bench:Hash"}])]  # a hash: it tells all texts apart
    words = [*SETTINGS, *rewards, "--model", str(tiny), "--output_dir", str(out), *flags]
    return [sys.executable, "-m", "bot_grpo", "train", *words]


def run(tiny: Path, out: Path, *flags: str) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    return subprocess.run(command(tiny, out, *flags), capture_output=True, text=True, env=environment, timeout=800)


def figures(out: Path) -> list[dict[str, Any]]:
    """What each step logged, without times."""
    rows = [row for row in RunDir(out).read_metrics() if "loss" in row]
    return [{k: v for k, v in row.items() if not any(t in k for t in ("seconds", "time"))} for row in rows]


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_a_run_goes_on_with_other_numbers_of_processes(tiny: Path, tmp_path: Path) -> None:
    """One process, then two, then one: one run directory, with the steps of a run that one process made.

    Weights are compared in test_trainer_processes. Here each of 49,152 tokens is about as likely as the next, and after
    some steps a rounding error makes one process draw another one: what is compared is the first step on two.
    """
    straight = run(tiny, tmp_path / "straight", BATCH, "8", "--max_steps", "6")
    assert straight.returncode == 0, straight.stderr
    out = tmp_path / "run"
    for steps, flags in (("2", [BATCH, "8"]), ("4", [BATCH, "4", "--nproc", "2"]), ("6", [BATCH, "8"])):
        more = ["--resume", "auto"] if steps != "2" else []
        done = run(tiny, out, "--max_steps", steps, *flags, *more)
        assert done.returncode == 0, done.stderr
        assert json.loads((out / "summary.json").read_text())["steps"] == int(steps)
    mine, theirs = figures(out), figures(tmp_path / "straight")
    assert [row["step"] for row in mine] == [1, 2, 3, 4, 5, 6]
    assert mine[2]["grad_norm"] > 0
    for a, b in zip(mine[:3], theirs[:3], strict=True):
        assert a == pytest.approx(b, rel=1e-4, abs=1e-5)
    adapter = load_file(out / "model" / "adapter_model.safetensors")
    assert max(value.abs().max().item() for name, value in adapter.items() if "lora_B" in name) > 1e-3, "not trained"
    assert prompts_of(out) == prompts_of(tmp_path / "straight")
    assert yaml.safe_load((out / "config.yaml").read_text())["completions_a_step"] == 8


def prompts_of(out: Path) -> dict[int, list[str]]:
    """The prompts of each training step, in order, whichever process sampled for them."""
    rows: dict[int, list[tuple[int, str]]] = {}
    for file in sorted((out / "rollouts").glob("step*.parquet")):
        for row in pq.read_table(file).to_pylist():
            rows.setdefault(row["step"], []).append((row["group"], row["prompt"]))
    return {step: [text for _, text in sorted(found)] for step, found in rows.items()}


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_two_processes_keep_one_cold_start_and_take_it_together(tiny: Path, tmp_path: Path) -> None:
    flags = [BATCH, "4", "--nproc", "2", "--max_steps", "1", "--cold_start_steps", "2", "--cold_start_batch_size", "4"]
    flags += ["--cold_starts", str(tmp_path / "starts")]
    first, second = (run(tiny, tmp_path / name, *flags) for name in ("first", "second"))
    assert (first.returncode, second.returncode) == (0, 0), first.stderr + second.stderr
    (kept,) = (tmp_path / "starts").iterdir()
    assert "taken from" not in first.stdout
    assert second.stdout.count(f", taken from {kept}\n") == 1
    (own,), (taken,) = (figures(tmp_path / name) for name in ("first", "second"))
    assert taken == pytest.approx(own)


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_a_resumed_run_keeps_its_batch(tiny: Path, tmp_path: Path) -> None:
    assert run(tiny, tmp_path / "run", BATCH, "8", "--max_steps", "1").returncode == 0
    done = run(tiny, tmp_path / "run", BATCH, "8", "--max_steps", "2", "--resume", "auto", "--nproc", "2")
    assert done.returncode == 2
    assert "8 completions a step, and on 2 processes these settings give 16" in done.stderr
    assert "made on 1 process: go on with --nproc 1" in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1, done.stderr


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_what_is_wrong_is_said_once_with_exit_code_2(tiny: Path, tmp_path: Path) -> None:
    done = run(tiny, tmp_path / "run", BATCH, "4", "--nproc", "2", "--algorithm", "gpro")
    assert done.returncode == 2
    assert done.stderr.strip().splitlines() == ["bot-grpo train: no algorithm 'gpro'; did you mean 'gspo' or 'grpo'?"]


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_ctrl_c_stops_all_processes_after_the_step(tiny: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    flags = [BATCH, "4", "--nproc", "2", "--max_steps", "500", "--save_steps", "500", "--eval_strategy", "no"]
    process = subprocess.Popen(
        command(tiny, out, *flags), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True
    )
    deadline = time.monotonic() + 600
    while not figures(out)[1:] and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.2)
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does
    text = process.communicate(timeout=200)[0]
    assert process.returncode == 1, text
    assert text.count("stopping after this step") == 1
    assert text.count("--resume auto --nproc 2\n") == 1
    summary = json.loads((out / "summary.json").read_text())
    assert (out / "checkpoints" / f"checkpoint-{summary['steps']}" / "trainer_state.json").exists()
    assert "Traceback" not in text


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_a_bare_accelerate_launch_trains_too(tiny: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    words = command(tiny, out, BATCH, "4", "--max_steps", "1")[1:]
    bare = [sys.executable, "-m", "accelerate.commands.launch", "--config_file", str(launch.config_file("ddp"))]
    done = subprocess.run(
        [*bare, "--num_processes", "2", "--main_process_port", "0", *words],
        capture_output=True,
        text=True,
        env=os.environ | {"OMP_NUM_THREADS": "1"},
        timeout=800,
    )
    assert done.returncode == 0, done.stderr
    assert "on 2 processes" in done.stdout
    assert sorted(p.name for p in (out / "rollouts").glob("step*")) == [
        "step-rank0-00001.parquet",
        "step-rank1-00001.parquet",
    ]
    assert json.loads((out / "summary.json").read_text())["finished"] is True
