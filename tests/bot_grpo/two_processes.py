"""What each of two gloo processes does in test_trainer_processes: train a tiny model and save what came of it."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

# Each run: settings of the trainer. A batch has 12 rollouts in groups of 4, so over two processes one group straddles.
# `cut`: micro-batches a process, by the number of processes; `whole`: all weights are trained, not an adapter.
RUNS: dict[str, dict[str, Any]] = {
    "bot_grpo": {"algorithm": "bot_grpo"},
    "whole weights": {"algorithm": "bot_grpo", "whole": True},
    "cut": {"algorithm": "bot_grpo", "cut": {1: 2, 2: 3}, "whole": True},
    "grpo": {"algorithm": "grpo", "whole": True},
    "dapo": {"algorithm": "dapo", "dynamic_sampling": 0, "overlong_filter": True},
    "balanced": {"algorithm": "balanced"},
    "pure": {"algorithm": "pure"},
    "prime": {"algorithm": "prime"},
    "ep_grpo": {"algorithm": "ep_grpo"},
    "sampled": {"algorithm": "bot_grpo", "rollouts": None},
    "refilled": {"algorithm": "dapo", "dynamic_sampling": 2, "rollouts": None, "max_completion_length": 4},
}
RESUMED: dict[str, Any] = {
    "algorithm": "bot_grpo",
    "rollouts": None,
    "max_completion_length": 6,
    "save_strategy": "steps",
    "save_steps": 1,
    "optim": "adamw_torch",
    "learning_rate": 0.01,
    "adam_epsilon": 1e-3,  # with 1e-8 a weight whose gradient is a rounding error takes a whole step by its sign
}
ROWS, STEPS = 12, 5
AT = (1, 2)  # checkpoints to resume from: the first lies between two updates on a batch, the second between batches


def settings(changes: dict[str, Any], processes: int) -> dict[str, Any]:
    """Those of one of so many processes; together they always make the same batch."""
    changes = dict(changes)
    cut = changes.pop("cut", {}).get(processes, 1)
    changes.pop("whole", None)
    rows = {"per_device_train_batch_size": ROWS // processes // cut, "gradient_accumulation_steps": cut}
    return {"num_iterations": 2, "max_steps": STEPS, **rows, **changes}


def run(name: str, folder: Path, *, processes: int) -> dict[str, Any]:
    """Train, and return the weights, the figures and what this process has scored."""
    import tiny_trainer as tiny

    model = tiny.tiny_llama() if RUNS[name].get("whole") else tiny.with_lora(tiny.tiny_llama())
    reward = counting(tiny)
    made = tiny.trainer(folder, model=model, reward=reward, **settings(RUNS[name], processes))
    made.train()
    return result(tiny, made) | {"scored": reward.scored}


def counting(tiny: Any) -> Any:
    """The stub reward, which keeps what it was asked to score."""

    class Counting(tiny.StubReward):
        def score(self, rollouts: Sequence[Any]) -> list[Any]:
            self.scored.extend((r.prompt, r.completion) for r in rollouts)
            return list(super().score(rollouts))

    reward = Counting(levels=2)
    reward.scored = []
    return reward


def result(tiny: Any, made: Any) -> dict[str, Any]:
    return {"weights": tiny.weights(made.accelerator.unwrap_model(made.model)), "logged": tiny.logged(made)}


def evaluated(folder: Path) -> dict[str, Any]:
    """Evaluate on five prompts, two at a time: over two processes the last batch is short of three."""
    import tiny_trainer as tiny

    reward = counting(tiny)
    made = tiny.trainer(
        folder, reward=reward, rollouts=None, eval_data=tiny.prompts(5), per_device_eval_batch_size=2,
        num_generations_eval=1,
    )  # fmt: skip
    figures = {k: v for k, v in made.evaluate().items() if not any(t in k for t in ("time", "second"))}
    return {"figures": figures, "scored": reward.scored}


def resumed(folder: Path, checkpoint: Path | None, *, processes: int) -> dict[str, Any]:
    """Train to the end from a checkpoint, or without one from the beginning."""
    import tiny_trainer as tiny

    fresh = checkpoint is not None  # an adapter as a process begins with that hasn't loaded the checkpoint yet
    adapter = tiny.with_lora(tiny.tiny_llama(), seed=9 if fresh else 1, warm=not fresh)
    made = tiny.trainer(folder, model=adapter, reward=tiny.StubReward(levels=2), **settings(RESUMED, processes))
    made.train(resume_from_checkpoint=None if checkpoint is None else str(checkpoint))
    return result(tiny, made)


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
    root = Path(folder)
    done: dict[str, Any] = {name: run(name, root / name, processes=2) for name in RUNS}
    done["evaluated"] = evaluated(root / "evaluated")
    done["unbroken"] = resumed(root / "two", None, processes=2)
    for at in AT:
        checkpoint = root / "one" / f"checkpoint-{at}"
        done[f"resumed at {at}"] = resumed(root / f"two-{at}", checkpoint, processes=2)
    torch.save(done, root / f"rank{rank}.pt")
    torch.distributed.destroy_process_group()
