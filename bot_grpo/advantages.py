"""Rewards in, advantages out: one pure function for each way of giving credit.

Shapes: B rollouts, T tokens, G groups. `mask_BT` is true on the tokens that a rollout really has. A row without
any token (an empty completion, or a rollout that could not be scored, whose mask the caller clears) is in no
statistic and gets advantage 0; so does a group with fewer than two rows left. What stands outside the mask is never
read. float64 stays float64; anything else gives float32, with sums kept in float64.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

import torch
from torch import Tensor

from bot_grpo.groups import Groups, wide

Std = Literal["population", "sample", "none"]


class Moments(NamedTuple):
    """Mean and standard deviation of each group, and how many rollouts they come from; all (G,)."""

    mean_G: Tensor
    sigma_G: Tensor
    rows_G: Tensor


def bag_of_tokens(
    rewards_BT: Tensor,
    mask_BT: Tensor,
    num_generations: int,
    *,
    length_weighted: bool = True,
    eps: float = 1e-6,
    sigma_floor: float = 0.0,
    local_rewards_BT: Tensor | None = None,
    groups: Groups | None = None,
) -> Tensor:
    """BoT-GRPO's advantages (arXiv 2610.09804, Eq. 2): A_t = (r_t - mu) / (sigma + eps), no reward-to-go. (B, T).

    mu and sigma are those of all token rewards of the group in one bag, where each rollout weighs the same whatever
    its length (a token weighs 1/L); sigma is the population form. `length_weighted=False` weighs each token the same
    (our ablation). The paper says only that eps is small: 1e-6 is ours, as is `sigma_floor`, a least sigma that
    keeps a group which differs by local rewards alone from being blown up to full strength.

    local_rewards_BT: the local part of `rewards_BT`. Given, it isn't centred: mu becomes the mean of the global
    part, as GRPO's, and sigma the root mean square about it, so that a penalty can only push down (ours).
    Across processes this takes two reductions of G numbers each. ValueError for a NaN or infinite reward.
    """
    _same_shape(rewards_BT, mask_BT, "rewards_BT", "mask_BT")
    if groups is None:
        groups = Groups.contiguous(len(mask_BT), num_generations, device=mask_BT.device)
    centre_BT = None if local_rewards_BT is None else rewards_BT - local_rewards_BT
    deviation_BT, moments = _deviations(rewards_BT, mask_BT.bool(), groups, length_weighted, centre_BT)
    scale_G = _inverse(moments.sigma_G.clamp(min=sigma_floor) + eps, moments.rows_G >= 2)
    return deviation_BT.mul_(groups.spread(scale_G).to(deviation_BT.dtype)[:, None])


def token_moments(rewards_BT: Tensor, mask_BT: Tensor, groups: Groups, *, length_weighted: bool = True) -> Moments:
    """Mean and population sigma of each group's bag of token rewards, as `bag_of_tokens` uses them."""
    return _deviations(rewards_BT, mask_BT.bool(), groups, length_weighted, None)[1]


def group_normalised(
    outcome_B: Tensor,
    has_B: Tensor,
    groups: Groups,
    *,
    std: Std = "population",
    eps: float = 1e-6,
) -> Tensor:
    """GRPO's advantages (arXiv 2402.03300, 4.1): (R - mean) / (std + eps) over a group. (B,).

    has_B: rollouts that take part. std "population" divides by K (as the BoT paper writes GRPO), "sample" by K - 1
    (TRL, verl), "none" leaves the centred outcome (Dr.GRPO, arXiv 2503.20783).
    """
    values_B = wide(torch.where(has_B, outcome_B, 0))
    mean_G, rows_G = _mean(values_B, has_B, groups)
    centred_B = torch.where(has_B, values_B - groups.spread(mean_G), 0)
    usable_G = rows_G >= 2
    if std == "none":
        scale_G = usable_G.to(centred_B.dtype)
    else:
        divisor_G = (rows_G - 1 if std == "sample" else rows_G).clamp(min=1)
        scale_G = _inverse((groups.sum(centred_B.square()) / divisor_G).sqrt() + eps, usable_G)
    return (centred_B * groups.spread(scale_G)).to(_float(outcome_B))


def equal_outcomes(
    outcome_B: Tensor, num_generations: int, *, has_B: Tensor | None = None, groups: Groups | None = None
) -> Tensor:
    """Groups whose outcomes are all the same, or which have fewer than two: they say nothing about better. (G,) bool.

    This is what DAPO's dynamic sampling (arXiv 2503.14476) refills. It looks at outcomes, never at sigma: with token
    rewards a group of failures still has variance.
    """
    if groups is None:
        groups = Groups.contiguous(len(outcome_B), num_generations, device=outcome_B.device)
    if has_B is None:
        has_B = torch.ones_like(outcome_B, dtype=torch.bool)
    both_B2 = torch.stack([outcome_B, -outcome_B], dim=1)
    top_G, low_G = groups.max(torch.where(has_B[:, None], wide(both_B2), -torch.inf)).unbind(1)
    return top_G <= -low_G


def row_mean(values_BT: Tensor, mask_BT: Tensor) -> Tensor:
    """Mean over each row's tokens, 0 for a row without any. (B,)."""
    mask_BT = mask_BT.bool()
    sums_B = torch.where(mask_BT, values_BT, 0).sum(1, dtype=wide(values_BT[:0]).dtype)
    return (sums_B / mask_BT.sum(1).clamp(min=1)).to(_float(values_BT))


def _deviations(
    rewards_BT: Tensor, mask_BT: Tensor, groups: Groups, length_weighted: bool, centre_BT: Tensor | None
) -> tuple[Tensor, Moments]:
    """Rewards less their group's mean, 0 outside the mask, and the moments. Two reductions."""
    rewards_BT = torch.where(mask_BT, rewards_BT, 0).to(_float(rewards_BT))
    source_BT = rewards_BT if centre_BT is None else torch.where(mask_BT, centre_BT, 0)
    length_B = mask_BT.sum(1)
    weight_B = 1 / wide(length_B.clamp(min=1)) if length_weighted else wide(torch.ones_like(length_B))
    first_B3 = torch.stack([wide(source_BT).sum(1) * weight_B, length_B * weight_B, wide(length_B > 0)], dim=1)
    sum_G, weight_G, rows_G = groups.sum(first_B3).unbind(1)
    mean_G = sum_G / weight_G.clamp(min=1)
    deviation_BT = rewards_BT - groups.spread(mean_G).to(rewards_BT.dtype)[:, None]
    deviation_BT.masked_fill_(~mask_BT, 0)
    square_B = wide(torch.linalg.vecdot(deviation_BT, deviation_BT)) * weight_B
    sigma_G = (groups.sum(square_B) / weight_G.clamp(min=1)).sqrt()
    if not torch.isfinite(sigma_G).all():
        bad = (~torch.isfinite(sigma_G)).nonzero().flatten().tolist()
        raise ValueError(f"NaN or infinite token rewards in group(s) {bad}: mark such rollouts unscored")
    return deviation_BT, Moments(mean_G, sigma_G, rows_G)


def _mean(values_B: Tensor, has_B: Tensor, groups: Groups) -> tuple[Tensor, Tensor]:
    """Mean of each group and its number of rows; 0 for a group without any. One reduction."""
    sum_G, rows_G = groups.sum(torch.stack([values_B, has_B.to(values_B.dtype)], dim=1)).unbind(1)
    return sum_G / rows_G.clamp(min=1), rows_G


def _inverse(x: Tensor, where: Tensor) -> Tensor:
    """1 / x, and 0 where `where` is false or x is 0."""
    return torch.where(where & (x > 0), 1 / torch.where(x > 0, x, 1), 0)


def _float(x: Tensor) -> torch.dtype:
    return torch.float64 if x.dtype == torch.float64 else torch.float32


def _same_shape(a: Tensor, b: Tensor, name_a: str, name_b: str) -> None:
    if a.shape != b.shape:
        raise ValueError(f"{name_a} is {tuple(a.shape)} but {name_b} is {tuple(b.shape)}: they must agree")
