"""What several processes have to agree on while they train."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from transformers import TrainerCallback

from bot_grpo.errors import UserError
from bot_grpo.resume import recorded
from bot_grpo.rundir import RunDir
from sandbox.words import counted

BATCH = "completions_a_step"
"""What a run's config.yaml calls the rollouts of a generation batch, of all processes."""


def is_sharded(args: Any) -> bool:
    """Whether no process will hold the whole weights: FSDP, and DeepSpeed's ZeRO-3."""
    deepspeed = getattr(args, "deepspeed_plugin", None)
    fsdp = os.environ.get("ACCELERATE_USE_FSDP", "false").lower() in {"true", "1"} or bool(args.fsdp)
    return fsdp or (deepspeed is not None and deepspeed.zero_stage == 3)


def check(args: Any, folder: Path) -> None:
    """Raises UserError: these settings don't go with how the processes share the model, or with the run to resume."""
    if args.cold_start_steps and (is_sharded(args) or getattr(args, "deepspeed_plugin", None) is not None):
        raise UserError(
            "a cold start needs whole weights in each process, and FSDP and DeepSpeed share them out: make it under "
            "ddp or in one process, and train the model that comes of it, with cold_start_steps: 0"
        )
    config = {} if args.resume is None else RunDir(folder).read_config()
    before, now = config.get(BATCH), args.generation_batch_size
    if before not in (None, now):
        on = counted(max(1, args.world_size), "process", "processes")
        raise UserError(
            f"this run has {before} completions a step, and on {on} these settings give {now};{_made_on(config)} "
            "choose per_device_train_batch_size and gradient_accumulation_steps so that the batch stays the same"
        )


def _made_on(config: dict[str, Any]) -> str:
    """How many processes wrote a config.yaml: the batch is shared out evenly among them."""
    each = recorded(config, "per_device_train_batch_size") * (recorded(config, "steps_per_generation") or 0)
    processes = config[BATCH] // each if each else 0
    made = f" it was made on {counted(processes, 'process', 'processes')}: go on with --nproc {processes}, or"
    return made if processes else ""


class StopTogether(TrainerCallback):
    """Stops all processes, with a checkpoint, after the step in which one of them is to stop.

    Ctrl-C comes to each process at its own moment, and only the first process sounds alarms. One that stopped alone
    would leave the others waiting for its gradients. It has to be the last of the callbacks. One number a step crosses.
    """

    def on_step_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        self._agree(control, args.device)

    def on_log(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        self._agree(control, args.device)

    @staticmethod
    def _agree(control: Any, device: torch.device) -> None:
        if not (dist.is_available() and dist.is_initialized()):
            return
        asked = torch.tensor([control.should_training_stop, control.should_save], dtype=torch.int32, device=device)
        dist.all_reduce(asked, dist.ReduceOp.MAX)
        control.should_training_stop, control.should_save = map(bool, asked.tolist())
