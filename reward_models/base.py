"""The contract between a policy's rollouts and anything that can score them.

A reward model sees `Rollout`s and returns `RewardSignal`s: one global outcome, and values on spans of characters.
`reward_models.alignment` then turns a signal into one reward for each of the policy's own tokens.
"""

from __future__ import annotations

from collections.abc import Awaitable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol


@dataclass(frozen=True)
class Rollout:
    """One completion, as it was sampled.

    `spans[t]` is the half-open character span of the sampled id `token_ids[t]` in `completion`; the spans tile the
    text (a token that only opens a multi-byte character has an empty span). They come from the ids themselves by
    incremental decoding: most sampled id sequences do not survive decode-and-encode. `row` is the task's row.
    """

    prompt: str
    completion: str
    token_ids: tuple[int, ...] = ()
    spans: tuple[tuple[int, int], ...] = ()
    row: Mapping[str, Any] = field(default_factory=dict)
    truncated: bool = False


class Span(NamedTuple):
    """A local reward on the characters [start, end) of the completion."""

    start: int
    end: int
    value: float
    reason: str = ""


@dataclass(frozen=True)
class RewardSignal:
    """The reward of one rollout: a global `outcome` G and local `spans` S.

    `metrics` are numbers to average and log (compile_rate, ...); `details` is whatever a report should show. `steps`
    are the half-open character spans of the completion's steps, in order and disjoint, for algorithms that give credit
    by steps; None where the completion isn't annotated (its lines then stand in for steps).
    """

    outcome: float
    spans: tuple[Span, ...] = ()
    metrics: Mapping[str, float] = field(default_factory=dict)
    details: Mapping[str, Any] = field(default_factory=dict)
    steps: tuple[tuple[int, int], ...] | None = None


class TokenRewardModel(Protocol):
    """Anything with a `score` method; it may be async.

    `bound` is the B of |S_t| <= B after spans are summed on a token; a signal that breaks it, or holds NaN, is
    unscored. An item is None when it could not be scored: its rollout then leaves the group statistics and gets
    advantage 0; it is never a silent 0.
    """

    @property
    def bound(self) -> float:
        """B, the largest |S_t| that a token can get; an attribute does as well."""
        ...

    def score(
        self, rollouts: Sequence[Rollout]
    ) -> Sequence[RewardSignal | None] | Awaitable[Sequence[RewardSignal | None]]:
        """One signal a rollout, in their order; None for what could not be scored."""
        ...
