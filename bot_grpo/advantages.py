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
    low_G, high_G = outcome_range(outcome_B, has_B, groups)
    return high_G <= low_G


def outcome_range(outcome_B: Tensor, has_B: Tensor, groups: Groups) -> tuple[Tensor, Tensor]:
    """The lowest and the highest outcome of each group, by one reduction. (G,), (G,); inf and -inf if it has none."""
    both_B2 = torch.stack([outcome_B, -outcome_B], dim=1)
    high_G, minus_low_G = groups.max(torch.where(has_B[:, None], wide(both_B2), -torch.inf)).unbind(1)
    return -minus_low_G, high_G


def row_mean(values_BT: Tensor, mask_BT: Tensor) -> Tensor:
    """Mean over each row's tokens, 0 for a row without any. (B,)."""
    mask_BT = mask_BT.bool()
    sums_B = torch.where(mask_BT, values_BT, 0).sum(1, dtype=wide(values_BT[:0]).dtype)
    return (sums_B / mask_BT.sum(1).clamp(min=1)).to(_float(values_BT))


def overlong_penalty(lengths_B: Tensor, max_length: int, cache: int) -> Tensor:
    """DAPO's soft penalty for length (arXiv 2503.14476): 0 up to max_length - cache, -1 from max_length on. (B,).

    Add it to the outcome. The paper has max_length 20480 and cache 4096.
    """
    if not 0 < cache <= max_length:
        raise ValueError(f"the overlong cache must be in 1..{max_length} (max_length), not {cache}")
    return ((max_length - cache - lengths_B) / cache).clamp(-1.0, 0.0)


def pure(
    step_rewards_BT: Tensor,
    step_ends_BT: Tensor,
    outcome_B: Tensor,
    mask_BT: Tensor,
    groups: Groups,
    *,
    temperature: float = 0.1,
    outcome_weight: float = 1.0,
    baseline_length: float | None = None,
    adv_norm: bool = True,
) -> Tensor:
    """PURE's min-form credit (arXiv 2504.15275) with a leave-one-out baseline. (B, T).

    Each step's reward, on the step's last token, is weighted by softmax(-r / temperature) over the row's steps; the
    outcome is added at the last token; the return of a token is the sum from there on. The baseline of a row is the
    others' summed returns over (K - 1) baseline_length, by default the widest process' T. adv_norm whitens the batch.
    """
    reward_BT = pure_rewards(
        step_rewards_BT, step_ends_BT, outcome_B, mask_BT, temperature=temperature, outcome_weight=outcome_weight
    )
    advantages_BT = pure_returns(reward_BT, mask_BT, groups, baseline_length=baseline_length, adv_norm=adv_norm)
    return advantages_BT.to(_float(step_rewards_BT))


def pure_rewards(
    step_rewards_BT: Tensor,
    step_ends_BT: Tensor,
    outcome_B: Tensor,
    mask_BT: Tensor,
    *,
    temperature: float = 0.1,
    outcome_weight: float = 1.0,
) -> Tensor:
    """PURE's reward of each token, before returns are taken; a row's depends on that row alone. (B, T) wide."""
    mask_BT = mask_BT.bool()
    weight_BT = softmin_weights(step_rewards_BT, step_ends_BT.bool() & mask_BT, temperature)
    reward_BT = weight_BT * torch.where(weight_BT > 0, wide(step_rewards_BT), 0)
    return reward_BT + outcome_weight * _at_last_token(outcome_B, mask_BT)


def pure_returns(
    reward_BT: Tensor,
    mask_BT: Tensor,
    groups: Groups,
    *,
    baseline_length: float | None = None,
    adv_norm: bool = True,
) -> Tensor:
    """PURE's advantages from the rewards of `pure_rewards`: returns, less the others' baseline. (B, T) wide."""
    mask_BT, reward_BT = mask_BT.bool(), wide(reward_BT)
    return_BT = torch.where(mask_BT, suffix_sum(reward_BT), 0)
    if baseline_length is None:
        baseline_length = groups.largest(torch.tensor(mask_BT.shape[1], device=mask_BT.device)).item()
    own_B = return_BT.sum(1)
    sum_G, rows_G = groups.sum(torch.stack([own_B, wide(mask_BT.any(1))], dim=1)).unbind(1)
    others_B = groups.spread(_inverse((rows_G - 1) * baseline_length, rows_G >= 2)) * (groups.spread(sum_G) - own_B)
    usable_BT = mask_BT & groups.spread(rows_G >= 2)[:, None]
    advantages_BT = torch.where(usable_BT, return_BT - others_B[:, None], 0)
    return whiten(advantages_BT, usable_BT, groups) if adv_norm else advantages_BT


def prime(
    q_BT: Tensor,
    outcome_B: Tensor,
    mask_BT: Tensor,
    groups: Groups,
    *,
    scale_rewards: bool = True,
    adv_norm: bool = True,
    eps: float = 1e-6,
) -> Tensor:
    """PRIME's credit from an implicit reward q = log pi_phi - log pi_ref a token (arXiv 2502.01456). (B, T).

    q is scaled so that no sum from a token on exceeds 1 anywhere in the batch (scale_rewards); q and the outcome (on
    the last token) each get a leave-one-out baseline; returns are sums from a token on, whitened over the batch.
    """
    dtype, mask_BT = _float(q_BT), mask_BT.bool()
    q_BT = torch.where(mask_BT, wide(q_BT), 0)
    if scale_rewards:
        q_BT = q_BT / (groups.largest(suffix_sum(q_BT).abs().amax()) + eps)
    has_B = mask_BT.any(1)
    outcome_B = torch.where(has_B, wide(outcome_B), 0)
    means_B3 = torch.stack([q_BT.sum(1) / mask_BT.sum(1).clamp(min=1), outcome_B, wide(has_B)], dim=1)
    q_sum_G, outcome_sum_G, rows_G = groups.sum(means_B3).unbind(1)
    usable_G = rows_G >= 2
    scale_G = _inverse(rows_G - 1, usable_G)
    own_B, q_others_B, outcome_others_B = (
        groups.spread(x) for x in (rows_G * scale_G, q_sum_G * scale_G, outcome_sum_G * scale_G)
    )
    reward_BT = torch.where(mask_BT, q_BT * own_B[:, None] - q_others_B[:, None], 0)
    return_BT = suffix_sum(reward_BT + _at_last_token(outcome_B * own_B - outcome_others_B, mask_BT))
    usable_BT = mask_BT & groups.spread(usable_G)[:, None]
    advantages_BT = torch.where(usable_BT, return_BT, 0)
    advantages_BT = whiten(advantages_BT, usable_BT, groups) if adv_norm else advantages_BT
    return advantages_BT.to(dtype)


def process_returns(
    step_rewards_BT: Tensor, step_ends_BT: Tensor, mask_BT: Tensor, groups: Groups, *, eps: float = 1e-6
) -> Tensor:
    """GRPO with process supervision (arXiv 2402.03300, 4.1.3). (B, T).

    Step rewards are normalised over all steps of the group, each step counting once (population std); a token's
    advantage is the sum of the normalised rewards of the steps that end at it or later, 0 after the last.
    """
    mask_BT = mask_BT.bool()
    ends_BT = step_ends_BT.bool() & mask_BT
    bin_BT = torch.zeros_like(ends_BT, dtype=torch.long)
    usable_G = groups.sum(wide(mask_BT.any(1))) >= 2
    return_BT = suffix_sum(_zscore(step_rewards_BT, ends_BT, bin_BT, 1, groups, eps))
    return torch.where(mask_BT & groups.spread(usable_G)[:, None], return_BT, 0).to(_float(step_rewards_BT))


def entropy_progress(
    outcome_advantages_B: Tensor,
    outcome_B: Tensor,
    entropies_BT: Tensor,
    old_logps_BT: Tensor,
    ref_logps_BT: Tensor,
    mask_BT: Tensor,
    groups: Groups,
    *,
    gamma: float = 5.0,
    eta: float = 0.2,
    implicit_beta: float = 0.1,
    bins: int = 4,
    eps: float = 1e-6,
) -> Tensor:
    """Our reading of EP-GRPO (arXiv 2605.04960), whose equations were not to be had: experimental. (B, T).

    gate W = sigmoid(gamma z) with z the token's entropy normalised over the group; implicit reward
    implicit_beta (log pi_old - log pi_ref), normalised among the tokens of the group in the same bin of progress,
    where progress is the share of the row's entropy spent so far; A_t = W A + eta W sign s_t. The sign is A's, or
    that of 2 outcome - 1 where A is 0, so that a group without variance still learns.
    """
    mask_BT = mask_BT.bool()
    entropy_BT = torch.where(mask_BT, wide(entropies_BT), 0)
    total_B1 = entropy_BT.sum(1, keepdim=True)
    spent_BT = entropy_BT.cumsum(1) * _inverse(total_B1, total_B1 > 0)
    bin_BT = (spent_BT * bins).long().clamp(0, bins - 1)
    gate_BT = torch.sigmoid(gamma * _zscore(entropy_BT, mask_BT, torch.zeros_like(bin_BT), 1, groups, eps))
    drift_BT = implicit_beta * (wide(old_logps_BT) - wide(ref_logps_BT))
    implicit_BT = _zscore(drift_BT, mask_BT, bin_BT, bins, groups, eps)
    usable_B = groups.spread(groups.sum(wide(mask_BT.any(1))) >= 2)
    sign_B = torch.where(outcome_advantages_B == 0, (2 * outcome_B - 1).sign(), outcome_advantages_B.sign())
    credit_BT = gate_BT * (outcome_advantages_B[:, None] + eta * sign_B[:, None] * implicit_BT)
    return torch.where(mask_BT & usable_B[:, None], credit_BT, 0).to(_float(entropies_BT))


def softmin_weights(step_rewards_BT: Tensor, ends_BT: Tensor, temperature: float) -> Tensor:
    """softmax(-r / temperature) over each row's step ends, 0 elsewhere: the worst step takes nearly all. (B, T)."""
    logits_BT = torch.where(ends_BT, -wide(step_rewards_BT) / temperature, -torch.inf)
    return torch.where(ends_BT, logits_BT.softmax(1), 0)


def suffix_sum(x_BT: Tensor) -> Tensor:
    """Sum of each row from a token on: (B, T) -> (B, T)."""
    return x_BT.flip(1).cumsum(1).flip(1)


def whiten(values_BT: Tensor, mask_BT: Tensor, groups: Groups, *, eps: float = 1e-8) -> Tensor:
    """Mean 0 and variance 1 (Bessel's) over all tokens of the whole batch; 0 outside the mask. Two reductions."""
    count, total = groups.total(
        torch.stack([wide(mask_BT), torch.where(mask_BT, values_BT, 0)], dim=-1).sum(1)
    ).unbind()
    centred_BT = torch.where(mask_BT, values_BT - total / count.clamp(min=1), 0)
    variance = groups.total(centred_BT.square().sum(1)) / (count - 1).clamp(min=1)
    return centred_BT * (variance + eps).rsqrt()


def _zscore(x_BT: Tensor, mask_BT: Tensor, bin_BT: Tensor, bins: int, groups: Groups, eps: float) -> Tensor:
    """(x - mean) / (std + eps) among the masked tokens of the same group and bin (population std). Two reductions.

    A bin with fewer than two tokens gives 0, and so does what stands outside the mask.
    """
    x_BT = torch.where(mask_BT, wide(x_BT), 0)

    def by_bin(values_BT: Tensor) -> Tensor:
        return values_BT.new_zeros(len(values_BT), bins).scatter_add_(1, bin_BT, values_BT)

    sum_Gb, count_Gb = groups.sum(torch.stack([by_bin(x_BT), by_bin(wide(mask_BT))], dim=-1)).unbind(-1)
    mean_BT = groups.spread(sum_Gb / count_Gb.clamp(min=1)).gather(1, bin_BT)
    centred_BT = torch.where(mask_BT, x_BT - mean_BT, 0)
    std_Gb = (groups.sum(by_bin(centred_BT.square())) / count_Gb.clamp(min=1)).sqrt()
    return centred_BT * groups.spread(_inverse(std_Gb + eps, count_Gb >= 2)).gather(1, bin_BT)


def _at_last_token(values_B: Tensor, mask_BT: Tensor) -> Tensor:
    """Each row's value on its last token, 0 elsewhere. (B, T)."""
    last_BT = mask_BT & (suffix_sum(mask_BT.long()) == 1)
    return torch.where(last_BT, wide(values_B)[:, None], 0)


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
