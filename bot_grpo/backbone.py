"""The backbone that every algorithm shares: the batch it reads, and what it does with it.

An algorithm is four small choices: advantages (B, T), a ratio, the bounds of its clip, and weights (B, T). Advantages
and weights are pure functions of the whole generation batch (`Algorithm.prepare`), made once when it is scored and
before it is cut; the loss is then a weighted sum over any subset of its rows (`Algorithm.policy_loss`). The rows of
the table are in `bot_grpo.algorithms`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any, NamedTuple

import torch
from torch import Tensor

from bot_grpo import objectives as obj
from bot_grpo.advantages import equal_outcomes
from bot_grpo.algorithm_metrics import policy_metrics, reward_metrics
from bot_grpo.groups import Groups, wide


@dataclass(frozen=True)
class ScoredBatch:
    """A generation batch with its rewards (on several processes: this one's rows). B rollouts, T tokens.

    mask_BT: true or 1 on completion tokens; padding and tool output are 0. logps_BT, old_logps_BT: log-probability of
    each token under the policy now, and under the one that sampled. token_rewards_BT: r_t = w_g G + w_s S_t.
    outcome_B: G alone. ref_logps_BT: under the reference policy. entropies_BT: of the next-token distribution, in
    nats. step_rewards_BT: a step's reward, on its last token, which step_ends_BT marks. scored_B: false for a rollout
    that could not be scored. loss_mask_BT: the tokens to train on where they are fewer than those of the statistics
    (overlong filtering). local_rewards_BT: the w_s S_t in token_rewards_BT. truncated_B: cut off by the length limit.
    """

    mask_BT: Tensor
    logps_BT: Tensor | None
    old_logps_BT: Tensor | None
    token_rewards_BT: Tensor
    outcome_B: Tensor
    ref_logps_BT: Tensor | None = None
    entropies_BT: Tensor | None = None
    step_rewards_BT: Tensor | None = None
    step_ends_BT: Tensor | None = None
    scored_B: Tensor | None = None
    loss_mask_BT: Tensor | None = None
    local_rewards_BT: Tensor | None = None
    truncated_B: Tensor | None = None


class Prepared(NamedTuple):
    """What travels with the rollouts: advantages and weights (B, T), detached, and numbers to log."""

    advantages_BT: Tensor
    weights_BT: Tensor
    metrics: dict[str, float]


Settings = Mapping[str, Any]
# The batch they get has been checked: masks are boolean, an unscored rollout has an empty mask_BT, loss_mask_BT is set.
Advantages = Callable[[ScoredBatch, Groups, Settings], Tensor]
# The tensors are the advantages (B, T) and the rows (B,) that count in the denominators.
Weights = Callable[[ScoredBatch, Groups, Tensor, Tensor, Settings], Tensor]


@dataclass(frozen=True)
class Algorithm:
    """One algorithm. `settings` are its defaults with what the caller changed; `paper` is an arXiv id."""

    name: str
    title: str
    paper: str
    equation: str
    defaults: Settings
    departures: tuple[str, ...]
    advantages: Advantages
    weights: Weights
    ratio: obj.Ratio = "token"
    base_needs: frozenset[str] = frozenset()
    settings: Settings = field(default_factory=dict)

    @property
    def needs(self) -> frozenset[str]:
        """What a batch must bring beyond rewards: of "old_logps", "ref_logps", "entropies" and "steps".

        "old_logps" are needed when the batch is prepared, even if the policy hasn't moved since it sampled.
        """
        beta = self.settings.get("beta", self.defaults["beta"])
        return self.base_needs | (frozenset({"ref_logps"}) if beta > 0 else frozenset())

    @torch.no_grad()
    def prepare(self, batch: ScoredBatch, num_generations: int, *, groups: Groups | None = None) -> Prepared:
        """Advantages and weights of a whole generation batch in groups of `num_generations` rows.

        groups: for rows that aren't contiguous groups on one process; `num_generations` is then not read. The weights
        of the whole batch make one loss: a trainer that takes S optimizer steps on slices of it multiplies each
        slice's loss by S. ValueError, one line: shapes that disagree, a field that's missing, NaN, no token at all.
        """
        _check_fields(self, batch)
        if groups is None:
            groups = Groups.contiguous(len(batch.mask_BT), num_generations, device=batch.mask_BT.device)
        clean = _clean(batch, groups)
        counted_B = torch.ones_like(clean.mask_BT[:, 0])
        kept = clean
        if self.settings["drop_equal_outcome_groups"]:
            equal_G = equal_outcomes(clean.outcome_B, 0, has_B=clean.mask_BT.any(1), groups=groups)
            counted_B = groups.spread(~equal_G)
            kept = replace(clean, mask_BT=clean.mask_BT & counted_B[:, None], loss_mask_BT=_rows(clean, counted_B))
        advantages_BT = self.advantages(kept, groups, self.settings)
        weights_BT = self.weights(kept, groups, advantages_BT, counted_B, self.settings).to(advantages_BT.dtype)
        metrics = reward_metrics(
            clean.token_rewards_BT,
            clean.outcome_B,
            clean.mask_BT,
            advantages_BT,
            groups,
            local_rewards_BT=clean.local_rewards_BT,
            truncated_B=clean.truncated_B,
        )
        return Prepared(advantages_BT, weights_BT, metrics)

    def policy_loss(
        self,
        advantages_BT: Tensor,
        weights_BT: Tensor,
        mask_BT: Tensor,
        logps_BT: Tensor,
        old_logps_BT: Tensor | None = None,
        ref_logps_BT: Tensor | None = None,
        entropies_BT: Tensor | None = None,
    ) -> tuple[Tensor, dict[str, Tensor]]:
        """The loss of some rows, and detached scalars to log; every argument is (rows, T).

        Losses of disjoint rows add up to the loss of their union. mask_BT: the tokens trained on. old_logps_BT None:
        the policy hasn't moved since it sampled, so the ratio is 1.
        """
        if logps_BT.shape != advantages_BT.shape:
            shapes = f"{tuple(logps_BT.shape)} but advantages_BT is {tuple(advantages_BT.shape)}"
            raise ValueError(f"logps_BT is {shapes}: they must agree")
        s = self.settings
        term = obj.policy_term(
            self.ratio,
            advantages_BT,
            mask_BT,
            logps_BT,
            old_logps_BT,
            clip_low=s["clip_low"],
            clip_high=s["clip_high"],
        )
        loss_BT, kl_BT = term.term_BT, None
        if ref_logps_BT is not None:
            kl_BT = obj.kl_k3(logps_BT, ref_logps_BT, mask_BT)
        if s["beta"] > 0:
            if kl_BT is None:
                raise ValueError(f"{self.name} with beta > 0 needs ref_logps_BT")
            loss_BT = loss_BT + s["beta"] * kl_BT
        metrics = policy_metrics(term, mask_BT, kl_BT=kl_BT, entropies_BT=entropies_BT)
        return obj.weighted_sum(weights_BT, loss_BT), metrics


SETTINGS = {
    "clip_low": "least ratio is 1 - clip_low; null: no bound",
    "clip_high": "greatest ratio is 1 + clip_high; null: no bound",
    "beta": "weight of the KL (k3) to the reference policy in the loss; above 0 needs reference log-probabilities",
    "drop_equal_outcome_groups": "leave out groups whose outcomes are all equal, as if never sampled",
    "eps": "added to the standard deviation",
    "std": "population (over K), sample (over K - 1) or none",
    "outcome": "one scalar a rollout: global (the outcome G) or token_mean (the mean of its token rewards)",
    "length_weighted": "each rollout weighs the same in mean and sigma; false: each token does",
    "sigma_floor": "least sigma, in units of reward; 0: none",
    "center_local": "false: only the global part is centred, so a local penalty can only push down",
    "aggregation": "sequence: mean over rollouts of token means; token: mean over all tokens",
    "constant": "the length to divide by, the longest a completion may be; null: the batch's width",
    "per_group": "token mean within each prompt, then the mean over prompts",
    "temperature": "of the softmin over a rollout's steps; near 0 only the worst step counts",
    "outcome_weight": "weight of the outcome, which comes in at the last token",
    "baseline_length": "tokens that a row's summed return is spread over in the baseline; null: the batch's width",
    "adv_norm": "whiten advantages over the whole batch",
    "scale_rewards": "divide q by its greatest suffix sum in the batch",
    "gamma": "steepness of the entropy gate",
    "eta": "weight of the implicit process signal",
    "implicit_beta": "scale of log pi_old - log pi_ref before it is normalised",
    "bins": "bins of progress",
}

CHOICES = {
    "std": ("population", "sample", "none"),
    "outcome": ("global", "token_mean"),
    "aggregation": ("sequence", "token"),
}
NULLABLE = {"clip_low", "clip_high", "constant", "baseline_length"}
POSITIVE = {"constant", "baseline_length", "temperature", "eps", "bins"}


def check_settings(name: str, defaults: Settings, settings: Settings) -> None:
    """ValueError, one line, for a setting that the algorithm has not or whose value makes no sense."""
    unknown = sorted(set(settings) - set(defaults))
    if unknown:
        raise ValueError(f"{name} has no setting {', '.join(unknown)}; it has: {', '.join(sorted(defaults))}")
    for key, value in settings.items():
        if key in CHOICES:
            good, want = value in CHOICES[key], "one of " + ", ".join(CHOICES[key])
        elif isinstance(defaults[key], bool):
            good, want = isinstance(value, bool), "true or false"
        elif value is None and key in NULLABLE:
            continue
        else:
            number = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
            good = number and (value > 0 if key in POSITIVE else value >= 0)
            want = "a positive number" if key in POSITIVE else "a number, 0 or more"
            if key == "bins":
                good, want = good and value == int(value), "a whole number, 1 or more"
            if key == "clip_low":
                good, want = good and value <= 1, "a number from 0 to 1 (1 - clip_low is the least ratio)"
        if not good:
            hint = " (YAML reads 1e-6 as text; write 1.0e-6)" if isinstance(value, str) and key not in CHOICES else ""
            raise ValueError(f"{name}: {key} must be {want}, not {value!r}{hint}")


def _check_fields(algorithm: Algorithm, batch: ScoredBatch) -> None:
    shape = tuple(batch.mask_BT.shape)
    if len(shape) != 2:
        raise ValueError(f"mask_BT must be (rollouts, tokens), not {shape}")
    for item in fields(batch):
        value = getattr(batch, item.name)
        want = shape if item.name.endswith("_BT") else shape[:1]
        if value is not None and tuple(value.shape) != want:
            raise ValueError(f"{item.name} is {tuple(value.shape)} but mask_BT is {shape}: it must be {want}")
    needed = {
        "old_logps": ("old_logps_BT",),
        "ref_logps": ("ref_logps_BT",),
        "entropies": ("entropies_BT",),
        "steps": ("step_rewards_BT", "step_ends_BT"),
    }
    missing = [name for need in sorted(algorithm.needs) for name in needed[need] if getattr(batch, name) is None]
    if not algorithm.settings.get("center_local", True) and batch.local_rewards_BT is None:
        missing.append("local_rewards_BT (for center_local=False)")
    if missing:
        raise ValueError(f"{algorithm.name} needs {' and '.join(missing)} in the batch")


def _clean(batch: ScoredBatch, groups: Groups) -> ScoredBatch:
    """Boolean masks, unscored rollouts out of the statistics. All processes raise together. One reduction."""
    mask_BT = batch.mask_BT.bool()
    scored_BT = mask_BT if batch.scored_B is None else mask_BT & batch.scored_B.bool()[:, None]
    loss_mask_BT = mask_BT if batch.loss_mask_BT is None else mask_BT & batch.loss_mask_BT.bool()
    has_B = scored_BT.any(1)
    bad_BT = ~torch.isfinite(batch.token_rewards_BT)
    if batch.local_rewards_BT is not None:
        bad_BT = bad_BT | ~torch.isfinite(batch.local_rewards_BT)
    if batch.step_rewards_BT is not None and batch.step_ends_BT is not None:
        bad_BT = bad_BT | (~torch.isfinite(batch.step_rewards_BT) & batch.step_ends_BT.bool())
    bad_B = has_B & ((bad_BT & scored_BT).any(1) | ~torch.isfinite(batch.outcome_B))
    tokens, bad = groups.total(wide(torch.stack([mask_BT.sum(1), bad_B.long()], dim=1))).tolist()
    if not tokens:
        raise ValueError("mask_BT is all zero: no rollout has a token")
    if bad:
        here = bad_B.nonzero().flatten().tolist() or "of another process"
        raise ValueError(f"the reward of rollout(s) {here} is NaN or infinite; mark what can't be scored in scored_B")
    outcome_B = torch.where(has_B, batch.outcome_B, 0)
    return replace(batch, mask_BT=scored_BT, loss_mask_BT=loss_mask_BT, outcome_B=outcome_B)


def _rows(batch: ScoredBatch, keep_B: Tensor) -> Tensor:
    assert batch.loss_mask_BT is not None  # set by _clean
    return batch.loss_mask_BT & keep_B[:, None]
