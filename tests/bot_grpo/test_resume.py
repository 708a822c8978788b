"""`--resume`: only with the settings of the run and from what can be read; what is done is left as it is."""

from __future__ import annotations

import hashlib
import json
import shutil
import time
from pathlib import Path
from typing import Any

import pytest
import yaml
from tiny import save_tiny_model

from bot_grpo.cli import main
from bot_grpo.cli.train import parse
from bot_grpo.errors import UserError
from bot_grpo.launch import LAUNCHED
from bot_grpo.resume import check_same, differences, ended, find_checkpoint, loading
from bot_grpo.rundir import SEAL, RunDir

SETTINGS = """
    --task aime --prompts arithmetic:1 --algorithm bot_grpo --model_dtype float32 --bf16 false --lora_r 2 --seed 5
    --num_generations 2 --max_completion_length 6 --eval_prompts 2 --per_device_train_batch_size 4 --save_steps 1
    --eval_strategy no --logging_steps 1 --report_to none --use_cpu true --learning_rate 0.01
""".split()  # noqa: SIM905
REWARDS = json.dumps([{"model": "bot_grpo.step_bench:Hash"}])


def words(model: str | Path, out: Path, *flags: str) -> list[str]:
    return [*SETTINGS, "--rewards", REWARDS, "--model", str(model), "--output_dir", str(out), *flags]


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of three steps, with a checkpoint of each."""
    place = tmp_path_factory.mktemp("resume")
    model = save_tiny_model(place / "tiny")
    assert main(["train", *words(model, place / "run", "--max_steps", "3")]) == 0
    return place / "run"


def resume(run: Path, *flags: str, resume: str = "auto") -> int:
    """As `run` was begun, with more flags; a copy of the run is another run of the same model."""
    model = yaml.safe_load((run / "config.yaml").read_text())["model"]
    return main(["train", *words(model, run, "--resume", resume, *flags)])


def contents(run: Path) -> dict[str, str]:
    files = [p for p in run.rglob("*") if p.is_file()]
    return {str(p.relative_to(run)): hashlib.sha256(p.read_bytes()).hexdigest() for p in files}


# -- settings ---------------------------------------------------------------------------------------------------------


@pytest.fixture
def config(tmp_path: Path) -> dict[str, Any]:
    """config.yaml of a run that is written, and read."""
    return written(parse(words("tiny", tmp_path, "--max_steps", "3")))


def written(args: Any) -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load(yaml.safe_dump({**args.changed(), "versions": {}, "commit": None}))
    return found


@pytest.mark.parametrize(
    ("flags", "names"),
    [
        ("", ""),
        ("--model ./tiny --output_dir elsewhere --max_steps 9 --save_total_limit 1 --logging_steps 2", ""),
        ("--eval_strategy steps --eval_steps 2 --eval_on_start true --sandbox_workers 3 --stop_on_alarm true", ""),
        ("--per_device_train_batch_size 2 --gradient_accumulation_steps 2 --gradient_checkpointing true", ""),
        ("--dataloader_num_workers 1 --report_to tensorboard --hub_model_id me/it --max_unscored 1", ""),
        ("--learning_rate 0.5", "learning_rate"),
        ("--num_generations 4", "num_generations"),
        ("--num_iterations 2", "num_iterations"),
        ("--lora_r 0 --eval_prompts 3 --prompts arithmetic:3", "eval_prompts lora_r prompts"),
        ("--algorithm grpo --w_s 0.1 --seed 7", "algorithm seed w_s"),
        ('--algorithm_settings {"sigma_floor":0.2}', "algorithm_settings"),
        ("--warmup_steps 5 --lr_scheduler_type cosine", "lr_scheduler_type warmup_steps"),
        ("--steps_per_generation 2", "steps_per_generation"),
    ],
)
def test_which_settings_may_differ(flags: str, names: str, config: dict[str, Any], tmp_path: Path) -> None:
    args = parse(words("tiny", tmp_path, "--max_steps", "3", *flags.split()))
    assert sorted(text.split()[0] for text in differences(args, config)) == names.split()


def test_a_setting_that_is_left_out_differs_too(config: dict[str, Any], tmp_path: Path) -> None:
    args = parse(words("tiny", tmp_path))
    assert differences(args, {**config, "warmup_steps": 4}) == ["warmup_steps (it was 4, and is 0)"]
    assert differences(args, {**config, "a_setting_of_an_older_version": 4}) == []


@pytest.mark.parametrize("recipe", ["react-smollm2-cpu", "aime-smollm3-3b-80gb"])
def test_a_config_that_is_read_again_is_the_same(recipe: str, tmp_path: Path) -> None:
    args = parse(["--config", recipe, "--output_dir", str(tmp_path)])
    file = tmp_path / "config.yaml"
    file.write_text(yaml.safe_dump(written(args)))
    for again in (recipe, str(file)):
        assert differences(parse(["--config", again, "--output_dir", str(tmp_path)]), written(args)) == []


def test_without_a_checkpoint_all_may_differ(config: dict[str, Any], tmp_path: Path) -> None:
    run = RunDir(tmp_path / "run")
    run.create(resume=False)
    run.write_config(config)
    other = parse(words("tiny", run.path, "--seed", "7", "--resume", "auto"))
    check_same(other, run)
    whole_checkpoint(run, 1)
    with pytest.raises(UserError, match=r"have changed: seed \(it was 5, and is 7\)"):
        check_same(other, run)


def test_changed_settings_are_one_line_and_nothing_is_written(done: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = contents(done)
    assert resume(done, "--max_steps", "5", "--seed", "7", "--lora_r", "4", "--w_s", "0.1", "--w_g", "2") == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert "seed (it was 5, and is 7)" in error
    assert "and 1 more" in error
    assert "lora_r (it was 2, and is 4)" in error
    fork = done.with_name("fork")  # nor from a checkpoint that is named, into another folder
    assert main(["train", *words("x", fork, "--resume", str(done / "checkpoints" / "checkpoint-2"))]) == 2
    assert "model (" in capsys.readouterr().err
    assert not fork.exists()
    assert contents(done) == before


# -- what is done -----------------------------------------------------------------------------------------------------


def test_a_run_that_is_done_is_left_as_it_is(done: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = contents(done)
    assert resume(done, "--max_steps", "3") == 0
    assert f"done already: {done}" in capsys.readouterr().out.replace("\n", "")
    assert resume(done, "--max_steps", "2") == 2
    assert "3 steps are made already, and max_steps 2 is fewer" in capsys.readouterr().err
    assert contents(done) == before


def test_more_steps_go_on_and_the_seconds_add_up(done: Path, tmp_path: Path) -> None:
    run = RunDir(shutil.copytree(done, tmp_path / "run"))
    (run.path / ".seconds").write_text("1000.0\n")
    assert resume(run.path, "--max_steps", "4") == 0
    summary = run.read_summary()
    assert (summary["steps"], summary["finished"]) == (4, True)
    assert 1000 < summary["seconds"] < 1500


def test_a_killed_session_counts_up_to_its_last_line(tmp_path: Path) -> None:
    killed = RunDir(tmp_path / "run")
    killed.create(resume=False)
    time.sleep(0.3)
    killed.log({"step": 1})
    run = RunDir(tmp_path / "run")
    killed._lock.close()
    run.create(resume=True)
    assert run.seconds() >= 0.3
    run.cut_back(0)
    run.write_summary({})
    assert float((run.path / ".seconds").read_text()) >= 0.3


def test_what_ends_a_run_that_left_no_checkpoint(tmp_path: Path) -> None:
    run = RunDir(tmp_path / "run")
    run.create(resume=False)
    assert not ended("auto", run, 3)
    run.write_summary({"steps": 3, "of": 3, "finished": True})
    assert not ended(None, run, 3)
    assert ended("auto", run, 3)
    with pytest.raises(UserError, match="left no checkpoint"):
        ended("auto", run, 4)


# -- damaged checkpoints ----------------------------------------------------------------------------------------------


def whole_checkpoint(run: RunDir, step: int) -> Path:
    folder = run.checkpoints / f"checkpoint-{step}"
    folder.mkdir()
    (folder / SEAL).write_text(json.dumps({"global_step": step}))
    return folder


@pytest.mark.parametrize("text", ["", '{"global_step": 2, "log_hi', "\0\0\0\0", "[]"])
def test_a_seal_that_cannot_be_read_is_none(text: str, tmp_path: Path) -> None:
    run = RunDir(tmp_path / "run")
    run.create(resume=False)
    one, two = (whole_checkpoint(run, step) for step in (1, 2))
    (two / SEAL).write_text(text)
    assert find_checkpoint("auto", run) == one
    with pytest.raises(UserError, match="is not a whole checkpoint"):
        find_checkpoint(str(two), run)
    (one / SEAL).write_text(text)
    with pytest.raises(UserError, match="no older checkpoint is whole"):  # it does not begin anew, and delete it
        find_checkpoint("auto", run)


def test_the_older_checkpoint_is_taken_with_a_line(
    done: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = shutil.copytree(done, tmp_path / "run")
    (run / "summary.json").unlink()
    seal = run / "checkpoints" / "checkpoint-3" / SEAL
    seal.write_text(seal.read_text()[:-40])
    assert resume(run, "--max_steps", "3") == 0
    said = capsys.readouterr().out
    assert f"{seal} cannot be read: an older checkpoint is taken" in said
    assert "going on from" in said
    assert RunDir(run).read_metrics()[-1]["step"] == 3
    assert json.loads(seal.read_text())["global_step"] == 3


@pytest.mark.parametrize("name", ["optimizer.pt", "adapter_model.safetensors", "rng_state.pth", "adapter_config.json"])
def test_a_file_that_is_cut_off_is_named(
    name: str, done: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = shutil.copytree(done, tmp_path / "run")
    file = run / "checkpoints" / "checkpoint-3" / name
    file.write_bytes(file.read_bytes()[:-30])
    before = contents(run)
    assert resume(run, "--max_steps", "4") == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert f"{file} is damaged and cannot be read" in error
    assert f"--resume {run / 'checkpoints' / 'checkpoint-2'}" in error
    assert contents(run) == before


def test_what_does_not_load_is_one_line(done: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Not cut off, but broken in the middle."""
    run = shutil.copytree(done, tmp_path / "run")
    file = run / "checkpoints" / "checkpoint-3" / "optimizer.pt"
    found = bytearray(file.read_bytes())
    found[200:400] = bytes(200)
    file.write_bytes(found)
    assert resume(run, "--max_steps", "4") == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert "checkpoint-3 cannot be loaded" in error
    older = str(run / "checkpoints" / "checkpoint-2")
    assert f"--resume {older}" in error
    assert resume(run, "--max_steps", "4", resume=older) == 0


def test_errors_that_are_not_of_loading_pass(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match="mine"), loading(None):
        raise RuntimeError("mine")


# -- how to go on -----------------------------------------------------------------------------------------------------


def test_the_command_to_go_on_starts_as_many_processes(
    done: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from bot_grpo.progress import StopOnInterrupt

    def asked(self: Any, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        control.should_save = control.should_training_stop = True

    monkeypatch.setattr(StopOnInterrupt, "on_step_end", asked)
    monkeypatch.setenv(LAUNCHED, "--nproc 2 --accelerate 'my file.yaml'")
    model = yaml.safe_load((done / "config.yaml").read_text())["model"]
    assert main(["train", *words(model, tmp_path / "run", "--max_steps", "3")]) == 1
    assert "--resume auto --nproc 2 --accelerate 'my file.yaml'\n" in capsys.readouterr().out
