"""Win rates: rounds in both orders, majorities, intervals and rankings."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from judge_server import JudgeServer, images, judge_server, picture
from werkzeug import Response

from sandbox.win_rates import (
    Decided,
    Game,
    Pair,
    Round,
    Shot,
    bradley_terry,
    compare,
    compare_scores,
    decide,
    questions,
    ranking,
    win_rate,
)

GREEN, RED = (0, 128, 0), (255, 0, 0)


@pytest.fixture
def server() -> Iterator[JudgeServer]:
    with judge_server() as server:
        yield server


def pairs(folder: Path, count: int = 3) -> list[Pair]:
    """Pairs of which A is green and B is red."""
    a, b = Shot(picture(folder / "a.png", GREEN)), Shot(picture(folder / "b.png", RED))
    return [Pair(f"prompt {i}", a, b) for i in range(count)]


def honest(body: dict[str, Any]) -> str:
    """Prefers green, wherever it stands."""
    first, _ = images(body)
    return f"Green is better.\nWINNER: {'A' if first.getpixel((0, 0)) == GREEN else 'B'}"


def rates(results: list[Decided], given: list[Pair]) -> Any:
    return win_rate(results, [pair.prompt for pair in given])


def test_an_honest_judge_sees_the_pages_in_the_order_a_b_b_a(server: JudgeServer, tmp_path: Path) -> None:
    server.answers = honest
    given = pairs(tmp_path)
    heard: list[int] = []
    results = compare(given, server.judge(concurrency=1), on_done=heard.append)
    assert [result.score for result in results] == [1.0, 1.0, 1.0]
    assert [(one.first, one.winner) for one in results[0].rounds] == [("A", "A"), ("B", "A"), ("B", "A"), ("A", "A")]
    first = [images(body)[0].getpixel((0, 0)) for body in server.bodies[:4]]
    assert first == [GREEN, RED, RED, GREEN]
    assert heard == [0] * 4 + [1] * 4 + [2] * 4
    found = rates(results, given)
    assert (found.rate, found.low, found.high, found.wins, found.flips, found.swaps) == (1.0, 1.0, 1.0, 3, 0.0, 6)


@pytest.mark.parametrize("place", ["A", "B"])
def test_a_judge_with_a_taste_for_a_place_decides_nothing(server: JudgeServer, tmp_path: Path, place: str) -> None:
    server.script(f"WINNER: {place}")
    given = pairs(tmp_path)
    results = compare(given, server.judge())
    assert [result.score for result in results] == [0.5] * 3
    found = rates(results, given)
    assert (found.rate, found.ties, found.flips, found.swaps) == (0.5, 3, 1.0, 6)


def test_a_page_that_cannot_be_judged_loses_without_a_call(server: JudgeServer, tmp_path: Path) -> None:
    good, bad = pairs(tmp_path)[0].a, Shot(None, "compile_error")
    lost = Shot(None, "its picture is gone", unknown=True)
    given = [Pair("p", good, bad), Pair("p", bad, good), Pair("p", bad, bad), Pair("p", good, lost)]
    given += [Pair("p", good, Shot(picture(tmp_path / "copy.png", GREEN)))]
    results = compare(given, server.judge())
    assert [result.score for result in results] == [1.0, 0.0, 0.5, None, 0.5]
    assert results[0].reason == "against a page that cannot be judged: compile_error"
    assert results[3].reason == "its picture is gone"
    assert server.calls == 0
    found = rates(results, given)
    assert (found.wins, found.ties, found.losses, found.unscored, found.flips, found.swaps) == (1, 2, 1, 1, None, 0)


def test_a_second_comparison_asks_nothing_and_other_rounds_are_other_answers(
    server: JudgeServer, tmp_path: Path
) -> None:
    server.answers = honest
    given = pairs(tmp_path, 1)
    assert server.judge(cache=tmp_path / "cache").calls_needed(questions(given[0])) == 4
    compare(given, server.judge(cache=tmp_path / "cache", max_calls=3))
    assert server.calls == 3
    assert server.judge(cache=tmp_path / "cache").calls_needed(questions(given[0])) == 1
    assert compare(given, server.judge(cache=tmp_path / "cache"))[0].score == 1.0
    assert server.calls == 4
    assert compare(given, server.judge(cache=tmp_path / "cache", max_calls=0))[0].score == 1.0


def test_missing_rounds_are_never_a_silent_tie(server: JudgeServer, tmp_path: Path) -> None:
    server.answers = lambda body: Response("down", status=500)
    given = pairs(tmp_path, 2)
    results = compare(given, server.judge(retries=0))
    assert [result.score for result in results] == [None, None]
    assert results[0].reason == "4 of 4 rounds have no answer: the server answers 500: down"
    found = rates(results, given)
    assert (found.rate, found.low, found.unscored, found.ties) == (None, None, 2, 0)


@pytest.mark.parametrize(
    ("winners", "score"),
    [
        ("AAAA", 1.0),
        ("AAAB", 1.0),
        ("ABBB", 0.0),
        ("AABB", 0.5),
        ("ABAB", 0.5),
        ("AAA-", 1.0),
        ("-BBB", 0.0),
        ("AAB-", None),
        ("AA--", None),
        ("A---", None),
        ("----", None),
        ("AB--", None),
    ],
)
def test_a_majority_counts_where_the_missing_rounds_could_not_change_it(winners: str, score: float | None) -> None:
    letters: dict[str, Any] = {"A": "A", "B": "B", "-": None}
    decided = decide([Round("A", letters[w], "" if w != "-" else "time-out") for w in winners])
    assert decided.score == score
    assert (score is None) == ("time-out" in decided.reason)


def test_half_of_the_swaps_may_flip() -> None:
    a, b = Round("A", "A"), Round("B", "B")
    kept = decide([Round("A", "A"), Round("B", "A"), Round("B", "A"), Round("A", "A")])
    turned = decide([a, b, b, a])
    half = decide([Round("A", "A"), Round("B", "A"), Round("B", "B"), Round("A", "A")])
    missing = decide([Round("A", "A"), Round("B", None, "x"), Round("B", "A"), Round("A", "A")])
    assert win_rate([kept, turned, half, missing], list("pqrs")).flips == pytest.approx(3 / 7)


def test_scores_without_a_model_compare_by_themselves() -> None:
    assert compare_scores(0.5, 0.25) == Decided(1.0, "0.500 to 0.250")
    assert compare_scores(0.25, 0.5).score == 0.0
    assert compare_scores(0.5, 0.5).score == 0.5
    assert compare_scores(None, 0.5, "not rendered") == Decided(None, "not rendered")


def test_the_interval_is_that_of_a_share() -> None:
    """Of 100 prompts 60 are won: the bootstrap's interval is near the normal one, and the same for a seed."""
    results = [Decided(1.0)] * 60 + [Decided(0.0)] * 40
    found = win_rate(results, [str(i) for i in range(100)], seed=3)
    assert found.rate == 0.6
    assert found.low == pytest.approx(0.6 - 1.96 * np.sqrt(0.24 / 100), abs=0.012)
    assert found.high == pytest.approx(0.6 + 1.96 * np.sqrt(0.24 / 100), abs=0.012)
    assert win_rate(results, [str(i) for i in range(100)], seed=3) == found


def test_pages_of_one_prompt_are_resampled_together() -> None:
    """Ten equal pages of each of 4 prompts say no more than 4 pages do."""
    scores = [1.0, 1.0, 0.0, 0.5]
    single = win_rate([Decided(s) for s in scores], list("abcd"))
    tenfold = win_rate([Decided(s) for s in scores for _ in range(10)], [p for p in "abcd" for _ in range(10)])
    assert (tenfold.low, tenfold.high) == (single.low, single.high)
    assert (tenfold.prompts, single.prompts) == (4, 4)


def test_bradley_terry_of_two_is_the_log_odds() -> None:
    strength = bradley_terry(np.array([[0.0, 30.0], [10.0, 0.0]]))
    assert strength == pytest.approx([np.log(3) / 2, -np.log(3) / 2])


def test_bradley_terry_finds_the_strengths_that_made_the_games() -> None:
    """Expected counts of known strengths are fitted by just these; another row of the batch doesn't disturb it."""
    true = np.array([1.2, 0.1, -0.4, -0.9])
    chance = 1 / (1 + np.exp(true[None, :] - true[:, None]))
    games = np.array([[0, 90, 20, 0], [90, 0, 40, 10], [20, 40, 0, 70], [0, 10, 70, 0]])
    wins = chance * games
    other = np.full((4, 4), 5.0) * (games > 0)
    both = bradley_terry(np.stack([wins, other]))
    assert both[0] == pytest.approx(true, abs=1e-6)
    assert both[1] == pytest.approx(np.zeros(4), abs=1e-9)


def test_bradley_terry_is_a_maximum_of_the_likelihood() -> None:
    wins = np.array([[0, 7, 2.5], [4, 0, 6], [3.5, 1, 0]])

    def likelihood(theta: Any) -> float:
        return float(-(wins * np.log1p(np.exp(theta[None, :] - theta[:, None]))).sum())

    best = bradley_terry(wins)
    rng = np.random.default_rng(0)
    assert all(likelihood(best) > likelihood(best + rng.normal(0, 0.1, 3)) for _ in range(200))


@pytest.mark.parametrize("wins", [[[0, 3], [0, 0]], [[0, 2, 0], [1, 0, 0], [0, 0, 0]]])
def test_without_a_finite_maximum_there_is_no_ranking(wins: list[list[float]]) -> None:
    with pytest.raises(ValueError, match="cannot be ranked"):
        bradley_terry(np.array(wins, dtype=float))


def test_a_ranking_has_intervals_and_a_finite_place_for_who_never_lost() -> None:
    games = [Game(0, 1, str(p), 1.0) for p in range(20)]
    games += [Game(1, 2, str(p), 1.0 if p < 14 else 0.5 if p < 16 else 0.0) for p in range(20)]
    games += [Game(0, 2, str(p), 1.0) for p in range(20)]
    standings = ranking(games, 3, resamples=500)
    assert [s.side for s in standings] == [0, 1, 2]
    assert [s.rate for s in standings] == pytest.approx([1.0, 15 / 40, 5 / 40])
    assert all(np.isfinite([s.low, s.high]).all() and s.low <= s.strength <= s.high for s in standings)
    assert standings[1].high > standings[1].low + 0.3
    assert sum(s.strength for s in standings) == pytest.approx(0)
    assert ranking(games, 3, resamples=500) == standings
    with pytest.raises(ValueError, match="never met"):
        ranking(games, 4)
