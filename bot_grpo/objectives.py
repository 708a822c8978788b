"""From advantages to a loss: ratio, clip, KL and the weights of a weighted sum.

Every algorithm's loss is `sum(weights_BT * term_BT)`. The weights depend on the whole generation batch and are made
once; a term depends on its own row alone. So the loss can't depend on how rows are cut into micro-batches or spread
over processes. Shapes: B rollouts, T tokens. `mask_BT` is true on the tokens that are trained on; what stands
outside it is never read. Log-probabilities in half precision are taken to float32 first.
"""

from __future__ import annotations

import math
from typing import Literal, NamedTuple

import torch
from torch import Tensor

from bot_grpo.groups import Groups, wide

Ratio = Literal["token", "sequence", "sequence_token", "variance"]

# exp() of a log-ratio beyond +-20 only overflows; verl bounds it in the same way.
LOG_RATIO_BOUND = 20.0


class PolicyTerm(NamedTuple):
    """One term a token, the ratio behind it, and the tokens at the bounds of the clip; all (B, T)."""

    term_BT: Tensor
    ratio_BT: Tensor
    clipped_low_BT: Tensor
    clipped_high_BT: Tensor


def policy_term(
    kind: Ratio,
    advantages_BT: Tensor,
    mask_BT: Tensor,
    logps_BT: Tensor,
    old_logps_BT: Tensor | None = None,
    *,
    clip_low: float | None = None,
    clip_high: float | None = None,
) -> PolicyTerm:
    """PPO's clipped term -min(rho A, clip(rho, 1 - clip_low, 1 + clip_high) A) for one kind of ratio rho.

    token: pi / pi_old of that token. sequence (GSPO, arXiv 2507.18071): the geometric mean of a row's token ratios.
    sequence_token (GSPO-token): the same value, differentiated through that token alone. variance (ReCo, arXiv
    2607.26862): -v A log pi with v = p(1-p) / p_old(1-p_old) held constant; the clip then only silences tokens.
    None in place of a bound: no bound on that side. old_logps_BT None: the policy that sampled is the one at hand.
    """
    mask_BT = mask_BT.bool()
    margin = 1e-3 if logps_BT.dtype in (torch.bfloat16, torch.float16) else 1e-6
    logps_BT = _masked(logps_BT, mask_BT)
    old_BT = logps_BT.detach() if old_logps_BT is None else _masked(old_logps_BT, mask_BT).detach()
    ratio_BT = _ratio(kind, logps_BT, old_BT, mask_BT, margin)
    seen_BT = ratio_BT.detach()
    low_BT = _none(mask_BT) if clip_low is None else (seen_BT < 1 - clip_low) & (advantages_BT < 0)
    high_BT = _none(mask_BT) if clip_high is None else (seen_BT > 1 + clip_high) & (advantages_BT > 0)
    if kind == "variance":
        term_BT = -seen_BT * advantages_BT * logps_BT * ~(low_BT | high_BT)
    else:
        # clip_* None is no bound: clamp takes None, but not on both sides.
        bounded_BT = ratio_BT
        if clip_low is not None or clip_high is not None:
            bounded_BT = ratio_BT.clamp(
                None if clip_low is None else 1 - clip_low, None if clip_high is None else 1 + clip_high
            )
        term_BT = -torch.minimum(ratio_BT * advantages_BT, bounded_BT * advantages_BT)
    return PolicyTerm(term_BT, seen_BT, low_BT & mask_BT, high_BT & mask_BT)


def kl_k3(logps_BT: Tensor, ref_logps_BT: Tensor, mask_BT: Tensor) -> Tensor:
    """The k3 estimate of KL(pi || ref) at each token: exp(d) - d - 1 with d = ref - pi; 0 outside the mask. (B, T)."""
    d_BT = _masked(ref_logps_BT, mask_BT.bool()).detach() - _masked(logps_BT, mask_BT.bool())
    d_BT = d_BT.clamp(-LOG_RATIO_BOUND, LOG_RATIO_BOUND)
    return torch.expm1(d_BT) - d_BT


def weighted_sum(weights_BT: Tensor, term_BT: Tensor) -> Tensor:
    """The loss: sum of weights times terms, a scalar."""
    return (weights_BT * term_BT).sum()


def sequence_weights(mask_BT: Tensor, groups: Groups, counted_B: Tensor) -> Tensor:
    """m / (L_i B): the mean over rollouts of each one's token mean (GRPO, GSPO, BoT Eq. 3). (B, T) float64.

    counted_B: rollouts that B counts, among them those without a token that is trained on (as TRL does).
    """
    rows = groups.total(wide(counted_B)).clamp(min=1)
    return wide(mask_BT) / (mask_BT.sum(1).clamp(min=1) * rows)[:, None]


def token_weights(mask_BT: Tensor, groups: Groups) -> Tensor:
    """m / sum(m): every token of the whole batch weighs the same (DAPO as TRL and verl code it). (B, T) float64."""
    return wide(mask_BT) / groups.total(wide(mask_BT.sum(1))).clamp(min=1)


def group_token_weights(mask_BT: Tensor, groups: Groups, counted_B: Tensor) -> Tensor:
    """m / sum_g(m) / P: tokens weigh the same within a prompt, prompts the same (DAPO as written). (B, T) float64."""
    tokens_G, rows_G = groups.sum(wide(torch.stack([mask_BT.sum(1), counted_B.long()], dim=1))).unbind(1)
    prompts = (rows_G > 0).sum().clamp(min=1)
    return wide(mask_BT) / (groups.spread(tokens_G.clamp(min=1)) * prompts)[:, None]


def constant_weights(mask_BT: Tensor, groups: Groups, counted_B: Tensor, constant: float | None) -> Tensor:
    """m / (B C) with C a constant, by default the widest process' T (Dr.GRPO, arXiv 2503.20783). (B, T) float64."""
    if constant is None:
        constant = groups.largest(torch.tensor(mask_BT.shape[1], device=mask_BT.device)).item()
    return wide(mask_BT) / (groups.total(wide(counted_B)).clamp(min=1) * constant)


def balanced_weights(mask_BT: Tensor, groups: Groups, counted_B: Tensor, sign_B: Tensor) -> Tensor:
    """Balanced aggregation (arXiv 2605.04077): a token mean on each side of a group, sides weighed by their rows.

    m / n_side * (rows on the side) / K / P with n_side the side's tokens; a row whose sign is 0 is on neither side.
    K counts all rows of the group. (B, T) float64.
    """
    side_B2 = torch.stack([sign_B > 0, sign_B < 0], dim=1) & mask_BT.any(1, keepdim=True)
    tokens_B2 = mask_BT.sum(1, keepdim=True) * side_B2
    sums_G5 = groups.sum(wide(torch.cat([side_B2.long(), tokens_B2, counted_B.long()[:, None]], dim=1)))
    rows_G2, tokens_G2, size_G1 = sums_G5[:, :2], sums_G5[:, 2:4], sums_G5[:, 4:]
    share_G2 = rows_G2 / (tokens_G2.clamp(min=1) * size_G1.clamp(min=1) * (size_G1 > 0).sum().clamp(min=1))
    return wide(mask_BT) * (groups.spread(share_G2) * side_B2).sum(1, keepdim=True)


def response_weights(mask_BT: Tensor, groups: Groups, counted_B: Tensor, old_logps_BT: Tensor) -> Tensor:
    """ReCo's m / (L_i B pbar_i), pbar_i the geometric mean of the row's token probabilities. (B, T) float64."""
    logp_B1 = wide(_masked(old_logps_BT, mask_BT)).sum(1, keepdim=True) / mask_BT.sum(1, keepdim=True).clamp(min=1)
    return sequence_weights(mask_BT, groups, counted_B) * torch.exp(-logp_B1)


def _ratio(kind: Ratio, logps_BT: Tensor, old_BT: Tensor, mask_BT: Tensor, margin: float) -> Tensor:
    if kind == "variance":
        return variance_ratio(logps_BT.detach(), old_BT, margin)
    log_ratio_BT = logps_BT - old_BT
    if kind != "token":
        mean_B1 = log_ratio_BT.sum(1, keepdim=True) / mask_BT.sum(1, keepdim=True).clamp(min=1)
        own_BT = logps_BT - logps_BT.detach()
        log_ratio_BT = mean_B1.expand_as(own_BT) if kind == "sequence" else mean_B1.detach() + own_BT
    return log_ratio_BT.clamp(-LOG_RATIO_BOUND, LOG_RATIO_BOUND).exp()


def variance_ratio(logps_BT: Tensor, old_logps_BT: Tensor, margin: float = 1e-6) -> Tensor:
    """ReCo's p(1-p) / p_old(1-p_old) from log p, with p kept in [margin, 1 - margin] so that it is finite. (B, T)."""
    low, high = math.log(margin), math.log1p(-margin)
    new_BT, old_BT = logps_BT.clamp(low, high), old_logps_BT.clamp(low, high)
    return (new_BT - old_BT).exp() * torch.expm1(new_BT) / torch.expm1(old_BT)


def _masked(x_BT: Tensor, mask_BT: Tensor) -> Tensor:
    x_BT = x_BT if x_BT.dtype == torch.float64 else x_BT.float()
    return torch.where(mask_BT, x_BT, 0)


def _none(mask_BT: Tensor) -> Tensor:
    return torch.zeros_like(mask_BT)
