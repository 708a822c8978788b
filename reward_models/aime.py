"""The paper's reward for AIME (BoT-GRPO, Eq. 8): is the answer right, is the format kept, are the steps right?

    r_t = w_g * 1[correct] + w_s * S_t + b_format,   S_t = 1/|S| * sum of e_s over the steps s around t

w_g = 3 and w_s = 0.5 are the paper's, and the trainer's (`w_g`, `w_s`). What the trainer multiplies by w_g is the
outcome, so b_format is in it as w_format * b_format, with w_format = 1/3 for w_g = 3.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, get_args

from reward_models.arithmetic import ArithmeticReward
from reward_models.base import Answer, RewardSignal, Rollout, TokenRewardModel, Unscored
from reward_models.errors import RewardError
from reward_models.plain_settings import check_known, is_number, judge_settings
from reward_models.step_marks import check_marks
from reward_models.step_text import Split, SplitError, check_split, split_steps
from reward_models.steps import StepsReward
from sandbox.judge_settings import JudgeSettings
from tasks.aime_format import format_of
from tasks.answers import after_thoughts, gold_integer, grade

FORMAT = {"perfect": 0.2, "mismatched": -1.0, "partial": 0.0, "none": 0.0}
"""b_format by what `tasks.aime_format.format_of` says. The paper gives the first two."""

Steps = Literal["arithmetic", "judge", "none"]


@dataclass
class AIMEReward:
    """Scores replies to rows with an `answer` from 0 to 999 (`tasks.aime.AIMERow.to_dict()`).

    Args:
        w_format: what b_format counts in the outcome; 1 / w_g gives Eq. 8, 0 turns it off.
        steps: who marks the steps: "arithmetic" (their sums, see `reward_models.arithmetic`), "judge" (a model, as in
            the paper; see `reward_models.steps`), or "none" (the outcome alone: the paper's GRPO baseline).
        propagation, window: how marks become S (`reward_models.step_marks`); the defaults are the paper's.
        split, min_chars, max_steps: how steps are found (`reward_models.step_text`): by the paper's tags; a reply in
            free text has none of them, so give "\\n\\n" where there are no tags to be expected.
        rounding: as for `ArithmeticReward`.
        judge: settings of the judge (`sandbox.judge_settings.JudgeSettings`): model, base_url, cache, ...
        missing_judge: what marks that could not be had make of a rollout: "unscored", or "zero" for S alone.

    Raises:
        RewardError: a setting that is none; one line.
    """

    w_format: float = 1 / 3
    steps: Steps = "arithmetic"
    propagation: str = "error"
    window: int = 3
    split: Split = "tags"
    min_chars: int = 1
    max_steps: int | None = None
    rounding: bool = True
    judge: Mapping[str, Any] | JudgeSettings | None = None
    missing_judge: Literal["unscored", "zero"] = "unscored"
    bound: float = field(default=1.0, init=False)
    spread: str = field(default="every", init=False)

    def __post_init__(self) -> None:
        if not is_number(self.w_format):
            raise RewardError(f"w_format is a number, not {self.w_format!r}")
        if self.steps not in get_args(Steps):
            raise RewardError(f"steps is one of {', '.join(get_args(Steps))}, not {self.steps!r}")
        if self.missing_judge not in ("unscored", "zero"):
            raise RewardError(f"missing_judge is unscored or zero, not {self.missing_judge!r}")
        if (self.steps == "judge") != (self.judge is not None):
            raise RewardError("steps: judge and the judge's settings (judge: {model: ...}) need each other")
        check_marks(self.propagation, self.window)
        check_split(self.split)
        self._marker = self._make_marker()

    def _make_marker(self) -> TokenRewardModel | None:
        shared: dict[str, Any] = {
            "propagation": self.propagation,
            "window": self.window,
            "split": self.split,
            "min_chars": self.min_chars,
        }
        if self.steps == "arithmetic":
            return ArithmeticReward(**shared, max_steps=self.max_steps, rounding=self.rounding)
        if self.judge is not None:
            most: dict[str, Any] = {} if self.max_steps is None else {"max_steps": self.max_steps}
            return StepsReward(self.judge, **shared, **most)
        return None

    def score(self, rollouts: Sequence[Rollout]) -> list[Answer]:
        """One answer a rollout, in their order. A row without an answer is unscored, and no judge is asked about it."""
        golds = [gold_integer(r.row.get("answer")) for r in rollouts]
        asked = [i for i, gold in enumerate(golds) if gold is not None]
        marked = dict(zip(asked, self._marked([rollouts[i] for i in asked]), strict=True))
        return [
            Unscored(f"the row's answer is {r.row.get('answer')!r}: it should be an integer from 0 to 999")
            if gold is None
            else self._answer(r, gold, marked[i])
            for i, (r, gold) in enumerate(zip(rollouts, golds, strict=True))
        ]

    def _marked(self, rollouts: Sequence[Rollout]) -> Sequence[Answer]:
        if self._marker is None:
            return [self._unmarked(r.completion) for r in rollouts]
        answers = self._marker.score(rollouts) if rollouts else []
        assert isinstance(answers, list)
        return answers

    def _unmarked(self, text: str) -> Answer:
        try:
            steps = split_steps(text, self.split, min_chars=self.min_chars, max_steps=self.max_steps)
        except SplitError as error:
            return Unscored(str(error))
        return RewardSignal(None, steps=tuple((s.start, s.end) for s in steps))

    def _answer(self, rollout: Rollout, gold: int, marked: Answer) -> Answer:
        if not isinstance(marked, RewardSignal):
            if self.missing_judge == "unscored" or self.steps != "judge":
                return marked
            marked = self._unmarked(rollout.completion)
            if not isinstance(marked, RewardSignal):
                return marked
        graded = grade(rollout.completion, gold, truncated=rollout.truncated)
        kept = format_of(rollout.completion[after_thoughts(rollout.completion) :])
        return RewardSignal(
            outcome=float(graded.correct) + self.w_format * FORMAT[kept],
            spans=marked.spans,
            metrics={
                "accuracy": float(graded.correct),
                "format_rate": float(kept == "perfect"),
                "format_mismatched": float(kept == "mismatched"),
                "boxed_rate": float(graded.boxed),
                "truncated": float(rollout.truncated),
                **marked.metrics,
            },
            details={"answer": graded.answer, "grade": graded.reason, "format": kept, **marked.details},
            steps=marked.steps,
        )


_FIELDS = frozenset(name for name, f in AIMEReward.__dataclass_fields__.items() if f.init)


def check(settings: Mapping[str, Any]) -> None:
    """A RewardError, one line, for a setting that is not known or a judge that cannot be asked."""
    make_reward(settings, cache=None)


def make_reward(settings: Mapping[str, Any], *, cache: Path | None) -> AIMEReward:
    """The reward from plain settings. The judge's answers are kept in `cache`, unless its settings say where."""
    check_known(settings, _FIELDS, "reward_settings")
    judge = {} if settings.get("judge") is None else {"judge": judge_settings(settings, "judge", cache)}
    try:
        return AIMEReward(**{**settings, **judge})
    except (TypeError, ValueError) as error:
        raise RewardError(f"reward_settings: {error}") from error
