"""Time of the `process` reward on a model of 135M parameters, beside one forward pass a step, on two cores.

    python benchmarks/process_reward.py [--problems 4] [--group 4] [--steps 12] [--repeats 3]

The model is SmolLM2-135M's architecture with a token-classification head and random weights: its speed is that of a
trained one. Three ways score the same solutions: a forward pass for each step's prefix (what most scripts do), one for
each solution with the scores of all of its steps, and `ProcessReward`, which also batches solutions of like lengths.
They take turns in each repeat, and all have to give the same scores. Last line: JSON.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from transformers import AutoConfig, AutoTokenizer, LlamaForTokenClassification

from bot_grpo.models import embedded_path
from reward_models.base import RewardSignal, Rollout
from reward_models.process import ProcessReward

Scores = list[list[float]]
SENTENCE = "then we add the two sides and find that x equals 3 times 7 because of (2 + 5) / 4 in the sum"


def solutions(problems: int, group: int, steps: int) -> list[Rollout]:
    """`group` solutions for each of `problems`, of half to one and a half times `steps` steps of 10 to 60 words."""
    rng = random.Random(0)
    words = SENTENCE.split()
    out = []
    for n in range(problems):
        problem = f"Problem {n}: " + " ".join(rng.choices(words, k=60))
        for _ in range(group):
            count = rng.randint(steps // 2, steps + steps // 2)
            out.append(
                Rollout(problem, "\n\n".join(" ".join(rng.choices(words, k=rng.randint(10, 60))) for _ in range(count)))
            )
    return out


def random_prm(folder: Path) -> str:
    """SmolLM2-135M with two classes, and its tokenizer."""
    torch.manual_seed(0)
    config = AutoConfig.from_pretrained(embedded_path(), num_labels=2)
    LlamaForTokenClassification(config).to(torch.bfloat16).save_pretrained(folder)
    AutoTokenizer.from_pretrained(embedded_path()).save_pretrained(folder)
    return str(folder)


def a_pass_a_step(reward: ProcessReward, rollouts: list[Rollout]) -> Scores:
    """The plain way: the prefix of each step by itself."""
    out: Scores = []
    for r in rollouts:
        texts = r.completion.split("\n\n")
        prefixes = [reward._encode(r.prompt, texts[: k + 1], 1) for k in range(len(texts))]
        out.append([last(reward, e.ids, e.at[-1:])[0] for e in prefixes])
    return out


def a_pass_a_solution(reward: ProcessReward, rollouts: list[Rollout]) -> Scores:
    """Every solution by itself, with the scores of all of its steps."""
    encoded = [reward._encode(r.prompt, r.completion.split("\n\n"), 1) for r in rollouts]
    return [last(reward, e.ids, e.at) for e in encoded]


def last(reward: ProcessReward, ids: tuple[int, ...], at: tuple[int, ...]) -> list[float]:
    model: Any = reward._model
    with torch.inference_mode():
        logits_TC = model(input_ids=torch.tensor([ids])).logits[0]
    return logits_TC[list(at)].float().softmax(-1)[:, 1].tolist()


def batched(reward: ProcessReward, rollouts: list[Rollout]) -> Scores:
    """`ProcessReward`."""
    return [s.details["process_scores"] for s in reward.score(rollouts) if isinstance(s, RewardSignal)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--problems", type=int, default=4)
    parser.add_argument("--group", type=int, default=4)
    parser.add_argument("--steps", type=int, default=12)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--batch-tokens", type=int, default=None)
    args = parser.parse_args()
    torch.set_num_threads(2)
    rollouts = solutions(args.problems, args.group, args.steps)
    ways: dict[str, Callable[[ProcessReward, list[Rollout]], Scores]] = {
        "a pass a step": a_pass_a_step,
        "a pass a solution": a_pass_a_solution,
        "process": batched,
    }
    with tempfile.TemporaryDirectory() as folder:
        reward = ProcessReward(random_prm(Path(folder)), batch_tokens=args.batch_tokens, self_test="off")
    batched(reward, rollouts[:2])  # warm up
    wall: dict[str, list[float]] = {name: [] for name in ways}
    work: dict[str, list[float]] = {name: [] for name in ways}
    scores: dict[str, Scores] = {}
    for _ in range(args.repeats):
        for name, way in ways.items():
            start, cpu = time.perf_counter(), time.process_time()
            scores[name] = way(reward, rollouts)
            wall[name].append(time.perf_counter() - start)
            work[name].append(time.process_time() - cpu)
    steps = sum(map(len, scores["process"]))
    apart = max(
        abs(a - b)
        for other in scores.values()
        for one, two in zip(scores["process"], other, strict=True)
        for a, b in zip(one, two, strict=True)
    )
    tokens = sum(len(reward._encode(r.prompt, r.completion.split("\n\n"), 1).ids) for r in rollouts)
    print(f"{len(rollouts)} solutions, {steps} steps, {tokens} tokens; scores at most {apart:.4f} apart")
    result: dict[str, float] = {"solutions": len(rollouts), "steps": steps, "tokens": tokens}
    for name in ways:
        ratios = [(statistics.median(some["a pass a step"]) / statistics.median(some[name])) for some in (wall, work)]
        seconds, cpu = statistics.median(wall[name]), statistics.median(work[name])
        print(f"{name:18} {seconds:7.2f} s, {cpu:7.2f} s of CPU: x{ratios[0]:.1f}, x{ratios[1]:.1f} by CPU")
        key = name.replace(" ", "_")
        result |= {f"{key}_s": round(seconds, 3), f"{key}_cpu_s": round(cpu, 3), f"{key}_ratio": round(ratios[0], 2)}
    print(json.dumps(result))


if __name__ == "__main__":
    main()
