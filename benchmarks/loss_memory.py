"""Peak memory and time of the loss's head: log-probabilities of rows x tokens targets under a random head, and back.

    python benchmarks/loss_memory.py [--rows 8] [--tokens 1024] [--vocabulary 151936] [--hidden 256] [--head both]

* whole: all logits at once, log_softmax, gather;
* trl: TRL's fused head, which projects tiles of 4,096 tokens onto 32,768 entries (in torch; on CUDA in Triton);
* ours: `bot_grpo.logprobs.tiled_logps`, which also gives entropies, as TRL's does.

Float32, each in a process of its own. Memory is the peak resident memory of that process less what it held with the
inputs alone (hidden states and head), so gradients count. A frozen head is LoRA's case. Gradients of hidden states, and
of the head where it is trained, are compared with whole's: the largest difference, as a share of the largest entry. On
a CPU; whole needs three times the logits, 15 GB by default. Prints a Markdown table; last line: JSON.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

VARIANTS = ("whole", "trl", "ours")


def scored(variant: str, hidden_NH: Tensor, weight_VH: Tensor, targets_N: Tensor) -> Tensor:
    """log pi of the targets; its graph is what the backward pass will need."""
    if variant == "whole":
        return (hidden_NH @ weight_VH.T).log_softmax(-1).gather(-1, targets_N[:, None])[:, 0]
    if variant == "trl":
        from trl.kernels import ChunkedLogProbFunction

        outputs = ChunkedLogProbFunction.apply(
            hidden_NH, weight_VH, None, targets_N, 1.0, 32768, None, 1.0, ("log_probs", "entropy")
        )
        return outputs[0]
    from bot_grpo.logprobs import tiled_logps

    trained = [weight_VH] if weight_VH.requires_grad else []
    return tiled_logps(hidden_NH, targets_N, lambda hidden: hidden @ weight_VH.T, trained)[0]


def child(args: argparse.Namespace) -> None:
    """One variant; writes its gradients, and prints a JSON object."""
    torch.manual_seed(0)
    count = args.rows * args.tokens
    hidden_NH = torch.randn(count, args.hidden, requires_grad=True)
    weight_VH = torch.randn(args.vocabulary, args.hidden).div_(args.hidden**0.5).requires_grad_(args.head == "trained")
    targets_N, factor_N = torch.randint(0, args.vocabulary, (count,)), torch.randn(count)
    few = 4  # what is imported and set up at the first use is no memory of the loss
    scored(args.child, hidden_NH[:few], weight_VH[:5].detach(), targets_N[:few] % 5).sum().backward()
    hidden_NH.grad = None
    before = resident()
    start = time.perf_counter()
    (scored(args.child, hidden_NH, weight_VH, targets_N) * factor_N).sum().backward()
    seconds = time.perf_counter() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    torch.save([x.grad for x in (hidden_NH, weight_VH) if x.grad is not None], args.gradients)
    print(json.dumps({"gb": (peak - before) / 1e9, "seconds": seconds}))


def resident() -> int:
    """Bytes of this process in memory now."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()


def available() -> float:
    """Bytes that a new process may take."""
    rows = dict(line.split(":") for line in Path("/proc/meminfo").read_text().splitlines())
    return 1024.0 * int(rows["MemAvailable"].split()[0])


def measure(args: argparse.Namespace, head: str) -> dict[str, dict[str, float]]:
    """Each variant's peak in GB, its seconds, and how far its gradients are from whole's."""
    found: dict[str, dict[str, float]] = {}
    with tempfile.TemporaryDirectory() as folder:
        for variant in VARIANTS:
            sizes: list[Any] = [
                f"--{name}={getattr(args, name)}" for name in ("rows", "tokens", "vocabulary", "hidden")
            ]
            file = Path(folder, f"{variant}.pt")
            command = [sys.executable, __file__, *sizes, f"--head={head}", f"--child={variant}", f"--gradients={file}"]
            done = subprocess.run(command, capture_output=True, text=True, check=True)
            found[variant] = json.loads(done.stdout.splitlines()[-1])
            gradients, whole = torch.load(file), torch.load(Path(folder, "whole.pt"))
            far = [((a - b).abs().max() / b.abs().max()).item() for a, b in zip(gradients, whole, strict=True)]
            found[variant]["gradient"] = max(far)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--rows", type=int, default=8)
    parser.add_argument("--tokens", type=int, default=1024)
    parser.add_argument("--vocabulary", type=int, default=151_936)
    parser.add_argument("--hidden", type=int, default=256)
    parser.add_argument("--head", choices=["frozen", "trained", "both"], default="both")
    parser.add_argument("--child", choices=VARIANTS, help=argparse.SUPPRESS)
    parser.add_argument("--gradients", type=Path, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.child:
        child(args)
        return
    logits = 4 * args.rows * args.tokens * args.vocabulary
    if available() < 3.3 * logits:
        parser.error(f"whole needs {3.3 * logits / 1e9:.0f} GB, and {available() / 1e9:.0f} are free: lower --tokens")
    heads = ["frozen", "trained"] if args.head == "both" else [args.head]
    figures = {head: measure(args, head) for head in heads}
    print(f"{args.rows} x {args.tokens} tokens, vocabulary {args.vocabulary:,}, hidden size {args.hidden}\n")
    print("| head | variant | peak GB | of whole | seconds | gradient off by |\n|---|---|---|---|---|---|")
    for head, variants in figures.items():
        for name, at in variants.items():
            share = at["gb"] / variants["whole"]["gb"]
            print(f"| {head} | {name} | {at['gb']:.2f} | {share:.3f} | {at['seconds']:.1f} | {at['gradient']:.1e} |")
    print(json.dumps({**{n: getattr(args, n) for n in ("rows", "tokens", "vocabulary", "hidden")}, **figures}))


if __name__ == "__main__":
    main()
