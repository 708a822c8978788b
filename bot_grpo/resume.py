"""What a resumed run takes up besides weights, optimizer and random numbers, so that it ends as if nothing happened."""

from __future__ import annotations

import dataclasses
import json
import math
import os
import pickle
import shutil
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from rich.console import Console
from safetensors import SafetensorError, safe_open
from transformers import TrainerCallback
from transformers.trainer_utils import rotate_checkpoints

from bot_grpo.config import BoTGRPOConfig
from bot_grpo.errors import UserError
from bot_grpo.rundir import SEAL, RunDir, damaged_checkpoints, is_whole, step_of

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
        last, damaged = run.last_checkpoint(), damaged_checkpoints(run.checkpoints)
        if last is None and damaged:  # to begin anew would delete what may be mended
            raise UserError(
                f"{damaged[0] / SEAL} cannot be read, and no older checkpoint is whole; move {run.path} away to begin "
                "anew"
            )
        return last
    if not is_whole(Path(resume)):
        raise UserError(f"{resume} is not a whole checkpoint (it has no {SEAL} that can be read)")
    return Path(resume)


def ended(resume: str | None, run: RunDir, steps: int) -> bool:
    """Whether there is nothing left to do: the run has made all its steps, and no more are asked for.

    Raises UserError: fewer are asked for than are made, or more, and there is no checkpoint to go on from.
    """
    if resume is None:
        return False
    summary, last = run.read_summary() if resume == "auto" else {}, find_checkpoint(resume, run)
    made = max(summary.get("steps", 0), 0 if last is None else step_of(last))
    if 0 < steps < made:
        raise UserError(f"{made} steps are made already, and max_steps {steps} is fewer; nothing was changed")
    if not summary.get("finished"):
        return False
    if steps > made and last is None:
        raise UserError(f"{run.path} has made its {made} steps and left no checkpoint; choose another run")
    return steps <= made


# -- the settings -----------------------------------------------------------------------------------------------------

_MAY_DIFFER = {
    *("output_dir", "cold_starts", "max_steps", "resume", "resume_from_checkpoint"),
    # how the batch is cut; `together.check` and `check_same` hold it and the updates on it
    *("per_device_train_batch_size", "gradient_accumulation_steps", "steps_per_generation"),
    *("activation_checkpointing", "gradient_checkpointing", "torch_empty_cache_steps"),
    *("activation_checkpointing_kwargs", "gradient_checkpointing_kwargs"),
    # when is evaluated, not on what
    *("eval_strategy", "eval_steps", "eval_delay", "eval_on_start", "eval_accumulation_steps", "do_eval"),
    "per_device_eval_batch_size",
    *("report_to", "run_name", "project", "disable_tqdm", "debug", "push_to_hub"),
    *("sandbox_workers", "sandbox_timeout", "stop_on_alarm", "sampler_gap_alarm", "max_unscored"),
    # on what it runs
    *("use_cpu", "local_rank", "fsdp", "fsdp_config", "deepspeed", "vllm_group_port", "vllm_gpu_memory_utilization"),
}
_MAY_DIFFER_FROM = ("save_", "logging_", "log_", "hub_", "trackio_", "dataloader_", "ddp_", "vllm_server_")


def recorded(config: Mapping[str, Any], name: str) -> Any:
    """A setting as a run's config.yaml has it, which leaves out what is at TRL's default."""
    field = BoTGRPOConfig.__dataclass_fields__[name]
    default = field.default if field.default_factory is dataclasses.MISSING else field.default_factory()
    return config.get(name, default)


def check_same(args: BoTGRPOConfig, run: RunDir) -> None:
    """That a run goes on with the settings that it began with: a checkpoint brings its own schedule, optimizer and
    place in the data, and half of a changed setting would be used. With nothing to go on from, all may differ.

    Raises UserError.
    """
    checkpoint = find_checkpoint(args.resume, run)
    if args.resume is None or (checkpoint is None and not run.read_summary().get("finished")):
        return
    runs = [run] if checkpoint is None else [run, RunDir(checkpoint.absolute().parents[1])]
    found = next((differences(args, config) for one in runs if (config := one.read_config())), [])
    if found:
        more = f", and {len(found) - 3} more" if len(found) > 3 else ""
        raise UserError(
            f"--resume goes on with what the run began with, and these have changed: {', '.join(found[:3])}{more}; "
            f"go on with --config {run.path}/config.yaml and without them, or begin a new run in another --output_dir"
        )


def differences(args: BoTGRPOConfig, config: Mapping[str, Any]) -> list[str]:
    """The settings that a run began with and can't go on without, where `args` has others: a few words each."""
    now = args.changed()
    names = [n for n in BoTGRPOConfig.__dataclass_fields__ if n in now or n in config]
    pairs = {n: (recorded(config, n), now.get(n, getattr(args, n))) for n in names if not _may_differ(n)}
    was, is_now = (
        (of("steps_per_generation") or 0) / of("gradient_accumulation_steps")
        for of in (lambda name: recorded(config, name), lambda name: getattr(args, name))
    )
    if was:  # else a run from before it was written down
        pairs["steps_per_generation / gradient_accumulation_steps"] = (was, is_now)
    return [
        f"{name} (it was {_short(was)}, and is {_short(now)})" for name, (was, now) in pairs.items() if _other(was, now)
    ]


def _may_differ(name: str) -> bool:
    return name in _MAY_DIFFER or name.startswith(_MAY_DIFFER_FROM)


def _other(was: Any, now: Any) -> bool:
    """Whether two values differ; the same path, said otherwise, does not."""
    if isinstance(was, str) and isinstance(now, str):
        return os.path.realpath(was) != os.path.realpath(now)
    return bool(was != now)


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 40 else f"{text[:37]}..."


# -- the checkpoint's files -------------------------------------------------------------------------------------------

UNREADABLE = (OSError, RuntimeError, ValueError, EOFError, KeyError, pickle.UnpicklingError, SafetensorError)


def check_readable(checkpoint: Path | None) -> None:
    """That no file of a checkpoint is cut off, before anything is written. Raises UserError."""
    if checkpoint is not None and (file := _cut_off(checkpoint)) is not None:
        raise UserError(f"{file} is damaged and cannot be read; {_older(checkpoint)}")


@contextmanager
def loading(checkpoint: str | None) -> Iterator[None]:
    """What cannot be loaded from a checkpoint is a UserError. Cut off files are found before; this is the rest."""
    try:
        yield
    except UNREADABLE as error:
        if checkpoint is None or isinstance(error, torch.OutOfMemoryError):
            raise
        why = " ".join(str(error).split())[:200]
        raise UserError(f"{checkpoint} cannot be loaded ({why}); {_older(Path(checkpoint))}") from error


def _cut_off(checkpoint: Path) -> Path | None:
    """The first file that ends too early: torch's are zip files, with the table of contents at their end."""
    for file in sorted(checkpoint.iterdir()):
        try:
            if file.suffix == ".safetensors":
                safe_open(file, "pt").__exit__(None, None, None)
            elif file.suffix in {".pt", ".pth", ".bin"}:
                zipfile.ZipFile(file).close()
            elif file.suffix == ".json":
                json.loads(file.read_text(encoding="utf-8"))
        except (OSError, ValueError, zipfile.BadZipFile, SafetensorError):
            return file
    return None


def _older(checkpoint: Path) -> str:
    before = [c for c in checkpoint.parent.glob("checkpoint-*") if 0 <= step_of(c) < step_of(checkpoint)]
    usable = [c for c in sorted(before, key=step_of, reverse=True) if is_whole(c) and _cut_off(c) is None]
    return f"go on from the one before it: --resume {usable[0]}" if usable else "there is no older one to go on from"


# -- going on ---------------------------------------------------------------------------------------------------------


def take_up(run: RunDir, checkpoint: Path | None, console: Console) -> None:
    """Take back what a stopped run wrote after the checkpoint, or without one all of it, and say so."""
    begun = bool(run.read_metrics()) or any(run.checkpoints.iterdir())
    for damaged in damaged_checkpoints(run.checkpoints):
        if checkpoint is not None and step_of(damaged) > step_of(checkpoint):
            console.print(f"{damaged / SEAL} cannot be read: an older checkpoint is taken", soft_wrap=True)
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
            "stats": [vars(stats) for stats in trainer.records.stats],
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
            for stats, kept in zip(trainer.records.stats, unlogged["stats"], strict=True):
                vars(stats).update(kept)
            self._unlogged = None
        shares = [row.get("dynamic_sampling/unfilled") for row in state.log_history]
        trainer.records.warned = any(shares) or any(trainer._metrics["train"].get("dynamic_sampling/unfilled", ()))
        _skip_passes(trainer.prompt_order, math.floor(state.epoch or 0))

    def on_save(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        run = self._trainer.run
        if run is not None and args.should_save:  # what was kept of the cold start is in the checkpoint
            shutil.rmtree(run.checkpoints / COLD_START, ignore_errors=True)


def _skip_passes(sampler: Any, passes: int) -> None:
    """Have TRL's sampler go on with the order of a later pass over the prompts: it shuffles with one generator."""
    for _ in range(passes if getattr(sampler, "shuffle", False) else 0):
        torch.randperm(sampler.num_samples, generator=sampler.generator)
