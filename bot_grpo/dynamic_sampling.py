"""DAPO's dynamic sampling (arXiv 2503.14476): groups that show no contrast are sampled anew, from other prompts.

A group whose outcomes are all equal teaches a sequence-level algorithm nothing. It is refilled before TRL sees the
batch, so that batches keep their size: only those groups are sampled again, each time with newly drawn prompts, a
bounded number of times. Outcomes decide, never token rewards: with those, a group of failures still has variance.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from datasets import IterableDataset
from torch import Tensor

from bot_grpo.advantages import equal_outcomes
from bot_grpo.errors import UserError
from bot_grpo.groups import Groups
from bot_grpo.rewards import Scored

Row = dict[str, Any]
Rollouts = dict[str, Any]  # as TRL's rollout_func returns them: lists with an item a row, or None


@dataclass(frozen=True)
class Refilled:
    """This process' rows of the generation batch, its rollouts and scores.

    attempts: how often groups were sampled anew; groups: how many, all attempts together; unfilled: share of groups
    that still show no contrast. The three are the same on all processes.
    """

    rows: list[Row]
    rollouts: Rollouts
    scored: list[Scored]
    attempts: int
    groups: int
    unfilled: float


def check_refillable(dataset: Any, *, tools: bool, sharded: bool) -> None:
    """Raise UserError where groups cannot be sampled anew: prompts without numbers, tools, sharded models."""
    if isinstance(dataset, IterableDataset):
        raise UserError("dynamic_sampling draws prompts by number: it needs a data set with a length, not a stream")
    if tools:
        raise UserError("dynamic_sampling scores rollouts before tools would run: set dynamic_sampling: 0")
    if sharded:
        raise UserError(
            "dynamic_sampling refills different numbers of rollouts on each process, which sharded models (FSDP, "
            "DeepSpeed) cannot sample; set dynamic_sampling: 0"
        )


def refill(
    rows: Sequence[Row],
    groups: Groups,
    *,
    sample: Callable[[list[Row], list[int], int], Rollouts],
    score: Callable[[list[Row], Rollouts], list[Scored]],
    draw: Callable[[int, int], list[Row]],
    attempts: int,
) -> Refilled:
    """Sample and score `rows`, then put new prompts where a group's outcomes are all equal, at most `attempts` times.

    sample(rows, places, attempt) samples rows for these places among the process' rows; attempt 0 is the first sample.
    draw(attempt, n) gives n new prompts, the same on all processes. A group with fewer than two scored rollouts shows
    no contrast either. A process samples only its own rows; one that has none to refill calls neither `sample` nor
    `score`. Each attempt takes one reduction of two numbers a group.
    """
    rows, index = list(rows), groups.index_B.tolist()
    first = sample(rows, list(range(len(rows))), 0)
    rollouts = {name: list(v) if isinstance(v, list | tuple) else v for name, v in first.items()}
    scored = score(rows, rollouts)
    equal_G = _without_contrast(scored, groups)
    tried, refilled = 0, 0
    while tried < attempts and equal_G.any():
        numbers = equal_G.nonzero().flatten().tolist()
        new = dict(zip(numbers, draw(tried, len(numbers)), strict=True))
        at = [i for i, group in enumerate(index) if group in new]
        if at:
            fresh_rows = [new[index[i]] for i in at]
            fresh = sample(fresh_rows, at, tried + 1)
            _put(rows, at, fresh_rows)
            _put(scored, at, score(fresh_rows, fresh))
            for name, values in rollouts.items():
                if isinstance(values, list):
                    _put(values, at, fresh[name])
        tried, refilled = tried + 1, refilled + len(numbers)
        equal_G = _without_contrast(scored, groups)
    return Refilled(rows, rollouts, scored, tried, refilled, equal_G.double().mean().item())


def draw_rows(dataset: Any, n: int, *, key: Sequence[int]) -> list[Row]:
    """`n` rows drawn at random from a data set, without repeats where it has enough; the same for the same `key`."""
    order = np.random.default_rng(list(key)).choice(len(dataset), size=n, replace=n > len(dataset))
    return [dataset[int(i)] for i in order]


def _without_contrast(scored: Sequence[Scored], groups: Groups) -> Tensor:
    device = groups.index_B.device
    outcome_B = torch.tensor([0.0 if s.signal is None else s.signal.outcome for s in scored], device=device)
    has_B = torch.tensor([s.signal is not None for s in scored], device=device)
    return equal_outcomes(outcome_B, 0, has_B=has_B, groups=groups)


def _put(items: list[Any], at: Sequence[int], values: Sequence[Any]) -> None:
    for i, value in zip(at, values, strict=True):
        items[i] = value
