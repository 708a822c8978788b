"""`bot-grpo train --dry-run`: the settings as they are meant, and what memory they take. No weights, data or folder."""

from __future__ import annotations

import re
from typing import Any

import yaml

from bot_grpo.architecture import Sizes, sizes
from bot_grpo.config import BoTGRPOConfig
from bot_grpo.errors import UserError
from bot_grpo.memory import GIB, Estimate, Plan, Sampler, estimate
from bot_grpo.recipe_files import Hardware
from bot_grpo.task_rows import check_settings
from bot_grpo.vllm_setup import serve_command
from sandbox.words import counted
from tasks.base import is_missing_file

PROMPT_TOKENS = 512
"""Assumed of the longest prompt, where `vllm_max_model_length` doesn't say."""


def dry_run(args: BoTGRPOConfig, hardware: Hardware, gpu: str | None) -> int:
    """Print it all. 0; 1: it does not fit the GPU that is named, or that the recipe is for. Raises UserError."""
    gpu = gpu or hardware.gpu
    room = gpu_bytes(gpu) if gpu is not None else None
    check_settings(args)
    for name in ("prompts", "eval_source"):
        source = getattr(args, name)
        if source is not None and is_missing_file(source):
            raise UserError(f"{name}: there is no file {source}")
    found = sizes(str(args.model))
    processes = max(args.world_size, hardware.processes)
    needs = estimate(found, plan(args, found, processes, room))
    here = {"use_cpu", "dataloader_pin_memory"} if room is not None else set()  # of this machine, not of that GPU
    print(yaml.safe_dump({k: v for k, v in args.changed().items() if k not in here}, sort_keys=False))
    print(batch_line(args, processes))
    trained = f"an adapter of {needs.trainable:,} is trained" if args.lora_r else "all are trained"
    print(f"{args.model}: {needs.parameters:,} parameters; {trained}")
    _print_parts(needs)
    for note in [*args.notes(), *notes(args, found)]:
        print(f"note: {note}")
    if hardware.server_gpus:
        _print_commands(args, hardware)
    return _verdict(needs, gpu, room)


def plan(args: BoTGRPOConfig, found: Sizes, processes: int, room: float | None) -> Plan:
    """What the memory of these settings depends on. Raises UserError: vLLM is to have a share of a GPU not named."""
    sampler: Sampler = "own" if not args.use_vllm else "server" if args.vllm_mode == "server" else "colocate"
    if sampler == "colocate" and room is None:
        raise UserError("vLLM is to have a share of the GPU: say with --gpu how large it is, say --gpu 24GB")
    completion = args.max_completion_length or 0
    length = args.vllm_max_model_length or 0
    training = args.per_device_train_batch_size * (args.steps_per_generation or 1)
    return Plan(
        weight_bytes=4 if args.model_dtype == "float32" else 2,
        lora_rank=args.lora_r,
        autocast=bool(args.bf16 or args.fp16),
        checkpointing=bool(args.activation_checkpointing),
        eager=args.attn_implementation == "eager",
        micro_batch=args.per_device_train_batch_size,
        rows=max(training, args.per_device_eval_batch_size if args.eval_strategy != "no" else 0),
        prompt=max(1, length - completion) if length else min(PROMPT_TOKENS, found.context),
        completion=completion,
        reference="ref_logps" in args.make_algorithm().needs,
        sampler=sampler,
        vllm_bytes=args.vllm_gpu_memory_utilization * (room or 0),
        sleeps=args.vllm_enable_sleep_mode,
        processes=processes,
        gpu=room is not None,
    )


def gpu_bytes(text: str) -> float:
    """Bytes of "24GB" (or "24", or "24 GiB"): a GPU's gigabytes are GiB. Raises UserError."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*(?:G|GB|GiB)?", text.strip(), re.IGNORECASE)
    if not found or float(found[1]) <= 0:
        raise UserError(f"--gpu is {text!r}; write its memory as 24GB or 80GB")
    return float(found[1]) * GIB


def batch_line(args: BoTGRPOConfig, processes: int) -> str:
    """How a step's batch comes about."""
    slices, group = int(args.steps_per_generation or 1), args.num_generations or 1
    batch = args.per_device_train_batch_size * slices * processes
    return (
        f"{counted(batch // group, 'prompt')} x {group} completions = {batch} a step, in {slices} micro-batches of "
        f"{args.per_device_train_batch_size} on {counted(processes, 'process', 'processes')}"
    )


def notes(args: BoTGRPOConfig, found: Sizes) -> list[str]:
    """What a person may not expect of this model with these lengths; one line each."""
    length = (args.vllm_max_model_length if args.use_vllm else None) or PROMPT_TOKENS + (
        args.max_completion_length or 0
    )
    lines = []
    if length > found.context:
        lines.append(f"prompt and completion of {length:,} tokens pass the model's context of {found.context:,}")
    if found.trained_on and length > found.trained_on:
        lines.append(
            f"LongRoPE turns positions by other factors beyond {found.trained_on:,} tokens, and what samples may do so "
            "where what trains does not; keep prompt and completion, and vllm_max_model_length, within that"
        )
    return lines


def _print_parts(needs: Estimate) -> None:
    print("\nestimated memory of a training process, GiB:")
    width = max(len(part.name) for part in needs.parts)
    for part in needs.parts:
        when = "" if part.when == "always" else f"; while {'sampling' if part.when == 'sampling' else 'updating'}"
        print(f"  {part.name:<{width}}  {part.bytes / GIB:7.2f}  {part.how}{when}")
    print(f"  {'sampling':<{width}}  {needs.total('sampling') / GIB:7.2f}")
    print(f"  {'updating':<{width}}  {needs.total('update') / GIB:7.2f}")


def _print_commands(args: BoTGRPOConfig, hardware: Hardware) -> None:
    serving = ",".join(str(hardware.processes + i) for i in range(hardware.server_gpus))
    training = ",".join(map(str, range(hardware.processes)))
    size = f"--tensor-parallel-size {hardware.server_gpus} --max-model-len {args.vllm_max_model_length}"
    print(
        f"\nthe server:  CUDA_VISIBLE_DEVICES={serving} "
        f"{serve_command(args.model, size, f'--port {args.vllm_server_port}')}\n"
        f"training:    CUDA_VISIBLE_DEVICES={training} bot-grpo train --nproc {hardware.processes} "
        "--config ... (and no --dry-run)"
    )


def _verdict(needs: Estimate, gpu: str | None, room: float | None) -> int:
    peak = needs.peak / GIB
    if room is None:
        print(f"\npeak {peak:.1f} GiB, estimated; --gpu 24GB says whether that fits")
        return 0
    fits = needs.peak <= room
    if fits and not _has_cache(needs):
        print(f"\ndoes not fit {gpu}: vLLM's share leaves no room for a cache; raise vllm_gpu_memory_utilization")
        return 1
    words = "fits" if fits else "does not fit"
    print(f"\n{words} {gpu}: peak {peak:.1f} of {room / GIB:.0f} GiB, estimated")
    return 0 if fits else 1


def _has_cache(needs: Estimate) -> bool:
    names: dict[str, Any] = {part.name: part.bytes for part in needs.parts}
    return "vLLM weights" not in names or names.get("vLLM cache", 0) > GIB / 2
