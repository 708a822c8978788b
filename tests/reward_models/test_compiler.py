"""The React reward: G from a verdict, S from its flagged lines."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from reward_models.alignment import spread_spans
from reward_models.base import Rollout
from reward_models.compiler import CompilerReward
from sandbox.extract import extract
from sandbox.judge import CodeTask, LineMark, ScreenshotTask, Verdict
from sandbox.outcome import Diagnostic, Outcome, PageScore, RequirementResult, Status
from sandbox.pool import Item

CODE = "\n".join(f"line {n}" for n in range(1, 11))
COMPONENT = "export default function App() {\n  return (\n    <p>hi</p>\n  );\n}"


class StubSandbox:
    """Stands where a real sandbox would, to give chosen verdicts."""

    def __init__(self, *outcomes: Outcome) -> None:
        self.outcomes = list(outcomes)
        self.items: list[Item] = []

    def run(self, items: Sequence[Item]) -> list[Outcome]:
        self.items = list(items)
        return self.outcomes


def flagged(*lines: int, severity: str = "error") -> tuple[Diagnostic, ...]:
    return tuple(Diagnostic("esbuild", severity, n, 1, f"wrong {n}") for n in lines)  # type: ignore[arg-type]


def met(*flags: bool) -> tuple[RequirementResult, ...]:
    return tuple(RequirementResult(f) for f in flags)


@pytest.mark.parametrize(
    ("outcome", "expected"),
    [
        (Outcome(Status.OK, requirements=met(True, True)), 1.0),
        (Outcome(Status.OK, requirements=met(True, False)), 0.75),
        (Outcome(Status.OK, requirements=met(False, False)), 0.5),
        (Outcome(Status.RUNTIME_ERROR), 0.25),
        (Outcome(Status.TIMEOUT), 0.25),
        (Outcome(Status.BLANK), 0.0),
        (Outcome(Status.COMPILE_ERROR), -0.5),
        (Outcome(Status.NO_CODE), -0.5),
    ],
)
def test_the_outcome_is_compile_plus_render_plus_requirements(outcome: Outcome, expected: float) -> None:
    assert CompilerReward(StubSandbox(), failure=-0.5).outcome(outcome, 2) == expected


def test_a_row_without_requirements_earns_their_part_by_rendering() -> None:
    reward = CompilerReward(StubSandbox())
    assert reward.outcome(Outcome(Status.OK), 0) == 1.0
    assert reward.outcome(Outcome(Status.RUNTIME_ERROR), 0) == 0.25


def by_line(reward: CompilerReward, diagnostics: tuple[Diagnostic, ...], reply: str = COMPONENT) -> list[float]:
    """S at the first character of each line of the component."""
    found = extract(reply)
    spans = reward.penalties(found, diagnostics, len(reply))
    chars = spread_spans(spans, tuple((i, i + 1) for i in range(len(reply))))
    return [round(float(chars[start]), 6) for start in found.line_starts]


def test_a_penalty_decays_linearly_over_three_lines() -> None:
    assert by_line(CompilerReward(StubSandbox()), flagged(1)) == [-1.0, -0.75, -0.5, -0.25, 0.0]


def test_penalties_of_near_lines_add_up_and_keep_the_bound() -> None:
    reward = CompilerReward(StubSandbox())
    assert by_line(reward, flagged(2, 3)) == [-1.25, -1.75, -1.75, -1.25, -0.75]
    assert min(by_line(reward, flagged(1, 2, 3, 4, 5))) == -reward.bound


def test_a_line_flagged_twice_counts_once_and_a_warning_counts_a_tenth() -> None:
    reward = CompilerReward(StubSandbox(), window=0)
    assert by_line(reward, flagged(2, 2)) == [0, -1, 0, 0, 0]
    assert by_line(reward, flagged(2, severity="warning")) == [0, -0.1, 0, 0, 0]
    assert by_line(reward, flagged(2, severity="warning") + flagged(2)) == [0, -1, 0, 0, 0]


def test_renormalised_penalties_share_one_line_and_the_first_error_can_stand_alone() -> None:
    assert by_line(CompilerReward(StubSandbox(), window=0, renormalize=True), flagged(1, 3)) == [-0.5, 0, -0.5, 0, 0]
    assert by_line(CompilerReward(StubSandbox(), window=0, first_error_only=True), flagged(3, 1)) == [-1, 0, 0, 0, 0]


def test_lines_are_those_of_the_code_wherever_it_stands_in_the_reply() -> None:
    reply = f"Here you are:\n\n```jsx\n{COMPONENT}\n```\nEnjoy!"
    assert by_line(CompilerReward(StubSandbox(), window=0), flagged(3), reply) == [0, 0, -1, 0, 0]
    spans = CompilerReward(StubSandbox(), window=0).penalties(extract(reply), flagged(3), len(reply))
    assert [reply[a:b] for a, b, *_ in spans] == ["    <p>hi</p>\n"]
    assert spans[0].reason == "wrong 3"


def test_a_diagnostic_past_the_end_of_the_code_lands_nowhere() -> None:
    assert by_line(CompilerReward(StubSandbox(), window=0), flagged(99)) == [0] * 5


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"window": -3}, "window is a whole number of lines, 0 to 1000, not -3"),
        ({"window": 1.5}, "not 1.5"),
        ({"window": 10**9}, "0 to 1000"),
        ({"window": "a"}, "not 'a'"),
        ({"w_compile": float("nan")}, "w_compile is a number, not nan"),
        ({"blank_penalty": float("inf")}, "blank_penalty is a number"),
        ({"w_requirements": -5}, "w_requirements is 0 or more, not -5"),
        ({"line_penalty": 0.5}, "line_penalty is 0 or less, not 0.5"),
        ({"line_penalty": True}, "line_penalty is a number, not True"),
    ],
)
def test_settings_that_no_reward_can_have_are_refused(settings: dict[str, Any], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        CompilerReward(None, **settings)  # type: ignore[arg-type]


def test_score_hands_requirements_to_the_sandbox_and_reports_rates() -> None:
    requirement = {"check": "role", "role": "button"}
    sandbox = StubSandbox(Outcome(Status.OK, COMPONENT, requirements=met(True)), Outcome(Status.COMPILE_ERROR))
    rollouts = [Rollout("p", COMPONENT, row={"requirements": [requirement]}), Rollout("p", "const a = <p")]
    good, bad = CompilerReward(sandbox).score(rollouts)
    assert sandbox.items[0].requirements == (requirement,)
    assert good is not None
    assert bad is not None
    assert (good.outcome, bad.outcome) == (1.0, 0.0)
    assert good.metrics == {"compile_rate": 1, "render_rate": 1, "blank_rate": 0, "requirements": 1, "success": 1}
    assert bad.metrics == {"compile_rate": 0, "render_rate": 0, "blank_rate": 0, "requirements": 0, "success": 0}


def test_a_local_penalty_never_outweighs_the_outcome_by_default() -> None:
    """Paper's design rule w_g >> w_s B, for a correct rollout with a warning against a wrong one without any."""
    reward = CompilerReward(StubSandbox())
    worst_correct = reward.outcome(Outcome(Status.OK, requirements=met(True)), 1) + 0.1 * reward.line_penalty
    best_wrong = reward.outcome(Outcome(Status.COMPILE_ERROR), 1)
    assert worst_correct > best_wrong
    assert np.isfinite(reward.bound)


# -- lint, page and judges --------------------------------------------------------------------------------------------


class StubJudge:
    """Stands where a model would, to give chosen verdicts, and keeps what it was asked."""

    def __init__(self, *verdicts: Verdict) -> None:
        self.verdicts = verdicts
        self.asked: list[CodeTask | ScreenshotTask] = []

    def judge_code(self, tasks: Sequence[CodeTask]) -> list[Verdict]:
        self.asked += tasks
        return list(self.verdicts)

    def judge_screenshots(self, tasks: Sequence[ScreenshotTask]) -> list[Verdict]:
        self.asked += tasks
        return list(self.verdicts)


def only(**weights: Any) -> dict[str, Any]:
    """Settings that leave nothing but `weights` in G and on lines."""
    return {"w_compile": 0, "w_render": 0, "w_requirements": 0, "blank_penalty": 0, "line_penalty": 0} | weights


def score(outcome: Outcome, **settings: Any) -> Any:
    """The signal of one rollout, or None."""
    return CompilerReward(StubSandbox(outcome), **settings).score([Rollout("ask", COMPONENT)])[0]


def lint(severity: str, line: int = 1) -> Diagnostic:
    return Diagnostic("eslint", severity, line, 1, severity)  # type: ignore[arg-type]


def test_lint_adds_its_weights_to_the_outcome_and_stops_at_minus_one() -> None:
    found = lint("error"), lint("error", 2), lint("warning", 3), *flagged(4)
    outcome = Outcome(Status.OK, COMPONENT, diagnostics=found)
    assert score(outcome, **only(w_lint=1.0)).outcome == pytest.approx(-0.22)
    many = Outcome(Status.OK, COMPONENT, diagnostics=(lint("fatal"),) * 9)
    assert score(many, **only(w_lint=0.5)).outcome == -0.5
    assert score(outcome, **only()).outcome == 0


def test_lint_is_no_matter_of_the_compilers_lines() -> None:
    assert by_line(CompilerReward(StubSandbox(), window=0), (lint("error", 2), *flagged(3))) == [0, 0, -1, 0, 0]


def test_lines_of_all_sources_add_up_each_at_its_scale() -> None:
    verdict = Verdict(5.0, (LineMark(2, -3, "slow"), LineMark(3, -1, "odd")))
    outcome = Outcome(Status.OK, COMPONENT, diagnostics=(lint("error", 2),), screenshot=Path("page.png"))
    settings = only(window=0, lint_lines=1, code_judge_lines=1, screenshot_judge_lines=0.2)
    judges = {"code_judge": StubJudge(verdict), "screenshot_judge": StubJudge(verdict)}
    spans = score(outcome, **settings, **judges).spans
    assert [(COMPONENT[s.start : s.end].strip(), round(s.value, 6), s.reason) for s in spans] == [
        ("return (", -0.46, "error; slow; slow"),
        ("<p>hi</p>", -0.12, "odd; odd"),
    ]


@pytest.mark.parametrize(
    ("outcome", "verdicts", "expected"),
    [
        (Outcome(Status.OK, COMPONENT), [Verdict(7.0)], 0.7),
        (Outcome(Status.COMPILE_ERROR, COMPONENT), [Verdict(2.0)], 0.2),
        (Outcome(Status.OK, COMPONENT), [Verdict(0.0, not_react=True)], -0.3),
        (Outcome(Status.NO_CODE), [], -0.3),
        (Outcome(Status.NOT_COMPONENT, "print()"), [], -0.3),
    ],
)
def test_a_code_judge_is_asked_about_components_alone(
    outcome: Outcome, verdicts: list[Verdict], expected: float
) -> None:
    judge = StubJudge(*verdicts)
    assert score(outcome, **only(w_code_judge=1, code_judge=judge)).outcome == pytest.approx(expected)
    assert judge.asked == [CodeTask("ask", COMPONENT)] * len(verdicts)


@pytest.mark.parametrize(
    ("outcome", "verdicts", "expected"),
    [
        (Outcome(Status.OK, COMPONENT, screenshot=Path("p.png")), [Verdict(7.0)], 0.7),
        (Outcome(Status.OK, COMPONENT), [], 0.0),
        (Outcome(Status.BLANK, COMPONENT, screenshot=Path("p.png")), [], 0.0),
        (Outcome(Status.RUNTIME_ERROR, COMPONENT), [], 0.0),
        (Outcome(Status.COMPILE_ERROR, COMPONENT), [], -0.3),
        (Outcome(Status.NO_CODE), [], -0.3),
    ],
)
def test_a_screenshot_judge_is_asked_about_pages_alone(
    outcome: Outcome, verdicts: list[Verdict], expected: float
) -> None:
    judge = StubJudge(*verdicts)
    assert score(outcome, **only(w_screenshot_judge=1, screenshot_judge=judge)).outcome == pytest.approx(expected)
    assert len(judge.asked) == len(verdicts)


def test_a_page_by_rules_counts_where_there_is_one() -> None:
    seen = Outcome(Status.OK, COMPONENT, page=PageScore(0.5, {}))
    assert score(seen, **only(w_page=0.4)).outcome == pytest.approx(0.2)
    assert score(Outcome(Status.RUNTIME_ERROR, COMPONENT), **only(w_page=0.4)).outcome == 0


def test_a_score_that_could_not_be_had_leaves_the_rollout_unscored_or_counts_as_zero_by_choice() -> None:
    outcome, judge = Outcome(Status.OK, COMPONENT), StubJudge(Verdict(None, reason="the server is down"))
    assert score(outcome, w_code_judge=1, code_judge=judge) is None
    assert score(outcome, **only(w_code_judge=1, code_judge=judge, missing_judge="zero")).outcome == 0
    assert score(outcome, **only(code_judge_lines=1, code_judge=judge)) is not None, "lines alone are no score"


def test_weights_without_a_judge_and_judges_without_weight() -> None:
    with pytest.raises(ValueError, match="w_code_judge and code_judge_lines need a code_judge"):
        CompilerReward(StubSandbox(), w_code_judge=1)
    judge = StubJudge()
    assert score(Outcome(Status.OK, COMPONENT), code_judge=judge, screenshot_judge=judge) is not None
    assert judge.asked == []
