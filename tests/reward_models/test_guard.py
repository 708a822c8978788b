"""Reward models in a child process: one that hangs or crashes costs its own rollouts, and nothing is left running."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest
from pieces import rollout

from reward_models.errors import RewardError
from reward_models.guard import Guarded, open_reward
from reward_models.scoring import Scored, score
from sandbox.processes import descendants

FILE = f"{Path(__file__).parent}/plugins.py"


def scores(scored: list[Scored]) -> list[float | str]:
    return [s.reason if s.signal is None else round(s.signal.outcome or 0.0, 3) for s in scored]


def test_a_blocking_model_is_asked_one_by_one_and_only_what_hangs_or_crashes_is_unscored() -> None:
    model = open_reward(f"{FILE}:Hangs", {"weight": 0.25}, timeout_s=6.0)
    try:
        assert isinstance(model, Guarded)
        assert (model.bound, model.name) == (0.25, "Hangs")
        scored = score(model, [rollout(t) for t in ("ab", "hang", "abab", "crash", "b")])
        assert scores(scored) == [
            0.5,
            "Hangs took over 6 s, and was ended",
            0.5,
            "Hangs ended its process: about to crash",
            0.0,
        ]
        assert scored[0].local_T.tolist() == [0.25, 0.0]
    finally:
        model.close()  # type: ignore[union-attr]


def test_after_three_in_a_row_that_hang_the_rest_of_the_batch_is_not_asked() -> None:
    model = open_reward("plugins:Hangs", timeout_s=0.5)
    try:
        start = time.monotonic()
        said = scores(score(model, [rollout("hang")] * 40))
        assert said[3:] == ["Hangs was not asked: 3 in a row before it were lost (took over 0.5 s, and was ended)"] * 37
        assert time.monotonic() - start < 100  # three deadlines and three starts
    finally:
        model.close()  # type: ignore[attr-defined]


def test_with_a_deadline_of_its_own_any_model_is_guarded_and_asked_batch_by_batch() -> None:
    model = open_reward("plugins:HangsUnmarked", timeout_s=5.0)
    try:
        assert (
            scores(score(model, [rollout("ab"), rollout("hang")])) == ["HangsUnmarked took over 5 s, and was ended"] * 2
        )
        assert scores(score(model, [rollout("ab"), rollout("abab")])) == [0.5, 0.5]
    finally:
        model.close()  # type: ignore[attr-defined]


def test_closing_leaves_no_process_behind() -> None:
    before = set(descendants(os.getpid()))
    model = open_reward("plugins:Hangs")
    assert set(descendants(os.getpid())) > before
    model.close()  # type: ignore[attr-defined]
    assert set(descendants(os.getpid())) <= before


def test_a_model_that_needs_no_guard_stays_here() -> None:
    assert not isinstance(open_reward("plugins:Vowels"), Guarded)


def test_what_is_wrong_with_the_name_or_the_arguments_is_said_as_without_a_child() -> None:
    with pytest.raises(RewardError, match="did you mean 'weight'"):
        open_reward("plugins:Hangs", {"wieght": 1})
    with pytest.raises(RewardError, match="did you mean 'Hangs'"):
        open_reward("plugins:Hang")
    with pytest.raises(RewardError, match="no such checkpoint"):
        open_reward("plugins:broken_factory", timeout_s=5)
