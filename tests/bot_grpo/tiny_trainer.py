"""A tiny random policy, a byte tokenizer, fixed rollouts and a stub reward: for tests of the trainer."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from datasets import Dataset
from peft import LoraConfig, get_peft_model
from transformers import LlamaConfig, LlamaForCausalLM
from transformers.trainer_callback import PrinterCallback, TrainerCallback

from bot_grpo.bench_parts import byte_tokenizer
from bot_grpo.config import BoTGRPOConfig
from bot_grpo.trainer import BoTGRPOTrainer
from reward_models.base import RewardSignal, Rollout, Span

os.environ.setdefault("TRL_EXPERIMENTAL_SILENCE", "1")

EOS, PAD = 256, 257
VOCABULARY = 258
COMMON: dict[str, Any] = {
    "report_to": "none",
    "use_cpu": True,
    "bf16": False,
    "gradient_checkpointing": False,
    "disable_tqdm": True,
    "logging_steps": 1,
    "save_strategy": "no",
    "max_completion_length": 12,
    "num_generations": 4,
    "per_device_train_batch_size": 8,
    "gradient_accumulation_steps": 1,
    "max_steps": 2,
    "learning_rate": 0.1,
    "lr_scheduler_type": "constant",
    "optim": "sgd",
    "max_grad_norm": 0.0,
    "seed": 3,
}


def tiny_llama(
    *, seed: int = 0, vocabulary: int = VOCABULARY, scale: float = 3.0, tied: bool = True, shared_keys: bool = False
) -> LlamaForCausalLM:
    """2 layers, hidden size 32, float32; weights larger than usual by `scale`, so that answers aren't all alike."""
    torch.manual_seed(seed)
    config = LlamaConfig(
        vocab_size=vocabulary,
        hidden_size=32,
        intermediate_size=48,
        num_hidden_layers=2,
        num_attention_heads=2,
        num_key_value_heads=1 if shared_keys else None,
        max_position_embeddings=128,
        eos_token_id=EOS if vocabulary > EOS else 0,
        pad_token_id=PAD if vocabulary > PAD else 0,
        bos_token_id=None,
        tie_word_embeddings=tied,
        initializer_range=0.02 * scale,
    )
    return LlamaForCausalLM(config).eval()


def with_lora(model: LlamaForCausalLM, *, seed: int = 1, warm: bool = False) -> Any:
    """The model with a LoRA adapter; `warm`: one that changes the logits already."""
    torch.manual_seed(seed)
    peft = get_peft_model(model, LoraConfig(r=4, lora_alpha=8, target_modules=["q_proj", "v_proj", "down_proj"]))
    if warm:
        for name, parameter in peft.named_parameters():
            if "lora_B" in name:
                torch.nn.init.normal_(parameter, std=0.3)
    return peft


def saved_llama(folder: Path) -> LlamaForCausalLM:
    """A tiny model that knows the folder it came from, as a reference model needs."""
    tiny_llama().save_pretrained(folder)
    return LlamaForCausalLM.from_pretrained(folder, dtype=torch.float32)


def prompts(n: int = 16) -> Dataset:
    texts = [f"write {'abcdefghij'[i % 10] * (1 + i % 4)} {i}:" for i in range(n)]
    return Dataset.from_dict({"prompt": texts, "row": [json.dumps({"id": i}) for i in range(n)]})


def fraction(*parts: Any) -> float:
    """A number in [0, 1) that depends on `parts` alone."""
    return int.from_bytes(hashlib.sha256(repr(parts).encode()).digest()[:6], "big") / 2**48


class FixedRollouts:
    """A rollout_func: completions that depend on the prompt, their place in the group and the call, on nothing else.

    Lengths vary from an EOS alone to a completion that is cut off; lines break now and then.
    """

    def __init__(self, tokenizer: Any, *, longest: int = 12) -> None:
        self.tokenizer, self.longest, self.calls = tokenizer, longest, 0

    def __call__(self, asked: list[str], trainer: Any) -> dict[str, Any]:
        self.calls += 1
        first = trainer.accelerator.process_index * len(asked)
        group = trainer.num_generations
        ids = [self.completion(p, (first + i) % group) for i, p in enumerate(asked)]
        return {"prompt_ids": self.tokenizer(asked)["input_ids"], "completion_ids": ids, "logprobs": None}

    def completion(self, prompt: str, place: int) -> list[int]:
        length = int(fraction("length", prompt, place) * (self.longest + 6))
        words = [int(fraction("token", prompt, place, t) * 256) for t in range(length)]
        words = [self.tokenizer.convert_tokens_to_ids("Ċ") if w % 5 == 0 else w for w in words]
        return words[: self.longest] if length > self.longest else [*words[: self.longest - 1], EOS]


class StubReward:
    """A STUB: outcomes and penalties that are a hash of the text, with no meaning. Deterministic.

    unscored: prompts whose rollouts get None. levels: outcomes are multiples of 1 / (levels - 1); 1: all are 0.
    """

    spread = "every"

    def __init__(
        self, *, levels: int = 3, bound: float = 1.0, unscored: Sequence[str] = (), local: bool = True
    ) -> None:
        self.levels, self.bound, self.unscored, self.local = levels, bound, set(unscored), local
        self.seen = 0

    def score(self, rollouts: Sequence[Rollout]) -> list[RewardSignal | None]:
        self.seen += len(rollouts)
        return [None if r.prompt in self.unscored else self.signal(r) for r in rollouts]

    def signal(self, rollout: Rollout) -> RewardSignal:
        text = rollout.completion
        outcome = int(fraction("outcome", text) * self.levels) / max(1, self.levels - 1)
        spans = []
        if len(text) > 2:
            start = int(fraction("start", text) * (len(text) - 2))
            spans = [Span(start, start + 2, self.bound * (fraction("value", text) - 0.8))]
        return RewardSignal(outcome, tuple(spans), metrics={"length": float(len(text))})


def config(folder: Path | str, **changes: Any) -> BoTGRPOConfig:
    return BoTGRPOConfig(output_dir=str(folder), **(COMMON | changes))


def trainer(
    folder: Path | str,
    *,
    model: Any = None,
    reward: Any = None,
    rollouts: Any = "fixed",
    data: Any = None,
    eval_data: Any = None,
    **changes: Any,
) -> BoTGRPOTrainer:
    """A trainer of a tiny model; `rollouts` None samples."""
    tokenizer = byte_tokenizer()
    extra = {"rollout_func": FixedRollouts(tokenizer)} if rollouts == "fixed" else {}
    if rollouts not in ("fixed", None):
        extra = {"rollout_func": rollouts}
    made = BoTGRPOTrainer(
        tiny_llama() if model is None else model,
        StubReward() if reward is None else reward,
        config(folder, **changes),
        train_dataset=prompts() if data is None else data,
        eval_dataset=eval_data,
        processing_class=tokenizer,
        **extra,
    )
    made.remove_callback(PrinterCallback)
    return made


class Record(TrainerCallback):
    """Keeps the weights after each optimizer step."""

    def __init__(self) -> None:
        self.steps: list[dict[str, torch.Tensor]] = []

    def on_step_end(self, args: Any, state: Any, control: Any, model: Any = None, **kwargs: Any) -> None:
        self.steps.append(weights(model))


def logged(made: Any) -> list[dict[str, float]]:
    """The metrics of each step, without times."""
    rows = [row for row in made.state.log_history if "loss" in row]
    return [{k: v for k, v in row.items() if "time" not in k and v is not None} for row in rows]


def weights(model: Any) -> dict[str, torch.Tensor]:
    return {name: p.detach().clone() for name, p in model.named_parameters()}


def distance(a: dict[str, torch.Tensor], b: dict[str, torch.Tensor]) -> float:
    """Largest difference of any weight."""
    assert a.keys() == b.keys()
    return max((a[name] - b[name]).abs().max().item() for name in a)
