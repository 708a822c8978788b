"""A run's folder: nothing written over, nothing half-written chosen, a resumed run forgets what came after."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest
import yaml

from bot_grpo.errors import UserError
from bot_grpo.rundir import RunDir


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
