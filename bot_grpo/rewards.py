"""Between TRL and reward models: rollouts in, one scalar a rollout for TRL and local rewards on tokens for us."""

from __future__ import annotations

import asyncio
import inspect
import json
import math
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from reward_models.alignment import TokenText, spread_spans
from reward_models.base import RewardSignal, Rollout, TokenRewardModel


@dataclass(frozen=True)
class Scored:
    """One rollout with its signal and the local reward S of each of its tokens. `signal` None: unscored, `reason` why."""

    rollout: Rollout
    signal: RewardSignal | None
    local_T: NDArray[np.float64]
    reason: str = ""


class RewardCollector:
    """A TRL reward function around a `TokenRewardModel`; the last batch's signals are left in `batch`.

    TRL sees the outcome G of each rollout (None where it could not be scored). Rows come as the JSON in the data set's
    `row` column, since Arrow would give every row every other row's keys.
    """

    __name__ = "outcome"

    def __init__(self, model: TokenRewardModel, tokenizer: Any) -> None:
        self.model = model
        self.eos_token_ids: set[int] = set()  # the trainer knows them once it has a model
        self._text = TokenText(tokenizer)
        self.batch: list[Scored] = []
        self.seconds = 0.0

    def __call__(
        self, prompts: list[Any], completions: list[Any], completion_ids: list[list[int]], **columns: Any
    ) -> list[float | None]:
        start = time.perf_counter()
        rows = columns.get("row") or ["{}"] * len(prompts)
        rollouts = [self._rollout(p, ids, row) for p, ids, row in zip(prompts, completion_ids, rows, strict=True)]
        self.batch = score(self.model, rollouts)
        self.seconds += time.perf_counter() - start
        return [None if s.signal is None else s.signal.outcome for s in self.batch]

    def _rollout(self, prompt: Any, ids: list[int], row: str) -> Rollout:
        text, spans = self._text(ids)
        question = prompt if isinstance(prompt, str) else prompt[-1]["content"]
        truncated = not ids or ids[-1] not in self.eos_token_ids
        return Rollout(question, text, tuple(ids), spans, json.loads(row), truncated)


def score(model: TokenRewardModel, rollouts: list[Rollout]) -> list[Scored]:
    """Score rollouts and put their local rewards on tokens. A bad signal fails its item, never the run."""
    answer = model.score(rollouts)
    signals = asyncio.run(_wait(answer)) if inspect.isawaitable(answer) else answer
    if len(signals) != len(rollouts):
        reason = f"{type(model).__name__} returned {len(signals)} signals for {len(rollouts)} rollouts"
        return [Scored(r, None, np.zeros(len(r.token_ids)), reason) for r in rollouts]
    return [_checked(model, r, s) for r, s in zip(rollouts, signals, strict=True)]


async def _wait(answer: Any) -> Any:
    return await answer


def _checked(model: TokenRewardModel, rollout: Rollout, signal: RewardSignal | None) -> Scored:
    nothing = np.zeros(len(rollout.token_ids))
    if signal is None:
        return Scored(rollout, None, nothing, "the reward model could not score it")
    if not math.isfinite(signal.outcome):
        return Scored(rollout, None, nothing, f"the outcome is {signal.outcome}")
    try:
        local_T = spread_spans(signal.spans, rollout.spans, getattr(model, "spread", "every"))
    except ValueError as error:
        return Scored(rollout, None, nothing, str(error))
    if not np.isfinite(local_T).all():
        return Scored(rollout, None, nothing, "a local reward is not a number")
    if np.abs(local_T).max(initial=0.0) > model.bound + 1e-9:
        worst = float(np.abs(local_T).max())
        return Scored(rollout, None, nothing, f"a local reward of {worst:g} breaks the bound {model.bound:g}")
    return Scored(rollout, signal, local_T)


def local_rewards(batch: Sequence[Scored], width: int) -> Tensor:
    """Local rewards S of B rollouts, right-padded with 0 to `width` tokens: (B, T) float32."""
    local_BT = torch.zeros(len(batch), width)
    for row, scored in enumerate(batch):
        n = min(width, len(scored.local_T))
        local_BT[row, :n] = torch.from_numpy(scored.local_T[:n]).float()
    return local_BT
