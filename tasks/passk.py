"""Pass@k, majority votes, and how sure one can be of them.

Of n samples of a problem c are correct. Pass@k is the chance that at least one of k samples is; its unbiased estimate
from n >= k samples is 1 - C(n-c, k) / C(n, k) (Chen et al. 2021, "Evaluating Large Language Models Trained on Code",
Eq. 1). Over a set it is the mean of its problems, each with its own n.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from math import comb

import numpy as np
from numpy.typing import NDArray

from tasks.errors import TaskError

Count = tuple[int, int]
"""(c, n): of n samples of a problem, c are correct."""

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Interval:
    """The two ends."""

    low: float
    high: float


@dataclass(frozen=True)
class PassAtK:
    """Pass@k over a set of problems, or a difference of two.

    `by_problem` is the interval from drawing the problems anew: how it may be on other problems like these. In
    `two_level` the samples of each drawn problem are drawn anew as well, which counts the noise of sampling twice: it
    is the wider, more careful one, for few samples a problem.
    """

    k: int
    value: float
    by_problem: Interval
    two_level: Interval


def pass_at_k(n_correct: int, n: int, k: int) -> float:
    """The unbiased estimate of the chance that one of k samples is correct; for k = 1 it is c / n exactly.

    Raises TaskError, one line: k > n, k < 1, or not 0 <= c <= n.
    """
    if not 0 <= n_correct <= n:
        raise TaskError(f"{n_correct} correct of {n} samples: that cannot be")
    if k < 1:
        raise TaskError(f"k is {k}: it must be at least 1")
    if k > n:
        raise TaskError(f"pass@{k} cannot be had of n = {n}: take more samples a problem, or a smaller k")
    ways = comb(n, k)
    return (ways - comb(n - n_correct, k)) / ways  # whole numbers: right to the last bit


def summary(
    counts: Sequence[Count], ks: Sequence[int], seed: int = 0, *, level: float = 0.95, resamples: int = 2000
) -> list[PassAtK]:
    """Pass@k of a set for each k, with bootstrap intervals (percentiles) that hold `level` of the resamples.

    Raises TaskError: no problems, or a problem with n < k (which).
    """
    _check(counts, ks, level, resamples)
    results = []
    for k in ks:
        values = _values(counts, k)
        draws = _by_problem(values, np.random.default_rng(seed), resamples)
        deep = _two_level([counts], k, np.random.default_rng(seed), resamples)[0]
        deep = deep.clip(0, 1)
        results.append(PassAtK(k, float(values.mean()), _interval(draws, level), _interval(deep, level)))
    return results


def paired(
    a: Sequence[Count],
    b: Sequence[Count],
    ks: Sequence[int],
    seed: int = 0,
    *,
    level: float = 0.95,
    resamples: int = 2000,
) -> list[PassAtK]:
    """Pass@k of `b` minus that of `a`, for two runs on the same problems in the same order.

    Both runs get the same draws of problems, so what a problem's difficulty does to both cancels. Raises TaskError as
    `summary` does, and where the runs have different numbers of problems.
    """
    if len(a) != len(b):
        raise TaskError(f"{len(a)} problems against {len(b)}: a paired comparison needs the same problems in both")
    for counts in (a, b):
        _check(counts, ks, level, resamples)
    results = []
    for k in ks:
        values = _values(b, k) - _values(a, k)
        draws = _by_problem(values, np.random.default_rng(seed), resamples)
        deep_a, deep_b = _two_level([a, b], k, np.random.default_rng(seed), resamples)
        results.append(PassAtK(k, float(values.mean()), _interval(draws, level), _interval(deep_b - deep_a, level)))
    return results


def majority(answers: Sequence[str | None], gold: int) -> float:
    """maj@n of one problem: whether most samples that answered say `gold`; 1/m if m answers share the lead, gold one.

    `answers` are `Grade.answer`s: a wrong answer votes whatever it is, None (no answer) has no vote.
    """
    votes = Counter(answer for answer in answers if answer is not None)
    if not votes:
        return 0.0
    most = max(votes.values())
    leaders = [answer for answer, n in votes.items() if n == most]
    return 1 / len(leaders) if str(gold) in leaders else 0.0


def _check(counts: Sequence[Count], ks: Sequence[int], level: float, resamples: int) -> None:
    if not counts:
        raise TaskError("no problems to take pass@k of")
    if not 0 < level < 1 or resamples < 1:
        raise TaskError(
            f"level is {level} and resamples {resamples}: a level lies between 0 and 1, resamples from 1 up"
        )
    for i, (c, n) in enumerate(counts, 1):
        for k in ks:
            try:
                pass_at_k(c, n, k)
            except TaskError as error:
                raise TaskError(f"problem {i}: {error}") from None


def _values(counts: Sequence[Count], k: int) -> Floats:
    return np.array([pass_at_k(c, n, k) for c, n in counts])


_CELLS = 4_000_000  # drawn at once


def _by_problem(values: Floats, rng: np.random.Generator, resamples: int) -> Floats:
    """Means of `resamples` draws of as many problems, with replacement."""
    size = max(1, _CELLS // len(values))
    parts = [
        values[rng.integers(len(values), size=(min(size, resamples - done), len(values)))].mean(axis=1)
        for done in range(0, resamples, size)
    ]
    return np.concatenate(parts)


def _two_level(runs: Sequence[Sequence[Count]], k: int, rng: np.random.Generator, resamples: int) -> list[Floats]:
    """For each run the means of `resamples` draws of problems (the same in all runs), and of samples within each.

    A sample that is drawn twice solves nothing new, so such means lie low where k is near n: they are moved to have the
    run's own Pass@k as their centre.
    """
    problems = len(runs[0])
    size = max(1, _CELLS // problems)
    tables = [_Table(counts, k) for counts in runs]
    parts: list[list[Floats]] = [[] for _ in runs]
    for done in range(0, resamples, size):
        drawn = rng.integers(problems, size=(min(size, resamples - done), problems))
        for part, table in zip(parts, tables, strict=True):
            part.append(table.redraw(drawn, rng))
    draws = [np.concatenate(part) for part in parts]
    return [each - each.mean() + _values(counts, k).mean() for each, counts in zip(draws, runs, strict=True)]


class _Table:
    """Pass@k of each problem for any number of correct samples that a redraw may give."""

    def __init__(self, counts: Sequence[Count], k: int) -> None:
        sizes = sorted({n for _, n in counts})
        starts = dict(zip(sizes, np.cumsum([0, *(n + 1 for n in sizes)]), strict=False))
        self.values = np.array([pass_at_k(c, n, k) for n in sizes for c in range(n + 1)])
        self.start = np.array([starts[n] for _, n in counts])
        self.n = np.array([n for _, n in counts])
        self.rate = np.array([c / n for c, n in counts])

    def redraw(self, drawn: NDArray[np.int64], rng: np.random.Generator) -> Floats:
        """Means over the problems in each row of `drawn`, whose samples are drawn anew with replacement."""
        correct = rng.binomial(self.n[drawn], self.rate[drawn])
        means: Floats = self.values[self.start[drawn] + correct].mean(axis=1)
        return means


def _interval(draws: Floats, level: float) -> Interval:
    low, high = np.quantile(draws, [(1 - level) / 2, (1 + level) / 2]).clip(-1, 1)
    return Interval(float(low), float(high))
