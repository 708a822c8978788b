"""What a step logs, put together over micro-batches and processes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from accelerate.utils import gather_object
from torch import Tensor

from bot_grpo.groups import wide
from bot_grpo.rewards import Scored
from tasks.passk import pass_at_k

LARGEST = frozenset({"policy/ratio_max"})
Sums = dict[str, tuple[float, float]]
"""Of each figure the sum, and the number of rollouts (or of groups) that it is over."""


class PolicyStats:
    """Collects the `policy/` figures of `Algorithm.policy_loss`: means by tokens; of a maximum the largest.

    Nothing is copied off the device, and nothing crosses processes, before `take`.
    """

    def __init__(self) -> None:
        self._sums: dict[str, Tensor] = {}
        self._largest: dict[str, Tensor] = {}
        self._tokens: Tensor | None = None

    def add(self, metrics: Mapping[str, Tensor], tokens: Tensor) -> None:
        """The figures of one micro-batch and the number of tokens that they are of; scalar tensors."""
        for name, value in metrics.items():
            if name in LARGEST:
                seen = self._largest.get(name)
                self._largest[name] = value if seen is None else torch.maximum(seen, value)
            else:
                self._sums[name] = self._sums.get(name, 0) + wide(value) * tokens
        self._tokens = tokens if self._tokens is None else self._tokens + tokens

    def take(self, accelerator: Any) -> dict[str, float]:
        """The figures since the last call, over all processes (which must call together); nothing after no `add`."""
        if self._tokens is None:
            return {}
        sums, largest, tokens = self._sums, self._largest, self._tokens
        self._sums, self._largest, self._tokens = {}, {}, None
        stacked = torch.stack([*sums.values(), wide(tokens)])
        *totals, count = accelerator.reduce(stacked, reduction="sum").tolist()
        merged = {name: total / max(count, 1.0) for name, total in zip(sums, totals, strict=True)}
        for name, value in largest.items():
            merged[name] = accelerator.gather(value.reshape(1)).max().item()
        return merged


def averages(sums: Sums) -> dict[str, float]:
    """Each figure's average; NaN where there is nothing to average."""
    return {name: total / count if count else float("nan") for name, (total, count) in sums.items()}


def merged(a: Sums, b: Sums) -> Sums:
    """The sums of both."""
    none = (0.0, 0.0)
    return {n: (a.get(n, none)[0] + b.get(n, none)[0], a.get(n, none)[1] + b.get(n, none)[1]) for n in {**a, **b}}


def reward_sums(
    scored: Sequence[Scored],
    lengths_B: Tensor,
    outcome_B: Tensor,
    local_BT: Tensor,
    accelerator: Any,
    *,
    w_g: float = 1.0,
    bound: float = float("inf"),
) -> Sums:
    """Over the rollouts of all processes: what the reward model measured, and the parts of the reward.

    `reward` is the mean r_t of a rollout's tokens: w_g G + the mean of `local_BT`, in which w_s is already. `bound` is
    that of `local_BT`; `reward/saturated` is the share of a rollout's tokens that are at it.
    """
    values: dict[str, list[float]] = {}
    for one in scored:
        values.setdefault("unscored", []).append(float(one.signal is None))
        values.setdefault("truncated", []).append(float(one.rollout.truncated))
        for name, value in (one.signal.metrics if one.signal else {}).items():
            values.setdefault(name, []).append(float(value))
    keep = [i for i, one in enumerate(scored) if one.signal is not None]
    values["completion_length"] = lengths_B.tolist()
    values["reward/outcome"] = outcome_B[keep].tolist()
    local_B = local_BT.sum(1) / lengths_B.clamp(min=1)
    values["reward/local"] = local_B[keep].tolist()
    values["reward"] = (w_g * outcome_B + local_B)[keep].tolist()
    at_bound_B = (local_BT.abs() >= 0.999 * bound).sum(1) if bound > 0 else torch.zeros_like(lengths_B)
    values["reward/saturated"] = (at_bound_B / lengths_B.clamp(min=1))[keep].tolist()
    names = sorted(set(gather_object(list(values))))  # a process whose rollouts are all unscored has fewer
    sums = [[sum(values.get(name, [])), float(len(values.get(name, [])))] for name in names]
    totals = accelerator.reduce(torch.tensor(sums, device=accelerator.device), reduction="sum").tolist()
    return {name: (total, count) for name, (total, count) in zip(names, totals, strict=True)}


def pass_sums(scored: Sequence[Scored], size: int, accelerator: Any) -> Sums:
    """`pass@k` for k = 1, 2, 4, ... up to `size`, of groups of `size` rollouts that each were right or wrong.

    Right is a metric `accuracy` of 1. The groups of all processes count, each with its own number of scored rollouts;
    one with fewer than k has no part in pass@k. Empty where no rollout has that metric.
    """
    mine = [one.signal.metrics.get("accuracy") if one.signal else None for one in scored]
    right = gather_object(mine)
    groups = [[r for r in right[i : i + size] if r is not None] for i in range(0, len(right), size)]
    sums = {}
    k = 1
    while k <= size:
        values = [pass_at_k(sum(r == 1 for r in group), len(group), k) for group in groups if len(group) >= k]
        if values:
            sums[f"pass@{k}"] = sum(values), float(len(values))
        k *= 2
    return sums
