"""Tokens a second of `bot-grpo eval`'s sampler beside `generate`, on SmolLM2-135M and made-up problems.

    python benchmarks/eval_speed.py [--problems 30] [--n 8] [--max-tokens 128] [--threads 2] [--ends]

Four ways: `generate` for one sample at a time (what most evaluation scripts do on a CPU), `generate` for the n samples
of a problem at a time, transformers' way of batching; and the HF backend in batches of n and of --batch-size. One by
would take an hour, so it samples every 20th request, spread over all problems. The ways take turns, a slice of the
problems each, so that whatever else the machine does falls on all; on a machine with other work the ratio by CPU time
(with --threads 1: waiting threads spin) is the steadier one. All sample at temperature 0.6, top-p 0.95.
Last line: JSON.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Sequence
from typing import Any

import torch

from bot_grpo.backends import Request, Sampling
from bot_grpo.eval_hf import HFBackend
from bot_grpo.eval_tasks import aime_problems
from bot_grpo.evaluate import requests

Way = Callable[[Sequence[Request]], int]


def generated(backend: HFBackend, sampling: Sampling, *, n: int) -> Way:
    """`generate`, n samples of a prompt at a time; gives the number of tokens."""
    model: Any = backend._model

    def way(asked: Sequence[Request]) -> int:
        tokens = 0
        for request in asked[::n]:
            ids = torch.tensor([backend._prompter(request.messages)])
            out = model.generate(
                ids,
                attention_mask=torch.ones_like(ids),
                do_sample=True,
                temperature=sampling.temperature,
                top_p=sampling.top_p,
                top_k=0,
                max_new_tokens=sampling.max_tokens,
                num_return_sequences=n,
                eos_token_id=backend._eos,
                pad_token_id=backend._tokenizer.pad_token_id,
            )[:, ids.size(1) :]
            ended = torch.isin(out, torch.tensor(backend._eos)).int()
            lengths = torch.where(ended.any(1), ended.argmax(1) + 1, out.size(1))
            tokens += int(lengths.sum())
        return tokens

    return way


def ours(backend: HFBackend, size: int) -> Way:
    """The HF backend in batches of `size`."""

    def way(asked: Sequence[Request]) -> int:
        backend._batch_size, tokens = size, 0

        def on_done(done: Any) -> None:
            nonlocal tokens
            tokens += sum(one.tokens for _, one in done)

        backend.sample(asked, frozenset(), on_done)
        return tokens

    return way


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--problems", type=int, default=30)
    parser.add_argument("--n", type=int, default=8)
    parser.add_argument("--max-tokens", type=int, default=128)
    parser.add_argument("--batch-size", type=int, default=64)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--slices", type=int, default=3)
    parser.add_argument("--ends", action="store_true", help="only the first and the last way")
    parser.add_argument("--data", default="arithmetic:4")
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    sampling = Sampling(0.6, 0.95, args.max_tokens)
    backend = HFBackend("smollm2-135m", sampling)
    asked = requests(aime_problems(args.data, split="test", limit=args.problems), args.n, 0)
    ways: dict[str, tuple[Way, int]] = {
        "generate, one by one": (generated(backend, sampling, n=1), 20),
        "generate, n at a time": (generated(backend, sampling, n=args.n), 1),
        "hf backend, batches of n": (ours(backend, args.n), 1),
        "hf backend": (ours(backend, args.batch_size), 1),
    }
    if args.ends:
        ways = {name: ways[name] for name in (next(iter(ways)), "hf backend")}
    ours(backend, args.n)(asked[: args.n])  # warm up
    tokens = dict.fromkeys(ways, 0)
    wall, work = dict.fromkeys(ways, 0.0), dict.fromkeys(ways, 0.0)
    size = -(-args.problems // args.slices) * args.n
    for start in range(0, len(asked), size):
        part = asked[start : start + size]
        for name, (way, every) in ways.items():
            began, cpu = time.perf_counter(), time.process_time()
            tokens[name] += way(part[::every])
            wall[name] += time.perf_counter() - began
            work[name] += time.process_time() - cpu
    print(f"{args.problems} problems x {args.n} samples, at most {args.max_tokens} tokens, {args.threads} threads")
    first, out = next(iter(ways)), {}
    for name in ways:
        speed, by_cpu = tokens[name] / wall[name], tokens[name] / work[name]
        ratios = speed / (tokens[first] / wall[first]), by_cpu / (tokens[first] / work[first])
        print(
            f"{name:26} {tokens[name]:7,} tokens {wall[name]:8.1f} s, {work[name]:8.1f} s of CPU: "
            f"{speed:7.1f} tokens/s, x{ratios[0]:.1f}; by CPU x{ratios[1]:.1f}"
        )
        out[name] = {
            "tokens_per_second": round(speed, 1),
            "ratio": round(ratios[0], 2),
            "cpu_ratio": round(ratios[1], 2),
        }
    print(json.dumps(out))


if __name__ == "__main__":
    main()
