"""What a reward model says is checked item by item, and nothing that it does raises."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import numpy as np
import plugins
import pytest
import torch
from pieces import rollout

from reward_models.base import RewardSignal, Span, Unscored
from reward_models.scoring import score
from sandbox.errors import SetupError


class Says:
    """Answers every batch with what it was made with, or with what that makes of the batch."""

    bound = 1.0

    def __init__(self, answers: Any, **attributes: Any) -> None:
        self.answers = answers
        vars(self).update(attributes)

    def score(self, rollouts: Any) -> Any:
        return self.answers(rollouts) if callable(self.answers) else self.answers


def reasons(model: Any, *texts: str, **kwargs: Any) -> list[str]:
    return [s.reason for s in score(model, [rollout(t) for t in texts], **kwargs)]


def test_a_bad_item_costs_itself_alone() -> None:
    answers = [
        RewardSignal(1.0),
        RewardSignal(float("nan")),
        None,
        Unscored("the judge is out"),
        "good",
        RewardSignal(2),
    ]
    scored = score(Says(answers), [rollout("ab") for _ in answers])
    assert [s.signal is not None for s in scored] == [True, False, False, False, False, True]
    assert [s.reason for s in scored][1:5] == [
        "the outcome is nan",
        "Says could not score it",
        "the judge is out",
        "Says gave str, not a RewardSignal",
    ]
    assert all(not s.local_T.any() for s in scored if s.signal is None)


BAD: list[tuple[Any, str]] = [
    (RewardSignal("much"), "the outcome is str, not a number"),
    (RewardSignal(float("inf")), "the outcome is inf"),
    (RewardSignal(0.0, [Span(0, 9, 1.0)]), "span [0, 9) is not inside the completion's 5 characters"),
    (RewardSignal(0.0, [(0, 1)]), "a span is not (start, end, value, reason)"),
    (RewardSignal(0.0, [(0.0, 1.0, 1.0)]), "whole numbers"),
    (RewardSignal(0.0, [Span(0, 1, float("nan"))]), "a local reward is not a number"),
    (RewardSignal(0.0, [Span(0, 1, -0.7), Span(0, 2, -0.7)]), "a local reward of 1.4 breaks the bound 1"),
    (RewardSignal(0.0, tokens=[0.0, 0.0]), "2 rewards for the 3 tokens of the completion"),
    (RewardSignal(0.0, tokens=[[0.0], [0.0], [0.0], [0.0]]), "4 rewards for the 3 tokens"),
    (RewardSignal(0.0, tokens=["a", "b", "c"]), "a token's reward is not a number"),
    (RewardSignal(0.0, tokens=[0.0, 2.0, 0.0]), "breaks the bound"),
    (RewardSignal(0.0, tokens=[0.0, float("nan"), 0.0]), "not a number"),
    (RewardSignal(0.0, [Span(0, 1, 0.6)], tokens=[0.6, 0.0, 0.0]), "breaks the bound"),
    (RewardSignal(0.0, metrics={"loss": "low"}), "the metric 'loss' is str"),
    (RewardSignal(0.0, steps=[(2, 1)]), "out of order"),
    (RewardSignal(None), "there is no outcome G"),
]


@pytest.mark.parametrize(("answer", "says"), BAD)
def test_a_signal_that_makes_no_sense_is_unscored_with_the_reason(answer: Any, says: str) -> None:
    (reason,) = reasons(Says([answer]), "ab cd")
    assert says in reason


def test_a_prompt_long_enough_makes_the_hint_about_the_prompt() -> None:
    (one,) = score(Says([RewardSignal(0.0, [Span(20, 25, 1.0)])]), [rollout("ab cd", prompt="x" * 20)])
    assert "not of the prompt" in one.reason


@pytest.mark.parametrize(
    ("attributes", "says"),
    [
        ({"bound": None}, "the bound of Says is NoneType, not a number"),
        ({"bound": -1}, "0 or more"),
        ({"bound": float("inf")}, "0 or more"),
        ({"spread": "evry"}, "there is no spread 'evry'; there are: every, last, uniform, proportional"),
    ],
)
def test_a_model_that_declares_nonsense(attributes: dict[str, Any], says: str) -> None:
    (reason,) = reasons(Says([RewardSignal(0.0)], **attributes), "a")
    assert says in reason


def test_a_model_without_a_bound_says_so() -> None:
    class Plain:
        def score(self, rollouts: Any) -> Any:
            return [RewardSignal(0.0)]

    assert "declares no bound" in reasons(Plain(), "a")[0]


def boom(rollouts: Any) -> Any:
    raise ConnectionError("server\n gone")


def leave(rollouts: Any) -> Any:
    raise SystemExit(0)


BATCHES: list[tuple[Callable[[Any], Any], str]] = [
    (lambda rs: [RewardSignal(0.0)], "returned 1 signal for 2 rollouts"),
    (lambda rs: None, "raised TypeError"),
    (lambda rs: 3, "raised TypeError"),
    (boom, "raised ConnectionError: server gone (test_scoring.py:"),
    (leave, "raised SystemExit: 0 (test_scoring.py:"),
]


@pytest.mark.parametrize(("answers", "says"), BATCHES)
def test_a_bad_batch_is_unscored_as_a_whole(answers: Any, says: str) -> None:
    both = reasons(Says(answers), "a", "b")
    assert len(both) == 2
    assert all(says in reason for reason in both)


def test_a_missing_tool_is_no_fault_of_a_rollout() -> None:
    def missing(rollouts: Any) -> Any:
        raise SetupError("there is no Chromium")

    with pytest.raises(SetupError):
        score(Says(missing), [rollout("a")])


def test_numbers_of_numpy_and_torch_are_numbers() -> None:
    signal = RewardSignal(
        torch.tensor(0.5), [(np.int64(0), np.int64(2), np.float32(0.25))], tokens=torch.tensor([0.0, 0.5, 0.0])
    )  # type: ignore[arg-type]
    (one,) = score(Says([signal]), [rollout("ab cd")])
    assert one.signal is not None
    assert type(one.signal.outcome) is float
    assert one.local_T.tolist() == [0.25, 0.5, 0.0]


def test_async_models_work_with_and_without_a_running_loop() -> None:
    texts = [rollout("ab"), rollout("cde")]
    plain = [s.local_T.tolist() for s in score(plugins.Vowels(), texts)]

    async def in_a_notebook() -> Any:
        return score(plugins.AsyncVowels(), texts)

    assert [s.local_T.tolist() for s in score(plugins.AsyncVowels(), texts)] == plain
    assert [s.local_T.tolist() for s in asyncio.run(in_a_notebook())] == plain


def test_local_rewards_alone_are_good_where_no_outcome_is_asked_for() -> None:
    (one,) = score(plugins.Lengths(), [rollout("ab cdef")], outcome=False)
    assert one.signal is not None
    assert one.local_T.tolist() == [0.2, 0.5, 0.0]


def test_a_model_cannot_take_rollouts_out_of_the_batch() -> None:
    def eats(rollouts: Any) -> Any:
        return [RewardSignal(float(len(rollouts.pop().completion))) for _ in range(2)]

    mine = [rollout("a"), rollout("bcd")]
    assert [s.rollout.completion for s in score(Says(eats), mine)] == ["a", "bcd"]


def test_no_rollouts_are_not_asked_about() -> None:
    assert score(Says(boom), []) == []
