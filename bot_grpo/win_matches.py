"""Every two sides against each other: pairs, results, rates, and the ranking of more than two."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import combinations
from typing import Any

from bot_grpo.errors import UserError
from bot_grpo.win_sides import Key, Page, Side, page_scores, pair_up
from sandbox.win_rates import (
    Decided,
    Game,
    Pair,
    Prefers,
    Standing,
    WinRate,
    compare,
    compare_scores,
    ranking,
    win_rate,
    without_a_call,
)


@dataclass(frozen=True)
class Match:
    """Two sides, by number, and their pairs. `left_out` pages have no counterpart on the other side."""

    a: int
    b: int
    keys: tuple[Key, ...]
    pairs: tuple[Pair, ...]
    left_out: int
    results: tuple[Decided, ...] = ()
    rate: WinRate | None = None


def matches(sides: Sequence[Side]) -> list[Match]:
    """All pairings of the sides, not yet judged. Raises UserError where two sides share nothing."""
    found = []
    for (i, a), (j, b) in combinations(enumerate(sides), 2):
        keys, pairs, left_out = pair_up(a, b)
        found.append(Match(i, j, tuple(keys), tuple(pairs), left_out))
    return found


def judged_by_model(
    planned: Sequence[Match], judge: Prefers, *, seed: int = 0, on_done: Callable[[], None] = lambda: None
) -> list[Match]:
    """The matches with what `judge` answered; `on_done` is called at every answer."""
    pairs = [pair for match in planned for pair in match.pairs]
    results = compare(pairs, judge, on_done=lambda _: on_done())
    return _with_results(planned, results, seed)


def pages_to_score(sides: Sequence[Side], planned: Sequence[Match]) -> dict[tuple[int, Key], Page]:
    """The pages that the page judge has to score, by side and key.

    Raises UserError for a folder: the page judge renders a run's components anew.
    """
    if any(side.step is None for side in sides):
        raise UserError("--judge page renders a run's components anew; a folder of screenshots has none")
    return {
        (side, key): sides[side].pages[key]
        for match in planned
        for key, pair in zip(match.keys, match.pairs, strict=True)
        if without_a_call(pair) is None
        for side in (match.a, match.b)
    }


def judged_by_rules(
    sides: Sequence[Side], planned: Sequence[Match], *, seed: int = 0, on_done: Callable[[], None] = lambda: None
) -> list[Match]:
    """The matches by the page judge, which scores each page by rules: the higher score wins, equal ones tie."""
    wanted = pages_to_score(sides, planned)
    scores = dict(zip(wanted, page_scores(list(wanted.values()), on_done), strict=True))

    def decided(match: Match, key: Key, pair: Pair) -> Decided:
        known = without_a_call(pair)
        if known is not None:
            return known
        (a, why_a), (b, why_b) = scores[match.a, key], scores[match.b, key]
        return compare_scores(a, b, f"a page has no score: {why_a or why_b}")

    results = [
        decided(match, key, pair) for match in planned for key, pair in zip(match.keys, match.pairs, strict=True)
    ]
    return _with_results(planned, results, seed)


def _with_results(planned: Sequence[Match], results: Sequence[Decided], seed: int) -> list[Match]:
    done, at = [], 0
    for match in planned:
        mine = tuple(results[at : at + len(match.pairs)])
        at += len(match.pairs)
        # Pages of one prompt are alike, and so are all pages of a name.
        done.append(replace(match, results=mine, rate=win_rate(mine, [key[0] for key in match.keys], seed=seed)))
    return done


def standings(played: Sequence[Match], sides: int, *, seed: int = 0) -> list[Standing]:
    """The Bradley-Terry ranking; empty for two sides, and where too little was scored to rank all of them."""
    games = [
        Game(match.a, match.b, key[0], result.score)
        for match in played
        for key, result in zip(match.keys, match.results, strict=True)
        if result.score is not None
    ]
    if sides < 3 or not games:
        return []
    try:
        return ranking(games, sides, seed=seed)
    except ValueError:
        return []


def to_json(sides: Sequence[Side], played: Sequence[Match], ranked: Sequence[Standing]) -> dict[str, Any]:
    """All of it, for a file."""
    return {
        "sides": [{"name": side.name, "step": side.step, "pages": len(side.pages)} for side in sides],
        "matches": [
            {
                "a": sides[match.a].name,
                "b": sides[match.b].name,
                "left_out": match.left_out,
                **(asdict(match.rate) if match.rate is not None else {}),
                "pairs": [
                    _pair_json(key, pair, result)
                    for key, pair, result in zip(match.keys, match.pairs, match.results, strict=True)
                ],
            }
            for match in played
        ],
        "ranking": [{**asdict(one), "side": sides[one.side].name} for one in ranked],
    }


def _pair_json(key: Key, pair: Pair, result: Decided) -> dict[str, Any]:
    def shot(one: Any) -> dict[str, Any]:
        return {"screenshot": None if one.path is None else str(one.path), "why": one.why}

    return {
        "name": key[0],
        "sample": key[1],
        "prompt": pair.prompt,
        "a": shot(pair.a),
        "b": shot(pair.b),
        "score": result.score,
        "reason": result.reason,
        "rounds": [asdict(one) for one in result.rounds],
    }
