"""Alarms: each sounds for its own sign, once, and a healthy run is quiet."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from bot_grpo.alarms import SIGNS, Alarms

HEALTHY = {
    "completion_length": 120.0, "steps": 8.0, "truncated": 0.1, "reward/outcome": 0.3, "reward/local": -0.02,
    "reward/saturated": 0.05, "policy/kl": 0.002, "compile_rate": 0.4, "blank_rate": 0.05,
    "algo/zero_variance_groups": 0.25,
}  # fmt: skip


def heard(rows: list[dict[str, Any]], w_g: float = 1.0) -> list[tuple[int, str]]:
    """(step from 1, name) of the alarms."""
    alarms = Alarms(w_g)
    return [(step, name) for step, row in enumerate(rows, 1) for name in alarms.step(row)]


def after(steps: int, changes: dict[str, float]) -> list[dict[str, float]]:
    """Healthy steps, then as many with changes."""
    return [dict(HEALTHY)] * steps + [HEALTHY | changes] * steps


@pytest.mark.parametrize(
    ("changes", "alarm"),
    [
        ({"completion_length": 50.0}, (6, "length_collapse")),
        ({"steps": 2.0}, (6, "steps_collapse")),
        ({"reward/outcome": 0.2, "reward/local": 0.2}, (6, "reward_without_outcome")),
        ({"blank_rate": 0.4, "compile_rate": 0.8}, (6, "blank_pages")),
        ({"reward/saturated": 0.7}, (6, "saturated_reward")),
        ({"truncated": 1.0}, (6, "all_truncated")),
        ({"algo/zero_variance_groups": 1.0}, (6, "flat_groups")),
    ],
)
def test_each_sign_has_its_alarm_and_no_other_sounds(changes: dict[str, float], alarm: tuple[int, str]) -> None:
    assert heard(after(3, changes)) == [alarm]


def test_a_jump_of_the_kl_is_heard_at_its_step() -> None:
    rows = [dict(HEALTHY)] * 8 + [HEALTHY | {"policy/kl": 0.5}] + [dict(HEALTHY)] * 3
    assert heard(rows) == [(9, "kl_spike")]


def test_every_alarm_is_tested_here() -> None:
    named = {"length_collapse", "steps_collapse", "reward_without_outcome", "blank_pages", "saturated_reward"}
    assert set(SIGNS) == named | {"all_truncated", "flat_groups", "kl_spike", "sampler_gap", "stale_sampler"}


def gaps(*values: float | None) -> list[dict[str, Any]]:
    return [HEALTHY | {"sampler/gap": value} for value in values]


def test_a_sampler_that_is_another_policy_is_heard_at_once_and_only_once() -> None:
    assert heard(gaps(0.01, 0.3, 0.01, 0.4, 0.02, 0.01)) == [(2, "sampler_gap")]
    assert heard(gaps(0.5)) == [(1, "sampler_gap")]
    assert heard(gaps(*[0.02, 0.03] * 5)) == []
    assert [name for row in gaps(0.3) for name in Alarms(sampler_gap=0.5).step(row)] == []
    (text,) = Alarms().step(gaps(0.3)[0]).values()
    assert "0.3 nats a token" in text
    assert "dtype" in text


def test_a_gap_that_grows_is_a_sampler_with_old_weights() -> None:
    """Below the threshold for the gap itself: three times what it was, for most of a window."""
    stale = gaps(0.010, 0.012, 0.011, 0.02, 0.04, 0.05, 0.05)
    assert heard(stale) == [(6, "stale_sampler")]
    assert heard(gaps(0.010, 0.012, 0.011, 0.011, 0.09, 0.011, 0.012, 0.011)) == [], "one step is no growth"
    assert heard(gaps(0.001, 0.001, 0.001, *[0.01] * 5)) == [], "too small to matter"
    assert heard(gaps(*[None] * 7)) == []


@pytest.mark.parametrize(
    "changes",
    [
        {"completion_length": 70.0},
        {"reward/outcome": 0.2},  # the reward falls with it
        {"reward/outcome": 0.4, "reward/local": 0.2},
        {"blank_rate": 0.4},  # compiles no more than before
        {"policy/kl": 0.008},
        {"compile_rate": 0.9},
    ],
)
def test_what_is_no_sign_is_quiet(changes: dict[str, float]) -> None:
    assert heard(after(6, changes)) == []


def test_an_alarm_sounds_once_and_again_when_its_sign_comes_back() -> None:
    cut, healthy = HEALTHY | {"truncated": 1.0}, dict(HEALTHY)
    assert heard([cut] * 6 + [healthy] + [cut] * 4) == [(3, "all_truncated"), (10, "all_truncated")]


def test_metrics_that_are_missing_or_null_never_sound_or_fail() -> None:
    assert heard([{}] * 8) == []
    assert heard([dict.fromkeys(HEALTHY)] * 8) == []
    assert heard([dict(HEALTHY)] * 5 + [{}] * 5) == []


def test_the_weight_of_the_outcome_decides_whether_the_reward_grew() -> None:
    rows = after(3, {"reward/outcome": 0.2, "reward/local": 0.2})
    assert heard(rows, w_g=10.0) == []


def test_the_measured_runs_of_the_recipe_are_quiet_but_for_what_happened_there() -> None:
    """The default recipe must not cry wolf."""
    results = Path(__file__).parents[2] / "bot_grpo" / "results" / "react-smollm2-cpu"
    files = sorted(results.glob("*/metrics.jsonl"))
    assert files
    for file in files:
        rows = [json.loads(line) for line in file.read_text().splitlines()]
        assert heard([row for row in rows if "loss" in row]) == [], file
