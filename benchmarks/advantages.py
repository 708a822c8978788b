"""Time of `bag_of_tokens` on 64 rollouts of 8,192 tokens, beside a plain masked mean and deviation, on one core.

    python benchmarks/advantages.py [--rows 64] [--tokens 8192] [--group 8] [--repeats 50]

The plain version is what anyone would write for one bag over the whole batch: two masked sums in float32, no groups,
no 1/L, no check. Last line: JSON.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Callable

import torch
from torch import Tensor

from bot_grpo.advantages import bag_of_tokens


def plain(rewards_BT: Tensor, mask_BT: Tensor) -> Tensor:
    """(r - mean) / std over all tokens of the batch."""
    m_BT = mask_BT.to(rewards_BT.dtype)
    count = m_BT.sum()
    mean = (rewards_BT * m_BT).sum() / count
    centred_BT = (rewards_BT - mean) * m_BT
    return centred_BT / ((centred_BT * centred_BT).sum() / count).sqrt()


def milliseconds(work: Callable[[], Tensor], repeats: int) -> float:
    """Median time of one call, after five to warm up."""
    for _ in range(5):
        work()
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return 1e3 * statistics.median(times)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--rows", type=int, default=64)
    parser.add_argument("--tokens", type=int, default=8192)
    parser.add_argument("--group", type=int, default=8)
    parser.add_argument("--repeats", type=int, default=50)
    args = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(0)
    result: dict[str, float] = {"rows": args.rows, "tokens": args.tokens}
    for tokens in (args.tokens // 4, args.tokens):
        rewards_BT = torch.randn(args.rows, tokens)
        mask_BT = torch.arange(tokens)[None] < torch.randint(tokens // 4, tokens + 1, (args.rows, 1))
        bag = milliseconds(lambda r=rewards_BT, m=mask_BT: bag_of_tokens(r, m, args.group), args.repeats)  # type: ignore[misc]
        base = milliseconds(lambda r=rewards_BT, m=mask_BT: plain(r, m), args.repeats)  # type: ignore[misc]
        print(
            f"{args.rows} x {tokens}: bag_of_tokens {bag:.2f} ms, plain mean and std {base:.2f} ms, x{bag / base:.2f}"
        )
        result |= {f"bag_ms_{tokens}": round(bag, 3), f"plain_ms_{tokens}": round(base, 3)}
    print(json.dumps(result))


if __name__ == "__main__":
    main()
