"""Settings under which TRL or a paper would do something else in silence are refused, in one line with the way out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import tiny_trainer as tiny
from datasets import Dataset

from bot_grpo.errors import UserError
from reward_models.base import RewardSignal

REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"beta": 0.04}, "algorithm_settings: {beta"),
    ({"epsilon": 0.1}, "clip_low"),
    ({"epsilon_high": 0.28}, "clip_high"),
    ({"delta": 2.0}, "clip_high"),
    ({"loss_type": "grpo"}, "algorithm:"),
    ({"loss_type": "cispo"}, "algorithm:"),
    ({"scale_rewards": "none"}, "dr_grpo"),
    ({"scale_rewards": False}, "dr_grpo"),
    ({"importance_sampling_level": "sequence"}, "gspo"),
    ({"multi_objective_aggregation": "normalize_then_sum"}, "w_g and w_s"),
    ({"reward_weights": [2.0]}, "w_g and w_s"),
    ({"top_entropy_quantile": 0.2}, "ep_grpo"),
    ({"off_policy_mask_threshold": 0.5}, "clip"),
    ({"entropy_coef": 0.01}, "entropy bonus"),
    ({"use_adaptive_entropy": True}, "entropy bonus"),
    ({"sapo_temperature_pos": 2.0}, "algorithm:"),
    ({"vespo_k_neg": 2.0}, "algorithm:"),
    ({"router_aux_loss_coef": 0.1}, "0.0"),
    ({"mask_truncated_completions": True}, "overlong_filter: true"),
    ({"top_p": 0.9}, "fast_sampling: false"),
    ({"top_k": 50}, "fast_sampling: false"),
    ({"min_p": 0.1}, "fast_sampling: false"),
    ({"repetition_penalty": 1.1}, "fast_sampling: false"),
    ({"generation_kwargs": {"num_beams": 2}}, "fast_sampling: false"),
    ({"temperature": 0.0}, "above 0"),
    ({"dynamic_sampling": -1}, "0 or more"),
    ({"overlong_cache": 13}, "max_completion_length (12)"),
    ({"overlong_cache": -1}, "max_completion_length (12)"),
    ({"w_s": -1.0}, "0 or more"),
    ({"sampler_gap_alarm": 0.0}, "above 0"),
    ({"vllm_importance_sampling_mode": "token"}, "token_truncate, token_mask"),
    ({"w_g": float("nan")}, "w_g must be a finite number; it is nan"),
]


@pytest.mark.parametrize(("changes", "way_out"), REFUSED, ids=lambda x: str(x)[:40])
def test_refused_in_one_line_that_says_what_to_do(changes: dict[str, Any], way_out: str, tmp_path: Path) -> None:
    with pytest.raises(UserError) as caught:
        tiny.config(tmp_path, **changes)
    message = str(caught.value)
    assert next(iter(changes)) in message
    assert way_out in message
    assert "\n" not in message


@pytest.mark.parametrize(
    "changes",
    [
        {"use_bias_correction_kl": False},  # what the KL here does anyway
        {"top_p": 0.9, "fast_sampling": False},
        {"router_aux_loss_coef": 0.0},
        {"overlong_cache": 12, "overlong_filter": True},
        {"num_iterations": 4, "steps_per_generation": 2},
    ],
)
def test_what_means_the_same_everywhere_is_taken(changes: dict[str, Any], tmp_path: Path) -> None:
    tiny.config(tmp_path, **changes)


@pytest.mark.parametrize(
    ("name", "settings", "hint"),
    [
        ("dapoo", {}, "dapo"),
        ("grpo", {"bins": 3}, "bins"),
        ("bot_grpo", {"clip_low": "1e-6"}, "1.0e-6"),
        ("bot_grpo", {"clip_low": 2}, "clip_low"),
    ],
)
def test_a_bad_algorithm_or_setting_is_one_line(name: str, settings: Any, hint: str, tmp_path: Path) -> None:
    with pytest.raises(UserError) as caught:
        tiny.config(tmp_path, algorithm=name, algorithm_settings=settings).make_algorithm()
    assert hint in str(caught.value)
    assert "\n" not in str(caught.value)


def test_trls_own_defaults_do_not_matter(tmp_path: Path) -> None:
    """TRL's loss_type is dapo and its KL is multiplied by the ratio; neither reaches a config that a run records."""
    args = tiny.config(tmp_path)
    assert (args.loss_type, args.use_bias_correction_kl) == ("dapo", True)
    recorded = args.changed()
    assert "loss_type" not in recorded
    assert recorded["dynamic_sampling"] == 0
    assert recorded["overlong_filter"] is False


def test_a_ratio_that_cannot_matter_is_noted(tmp_path: Path) -> None:
    (note,) = tiny.config(tmp_path, algorithm="gspo").notes()
    assert "num_iterations" in note
    assert tiny.config(tmp_path, algorithm="gspo", num_iterations=2).notes() == []
    assert tiny.config(tmp_path, algorithm="gspo", steps_per_generation=4).notes() == []
    assert tiny.config(tmp_path, algorithm="bot_grpo").notes() == []


def test_dynamic_sampling_wants_a_data_set_that_can_be_indexed(tmp_path: Path) -> None:
    stream = Dataset.from_dict({"prompt": ["a"] * 8}).to_iterable_dataset()
    with pytest.raises(UserError, match="not a stream"):
        tiny.trainer(tmp_path, algorithm="dapo", data=stream)


def test_a_bad_reward_model_never_stops_a_run(tmp_path: Path) -> None:
    """Too few signals, NaN, spans outside of the text: rollouts without a score, and training goes on."""

    class Bad:
        bound = 1.0
        calls = 0

        def score(self, rollouts: Any) -> Any:
            self.calls += 1
            if self.calls == 1:
                return [RewardSignal(float("nan")) for _ in rollouts]
            return [RewardSignal(1.0)]

    trainer = tiny.trainer(tmp_path, reward=Bad())
    trainer.train()
    assert [row["unscored"] for row in tiny.logged(trainer)] == [1.0, 1.0]
