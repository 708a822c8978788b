"""A training step of BoTGRPOTrainer beside one of trl.GRPOTrainer, on the same rollouts, in one process.

    python benchmarks/trainer_step.py [--model tiny|smollm2-135m] [--rows 32] [--tokens 144] [--steps 3] [--rounds 2]

Rollouts are random ids of random lengths and rewards are a hash: nothing is sampled or judged, so a step is what is
left, advantages, forward and backward passes and the optimizer. Trainers take turns, in the other order each round; the
first step of a turn warms up. Times are medians of a step, on the clock and of this process (the latter is what counts
on a machine that others use too); memory is the peak of the turn (resident on a CPU, allocated on CUDA). In bfloat16
where the hardware multiplies in it, else in float32. Prints a Markdown table; last line: JSON.
"""

from __future__ import annotations

import argparse
import json
import warnings
from functools import partial
from typing import Any

import torch
from peft import LoraConfig, get_peft_model
from transformers import LlamaConfig, LlamaForCausalLM, logging

from bot_grpo import models
from bot_grpo.bf16 import in_hardware
from bot_grpo.step_bench import TRL, Batch, Turn, medians, turn

BF16 = in_hardware(cpu=not torch.cuda.is_available())
TRAINERS = (TRL, "ours grpo", "ours bot_grpo")


def policy(name: str, tokenizer: Any) -> Any:
    """smollm2-135m with a LoRA adapter, or all weights of a tiny model with the same vocabulary."""
    torch.manual_seed(0)
    if name == "tiny":
        shape = {"hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 2, "num_attention_heads": 4}
        return LlamaForCausalLM(LlamaConfig(vocab_size=len(tokenizer), tie_word_embeddings=True, **shape))
    model = models.load_model(name, dtype=torch.bfloat16 if BF16 else torch.float32, attn_implementation="eager")
    return get_peft_model(model, LoraConfig(r=16, lora_alpha=32, target_modules="all-linear", task_type="CAUSAL_LM"))


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
    batch = Batch(args.rows, args.micro, args.tokens, args.steps, bf16=BF16 and args.model != "tiny")
    turns: dict[str, list[Turn]] = {kind: [] for kind in TRAINERS}
    for number in range(args.rounds):
        for kind in TRAINERS if number % 2 == 0 else TRAINERS[::-1]:
            device = "cuda" if torch.cuda.is_available() else "cpu"
            turns[kind].append(turn(kind, partial(policy, args.model, tokenizer), tokenizer, batch, device=device))
    figures = {kind: medians(turns[kind]) for kind in TRAINERS}
    arithmetic = "bfloat16" if batch.bf16 else "float32"
    sizes = f"{args.rows} rollouts of up to {args.tokens} tokens"
    print(f"{args.model} in {arithmetic}, {sizes}, {torch.get_num_threads()} threads\n")
    print("| trainer | s a step | x TRL | CPU s a step | x TRL | peak MB | x TRL |\n|---|---|---|---|---|---|---|")
    for kind, values in figures.items():
        cells = [f"{v:.2f} | {v / figures[TRL][name]:.2f}" for name, v in values.items()]
        print(f"| {kind} | {' | '.join(cells)} |")
    rounded = {kind: {name: round(v, 4) for name, v in values.items()} for kind, values in figures.items()}
    print(json.dumps({"model": args.model, "rows": args.rows, "tokens": args.tokens, **rounded}))


if __name__ == "__main__":
    main()
