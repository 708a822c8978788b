"""The sampler's log-probabilities: how far from the trainer's, the alarms, and the weights that correct for it."""

from __future__ import annotations

import math
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import tiny_trainer as tiny
import torch
from test_trainer_parity import trl_trainer
from torch import Tensor

from bot_grpo.alarms import Alarms
from bot_grpo.algorithms import ALGORITHMS, get_algorithm
from bot_grpo.generation import FoldedPolicy
from bot_grpo.objectives import kl_k3, policy_term
from bot_grpo.sampler_gap import SamplerGap

ALONE = SimpleNamespace(reduce=lambda x, reduction: x, gather=lambda x: x)
"""A stand-in for accelerate's Accelerator in one process."""


# -- the figures ------------------------------------------------------------------------------------------------------


def test_the_figures_are_their_formulas_over_the_tokens_in_the_mask() -> None:
    trained = torch.tensor([[-1.0, -2.0, 5.0], [-0.5, 7.0, 7.0]])
    sampled = torch.tensor([[-1.1, -1.8, -9.0], [-0.5, -9.0, float("nan")]])
    mask = torch.tensor([[1, 1, 0], [1, 0, 0]])
    gap = SamplerGap()
    gap.add(sampled, trained, mask)
    d = [0.1, -0.2, 0.0]
    assert gap.take(ALONE) == pytest.approx(
        {
            "sampler/gap": 0.1,
            "sampler/gap_max": 0.2,
            "sampler/ratio": sum(map(math.exp, d)) / 3,
            "sampler/kl": sum(math.exp(x) - 1 - x for x in d) / 3,
            "sampler/unknown": 0.0,
        },
        abs=1e-6,
    )
    assert gap.take(ALONE) == {}, "taken is taken"


def test_micro_batches_add_up_and_unknown_tokens_are_left_out_and_counted() -> None:
    torch.manual_seed(0)
    trained, sampled = torch.randn(6, 5), torch.randn(6, 5)
    mask = torch.rand(6, 5) < 0.7
    sampled[2, 1] = float("nan")
    mask[2, 1] = True
    whole, parts, without = SamplerGap(), SamplerGap(), SamplerGap()
    whole.add(sampled, trained, mask)
    for rows in (slice(0, 1), slice(1, 4), slice(4, 6)):
        parts.add(sampled[rows], trained[rows], mask[rows])
    known = mask.clone()
    known[2, 1] = False
    without.add(sampled, trained, known)
    one, other, clean = whole.take(ALONE), parts.take(ALONE), without.take(ALONE)
    assert one == pytest.approx(other)
    assert one.pop("sampler/unknown") == pytest.approx(1 / mask.sum().item())
    assert clean.pop("sampler/unknown") == 0.0
    assert one == clean
    whole.add(torch.full((1, 2), float("nan")), torch.zeros(1, 2), torch.ones(1, 2))
    assert math.isnan(whole.take(ALONE)["sampler/gap"]), "nothing known is no gap of 0"


# -- our own sampler, and one that keeps old weights ------------------------------------------------------------------


def run(folder: Path, **changes: Any) -> list[dict[str, float]]:
    """The metrics of a run with a LoRA adapter whose rollouts are sampled."""
    settings = {"max_steps": 2, "learning_rate": 0.5, "temperature": 0.7} | changes
    made = tiny.trainer(folder, model=tiny.with_lora(tiny.tiny_llama(), warm=True), rollouts=None, **settings)
    made.train()
    return tiny.logged(made)


def heard(rows: list[dict[str, float]], **settings: Any) -> list[str]:
    alarms = Alarms(**settings)
    return [name for row in rows for name in alarms.step(row) if "sampler" in name]


@pytest.mark.parametrize("dynamic_sampling", [0, 1])
def test_the_sampler_here_reports_the_policys_own_log_probabilities(dynamic_sampling: int, tmp_path: Path) -> None:
    rows = run(tmp_path, dynamic_sampling=dynamic_sampling)
    assert len(rows) == 2
    for row in rows:
        assert row["sampler/gap_max"] < 1e-4
        assert row["sampler/ratio"] == pytest.approx(1, abs=1e-4)
        assert 0 <= row["sampler/kl"] < 1e-6
        assert row["sampler/unknown"] == 0
    assert heard(rows) == []


def test_a_sampler_that_keeps_old_weights_is_heard(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The adapter is folded in once, and then no more: the gap is 0 at first, and grows with every update."""
    fold, calls = FoldedPolicy.refresh, []

    def once(self: FoldedPolicy) -> Any:
        calls.append(1)
        return fold(self) if len(calls) == 1 else self.model

    steps = {"max_steps": 7, "learning_rate": 0.05}
    assert heard(run(tmp_path / "fresh", **steps)) == []
    monkeypatch.setattr(FoldedPolicy, "refresh", once)
    rows = run(tmp_path / "stale", **steps)
    assert rows[0]["sampler/gap"] < 1e-4
    assert "stale_sampler" in heard(rows, sampler_gap=rows[-1]["sampler/gap"] * 2)
    assert heard(rows, sampler_gap=rows[-1]["sampler/gap"] / 2).count("sampler_gap") == 1, "said once"


# -- weights for it in the objective ----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", list(ALGORITHMS))
def test_importance_weights_scale_the_policy_term_and_not_the_kl(name: str) -> None:
    """The trainer multiplies them into the advantages, which every term is proportional to: clips and all."""
    torch.manual_seed(0)
    shape = (4, 6)
    mask = torch.arange(6) < torch.tensor([6, 4, 1, 5])[:, None]
    logps, old, ref = (-3 * torch.rand(shape) for _ in range(3))
    advantages, weights = torch.randn(shape) * mask, torch.rand(shape) * mask
    importance = torch.rand(shape) * 3
    importance[0], importance[1, 2] = 0.0, 0.0  # as the masking modes give them

    def loss(advantages: Tensor, beta: float) -> Tensor:
        algorithm = get_algorithm(name, beta=beta)
        return algorithm.policy_loss(advantages, weights, mask, logps, old, ref)[0]

    clips = {key: get_algorithm(name).settings[key] for key in ("clip_low", "clip_high")}
    term = policy_term(ALGORITHMS[name].ratio, advantages, mask, logps, old, **clips).term_BT
    want = (weights * importance * term).sum()
    torch.testing.assert_close(loss(advantages * importance, 0.0), want)
    with_kl = want + 0.3 * (weights * kl_k3(logps, ref, mask)).sum()
    torch.testing.assert_close(loss(advantages * importance, 0.3), with_kl)
    assert (want - loss(advantages, 0.0)).abs() > 1e-3, "they must matter for this test"


class SampledElsewhere(tiny.FixedRollouts):
    """Fixed completions with log-probabilities that are a hash: a sampler far from the policy. Some are missing."""

    def __call__(self, asked: list[str], trainer: Any) -> dict[str, Any]:
        out = super().__call__(asked, trainer)
        logprobs = [
            [None if t == 3 else -5.5 - 0.5 * tiny.fraction("mu", token, t, i) for t, token in enumerate(ids)]
            for i, ids in enumerate(out["completion_ids"])
        ]
        return {**out, "logprobs": logprobs}


def as_with_vllm(made: Any) -> Any:
    """A trainer that takes its rollouts for vLLM's. A STUB for the engine, which sends no weights."""
    made.use_vllm, made._last_loaded_step = True, -1
    made.vllm_generation = SimpleNamespace(sync_weights=lambda: None)
    return made


MODES = {
    "token_truncate": {"vllm_importance_sampling_clip_max": 1.2, "vllm_importance_sampling_clip_min": 0.9},
    "token_mask": {"vllm_importance_sampling_clip_max": 1.5, "vllm_importance_sampling_clip_min": 0.5},
    "sequence_truncate": {"vllm_importance_sampling_clip_max": 2.0},
    "sequence_mask": {"vllm_importance_sampling_clip_max": 3.0},
}


@pytest.mark.parametrize("mode", list(MODES))
@pytest.mark.parametrize("beta", [0.0, 0.5])
def test_every_mode_of_the_correction_trains_as_trl_does(mode: str, beta: float, tmp_path: Path) -> None:
    """Two updates on each of two batches, from rollouts of a sampler that is far off, beside TRL's own trainer."""
    cut = {"num_iterations": 2, "max_steps": 4, "vllm_importance_sampling_mode": mode, **MODES[mode]}
    without = {**cut, "vllm_importance_sampling_correction": False}
    records, runs = {}, {"ours": cut, "theirs": cut, "uncorrected": without}
    for name, settings in runs.items():
        model = tiny.saved_llama(tmp_path / name / "model")
        rollouts = SampledElsewhere(tiny.byte_tokenizer())
        if name == "theirs":
            made = trl_trainer(
                tmp_path / name, model, loss_type="grpo", beta=beta, use_bias_correction_kl=False, **settings
            )
            made.rollout_func = rollouts
        else:
            own = {"algorithm": "grpo", "algorithm_settings": {"std": "sample", "eps": 1e-4, "beta": beta}}
            made = tiny.trainer(tmp_path / name, model=model, rollouts=rollouts, **own, **settings)
        records[name] = tiny.Record()
        as_with_vllm(made).add_callback(records[name])
        made.train()
        if name != "theirs":
            rows = tiny.logged(made)
            assert all(row["sampler/gap"] > 0.1 for row in rows)
            assert all(row["sampler/unknown"] > 0.01 for row in rows)
    for ours, theirs in zip(records["ours"].steps, records["theirs"].steps, strict=True):
        assert tiny.distance(ours, theirs) < 1e-5
    assert tiny.distance(records["ours"].steps[-1], records["uncorrected"].steps[-1]) > 1e-3


def test_with_one_update_a_batch_the_ratio_is_1_under_vllm_too(tmp_path: Path) -> None:
    made = tiny.trainer(tmp_path, rollouts=SampledElsewhere(tiny.byte_tokenizer()))
    as_with_vllm(made).train()
    for row in tiny.logged(made):
        assert row["policy/ratio_mean"] == row["policy/ratio_max"] == 1.0
        assert row["sampler/gap"] == pytest.approx(row["sampling/sampling_logp_difference/mean"], rel=1e-4)
        assert row["sampler/gap_max"] == pytest.approx(row["sampling/sampling_logp_difference/max"], rel=1e-4)
