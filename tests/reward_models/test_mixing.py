"""Several sources as one reward."""

from __future__ import annotations

from typing import Any

import numpy as np
import plugins
import pytest
from pieces import rollout

from reward_models.base import RewardSignal, Span, Unscored
from reward_models.errors import RewardError
from reward_models.loading import load_reward
from reward_models.mixing import Mix, Source
from reward_models.scoring import score


class Fixed:
    """The same signal for every rollout."""

    def __init__(self, signal: Any, bound: float = 1.0, spread: str = "every") -> None:
        self.signal, self.bound, self.spread, self.closed = signal, bound, spread, False

    def score(self, rollouts: Any) -> Any:
        return [self.signal for _ in rollouts]

    def close(self) -> None:
        self.closed = True


TEXT = rollout("ab cd ef")  # tokens [0,2) [2,5) [5,8) and an EOS


def test_outcomes_and_local_rewards_are_weighted_sums_each_by_its_own_spread() -> None:
    lines = Fixed(RewardSignal(1.0, [Span(0, 8, -1.0)], {"rate": 0.5}, {"a": 1}))
    steps = Fixed(RewardSignal(0.5, [Span(0, 5, 1.0)], steps=[(0, 5), (5, 8)]), spread="last")
    tokens = Fixed(RewardSignal(None, tokens=[0.1, 0.2, 0.3, 0.4]), bound=0.5)
    mix = Mix([Source(lines, 2.0, 0.5), Source(steps, 1.0, 0.25, name="steps"), Source(tokens, 9.0, 1.0, "local")])
    (one,) = score(mix, [TEXT])
    assert one.signal is not None, one.reason
    assert one.signal.outcome == 2.0 * 1.0 + 1.0 * 0.5
    np.testing.assert_allclose(one.local_T, [-0.5 + 0.1, -0.5 + 0.25 + 0.2, -0.5 + 0.3, 0.4])
    assert mix.bound == 0.5 * 1.0 + 0.25 * 1.0 + 0.5
    assert one.signal.metrics["rate"] == 0.5
    assert one.signal.metrics["G/steps"] == 0.5
    assert one.signal.metrics["S/Fixed-2"] == pytest.approx(0.25)
    assert "G/Fixed-2" not in one.signal.metrics
    assert one.signal.details["a"] == 1
    assert one.signal.details["sources"]["steps"].signal.spans == (Span(0, 5, 1.0),)
    assert one.signal.steps == ((0, 5), (5, 8))


def test_a_role_leaves_the_other_part_out() -> None:
    both = Fixed(RewardSignal(1.0, [Span(0, 8, -1.0)]))
    (only_g,) = score(Mix([Source(both, role="outcome")]), [TEXT])
    (only_s,) = score(Mix([Source(both, role="local")]), [TEXT])
    assert only_g.signal is not None
    assert only_s.signal is not None
    assert (only_g.signal.outcome, only_g.local_T.any()) == (1.0, False)
    assert (only_s.signal.outcome, only_s.local_T.tolist()) == (0.0, [-1.0, -1.0, -1.0, 0.0])
    assert Mix([Source(both, role="outcome")]).bound == 0.0


def test_what_one_source_could_not_score_is_unscored_and_says_by_whom() -> None:
    good, bad = Fixed(RewardSignal(1.0)), Fixed(Unscored("no answer"))
    wild = Fixed(RewardSignal(1.0, [Span(0, 99, 1.0)]))
    (one,) = score(Mix([Source(good), Source(bad, name="judge"), Source(wild, name="wild")]), [TEXT])
    assert one.signal is None
    assert one.reason.startswith("judge: no answer; wild: span [0, 99) is not inside")


def test_a_source_without_outcomes_counts_as_local_and_alone_has_no_g() -> None:
    (one,) = score(Mix([Source(Fixed(RewardSignal(2.0))), Source(plugins.Lengths())]), [TEXT])
    assert one.signal is not None
    assert one.signal.outcome == 2.0
    assert one.local_T.any()
    (alone,) = score(Mix([Source(plugins.Lengths())]), [TEXT])
    assert alone.reason == "there is no outcome G; as a source of local rewards alone its role is local"


def test_a_source_whose_outcome_is_missing_here_and_there_leaves_those_unscored() -> None:
    class Now(Fixed):
        def score(self, rollouts: Any) -> Any:
            return [RewardSignal(None if r.prompt == "hard" else 1.0) for r in rollouts]

    good, bad = score(Mix([Source(Now(None), name="judge")]), [TEXT, rollout("ab", prompt="hard")])
    assert good.signal is not None
    assert bad.reason == "judge: it has no outcome here, and one elsewhere"


def test_an_empty_completion_is_mixed_too() -> None:
    (one,) = score(Mix([Source(plugins.Vowels()), Source(plugins.Lengths(), role="local")]), [rollout("")])
    assert one.signal is not None
    assert one.signal.outcome == 0.0


def test_a_reward_function_is_a_source_of_g() -> None:
    mix = Mix([Source(load_reward("plugins:length_reward")), Source(plugins.Vowels(), 0.0)])
    (one,) = score(mix, [TEXT])
    assert one.signal is not None
    assert one.signal.outcome == 8.0
    assert one.local_T.tolist() == [0.5, 0.0, 0.5, 0.0]


def test_the_spread_of_a_mix_is_its_sources_where_they_agree() -> None:
    last, every = Fixed(None, spread="last"), Fixed(None)
    assert Mix([Source(last), Source(last)]).spread == "last"
    assert Mix([Source(last), Source(every, role="outcome")]).spread == "last"
    assert Mix([Source(last), Source(every)]).spread == "every"


def test_closing_a_mix_closes_its_sources() -> None:
    one, other = Fixed(None), plugins.Vowels()
    Mix([Source(one), Source(other)]).close()
    assert one.closed


@pytest.mark.parametrize("make", [lambda: Mix([]), lambda: Source(plugins.Vowels(), role="globl")])  # type: ignore[arg-type]
def test_nonsense_is_refused(make: Any) -> None:
    with pytest.raises(RewardError):
        make()
