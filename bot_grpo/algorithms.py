"""The algorithms: one table, a row each, on one backbone.

An algorithm is four small choices: advantages (B, T), a ratio, the bounds of its clip, and weights (B, T). Advantages
and weights are pure functions of the whole generation batch (`Algorithm.prepare`), made once when it is scored and
before it is cut; the loss is then a weighted sum over any subset of its rows (`Algorithm.policy_loss`). `evaluate`
does both, for notebooks and tests.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import torch
from torch import Tensor

from bot_grpo import advantages as adv
from bot_grpo import objectives as obj
from bot_grpo.groups import Groups


@dataclass(frozen=True)
class ScoredBatch:
    """A generation batch (on one process: its rows) with its rewards. B rollouts, T tokens, right-padded.

    mask_BT: true (or 1) on completion tokens; tool output and padding excluded. logps_BT, old_logps_BT: log-probability
    of each token under the policy now and under the one that sampled. token_rewards_BT: r_t = w_g G + w_s S_t.
    outcome_B: G alone. ref_logps_BT: under the reference policy; entropies_BT: of the next-token distribution, nats.
    step_rewards_BT: the reward of a step, on its last token, which step_ends_BT marks. scored_B: false for a rollout
    that could not be scored. loss_mask_BT: tokens to train on, where that is fewer than those of the statistics
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


class Evaluation(NamedTuple):
    """A whole batch evaluated: `loss` is a scalar, differentiable in logps_BT."""

    advantages_BT: Tensor
    weights_BT: Tensor
    loss: Tensor
    metrics: dict[str, float]


Settings = Mapping[str, Any]
Advantages = Callable[[ScoredBatch, Groups, Settings], Tensor]
Weights = Callable[[ScoredBatch, Tensor, Groups, Tensor, Settings], Tensor]


@dataclass(frozen=True)
class Algorithm:
    """One row of the table. `settings` are the defaults with what the caller changed."""

    name: str
    title: str
    paper: str
    equation: str
    defaults: Settings
    departures: tuple[str, ...]
    advantages: Advantages
    ratio: obj.Ratio = "token"
    weights: Weights = field(
        default=lambda batch, mask, groups, counted, s: obj.sequence_weights(mask, groups, counted)
    )
    base_needs: frozenset[str] = frozenset()
    settings: Settings = field(default_factory=dict)

    @property
    def needs(self) -> frozenset[str]:
        """Fields a batch must bring, of "old_logps", "ref_logps", "entropies" and "steps"."""
        return self.base_needs | ({"ref_logps"} if self.settings["beta"] > 0 else set())

    @torch.no_grad()
    def prepare(self, batch: ScoredBatch, num_generations: int, *, groups: Groups | None = None) -> Prepared:
        """Advantages and weights of a whole generation batch, in groups of `num_generations` rows.

        groups: where rows aren't contiguous groups on one process. The weights of the whole batch make one loss; a
        trainer that takes S optimizer steps on slices of the batch multiplies each slice's loss by S.
        ValueError, one line, for shapes that disagree, missing fields, NaN rewards or a batch without any token.
        """
        groups = groups or Groups.contiguous(len(batch.mask_BT), num_generations, device=batch.mask_BT.device)
        stats = batch
        advantages_BT = self.advantages(stats, groups, self.settings)
        mask_BT = (batch.mask_BT if batch.loss_mask_BT is None else batch.loss_mask_BT).bool()
        counted_B = torch.ones(len(mask_BT), dtype=torch.bool, device=mask_BT.device)
        weights_BT = self.weights(batch, mask_BT, groups, counted_B, self.settings)
        return Prepared(advantages_BT, weights_BT.to(advantages_BT.dtype), {})

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
        """The loss of some rows (all arguments (rows, T)), and detached scalars to log.

        Losses of disjoint rows add up to the loss of their union. mask_BT: tokens trained on. old_logps_BT None: the
        rows were sampled by the policy at hand, so the ratio is 1.
        """
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
        term_BT = term.term_BT
        if s["beta"] > 0:
            assert ref_logps_BT is not None
            term_BT = term_BT + s["beta"] * obj.kl_k3(logps_BT, ref_logps_BT, mask_BT)
        return obj.weighted_sum(weights_BT, term_BT), {}


def _bot(batch: ScoredBatch, groups: Groups, s: Settings) -> Tensor:
    return adv.bag_of_tokens(
        batch.token_rewards_BT,
        batch.mask_BT,
        0,
        length_weighted=s["length_weighted"],
        eps=s["eps"],
        sigma_floor=s["sigma_floor"],
        groups=groups,
    )


def _outcome(batch: ScoredBatch, groups: Groups, s: Settings) -> Tensor:
    mask_BT = batch.mask_BT.bool()
    outcome_B = batch.outcome_B if s["outcome"] == "global" else adv.row_mean(batch.token_rewards_BT, mask_BT)
    a_B = adv.group_normalised(outcome_B, mask_BT.any(1), groups, std=s["std"], eps=s["eps"])
    return a_B[:, None] * mask_BT


def _sequence(batch: ScoredBatch, mask_BT: Tensor, groups: Groups, counted_B: Tensor, s: Settings) -> Tensor:
    return obj.sequence_weights(mask_BT, groups, counted_B)


COMMON: Settings = {"clip_low": 0.2, "clip_high": 0.2, "beta": 0.0}

TABLE = (
    Algorithm(
        name="bot_grpo",
        title="Bag-of-tokens GRPO",
        paper="2610.09804",
        equation="",
        defaults={**COMMON, "length_weighted": True, "eps": 1e-6, "sigma_floor": 0.0},
        departures=(),
        advantages=_bot,
        weights=_sequence,
    ),
    Algorithm(
        name="grpo",
        title="Group relative policy optimisation",
        paper="2402.03300",
        equation="",
        defaults={**COMMON, "outcome": "global", "std": "population", "eps": 1e-6},
        departures=(),
        advantages=_outcome,
        weights=_sequence,
    ),
)
ALGORITHMS: dict[str, Algorithm] = {row.name: row for row in TABLE}


def get_algorithm(name: str, **settings: Any) -> Algorithm:
    """The algorithm of that name, with its defaults changed by `settings`. ValueError, one line, if there's none."""
    if name not in ALGORITHMS:
        close = difflib.get_close_matches(name, ALGORITHMS, n=1)
        hint = f"did you mean {close[0]!r}?" if close else f"there are: {', '.join(ALGORITHMS)}"
        raise ValueError(f"no algorithm {name!r}; {hint}")
    row = ALGORITHMS[name]
    unknown = sorted(set(settings) - set(row.defaults))
    if unknown:
        raise ValueError(f"{name} has no setting {', '.join(unknown)}; it has: {', '.join(row.defaults)}")
    return replace(row, settings={**row.defaults, **settings})


def evaluate(
    name: str, batch: ScoredBatch, *, num_generations: int, groups: Groups | None = None, **settings: Any
) -> Evaluation:
    """Advantages, weights and loss of a whole batch under one algorithm; the loss is differentiable in logps_BT."""
    algorithm = get_algorithm(name, **settings)
    if batch.logps_BT is None:
        raise ValueError("evaluate needs logps_BT")
    advantages_BT, weights_BT, metrics = algorithm.prepare(batch, num_generations, groups=groups)
    mask_BT = batch.mask_BT if batch.loss_mask_BT is None else batch.loss_mask_BT
    loss, more = algorithm.policy_loss(
        advantages_BT,
        weights_BT,
        mask_BT,
        batch.logps_BT,
        batch.old_logps_BT,
        batch.ref_logps_BT,
        batch.entropies_BT,
    )
    return Evaluation(advantages_BT, weights_BT, loss, metrics | {k: v.item() for k, v in more.items()})
