"""Advantages: reference values, laws that hold for any rewards, and the edges where a formula divides by nothing."""

from __future__ import annotations

import pytest
import torch
from golden_batch import as_ranks, f64, golden, golden_batch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from bot_grpo import advantages as adv
from bot_grpo.groups import Groups

LENGTHS = st.lists(st.integers(1, 7), min_size=8, max_size=8)
SEEDS = st.integers(0, 10_000)


def ragged(lengths: list[int], seed: int, width: int = 7) -> tuple[Tensor, Tensor]:
    g = torch.Generator().manual_seed(seed)
    mask = torch.arange(width)[None] < torch.tensor(lengths)[:, None]
    return torch.randn(len(lengths), width, generator=g, dtype=torch.float64), mask


def close(a: Tensor, b: Tensor, rtol: float = 1e-9) -> None:
    torch.testing.assert_close(a, b, rtol=rtol, atol=1e-9, check_dtype=False)


# Reference values.


@pytest.mark.parametrize("key", ["bot_grpo", "bot_grpo_aime_eq8"])
def test_bag_of_tokens_and_its_moments_match_the_reference(key: str) -> None:
    want, mask = golden()["algos"][key], f64(golden()["inputs"]["mask"])
    rewards = f64(want["token_reward"])
    close(adv.bag_of_tokens(rewards, mask, 4), f64(want["adv"]), 1e-6)
    moments = adv.token_moments(rewards, mask, Groups.contiguous(8, 4))
    close(torch.stack([moments.mean_G, moments.sigma_G], 1), f64(want["group_mean_std"]), 1e-6)


@pytest.mark.parametrize("key", ["equal_outcomes_local_differs", "mixed_outcomes_with_empty_row"])
def test_an_empty_row_leaves_the_statistics(key: str) -> None:
    case = golden()["algos"]["edge_cases_bot"][key]
    got = adv.bag_of_tokens(f64(case["reward"]), f64(case["mask"]), 4)
    close(got, f64(case["adv"]), 1e-6)
    assert (got[3] == 0).all()


def test_the_scale_of_local_rewards_cancels_where_outcomes_are_equal_and_the_floor_stops_it() -> None:
    case = golden()["algos"]["edge_cases_bot"]["equal_outcomes_local_differs"]
    rewards, mask = f64(case["reward"]), f64(case["mask"])
    small = torch.where(mask.bool(), 3 + (rewards - 3) / 100, 0)
    full, scaled = (adv.bag_of_tokens(r, mask, 4, eps=0.0) for r in (rewards, small))
    close(full, scaled, 1e-6)
    floored = adv.bag_of_tokens(small, mask, 4, sigma_floor=0.3)
    assert floored.abs().max() < 0.02 < 0.5 < full.abs().max()


def test_overlong_penalty_matches_the_reference() -> None:
    want = golden()["algos"]["dapo"]
    lengths = torch.tensor(golden()["inputs"]["lengths"])
    close(
        adv.overlong_penalty(lengths, want["overlong_cfg"]["L_max"], want["overlong_cfg"]["L_cache"]),
        f64(want["overlong"]),
    )
    with pytest.raises(ValueError, match="overlong cache"):
        adv.overlong_penalty(lengths, 8, 0)


def test_softmin_and_progress_signals_match_the_reference() -> None:
    batch = golden_batch()
    assert batch.step_rewards_BT is not None
    assert batch.step_ends_BT is not None
    weights = adv.softmin_weights(batch.step_rewards_BT, batch.step_ends_BT.bool(), 0.1)
    close(weights, f64(golden()["algos"]["pure_verl_sum"]["softmin_weight"]), 1e-6)


# Laws.


@given(LENGTHS, SEEDS)
@settings(deadline=None, max_examples=50)
def test_bag_of_tokens_has_mean_0_and_variance_1_over_rollouts(lengths: list[int], seed: int) -> None:
    rewards, mask = ragged(lengths, seed)
    a = adv.bag_of_tokens(rewards, mask, 4, eps=0.0)
    per_row = a.sum(1) / mask.sum(1)
    close(per_row.view(2, 4).mean(1), torch.zeros(2))
    close((a.square().sum(1) / mask.sum(1)).view(2, 4).mean(1), torch.ones(2))


@given(LENGTHS, SEEDS)
@settings(deadline=None, max_examples=50)
def test_a_constant_reward_a_rollout_makes_bag_of_tokens_grpo(lengths: list[int], seed: int) -> None:
    rewards, mask = ragged(lengths, seed)
    outcome = rewards[:, 0]
    groups = Groups.contiguous(8, 4)
    want = adv.group_normalised(outcome, mask.any(1), groups)[:, None] * mask
    close(adv.bag_of_tokens(outcome[:, None].expand_as(rewards), mask, 4), want)


@given(LENGTHS, SEEDS, st.lists(st.integers(1, 3), min_size=8, max_size=8))
@settings(deadline=None, max_examples=50)
def test_stretching_a_rollout_leaves_mean_and_sigma(lengths: list[int], seed: int, times: list[int]) -> None:
    """Repeating every token of a rollout m times, another m for each, changes no moment (it would without 1/L)."""
    rewards, mask = ragged(lengths, seed)
    groups = Groups.contiguous(8, 4)
    long_rewards, long_mask = torch.full((8, 21), 1e6, dtype=torch.float64), torch.zeros(8, 21, dtype=torch.bool)
    for row, m in enumerate(times):
        stretched = rewards[row, : lengths[row]].repeat_interleave(m)
        long_rewards[row, : len(stretched)] = stretched
        long_mask[row, : len(stretched)] = True
    for got, want in zip(
        adv.token_moments(long_rewards, long_mask, groups), adv.token_moments(rewards, mask, groups), strict=True
    ):
        close(got, want)


@given(LENGTHS, SEEDS, st.permutations(range(4)))
@settings(deadline=None, max_examples=50)
def test_permuting_rollouts_of_a_group_permutes_advantages(lengths: list[int], seed: int, order: list[int]) -> None:
    rewards, mask = ragged(lengths, seed)
    index = torch.tensor([*order, 4, 5, 6, 7])
    close(adv.bag_of_tokens(rewards[index], mask[index], 4), adv.bag_of_tokens(rewards, mask, 4)[index])


@given(LENGTHS, SEEDS, st.floats(-5, 5), st.floats(0.1, 10))
@settings(deadline=None, max_examples=50)
def test_shift_and_scale_of_rewards_cancel(lengths: list[int], seed: int, shift: float, scale: float) -> None:
    rewards, mask = ragged(lengths, seed)
    want = adv.bag_of_tokens(rewards, mask, 4, eps=0.0)
    close(adv.bag_of_tokens(scale * rewards + shift, mask, 4, eps=0.0), want, 1e-7)


@given(LENGTHS, SEEDS, st.lists(st.booleans(), min_size=8, max_size=8))
@settings(deadline=None, max_examples=50)
def test_a_large_outcome_weight_keeps_the_sign_of_the_outcome(lengths: list[int], seed: int, won: list[bool]) -> None:
    """w_g >> w_s B: a clean token of a failure stays negative and a flagged token of a success positive, wherever the
    group has both."""
    rewards, mask = ragged(lengths, seed)
    outcome = torch.tensor(won).double()
    a = adv.bag_of_tokens(3 * outcome[:, None] + 0.3 * rewards.tanh(), mask, 4)
    for g in range(2):
        rows = slice(4 * g, 4 * g + 4)
        if 0 < outcome[rows].sum() < 4:
            good = outcome[rows].bool()[:, None]
            assert (a[rows][good & mask[rows]] > 0).all()
            assert (a[rows][~good & mask[rows]] < 0).all()


@given(LENGTHS, SEEDS)
@settings(deadline=None, max_examples=50)
def test_an_uncentred_penalty_only_pushes_down(lengths: list[int], seed: int) -> None:
    """With local rewards apart, a clean token has the sign of GRPO's advantage and a flagged one is below it; where all
    outcomes are equal, clean tokens stay at 0 (centred, they would be pushed up)."""
    noise, mask = ragged(lengths, seed)
    outcome = noise[:, 0].sign()
    outcome[4:] = 1
    local = noise.clamp(max=0)
    rewards = outcome[:, None] + local
    a = adv.bag_of_tokens(rewards, mask, 4, local_rewards_BT=local)
    grpo = adv.group_normalised(outcome, mask.any(1), Groups.contiguous(8, 4))[:, None].expand_as(a)
    clean = mask & (local == 0)
    assert (a[clean].sign() == grpo[clean].sign()).all()
    assert (torch.where(clean, a, torch.inf).amin(1) > torch.where(mask & ~clean, a, -torch.inf).amax(1)).all()
    assert (a[4:] <= 0).all()
    close(adv.bag_of_tokens(outcome[:, None].expand_as(a), mask, 4, local_rewards_BT=torch.zeros_like(a)), grpo * mask)


@given(LENGTHS, SEEDS)
@settings(deadline=None, max_examples=25)
def test_the_last_step_of_pure_is_the_worst_step_when_cold(lengths: list[int], seed: int) -> None:
    """As the temperature falls the return of a rollout's first token becomes its worst step."""
    rewards, mask = ragged(lengths, seed)
    weights = adv.softmin_weights(rewards, mask, 1e-4)
    worst = torch.where(mask, rewards, torch.inf).amin(1)
    close(torch.where(mask, weights * rewards, 0).sum(1), worst, 1e-3)


# Edges.


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
@pytest.mark.parametrize("value", [3.2, 0.1, -7.3, 1e-3])
def test_equal_rewards_give_exactly_0(value: float, dtype: torch.dtype) -> None:
    """In float32 sums the mean of eight 3.2s is off by a rounding, which eps 1e-6 would turn into |A| = 0.17."""
    rewards, mask = torch.full((8, 1000), value, dtype=dtype), torch.ones(8, 1000)
    mask[3, 7:] = 0
    assert (adv.bag_of_tokens(rewards, mask, 8) == 0).all()
    groups = Groups.contiguous(8, 8)
    assert (adv.group_normalised(rewards[:, 0], mask.bool().any(1), groups, std="sample") == 0).all()


@pytest.mark.parametrize("length_weighted", [True, False])
def test_fewer_than_two_rollouts_give_0(length_weighted: bool) -> None:
    rewards, mask = ragged([3, 5, 2, 4], 1)
    assert (adv.bag_of_tokens(rewards, mask, 1, length_weighted=length_weighted) == 0).all()
    mask[:3] = False
    assert (adv.bag_of_tokens(rewards, mask, 4, length_weighted=length_weighted) == 0).all()


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
def test_half_precision_in_stays_within_1e_5_of_float64(dtype: torch.dtype) -> None:
    """Given the same numbers, float32 and half precision lose nothing in the sums: 8192 tokens, mean far from 0."""
    g = torch.Generator().manual_seed(0)
    rewards = (3 + torch.randn(8, 8192, generator=g)).to(dtype)
    mask = torch.arange(8192)[None] < torch.randint(1, 8193, (8, 1), generator=g)
    got = adv.bag_of_tokens(rewards, mask, 8)
    assert got.dtype == torch.float32
    assert (got - adv.bag_of_tokens(rewards.double(), mask, 8)).abs().max() < 1e-5


def test_equal_outcomes_looks_at_scored_rollouts_only() -> None:
    outcome = f64([1, 1, 0, 1, 0, 0, 1, 0])
    has = torch.tensor([True, True, False, True, True, True, True, True])
    assert adv.equal_outcomes(outcome, 4).tolist() == [False, False]
    assert adv.equal_outcomes(outcome, 4, has_B=has).tolist() == [True, False]
    assert adv.equal_outcomes(outcome, 4, has_B=torch.zeros(8, dtype=torch.bool)).tolist() == [True, True]


def test_nan_in_the_padding_is_never_read_and_nan_in_a_token_is_refused() -> None:
    rewards, mask = ragged([3, 5, 2, 4, 7, 1, 6, 2], 2)
    want = adv.bag_of_tokens(rewards, mask, 4)
    junk = torch.where(mask, rewards, torch.nan)
    close(adv.bag_of_tokens(junk, mask, 4), want)
    junk[5, 0] = torch.nan
    with pytest.raises(ValueError, match=r"NaN or infinite token rewards in group\(s\) \[1\]"):
        adv.bag_of_tokens(junk, mask, 4)


def test_shapes_and_group_sizes_that_disagree_are_named() -> None:
    with pytest.raises(ValueError, match=r"\(8, 7\).*\(8, 6\)"):
        adv.bag_of_tokens(torch.zeros(8, 7), torch.ones(8, 6), 4)
    with pytest.raises(ValueError, match="num_generations 3 does not divide the 8"):
        adv.bag_of_tokens(torch.zeros(8, 7), torch.ones(8, 7), 3)
    with pytest.raises(ValueError, match="at least 1"):
        adv.bag_of_tokens(torch.zeros(8, 7), torch.ones(8, 7), 0)


# Groups across processes.


def test_a_group_that_straddles_ranks_takes_two_reductions_of_numbers() -> None:
    rewards, mask = ragged([3, 5, 2, 4, 7, 1, 6, 2], 3)
    whole = adv.bag_of_tokens(rewards, mask, 4)
    shapes: list[tuple[int, ...]] = []

    def work(piece: Tensor, groups: Groups) -> Tensor:
        start = 0 if len(piece) == 3 else 3

        def counted(x: Tensor) -> Tensor:
            shapes.append(tuple(x.shape))
            return groups.all_reduce(x)

        seam = Groups(groups.index_B, groups.count, counted, groups.all_max)
        return adv.bag_of_tokens(piece, mask[start : start + len(piece)], 4, groups=seam)

    parts = as_ranks([rewards[:3], rewards[3:]], torch.arange(8) // 4, 2, work)
    close(torch.cat(parts), whole)
    assert sorted(shapes) == [(2,), (2,), (2, 3), (2, 3)]  # two a rank; numbers a group, never a token


def test_one_reduction_without_the_other_is_refused() -> None:
    with pytest.raises(ValueError, match="all_reduce and all_max together"):
        Groups(torch.zeros(2, dtype=torch.long), 1, all_reduce=lambda x: x)
