"""What processes have to agree on: settings that go with shared weights and with the run, and when to stop."""

from __future__ import annotations

import os
import socket
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch import distributed, multiprocessing

from bot_grpo.errors import UserError
from bot_grpo.together import BATCH, StopTogether, check, is_sharded


def settings(**changes: Any) -> SimpleNamespace:
    """The settings that are looked at."""
    given = {"cold_start_steps": 0, "resume": None, "generation_batch_size": 16, "world_size": 2, "fsdp": ""}
    return SimpleNamespace(**(given | changes))


def test_which_processes_share_the_weights_out(monkeypatch: pytest.MonkeyPatch) -> None:
    assert not is_sharded(settings())
    assert not is_sharded(settings(deepspeed_plugin=SimpleNamespace(zero_stage=2)))
    assert is_sharded(settings(deepspeed_plugin=SimpleNamespace(zero_stage=3)))
    monkeypatch.setenv("ACCELERATE_USE_FSDP", "true")
    assert is_sharded(settings())


def test_a_cold_start_wants_whole_weights(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    check(settings(cold_start_steps=3), tmp_path)
    with pytest.raises(UserError, match="cold_start_steps: 0"):
        check(settings(cold_start_steps=3, deepspeed_plugin=SimpleNamespace(zero_stage=2)), tmp_path)
    monkeypatch.setenv("ACCELERATE_USE_FSDP", "true")
    with pytest.raises(UserError, match="under ddp"):
        check(settings(cold_start_steps=3), tmp_path)


def test_a_resumed_run_keeps_the_size_of_its_batch(tmp_path: Path) -> None:
    check(settings(resume="auto"), tmp_path)  # nothing there
    (tmp_path / "config.yaml").write_text("algorithm: grpo\n")
    check(settings(resume="auto"), tmp_path)  # a run from before it was written down
    (tmp_path / "config.yaml").write_text(f"{BATCH}: 16\n")
    check(settings(resume="auto"), tmp_path)
    with pytest.raises(UserError, match="has 16 completions a step, and on 2 processes these settings give 32"):
        check(settings(resume="auto", generation_batch_size=32), tmp_path)
    check(settings(generation_batch_size=32), tmp_path)  # what begins anew may choose
    (tmp_path / "config.yaml").write_text(f"{BATCH}: 16\nper_device_train_batch_size: 4\nsteps_per_generation: 1\n")
    with pytest.raises(UserError, match="made on 4 processes: go on with --nproc 4, or choose"):
        check(settings(resume="auto", generation_batch_size=8), tmp_path)


def test_one_process_stops_for_itself() -> None:
    control = SimpleNamespace(should_training_stop=True, should_save=False)
    StopTogether().on_step_end(settings(device=torch.device("cpu")), None, control)
    assert (control.should_training_stop, control.should_save) == (True, False)


def process(rank: int, port: int, folder: str) -> None:
    """One of two: the second alone is asked to stop."""
    os.environ |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}
    distributed.init_process_group("gloo", rank=rank, world_size=2)
    control = SimpleNamespace(should_training_stop=rank == 1, should_save=rank == 1)
    StopTogether().on_log(settings(device=torch.device("cpu")), None, control)
    Path(folder, f"{rank}").write_text(f"{control.should_training_stop} {control.should_save}")
    distributed.destroy_process_group()


@pytest.mark.slow
def test_all_stop_where_one_is_to_stop(tmp_path: Path) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    multiprocessing.spawn(process, args=(port, str(tmp_path)), nprocs=2, join=True)
    assert [(tmp_path / str(rank)).read_text() for rank in range(2)] == ["True True"] * 2
