"""The statistics of an audit: rank correlations between and within groups, with bootstrap intervals over groups."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

RESAMPLES = 1000
MIN_GROUPS = 5
"""An interval over fewer groups would say nothing."""

Floats = NDArray[np.float64]
Group = tuple[Floats, Floats]
"""What is compared, of the N members of one group: two values each, (N,) and (N,)."""


class Estimate(NamedTuple):
    """A number, its 95 % bootstrap interval over groups, and how many groups it comes from."""

    value: float
    low: float
    high: float
    n: int


def ranks(values: Floats) -> Floats:
    """Ranks from 1; equal values share the mean of theirs. (N,) -> (N,)."""
    _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    ends = np.cumsum(counts)
    mean: Floats = (ends - (counts - 1) / 2)[inverse]
    return mean


def spearman(x: Floats, y: Floats) -> float:
    """Spearman's rank correlation; 0 where one of them is constant, since it then tells nothing of the other."""
    a, b = ranks(x) - (len(x) + 1) / 2, ranks(y) - (len(y) + 1) / 2
    return _ratio(float(a @ b), float(a @ a), float(b @ b))


def between_groups(groups: Sequence[Group], seed: int) -> Estimate | None:
    """Spearman's correlation of the groups' means. None: fewer than MIN_GROUPS, or their second values don't differ."""
    means_G2 = np.array([[x.mean(), y.mean()] for x, y in groups]).reshape(-1, 2)
    if len(groups) < MIN_GROUPS or np.ptp(means_G2[:, 1]) == 0:
        return None
    return _estimate(len(groups), seed, lambda at: spearman(*means_G2[at].T))


def within_groups(groups: Sequence[Group], seed: int) -> Estimate | None:
    """Correlation of the ranks inside of each group, over all groups whose second values differ.

    Each member's two ranks are counted from their group's mean, so that a difference between groups adds nothing.
    None: fewer than MIN_GROUPS such groups.
    """
    sums = []
    for x, y in groups:
        if len(x) > 1 and np.ptp(y) > 0:
            middle = (len(x) + 1) / 2
            a, b = (ranks(x) - middle) / len(x), (ranks(y) - middle) / len(y)
            sums.append((a @ b, a @ a, b @ b))
    if len(sums) < MIN_GROUPS:
        return None
    sums_G3 = np.array(sums)
    return _estimate(len(sums), seed, lambda at: _ratio(*map(float, sums_G3[at].sum(axis=0))))


def mean(values: Sequence[float], seed: int) -> Estimate:
    """The mean of values, with an interval over them."""
    values_N = np.array(values, dtype=np.float64)
    return _estimate(len(values), seed, lambda at: float(values_N[at].mean()))


def rises(early: Sequence[Group], late: Sequence[Group], seed: int) -> Estimate | None:
    """How much more the first value grows than the second, from early to late groups, each in its own deviations.

    None: fewer than MIN_GROUPS on a side, or second values that are all the same.
    """
    if min(len(early), len(late)) < MIN_GROUPS:
        return None
    everything = [np.concatenate(column) for column in zip(*early, *late, strict=True)]
    sd_x, sd_y = (float(np.std(column)) for column in everything)
    if sd_y == 0:
        return None
    means = [np.array([[x.mean() / (sd_x or 1.0), y.mean() / sd_y] for x, y in part]) for part in (early, late)]
    n = len(early)

    def gap(at: NDArray[np.int64]) -> float:
        a, b = at[at < n], at[at >= n] - n
        if not len(a) or not len(b):
            return 0.0
        grown = means[1][b].mean(axis=0) - means[0][a].mean(axis=0)
        return float(grown[0] - grown[1])

    return _estimate(n + len(late), seed, gap)


def _estimate(n: int, seed: int, statistic: Callable[[NDArray[np.int64]], float]) -> Estimate:
    drawn = np.random.default_rng(seed).integers(0, n, (RESAMPLES, n))
    low, high = np.percentile([statistic(at) for at in drawn], (2.5, 97.5))
    return Estimate(statistic(np.arange(n)), float(low), float(high), n)


def _ratio(xy: float, xx: float, yy: float) -> float:
    return xy / (xx * yy) ** 0.5 if xx > 0 and yy > 0 else 0.0
