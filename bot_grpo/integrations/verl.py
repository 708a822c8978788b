"""The algorithms and the reward models of this package inside verl 0.9 (Ray, FSDP or Megatron, vLLM or SGLang).

Importing this module registers with verl

* an advantage estimator for each algorithm in `REGISTERED`: `algorithm.adv_estimator=bot_grpo`; the others are
  `bot_grpo.NAME`, since verl has a `grpo` and a `gspo` of its own;
* a policy loss of the same name: `actor_rollout_ref.actor.policy_loss.loss_mode=bot_grpo`;
* a reward manager: `reward.reward_manager.name=bot_grpo`, with `+reward.bot_grpo.rewards=aime`;
* two agent loops, which put token rewards into verl's batch:
  `actor_rollout_ref.rollout.agent.default_agent_loop=bot_grpo_single_turn` or `bot_grpo_tool`.

verl imports it by itself, in the driver and in every Ray worker, where VERL_USE_EXTERNAL_MODULES names it. Settings of
an algorithm go to `+algorithm.bot_grpo.NAME=VALUE`, but for those that verl has a place for (`verl_batch.IN_VERL`).

How the parts go through verl's interface:

* Pooled statistics. An estimator gets the whole generation batch, so the 1/L-weighted mean and sigma of a group are
  exactly ours. A group is the rows with one `uid`; its size is whatever came back.
* Unscored rollouts. Their response mask is cleared where they enter the batch: no statistic, advantage 0, no part of
  the loss, its KL and its entropy. Rows that verl pads a batch with are the same.
* Weights. Ours are those of verl's `loss_agg_mode` (`verl_batch.AGGREGATION`). Balanced aggregation and DAPO per group
  have weights that verl knows not of: they are folded into the advantages. The policy loss refuses another mode.
* One number a token is all that an estimator gets, and G stands in it for the algorithms that read the outcome.

What cannot be brought through it:

* `prime` reads two rewards a token, and `ep_grpo` entropies and old and reference log-probabilities: not registered.
* `center_local=False` needs the local rewards apart. The overlong filter has no place; the penalty has.
* One optimizer step of several divides by its own tokens or rollouts, ours by a share of the whole batch's: with
  `ppo_mini_batch_size` below `train_batch_size`, token means differ a little. verl counts rollouts that have no token
  where we do too.
* The KL to the reference is verl's (k3 with its clamp at +-10), weighed by `loss_agg_mode`, also for `balanced`.
* With verl's own `vanilla` loss in place of ours the advantages are right, but negative ones are clipped a second time
  (`clip_ratio_c`), and `loss_agg_mode` is token-mean unless it is set.
* What an algorithm logs about its rewards (algo/...) has no way out of an estimator. verl's critic/score is the sum of
  a row of token rewards, which grows with its length: `outcome` in the validation's metrics is G.
* The legacy trainer (`trainer.use_v1=False`) keeps one number a rollout: outcome algorithms alone work there.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Mapping
from typing import Any

if importlib.util.find_spec("verl") is None:
    raise ImportError("bot_grpo.integrations.verl needs verl 0.9: pip install 'bot-grpo[verl]'")

import torch
from torch import Tensor
from verl.trainer.ppo.core_algos import agg_loss, register_adv_est, register_policy_loss

from bot_grpo import objectives as obj
from bot_grpo.algorithm_metrics import policy_metrics
from bot_grpo.algorithms import ALGORITHMS
from bot_grpo.integrations.verl_batch import LAYOUTS, advantages, mode_of, response_factor, verl_name
from bot_grpo.integrations.verl_rollout import plain  # registers the reward manager and the agent loops, too

__all__ = ["REGISTERED"]


REGISTERED = {verl_name(name): name for name in LAYOUTS}
"""The names in verl's registries, and the algorithm of each."""


def make_estimator(name: str) -> Callable[..., tuple[Tensor, Tensor]]:
    """verl's advantage estimator for an algorithm: returns (advantages, returns), the same (B, T) twice."""

    @torch.no_grad()
    def estimator(
        token_level_rewards: Tensor,
        response_mask: Tensor,
        index: Any = None,
        config: Any = None,
        **kwargs: Any,
    ) -> tuple[Tensor, Tensor]:
        settings = plain(config.get("bot_grpo")) if config is not None else {}
        if config is not None and config.get("use_kl_in_reward", False) and LAYOUTS[name] == "steps":
            raise ValueError(f"{name} reads step rewards alone: set algorithm.use_kl_in_reward=False")
        advantages_BT = advantages(name, token_level_rewards, response_mask, index, settings)
        return advantages_BT, advantages_BT

    return estimator


def make_policy_loss(name: str) -> Callable[..., tuple[Tensor, dict[str, Any]]]:
    """verl's policy loss for an algorithm: (scalar, metrics). Its terms are ours, its aggregation is verl's."""
    algorithm, mode = ALGORITHMS[name], mode_of(name)

    def policy_loss(
        old_log_prob: Tensor,
        log_prob: Tensor,
        advantages: Tensor,
        response_mask: Tensor,
        loss_agg_mode: str = "token-mean",
        config: Any = None,
        rollout_is_weights: Tensor | None = None,
    ) -> tuple[Tensor, dict[str, Any]]:
        batch_info = _check(config, verl_name(name), loss_agg_mode, mode)
        mask_BT = response_mask.bool()
        low, high = (
            config.clip_ratio if bound is None else bound for bound in (config.clip_ratio_low, config.clip_ratio_high)
        )
        term = obj.policy_term(
            algorithm.ratio, advantages, mask_BT, log_prob, old_log_prob, clip_low=low, clip_high=high
        )
        term_BT = term.term_BT
        if name == "reco":
            term_BT = term_BT * response_factor(old_log_prob, mask_BT).to(term_BT.dtype)
        if rollout_is_weights is not None:
            term_BT = term_BT * rollout_is_weights
        loss = agg_loss(loss_mat=term_BT, loss_mask=response_mask, loss_agg_mode=mode, **batch_info)
        return loss, _metrics(policy_metrics(term, mask_BT), log_prob, old_log_prob, mask_BT)

    return policy_loss


def _check(config: Any, name: str, given: str, mode: str) -> Mapping[str, Any]:
    """verl's numbers of the global batch. ValueError where tokens would be weighed as the algorithm doesn't."""
    if given != mode:
        raise ValueError(f"{name} weighs tokens by actor_rollout_ref.actor.loss_agg_mode={mode}, not {given}")
    batch_info: Mapping[str, Any] = config.global_batch_info
    if mode == "seq-mean-token-sum-norm" and not batch_info.get("loss_scale_factor"):
        raise ValueError(f"{name} divides by a constant: set actor_rollout_ref.actor.loss_scale_factor")
    return batch_info


def _metrics(ours: Mapping[str, Tensor], new_BT: Tensor, old_BT: Tensor, mask_BT: Tensor) -> dict[str, Any]:
    moved = torch.where(mask_BT, old_BT - new_BT, 0).detach().sum() / mask_BT.sum().clamp(min=1)
    clipped = ours["policy/clip_low"] + ours["policy/clip_high"]
    named = {"actor/ppo_kl": moved, "actor/pg_clipfrac": clipped} | {f"actor/{k}": v for k, v in ours.items()}
    return {key: value.item() for key, value in named.items()}


for _verl, _ours in REGISTERED.items():
    register_adv_est(_verl)(make_estimator(_ours))
    register_policy_loss(_verl)(make_policy_loss(_ours))
