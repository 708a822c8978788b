"""What a step logs about rewards, advantages and the policy's ratio. Pure functions; scalars out."""

from __future__ import annotations

import torch
from torch import Tensor

from bot_grpo.advantages import Moments, outcome_range, row_mean, token_moments
from bot_grpo.groups import Groups, wide
from bot_grpo.objectives import PolicyTerm


def reward_metrics(
    rewards_BT: Tensor,
    outcome_B: Tensor,
    mask_BT: Tensor,
    advantages_BT: Tensor,
    groups: Groups,
    *,
    local_rewards_BT: Tensor | None = None,
    truncated_B: Tensor | None = None,
) -> dict[str, float]:
    """How the rewards of a generation batch vary, over all processes; `mask_BT` is empty for an unscored rollout.

    algo/sigma, algo/sigma_global, algo/sigma_local: the 1/L-weighted sigma of the token rewards and of their two
    parts, averaged over groups of two rollouts or more. A sigma_global of 0 beside a sigma_local above 0 is the case
    where local rewards alone set the scale. Without local_rewards_BT the local part is what varies inside a rollout.
    algo/zero_variance_groups: share of groups whose token rewards are all equal; algo/equal_outcome_groups: whose
    outcomes are; algo/failed_groups: in which no outcome is above 0. algo/local_tokens: share of tokens with a local
    reward. algo/truncated: share of rollouts cut off. algo/unscored: share of rollouts without a score or without a
    token. algo/advantage_max: largest |A|. A figure whose input is missing is left out.
    """
    mask_BT = mask_BT.bool()
    local_BT = rewards_BT - row_mean(rewards_BT, mask_BT)[:, None] if local_rewards_BT is None else local_rewards_BT
    whole = token_moments(rewards_BT, mask_BT, groups)
    usable_G = whole.rows_G >= 2
    flat_G = whole.sigma_G <= 1e-12 * whole.mean_G.abs().clamp(min=1)
    has_B = mask_BT.any(1)
    low_G, high_G = outcome_range(outcome_B, has_B, groups)
    shares = {"algo/unscored": ~has_B}
    if truncated_B is not None:
        shares["algo/truncated"] = truncated_B.bool()
    counts = [*shares.values(), torch.ones_like(mask_BT[:, 0])]
    counts += [mask_BT.sum(1), ((local_BT != 0) & mask_BT).sum(1)]
    *share_sums, rows, tokens, local_tokens = groups.total(torch.stack([wide(x) for x in counts], dim=1)).tolist()
    metrics = {
        "algo/sigma": _mean_sigma(whole, usable_G),
        "algo/sigma_global": _mean_sigma(token_moments(rewards_BT - local_BT, mask_BT, groups), usable_G),
        "algo/sigma_local": _mean_sigma(token_moments(local_BT, mask_BT, groups), usable_G),
        "algo/zero_variance_groups": (flat_G | ~usable_G).float().mean().item(),
        "algo/equal_outcome_groups": (high_G <= low_G).float().mean().item(),
        "algo/failed_groups": (high_G <= 0).float().mean().item(),
        "algo/advantage_max": groups.largest(advantages_BT.abs().amax()).item(),
    }
    if local_rewards_BT is not None:
        metrics["algo/local_tokens"] = local_tokens / max(tokens, 1.0)
    return metrics | {name: count / rows for name, count in zip(shares, share_sums, strict=True)}


def policy_metrics(
    term: PolicyTerm, mask_BT: Tensor, *, kl_BT: Tensor | None = None, entropies_BT: Tensor | None = None
) -> dict[str, Tensor]:
    """How far the policy has moved from the one that sampled, over the tokens of these rows; detached 0-d tensors.

    policy/ratio_mean, policy/ratio_max; policy/clip_low and policy/clip_high: share of tokens at each bound (there
    the gradient is 0); policy/kl: mean k3 to the reference; policy/entropy: mean, nats. Over micro-batches, average
    the means by tokens and take the largest of ratio_max.
    """
    mask_BT = mask_BT.bool()
    count = mask_BT.sum().clamp(min=1)

    def mean(x_BT: Tensor) -> Tensor:
        return torch.where(mask_BT, x_BT, 0).detach().sum() / count

    metrics = {
        "policy/ratio_mean": mean(term.ratio_BT),
        "policy/ratio_max": torch.where(mask_BT, term.ratio_BT, 0).amax(),
        "policy/clip_low": mean(term.clipped_low_BT.to(term.ratio_BT.dtype)),
        "policy/clip_high": mean(term.clipped_high_BT.to(term.ratio_BT.dtype)),
    }
    if kl_BT is not None:
        metrics["policy/kl"] = mean(kl_BT)
    if entropies_BT is not None:
        metrics["policy/entropy"] = mean(entropies_BT)
    return metrics


def _mean_sigma(moments: Moments, usable_G: Tensor) -> float:
    return (torch.where(usable_G, moments.sigma_G, 0).sum() / usable_G.sum().clamp(min=1)).item()
