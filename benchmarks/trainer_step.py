"""A training step of BoTGRPOTrainer beside one of trl.GRPOTrainer, on the same rollouts, in one process.

    python benchmarks/trainer_step.py [--model tiny|smollm2-135m] [--rows 32] [--tokens 144] [--steps 3] [--rounds 2]

Rollouts are random ids of random lengths and rewards are a hash: nothing is sampled or judged, so a step is what is
left, advantages, forward and backward passes and the optimizer. Trainers take turns, in the other order each round; the
first step of a turn warms up. Times are medians of a step, on the clock and of this process (the latter is what counts
on a machine that others use too); memory is the peak of the turn (resident on a CPU, allocated on CUDA). Prints a
Markdown table; last line: JSON.
"""

from __future__ import annotations

import argparse
import gc
import json
import random
import re
import statistics
import tempfile
import time
import warnings
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from datasets import Dataset
from peft import LoraConfig, get_peft_model
from transformers import LlamaConfig, LlamaForCausalLM, logging
from transformers.trainer_callback import PrinterCallback, TrainerCallback
from trl import GRPOConfig, GRPOTrainer

from bot_grpo import models
from bot_grpo.config import BoTGRPOConfig
from bot_grpo.rewards import RewardCollector
from bot_grpo.trainer import BoTGRPOTrainer
from reward_models.base import RewardSignal, Rollout, Span

GROUP, PROMPT = 8, 48
TRAINERS = ("trl grpo", "ours grpo", "ours bot_grpo")


class Hash:
    """A stand-in for a reward model: a hash of the text as outcome, and a penalty on its first half."""

    bound = 1.0

    def score(self, rollouts: Sequence[Rollout]) -> list[RewardSignal]:
        return [
            RewardSignal(zlib.crc32(r.completion.encode()) % 2, (Span(0, len(r.completion) // 2, -0.5),))
            if len(r.completion) > 1
            else RewardSignal(0.0)
            for r in rollouts
        ]


class Rollouts:
    """Random completions of a quarter of `tokens` up to all of them; the same for every trainer."""

    def __init__(self, tokenizer: Any, tokens: int) -> None:
        self.tokenizer, self.tokens = tokenizer, tokens

    def __call__(self, prompts: list[str], trainer: Any) -> dict[str, Any]:
        draw, vocabulary = random.Random(repr(prompts)), len(self.tokenizer)
        lengths = [draw.randint(self.tokens // 4, self.tokens) for _ in prompts]
        ids = [
            [draw.randrange(1000, vocabulary) for _ in range(n - 1)] + [self.tokenizer.eos_token_id] for n in lengths
        ]
        return {"prompt_ids": self.tokenizer(prompts)["input_ids"], "completion_ids": ids, "logprobs": None}


class Clock(TrainerCallback):
    """Seconds of each optimizer step but the first: (on the clock, of this process)."""

    def __init__(self) -> None:
        self.seconds: list[tuple[float, float]] = []

    def on_step_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        self._start = time.perf_counter(), time.process_time()

    def on_step_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        if torch.cuda.is_available():
            torch.cuda.synchronize()
        if state.global_step > 1:
            self.seconds.append((time.perf_counter() - self._start[0], time.process_time() - self._start[1]))


def policy(name: str, tokenizer: Any) -> Any:
    """smollm2-135m in bfloat16 with a LoRA adapter, or all weights of a tiny model with the same vocabulary."""
    torch.manual_seed(0)
    if name == "tiny":
        shape = {"hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 2, "num_attention_heads": 4}
        return LlamaForCausalLM(LlamaConfig(vocab_size=len(tokenizer), tie_word_embeddings=True, **shape))
    model = models.load_model(name, dtype=torch.bfloat16, attn_implementation="eager")
    return get_peft_model(model, LoraConfig(r=16, lora_alpha=32, target_modules="all-linear", task_type="CAUSAL_LM"))


def build(kind: str, args: argparse.Namespace, tokenizer: Any, folder: str) -> GRPOTrainer:
    words = random.Random(1)
    prompts = [" ".join(words.choices(["make", "a", "page", "list", "button"], k=PROMPT)) for _ in range(64)]
    common: dict[str, Any] = {
        "output_dir": folder,
        "report_to": "none",
        "disable_tqdm": True,
        "save_strategy": "no",
        "logging_steps": 1,
        "activation_checkpointing": False,
        "bf16": args.model != "tiny",
        "use_cpu": not torch.cuda.is_available(),
        "num_generations": GROUP,
        "per_device_train_batch_size": args.micro,
        "gradient_accumulation_steps": args.rows // args.micro,
        "max_completion_length": args.tokens,
        "max_steps": args.steps + 1,
        "learning_rate": 1e-4,
    }
    data = Dataset.from_dict({"prompt": prompts, "row": ["{}"] * len(prompts)})
    model, rollouts = policy(args.model, tokenizer), Rollouts(tokenizer, args.tokens)
    extra: dict[str, Any] = {"train_dataset": data, "processing_class": tokenizer, "rollout_func": rollouts}
    if kind == "trl grpo":
        collector = RewardCollector(Hash(), tokenizer)
        trainer = GRPOTrainer(model, [collector], GRPOConfig(loss_type="grpo", **common), **extra)
    else:
        name = kind.split()[1]
        settings = {"std": "sample", "eps": 1e-4} if name == "grpo" else {}
        config = BoTGRPOConfig(algorithm=name, algorithm_settings=settings, **common)
        trainer = BoTGRPOTrainer(model, Hash(), config, **extra)
    trainer.remove_callback(PrinterCallback)
    return trainer


def reset_peak() -> None:
    gc.collect()
    if torch.cuda.is_available():
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()
    else:
        Path("/proc/self/clear_refs").write_text("5")  # the kernel then counts the peak anew


def peak_mb() -> float:
    if torch.cuda.is_available():
        return torch.cuda.max_memory_allocated() / 2**20
    found = re.search(r"VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text())
    return int(found[1]) / 2**10 if found else float("nan")


def turn(kind: str, args: argparse.Namespace, tokenizer: Any) -> tuple[list[tuple[float, float]], float]:
    """Seconds of each step (see `Clock`), and the peak memory of the whole turn in MB."""
    with tempfile.TemporaryDirectory() as folder:
        trainer, clock = build(kind, args, tokenizer, folder), Clock()
        trainer.add_callback(clock)
        reset_peak()
        trainer.train()
        return clock.seconds, peak_mb()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--model", choices=["tiny", "smollm2-135m"], default="tiny")
    parser.add_argument("--rows", type=int, default=32, help="rollouts a step, in groups of 8")
    parser.add_argument("--micro", type=int, default=8, help="rollouts a micro-batch")
    parser.add_argument("--tokens", type=int, default=144, help="longest completion")
    parser.add_argument("--steps", type=int, default=3)
    parser.add_argument("--rounds", type=int, default=2)
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    logging.set_verbosity_error()
    tokenizer = models.load_tokenizer("smollm2-135m")
    seconds: dict[str, list[tuple[float, float]]] = {kind: [] for kind in TRAINERS}
    peaks: dict[str, list[float]] = {kind: [] for kind in TRAINERS}
    for number in range(args.rounds):
        for kind in TRAINERS if number % 2 == 0 else TRAINERS[::-1]:
            times, peak = turn(kind, args, tokenizer)
            seconds[kind] += times
            peaks[kind].append(peak)
    figures = {
        kind: [statistics.median(x) for x in (*zip(*seconds[kind], strict=True), peaks[kind])] for kind in TRAINERS
    }
    print(f"{args.model}, {args.rows} rollouts of up to {args.tokens} tokens, {torch.get_num_threads()} threads\n")
    print("| trainer | s a step | x TRL | CPU s a step | x TRL | peak MB | x TRL |\n|---|---|---|---|---|---|---|")
    for kind, values in figures.items():
        cells = [f"{v:.2f} | {v / base:.2f}" for v, base in zip(values, figures["trl grpo"], strict=True)]
        print(f"| {kind} | {' | '.join(cells)} |")
    names = ("seconds", "cpu_seconds", "peak_mb")
    rounded = {k: dict(zip(names, (round(x, 4) for x in v), strict=True)) for k, v in figures.items()}
    print(json.dumps({"model": args.model, "rows": args.rows, "tokens": args.tokens, **rounded}))


if __name__ == "__main__":
    main()
