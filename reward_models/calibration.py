"""How good and how honest scores of a binary label are: AUC, calibration error, temperature, intervals by group.

z is a log-odds score of label 1; y holds the labels, 0 or 1. Pure functions of arrays.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
_STEEPEST = 10.0  # 1 / T is looked for in [1 / 10, 10]: where z parts the labels wholly, more is always better


def probability(z_N: Floats) -> Floats:
    """Of label 1, from its log-odds."""
    out: Floats = np.exp(-np.logaddexp(0.0, -np.asarray(z_N, dtype=np.float64)))
    return out


def nll(z_N: Floats, y_N: Floats) -> float:
    """Mean negative log-likelihood of the labels, in nats."""
    z_N, y_N = np.asarray(z_N, dtype=np.float64), np.asarray(y_N, dtype=np.float64)
    return float(np.mean(np.logaddexp(0.0, z_N) - y_N * z_N))


def fit_temperature(z_N: Floats, y_N: Floats) -> float:
    """The T > 0 for which sigmoid(z / T) has the least NLL (Guo et al., 1706.04599, section 4.2).

    The NLL is convex in 1 / T, so its slope is bisected. 1 where one label is all there is: any T would do there, the
    smaller the better. The NLL at T is never above that at 1.
    """
    z_N, y_N = np.asarray(z_N, dtype=np.float64), np.asarray(y_N, dtype=np.float64)
    if not 0 < y_N.sum() < len(y_N):
        return 1.0
    low, high = 1 / _STEEPEST, _STEEPEST
    for _ in range(60):
        middle = (low * high) ** 0.5
        if np.mean((probability(middle * z_N) - y_N) * z_N) > 0:
            high = middle
        else:
            low = middle
    return 1 / low if nll(low * z_N, y_N) <= nll(z_N, y_N) else 1.0


class Bin(NamedTuple):
    """Scores of one bin: how many (`size`), their mean probability, and the share of label 1 among them."""

    size: int
    said: float
    found: float


def reliability(p_N: Floats, y_N: Floats, bins: int = 15) -> tuple[Bin, ...]:
    """The bins of equal width over [0, 1] that hold a score; 1 is in the last one."""
    p_N, y_N = np.asarray(p_N, dtype=np.float64), np.asarray(y_N, dtype=np.float64)
    place_N = np.minimum((p_N * bins).astype(int), bins - 1)
    count = np.bincount(place_N, minlength=bins)
    said, found = (np.bincount(place_N, weights=w, minlength=bins) for w in (p_N, y_N))
    return tuple(Bin(int(n), float(s / n), float(f / n)) for n, s, f in zip(count, said, found, strict=True) if n)


def ece(p_N: Floats, y_N: Floats, bins: int = 15) -> float:
    """Expected calibration error of probabilities of label 1: sum over bins of (n / N) |mean p - share of label 1|
    (Naeini et al., AAAI 2015). Raises ValueError where there is no score."""
    if not len(p_N):
        raise ValueError("there is no score to be calibrated")
    return sum(b.size * abs(b.said - b.found) for b in reliability(p_N, y_N, bins)) / len(p_N)


def auc(score_N: Floats, y_N: Floats) -> float | None:
    """The chance that a label 1 scores above a label 0, a tie counting half (Mann-Whitney); None without both."""
    score_N, y_N = np.asarray(score_N, dtype=np.float64), np.asarray(y_N, dtype=np.float64)
    ones = float(y_N.sum())
    zeros = len(y_N) - ones
    if not ones or not zeros:
        return None
    _, index_N, count = np.unique(score_N, return_inverse=True, return_counts=True)
    rank_N = (np.cumsum(count) - (count - 1) / 2)[index_N]  # from 1; equal scores share their mean rank
    return float((rank_N[y_N == 1].sum() - ones * (ones + 1) / 2) / (ones * zeros))


def interval(
    groups: Sequence[Hashable],
    statistic: Callable[[NDArray[np.int64]], float | None],
    *,
    draws: int = 1000,
    level: float = 0.95,
    seed: int = 0,
) -> tuple[float, float] | None:
    """Percentile bootstrap of `statistic`, which gets the indices of the rows drawn; whole groups are drawn.

    Rows of a group (samples for one prompt, tokens of one text) are not independent; groups are taken to be. None
    where fewer than two groups, or no draw, have a value.
    """
    rows: dict[Hashable, list[int]] = {}
    for row, group in enumerate(groups):
        rows.setdefault(group, []).append(row)
    members = [np.array(r, dtype=np.int64) for r in rows.values()]
    if len(members) < 2:
        return None
    rng = np.random.default_rng(seed)
    drawn = (
        statistic(np.concatenate([members[g] for g in rng.integers(len(members), size=len(members))]))
        for _ in range(draws)
    )
    values = [v for v in drawn if v is not None]
    if not values:
        return None
    low, high = np.quantile(values, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)
