"""A training step of BoTGRPOTrainer beside one of trl.GRPOTrainer, on the same rollouts: what the benchmarks share.

Rollouts are random ids of random lengths and rewards are a hash: nothing is sampled or judged, so a step is what is
left, advantages, forward and backward passes and the optimizer.
"""

from __future__ import annotations

import gc
import random
import re
import statistics
import tempfile
import time
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from datasets import Dataset
from transformers.trainer_callback import PrinterCallback, TrainerCallback
from trl import GRPOConfig, GRPOTrainer

from bot_grpo.config import BoTGRPOConfig
from bot_grpo.rewards import RewardCollector
from bot_grpo.trainer import BoTGRPOTrainer
from reward_models.base import RewardSignal, Rollout, Span

GROUP, PROMPT = 8, 48
TRL = "trl grpo"


@dataclass(frozen=True)
class Batch:
    """One step's work: `rows` rollouts of up to `tokens` tokens, `micro` of them a micro-batch; `steps` are timed."""

    rows: int = 32
    micro: int = 8
    tokens: int = 144
    steps: int = 3
    bf16: bool = False
    checkpointing: bool = False


@dataclass(frozen=True)
class Turn:
    """Of one trainer: seconds of each step on the clock and of this process, and the peak memory in MB."""

    seconds: tuple[float, ...]
    cpu_seconds: tuple[float, ...]
    peak_mb: float


class Hash:
    """A stand-in for a reward model: a hash of the text as outcome, and a penalty on its first half."""

    bound = 1.0

    def score(self, rollouts: Sequence[Rollout]) -> list[RewardSignal]:
        """A signal for each rollout, the same for the same text."""
        return [
            RewardSignal(zlib.crc32(r.completion.encode()) % 2, (Span(0, len(r.completion) // 2, -0.5),))
            if len(r.completion) > 1
            else RewardSignal(0.0)
            for r in rollouts
        ]


class Rollouts:
    """A rollout_func: random completions of a quarter of `tokens` up to all of them, the same for every trainer."""

    def __init__(self, tokenizer: Any, tokens: int) -> None:
        self.tokenizer, self.tokens = tokenizer, tokens

    def __call__(self, prompts: list[str], trainer: Any) -> dict[str, Any]:
        """Prompts, completions, and no log-probabilities: the trainers take their own."""
        draw, vocabulary, eos = random.Random(repr(prompts)), len(self.tokenizer), self.tokenizer.eos_token_id
        first = 1000 if vocabulary > 2000 else 0  # special tokens stand at the beginning, or else at the end
        last = vocabulary if first else min(vocabulary, eos)
        lengths = [draw.randint(max(2, self.tokens // 4), self.tokens) for _ in prompts]
        ids = [[draw.randrange(first, last) for _ in range(n - 1)] + [eos] for n in lengths]
        return {"prompt_ids": self.tokenizer(prompts)["input_ids"], "completion_ids": ids, "logprobs": None}


class Clock(TrainerCallback):
    """Seconds of each optimizer step but the first, which warms up: (on the clock, of this process)."""

    def __init__(self) -> None:
        self.seconds: list[tuple[float, float]] = []

    def on_step_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Start."""
        self._start = _now()

    def on_step_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Stop, when the device is done too."""
        now = _now()
        if state.global_step > 1:
            self.seconds.append((now[0] - self._start[0], now[1] - self._start[1]))


def _now() -> tuple[float, float]:
    if torch.cuda.is_available():
        torch.cuda.synchronize()
    return time.perf_counter(), time.process_time()


def build(kind: str, model: Any, tokenizer: Any, batch: Batch, folder: str, *, device: str = "cpu") -> GRPOTrainer:
    """The trainer of a kind: "trl grpo", or "ours NAME" with an algorithm's name; "ours grpo" has TRL's numbers."""
    words = random.Random(1)
    prompts = [" ".join(words.choices(["make", "a", "page", "list", "button"], k=PROMPT)) for _ in range(64)]
    common: dict[str, Any] = {
        "output_dir": folder,
        "report_to": "none",
        "disable_tqdm": True,
        "save_strategy": "no",
        "logging_steps": 1,
        "activation_checkpointing": batch.checkpointing,
        "bf16": batch.bf16,
        "use_cpu": device == "cpu",
        "num_generations": GROUP,
        "per_device_train_batch_size": batch.micro,
        "gradient_accumulation_steps": batch.rows // batch.micro,
        "max_completion_length": batch.tokens,
        "max_steps": batch.steps + 1,
        "learning_rate": 1e-4,
    }
    data = Dataset.from_dict({"prompt": prompts, "row": ["{}"] * len(prompts)})
    rollouts = Rollouts(tokenizer, batch.tokens)
    extra: dict[str, Any] = {"train_dataset": data, "processing_class": tokenizer, "rollout_func": rollouts}
    trainer: GRPOTrainer
    if kind == TRL:
        collector = RewardCollector(Hash(), tokenizer)
        trainer = GRPOTrainer(model, [collector], GRPOConfig(loss_type="grpo", **common), **extra)
    else:
        name = kind.split()[1]
        settings = {"std": "sample", "eps": 1e-4} if name == "grpo" else {}
        config = BoTGRPOConfig(algorithm=name, algorithm_settings=settings, **common)
        trainer = BoTGRPOTrainer(model, Hash(), config, **extra)
    trainer.remove_callback(PrinterCallback)
    return trainer


def turn(kind: str, policy: Callable[[], Any], tokenizer: Any, batch: Batch, *, device: str = "cpu") -> Turn:
    """Train a fresh policy for a warm-up step and `batch.steps` more; the peak is of the training alone."""
    reset_peak()  # what the turn before has left, before there is another model
    with tempfile.TemporaryDirectory() as folder:
        trainer, clock = build(kind, policy(), tokenizer, batch, folder, device=device), Clock()
        trainer.add_callback(clock)
        reset_peak()
        trainer.train()
        wall, process = zip(*clock.seconds, strict=True)
        return Turn(wall, process, peak_mb())


def medians(turns: Sequence[Turn]) -> dict[str, float]:
    """Of a step's `seconds`, on the clock, and `cpu_seconds`, of this process; and of the turns' `peak_mb`."""
    wall, process = [x for t in turns for x in t.seconds], [x for t in turns for x in t.cpu_seconds]
    peaks = [t.peak_mb for t in turns]
    return {
        "seconds": statistics.median(wall),
        "cpu_seconds": statistics.median(process),
        "peak_mb": statistics.median(peaks),
    }


def reset_peak() -> None:
    """Free what nobody holds, and have the peak counted anew."""
    gc.collect()
    if torch.cuda.is_available():
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()
    else:
        Path("/proc/self/clear_refs").write_text("5")  # the kernel then counts the peak anew


def peak_mb() -> float:
    """The most memory since `reset_peak`, in MB: allocated on CUDA, resident on a CPU."""
    if torch.cuda.is_available():
        return torch.cuda.max_memory_allocated() / 2**20
    found = re.search(r"VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text())
    return int(found[1]) / 2**10 if found else float("nan")
