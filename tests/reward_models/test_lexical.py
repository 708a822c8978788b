"""Regular expressions as a reward model."""

from __future__ import annotations

import math
import time
from typing import Any

import pytest

from reward_models.base import RewardSignal, Rollout, Span, Unscored
from reward_models.contract import RewardModelContract
from reward_models.errors import RewardError
from reward_models.lexical import LexicalReward
from reward_models.loading import load_reward


class TestContract(RewardModelContract):
    def make_model(self) -> LexicalReward:
        return LexicalReward({r"\d+": 0.5, "(?i)step": {"value": -0.25, "reason": "says step"}, r"e\s": 1})


def signal(text: str, patterns: dict[str, Any], **settings: Any) -> RewardSignal:
    [answer] = load_reward("lexical", patterns=patterns, **settings).score([Rollout("p", text)])
    assert isinstance(answer, RewardSignal)
    return answer


def test_matches_have_the_value_and_the_reason() -> None:
    found = signal("a TODO b todo", {"(?i)todo": {"value": -0.5, "reason": "left undone"}, "b": 0.25})
    assert found.spans == (Span(2, 6, -0.5, "left undone"), Span(7, 8, 0.25, "b"), Span(9, 13, -0.5, "left undone"))
    assert found.metrics == {"lexical/left undone": 2.0, "lexical/b": 1.0}
    assert found.outcome is None


def test_where_matches_overlap_they_add_up_within_the_bound() -> None:
    found = signal("abcd", {"abc": 0.75, "bcd": 0.5, "c": -0.25})
    assert [(s.start, s.end, s.value) for s in found.spans] == [(0, 1, 0.75), (1, 2, 1.0), (2, 3, 1.0), (3, 4, 0.5)]
    assert found.spans[2].reason == "abc; bcd; c"
    assert [s.value for s in signal("abcd", {"abc": 0.75, "bcd": 0.5}, bound=2).spans] == [0.75, 1.25, 0.5]


def test_neighbouring_and_empty_matches() -> None:
    assert [(s.start, s.end) for s in signal("aaa", {"a": 1}).spans] == [(0, 1), (1, 2), (2, 3)]
    assert signal("aaa", {"(?=a)|b*": 1}).spans == ()
    assert signal("", {"a": 1}).spans == ()


def test_a_pattern_that_backtracks_for_ever_costs_its_deadline() -> None:
    reward = LexicalReward({"(a|aa)+b": 1}, seconds=0.2)
    start = time.process_time()
    answers = reward.score([Rollout("p", "a" * 5000), Rollout("p", "aab")])
    assert time.process_time() - start < 10
    assert answers[0] == Unscored("the pattern '(a|aa)+b' took more than 0.2 s")
    assert isinstance(answers[1], RewardSignal)


@pytest.mark.parametrize(
    ("patterns", "message"),
    [
        ({}, "patterns is a mapping"),
        ("todo", "patterns is a mapping"),
        ({"(": 1}, "'(' is no regular expression"),
        ({"a": 2}, "from -1 to 1, not 2"),
        ({"a": "x"}, "from -1 to 1, not 'x'"),
        ({"a": math.nan}, "not nan"),
        ({"a": {"reason": "x"}}, "not None"),
    ],
)
def test_bad_settings_are_one_line(patterns: Any, message: str) -> None:
    with pytest.raises(RewardError) as caught:
        load_reward("lexical", patterns=patterns)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)
