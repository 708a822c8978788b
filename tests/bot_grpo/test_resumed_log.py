"""What watches a run remembers, after a kill, the steps before the checkpoint."""

from __future__ import annotations

import io
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from rich.console import Console
from transformers import TrainerControl, TrainerState

from bot_grpo.progress import RunLog, StopOnUnscored
from bot_grpo.rundir import RunDir

LENGTHS = [100, 100, 100, 100, 40, 30, 20, 20, 20, 20]
UNSCORED = [0, 0, 0.9, 0.9, 0, 0.9, 0.9, 0.9, 0.9, 0.9]
LOGS: list[dict[str, Any]] = [
    {"loss": 0.0, "completion_length": float(length), "unscored": float(share), "step": step}
    for step, (length, share) in enumerate(zip(LENGTHS, UNSCORED, strict=True), 1)
]
EVALUATION = {"eval_reward": 0.5, "eval_unscored": 1.0, "eval_loss": None, "step": 4}


def watch(folder: Path, history: list[dict[str, Any]], logs: list[dict[str, Any]]) -> tuple[Any, ...]:
    """What alarms sound at which step, where the run stops, and the last evaluation, from a checkpoint's history on."""
    run = RunDir(folder)
    run.create(resume=True)
    log, lost = RunLog(run, console=Console(file=io.StringIO())), StopOnUnscored(0.5)
    state, stops = TrainerState(log_history=history, max_steps=10, is_world_process_zero=True), []
    for callback in (log, lost):
        callback.on_train_begin(SimpleNamespace(eval_on_start=False), state, TrainerControl())
    for row in logs:
        control, state.global_step = TrainerControl(), row["step"]
        for callback in (log, lost):
            callback.on_log(None, state, control, logs=row)
        stops += [row["step"]] * control.should_training_stop
    alarms = [(row["step"], text.split(":")[0]) for row in run.read_metrics() for text in row.get("alarms", ())]
    return alarms, stops, log.last_eval


@pytest.mark.parametrize("at", range(1, 8))
def test_alarms_and_stops_come_when_they_would_have_come(at: int, tmp_path: Path) -> None:
    logs = [*LOGS[:4], EVALUATION, *LOGS[4:]]
    alarms, stops, last = watch(tmp_path / "straight", [], logs)
    assert alarms == [(7, "length_collapse")]
    assert stops == [8]
    assert last == {"eval/reward": 0.5, "eval/unscored": 1.0}
    before, after = ([row for row in logs if (row["step"] <= at) is early] for early in (True, False))
    assert watch(tmp_path / "resumed", before, after) == ([a for a in alarms if a[0] > at], stops, last)


def test_a_run_that_stopped_unscored_has_as_many_steps_again(tmp_path: Path) -> None:
    assert watch(tmp_path, LOGS[:8], LOGS[8:])[1] == []
    assert watch(tmp_path, LOGS[:8], [*LOGS[8:], LOGS[9] | {"step": 11}])[1] == [11]


def test_seconds_are_the_mean_of_the_steps_since_the_last_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter([0.0, 10.0, 100.0, 130.0])
    monkeypatch.setattr("bot_grpo.progress.time", SimpleNamespace(perf_counter=lambda: next(clock, 130.0)))
    timers = iter([{"generate": 4.0, "score": 1.0}, {"generate": 8.0, "score": 3.0}])
    log = RunLog(run := RunDir(tmp_path), console=Console(file=io.StringIO()))
    run.create(resume=True)
    log.trainer = SimpleNamespace(take_timers=lambda: next(timers))  # type: ignore[assignment]
    state = TrainerState(max_steps=10, is_world_process_zero=True)
    for state.global_step in (1, 2):
        log.on_step_begin(None, state, TrainerControl())
        log.on_step_end(None, state, TrainerControl())
    log.on_log(None, state, TrainerControl(), logs=LOGS[1])
    (row,) = run.read_metrics()
    assert {k: v for k, v in row.items() if k.startswith("seconds/")} == {
        "seconds/generate": 6.0, "seconds/score": 2.0, "seconds/update": 12.0, "seconds/step": 20.0,
    }  # fmt: skip


def test_the_time_left_is_by_the_mean_of_all_steps_and_evaluations(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = iter([100.0, 130.0, 130.0, 150.0, 160.0, 160.0])
    monkeypatch.setattr("bot_grpo.progress.time", SimpleNamespace(perf_counter=lambda: next(clock)))
    run, said = RunDir(tmp_path / "run"), io.StringIO()
    run.create(resume=True)
    log = RunLog(run, console=Console(file=said, width=500))
    state, control = TrainerState(global_step=2, max_steps=10, is_world_process_zero=True), TrainerControl()
    for step in (3, 4):  # resumed at step 2: 30 s, 20 s of evaluation, 10 s
        log.on_step_begin(None, state, control)
        state.global_step = step
        log.on_step_end(None, state, control)
        if step == 4:
            log.on_log(None, state, control, logs={"loss": 0.0, "reward": 0.5, "step": step})
    assert said.getvalue().rstrip().endswith("ETA 3:00")  # six steps of 30 s
