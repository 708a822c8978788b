"""The paper's reward for AIME: Eq. 8 by hand, the format, and steps that sums or a judge mark."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from reward_models.aime import FORMAT, AIMEReward, check, make_reward
from reward_models.base import Answer, RewardSignal, Rollout, Unscored
from reward_models.contract import RewardModelContract, pretend_tokens, sample_rollouts
from reward_models.errors import RewardError
from reward_models.loading import load_reward
from reward_models.scoring import score
from tasks.arithmetic_problems import LEVELS, problems

sys.path.append(str(Path(__file__).parents[1] / "sandbox"))
from judge_server import JudgeServer, judge_server, texts

ROW = {"id": "1", "problem": "What is (3 + 4) * 3 - 1?", "answer": 20}
GOOD = "<step 1>3 + 4 = 7</step 1>\n<step 2>7 * 3 = 21</step 2>\n<step 3>21 - 1 = 20</step 3>\n<final>20</final>"


class TestContract(RewardModelContract):
    def make_model(self) -> AIMEReward:
        return AIMEReward()

    def samples(self) -> dict[str, Rollout]:
        more = {"in tags": Rollout("p", *pretend_tokens(GOOD))}
        return {name: replace(r, row=dict(ROW)) for name, r in {**sample_rollouts(), **more}.items()}


@pytest.fixture
def server() -> Iterator[JudgeServer]:
    with judge_server() as server:
        yield server


def ask(model: AIMEReward, text: str, *, row: dict[str, Any] = ROW, truncated: bool = False) -> RewardSignal:
    [answer] = model.score([Rollout("p", text, row=row, truncated=truncated)])
    assert isinstance(answer, RewardSignal), answer
    return answer


def values(signal: RewardSignal) -> list[float]:
    return [round(s.value, 6) for s in signal.spans]


# -- Eq. 8 -------------------------------------------------------------------------------------------------------------


def test_eq_8_by_hand() -> None:
    """w_g = 3 and w_s = .5: r_t = 3 * 1[correct] + .5 * S_t + .2 on each of the steps' tokens."""
    [scored] = score(AIMEReward(window=1), [Rollout("p", *pretend_tokens(GOOD), row=ROW)])
    assert scored.signal is not None
    assert scored.signal.outcome is not None
    reward_T = 3 * scored.signal.outcome + 0.5 * scored.local_T
    for (start, end), reward in zip(scored.rollout.spans, reward_T, strict=True):
        inside = any(start < b and end > a for a, b in scored.signal.steps or ())
        assert reward == pytest.approx(3 + 0.2 + (0.5 / 3 if inside else 0), abs=1e-6), GOOD[start:end]
    assert len({round(float(r), 6) for r in reward_T}) == 2


@pytest.mark.parametrize(
    ("change", "correct", "kept"),
    [
        (("", ""), 1, "perfect"),
        (("<final>20", "<final>21"), 0, "perfect"),
        (("</step 2>", ""), 1, "mismatched"),
        (("</final>", ""), 0, "mismatched"),
        (("<final>20</final>", "So \\boxed{20}."), 1, "partial"),
        (("<step 1>", "Let us see. <step 1>"), 1, "partial"),
    ],
)
def test_the_outcome_is_correctness_and_format(change: tuple[str, str], correct: int, kept: str) -> None:
    text = GOOD.replace(*change) if change[0] else GOOD
    signal = ask(AIMEReward(), text)
    assert signal.outcome == pytest.approx(correct + FORMAT[kept] / 3)
    assert signal.details["format"] == kept
    assert ask(AIMEReward(w_format=0), text).outcome == correct
    assert ask(AIMEReward(w_format=1), text).outcome == pytest.approx(correct + FORMAT[kept])


def test_the_paper_s_bonus_and_penalty() -> None:
    assert FORMAT == {"perfect": 0.2, "mismatched": -1.0, "partial": 0.0, "none": 0.0}


def test_free_text_with_a_box_is_right_without_a_bonus() -> None:
    signal = ask(AIMEReward(), "We add: 3 + 4 = 7. So it is \\boxed{20}.")
    assert signal.outcome == 1.0
    assert signal.spans == ()
    assert signal.metrics["boxed_rate"] == 1.0
    lines = ask(AIMEReward(split="\n", window=1), "3 + 4 = 8\n7 * 3 = 21\nSo \\boxed{20}.")
    assert values(lines) == [round(-1 / 3, 6)]


def test_tags_in_a_thought_are_no_part_of_the_format() -> None:
    assert ask(AIMEReward(), f"<think><step 1>hm <final></think>\n{GOOD}").details["format"] == "perfect"
    unfinished = ask(AIMEReward(), f"<think>{GOOD}")
    assert unfinished.outcome == 0.0
    assert unfinished.details["format"] == "none"


def test_metrics() -> None:
    assert {k: v for k, v in ask(AIMEReward(), GOOD).metrics.items() if "/" not in k} == {
        "accuracy": 1.0,
        "format_rate": 1.0,
        "format_mismatched": 0.0,
        "boxed_rate": 0.0,
        "truncated": 0.0,
    }
    cut = ask(AIMEReward(), GOOD, truncated=True)
    assert (cut.metrics["accuracy"], cut.metrics["truncated"], cut.details["grade"]) == (0.0, 1.0, "truncated")
    assert ask(AIMEReward(), GOOD).details["answer"] == "20"


def test_a_row_without_a_gold_is_unscored_and_the_others_are_not() -> None:
    rollouts = [Rollout("p", GOOD, row=row) for row in ({}, ROW, {"answer": "1/3"}, {"answer": "020"})]
    answers = AIMEReward().score(rollouts)
    assert [isinstance(a, Unscored) for a in answers] == [True, False, True, False]
    assert answers[0] == Unscored("the row's answer is None: it should be an integer from 0 to 999")


@pytest.mark.parametrize("level", LEVELS)
def test_a_reference_gets_all_there_is(level: int) -> None:
    for row in problems(level, n=50):
        signal = ask(AIMEReward(), row.extra["solution"], row=row.to_dict())
        assert signal.outcome == pytest.approx(1 + 0.2 / 3)
        assert signal.metrics["arithmetic/correct"] == 1.0
        assert min(values(signal)) > 0


# -- steps -------------------------------------------------------------------------------------------------------------

WRONG = GOOD.replace("7 * 3 = 21", "7 * 3 = 24")


@pytest.mark.parametrize(
    ("settings", "local"),
    [
        ({"window": 1}, [1 / 3, -1 / 3]),
        ({"window": 3}, [0.0, 0.0, -1 / 3]),
        ({"window": 5}, [0.0, 0.0, 0.0]),
        ({"window": 1, "propagation": "independent"}, [1 / 3, -1 / 3, 1 / 3]),
        ({"window": 3, "propagation": "context"}, [0.0, 1 / 3, 0.0]),
        ({"steps": "none"}, []),
    ],
)
def test_marks_by_window_and_propagation(settings: dict[str, Any], local: list[float]) -> None:
    signal = ask(AIMEReward(**settings), WRONG)
    by_start = {s.start: s.value for s in signal.spans}
    starts = [start for start, _ in signal.steps or ()]
    assert len(starts) == 3
    found = [by_start.get(start, 0.0) for start in starts]
    assert found == pytest.approx([*local, 0.0, 0.0, 0.0][:3])
    assert signal.outcome == pytest.approx(1 + 0.2 / 3)


def test_a_judge_marks_the_steps(server: JudgeServer) -> None:
    server.script("STEP 1: +1 fine\nSTEP 2: -1 no\nSTEP 3: +1 fine")
    model = make_reward(judged(server, window=1), cache=None)
    signal = ask(model, GOOD)
    assert values(signal) == [round(1 / 3, 6), round(-1 / 3, 6)]
    assert signal.spans[1].reason == "step 2: -1 no"
    assert signal.outcome == pytest.approx(1 + 0.2 / 3)
    assert signal.metrics["steps/incorrect"] == pytest.approx(1 / 3)
    assert "What is (3 + 4) * 3 - 1?" in texts(server.bodies[0])


def test_no_judge_is_asked_about_a_row_without_a_gold(server: JudgeServer) -> None:
    server.script("STEP 1: +1\nSTEP 2: +1\nSTEP 3: +1")
    model = make_reward(judged(server), cache=None)
    answers = model.score([Rollout("p", GOOD), Rollout("p", GOOD, row=ROW)])
    assert [isinstance(a, RewardSignal) for a in answers] == [False, True]
    assert len(server.bodies) == 1


def test_marks_that_cannot_be_had(server: JudgeServer) -> None:
    server.script("I would rather not.")
    settings = judged(server, retries=0)
    [answer] = make_reward(settings, cache=None).score([Rollout("p", GOOD, row=ROW)])
    assert isinstance(answer, Unscored)
    assert answer.reason.startswith("no marks: ")
    signal = ask(make_reward({**settings, "missing_judge": "zero"}, cache=None), GOOD)
    assert signal.outcome == pytest.approx(1 + 0.2 / 3)
    assert signal.spans == ()
    assert len(signal.steps or ()) == 3


def test_the_judge_s_answers_are_kept_in_the_run_s_cache(server: JudgeServer, tmp_path: Path) -> None:
    server.script("STEP 1: +1\nSTEP 2: +1\nSTEP 3: +1")
    for _ in range(2):
        ask(make_reward(judged(server), cache=tmp_path), GOOD)
    assert len(server.bodies) == 1
    assert list(tmp_path.rglob("*"))


def judged(server: JudgeServer, *, retries: int = 1, **settings: Any) -> dict[str, Any]:
    judge = {"model": "m", "base_url": server.url, "backoff_s": 0.0, "retries": retries}
    return {"steps": "judge", "judge": judge, **settings}


# -- settings ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"w_fromat": 1}, "reward_settings has no w_fromat; there are: judge, "),
        ({"steps": "sums"}, "steps is one of arithmetic, judge, none, not 'sums'"),
        ({"steps": "judge"}, "steps: judge and the judge's settings"),
        ({"judge": {"model": "m", "base_url": "http://localhost:1/v1"}}, "steps: judge and the judge's settings"),
        ({"steps": "judge", "judge": "gpt"}, "judge is a mapping of the judge's settings"),
        ({"steps": "judge", "judge": {"modell": "m"}}, "judge has no modell; there are: "),
        ({"steps": "judge", "judge": {"model": "m", "api_key": "k"}}, "api_key would be written"),
        ({"window": 2}, "window is an odd number of steps"),
        ({"propagation": "all"}, "propagation is one of error, context, independent"),
        ({"split": ""}, "split is one of"),
        ({"split": "("}, "is no regular expression"),
        ({"missing_judge": "skip"}, "missing_judge is unscored or zero"),
        ({"w_format": "high"}, "w_format is a number, not 'high'"),
        ({"w_format": float("nan")}, "w_format is a number"),
    ],
)
def test_settings_that_cannot_be_are_one_line(settings: dict[str, Any], said: str) -> None:
    with pytest.raises(RewardError, match=re.escape(said)) as error:
        check(settings)
    assert "\n" not in str(error.value)
    assert str(error.value).startswith("reward_settings")


def test_it_has_a_name() -> None:
    model = load_reward("aime", window=1, steps="none")
    assert isinstance(model, AIMEReward)
    answer: Answer = model.score([Rollout("p", GOOD, row=ROW)])[0]
    assert isinstance(answer, RewardSignal)
