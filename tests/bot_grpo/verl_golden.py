"""The shared reference batch as rollouts that a reward model has scored, and as verl would hold them."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from golden_batch import GOLDEN_ROWS, f64, golden
from torch import Tensor

from bot_grpo.integrations import verl_batch as vb
from reward_models.base import RewardSignal, Rollout
from reward_models.scoring import Scored

# Rows of the table that verl can compute: the algorithms it takes, without settings that are verl's own.
CASES: list[tuple[str, dict[str, Any], str]] = [
    (name, {k: v for k, v in settings.items() if k not in vb.IN_VERL}, key)
    for name, settings, key in GOLDEN_ROWS
    if name in vb.LAYOUTS and key not in {"grpo_kl", "bot_grpo_dapo_agg"} and "constant" not in settings
]
UIDS = ["p"] * 4 + ["a"] * 4


def mask_of() -> Tensor:
    return f64(golden()["inputs"]["mask"])


def golden_scored(name: str) -> list[Scored]:
    """Eight scored rollouts, a character a token: their local rewards are r - G, or the step's reward on its tokens."""
    inputs, found = golden()["inputs"], []
    steps = vb.LAYOUTS[name] in {"steps", "pure"}
    for row, (outcome, mask) in enumerate(zip(inputs["outcome"], inputs["mask"], strict=True)):
        n = int(sum(mask))
        local_T, spans, start = np.zeros(n), [], 0
        for end, value in zip(inputs["step_ends"][row], inputs["prm_step_reward"][row], strict=True):
            local_T[start : end + 1] = value
            spans.append((start, end + 1))
            start = end + 1
        if not steps:
            local_T = np.array(golden()["algos"]["bot_grpo"]["token_reward"][row][:n]) - outcome
        rollout = Rollout("", "x" * n, tuple(range(n)), tuple((i, i + 1) for i in range(n)))
        found.append(Scored(rollout, RewardSignal(outcome, steps=tuple(spans)), local_T))
    return found


def rows_for(name: str, settings: dict[str, Any], *, unscored: bool) -> tuple[Tensor, Tensor, list[str], Tensor]:
    """(token_level_rewards, response_mask, uids, order), float32: prompts mixed, and one more of the first unscored."""
    algorithm = vb.algorithm_for(name, settings)
    mask_BT = mask_of().long()
    rewards_BT = torch.zeros(mask_BT.shape)
    for row, scored in enumerate(golden_scored(name)):
        row_T = vb.write_rewards(scored, algorithm, vb.RewardSettings("x"), max_length=99)
        assert row_T is not None
        rewards_BT[row, : len(row_T)] = row_T
    order = torch.tensor([5, 0, 7, 2, 1, 6, 3, 4])
    uids = list(UIDS)
    if unscored:
        mask_BT, rewards_BT = (torch.cat([x, torch.zeros_like(x[:1])]) for x in (mask_BT, rewards_BT))
        order = torch.tensor([5, 0, 8, 7, 2, 1, 6, 3, 4])
        uids.append("p")
    return rewards_BT[order], mask_BT[order], [uids[i] for i in order], order
