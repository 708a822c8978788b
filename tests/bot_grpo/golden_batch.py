"""The shared reference batch (float64, 2 groups of 4 rollouts) and its expected values; and ranks played by threads."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import pytest
import torch
from torch import Tensor

from bot_grpo.algorithms import ALGORITHMS, Groups, ScoredBatch

ROOT = Path(__file__).parents[2]
K = 4
T = TypeVar("T")

# A row: (name, settings, golden key).
GOLDEN_ROWS: list[tuple[str, dict[str, Any], str]] = [
    ("bot_grpo", {}, "bot_grpo"),
    ("bot_grpo", {"length_weighted": False}, "bot_grpo_unweighted"),
    ("bot_grpo", {"aggregation": "token", "clip_high": 0.28}, "bot_grpo_dapo_agg"),
    ("grpo", {}, "grpo"),
    ("grpo", {"std": "sample", "eps": 1e-4}, "grpo_trl"),
    ("grpo", {"std": "sample"}, "grpo_verl"),
    ("grpo", {"beta": 0.04}, "grpo_kl"),
    ("dr_grpo", {}, "dr_grpo"),
    ("dr_grpo", {"constant": 9}, "dr_grpo"),
    ("gspo", {}, "gspo"),
    ("gspo", {"clip_low": 0.1, "clip_high": 0.1}, "gspo_wide"),
    ("gspo_token", {"clip_low": 0.1, "clip_high": 0.1}, "gspo_token_bot"),
    ("dapo", {}, "dapo"),
    ("dapo", {"per_group": True}, "dapo_per_group"),
    ("dapo", {"eps": 1e-4}, "dapo_trl"),
    ("pure", {}, "pure_verl_sum_whiten"),
    ("pure", {"adv_norm": False}, "pure_verl_sum"),
    ("prime", {}, "prime"),
    ("grpo_process", {}, "grpo_process"),
    ("balanced", {}, "balanced_agg"),
    ("reco", {}, "reco_noclip"),
    ("reco", {"clip_low": 0.2, "clip_high": 0.2}, "reco_clip"),
    ("ep_grpo", {}, "ep_grpo_reading"),
]


@cache
def golden() -> dict[str, Any]:
    """The shared file, or skip where there's no such folder (it is there in CI)."""
    shared = Path(os.environ.get("BOT_GRPO_SHARED") or ROOT.parent / "shared")
    path = shared / "golden" / "algorithms.json"
    if not path.exists():
        pytest.skip(f"no reference values at {path} (set BOT_GRPO_SHARED)")
    data: dict[str, Any] = json.loads(path.read_text())
    return data


def f64(x: Any) -> Tensor:
    return torch.tensor(x, dtype=torch.float64)


def golden_batch(name: str = "bot_grpo") -> ScoredBatch:
    """The batch as the algorithm `name` reads it: PRIME's token rewards are log pi_phi - log pi_ref."""
    inputs = golden()["inputs"]
    new, ref = f64(inputs["new_logp"]), f64(inputs["ref_logp"])
    rewards = new - ref if name == "prime" else f64(golden()["algos"]["bot_grpo"]["token_reward"])
    mask = f64(inputs["mask"])
    steps, ends = torch.zeros_like(mask), torch.zeros_like(mask)
    for row, (at, values) in enumerate(zip(inputs["step_ends"], inputs["prm_step_reward"], strict=True)):
        ends[row, at] = 1
        steps[row, at] = f64(values)
    return ScoredBatch(
        mask,
        new.requires_grad_(),
        f64(inputs["old_logp"]),
        rewards,
        f64(inputs["outcome"]),
        ref,
        f64(inputs["entropy"]),
        steps,
        ends,
    )


def random_batch(rows: int, width: int, *, seed: int = 0, dtype: torch.dtype = torch.float64) -> ScoredBatch:
    """A batch with every field filled, lengths from 1 to `width` and outcomes 0 or 1."""
    g = torch.Generator().manual_seed(seed)
    lengths = torch.randint(1, width + 1, (rows,), generator=g)
    mask = torch.arange(width)[None] < lengths[:, None]
    old, noise, ref, local, steps = (torch.randn(rows, width, generator=g, dtype=torch.float64) for _ in range(5))
    outcome = torch.randint(0, 2, (rows,), generator=g).double()
    local = 0.5 * local.tanh()
    ends = mask & ((torch.arange(width) % 3 == 2)[None] | (torch.arange(width)[None] == lengths[:, None] - 1))
    old = -old.abs()
    return ScoredBatch(
        mask,
        (old + 0.2 * noise).clamp(max=-1e-3).to(dtype).requires_grad_(),
        old.to(dtype),
        (3 * outcome[:, None] + local).to(dtype),
        outcome.to(dtype),
        (old + 0.1 * ref).to(dtype),
        ref.abs().to(dtype),
        steps.tanh().to(dtype),
        ends,
        local_rewards_BT=local.to(dtype),
    )


def as_ranks(pieces: list[T], index_B: Tensor, count: int, work: Callable[[T, Groups], Any]) -> list[Any]:
    """Run `work(piece, groups)` for each rank in a thread of its own; reductions meet at a barrier."""
    # A barrier for each meeting: a rank that fails breaks the one it will not come to, not one that others still leave.
    meetings = [threading.Barrier(len(pieces), timeout=30) for _ in range(200)]
    met = [0] * len(pieces)
    posted: list[Any] = [None] * len(pieces)
    results: list[Any] = [None] * len(pieces)

    def meet(rank: int) -> None:
        met[rank] += 1
        meetings[met[rank] - 1].wait()

    def reducer(rank: int, op: Callable[[Tensor], Tensor]) -> Callable[[Tensor], Tensor]:
        def reduce(x: Tensor) -> Tensor:
            posted[rank] = x
            meet(rank)
            assert all(other.shape == x.shape for other in posted), "ranks reduce tensors of different shapes"
            total = op(torch.stack(posted))
            meet(rank)
            return total

        return reduce

    def run(rank: int, first: int, rows: int) -> None:
        try:
            groups = Groups(
                index_B[first : first + rows],
                count,
                reducer(rank, lambda x: x.sum(0)),
                reducer(rank, lambda x: x.amax(0)),
            )
            results[rank] = work(pieces[rank], groups)
        except BaseException as error:
            meetings[met[rank]].abort()
            results[rank] = error

    sizes = [len(piece.mask_BT if isinstance(piece, ScoredBatch) else piece) for piece in pieces]  # type: ignore[arg-type]
    starts = [sum(sizes[:i]) for i in range(len(sizes))]
    threads = [threading.Thread(target=run, args=(i, starts[i], sizes[i])) for i in range(len(pieces))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results


NAMES = list(ALGORITHMS)
