"""What several processes have to agree on while they train."""

from __future__ import annotations

from typing import Any

import torch
import torch.distributed as dist
from transformers import TrainerCallback


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
