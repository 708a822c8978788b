"""What advantage statistics over two processes cost: their share of a training step, and the bytes that they send.

    python benchmarks/distributed.py [--model tiny|smollm2-135m] [--algorithm bot_grpo] [--rows 16] [--tokens 64 1024]

Two gloo processes on CPUs, one thread each, train on random rollouts with a hash for a reward: a step is advantages,
forward and backward passes and the optimizer, and nothing is sampled or judged, which would make the share smaller.
Statistics are timed in each process from when both are there, so that waiting for the slower one is not counted. Bytes
are what one process gives into the reductions. Prints a Markdown table; last line: JSON.
"""

from __future__ import annotations

import argparse
import json
import os
import socket
import statistics
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, multiprocessing
from trainer_step import policy
from transformers import logging

from bot_grpo import groups, models
from bot_grpo.step_bench import Batch, Clock, build

PROCESSES = 2


class Meter:
    """Seconds of each batch's advantages, and the reductions and bytes of the last."""

    def __init__(self, trainer: Any) -> None:
        self.seconds: list[float] = []
        self.calls = self.bytes = 0
        self._advantages, self._reduce = trainer._advantages, groups._all_reduce
        trainer._advantages = self.advantages
        groups._all_reduce = self.reduce

    def advantages(self, batch: Any) -> Any:
        """As the trainer's, timed."""
        dist.barrier()
        self.calls = self.bytes = 0
        start = time.perf_counter()
        prepared = self._advantages(batch)
        self.seconds.append(time.perf_counter() - start)
        return prepared

    def reduce(self, x: Tensor, op: Any) -> Tensor:
        """As the groups', counted."""
        self.calls, self.bytes = self.calls + 1, self.bytes + x.numel() * x.element_size()
        return self._reduce(x, op)

    def close(self) -> None:
        """Put the groups' own back."""
        groups._all_reduce = self._reduce


def measure(args: argparse.Namespace, tokens: int) -> dict[str, float]:
    """One trainer's steps at this length."""
    tokenizer = models.load_tokenizer("smollm2-135m")
    batch = Batch(args.rows // PROCESSES, args.micro, tokens, args.steps, bf16=args.model != "tiny")
    with tempfile.TemporaryDirectory() as folder:
        trainer = build(f"ours {args.algorithm}", policy(args.model, tokenizer), tokenizer, batch, folder)
        clock, meter = Clock(), Meter(trainer)
        trainer.add_callback(clock)
        trainer.train()
        meter.close()
    step, taken = statistics.median(wall for wall, _ in clock.seconds), statistics.median(meter.seconds[1:])
    return {"step_s": step, "statistics_s": taken, "share": taken / step, "calls": meter.calls, "bytes": meter.bytes}


def process(rank: int, port: int, folder: str, args: argparse.Namespace) -> None:
    """One of the two: measure every length, and leave the figures."""
    os.environ |= {"RANK": str(rank), "LOCAL_RANK": str(rank), "WORLD_SIZE": str(PROCESSES), "OMP_NUM_THREADS": "1"}
    os.environ |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "ACCELERATE_USE_CPU": "true"}
    warnings.simplefilter("ignore")
    logging.set_verbosity_error()
    torch.set_num_threads(1)
    found = {tokens: measure(args, tokens) for tokens in args.tokens}
    Path(folder, f"{rank}.json").write_text(json.dumps(found))
    dist.destroy_process_group()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--model", choices=["tiny", "smollm2-135m"], default="tiny")
    parser.add_argument("--algorithm", default="bot_grpo")
    parser.add_argument("--rows", type=int, default=16, help="rollouts a step, in groups of 8, of both processes")
    parser.add_argument("--micro", type=int, default=4, help="rollouts a micro-batch of a process")
    parser.add_argument("--tokens", type=int, nargs="+", default=[64, 1024], help="longest completions")
    parser.add_argument("--steps", type=int, default=5)
    args = parser.parse_args()
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with tempfile.TemporaryDirectory() as folder:
        multiprocessing.spawn(process, args=(port, folder, args), nprocs=PROCESSES, join=True)
        ranks = [json.loads(Path(folder, f"{rank}.json").read_text()) for rank in range(PROCESSES)]
    print(f"{args.model}, {args.algorithm}, {args.rows} rollouts a step on {PROCESSES} processes of one thread\n")
    print("| tokens | s a step | ms statistics | share | reductions | bytes |\n|---|---|---|---|---|---|")
    slowest = {tokens: max((r[str(tokens)] for r in ranks), key=lambda one: one["share"]) for tokens in args.tokens}
    for tokens, one in slowest.items():
        cells = f"{one['step_s']:.3f} | {1e3 * one['statistics_s']:.2f} | {one['share']:.2%}"
        print(f"| {tokens} | {cells} | {one['calls']} | {one['bytes']} |")
    rounded = {tokens: {name: round(v, 6) for name, v in one.items()} for tokens, one in slowest.items()}
    print(json.dumps({"model": args.model, "algorithm": args.algorithm, "rows": args.rows, **rounded}))


if __name__ == "__main__":
    main()
