"""The main job: from settings to a run directory."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import torch
from accelerate.utils import gather_object
from datasets import Dataset
from peft import LoraConfig, get_peft_model
from rich.console import Console
from transformers.trainer_callback import PrinterCallback, ProgressCallback

from bot_grpo import models, together, tracking, vllm_setup
from bot_grpo.allocator import keep_freed_memory
from bot_grpo.cold_start import Demonstrations, cold_start, keep, kept, name_of, take
from bot_grpo.config import BoTGRPOConfig
from bot_grpo.errors import UserError
from bot_grpo.invoked import again, program
from bot_grpo.launch import LAUNCHED
from bot_grpo.progress import LossProgress, RunLog, StopOnInterrupt, StopOnUnscored
from bot_grpo.resume import COLD_START, check_readable, check_same, ended, find_checkpoint, take_up
from bot_grpo.reward_sources import RunReward
from bot_grpo.rundir import RunDir, versions, whole_folder
from bot_grpo.task_rows import OWN_REWARD, TaskRow, load_rows, messages, seen_before
from bot_grpo.trainer import BoTGRPOTrainer
from sandbox.words import counted, plural


def train(args: BoTGRPOConfig, *, console: Console | None = None) -> RunDir:
    """Run the whole job and return its run directory.

    Raises:
        UserError, tasks.errors.TaskError, sandbox.errors.SetupError: one line on what is wrong; nothing is lost.
    """
    main = args.process_index == 0  # of several processes the one that writes and speaks
    console = console or Console(highlight=False, quiet=not main)
    if args.use_cpu:
        keep_freed_memory()
    run = RunDir(str(args.output_dir))
    args.make_algorithm()
    vllm_setup.check(args)
    together.check(args, run.path)
    trackers = tracking.chosen(args)
    train_rows, eval_rows = load_rows(args)
    reward = RunReward(args.rewards, _reward_settings(args), own=OWN_REWARD[args.task])
    _check_batch(args, len(train_rows))
    check_same(args, run)
    if ended(args.resume, run, args.max_steps):
        console.print(f"done already: {run.path}", soft_wrap=True)
        return run
    check_readable(find_checkpoint(args.resume, run))
    tokenizer = models.load_tokenizer(args.model)
    models.token_ids(tokenizer, args.stop_tokens or [])
    _check_prompts(args, tokenizer, [*train_rows, *eval_rows])
    _begin(args, run, console)
    checkpoint = find_checkpoint(args.resume, run)  # not before: now the run is this process' own
    args.output_dir = str(run.checkpoints)
    _announce(args, run, console, len(train_rows), len(eval_rows))

    log = RunLog(
        run, console=console, w_g=args.w_g, sampler_gap=args.sampler_gap_alarm, stop_on_alarm=args.stop_on_alarm
    )
    stop, lost = StopOnInterrupt(), StopOnUnscored(args.max_unscored)
    with (
        reward.opened(run, args.sandbox_workers, args.sandbox_timeout) as reward_model,
        closing(log),
        tracking.following(args, run, trackers, console) as followed,
    ):
        torch.manual_seed(args.seed)
        model = make_policy(args)
        set_stops(args, model, tokenizer)
        if args.cold_start_steps and checkpoint is None:
            _cold_start(args, model, tokenizer, train_rows, run, console)
        _say_notes(args, reward_model.bound, train_rows, eval_rows, console)
        trainer = BoTGRPOTrainer(
            model,
            reward_model,
            args,
            run=run,
            train_dataset=_dataset(args, train_rows),
            eval_dataset=_dataset(args, eval_rows) if eval_rows else None,
            processing_class=tokenizer,
            callbacks=[log, stop, lost, together.StopTogether(), followed],
        )
        log.trainer = trainer
        for noisy in (PrinterCallback, ProgressCallback):
            trainer.remove_callback(noisy)
        with stop.listening():  # not in the cold start, where there is nothing to save: Ctrl-C ends that at once
            trainer.train(resume_from_checkpoint=None if checkpoint is None else str(checkpoint))
            with whole_folder(run.path / "model", makes=args.should_save) as folder:
                trainer.save_model(str(folder))
                _wait_for_all(args)
        if lost.stopped:
            _say_lost(args, trainer.state.global_step, log.unscored, run, console)
    if main:
        _finish(run, trainer, log, console)
    _wait_for_all(args)
    return run


def _begin(args: BoTGRPOConfig, run: RunDir, console: Console) -> None:
    """Make the run's folder, or take up the one that is there; one process does, and the others wait."""
    if args.process_index == 0:
        run.create(resume=args.resume is not None)
        about = {"started": time.strftime("%Y-%m-%d %H:%M:%S"), together.BATCH: args.generation_batch_size}
        run.write_config({**args.changed(), "output_dir": str(run.path), **about})
        if args.resume is not None:
            take_up(run, find_checkpoint(args.resume, run), console)
    _wait_for_all(args)


def _say_notes(
    args: BoTGRPOConfig, bound: float, rows: Sequence[TaskRow], held_out: Sequence[TaskRow], console: Console
) -> None:
    notes = [*args.notes(), seen_before(rows, held_out)]
    if args.w_g <= args.w_s * bound:
        local = "a local penalty can outweigh the outcome"
        notes.insert(0, f"w_g {args.w_g:g} <= w_s {args.w_s:g} x bound {bound:g}: {local}")
    for note in filter(None, notes):
        console.print(f"note: {note}", soft_wrap=True)


def _say_lost(args: BoTGRPOConfig, step: int, reasons: str, run: RunDir, console: Console) -> None:
    steps = StopOnUnscored.STEPS
    why = f"over {args.max_unscored:.0%} of the rollouts had no score in {steps} steps in a row: {reasons}"
    if args.process_index == 0:
        run.log({"step": step, "alarms": [why]})
    console.print(why, soft_wrap=True, markup=False)


def make_policy(args: BoTGRPOConfig) -> Any:
    """The model to train, with a fresh LoRA adapter on all linear layers unless `lora_r` is 0."""
    model = models.load_model(args.model, dtype=args.model_dtype, attn_implementation=args.attn_implementation)
    if not args.lora_r:
        return model
    return get_peft_model(
        model,
        LoraConfig(r=args.lora_r, lora_alpha=args.lora_alpha, target_modules="all-linear", task_type="CAUSAL_LM"),
    )


def set_stops(args: BoTGRPOConfig, model: Any, tokenizer: Any) -> None:
    """Have `stop_tokens` end completions: in the model's generation config, which TRL and the sampler here read, and
    for vLLM, which reads the one on disk, in `generation_kwargs`. Raises UserError."""
    if not args.stop_tokens:
        return
    ids = models.stop_at(model, tokenizer, args.stop_tokens)
    if args.use_vllm:
        args.generation_kwargs = {**_mapping(args.generation_kwargs), "stop_token_ids": ids}


def _dataset(args: BoTGRPOConfig, rows: Sequence[TaskRow]) -> Dataset:
    return Dataset.from_dict(
        {"prompt": [messages(args, r.prompt) for r in rows], "row": [json.dumps(r.row) for r in rows]}
    )


def _cold_start(
    args: BoTGRPOConfig, model: Any, tokenizer: Any, rows: Sequence[TaskRow], run: RunDir, console: Console
) -> None:
    taught = [r for r in rows if r.reference]
    if not taught:
        raise UserError("cold_start_steps needs rows with a `reference` answer, and these prompts have none")
    prompts, answers = [messages(args, r.prompt) for r in taught], [r.reference or "" for r in taught]
    data = Demonstrations(tokenizer, prompts, answers, _mapping(args.chat_template_kwargs))
    settings: dict[str, Any] = {
        "steps": args.cold_start_steps,
        "batch_size": args.cold_start_batch_size,
        "micro_batch_size": args.per_device_train_batch_size,
        "learning_rate": args.cold_start_learning_rate,
        "seed": args.seed,
        "bf16": bool(args.bf16),
    }
    use_cpu = args.use_cpu or not torch.cuda.is_available()
    about = settings | {"lora_alpha": args.lora_alpha, "attn_implementation": args.attn_implementation}
    about |= {"use_cpu": use_cpu, "processes": args.world_size, "versions": versions()}
    folder = Path(args.cold_starts or run.checkpoints / COLD_START).expanduser() / name_of(model, data, about)
    found, taken = kept(folder), ""
    everywhere = all(gather_object([found is not None]))  # of several processes none trains alone
    if found is not None and everywhere:  # this run's, stopped before its first checkpoint, or another's like it
        take(found, model)
        loss, taken = found.loss, f", taken from {folder}"
    else:
        with LossProgress(console, "cold start") as shown:
            scratch = str(run.checkpoints)
            loss = cold_start(model, data, **settings, output_dir=scratch, use_cpu=use_cpu, callbacks=[shown])
        if args.process_index == 0 and (why := keep(folder, model, loss)):
            console.print(f"note: the cold start cannot be kept in {folder} ({why})", soft_wrap=True)
    if args.process_index == 0:
        run.log({"step": 0, "cold_start/steps": args.cold_start_steps, "cold_start/loss": round(loss, 4)})
    steps = counted(args.cold_start_steps, "supervised step")
    console.print(f"cold start: {steps} on reference answers, loss {loss:.3f}{taken}", soft_wrap=True)


def _reward_settings(args: BoTGRPOConfig) -> dict[str, Any]:
    return _mapping(args.reward_settings)


def _mapping(value: dict | str | None) -> dict[str, Any]:
    """A setting that is a mapping by the time it has been parsed."""
    return value if isinstance(value, dict) else {}


def _wait_for_all(args: BoTGRPOConfig) -> None:
    if args.world_size > 1 and args.distributed_state is not None:
        args.distributed_state.wait_for_everyone()


def _check_batch(args: BoTGRPOConfig, rows: int) -> None:
    if not rows:
        raise UserError("the data set is empty")
    prompts = _prompts_a_step(args)
    if rows < prompts:
        only = f"there {plural(rows, 'is', 'are')} only {rows}"
        raise UserError(f"a step takes {counted(prompts, 'prompt')}, and {only}; lower the batch")


def _prompts_a_step(args: BoTGRPOConfig) -> int:
    return (args.generation_batch_size or 0) // (args.num_generations or 1)


def _check_prompts(args: BoTGRPOConfig, tokenizer: Any, rows: Sequence[TaskRow]) -> None:
    if tokenizer.chat_template is None:
        raise UserError(f"model {args.model!r} has no chat template: take its instruct model, or put one in its folder")
    limit = models.context_length(args.model)
    if limit is None:
        return
    template = _mapping(args.chat_template_kwargs)
    for row in rows:
        chat = messages(args, row.prompt)
        ids = tokenizer.apply_chat_template(chat, add_generation_prompt=True, return_dict=True, **template)
        if len(ids["input_ids"]) + (args.max_completion_length or 0) > limit:
            raise UserError(
                f"prompt {row.id!r} has {len(ids['input_ids'])} tokens, and with max_completion_length "
                f"{args.max_completion_length} it passes the model's context of {limit}"
            )


def _announce(args: BoTGRPOConfig, run: RunDir, console: Console, rows: int, held_out: int) -> None:
    batch, world = args.generation_batch_size, max(1, args.world_size)
    prompts = counted(_prompts_a_step(args), "prompt")
    console.print(
        f"{args.algorithm} on {args.task}: {prompts} x {args.num_generations} completions"
        f" = {batch} a step, in {args.steps_per_generation} micro-batches of {args.per_device_train_batch_size}"
        f" on {counted(world, 'process', 'processes')}; {counted(rows, 'prompt')} to train on, {held_out} held out",
        soft_wrap=True,
    )
    console.print(f"run directory: {run.path}", soft_wrap=True)


def _finish(run: RunDir, trainer: BoTGRPOTrainer, log: RunLog, console: Console) -> None:
    steps, wanted = trainer.state.global_step, trainer.state.max_steps
    run.write_summary(
        {
            "steps": steps,
            "of": wanted,
            "finished": steps >= wanted,
            "seconds": round(run.seconds(), 1),
            "peak_memory_gb": round(_peak_memory_gb(), 2),
            **log.last_eval,
        }
    )
    if steps < wanted:
        why = f" by {log.stopped_by}" if log.stopped_by else ""
        console.print(
            f"stopped{why} at step {steps} of {wanted}; go on with: {again(run.path)}"
            f"{_launched(trainer.args.world_size)}",
            soft_wrap=True,
        )
        return
    console.print(
        f"done: {run.path} (metrics.jsonl, rollouts, model); see it: {program()} report {run.path}", soft_wrap=True
    )


def _launched(processes: int) -> str:
    """What the command to go on needs besides, where several processes train."""
    if words := os.environ.get(LAUNCHED):
        return f" {words}"
    return f" (in {processes} processes)" if processes > 1 else ""


def _peak_memory_gb() -> float:
    """Peak resident memory of this process, in GB. Browsers and compilers are not in it."""
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
