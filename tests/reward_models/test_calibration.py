"""AUC, calibration error, temperature and intervals, against values worked out by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reward_models.calibration import auc, ece, fit_temperature, interval, nll, probability, reliability

scored = st.lists(st.tuples(st.floats(-30, 30), st.integers(0, 1)), min_size=1, max_size=60)


def test_auc_by_hand() -> None:
    # ones: 0.9, 0.4; zeros: 0.5, 0.4, 0.1. Pairs won: 3 + 1, ties: 1 (half), of 6.
    score, y = np.array([0.9, 0.5, 0.4, 0.4, 0.1]), np.array([1, 0, 1, 0, 0])
    assert auc(score, y) == pytest.approx(4.5 / 6)
    assert auc(-score, y) == pytest.approx(1.5 / 6)
    assert auc(np.zeros(4), np.array([1, 0, 1, 0])) == 0.5
    assert auc(score, np.ones(5)) is None
    assert auc(np.zeros(0), np.zeros(0)) is None


@settings(deadline=None)
@given(scored)
def test_auc_is_the_share_of_pairs_in_order(rows: list[tuple[float, int]]) -> None:
    ones, zeros = ([z for z, y in rows if y == label] for label in (1, 0))
    found = auc(*map(np.array, zip(*rows, strict=True)))
    if not ones or not zeros:
        assert found is None
    else:
        won = sum((a > b) + (a == b) / 2 for a in ones for b in zeros)
        assert found == pytest.approx(won / len(ones) / len(zeros))


def test_ece_by_hand() -> None:
    # Two bins of ten: 0.05 and 0.15 lie apart from 0.95. (2/3)|0.1 - 0.5| + (1/3)|0.95 - 1|, with two bins.
    p, y = np.array([0.05, 0.15, 0.95]), np.array([0.0, 1.0, 1.0])
    assert ece(p, y, bins=2) == pytest.approx(2 / 3 * 0.4 + 1 / 3 * 0.05)
    assert [b.size for b in reliability(p, y, bins=10)] == [1, 1, 1]
    assert ece(np.array([1.0, 0.0]), np.array([1.0, 0.0])) == 0.0  # a probability of 1 is in the last bin
    assert ece(np.full(4, 0.25), np.array([1.0, 0.0, 0.0, 0.0])) == 0.0
    with pytest.raises(ValueError, match="no score"):
        ece(np.zeros(0), np.zeros(0))


def test_nll_by_hand() -> None:
    z, y = np.array([math.log(3), 0.0]), np.array([1.0, 0.0])
    assert nll(z, y) == pytest.approx((-math.log(0.75) - math.log(0.5)) / 2)
    assert probability(z).tolist() == pytest.approx([0.75, 0.5])
    assert nll(np.array([1000.0]), np.array([0.0])) == pytest.approx(1000.0)  # without an overflow


def test_the_temperature_is_the_one_that_made_the_labels() -> None:
    rng = np.random.default_rng(0)
    z = rng.normal(0, 2, 40_000)
    y = (rng.random(40_000) < probability(z)).astype(float)
    assert fit_temperature(3 * z, y) == pytest.approx(3.0, rel=0.05)
    assert fit_temperature(z, y) == pytest.approx(1.0, rel=0.05)


@settings(deadline=None)
@given(scored)
def test_a_temperature_never_raises_the_nll_of_its_own_data(rows: list[tuple[float, int]]) -> None:
    z, y = map(np.array, zip(*rows, strict=True))
    t = fit_temperature(z, y)
    assert t > 0
    assert nll(z / t, y) <= nll(z, y)


def test_one_label_has_no_temperature() -> None:
    assert fit_temperature(np.array([1.0, 2.0]), np.array([1.0, 1.0])) == 1.0


def test_an_interval_draws_whole_groups() -> None:
    groups = ["a"] * 50 + ["b"] * 50
    values = np.array([0.0] * 50 + [1.0] * 50)
    seen = []

    def mean(rows: np.ndarray) -> float:
        seen.append(float(values[rows].mean()))
        return seen[-1]

    assert interval(groups, mean) == (0.0, 1.0)
    assert set(seen) == {0.0, 0.5, 1.0}  # never a part of a group
    assert interval(["a"] * 5, lambda rows: 0.0) is None
    assert interval(["a", "b"], lambda rows: None) is None
    assert interval(groups, mean, seed=3) == interval(groups, mean, seed=3)
