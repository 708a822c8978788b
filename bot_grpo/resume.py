"""What a resumed run takes up besides weights, optimizer and random numbers, so that it ends as if nothing happened."""

from __future__ import annotations

import math
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from rich.console import Console
from transformers import TrainerCallback
from transformers.trainer_utils import rotate_checkpoints

from bot_grpo.errors import UserError
from bot_grpo.rundir import SEAL, RunDir, step_of

if TYPE_CHECKING:
    from bot_grpo.trainer import BoTGRPOTrainer

COLD_START = "cold-start"
"""The folder beside a run's checkpoints that keeps a cold start until there is a checkpoint."""


def find_checkpoint(resume: str | None, run: RunDir) -> Path | None:
    """The checkpoint to resume from: the run's newest whole one ("auto"), or the one named. None to begin.

    Raises UserError.
    """
    if resume is None:
        return None
    if resume == "auto":
        return run.last_checkpoint()
    if not (Path(resume) / SEAL).exists():
        raise UserError(f"{resume} is not a whole checkpoint (it has no {SEAL})")
    return Path(resume)


def ended(resume: str | None, run: RunDir, steps: int) -> bool:
    """Whether there is nothing left to do: the run has ended, and it left no checkpoint. Raises UserError."""
    summary = run.read_summary()
    if resume != "auto" or not summary.get("finished") or run.last_checkpoint() is not None:
        return False
    if steps > summary["of"]:
        raise UserError(f"{run.path} has made its {summary['of']} steps and left no checkpoint; choose another run")
    return True


def take_up(run: RunDir, checkpoint: Path | None, console: Console) -> None:
    """Take back what a stopped run wrote after the checkpoint, or without one all of it, and say so."""
    begun = bool(run.read_metrics()) or any(run.checkpoints.iterdir())
    run.cut_back(0 if checkpoint is None else step_of(checkpoint))
    if checkpoint is not None:
        console.print(f"going on from {checkpoint}", soft_wrap=True)
    else:
        how = "had not come to a checkpoint, and begins anew" if begun else "is new, and begins"
        console.print(f"nothing to go on from: {run.path} {how}", soft_wrap=True)


class Resumed(TrainerCallback):
    """Before the first step after a checkpoint: what the trainer has kept of it, and what it can tell from its log."""

    def __init__(self, trainer: BoTGRPOTrainer) -> None:
        self._trainer = trainer
        self._unlogged: dict[str, Any] | None = None

    def save(self, folder: Path) -> None:
        """What steps have summed up that were not logged yet, for `logging_steps` above 1."""
        trainer = self._trainer
        if trainer._globalstep_last_logged == trainer.state.global_step:
            return
        folder.mkdir(parents=True, exist_ok=True)
        unlogged = {
            "since": trainer._globalstep_last_logged,
            "loss": trainer._tr_loss,
            "metrics": dict(trainer._metrics["train"]),
            "stats": [vars(stats) for stats in (trainer._policy_stats, trainer._sampler_gap)],
        }
        torch.save(unlogged, folder / self._file)

    def load(self, folder: Path) -> None:
        """Read it, to be put in its place when training begins."""
        if (folder / self._file).exists():
            where = self._trainer.accelerator.device
            self._unlogged = torch.load(folder / self._file, map_location=where.type, weights_only=True)

    @property
    def _file(self) -> str:
        accelerator = self._trainer.accelerator
        return f"unlogged_{accelerator.process_index}_of_{accelerator.num_processes}.pt"

    def on_train_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        trainer, unlogged = self._trainer, self._unlogged
        if not state.global_step:
            return
        args.eval_on_start = False  # the run was evaluated when it started
        if trainer.run is not None and args.should_save:  # what a kill after the last save left too many
            best = state.best_model_checkpoint
            rotate_checkpoints(str(trainer.run.checkpoints), args.save_total_limit, best_model_checkpoint=best)
        if unlogged is not None:
            trainer._globalstep_last_logged, trainer._tr_loss = unlogged["since"], unlogged["loss"]
            trainer._metrics["train"].update(unlogged["metrics"])
            for stats, kept in zip((trainer._policy_stats, trainer._sampler_gap), unlogged["stats"], strict=True):
                vars(stats).update(kept)
            self._unlogged = None
        shares = [row.get("dynamic_sampling/unfilled") for row in state.log_history]
        trainer._warned = any(shares) or any(trainer._metrics["train"].get("dynamic_sampling/unfilled", ()))
        _skip_passes(trainer.prompt_order, math.floor(state.epoch or 0))

    def on_save(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        run = self._trainer.run
        if run is not None and args.should_save:  # what was kept of the cold start is in the checkpoint
            shutil.rmtree(run.checkpoints / COLD_START, ignore_errors=True)


def _skip_passes(sampler: Any, passes: int) -> None:
    """Have TRL's sampler go on with the order of a later pass over the prompts: it shuffles with one generator."""
    for _ in range(passes if getattr(sampler, "shuffle", False) else 0):
        torch.randperm(sampler.num_samples, generator=sampler.generator)
