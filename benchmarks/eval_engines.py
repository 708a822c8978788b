"""Tokens a second of `bot-grpo eval`'s two engines, transformers and vLLM, on the same problems, in one run.

    VLLM_CPU_KVCACHE_SPACE=1 DIR/bin/python benchmarks/eval_engines.py [--model smollm2-135m] [--problems 30] [--n 8]

Runs where vLLM is: on a GPU in an environment that has it, on a CPU in the one that `tests/bot_grpo/vllm_env.py` makes.
Both sample the same requests (temperature 0.6, top-p 0.95), and take turns, a slice of the problems each, after a
slice that warms up; loading is not counted. vLLM's engine is another process, so only the clock can be compared: the
machine should do nothing else. Completions have other lengths, for the random numbers differ; hence tokens a second.
Last line: JSON.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Sequence
from typing import Any

import torch

from bot_grpo.backends import Backend, Request, Sampling
from bot_grpo.eval_hf import HFBackend
from bot_grpo.eval_tasks import aime_problems
from bot_grpo.eval_vllm import VLLMBackend
from bot_grpo.evaluate import requests


def sampled(backend: Backend, asked: Sequence[Request]) -> tuple[int, float]:
    """Tokens, and seconds by the clock."""
    tokens = 0

    def on_done(done: Any) -> None:
        nonlocal tokens
        tokens += sum(one.tokens for _, one in done)

    began = time.perf_counter()
    backend.sample(asked, frozenset(), on_done)
    return tokens, time.perf_counter() - began


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--model", default="smollm2-135m")
    parser.add_argument("--data", default="arithmetic:4")
    parser.add_argument("--problems", type=int, default=30)
    parser.add_argument("--n", type=int, default=8)
    parser.add_argument("--max-tokens", type=int, default=128)
    parser.add_argument("--batch-size", type=int, default=64, help="rows at a time, transformers")
    parser.add_argument("--slices", type=int, default=3)
    parser.add_argument("--engine-args", type=json.loads, default={"max_model_len": 1024}, help="vLLM's, JSON")
    args = parser.parse_args()
    sampling = Sampling(0.6, 0.95, args.max_tokens)
    engines: dict[str, Backend] = {
        "hf": HFBackend(args.model, sampling, batch_size=args.batch_size),
        "vllm": VLLMBackend(args.model, sampling, engine_args=args.engine_args),
    }
    asked = requests(aime_problems(args.data, split="test", limit=args.problems), args.n, 0)
    size = -(-args.problems // args.slices) * args.n
    for backend in engines.values():
        sampled(backend, requests(aime_problems(args.data, split="train", limit=4), args.n, 1))
    tokens, seconds = dict.fromkeys(engines, 0), dict.fromkeys(engines, 0.0)
    for start in range(0, len(asked), size):
        for name, backend in engines.items():
            more, took = sampled(backend, asked[start : start + size])
            tokens[name] += more
            seconds[name] += took
    threads = torch.get_num_threads()
    print(f"{args.problems} problems x {args.n} samples, at most {args.max_tokens} tokens, {threads} threads for hf")
    speeds = {name: tokens[name] / seconds[name] for name in engines}
    for name, backend in engines.items():
        what = f"{backend.engine['name']} {backend.engine['dtype']}"
        print(f"{what:24} {tokens[name]:7,} tokens {seconds[name]:8.1f} s: {speeds[name]:7.1f} tokens/s")
    ratio = speeds["vllm"] / speeds["hf"]
    print(f"vLLM samples {ratio:.2f} times the tokens a second")
    print(json.dumps({**{name: round(speed, 1) for name, speed in speeds.items()}, "ratio": round(ratio, 2)}))
    for backend in engines.values():
        backend.close()


if __name__ == "__main__":
    main()
