"""Which of two sides makes the better pages: rounds in both orders, a majority a pair, a rate with an interval.

The protocol is BoT-GRPO's (section 3): a judge sees the request and two screenshots and answers A or B, in four rounds
whose order is A B, B A, B A, A B. The majority wins the pair; two to two is a tie, which counts one half. Many judges
have a taste for a place, so how often an answer changes with the order alone is reported too. Several sides are ranked
by a Bradley-Terry model.
"""

from __future__ import annotations

import filecmp
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from sandbox.judge import PairTask, Preference

Side = Literal["A", "B"]
ORDER: tuple[Side, ...] = ("A", "B", "B", "A")
"""Which side is shown first, by round."""
_SWAPS = ((0, 1), (3, 2))  # rounds that differ in their order

RESAMPLES = 10_000
LEVEL = 0.95


class Prefers(Protocol):
    """A judge of two screenshots: `sandbox.judge.Judge` is one."""

    def prefer(
        self, tasks: Sequence[PairTask], *, on_done: Callable[[int, Preference], None] | None = None
    ) -> list[Preference]: ...


@dataclass(frozen=True)
class Shot:
    """One side's page: a screenshot that can be judged; or `valid` false and why there is none.

    `unknown`: nobody can say how the page ended (its picture was lost), which is no defeat.
    """

    path: Path | None = None
    why: str = ""
    unknown: bool = False

    @property
    def valid(self) -> bool:
        return self.path is not None


@dataclass(frozen=True)
class Pair:
    """Two pages for one request. `prompt` is shown to the judge, and pairs of one prompt are resampled together."""

    prompt: str
    a: Shot
    b: Shot


@dataclass(frozen=True)
class Round:
    """One answer: which side was shown first, and which won. `winner` None: no answer could be had, and why."""

    first: Side
    winner: Side | None
    reason: str = ""


@dataclass(frozen=True)
class Decided:
    """How a pair ended: `score` is A's share, 1, 0.5 (a tie) or 0; None: unscored, and `reason` says why."""

    score: float | None
    reason: str = ""
    rounds: tuple[Round, ...] = ()


@dataclass(frozen=True)
class WinRate:
    """A's rate of wins over B, ties as half, with a bootstrap interval over prompts; None where nothing was scored.

    `flips` is the share of `swaps` (two rounds that differ in their order alone) in which the winner changed.
    """

    rate: float | None
    low: float | None
    high: float | None
    wins: int
    ties: int
    losses: int
    unscored: int
    prompts: int
    flips: float | None
    swaps: int


def without_a_call(pair: Pair) -> Decided | None:
    """A pair that needs no judge: a page that cannot be judged loses to one that can, two of them tie, and so do two
    screenshots that are the same, byte by byte."""
    a, b = pair.a, pair.b
    if a.unknown or b.unknown:
        return Decided(None, a.why if a.unknown else b.why)
    if a.path is not None and b.path is not None:
        return Decided(0.5, "the screenshots are the same") if _same(a.path, b.path) else None
    if a.path is None and b.path is None:
        return Decided(0.5, f"neither page can be judged: {a.why}; {b.why}")
    return Decided(0.0 if a.path is None else 1.0, f"against a page that cannot be judged: {a.why or b.why}")


def _same(a: Path, b: Path) -> bool:
    try:
        return a == b or filecmp.cmp(a, b, shallow=False)
    except OSError:
        return False


def questions(pair: Pair) -> list[PairTask]:
    """The four questions about a pair that needs a judge."""
    a, b = pair.a.path, pair.b.path
    assert a is not None
    assert b is not None
    return [PairTask(pair.prompt, *((a, b) if first == "A" else (b, a)), round=i) for i, first in enumerate(ORDER)]


def compare(pairs: Sequence[Pair], judge: Prefers, *, on_done: Callable[[int], None] | None = None) -> list[Decided]:
    """Judge `pairs`; the results are in their order. `on_done(i)` is called as each round of pair i arrives."""
    results = [without_a_call(pair) for pair in pairs]
    asked = [i for i, result in enumerate(results) if result is None]
    tasks = [task for i in asked for task in questions(pairs[i])]

    def heard(index: int, _: Preference) -> None:
        if on_done is not None:
            on_done(asked[index // len(ORDER)])

    answers = judge.prefer(tasks, on_done=heard)
    for n, i in enumerate(asked):
        mine = answers[n * len(ORDER) : (n + 1) * len(ORDER)]
        results[i] = decide([_round(first, answer) for first, answer in zip(ORDER, mine, strict=True)])
    return [result for result in results if result is not None]


def _round(first: Side, answer: Preference) -> Round:
    if answer.winner is None:
        return Round(first, None, answer.reason)
    other: Side = "B" if first == "A" else "A"
    return Round(first, first if answer.winner == "A" else other, answer.reason)


def decide(rounds: Sequence[Round]) -> Decided:
    """The majority of `rounds`. Where some are missing, only a majority that they could not have changed counts."""
    a, b = (sum(one.winner == side for one in rounds) for side in ("A", "B"))
    missing = [one for one in rounds if one.winner is None]
    if a > b + len(missing):
        return Decided(1.0, rounds=tuple(rounds))
    if b > a + len(missing):
        return Decided(0.0, rounds=tuple(rounds))
    if not missing:
        return Decided(0.5, rounds=tuple(rounds))
    why = f"{len(missing)} of {len(rounds)} rounds have no answer: {missing[0].reason}"
    return Decided(None, why, tuple(rounds))


def compare_scores(a: float | None, b: float | None, why: str = "") -> Decided:
    """Two pages by a score of each (a judge without a model): the higher one wins, equal ones tie."""
    if a is None or b is None:
        return Decided(None, why or "a page has no score")
    return Decided(0.5 if a == b else float(a > b), f"{a:.3f} to {b:.3f}")


def win_rate(
    results: Sequence[Decided], prompts: Sequence[str], *, seed: int = 0, resamples: int = RESAMPLES
) -> WinRate:
    """A's rate over `results` and its percentile interval; prompts are resampled, each with all of its pairs."""
    scores = [result.score for result in results]
    sums_P, counts_P = _by_prompt(scores, prompts)
    known = [score for score in scores if score is not None]
    rate = low = high = None
    if known:
        draws_NP = resample(len(sums_P), seed=seed, resamples=resamples)
        rate = sum(known) / len(known)
        low, high = interval(draws_NP @ sums_P / (draws_NP @ counts_P))
    swaps = [
        (result.rounds[i].winner, result.rounds[j].winner)
        for result in results
        for i, j in _SWAPS
        if len(result.rounds) == len(ORDER)
    ]
    both = [(x, y) for x, y in swaps if x is not None and y is not None]
    return WinRate(
        rate,
        low,
        high,
        wins=known.count(1.0),
        ties=known.count(0.5),
        losses=known.count(0.0),
        unscored=len(scores) - len(known),
        prompts=len(sums_P),
        flips=sum(x != y for x, y in both) / len(both) if both else None,
        swaps=len(both),
    )


def _by_prompt(
    scores: Sequence[float | None], prompts: Sequence[str]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Per prompt with a scored pair: the sum of A's scores, and how many there are."""
    sums: dict[str, list[float]] = {}
    for score, prompt in zip(scores, prompts, strict=True):
        if score is not None:
            sums.setdefault(prompt, []).append(score)
    return np.array([sum(s) for s in sums.values()]), np.array([float(len(s)) for s in sums.values()])


def resample(count: int, *, seed: int, resamples: int = RESAMPLES) -> NDArray[np.float64]:
    """How often each of `count` prompts is drawn in each bootstrap sample: (N, P)."""
    drawn = np.random.default_rng(seed).multinomial(count, np.full(count, 1 / count), size=resamples)
    return drawn.astype(np.float64)


def interval(values_N: NDArray[np.float64]) -> tuple[float, float]:
    """The percentile interval that holds `LEVEL` of the values."""
    low, high = np.quantile(values_N, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return float(low), float(high)


def bradley_terry(wins_NKK: NDArray[np.float64]) -> NDArray[np.float64]:
    """Log-strengths θ of K sides, mean 0, with P(i beats j) = 1 / (1 + exp(θj - θi)): (..., K).

    `wins[i, j]` is how often i beat j, a tie being half a win of each. The maximum of the likelihood is found by the
    minorisation of Hunter (2004, Annals of Statistics 32), which cannot overshoot and takes any number of bootstrap
    samples at once; a library would bring SciPy for these ten lines. Raises ValueError where there is no maximum: some
    side, or group of sides, never met or never lost to the others.
    """
    sides = wins_NKK.shape[-1]
    if not (np.linalg.matrix_power(np.eye(sides) + (wins_NKK > 0), sides) > 0).all():
        raise ValueError("these sides cannot be ranked: some of them never met, or never lost")
    games = wins_NKK + np.swapaxes(wins_NKK, -1, -2)
    strength = np.ones(wins_NKK.shape[:-1])
    for _ in range(10_000):
        new = wins_NKK.sum(-1) / (games / (strength[..., :, None] + strength[..., None, :])).sum(-1)
        new /= np.exp(np.log(new).mean(-1, keepdims=True))
        change = np.abs(np.log(new / strength)).max()
        strength = new
        if change < 1e-9:
            break
    return np.asarray(np.log(strength), dtype=np.float64)


@dataclass(frozen=True)
class Game:
    """A scored pair of two of many sides: `score` is the share of the side `a`; `a` and `b` are numbers of sides."""

    a: int
    b: int
    prompt: str
    score: float


@dataclass(frozen=True)
class Standing:
    """A side's Bradley-Terry log-strength with its interval over prompts, and its plain rate against all others."""

    side: int
    strength: float
    low: float
    high: float
    rate: float
    games: int


def ranking(games: Sequence[Game], sides: int, *, seed: int = 0, resamples: int = RESAMPLES) -> list[Standing]:
    """The sides that played, best first. One tie is added to each pair that met, or a side that won all its games would
    have no finite strength. Raises ValueError where some of the sides never met, even by way of others."""
    prompts = {prompt: p for p, prompt in enumerate(dict.fromkeys(game.prompt for game in games))}
    wins_PKK = np.zeros((len(prompts), sides, sides))
    for game in games:
        wins_PKK[prompts[game.prompt], game.a, game.b] += game.score
        wins_PKK[prompts[game.prompt], game.b, game.a] += 1 - game.score
    wins = wins_PKK.sum(0)
    met = (wins + wins.T) > 0
    strength_K = bradley_terry(wins + 0.5 * met)
    draws_NP = resample(len(prompts), seed=seed, resamples=resamples)
    drawn_NKK = (draws_NP @ wins_PKK.reshape(len(prompts), -1)).reshape(-1, sides, sides)
    strengths_NK = bradley_terry(drawn_NKK + 0.5 * met)
    played_K = (wins + wins.T).sum(-1)
    standings = [
        Standing(k, float(strength_K[k]), *interval(strengths_NK[:, k]), wins[k].sum() / played_K[k], int(played_K[k]))
        for k in range(sides)
    ]
    return sorted(standings, key=lambda standing: -standing.strength)
