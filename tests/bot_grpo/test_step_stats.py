"""What a step and an evaluation log."""

from __future__ import annotations

import pytest
from accelerate import Accelerator

from bot_grpo.rewards import Scored
from bot_grpo.step_stats import pass_rates
from reward_models.base import RewardSignal, Rollout


def rollouts(*right: float | None) -> list[Scored]:
    """One a figure: its accuracy, or None for a rollout without a score."""
    signals = [None if r is None else RewardSignal(r, metrics={"accuracy": r}) for r in right]
    return [Scored(Rollout("", ""), signal, None, "" if signal else "lost") for signal in signals]


def test_pass_at_k_is_the_mean_over_groups() -> None:
    scored = rollouts(1, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 0)
    rates = pass_rates(scored, 4, Accelerator(cpu=True))
    assert rates == pytest.approx({"pass@1": 4 / 12, "pass@2": (1 / 2 + 0 + 1) / 3, "pass@4": 2 / 3})


def test_a_rollout_without_a_score_is_no_sample() -> None:
    rates = pass_rates(rollouts(1, None, 0, 1), 2, Accelerator(cpu=True))
    assert rates == pytest.approx({"pass@1": (1 + 1 / 2) / 2, "pass@2": 1.0})


def test_without_right_and_wrong_there_is_no_pass_rate() -> None:
    one = Scored(Rollout("", ""), RewardSignal(0.5, metrics={"compile_rate": 1.0}), None, "")
    assert pass_rates([one] * 4, 2, Accelerator(cpu=True)) == {}
