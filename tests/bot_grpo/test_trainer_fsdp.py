"""FSDP2, over two gloo processes on CPUs: the weights are shared out, and come to what one process comes to."""

from __future__ import annotations

import socket
from pathlib import Path

import fsdp_processes
import pytest
import tiny_trainer as tiny
import torch
from accelerate.commands.launch import _validate_launch_command, launch_command_parser
from accelerate.utils.launch import prepare_multi_gpu_env
from torch import multiprocessing
from transformers import LlamaForCausalLM

from bot_grpo import launch

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]


def as_launched() -> dict[str, str]:
    """What `accelerate launch` sets for fsdp2.yaml, but for bf16."""
    words = launch.Plan(launch.config_file("fsdp2"), 2, 1, cpu=True).words()
    args, _, _ = _validate_launch_command(launch_command_parser().parse_args([*words, "-m", "bot_grpo", "train"]))
    found = prepare_multi_gpu_env(args)
    return {k: v for k, v in found.items() if k.startswith(("FSDP", "ACCELERATE")) and "MIXED" not in k}


def test_shared_weights_come_to_those_of_one_process(tmp_path: Path) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    multiprocessing.spawn(fsdp_processes.main, args=(port, str(tmp_path), as_launched()), nprocs=2, join=True)
    first, second = (torch.load(tmp_path / f"rank{rank}.pt") for rank in range(2))
    settings = {"per_device_train_batch_size": fsdp_processes.ROWS, **fsdp_processes.SETTINGS}
    alone = tiny.trainer(tmp_path / "alone", reward=tiny.StubReward(levels=2), **settings)
    alone.train()
    theirs = tiny.weights(alone.model)
    for name, whole in theirs.items():
        shapes = [rank["local"][name] for rank in (first, second)]
        assert sum(shape[0] for shape in shapes) == whole.size(0), "each process has a part of it"
    saved = LlamaForCausalLM.from_pretrained(tmp_path / "model", dtype=torch.float32)
    assert tiny.distance(tiny.weights(saved), theirs) < 1e-6
    assert tiny.distance(tiny.weights(tiny.tiny_llama()), theirs) > 1e-4, "nothing was trained"
    for a, b in zip(first["logged"], tiny.logged(alone), strict=True):
        assert a == pytest.approx(b, rel=1e-4, abs=2e-5)
