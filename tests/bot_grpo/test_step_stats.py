"""What a step and an evaluation log."""

from __future__ import annotations

import pytest
from accelerate import Accelerator

from bot_grpo.rewards import Scored
from bot_grpo.step_stats import averages, merged, pass_sums
from reward_models.base import RewardSignal, Rollout


def rollouts(*right: float | None) -> list[Scored]:
    """One a figure: its accuracy, or None for a rollout without a score."""
    signals = [None if r is None else RewardSignal(r, metrics={"accuracy": r}) for r in right]
    return [Scored(Rollout("", ""), signal, None, "" if signal else "lost") for signal in signals]


def test_pass_at_k_is_the_mean_over_groups() -> None:
    scored = rollouts(1, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 0)
    rates = averages(pass_sums(scored, 4, Accelerator(cpu=True)))
    assert rates == pytest.approx({"pass@1": 4 / 12, "pass@2": (1 / 2 + 0 + 1) / 3, "pass@4": 2 / 3})


def test_a_rollout_without_a_score_is_no_sample() -> None:
    rates = averages(pass_sums(rollouts(1, None, 0, 1), 2, Accelerator(cpu=True)))
    assert rates == pytest.approx({"pass@1": (1 + 1 / 2) / 2, "pass@2": 1.0})


def test_without_right_and_wrong_there_is_no_pass_rate() -> None:
    one = Scored(Rollout("", ""), RewardSignal(0.5, metrics={"compile_rate": 1.0}), None, "")
    assert pass_sums([one] * 4, 2, Accelerator(cpu=True)) == {}


def test_batches_count_by_their_sizes() -> None:
    sums = merged({"a": (3.0, 4.0), "b": (1.0, 1.0)}, {"a": (0.0, 1.0), "c": (0.0, 0.0)})
    assert averages(sums) == pytest.approx({"a": 0.6, "b": 1.0, "c": float("nan")}, nan_ok=True)
