"""Reward models as authors write them, good and bad, for the tests of loading, guarding and checking."""

from __future__ import annotations

import os
import time
from typing import Any

from reward_models.base import RewardSignal, Rollout, Span


class Vowels:
    """G is the share of vowels; each of them gets `weight`."""

    def __init__(self, weight: float = 0.5, letters: str = "aeiou") -> None:
        self.bound, self.letters = abs(weight), letters
        self.weight = weight

    def score(self, rollouts: Any) -> list[RewardSignal | None]:
        return [self.one(r) for r in rollouts]

    def one(self, rollout: Rollout) -> RewardSignal:
        text = rollout.completion
        found = [Span(i, i + 1, self.weight, f"vowel {c}") for i, c in enumerate(text) if c in self.letters]
        return RewardSignal(len(found) / max(1, len(text)), spans=tuple(found))


class AsyncVowels(Vowels):
    async def score(self, rollouts: Any) -> list[RewardSignal | None]:  # type: ignore[override]
        return [self.one(r) for r in rollouts]


class Lengths:
    """Local rewards alone, one a token."""

    bound = 1.0

    def score(self, rollouts: Any) -> list[RewardSignal]:
        return [RewardSignal(None, tokens=[min(1.0, (b - a) / 10) for a, b in r.spans]) for r in rollouts]


class Hangs(Vowels):
    """Hangs where it reads `hang`, and ends its process where it reads `crash`."""

    blocking = True

    def one(self, rollout: Rollout) -> RewardSignal:
        if "hang" in rollout.completion:
            while True:
                time.sleep(1)
        if "crash" in rollout.completion:
            print("about to crash", flush=True)
            os._exit(7)
        return super().one(rollout)


class HangsUnmarked(Hangs):
    blocking = False


ready = Vowels(0.25)


def make_vowels(weight: float) -> Vowels:
    return Vowels(weight)


def broken_factory() -> Vowels:
    raise OSError("no such checkpoint")


def length_reward(completions: list[str], **kwargs: Any) -> list[float]:
    return [float(len(text)) for text in completions]


def chat_reward(completions: list[Any], **kwargs: Any) -> list[float]:
    return [float(len(each[0]["content"])) for each in completions]


def solved(prompts: list[str], completions: list[str], solution: list[str], bonus: float = 0.0) -> list[float | None]:
    """No **kwargs: it gets what it names."""
    right = [s in c for c, s in zip(completions, solution, strict=True)]
    return [None if c == "?" else r + bonus for c, r in zip(completions, right, strict=True)]


async def async_reward(prompts: list[str], completions: list[Any], **kwargs: Any) -> list[float]:
    return [float(len(each[0]["content"])) for each in completions]


def buggy_reward(completions: list[str], **kwargs: Any) -> list[float]:
    raise KeyError("my own bug")


number = 3
