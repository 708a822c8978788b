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

    `outcome` is None where a model has local rewards only (a source of role "local"). `metrics` are numbers to average
    and log (compile_rate, ...); `details` is whatever a report should show. `steps` are the half-open character spans
    of the completion's steps, in order and disjoint, for algorithms that give credit by steps; None where the
    completion isn't annotated (its lines then stand in for steps). `tokens` is for models that score the policy's own
    tokens: exactly one local reward for each of the rollout's `token_ids`; it adds to what the spans give.
    """

    outcome: float | None
    spans: Sequence[Span] = ()
    metrics: Mapping[str, float] = field(default_factory=dict)
    details: Mapping[str, Any] = field(default_factory=dict)
    steps: Sequence[tuple[int, int]] | None = None
    tokens: Sequence[float] | None = None


@dataclass(frozen=True)
class Unscored:
    """In place of a signal: the rollout could not be scored, and why."""

    reason: str


Answer = RewardSignal | Unscored | None
"""What a model says of one rollout. None is `Unscored` without a reason."""


class TokenRewardModel(Protocol):
    """Anything with a `score` method; it may be async.

    `bound` is the B of |S_t| <= B after spans are summed on a token; a signal that breaks it, or holds NaN, is
    unscored. An item is None or `Unscored` when it could not be scored: its rollout then leaves the group statistics
    and gets advantage 0; it is never a silent 0.

    A model may also have `spread`, how a span's value goes to tokens (see `alignment.spread_spans`; "every" by
    default), `close()`, called when it is no longer needed, and `blocking = True`, for what can hang: it then lives in
    a child process and is asked one rollout at a time, against a deadline (see `guard`).
    """

    @property
    def bound(self) -> float:
        """B, the largest |S_t| that a token can get; an attribute does as well."""
        ...

    def score(self, rollouts: Sequence[Rollout]) -> Sequence[Answer] | Awaitable[Sequence[Answer]]:
        """One answer a rollout, in their order."""
        ...
