"""What the framework itself takes between a reward model and the trainer, beside a process model's own time.

    python benchmarks/reward_overhead.py                 # 64 x 1,024 tokens
    python benchmarks/reward_overhead.py --tokens 8192 --forward-rows 0

Measured in one run: decoding the sampled ids with their spans, checking and aligning signals (a value on each line,
and a value on each of another tokenizer's tokens), mixing both, and a forward pass of SmolLM2-135M over the same
tokens, as a process model of that size would make. The forward pass runs over `--forward-rows` rows and is scaled up to
all of them. Times are those of this process on its CPUs, which count on a machine that others use too.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Sequence
from typing import Any

import torch
from transformers import AutoModel

from bot_grpo.models import load_tokenizer, resolve
from reward_models.alignment import TokenText, line_spans
from reward_models.base import RewardSignal, Rollout, Span
from reward_models.contract import pretend_tokens
from reward_models.mixing import Mix, Source
from reward_models.scoring import score
from tasks.react import load_react

MODEL = "smollm2-135m"


class Ready:
    """A stub in the place of a reward model: its answers were made before, so what is left is the framework."""

    bound = 1.0

    def __init__(self, signals: Sequence[RewardSignal], spread: str) -> None:
        self.signals, self.spread = signals, spread

    def score(self, rollouts: Sequence[Rollout]) -> Sequence[RewardSignal]:
        return self.signals


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rows", type=int, default=64)
    parser.add_argument("--tokens", type=int, default=1024)
    parser.add_argument("--forward-rows", type=int, default=8, help="rows of the forward pass; 0: none")
    args = parser.parse_args()
    tokenizer = load_tokenizer(MODEL)
    rows = completions(tokenizer, args.rows, args.tokens)
    decode = TokenText(tokenizer)
    texts = [decode(ids) for ids in rows]  # every id has been looked up once, as after a run's first step
    rollouts = [Rollout("q", text, tuple(ids), spans) for ids, (text, spans) in zip(rows, texts, strict=True)]
    lines = Ready([RewardSignal(1.0, by_line(text)) for text, _ in texts], "every")
    own = Ready([RewardSignal(None, by_own_token(text)) for text, _ in texts], "proportional")
    both = Mix([Source(lines), Source(own, role="local", weight_s=0.5)])
    values = [sum(len(s.spans) for s in model.signals) for model in (lines, own)]
    print(f"{args.rows} x {args.tokens} tokens; {values[0]} lines and {values[1]} tokens of another tokenizer")
    parts = {
        "ids to text and spans": best(lambda: [decode(ids) for ids in rows]),
        "a value a line: check and align": best(lambda: score(lines, rollouts)),
        "a value an own token: check and align": best(lambda: score(own, rollouts, outcome=False)),
        "both, mixed": best(lambda: score(both, rollouts)),
    }
    for name, seconds in parts.items():
        print(f"{name:<40}{seconds:8.3f} s")
    framework = parts["ids to text and spans"] + parts["both, mixed"]
    print(f"{'the framework: the first and the last':<40}{framework:8.3f} s")
    if args.forward_rows:
        forward = forward_seconds(rows[: args.forward_rows]) * args.rows / min(args.rows, args.forward_rows)
        print(f"{'forward pass of ' + MODEL:<40}{forward:8.3f} s   (of {args.forward_rows} rows, scaled)")
        print(f"the framework takes {framework / forward:.2%} of the forward pass")


def completions(tokenizer: Any, rows: int, tokens: int) -> list[list[int]]:
    """Rows of the React task's reference answers, one after another, cut to `tokens` ids."""
    text = "\n\n".join(row.reference for row in load_react(tier=None) if row.reference)
    ids = tokenizer(text, add_special_tokens=False)["input_ids"]
    ids = ids * (rows * tokens // len(ids) + 1)
    return [ids[k * tokens : (k + 1) * tokens] for k in range(rows)]


def by_line(text: str) -> tuple[Span, ...]:
    return tuple(Span(a, b, -0.5, "a line") for a, b in line_spans(text) if b > a)


def by_own_token(text: str) -> tuple[Span, ...]:
    return tuple(Span(a, b, 0.25) for a, b in pretend_tokens(text)[2] if b > a)


def best(function: Callable[[], Any], times: int = 3) -> float:
    seconds = []
    for _ in range(times):
        start = time.process_time()
        function()
        seconds.append(time.process_time() - start)
    return min(seconds)


@torch.no_grad()
def forward_seconds(rows: list[list[int]]) -> float:
    """The layers alone, in bfloat16, two rows at a time: a head of two labels costs nothing beside them."""
    model = AutoModel.from_pretrained(resolve(MODEL), dtype=torch.bfloat16).eval()
    model(torch.tensor(rows[:1])[:, :64])
    start = time.process_time()
    for k in range(0, len(rows), 2):
        model(torch.tensor(rows[k : k + 2]))
    return time.process_time() - start


if __name__ == "__main__":
    main()
