"""Pass@k, majority votes, and how sure one can be of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

Count = tuple[int, int]
"""(c, n): of n samples of a problem, c are correct."""


@dataclass(frozen=True)
class Interval:
    """A value in [0, 1] (a difference: in [-1, 1]) and the ends of its interval."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class PassAtK:
    """Pass@k over a set of problems. `problems` is the interval from drawing problems anew (how it would be on other
    problems like these), `two_level` from drawing problems and then samples of each (on another run as well)."""

    k: int
    value: float
    problems: Interval
    two_level: Interval


def pass_at_k(n_correct: int, n: int, k: int) -> float:
    """1 - C(n - c, k) / C(n, k): the unbiased estimate of the chance that one of k samples is correct.

    Raises ValueError, one line: k > n, or numbers that are no counts.
    """
    raise NotImplementedError


def summary(
    counts: Sequence[Count], ks: Sequence[int], seed: int = 0, *, level: float = 0.95, resamples: int = 2000
) -> list[PassAtK]:
    """Mean Pass@k over the problems for each k, with intervals; each problem has its own n >= k."""
    raise NotImplementedError


def paired(
    a: Sequence[Count],
    b: Sequence[Count],
    ks: Sequence[int],
    seed: int = 0,
    *,
    level: float = 0.95,
    resamples: int = 2000,
) -> list[PassAtK]:
    """Pass@k of `b` minus that of `a`, on the same problems in the same order; problems are drawn in pairs."""
    raise NotImplementedError


def majority(answers: Sequence[str | None], gold: int) -> float:
    """maj@n of one problem: 1 if most samples that answered say `gold`, 1/m if m answers share the lead, else 0.

    `answers` are the `Grade.answer`s; None (no answer) has no vote.
    """
    raise NotImplementedError
