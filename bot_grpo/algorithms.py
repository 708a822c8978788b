"""The algorithms: one table, a row each.

Every row reads the same rewards through the same backbone (`bot_grpo.backbone`) and differs in the small choices that
define it: how rewards become advantages, the ratio and its clip, and how terms are weighed. `departures` says where
ours isn't the paper's text; bot_grpo/README.md has a section for each.
"""

from __future__ import annotations

import difflib
from dataclasses import replace
from typing import Any, NamedTuple

from torch import Tensor

from bot_grpo import advantages as adv
from bot_grpo import objectives as obj
from bot_grpo.backbone import Algorithm, Prepared, ScoredBatch, Settings, check_settings
from bot_grpo.groups import Groups

__all__ = ["ALGORITHMS", "Algorithm", "Evaluation", "Groups", "Prepared", "ScoredBatch", "evaluate", "get_algorithm"]


class Evaluation(NamedTuple):
    """A whole batch under one algorithm; `loss` is a scalar, differentiable in the batch's logps_BT."""

    advantages_BT: Tensor
    weights_BT: Tensor
    loss: Tensor
    metrics: dict[str, float]


def get_algorithm(name: str, **settings: Any) -> Algorithm:
    """The algorithm of that name, its defaults changed by `settings`. ValueError, one line, for a name or a setting
    that there isn't."""
    if name not in ALGORITHMS:
        close = difflib.get_close_matches(name, ALGORITHMS, n=2)
        hint = f"did you mean {' or '.join(map(repr, close))}?" if close else f"there are: {', '.join(ALGORITHMS)}"
        raise ValueError(f"no algorithm {name!r}; {hint}")
    row = ALGORITHMS[name]
    check_settings(name, row.defaults, settings)
    return replace(row, settings={**row.defaults, **settings})


def evaluate(
    name: str, batch: ScoredBatch, *, num_generations: int, groups: Groups | None = None, **settings: Any
) -> Evaluation:
    """Advantages, weights and loss of a whole batch under one algorithm: what the trainer does, without a cut."""
    algorithm = get_algorithm(name, **settings)
    if batch.logps_BT is None:
        raise ValueError("evaluate needs logps_BT in the batch")
    advantages_BT, weights_BT, metrics = algorithm.prepare(batch, num_generations, groups=groups)
    loss, policy = algorithm.policy_loss(
        advantages_BT,
        weights_BT,
        batch.mask_BT if batch.loss_mask_BT is None else batch.mask_BT.bool() & batch.loss_mask_BT.bool(),
        batch.logps_BT,
        batch.old_logps_BT,
        batch.ref_logps_BT,
        batch.entropies_BT,
    )
    return Evaluation(advantages_BT, weights_BT, loss, metrics | {key: x.item() for key, x in policy.items()})


# How rewards become advantages (B, T).


def _bag_of_tokens(batch: ScoredBatch, groups: Groups, s: Settings) -> Tensor:
    return adv.bag_of_tokens(
        batch.token_rewards_BT,
        batch.mask_BT,
        0,
        length_weighted=s["length_weighted"],
        eps=s["eps"],
        sigma_floor=s["sigma_floor"],
        local_rewards_BT=None if s["center_local"] else batch.local_rewards_BT,
        groups=groups,
    )


def _outcome_B(batch: ScoredBatch, groups: Groups, s: Settings) -> Tensor:
    own_B = batch.outcome_B if s["outcome"] == "global" else adv.row_mean(batch.token_rewards_BT, batch.mask_BT)
    return adv.group_normalised(own_B, batch.mask_BT.any(1), groups, std=s.get("std", "none"), eps=s.get("eps", 1e-6))


def _outcome(batch: ScoredBatch, groups: Groups, s: Settings) -> Tensor:
    return _outcome_B(batch, groups, s)[:, None] * batch.mask_BT


def _pure(batch: ScoredBatch, groups: Groups, s: Settings) -> Tensor:
    return adv.pure(
        _given(batch.step_rewards_BT),
        _given(batch.step_ends_BT),
        batch.outcome_B,
        batch.mask_BT,
        groups,
        temperature=s["temperature"],
        outcome_weight=s["outcome_weight"],
        baseline_length=s["baseline_length"],
        adv_norm=s["adv_norm"],
    )


def _prime(batch: ScoredBatch, groups: Groups, s: Settings) -> Tensor:
    # The outcome comes in on its own, so that q is the local part where the two are told apart.
    q_BT = batch.token_rewards_BT if batch.local_rewards_BT is None else batch.local_rewards_BT
    return adv.prime(
        q_BT,
        batch.outcome_B,
        batch.mask_BT,
        groups,
        scale_rewards=s["scale_rewards"],
        adv_norm=s["adv_norm"],
        eps=s["eps"],
    )


def _process(batch: ScoredBatch, groups: Groups, s: Settings) -> Tensor:
    steps_BT, ends_BT = _given(batch.step_rewards_BT), _given(batch.step_ends_BT)
    return adv.process_returns(steps_BT, ends_BT, batch.mask_BT, groups, eps=s["eps"])


def _entropy_progress(batch: ScoredBatch, groups: Groups, s: Settings) -> Tensor:
    return adv.entropy_progress(
        _outcome_B(batch, groups, s),
        batch.outcome_B,
        _given(batch.entropies_BT),
        _given(batch.old_logps_BT),
        _given(batch.ref_logps_BT),
        batch.mask_BT,
        groups,
        gamma=s["gamma"],
        eta=s["eta"],
        implicit_beta=s["implicit_beta"],
        bins=int(s["bins"]),
        eps=s["eps"],
    )


# How terms are weighed (B, T).


def _sequence_mean(batch: ScoredBatch, groups: Groups, a_BT: Tensor, counted_B: Tensor, s: Settings) -> Tensor:
    return obj.sequence_weights(_given(batch.loss_mask_BT), groups, counted_B)


def _token_mean(batch: ScoredBatch, groups: Groups, a_BT: Tensor, counted_B: Tensor, s: Settings) -> Tensor:
    if s.get("per_group", False):
        return obj.group_token_weights(_given(batch.loss_mask_BT), groups, counted_B)
    return obj.token_weights(_given(batch.loss_mask_BT), groups)


def _chosen_mean(batch: ScoredBatch, groups: Groups, a_BT: Tensor, counted_B: Tensor, s: Settings) -> Tensor:
    mean = _sequence_mean if s["aggregation"] == "sequence" else _token_mean
    return mean(batch, groups, a_BT, counted_B, s)


def _constant(batch: ScoredBatch, groups: Groups, a_BT: Tensor, counted_B: Tensor, s: Settings) -> Tensor:
    return obj.constant_weights(_given(batch.loss_mask_BT), groups, counted_B, s["constant"])


def _balanced(batch: ScoredBatch, groups: Groups, a_BT: Tensor, counted_B: Tensor, s: Settings) -> Tensor:
    return obj.balanced_weights(_given(batch.loss_mask_BT), groups, counted_B, a_BT.sum(1).sign())


def _by_probability(batch: ScoredBatch, groups: Groups, a_BT: Tensor, counted_B: Tensor, s: Settings) -> Tensor:
    old_BT = _given(batch.old_logps_BT)
    return obj.response_weights(_given(batch.loss_mask_BT), groups, counted_B, old_BT)


def _given(x: Tensor | None) -> Tensor:
    assert x is not None  # the backbone has checked what the algorithm needs
    return x


COMMON: Settings = {"clip_low": 0.2, "clip_high": 0.2, "beta": 0.0, "drop_equal_outcome_groups": False}
GROUP_STD: Settings = {"outcome": "global", "std": "population", "eps": 1e-6}
BAG: Settings = {"length_weighted": True, "eps": 1e-6, "sigma_floor": 0.0, "center_local": True}

TABLE = (
    Algorithm(
        name="bot_grpo",
        title="Bag-of-tokens GRPO: each token's own reward, normalised over all tokens of the group",
        paper="2610.09804",
        equation="""\
mu      = 1/K sum_k 1/L_k sum_t r_kt
sigma^2 = 1/K sum_k 1/L_k sum_t (r_kt - mu)^2
A_kt    = (r_kt - mu) / (sigma + eps)
loss    = 1/B sum_i 1/L_i sum_t -min(rho_it A_it, clip(rho_it) A_it)""",
        defaults={**COMMON, **BAG, "aggregation": "sequence"},
        departures=(
            "the paper omits ratio, clip and KL and calls itself a drop-in for GRPO: .2/.2 and beta 0 are ours",
            "eps is only called small: 1e-6 is ours",
            "an empty or unscored rollout leaves mu and sigma, and fewer than two rollouts give 0; the paper is silent",
            "aggregation=token is an ablation: the advantages of a group then no longer sum to 0",
        ),
        advantages=_bag_of_tokens,
        weights=_chosen_mean,
    ),
    Algorithm(
        name="grpo",
        title="GRPO: the outcome, normalised over the group",
        paper="2402.03300",
        equation="""\
A_i  = (R_i - mean R) / (std R + eps)
loss = 1/B sum_i 1/L_i sum_t [-min(rho_it A_i, clip(rho_it) A_i) + beta k3_it]""",
        defaults={**COMMON, **GROUP_STD},
        departures=(
            "std is the population's; DeepSeekMath doesn't say which. std=sample and eps=1e-4 give TRL's advantages",
            "beta is 0 (DeepSeekMath: 0.04), as in TRL",
            "the KL term isn't multiplied by the ratio, which TRL 1.16 does unless use_bias_correction_kl is off",
        ),
        advantages=_outcome,
        weights=_sequence_mean,
    ),
    Algorithm(
        name="dr_grpo",
        title="Dr.GRPO: no division by the deviation, none by the length",
        paper="2503.20783",
        equation="""\
A_i  = R_i - mean R
loss = 1/(B C) sum_i sum_t -min(rho_it A_i, clip(rho_it) A_i)""",
        defaults={**COMMON, "outcome": "global", "constant": None},
        departures=(
            "divides by B as well as by C (TRL does; verl in places only by C)",
            "C is the batch's width unless given: the trainer gives max_completion_length",
        ),
        advantages=_outcome,
        weights=_constant,
    ),
    Algorithm(
        name="gspo",
        title="GSPO: one ratio for the whole sequence",
        paper="2507.18071",
        equation="""\
s_i  = exp(1/L_i sum_t log(pi_it / pi_old_it));  A_i as GRPO
loss = 1/B sum_i -min(s_i A_i, clip(s_i) A_i)""",
        defaults={**COMMON, **GROUP_STD, "clip_low": 3e-4, "clip_high": 4e-4},
        departures=("takes one scalar a rollout (outcome); for token advantages there is gspo_token",),
        advantages=_outcome,
        weights=_sequence_mean,
        ratio="sequence",
    ),
    Algorithm(
        name="gspo_token",
        title="GSPO-token: the sequence's ratio, each token's own gradient, with BoT's advantages",
        paper="2507.18071",
        equation="""\
s_it = sg[s_i] pi_it / sg[pi_it];  A_it as bot_grpo
loss = 1/B sum_i 1/L_i sum_t -min(s_it A_it, clip(s_it) A_it)""",
        defaults={**COMMON, **BAG, "clip_low": 3e-4, "clip_high": 4e-4},
        departures=(
            "the pairing with bag-of-tokens advantages is ours",
            "TRL 1.16 has no GSPO-token: its sequence level averages token advantages in the gradient",
        ),
        advantages=_bag_of_tokens,
        weights=_sequence_mean,
        ratio="sequence_token",
    ),
    Algorithm(
        name="dapo",
        title="DAPO: clip-higher, token mean, dynamic sampling, overlong penalty",
        paper="2503.14476",
        equation="""\
A_i  = (R_i - mean R) / (std R + eps)
loss = 1/sum_j L_j sum_i sum_t -min(rho_it A_i, clip(rho_it, 1 - .2, 1 + .28) A_i)""",
        defaults={**COMMON, **GROUP_STD, "std": "sample", "clip_high": 0.28, "per_group": False},
        departures=(
            "the token mean is over the whole batch, as TRL and verl code it; per_group=True is the paper's text",
            "dynamic sampling looks at outcomes, never at token rewards",
        ),
        advantages=_outcome,
        weights=_token_mean,
    ),
    Algorithm(
        name="pure",
        title="PURE: return of the worst step to come",
        paper="2504.15275",
        equation="""\
x_it = softmin_j(r_i)_j r_ij at the end of step j, + c R_i at the last token;  ret_it = sum of x_iu, u >= t
A_it = ret_it - sum_{j != i} sum_u ret_ju / ((K - 1) N), whitened over the batch
loss = 1/sum_j L_j sum_i sum_t -min(rho_it A_it, clip(rho_it) A_it)""",
        defaults={
            **COMMON,
            "temperature": 0.1,
            "outcome_weight": 1.0,
            "baseline_length": None,
            "adv_norm": True,
        },
        departures=(
            "follows the authors' verl branch, without its KL in the reward; beta puts a KL in the loss instead",
            "steps are what the reward model annotates: process steps, or lines of code",
            "no strict min-form: the branch's takes the minimum over padding too",
        ),
        advantages=_pure,
        weights=_token_mean,
        base_needs=frozenset({"steps"}),
    ),
    Algorithm(
        name="prime",
        title="PRIME: returns of an implicit reward a token and of the outcome",
        paper="2502.01456",
        equation="""\
q_it = log pi_phi - log pi_ref, scaled by the batch;  y = q and R, each less the others' mean, times K/(K - 1)
A_it = sum of y_iu over u >= t, whitened over the batch
loss = 1/sum_j L_j sum_i sum_t -min(rho_it A_it, clip(rho_it) A_it)""",
        defaults={**COMMON, "scale_rewards": True, "adv_norm": True, "eps": 1e-6},
        departures=(
            "q is local_rewards_BT where the batch tells it apart, else token_rewards_BT",
            "the reward model isn't trained here: that's `bot-grpo train-reward`",
            "no accuracy filter; drop_equal_outcome_groups is the nearest",
        ),
        advantages=_prime,
        weights=_token_mean,
    ),
    Algorithm(
        name="grpo_process",
        title="GRPO with process supervision: reward-to-go of normalised steps",
        paper="2402.03300",
        equation="""\
z_ij = (r_ij - mean r) / (std r + eps) over all steps of the group
A_it = sum of z_ij over steps j that end at t or later
loss = 1/B sum_i 1/L_i sum_t -min(rho_it A_it, clip(rho_it) A_it)""",
        defaults={**COMMON, "eps": 1e-6},
        departures=(
            "reads step rewards alone, not the outcome",
            "population std, beta 0 (DeepSeekMath: 0.04)",
            "a rollout without a step end gets 0",
        ),
        advantages=_process,
        weights=_sequence_mean,
        base_needs=frozenset({"steps"}),
    ),
    Algorithm(
        name="balanced",
        title="Balanced aggregation: a token mean for the good side and one for the bad",
        paper="2605.04077",
        equation="""\
m+, m- = token means of GRPO's term over the rows of a group with A > 0, A < 0 (k+ and k- rows)
loss   = 1/P sum_g (k+/K m+ + k-/K m-)""",
        defaults={**COMMON, **GROUP_STD, "clip_high": 0.28},
        departures=(
            "groups are averaged, and K counts every row: our reading",
            "a row whose advantage is 0 is on neither side and weighs nothing, in the KL too",
            "for token rewards the side is that of the outcome's advantage",
        ),
        advantages=_outcome,
        weights=_balanced,
    ),
    Algorithm(
        name="reco",
        title="ReCo: rollouts by inverse probability, tokens by a variance ratio",
        paper="2607.26862",
        equation="""\
w_i  = 1 / pbar_i with pbar_i = exp(1/L_i sum_t log pi_old_it);  v_it = p(1-p) / (p_old (1-p_old))
loss = -1/B sum_i w_i 1/L_i sum_t sg[v_it] A_i log pi_it""",
        defaults={**COMMON, **GROUP_STD, "clip_low": None, "clip_high": None},
        departures=(
            "the paper's text wasn't read: pbar as a length-normalised probability is our reading of its figure",
            "v scales and isn't differentiated (that would turn the gradient around for p > 0.5)",
            "with clip_low and clip_high, tokens beyond the bounds of v get no gradient; off by default",
        ),
        advantages=_outcome,
        weights=_by_probability,
        ratio="variance",
        base_needs=frozenset({"old_logps"}),
    ),
    Algorithm(
        name="ep_grpo",
        title="EP-GRPO (experimental): entropy gate and implicit process signal",
        paper="2605.04960",
        equation="""\
W_it = sigmoid(gamma z(H_it));  s_it = z of implicit_beta log(pi_old / pi_ref) among tokens of like progress
A_it = W_it (A_i + eta sign_i s_it), sign_i that of A_i, or of 2 R_i - 1 where A_i is 0
loss = 1/B sum_i 1/L_i sum_t -min(rho_it A_it, clip(rho_it) A_it)""",
        defaults={**COMMON, **GROUP_STD, "gamma": 5.0, "eta": 0.2, "implicit_beta": 0.1, "bins": 4},
        departures=(
            "experimental, not the authors' formula: their equations weren't to be had",
            "gamma, eta, implicit_beta and bins are ours",
            "progress is the share of a rollout's entropy spent so far, in bins",
            "expects outcomes in [0, 1]: above one half counts as good where a group's are all equal",
        ),
        advantages=_entropy_progress,
        weights=_sequence_mean,
        base_needs=frozenset({"old_logps", "ref_logps", "entropies"}),
    ),
)
ALGORITHMS: dict[str, Algorithm] = {row.name: row for row in TABLE}
