"""Real runs with the real trackio, wandb (offline) and TensorBoard, in an environment of their own."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest
import track_env
import track_read
import track_run
from test_tracking import figures, logged, table
from tiny import save_tiny_model

from bot_grpo.rundir import RunDir
from bot_grpo.tracking import completions

pytestmark = [pytest.mark.slow, pytest.mark.browser, pytest.mark.timeout(900)]
SETTINGS = """
    --config react-smollm2-cpu --model_dtype float32 --bf16 false --max_completion_length 64 --cold_start_steps 1
    --cold_start_batch_size 2 --eval_prompts 3 --per_device_train_batch_size 2 --gradient_accumulation_steps 2
    --num_generations 2 --per_device_eval_batch_size 3 --eval_steps 2 --save_steps 2 --lora_r 2
    --report_to tensorboard,trackio,wandb --project tests --output_dir run
""".split()  # noqa: SIM905


class Place:
    """A folder to train in, and the environment with the trackers, whose own folders are there too."""

    def __init__(self, folder: Path, python: Path, model: Path) -> None:
        self.folder, self.run, self.python, self.model = folder, folder / "run", python, model
        quiet = {"OMP_NUM_THREADS": "1", "TRL_EXPERIMENTAL_SILENCE": "1", "HF_HUB_OFFLINE": "1"}
        here = {"WANDB_MODE": "offline", "TRACKIO_DIR": str(folder / "trackio")}
        self.environment = {**os.environ, **quiet, **here}

    def begin(self, *flags: str) -> subprocess.Popen[str]:
        words = [self.python, track_run.__file__, *SETTINGS, "--model", self.model, *flags]
        out = subprocess.PIPE
        return subprocess.Popen(
            list(map(str, words)),
            cwd=self.folder,
            env=self.environment,
            stdout=out,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def train(self, *flags: str) -> str:
        process = self.begin(*flags)
        said = process.communicate(timeout=400)[0]
        assert process.returncode == 0, said
        return said

    def kept(self) -> dict[str, Any]:
        words = [self.python, track_read.__file__, self.run, "tests", "run"]
        done = subprocess.run(list(map(str, words)), env=self.environment, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return dict(json.loads(done.stdout.splitlines()[-1]))


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return track_env.build(track_env.folder() or tmp_path_factory.mktemp("environment") / "env")


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_tiny_model(tmp_path_factory.mktemp("tiny"))


@pytest.fixture(scope="module")
def whole(python: Path, model: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Place, str]:
    """A run of two steps that went on to four, and what the second part said."""
    place = Place(tmp_path_factory.mktemp("whole"), python, model)
    place.train("--max_steps", "2")
    return place, place.train("--max_steps", "4", "--resume", "auto")


def by_step(table: dict[str, Any]) -> dict[int, Any]:
    return {int(step): rows for step, rows in table.items()}  # which JSON makes text


def as_pairs(found: dict[str, list[list[float]]]) -> dict[str, list[tuple[float, ...]]]:
    return {name: [tuple(pair) for pair in pairs] for name, pairs in found.items()}


def test_three_trackers_have_the_same_figures_under_the_same_names_each_once(whole: tuple[Place, str]) -> None:
    place, _ = whole
    kept, wanted = place.kept(), logged(place.run)
    assert as_pairs(kept["wandb"]["figures"]) == wanted
    assert as_pairs(kept["trackio"]["figures"]) == wanted
    assert figures(place.run) == wanted
    assert {"reward", "compile_rate", "eval/compile_rate", "cold_start/loss", "algo/sigma"} <= set(wanted)


def test_three_trackers_have_the_same_tables_and_pictures(whole: tuple[Place, str]) -> None:
    place, _ = whole
    kept, run = place.kept(), RunDir(place.run)
    for name, kind, prefix, steps in (
        ("completions", "train", "", [1, 2, 3, 4]),
        ("eval/completions", "eval", "eval/", [0, 2, 4]),
    ):
        wanted = {step: completions(run, kind, step, prefix) for step in steps}
        for tracker in ("wandb", "trackio"):
            found = by_step(kept[tracker]["tables"][name])
            assert found == {step: rows for step, (rows, _) in wanted.items()}
            for step, (_, pictures) in wanted.items():
                sizes = {picture: file.stat().st_size for picture, file in pictures.items()}
                there = {n: by_step(s) for n, s in kept[tracker]["pictures"].items()}
                assert {picture: there[picture][step] for picture in pictures} == sizes
        shown = table(place.run, name)
        assert {step: len(rows) - 1 for step, rows in shown.items()} == {s: len(r) for s, (r, _) in wanted.items()}
    assert {row["status"] for row in completions(run, "train", 4, "")[0]} == {"ok", "compile_error", "no_code"}


def test_each_says_in_one_line_where_it_is(whole: tuple[Place, str]) -> None:
    place, said = whole
    lines = said.splitlines()
    for start in ("tensorboard: run/tensorboard;", "trackio: run run;", "wandb: run/wandb/offline-run-"):
        assert sum(line.startswith(start) for line in lines) == 1, said
    assert not [line for line in lines if line.startswith("* ") or " fails" in line], said
    settings = json.loads((place.run / ".trackers.json").read_text())
    assert len(list((place.run / "wandb").glob(f"offline-run-*-{settings['wandb']['id']}"))) == 2


def noted(run: Path, step: int) -> bool:
    """Whether every tracker has been given a step of training."""
    file = run / ".trackers.json"
    had = json.loads(file.read_text()) if file.exists() else {}
    return len(had) == 3 and all(state["steps"].get("train", 0) >= step for state in had.values())


def test_after_a_kill_no_step_is_there_twice_and_none_is_missing(python: Path, model: Path, tmp_path: Path) -> None:
    place, flags = Place(tmp_path, python, model), ["--eval_strategy", "no", "--save_steps", "2"]
    place.environment["TRACK_RUN_PAUSE"] = "5"
    process, deadline = place.begin("--max_steps", "9", *flags), time.monotonic() + 400
    while not noted(place.run, 3) and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.05)
    time.sleep(2)  # trackio and wandb write half a second later
    process.send_signal(signal.SIGKILL)  # while the fourth step samples, and the last checkpoint is of the second
    process.communicate(timeout=60)
    place.environment["TRACK_RUN_PAUSE"] = "0"
    place.train("--max_steps", "5", "--resume", "auto", *flags)
    kept = place.kept()
    assert figures(place.run)["reward"] == logged(place.run)["reward"]
    for tracker in ("wandb", "trackio"):
        assert [step for step, _ in kept[tracker]["figures"]["reward"]] == [1, 2, 3, 4, 5], tracker


def test_alarms_are_text(python: Path, model: Path, tmp_path: Path) -> None:
    place = Place(tmp_path, python, model)
    place.train("--max_steps", "4", "--eval_strategy", "no", "--max_completion_length", "3", "--w_s", "0", "--w_g", "0")
    wanted = [(row["step"], text) for row in RunDir(place.run).read_metrics() for text in row.get("alarms", ())]
    assert wanted
    for tracker, kept in place.kept().items():
        assert [tuple(alarm) for alarm in kept["alarms"]] == wanted, tracker
