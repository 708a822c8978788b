"""The contract holds good models fit, and finds each kind of bad one and says where."""

from __future__ import annotations

import random
import time
from typing import Any

import plugins
import pytest

from reward_models.base import RewardSignal, Rollout, Span, Unscored
from reward_models.contract import (
    CHECKS,
    RewardModelContract,
    pretend_tokens,
    run_check,
    sample_rollouts,
)
from reward_models.functions import RewardFunction

# -- as an author uses it ---------------------------------------------------------------------------------------------


class TestVowels(RewardModelContract):
    def make_model(self) -> Any:
        return plugins.Vowels(weight=0.5)


class TestAsyncVowels(RewardModelContract):
    def make_model(self) -> Any:
        return plugins.AsyncVowels()


class TestLocalAlone(RewardModelContract):
    def make_model(self) -> Any:
        return plugins.Lengths()


class TestRewardFunction(RewardModelContract):
    def make_model(self) -> Any:
        return plugins.solved

    def samples(self) -> Any:
        return sample_rollouts(row={"solution": "7"})


# -- what it finds ----------------------------------------------------------------------------------------------------


def wrong(model: Any, **row: Any) -> dict[str, list[str]]:
    """What each check finds, in words, by the check's name; nothing of those that find nothing."""
    samples = sample_rollouts(row=row)
    found = {name: run_check(model, name, samples, 1e-3, 0.1) for name in CHECKS}
    return {name: [str(f) for f in findings] for name, findings in found.items() if findings}


class Loud(plugins.Vowels):
    def __init__(self) -> None:
        super().__init__()
        self.bound = 0.25


class Raises(plugins.Vowels):
    def one(self, rollout: Rollout) -> RewardSignal:
        return RewardSignal(1 / len(rollout.completion))


class Nan(plugins.Vowels):
    def one(self, rollout: Rollout) -> RewardSignal:
        return RewardSignal(float("nan") if rollout.truncated else 0.0)


class TooFew(plugins.Vowels):
    def score(self, rollouts: Any) -> Any:
        return super().score(rollouts)[:3]


class ShortLists(plugins.Lengths):
    def score(self, rollouts: Any) -> Any:
        return [RewardSignal(0.0, tokens=[0.0] * len(r.completion.split())) for r in rollouts]


class OnThePrompt(plugins.Vowels):
    """Its spans count from the start of the prompt."""

    def one(self, rollout: Rollout) -> RewardSignal:
        start = len(rollout.prompt)
        return RewardSignal(0.0, [Span(start, start + 1, 0.1)] if len(rollout.completion) > 2 * start else [])


class InBytes(plugins.Vowels):
    def one(self, rollout: Rollout) -> RewardSignal:
        size = len(rollout.completion.encode())
        return RewardSignal(0.0, [Span(size - 1, size, 0.1)] if size else [])


class ByPlace(plugins.Vowels):
    def score(self, rollouts: Any) -> Any:
        return [RewardSignal(float(i)) for i, _ in enumerate(rollouts)]


class Centred(plugins.Vowels):
    """Takes the mean of the batch off."""

    def score(self, rollouts: Any) -> Any:
        mean = sum(len(r.completion) for r in rollouts) / len(rollouts)
        return [RewardSignal(len(r.completion) - mean) for r in rollouts]


class PaddedLocal(plugins.Vowels):
    """The local reward depends on the longest of the batch."""

    def score(self, rollouts: Any) -> Any:
        longest = max(len(r.token_ids) for r in rollouts)
        return [RewardSignal(0.0, tokens=[len(r.token_ids) / max(1, longest) / 2] * len(r.token_ids)) for r in rollouts]


class Dice(plugins.Vowels):
    def one(self, rollout: Rollout) -> RewardSignal:
        return RewardSignal(random.random())


class Sorts(plugins.Vowels):
    def score(self, rollouts: Any) -> Any:
        answers = super().score(rollouts)
        rollouts.sort(key=lambda r: len(r.completion))
        return answers


class WritesRows(plugins.Vowels):
    def one(self, rollout: Rollout) -> RewardSignal:
        rollout.row["seen"] = True  # type: ignore[index]
        return super().one(rollout)


class Sleeps(plugins.Vowels):
    def one(self, rollout: Rollout) -> RewardSignal:
        time.sleep(0.3 if len(rollout.token_ids) > 1000 else 0)
        return RewardSignal(0.0)


class Sometimes(plugins.Vowels):
    def one(self, rollout: Rollout) -> RewardSignal:
        return RewardSignal(None if len(rollout.completion) % 2 else 1.0)


class Silent(plugins.Vowels):
    def score(self, rollouts: Any) -> Any:
        return [Unscored("no key") for _ in rollouts]


class Strings(plugins.Vowels):
    def score(self, rollouts: Any) -> Any:
        return ["good"] * len(rollouts)


BAD: list[tuple[type, str, str]] = [
    (Loud, "alone", "steps: a local reward of 0.5 breaks the bound 0.25"),
    (Raises, "alone", "empty: it raised ZeroDivisionError: division by zero (test_contract.py:"),
    (Nan, "alone", "cut off: the outcome is nan"),
    (TooFew, "batch", "it gave 3 signals for 8 rollouts"),
    (ShortLists, "alone", "CRLF line ends: 6 rewards for the 15 tokens of the completion"),
    (OnThePrompt, "prompt", "its spans move with the prompt's length"),
    (InBytes, "alone", "emoji, CJK and combining marks: span ["),
    (ByPlace, "order", "empty: G is 0 in order and 7 shuffled"),
    (ByPlace, "batch", "one character: G is 0 alone and 1 in a batch"),
    (Centred, "batch", "empty: G is 0 alone and -"),
    (PaddedLocal, "batch", "one character: token 0 has 0.5 alone and 0.000"),
    (Dice, "repeated", "empty: G is 0."),
    (Sorts, "inputs", "it changes the list of rollouts"),
    (WritesRows, "inputs", "empty: it changes the rollout's row"),
    (Sleeps, "speed", "a thousand tokens take "),
    (Sometimes, "consistent", " of 8 signals have no outcome, the others have one"),
    (Silent, "consistent", "not one of the samples could be scored"),
    (Strings, "alone", "empty: it gave str, not a RewardSignal"),
]


@pytest.mark.parametrize(("model", "check", "says"), BAD)
def test_each_kind_of_bad_model_is_found_and_named(model: type, check: str, says: str) -> None:
    found = wrong(model())
    assert check in found, found
    assert any(says in problem for problem in found[check]), found


def test_what_a_function_wants_of_the_rows_is_said() -> None:
    assert (
        "it wants the column solution; the rows have: answer"
        in wrong(RewardFunction(plugins.solved), answer=1)["alone"][0]
    )
    assert wrong(RewardFunction(plugins.solved), solution="7") == {}


def test_the_pretend_tokens_tile_the_text_as_sampled_ones_do() -> None:
    for rollout in sample_rollouts().values():
        ends = [0, *(b for _, b in rollout.spans)]
        assert [a for a, _ in rollout.spans] == ends[:-1]
        assert ends[-1] == len(rollout.completion)
        assert len(rollout.spans) == len(rollout.token_ids)
    assert pretend_tokens("é!")[2] == ((0, 0), (0, 1), (1, 2))
