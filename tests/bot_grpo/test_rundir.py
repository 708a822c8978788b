"""A run's folder: nothing written over, nothing half-written chosen, a resumed run forgets what came after."""

from __future__ import annotations

import json
import os
import signal
import stat
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
import yaml
from safetensors.numpy import save_file

from bot_grpo.errors import UserError
from bot_grpo.rundir import RunDir, whole_folder


@pytest.fixture
def run(tmp_path: Path) -> RunDir:
    run = RunDir(tmp_path / "run")
    run.create(resume=False)
    return run


def test_a_folder_that_holds_a_run_is_not_written_over(run: RunDir) -> None:
    run.log({"step": 1})
    with pytest.raises(UserError, match="already holds a run"):
        RunDir(run.path).create(resume=False)
    RunDir(run.path).create(resume=True)
    assert run.read_metrics() == [{"step": 1}]


def test_a_file_in_the_way_is_named(tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("mine")
    with pytest.raises(UserError, match="is a file"):
        RunDir(tmp_path / "taken").create(resume=False)
    assert (tmp_path / "taken").read_text() == "mine"


def test_config_records_settings_versions_and_commit(run: RunDir) -> None:
    run.write_config({"algorithm": "bot_grpo", "seed": 3})
    config = yaml.safe_load((run.path / "config.yaml").read_text())
    assert config["seed"] == 3
    assert config["versions"]["torch"]
    assert "commit" in config


def test_a_line_cut_by_a_kill_is_skipped(run: RunDir) -> None:
    run.log({"step": 1, "reward": 0.5})
    with run.metrics_path.open("a") as file:
        file.write('{"step": 2, "rew')
    assert run.read_metrics() == [{"step": 1, "reward": 0.5}]


def test_cutting_back_forgets_what_came_after_the_checkpoint(run: RunDir) -> None:
    for step in range(4):
        run.log({"step": step})
        run.write_rollouts(f"step-{step:05d}", [{"step": step, "completion": "x"}])
    run.cut_back(2)
    assert [r["step"] for r in run.read_metrics()] == [0, 1, 2]
    assert sorted(p.name for p in run.rollouts.iterdir()) == [f"step-{n:05d}.parquet" for n in range(3)]


def test_rollouts_keep_their_columns_also_when_a_row_has_few(run: RunDir) -> None:
    run.write_rollouts("step-00001", [{"step": 1, "completion": "x", "spans": [[0, 1]]}])
    row = pq.read_table(run.rollouts / "step-00001.parquet").to_pylist()[0]
    assert row["spans"] == [[0, 1]]
    assert row["status"] is None


def test_the_last_checkpoint_is_the_newest_whole_one(run: RunDir) -> None:
    assert run.last_checkpoint() is None
    for step, whole in ((5, True), (10, True), (15, False)):
        folder = run.checkpoints / f"checkpoint-{step}"
        folder.mkdir()
        (folder / "adapter_model.safetensors").write_bytes(b"")
        if whole:
            (folder / "trainer_state.json").write_text(json.dumps({"global_step": step}))
    found = run.last_checkpoint()
    assert found is not None
    assert found.name == "checkpoint-10"


def test_beginning_anew_forgets_all_but_what_may_be_kept(run: RunDir) -> None:
    for step in (0, 1):
        run.log({"step": step})
        run.write_rollouts(f"eval-{step:05d}", [{"step": step, "completion": "x"}])
    for kept in ("checkpoints/cold-start/adapter.bin", "judge-cache/ab/ab.json"):
        (run.path / kept).parent.mkdir(parents=True)
        (run.path / kept).write_text("kept")
    half = run.checkpoints / "checkpoint-1"
    half.mkdir()
    (half / "model.bin").write_text("half")
    (run.rollouts / ".step-00002.tmp").write_text("half")
    run.write_summary({"finished": True})
    run.cut_back(0)
    left = sorted(str(p.relative_to(run.path)) for p in run.path.rglob("*") if p.is_file() and p.name != ".lock")
    # The seconds of the sessions before were spent, whatever has come of them.
    assert left == [".seconds", "checkpoints/cold-start/adapter.bin", "judge-cache/ab/ab.json", "metrics.jsonl"]
    assert run.read_metrics() == []
    assert run.read_summary() == {}


def test_cutting_back_takes_later_checkpoints_away(run: RunDir) -> None:
    """Or a kill soon after would let the next resume take one that the metrics know nothing of."""
    for step in (2, 4):
        (run.checkpoints / f"checkpoint-{step}").mkdir()
        (run.checkpoints / f"checkpoint-{step}" / "trainer_state.json").write_text("{}")
    run.cut_back(2)
    assert [p.name for p in run.checkpoints.iterdir()] == ["checkpoint-2"]


def test_a_folder_that_is_no_run_is_not_resumed_in(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("mine")
    with pytest.raises(UserError, match=r"holds thesis\.tex and is no run"):
        RunDir(tmp_path).create(resume=True)
    assert [p.name for p in tmp_path.iterdir()] == ["thesis.tex"]


def test_a_folder_that_a_kill_left_without_a_config_is_resumed_in(run: RunDir) -> None:
    RunDir(run.path).create(resume=True)


_HOLDER = """
import subprocess, sys, time
from bot_grpo.rundir import RunDir, whole_folder
run = RunDir(sys.argv[1])
run.create(resume=True)
child = subprocess.Popen([sys.executable, "-c", "import time; print(1, flush=True); time.sleep(60)"],
                         stdout=subprocess.PIPE)
child.stdout.readline()
print(child.pid, flush=True)
time.sleep(60)
"""


def test_a_run_is_held_by_one_process_until_it_dies_though_its_child_lives(tmp_path: Path) -> None:
    command = [sys.executable, "-c", _HOLDER, str(tmp_path / "run")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout is not None
        orphan = int(holder.stdout.readline())
        try:
            with pytest.raises(UserError, match="another process is at work"):
                RunDir(tmp_path / "run").create(resume=True)
            holder.kill()
            holder.wait()
            os.kill(orphan, 0)
            RunDir(tmp_path / "run").create(resume=True)
        finally:
            os.kill(orphan, signal.SIGKILL)


def test_a_folder_is_whole_or_as_it_was(tmp_path: Path) -> None:
    target = tmp_path / "model"
    with whole_folder(target) as folder:
        (folder / "weights").write_text("first")
    assert (target / "weights").read_text() == "first"
    with pytest.raises(FileNotFoundError), whole_folder(target) as folder:
        (folder / "weights").write_bytes((folder / "nothing").read_bytes())
    assert (target / "weights").read_text() == "first"
    with whole_folder(target) as folder:
        (folder / "weights").write_text("third")
    assert (target / "weights").read_text() == "third"
    assert [p.name for p in tmp_path.iterdir()] == ["model"]


@pytest.mark.parametrize("umask", [0o022, 0o007])
def test_weights_have_the_mode_of_any_new_file(umask: int, tmp_path: Path) -> None:
    """safetensors gives its files to their owner alone."""
    before = os.umask(umask)
    try:
        with whole_folder(tmp_path / "model") as folder:
            save_file({"a": np.zeros(3)}, folder / "model.safetensors")
            assert stat.S_IMODE((folder / "model.safetensors").stat().st_mode) == 0o600, "is this still needed?"
    finally:
        os.umask(before)
    assert [p.name for p in (tmp_path / "model").iterdir()] == ["model.safetensors"]
    assert stat.S_IMODE((tmp_path / "model" / "model.safetensors").stat().st_mode) == 0o666 & ~umask
