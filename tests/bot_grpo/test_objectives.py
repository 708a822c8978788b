"""Objectives: the ratio kinds, the clip, KL and the weights, against hand-written references."""

from __future__ import annotations

import math

import pytest
import torch
from golden_batch import f64, golden, golden_batch, random_batch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from bot_grpo import objectives as obj
from bot_grpo.groups import Groups

ALL = torch.ones(8, dtype=torch.bool)


def test_kl_and_ratios_match_the_reference() -> None:
    batch, algos = golden_batch(), golden()["algos"]
    mask = batch.mask_BT.bool()
    assert batch.logps_BT is not None
    assert batch.ref_logps_BT is not None
    kl = obj.kl_k3(batch.logps_BT, batch.ref_logps_BT, mask).detach()
    torch.testing.assert_close(kl, f64(algos["kl_k3"]["value"]), rtol=1e-6, atol=1e-12)
    ones = torch.ones_like(batch.mask_BT)
    ratio = obj.policy_term("sequence", ones, mask, batch.logps_BT, batch.old_logps_BT).ratio_BT
    torch.testing.assert_close(ratio[:, 0], f64(algos["gspo"]["ratio"]), rtol=1e-6, atol=0)
    v = obj.policy_term("variance", ones, mask, batch.logps_BT, batch.old_logps_BT).ratio_BT
    torch.testing.assert_close(v[mask], f64(algos["reco_noclip"]["var_ratio"])[mask], rtol=1e-6, atol=0)


def test_reco_weighs_rollouts_by_inverse_probability() -> None:
    batch = golden_batch()
    mask = batch.mask_BT.bool()
    assert batch.old_logps_BT is not None
    w = obj.response_weights(mask, Groups.contiguous(8, 4), ALL, batch.old_logps_BT)
    torch.testing.assert_close(
        w.sum(1) * 2, f64(golden()["algos"]["reco_noclip"]["resp_weight"]), rtol=1e-6, atol=0
    )  # times P: the golden weights are within a group


@pytest.mark.parametrize("kind", ["token", "sequence", "sequence_token", "variance"])
def test_on_policy_the_ratio_is_1_and_the_gradient_is_reinforce(kind: obj.Ratio) -> None:
    """Eq. 3 as the paper prints it, without ratio and clip: each kind gives that gradient while the policy hasn't moved
    (the sequence ratio with the row's mean advantage on every token)."""
    batch = random_batch(8, 6)
    mask = batch.mask_BT
    a = torch.randn(8, 6, dtype=torch.float64) * mask
    w = obj.sequence_weights(mask, Groups.contiguous(8, 4), ALL)
    logps = batch.logps_BT
    assert logps is not None
    term = obj.policy_term(kind, a, mask, logps, None, clip_low=0.2, clip_high=0.2)
    (grad,) = torch.autograd.grad(obj.weighted_sum(w, term.term_BT), logps)
    want = a.sum(1, keepdim=True) / mask.sum(1, keepdim=True) * mask if kind == "sequence" else a
    torch.testing.assert_close(grad, -w * want)
    if kind != "variance":
        assert (term.ratio_BT == 1).all()


def test_the_literal_equation_3_of_the_bot_paper() -> None:
    """The gradient of -1/L sum A log pi, from the golden file, is ours at ratio 1."""
    batch, want = golden_batch(), golden()["algos"]["bot_grpo_reinforce"]
    mask = batch.mask_BT.bool()
    assert batch.logps_BT is not None
    w = obj.sequence_weights(mask, Groups.contiguous(8, 4), ALL)
    term = obj.policy_term("token", f64(want["adv"]), mask, batch.logps_BT, None, clip_low=0.2, clip_high=0.2)
    (grad,) = torch.autograd.grad(obj.weighted_sum(w, term.term_BT), batch.logps_BT)
    torch.testing.assert_close(grad, f64(want["dloss_dlogp"]), rtol=1e-6, atol=1e-12)


@given(st.integers(0, 10_000), st.sampled_from([0.1, 0.2]), st.sampled_from([0.2, 0.28]))
@settings(deadline=None, max_examples=30)
def test_the_clip_stops_a_gradient_exactly_where_it_says(seed: int, low: float, high: float) -> None:
    batch = random_batch(8, 6, seed=seed)
    a = torch.randn(8, 6, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))
    assert batch.logps_BT is not None
    term = obj.policy_term("token", a, batch.mask_BT, batch.logps_BT, batch.old_logps_BT, clip_low=low, clip_high=high)
    (grad,) = torch.autograd.grad(term.term_BT.sum(), batch.logps_BT)
    stopped = term.clipped_low_BT | term.clipped_high_BT
    assert (grad[stopped] == 0).all()
    torch.testing.assert_close(grad[~stopped], (-term.ratio_BT * a * batch.mask_BT)[~stopped])
    free = obj.policy_term("token", a, batch.mask_BT, batch.logps_BT, batch.old_logps_BT)
    assert not (free.clipped_low_BT | free.clipped_high_BT).any()
    torch.testing.assert_close(free.term_BT, -free.ratio_BT * a)


def test_gspo_token_has_gspos_value_and_each_tokens_own_gradient() -> None:
    batch = random_batch(8, 6, seed=4)
    mask = batch.mask_BT
    a = torch.randn(8, 6, dtype=torch.float64)
    grads = {}
    assert batch.logps_BT is not None
    for kind in ("sequence", "sequence_token"):
        term = obj.policy_term(kind, a, mask, batch.logps_BT, batch.old_logps_BT)
        grads[kind] = (term, torch.autograd.grad((term.term_BT * mask).sum(), batch.logps_BT)[0])
    torch.testing.assert_close(grads["sequence"][0].term_BT[mask], grads["sequence_token"][0].term_BT[mask])
    ratio = grads["sequence"][0].ratio_BT
    torch.testing.assert_close(grads["sequence_token"][1], -ratio * a * mask)
    mean_a = (a * mask).sum(1, keepdim=True) / mask.sum(1, keepdim=True)
    torch.testing.assert_close(grads["sequence"][1], -ratio * mean_a * mask)


@pytest.mark.parametrize("kind", ["token", "sequence", "sequence_token", "variance"])
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16])
def test_extreme_log_probabilities_give_finite_losses_and_gradients(kind: obj.Ratio, dtype: torch.dtype) -> None:
    new = torch.tensor([[-0.0, -1e-7, -200.0, -5.0, torch.nan]], dtype=dtype, requires_grad=True)
    old = torch.tensor([[-300.0, -0.0, -1e-7, -0.0, torch.inf]], dtype=dtype)
    mask = torch.tensor([[1, 1, 1, 1, 0]])
    for sign in (-1.0, 0.0, 1.0):
        term = obj.policy_term(kind, torch.full((1, 5), sign), mask, new, old, clip_low=0.2, clip_high=0.2)
        loss = (term.term_BT + obj.kl_k3(new, old, mask)).sum()
        (grad,) = torch.autograd.grad(loss, new)
        assert torch.isfinite(loss)
        assert torch.isfinite(grad).all()
        assert grad[0, 4] == 0


def test_kl_is_0_at_the_reference_and_its_gradient_is_that_of_k3() -> None:
    batch = random_batch(4, 5, seed=2)
    new, ref, mask = batch.logps_BT, batch.ref_logps_BT, batch.mask_BT
    assert new is not None
    assert ref is not None
    assert (obj.kl_k3(new, new.detach(), mask) == 0).all()
    kl = obj.kl_k3(new, ref, mask)
    assert (kl >= 0).all()
    (grad,) = torch.autograd.grad(kl.sum(), new)
    torch.testing.assert_close(grad, (1 - (ref - new).exp()).detach() * mask)


# Weights.


@given(st.lists(st.integers(0, 6), min_size=8, max_size=8), st.integers(0, 10_000))
@settings(deadline=None, max_examples=50)
def test_weights_add_up_to_what_their_name_says(lengths: list[int], seed: int) -> None:
    mask = torch.arange(6)[None] < torch.tensor(lengths)[:, None]
    groups = Groups.contiguous(8, 4)
    rows = torch.tensor([n > 0 for n in lengths]).double()
    close(obj.sequence_weights(mask, groups, ALL).sum(1), rows / 8)
    token = obj.token_weights(mask, groups)
    close(token[mask], torch.full_like(token[mask], 1 / max(sum(lengths), 1)))
    has_tokens = rows.view(2, 4).amax(1)
    close(obj.group_token_weights(mask, groups, ALL).view(2, -1).sum(1), has_tokens / 2)
    close(obj.constant_weights(mask, groups, ALL, 6).sum(), f64(sum(lengths) / 48))
    close(obj.constant_weights(mask, groups, ALL, None), obj.constant_weights(mask, groups, ALL, 6))
    sign = torch.randn(8, generator=torch.Generator().manual_seed(seed)).sign()
    balanced = obj.balanced_weights(mask, groups, ALL, sign)
    for side in (-1, 1):  # a side's weight is its share of rows, whatever its rows' lengths
        on_side = (sign == side).double() * rows
        close((balanced.sum(1) * on_side).view(2, 4).sum(1), on_side.view(2, 4).sum(1) / 8)
    for w in (token, balanced):
        assert (w[~mask] == 0).all()


@given(st.integers(1, 6), st.integers(0, 10_000))
@settings(deadline=None, max_examples=30)
def test_equal_lengths_make_balanced_the_sequence_mean(length: int, seed: int) -> None:
    mask = (torch.arange(6)[None] < length).expand(8, 6)
    groups = Groups.contiguous(8, 4)
    sign = torch.randn(8, generator=torch.Generator().manual_seed(seed)).sign()
    close(obj.balanced_weights(mask, groups, ALL, sign), obj.sequence_weights(mask, groups, ALL))


def test_rows_that_do_not_count_leave_the_denominators() -> None:
    mask = torch.ones(8, 5, dtype=torch.bool)
    counted = torch.tensor([True] * 4 + [False] * 4)
    mask = mask & counted[:, None]
    groups = Groups.contiguous(8, 4)
    for weights in (
        obj.sequence_weights(mask, groups, counted),
        obj.token_weights(mask, groups),
        obj.group_token_weights(mask, groups, counted),
        obj.constant_weights(mask, groups, counted, 5),
        obj.balanced_weights(mask, groups, counted, torch.ones(8)),
    ):
        assert math.isclose(weights.sum().item(), 1.0)


def close(a: Tensor, b: Tensor) -> None:
    torch.testing.assert_close(a, b, rtol=1e-9, atol=1e-12, check_dtype=False)
