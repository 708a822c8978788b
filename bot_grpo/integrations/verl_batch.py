"""Between verl's tensors and ours: pure functions, which need no verl.

verl gives an advantage estimator one number a token (`token_level_rewards`), a mask and the prompt of each row, and
nothing else. So what a rollout was paid must fit into one number a token, and each algorithm has the layout that it can
read (`LAYOUTS`). `write_rewards` puts a rollout's rewards into a row, where it is scored; `read_rewards` makes a
`ScoredBatch` of the rows, where advantages are made. B rollouts, T tokens of responses, padded on the right.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor

from bot_grpo import advantages as adv
from bot_grpo import objectives as obj
from bot_grpo.algorithms import ALGORITHMS, get_algorithm
from bot_grpo.backbone import Algorithm, Prepared, ScoredBatch, Settings
from bot_grpo.groups import Groups, wide
from bot_grpo.rewards import step_rewards
from reward_models.scoring import Scored

Layout = Literal["token", "outcome", "steps", "pure"]

LAYOUTS: dict[str, Layout] = {
    "bot_grpo": "token",
    "gspo_token": "token",
    "grpo": "outcome",
    "dr_grpo": "outcome",
    "gspo": "outcome",
    "dapo": "outcome",
    "balanced": "outcome",
    "reco": "outcome",
    "grpo_process": "steps",
    "pure": "pure",
}
"""What stands in verl's `token_level_rewards` for each algorithm that can be brought through it.

token: r_t = w_g G + w_s S_t on every token. outcome: G on the last token, as verl's own. steps: w_s times a step's
reward on its last token. pure: PURE's reward of each token (`advantages.pure_rewards`).
"""

AGGREGATION = {
    "seq-mean-token-mean": ("bot_grpo", "gspo_token", "grpo", "gspo", "balanced", "reco", "grpo_process"),
    "token-mean": ("dapo", "pure"),
    "seq-mean-token-sum-norm": ("dr_grpo",),
}
"""verl's `loss_agg_mode` and the algorithms that it belongs to."""

IN_VERL: dict[str, str] = {
    "clip_low": "actor_rollout_ref.actor.clip_ratio_low",
    "clip_high": "actor_rollout_ref.actor.clip_ratio_high",
    "beta": "actor_rollout_ref.actor.kl_loss_coef, with use_kl_loss=True and kl_loss_type=low_var_kl",
    "constant": "actor_rollout_ref.actor.loss_scale_factor",
    "aggregation": "actor_rollout_ref.actor.loss_agg_mode",
    "drop_equal_outcome_groups": "algorithm.filter_groups.enable, with metric=outcome",
}
"""Settings of ours that verl has a place for."""

_STEP = torch.finfo(torch.float32).tiny


def algorithm_for(name: str, settings: Mapping[str, Any] | None = None) -> Algorithm:
    """The algorithm as an estimator of verl can run it. ValueError, one line, for a setting that belongs elsewhere."""
    settings = dict(settings or {})
    for key in sorted(set(settings) & set(IN_VERL)):
        raise ValueError(f"algorithm.bot_grpo.{key}: in verl this is set by {IN_VERL[key]}")
    if settings.get("center_local") is False:
        raise ValueError("algorithm.bot_grpo.center_local=False needs local rewards apart, which verl has no place for")
    algorithm = get_algorithm(name, **settings)
    if name == "reco":  # its weights are in the loss, which knows the old log-probabilities
        return replace(algorithm, base_needs=frozenset(), weights=ALGORITHMS["grpo"].weights)
    if name == "pure":
        return replace(algorithm, base_needs=frozenset(), advantages=_pure)
    return algorithm


def layout_of(algorithm: Algorithm) -> Layout:
    """How rewards are laid out for the algorithm and its settings."""
    return "token" if algorithm.settings.get("outcome") == "token_mean" else LAYOUTS[algorithm.name]


def verl_name(name: str) -> str:
    """What an algorithm is called in verl's registries."""
    return name if name == "bot_grpo" else f"bot_grpo.{name}"


def mode_of(name: str) -> str:
    """The `loss_agg_mode` of an algorithm."""
    return next(mode for mode, names in AGGREGATION.items() if name in names)


def _pure(batch: ScoredBatch, groups: Groups, s: Settings) -> Tensor:
    length, norm = s["baseline_length"], s["adv_norm"]
    rewards_BT = batch.token_rewards_BT
    return adv.pure_returns(rewards_BT, batch.mask_BT, groups, baseline_length=length, adv_norm=norm).to(
        rewards_BT.dtype
    )


# Where a rollout is scored.


@dataclass(frozen=True)
class RewardSettings:
    """`reward.bot_grpo` of verl's config.

    rewards: reward models, as a run's config has them (a name, or a list of mappings). w_g, w_s: r_t = w_g G + w_s S_t.
    overlong_cache: tokens before the longest response over which a penalty on G grows from 0 to -1.
    """

    rewards: Any
    w_g: float = 1.0
    w_s: float = 1.0
    overlong_cache: int = 0


def reward_settings(given: Mapping[str, Any] | None) -> RewardSettings:
    """Raises ValueError, one line, where a key is unknown, a weight is no number, or no reward model is named."""
    given = dict(given or {})
    known = [f.name for f in fields(RewardSettings)]
    unknown = sorted(set(given) - set(known))
    if unknown:
        raise ValueError(f"reward.bot_grpo has no {unknown[0]!r}; it has: {', '.join(known)}")
    if not given.get("rewards"):
        raise ValueError("reward.bot_grpo.rewards names the reward model: +reward.bot_grpo.rewards=aime")
    for key in set(given) - {"rewards"}:
        if isinstance(given[key], bool) or not isinstance(given[key], int | float) or not given[key] >= 0:
            raise ValueError(f"reward.bot_grpo.{key} is a number, 0 or more, not {given[key]!r}")
    return RewardSettings(**given)


def write_rewards(
    scored: Scored, algorithm: Algorithm, settings: RewardSettings, *, max_length: int, spread: str = "every"
) -> Tensor | None:
    """A rollout's row of `token_level_rewards`: (T,) float32. None: it could not be scored.

    max_length: the longest response, for the overlong penalty. spread: the reward model's.
    """
    if scored.signal is None:
        return None
    length, layout = len(scored.local_T), layout_of(algorithm)
    outcome = float(scored.signal.outcome or 0.0)
    if settings.overlong_cache:
        outcome += adv.overlong_penalty(torch.tensor([length]), max_length, settings.overlong_cache).item()
    if layout == "token":
        return (settings.w_g * outcome + settings.w_s * torch.from_numpy(scored.local_T)).float()
    if layout == "outcome":
        row_T = torch.zeros(length)
        row_T[-1:] = outcome
        return row_T
    steps_BT, ends_BT = step_rewards([scored], length, spread=spread)
    steps_BT = settings.w_s * steps_BT
    if layout == "steps":  # the least float there is for a 0, so that the step's end is seen
        return torch.where(ends_BT, torch.where(steps_BT == 0, _STEP, steps_BT), 0)[0]
    s = algorithm.settings
    everywhere_BT, outcome_B = torch.ones_like(ends_BT), torch.tensor([outcome])
    row_BT = adv.pure_rewards(
        steps_BT,
        ends_BT,
        outcome_B,
        everywhere_BT,
        temperature=s["temperature"],
        outcome_weight=s["outcome_weight"],
    )
    return row_BT[0].float()


# Where advantages are made.


def read_rewards(layout: Layout, rewards_BT: Tensor, mask_BT: Tensor) -> ScoredBatch:
    """The batch that verl's `token_level_rewards` stand for.

    A rollout without a token in the mask was not scored, or is padding of verl's: it is in no statistic.
    """
    steps_BT, ends_BT = None, None
    if layout == "steps":
        ends_BT = rewards_BT != 0
        steps_BT = torch.where(rewards_BT == _STEP, 0, rewards_BT)
    tokens_B = mask_BT.sum(1).clamp(min=1)
    # Of token rewards alone G is not known; their mean is what it is said to be with outcome=token_mean.
    outcome_B = rewards_BT.sum(1) if layout != "token" else (rewards_BT * mask_BT).sum(1) / tokens_B
    return ScoredBatch(
        mask_BT=mask_BT,
        logps_BT=None,
        old_logps_BT=None,
        token_rewards_BT=rewards_BT,
        outcome_B=outcome_B,
        step_rewards_BT=steps_BT,
        step_ends_BT=ends_BT,
    )


def groups_of(index: Sequence[Any] | np.ndarray, device: torch.device | str | None = None) -> Groups:
    """Rows with the same uid are a group, in whatever order they come."""
    uids, index_B = np.unique(np.asarray(index).astype(str), return_inverse=True)
    return Groups(torch.as_tensor(index_B.reshape(-1), device=device), len(uids))


def advantages(
    name: str,
    token_level_rewards: Tensor,
    response_mask: Tensor,
    index: Sequence[Any] | np.ndarray | None,
    settings: Mapping[str, Any] | None = None,
) -> Tensor:
    """Advantages of a whole generation batch as verl wants them: (B, T), 0 outside the mask.

    They are ours, times what our weight of a token is more than the one that verl's `loss_agg_mode` gives it: a clipped
    term is linear in a factor on its advantage, so verl's sum over the batch is our weighted sum. Raises ValueError.
    """
    if index is None:
        raise ValueError(f"{name} needs the uid of each row's prompt, and this batch has none")
    mask_BT, algorithm = response_mask.bool(), algorithm_for(name, settings)
    layout = layout_of(algorithm)
    rewards_BT = token_level_rewards if token_level_rewards.dtype == torch.float64 else token_level_rewards.float()
    if (~torch.isfinite(rewards_BT) & mask_BT).any():
        raise ValueError(
            f"there are NaN or infinite rewards: {name} needs reward.reward_manager.name=bot_grpo and "
            "actor_rollout_ref.rollout.agent.default_agent_loop=bot_grpo_single_turn (or bot_grpo_tool)"
        )
    if not mask_BT.any():
        raise ValueError("not one rollout of the batch could be scored: reward_extra_info.reason says why")
    groups = groups_of(index, rewards_BT.device)
    prepared = algorithm.prepare(read_rewards(layout, rewards_BT, mask_BT), 0, groups=groups)
    return _folded(prepared, mode_of(name), mask_BT, groups).to(rewards_BT.dtype)


def _folded(prepared: Prepared, mode: str, mask_BT: Tensor, groups: Groups) -> Tensor:
    if mode == "seq-mean-token-sum-norm":  # its weights are a constant's
        return prepared.advantages_BT
    counted_B = torch.ones_like(mask_BT[:, 0])
    theirs_BT = (
        obj.token_weights(mask_BT, groups) if mode == "token-mean" else obj.sequence_weights(mask_BT, groups, counted_B)
    )
    more_BT = torch.where(mask_BT, prepared.weights_BT / torch.where(mask_BT, theirs_BT, 1), 0)
    return wide(prepared.advantages_BT) * more_BT


def response_factor(old_logps_BT: Tensor, mask_BT: Tensor) -> Tensor:
    """ReCo's 1 / pbar of each row, over what a mean over rollouts already gives it: (B, 1)."""
    rows, counted_B = len(mask_BT), torch.ones_like(mask_BT[:, 0])
    weights_BT = obj.response_weights(
        mask_BT, Groups.contiguous(rows, rows, device=mask_BT.device), counted_B, old_logps_BT
    )
    return weights_BT.sum(1, keepdim=True) * rows
