"""What a token classifier's scores are worth on rows that it has not seen: per token, per step, and as a finger that
points at the first mistake."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from reward_models.calibration import auc, ece, fit_temperature, interval, nll, probability
from reward_models.learned import WRONG_CLASS
from reward_models.token_labels import IGNORED, Labelled

Floats = NDArray[np.float64]
Interval = tuple[float, float] | None
_DRAWS = 400


@dataclass(frozen=True)
class Quality:
    """Of scores of tokens or of steps, in which "wrong" is the label to find. None: not both labels occur.

    `temperature` is fitted to all of the scores. `ece` and `nll` (nats) are those without it, `ece_after` and
    `nll_after` those with it, where each half of the problems is scored by the temperature of the other half. Intervals
    are 95 %, from a bootstrap of problems.
    """

    count: int
    wrong: int
    auc: float | None
    auc_interval: Interval
    nll: float
    ece: float
    temperature: float
    nll_after: float
    ece_after: float


@dataclass(frozen=True)
class Finding:
    """How often the step where the first mistake most likely is (`first_mistake`) has it, over the texts with one.

    `alone`: how often the step with the greatest 1 - p, whatever stands before it, is. `random`: how often a step drawn
    at random is. `fixed`: how often the step at one and the same place is, for the place, counted from the start or
    from the end, at which that is most often so in these very texts: `place` (1: the first, -1: the last). `margin_*`:
    the differences of `hit` to them. Intervals are 95 %, from a bootstrap of problems.
    """

    texts: int
    hit: float
    hit_interval: Interval
    alone: float
    alone_interval: Interval
    random: float
    fixed: float
    place: int
    margin_random: Interval
    margin_fixed: Interval


def token_quality(rows: Sequence[Labelled], scores: Sequence[Floats]) -> Quality | None:
    """Of every labelled token. `scores`: (T,) log-odds of wrong for each row's completion. None: there is no token."""
    return _quality(
        [
            (row.problem, z, y)
            for row, z_T in zip(rows, scores, strict=True)
            for z, y in zip(z_T, row.token_labels, strict=True)
        ]
    )


def step_quality(rows: Sequence[Labelled], scores: Sequence[Floats]) -> Quality | None:
    """The same of every labelled step, at the place of its score."""
    return _quality(
        [
            (row.problem, z_T[i], y)
            for row, z_T in zip(rows, scores, strict=True)
            for i, y in zip(row.step_at, row.step_labels, strict=True)
        ]
    )


def _quality(scored: Sequence[tuple[str, float, int]]) -> Quality | None:
    known = [one for one in scored if one[2] != IGNORED]
    if not known:
        return None
    problems = [problem for problem, _, _ in known]
    z_N = np.array([z for _, z, _ in known], dtype=np.float64)
    y_N = np.array([y == WRONG_CLASS for _, _, y in known], dtype=np.float64)
    after_N = z_N / _crossed(problems, z_N, y_N)
    return Quality(
        count=len(known),
        wrong=int(y_N.sum()),
        auc=auc(z_N, y_N),
        auc_interval=interval(problems, lambda rows: auc(z_N[rows], y_N[rows]), draws=_DRAWS),
        nll=nll(z_N, y_N),
        ece=ece(probability(z_N), y_N),
        temperature=fit_temperature(z_N, y_N),
        nll_after=nll(after_N, y_N),
        ece_after=ece(probability(after_N), y_N),
    )


def _crossed(problems: Sequence[str], z_N: Floats, y_N: Floats) -> Floats:
    """For each score the temperature that was fitted to the other half of the problems."""
    half = {problem: n % 2 for n, problem in enumerate(sorted(set(problems)))}
    half_N = np.array([half[p] for p in problems])
    t = [fit_temperature(z_N[half_N != h], y_N[half_N != h]) for h in (0, 1)]
    return np.where(half_N == 0, t[0], t[1])


def first_mistake(right_N: Floats) -> Floats:
    """The chance that the first mistake is in step k: (1 - p_k) prod of p_j over the steps j before it, where p_k is
    the chance that step k is right given that those are. What is learned up to the first mistake is just that."""
    before_N = np.cumprod(np.concatenate([np.ones(1), right_N]))[:-1]
    return (1 - right_N) * before_N


def finding(rows: Sequence[Labelled], scores: Sequence[Floats]) -> Finding | None:
    """Of the rows with a wrong step; all of their steps are candidates, labelled or not. None: there is no such row."""
    found: list[tuple[str, int, NDArray[np.float64]]] = []  # problem, first wrong step, scores of steps
    for row, z_T in zip(rows, scores, strict=True):
        if WRONG_CLASS in row.step_labels:
            found.append((row.problem, row.step_labels.index(WRONG_CLASS), z_T[list(row.step_at)]))
    if not found:
        return None
    places = Counter(n + 1 for _, n, _ in found) + Counter(n - len(z) for _, n, z in found)
    place = max(places, key=lambda p: (places[p], p < 0, -abs(p)))
    hit_N = np.array([float(first_mistake(probability(-z)).argmax() == n) for _, n, z in found])
    alone_N = np.array([float(z.argmax() == n) for _, n, z in found])
    random_N = np.array([1 / len(z) for _, _, z in found])
    fixed_N = np.array([float(place in (n + 1, n - len(z))) for _, n, z in found])
    problems = [problem for problem, _, _ in found]

    def spread(values_N: Floats) -> Interval:
        return interval(problems, lambda rows: float(values_N[rows].mean()), draws=_DRAWS)

    return Finding(
        texts=len(found),
        hit=float(hit_N.mean()),
        hit_interval=spread(hit_N),
        alone=float(alone_N.mean()),
        alone_interval=spread(alone_N),
        random=float(random_N.mean()),
        fixed=float(fixed_N.mean()),
        place=place,
        margin_random=spread(hit_N - random_N),
        margin_fixed=spread(hit_N - fixed_N),
    )
