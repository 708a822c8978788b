"""Runs `bot-grpo train` in forks of one process that has imported everything, and has them kill themselves if asked to.

Reads one JSON object a line: argv, the file for what the run says, and perhaps a moment (`MOMENTS`) with its count.
Answers with two lines: the process' id as soon as it has begun, and what became of it.
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

# A function, and whether the process dies before it, after it, or when its file is half-written.
MOMENTS = {
    "start-up": ("bot_grpo.rundir:RunDir.write_config", "before"),
    "started": ("bot_grpo.rundir:RunDir.write_config", "after"),
    "cold start or update": ("transformers:Trainer.training_step", "before"),
    "optimizer": ("accelerate.optimizer:AcceleratedOptimizer.step", "after"),
    "torch file": ("torch:save", "half"),
    "rename": ("pathlib:Path.rename", "before"),
    "renamed": ("pathlib:Path.rename", "after"),
    "trainer": ("bot_grpo.trainer:BoTGRPOTrainer.__init__", "before"),
    "evaluation": ("bot_grpo.trainer:BoTGRPOTrainer.prediction_step", "after"),
    "sampling": ("bot_grpo.generation:GroupRollouts.__call__", "before"),
    "scoring": ("bot_grpo.rewards:RewardCollector.score", "after"),
    "metrics": ("bot_grpo.rundir:RunDir.log", "half"),
    "rollouts": ("pyarrow.parquet:write_table", "half"),
    "weights": ("transformers:Trainer.save_model", "before"),
    "weights saved": ("transformers:Trainer.save_model", "after"),
    "seal": ("transformers:TrainerState.save_to_json", "half"),
    "rotation": ("transformers.trainer:rotate_checkpoints", "before"),
    "taking up": ("bot_grpo.rundir:RunDir.cut_back", "before"),
    "taken up": ("bot_grpo.rundir:RunDir.cut_back", "after"),
    "summary": ("bot_grpo.rundir:RunDir.write_summary", "before"),
    "ended": ("bot_grpo.rundir:RunDir.write_summary", "after"),
}


def arm(moment: str, count: int) -> None:
    """Have this process die at the `count`-th time of a moment."""
    target, when = MOMENTS[moment]
    module, _, path = target.partition(":")
    owner = importlib.import_module(module)
    *outer, name = path.split(".")
    for part in outer:
        owner = getattr(owner, part)
    original, calls = getattr(owner, name), 0

    def counted(*args: Any, **kwargs: Any) -> Any:
        nonlocal calls
        calls += 1
        result = original(*args, **kwargs) if calls != count or when != "before" else None
        if calls != count:
            return result
        if when == "half":
            file = args[0].metrics_path if name == "log" else Path(args[1])
            os.truncate(file, file.stat().st_size - 5 if name == "log" else file.stat().st_size // 2)
        return os.kill(os.getpid(), signal.SIGKILL)

    setattr(owner, name, counted)


def main() -> None:
    from bot_grpo.cli import main as command
    from bot_grpo.train import train  # noqa: F401 - what takes long to import, once for all

    gc.freeze()  # the forks have nothing to look for in what is imported
    for line in sys.stdin:
        job = json.loads(line)
        if not (pid := os.fork()):
            os.dup2(os.open(job["log"], os.O_WRONLY | os.O_CREAT | os.O_APPEND), 1)
            os.dup2(1, 2)
            if job["moment"]:
                arm(job["moment"], job["count"])
            code = command(job["argv"])
            sys.stdout.flush()
            os._exit(code)
        print(pid, flush=True)
        print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), flush=True)


if __name__ == "__main__":
    main()
