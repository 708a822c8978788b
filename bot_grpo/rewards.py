"""Between TRL and reward models: rollouts in, one scalar a rollout for TRL and local rewards on tokens for us."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from reward_models.alignment import TokenText, line_spans
from reward_models.base import Rollout, TokenRewardModel
from reward_models.functions import as_model
from reward_models.scoring import Scored, bound_of, score

__all__ = ["RewardCollector", "Scored", "local_rewards", "score", "step_rewards", "unscored"]


class RewardCollector:
    """A TRL reward function around a `TokenRewardModel`; the last batch's signals are left in `batch`.

    TRL sees the outcome G of each rollout (None where it could not be scored). Rows come as the JSON in the data set's
    `row` column, since Arrow would give every row every other row's keys.
    """

    __name__ = "outcome"

    def __init__(self, model: TokenRewardModel, tokenizer: Any) -> None:
        self.model = as_model(model)  # a reward function of TRL's kind does as well
        bound_of(self.model)  # says so now, not at the first batch
        self.eos_token_ids: set[int] = set()  # the trainer knows them once it has a model
        self._text = TokenText(tokenizer)
        self.batch: list[Scored] = []
        self.ready: list[Scored] | None = None  # scores that are known before TRL asks for them
        self.repeats = 0  # so many of the next rows, the last ones, only fill the batch: they are not scored
        self.seconds = 0.0

    def __call__(
        self, prompts: list[Any], completions: list[Any], completion_ids: list[list[int]], **columns: Any
    ) -> list[float | None]:
        rows = columns.get("row") or ["{}"] * len(prompts)
        ready, self.ready = self.ready, None
        own, self.repeats = len(prompts) - self.repeats, 0
        self.batch = self.score(prompts[:own], completion_ids[:own], rows[:own]) if ready is None else ready
        self.batch += [Scored(Rollout("", ""), None, np.zeros(0), "a repeat")] * (len(prompts) - len(self.batch))
        return [None if s.signal is None else s.signal.outcome for s in self.batch]

    def score(self, prompts: Sequence[Any], completion_ids: Sequence[list[int]], rows: Sequence[str]) -> list[Scored]:
        """Score completions that were sampled as `completion_ids`; `rows` are their prompts' rows, JSON."""
        start = time.perf_counter()
        rollouts = [self._rollout(p, ids, row) for p, ids, row in zip(prompts, completion_ids, rows, strict=True)]
        scored = score(self.model, rollouts)
        self.seconds += time.perf_counter() - start
        return scored

    def _rollout(self, prompt: Any, ids: list[int], row: str) -> Rollout:
        text, spans = self._text(ids)
        question = prompt if isinstance(prompt, str) else prompt[-1]["content"]
        truncated = not ids or ids[-1] not in self.eos_token_ids
        return Rollout(question, text, tuple(ids), spans, json.loads(row), truncated)


def unscored(batch: Sequence[Scored]) -> str:
    """How many rollouts have no score, and the reason that most of them have; "" where all are scored."""
    reasons = Counter(one.reason for one in batch if one.signal is None)
    if not reasons:
        return ""
    (reason, _), *others = reasons.most_common()
    return f"{reasons.total()} of {len(batch)} unscored: {reason}{' (and other reasons)' if others else ''}"


def local_rewards(batch: Sequence[Scored], width: int) -> Tensor:
    """Local rewards S of B rollouts, right-padded with 0 to `width` tokens: (B, T) float32."""
    local_BT = torch.zeros(len(batch), width)
    for row, scored in enumerate(batch):
        n = min(width, len(scored.local_T))
        local_BT[row, :n] = torch.from_numpy(scored.local_T[:n]).float()
    return local_BT


def step_rewards(batch: Sequence[Scored], width: int, *, spread: str = "every") -> tuple[Tensor, Tensor]:
    """Rewards of steps and where they end, right-padded to `width` tokens: (B, T) float32 and (B, T) bool.

    Steps are those that the reward model annotated, else the lines of the completion that hold more than white space.
    A token belongs to the step in which its text begins, so a step inside one token has no token of its own and falls
    away, and an EOS belongs to none. A step's reward is the mean local reward S over its tokens, or their sum where
    the reward model's `spread` divides a value over tokens. It stands on the step's last token; where the completion
    was cut off, the last step ends at the last token. An unscored rollout has no steps.
    """
    rewards_BT, ends_BT = torch.zeros(len(batch), width), torch.zeros(len(batch), width, dtype=torch.bool)
    for row, scored in enumerate(batch):
        at, values = _steps(scored, spread)
        rewards_BT[row, at] = torch.from_numpy(values).float()
        ends_BT[row, at] = True
    return rewards_BT, ends_BT


def _steps(scored: Scored, spread: str) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Last token and reward of each of a rollout's steps."""
    rollout, signal = scored.rollout, scored.signal
    nothing = np.zeros(0, dtype=np.int64), np.zeros(0)
    if signal is None or not rollout.spans:
        return nothing
    text = rollout.completion
    spans = signal.steps if signal.steps is not None else [(a, b) for a, b in line_spans(text) if text[a:b].strip()]
    if not spans:
        return nothing
    begins = np.array([a for a, _ in rollout.spans], dtype=np.int64)
    bounds = np.searchsorted(begins, np.array(spans, dtype=np.int64), side="left")  # first token, one past the last
    first, stop = bounds[bounds[:, 0] < bounds[:, 1]].T
    if not len(stop):
        return nothing
    total_T = np.concatenate([np.zeros(1), np.cumsum(scored.local_T)])
    values = total_T[stop] - total_T[first]
    last = stop - 1
    if rollout.truncated:
        last[-1] = len(rollout.spans) - 1
    return last, values / (stop - first) if spread == "every" else values
