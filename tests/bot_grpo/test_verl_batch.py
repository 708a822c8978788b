"""What goes through verl's interface, without verl: layouts of rewards, groups, weights, settings, files."""

from __future__ import annotations

import json
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from golden_batch import GOLDEN_ROWS, K, f64, golden, golden_batch
from torch import Tensor
from verl_golden import CASES, golden_scored, mask_of, rows_for

from bot_grpo import objectives as obj
from bot_grpo.algorithms import ALGORITHMS
from bot_grpo.cli.train import parse
from bot_grpo.errors import UserError
from bot_grpo.groups import Groups
from bot_grpo.integrations import verl_batch as vb
from bot_grpo.integrations import verl_data
from reward_models.base import RewardSignal, Rollout
from reward_models.scoring import Scored


@pytest.mark.parametrize(("name", "settings", "key"), CASES, ids=[key for *_, key in CASES])
def test_the_reference_advantages_survive_the_way_through_verl(name: str, settings: dict[str, Any], key: str) -> None:
    rows_BT, mask_BT, uids, order = rows_for(name, settings, unscored=name != "balanced")
    advantages_BT = vb.advantages(name, rows_BT, mask_BT, uids, settings)
    assert advantages_BT.dtype == torch.float32
    back_BT = advantages_BT[order.argsort()][:8].double()
    want_BT = f64(golden()["algos"][key]["adv"])
    want_BT = want_BT if want_BT.dim() == 2 else want_BT[:, None] * mask_of()
    factor_BT = torch.ones_like(want_BT)
    if name == "balanced" or settings.get("per_group"):  # what verl's mean over rows or tokens doesn't have
        everyone, mask = torch.ones(8, dtype=torch.bool), mask_of().bool()
        groups = Groups.contiguous(8, K)
        ours = (
            obj.balanced_weights(mask, groups, everyone, want_BT.sum(1).sign())
            / obj.sequence_weights(mask, groups, everyone)
            if name == "balanced"
            else obj.group_token_weights(mask, groups, everyone) / obj.token_weights(mask, groups)
        )
        factor_BT = torch.where(mask, ours, 0)
    torch.testing.assert_close(back_BT, want_BT * factor_BT, rtol=1e-5, atol=1e-6)
    if len(order) > 8:
        assert (advantages_BT[order.argsort()][8] == 0).all()  # the one that was not scored


def test_every_algorithm_is_brought_or_left_out_on_purpose() -> None:
    assert set(ALGORITHMS) - set(vb.LAYOUTS) == {"prime", "ep_grpo"}
    assert {name for name, *_ in CASES} == set(vb.LAYOUTS)
    assert sorted(name for names in vb.AGGREGATION.values() for name in names) == sorted(vb.LAYOUTS)
    assert {vb.verl_name(n) for n in vb.LAYOUTS}.isdisjoint({"grpo", "gspo", "vanilla"})


def test_a_group_without_variance_gets_exactly_nothing_however_long_its_rollouts_are() -> None:
    mask_BT = torch.arange(7)[None] < torch.tensor([1, 3, 7, 5])[:, None]
    advantages_BT = vb.advantages("bot_grpo", 3.2 * mask_BT, mask_BT, ["a"] * 4)
    assert torch.equal(advantages_BT, torch.zeros(4, 7))


def test_groups_are_uids_of_any_kind_in_any_order() -> None:
    groups = vb.groups_of(np.array(["b", "a", "b", "c"], dtype=object))
    assert groups.count == 3
    assert groups.index_B[0] == groups.index_B[2] != groups.index_B[1]


def test_a_step_without_reward_is_still_a_step() -> None:
    scored = _scored([0.0, 0.0, 0.5, 0.5], steps=((0, 2), (2, 4)))
    algorithm = vb.algorithm_for("grpo_process")
    row_T = vb.write_rewards(scored, algorithm, vb.RewardSettings("x"), max_length=4)
    assert row_T is not None
    batch = vb.read_rewards("steps", row_T[None], torch.ones(1, 4, dtype=torch.bool))
    assert batch.step_ends_BT is not None
    assert batch.step_rewards_BT is not None
    assert batch.step_ends_BT.tolist() == [[False, True, False, True]]
    assert batch.step_rewards_BT.tolist() == [[0.0, 0.0, 0.0, 0.5]]


def test_rewards_are_weighted_and_long_ones_fined() -> None:
    settings = vb.RewardSettings("x", w_g=3.0, w_s=0.5, overlong_cache=2)
    row_T = vb.write_rewards(_scored([0.0, 1.0, -1.0]), vb.algorithm_for("bot_grpo"), settings, max_length=4)
    assert row_T is not None
    assert row_T.tolist() == [1.5, 2.0, 1.0]  # G = 1 - 0.5
    row_T = vb.write_rewards(_scored([0.0, 1.0, -1.0]), vb.algorithm_for("grpo"), settings, max_length=4)
    assert row_T is not None
    assert row_T.tolist() == [0.0, 0.0, 0.5]
    mean = vb.algorithm_for("grpo", {"outcome": "token_mean"})
    assert vb.layout_of(mean) == "token"


def test_what_could_not_be_scored_has_no_rewards() -> None:
    scored = Scored(Rollout("", "ab", (1, 2), ((0, 1), (1, 2))), None, np.zeros(2), "no answer")
    for name in vb.LAYOUTS:
        assert vb.write_rewards(scored, vb.algorithm_for(name), vb.RewardSettings("x"), max_length=4) is None


@pytest.mark.parametrize(
    ("name", "settings", "says"),
    [
        ("bot_grpo", {"clip_low": 0.1}, "actor.clip_ratio_low"),
        ("bot_grpo", {"beta": 0.1}, "kl_loss_coef"),
        ("dr_grpo", {"constant": 5}, "loss_scale_factor"),
        ("bot_grpo", {"center_local": False}, "no place"),
        ("bot_grpo", {"sigma": 1}, "has no setting sigma"),
    ],
)
def test_a_setting_that_belongs_elsewhere_is_said_where(name: str, settings: dict[str, Any], says: str) -> None:
    with pytest.raises(ValueError, match=says) as caught:
        vb.algorithm_for(name, settings)
    assert "\n" not in str(caught.value)


def test_a_batch_that_cannot_be_read_is_refused_in_a_line() -> None:
    rewards, mask = torch.ones(2, 3), torch.ones(2, 3)
    with pytest.raises(ValueError, match="default_agent_loop=bot_grpo_single_turn"):
        vb.advantages("bot_grpo", rewards * torch.nan, mask, ["a", "a"])
    with pytest.raises(ValueError, match="uid"):
        vb.advantages("bot_grpo", rewards, mask, None)
    with pytest.raises(ValueError, match="not one rollout"):
        vb.advantages("bot_grpo", rewards, 0 * mask, ["a", "a"])


@pytest.mark.parametrize(
    ("given", "says"),
    [
        (None, "names the reward model"),
        ({"rewards": "aime", "weight": 1}, "has no 'weight'"),
        ({"rewards": "aime", "w_g": "much"}, "w_g is a number"),
        ({"rewards": "aime", "w_s": -1}, "w_s is a number"),
    ],
)
def test_reward_settings_are_checked(given: Any, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        vb.reward_settings(given)


@pytest.mark.skipif(find_spec("verl") is not None, reason="verl is installed here")
def test_without_verl_a_line_says_what_to_install() -> None:
    with pytest.raises(ImportError, match=r"needs verl 0\.9: pip install 'bot-grpo\[verl\]'"):
        __import__("bot_grpo.integrations.verl")


def test_a_recipe_becomes_overrides_and_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    made_up = ["--prompts", "arithmetic:1", "--eval_prompts", "4"]
    assert verl_data.main([str(tmp_path), "--config", "aime-qwen2.5-3b-80gb", *made_up]) == 0
    lines = dict(line.split("=", 1) for line in (tmp_path / "overrides.txt").read_text().splitlines())
    assert lines["algorithm.adv_estimator"] == lines["actor_rollout_ref.actor.policy_loss.loss_mode"] == "bot_grpo"
    assert lines["actor_rollout_ref.actor.loss_agg_mode"] == "seq-mean-token-mean"
    assert (lines["+reward.bot_grpo.w_g"], lines["+reward.bot_grpo.w_s"]) == ("3.0", "0.5")
    assert lines["data.train_batch_size"] == "8"
    sources = json.loads(lines["+reward.bot_grpo.rewards"].strip("'"))
    assert sources[0]["model"] == "aime"
    assert sources[0]["args"]["window"] == 3
    from datasets import Dataset

    row = Dataset.from_parquet(str(tmp_path / "train.parquet"))[0]
    assert row["prompt"][-1]["role"] == "user"
    assert "answer" in json.loads(row["extra_info"]["row"])
    capsys.readouterr()


def test_what_cannot_be_brought_is_refused_before_a_file_is_written(tmp_path: Path) -> None:
    args = parse(["--algorithm", "prime", "--output_dir", str(tmp_path)])
    with pytest.raises(UserError, match="prime can't be brought"):
        verl_data.overrides(args, "compiler")
    args = parse(["--algorithm", "dr_grpo", "--output_dir", str(tmp_path), "--max_completion_length", "77"])
    assert "actor_rollout_ref.actor.loss_scale_factor=77" in verl_data.overrides(args, "compiler")


def test_the_reference_rollouts_are_those_of_the_reference() -> None:
    """The rollouts that the tests score give back the reference's token and step rewards."""
    batch = golden_batch()
    rows = golden_scored("bot_grpo")
    want: Tensor = batch.token_rewards_BT
    for row, scored in enumerate(rows):
        assert scored.signal is not None
        got = scored.local_T + scored.signal.outcome
        torch.testing.assert_close(f64(got), want[row, : len(got)])
    assert {key for *_, key in CASES} <= {key for *_, key in GOLDEN_ROWS}


def _scored(local: list[float], steps: tuple[tuple[int, int], ...] | None = None) -> Scored:
    n = len(local)
    rollout = Rollout("", "x" * n, tuple(range(n)), tuple((i, i + 1) for i in range(n)))
    return Scored(rollout, RewardSignal(1.0, steps=steps), np.array(local))


def test_the_files_for_verl_help_and_refuse_in_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert verl_data.main(["--help"]) == 0
    assert capsys.readouterr().out.startswith("usage: python -m bot_grpo.integrations.verl_data OUT")
    with pytest.raises(UserError, match="cannot write /proc/d9: "):
        verl_data.main(["/proc/d9", "--config", "aime-smollm2-cpu"])
