"""What each of two gloo processes does in test_trainer_processes: train a tiny model and save what came of it."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import torch

# Each run: settings of the trainer; together both processes hold 12 rollouts in groups of 4, so one group straddles.
RUNS: dict[str, dict[str, Any]] = {
    "bot_grpo": {"algorithm": "bot_grpo"},
    "dapo": {"algorithm": "dapo", "dynamic_sampling": 0, "overlong_filter": True},
    "balanced": {"algorithm": "balanced"},
    "pure": {"algorithm": "pure"},
    "ep_grpo": {"algorithm": "ep_grpo"},
    "refill": {"algorithm": "dapo", "dynamic_sampling": 2, "rollouts": None, "max_completion_length": 4},
}
ROWS = 12


def run(name: str, folder: Path, *, rows: int) -> dict[str, Any]:
    """Train three steps with `rows` rollouts a process and return the weights and the figures."""
    import tiny_trainer as tiny

    settings = {"num_iterations": 3, "max_steps": 3, **RUNS[name]}
    reward = tiny.StubReward(levels=2)
    model = tiny.with_lora(tiny.tiny_llama())
    trainer = tiny.trainer(folder, model=model, reward=reward, per_device_train_batch_size=rows, **settings)
    trainer.train()
    return {"weights": tiny.weights(trainer.accelerator.unwrap_model(trainer.model)), "logged": tiny.logged(trainer)}


def main(rank: int, port: int, folder: str) -> None:
    sys.path.insert(0, str(Path(__file__).parent))
    torch.set_num_threads(1)
    os.environ |= {
        "RANK": str(rank),
        "LOCAL_RANK": str(rank),
        "WORLD_SIZE": "2",
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": str(port),
        "ACCELERATE_USE_CPU": "true",
        "TRL_EXPERIMENTAL_SILENCE": "1",
    }
    done = {name: run(name, Path(folder) / name, rows=ROWS // 2) for name in RUNS}
    torch.save(done, Path(folder) / f"rank{rank}.pt")
    torch.distributed.destroy_process_group()
