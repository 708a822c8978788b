"""The React reward: what the sandbox and its judges say of a component, as one outcome G and penalties on lines
(BoT-GRPO, Eq. 6-7 and appendix D).

    G   = w_compile [compiles] + w_render [renders] + w_requirements * share of the row's requirements met
          - blank_penalty [blank] + failure [does not compile]
          + w_lint * L + w_page * rules + w_code_judge * J_code + w_screenshot_judge * J_screenshot
    S_t = sum over flagged lines l of p_l * phi(|line(t) - l|),   phi(d) = max(0, 1 - d / (window + 1))

The paper gives the form of both, p_l = -1 for a line that the compiler flags, ESLint's weights, a tenth of a judge's
impact, and window = 3; how the parts are weighted against each other it does not say, so every coefficient here is a
setting of ours. Of the second line of G nothing is asked for, or paid for, by default.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol

from reward_models.base import RewardSignal, Rollout, Span
from reward_models.plain_settings import is_number
from sandbox.extract import Extraction, extract
from sandbox.judge import CodeTask, ScreenshotTask, Verdict
from sandbox.outcome import Diagnostic, Outcome, Status
from sandbox.pool import Item

LINT_WEIGHTS = {"fatal": -0.5, "error": -0.1, "warning": -0.02}
"""What an ESLint finding adds to G, and puts on its line (BoT-GRPO, section 4)."""

FAILED = -0.3
"""A judge's part of G for what is no React component, or shows no page because it does not compile (appendix D)."""

MOST_LINES = 1000
"""The widest window; a component has fewer lines."""

_COEFFICIENTS = (
    *("w_compile", "w_render", "w_requirements", "blank_penalty", "failure", "w_lint", "w_page"),
    *("w_code_judge", "w_screenshot_judge", "line_penalty"),
    *("lint_lines", "code_judge_lines", "screenshot_judge_lines"),
)

Mark = tuple[int, float, str]
"""A line of the extracted code from 1, its penalty, and why."""


class Judges(Protocol):
    """What the reward needs of a sandbox: verdicts in input order."""

    def run(self, items: Sequence[Item]) -> list[Outcome]: ...


class CodeJudge(Protocol):
    """A model that reads code (`sandbox.judge.Judge`)."""

    def judge_code(self, tasks: Sequence[CodeTask]) -> list[Verdict]: ...


class ScreenshotJudge(Protocol):
    """A model that looks at pages (`sandbox.judge.Judge`)."""

    def judge_screenshots(self, tasks: Sequence[ScreenshotTask]) -> list[Verdict]: ...


@dataclass
class CompilerReward:
    """Scores React replies through a sandbox, and by judges where they are given.

    Args:
        sandbox: anything with `run(items)`; its owner closes it. It lints and scores pages if the weights below ask.
        w_compile, w_render, w_requirements: the parts of G; they add up to 1 by default.
        blank_penalty: taken off a page that shows nothing.
        failure: G of a reply that does not compile (the paper: a "large negative penalty", value not given).
        w_lint: weight of L, the sum of LINT_WEIGHTS over ESLint's findings, at least -1; 0 is off, as for all below.
        w_page: weight of the page's score by rules, in [0, 1]; 0 where no page was rendered.
        w_code_judge, w_screenshot_judge: weight of a judge's score / 10. What is no component, and for the screenshot
            what does not compile, gets FAILED; a component without a screenshot gets 0 of the latter. No call is made.
        line_penalty: p_l of a line that the compiler flags, <= 0 (0: none); a warning counts a tenth of it.
        lint_lines, code_judge_lines, screenshot_judge_lines: scale of the penalties on lines that ESLint
            (LINT_WEIGHTS) and the judges (impact / 10) name; the screenshot judge's need `lines` in its settings.
        window: how many lines away a penalty still reaches; 0 is the flagged line alone.
        first_error_only: after a syntax error a compiler's later errors are often echoes of the first.
        renormalize: divide the compiler's penalties by the number of its lines, so that they add up to one line's.
        missing_judge: what a score that could not be had makes of a rollout: "unscored", or "zero" as in the paper.
        code_judge, screenshot_judge: asked where their weight, or that of their lines, is not 0.
    """

    sandbox: Judges
    w_compile: float = 0.25
    w_render: float = 0.25
    w_requirements: float = 0.5
    blank_penalty: float = 0.25
    failure: float = 0.0
    w_lint: float = 0.0
    w_page: float = 0.0
    w_code_judge: float = 0.0
    w_screenshot_judge: float = 0.0
    line_penalty: float = -1.0
    lint_lines: float = 0.0
    code_judge_lines: float = 0.0
    screenshot_judge_lines: float = 0.0
    window: int = 3
    first_error_only: bool = False
    renormalize: bool = False
    missing_judge: Literal["unscored", "zero"] = "unscored"
    code_judge: CodeJudge | None = None
    screenshot_judge: ScreenshotJudge | None = None
    spread: str = field(default="every", init=False)

    def __post_init__(self) -> None:
        if self.missing_judge not in ("unscored", "zero"):
            raise ValueError(f"missing_judge is 'unscored' or 'zero', not {self.missing_judge!r}")
        for name in _COEFFICIENTS:
            value = getattr(self, name)
            if not is_number(value):
                raise ValueError(f"{name} is a number, not {value!r}")
            if value < 0 and name not in ("failure", "line_penalty"):
                raise ValueError(f"{name} is 0 or more, not {value!r}")
        if self.line_penalty > 0:
            raise ValueError(f"line_penalty is 0 or less, not {self.line_penalty!r}")
        if isinstance(self.window, bool) or not isinstance(self.window, int) or not 0 <= self.window <= MOST_LINES:
            raise ValueError(f"window is a whole number of lines, 0 to {MOST_LINES}, not {self.window!r}")
        for name in ("code_judge", "screenshot_judge"):
            if (getattr(self, f"w_{name}") or getattr(self, f"{name}_lines")) and getattr(self, name) is None:
                raise ValueError(f"w_{name} and {name}_lines need a {name}: say which model it is")

    @property
    def bound(self) -> float:
        """B of |S_t| <= B: one line's penalty where only one counts or all share it; else the sum is cut at two."""
        others = 0.5 * self.lint_lines, 0.3 * self.code_judge_lines, 0.3 * self.screenshot_judge_lines
        one = not any(others) and (self.first_error_only or self.renormalize)
        return max(abs(self.line_penalty), *others) * (1 if one else 2)

    def score(self, rollouts: Sequence[Rollout]) -> list[RewardSignal | None]:
        """One signal a rollout. A rollout whose component crashed the sandbox twice is unscored (None)."""
        items = [Item(text=r.completion, requirements=tuple(r.row.get("requirements") or ())) for r in rollouts]
        outcomes = self.sandbox.run(items)
        prompts = [_asked(r) for r in rollouts]
        code, screenshots = self._judge_code(prompts, outcomes), self._judge_screenshots(prompts, outcomes)
        return [self._signal(*each) for each in zip(rollouts, outcomes, code, screenshots, strict=True)]

    def _judge_code(self, prompts: Sequence[str], outcomes: Sequence[Outcome]) -> list[Verdict | None]:
        """A verdict a component; None for what is none, and where the judge is off."""
        on = self.code_judge is not None and (self.w_code_judge or self.code_judge_lines)
        tasks = {i: CodeTask(prompts[i], o.code) for i, o in enumerate(outcomes) if on and _is_component(o)}
        verdicts = self.code_judge.judge_code(list(tasks.values())) if self.code_judge and tasks else []
        found = dict(zip(tasks, verdicts, strict=True))
        return [found.get(i) for i in range(len(outcomes))]

    def _judge_screenshots(self, prompts: Sequence[str], outcomes: Sequence[Outcome]) -> list[Verdict | None]:
        """A verdict a page; None for what shows none, and where the judge is off."""
        on = self.screenshot_judge is not None and (self.w_screenshot_judge or self.screenshot_judge_lines)
        tasks = {
            i: ScreenshotTask(prompts[i], o.screenshot, o.code)
            for i, o in enumerate(outcomes)
            if on and o.status is Status.OK and o.screenshot is not None
        }
        verdicts = (
            self.screenshot_judge.judge_screenshots(list(tasks.values())) if self.screenshot_judge and tasks else []
        )
        found = dict(zip(tasks, verdicts, strict=True))
        return [found.get(i) for i in range(len(outcomes))]

    def _signal(
        self, rollout: Rollout, outcome: Outcome, code: Verdict | None, screenshot: Verdict | None
    ) -> RewardSignal | None:
        if outcome.status is Status.CRASHED or (self.missing_judge == "unscored" and self._missing(code, screenshot)):
            return None
        marks = [
            *_lint_marks(outcome.diagnostics, self.lint_lines),
            *_judge_marks(code, self.code_judge_lines),
            *_judge_marks(screenshot, self.screenshot_judge_lines),
        ]
        found, length = extract(rollout.completion), len(rollout.completion)
        judged = self._judged(outcome, code, screenshot)
        return RewardSignal(
            outcome=self.outcome(outcome, n_requirements=len(rollout.row.get("requirements") or ()))
            + sum(judged.values()),
            spans=tuple(self.penalties(found, outcome.diagnostics, length, marks)),
            metrics={
                "compile_rate": float(outcome.compiled),
                "render_rate": float(outcome.status is Status.OK),
                "blank_rate": float(outcome.status is Status.BLANK),
                "requirements": outcome.requirements_met,
                "success": float(outcome.status is Status.OK and outcome.requirements_met == 1.0),
                **{f"G/{name}": value for name, value in judged.items()},
            },
            details={"sandbox": outcome, "code_judge": code, "screenshot_judge": screenshot},
        )

    def _missing(self, code: Verdict | None, screenshot: Verdict | None) -> bool:
        """Whether a score that G wants could not be had. Lines that could not be had are no penalty."""
        wanted = (self.w_code_judge, code), (self.w_screenshot_judge, screenshot)
        return any(weight and verdict is not None and verdict.score is None for weight, verdict in wanted)

    def _judged(self, outcome: Outcome, code: Verdict | None, screenshot: Verdict | None) -> dict[str, float]:
        """The weighted parts of G that are not compiler, page and requirements; those that are on."""
        parts: dict[str, float] = {}
        if self.w_lint:
            found = (LINT_WEIGHTS[d.severity] for d in outcome.diagnostics if d.source == "eslint")
            parts["lint"] = self.w_lint * max(sum(found), -1.0)
        if self.w_page:
            parts["page"] = self.w_page * (outcome.page.score if outcome.page is not None else 0.0)
        if self.w_code_judge:
            failed = not _is_component(outcome) or (code is not None and code.not_react)
            parts["code_judge"] = self.w_code_judge * (FAILED if failed else _tenth(code))
        if self.w_screenshot_judge:
            parts["screenshot_judge"] = self.w_screenshot_judge * (_tenth(screenshot) if outcome.compiled else FAILED)
        return parts

    def outcome(self, outcome: Outcome, n_requirements: int) -> float:
        """G. A row without requirements asks for a page that renders, so rendering earns their part too."""
        if not outcome.compiled:
            return self.failure
        rendered = outcome.status is Status.OK
        share = outcome.requirements_met if n_requirements else float(rendered)
        return (
            self.w_compile
            + self.w_render * rendered
            + self.w_requirements * share
            - self.blank_penalty * (outcome.status is Status.BLANK)
        )

    def penalties(
        self, found: Extraction, diagnostics: Sequence[Diagnostic], length: int, marks: Iterable[Mark] = ()
    ) -> list[Span]:
        """S as spans over whole lines of the reply, `length` characters long: additive over flagged lines."""
        values: dict[int, float] = {}
        reasons: dict[int, str] = {}
        for line, penalty, message in [*self._compiler_marks(diagnostics), *marks]:
            for near in range(line - self.window, line + self.window + 1):
                values[near] = values.get(near, 0.0) + penalty * (1 - abs(near - line) / (self.window + 1))
            reasons[line] = f"{reasons[line]}; {message}" if line in reasons else message
        starts = [*found.line_starts, length]
        return [
            Span(starts[n - 1], starts[n], max(value, -self.bound), reasons.get(n, ""))
            for n, value in sorted(values.items())
            if 1 <= n < len(starts) and starts[n - 1] < starts[n] and value
        ]

    def _compiler_marks(self, diagnostics: Sequence[Diagnostic]) -> list[Mark]:
        flagged: dict[int, tuple[float, str]] = {}
        for d in diagnostics:
            weight = 0.1 if d.severity == "warning" else 1.0
            if d.source != "eslint" and weight > flagged.get(d.line, (0.0, ""))[0]:
                flagged[d.line] = (weight, d.message)
        if self.first_error_only and flagged:
            line = min(flagged, key=lambda n: (-flagged[n][0], n))
            flagged = {line: flagged[line]}
        scale = self.line_penalty / (len(flagged) if self.renormalize and flagged else 1)
        return [(line, scale * weight, message) for line, (weight, message) in flagged.items() if scale]


def _lint_marks(diagnostics: Sequence[Diagnostic], scale: float) -> list[Mark]:
    found = [d for d in diagnostics if d.source == "eslint"] if scale else []
    return [(d.line, scale * LINT_WEIGHTS[d.severity], d.message) for d in found]


def _judge_marks(verdict: Verdict | None, scale: float) -> list[Mark]:
    marks = verdict.lines if verdict is not None and scale else ()
    return [(m.line, scale * m.impact / 10, m.reason) for m in marks]


def _tenth(verdict: Verdict | None) -> float:
    """A judge's score in [0, 1]; 0 where there is none."""
    return (verdict.score or 0.0) / 10 if verdict is not None else 0.0


def _is_component(outcome: Outcome) -> bool:
    return bool(outcome.code) and outcome.status not in (Status.NO_CODE, Status.NOT_COMPONENT, Status.TOO_LARGE)


def _asked(rollout: Rollout) -> str:
    """What the person asked for, for a judge to read: the row's prompt, or else the rollout's."""
    row: Mapping[str, object] = rollout.row
    return str(row.get("prompt") or rollout.prompt)
