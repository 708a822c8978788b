"""The React reward: what the sandbox says of a component, as one outcome G and penalties on lines (BoT-GRPO, Eq. 6-7).

    G   = w_compile [compiles] + w_render [renders] + w_requirements * share of the row's requirements met
          - blank_penalty [blank] + failure [does not compile]
    S_t = sum over flagged lines l of p_l * phi(|line(t) - l|),   phi(d) = max(0, 1 - d / (window + 1))

The paper gives the form of both, p_l = -1 for a line that the compiler flags and window = 3; how the parts of G are
weighted it does not say, so every coefficient here is a setting of ours.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

from reward_models.base import RewardSignal, Rollout, Span
from sandbox.extract import Extraction, extract
from sandbox.outcome import Diagnostic, Outcome, Status
from sandbox.pool import Item


class Judges(Protocol):
    """What the reward needs of a sandbox: verdicts in input order."""

    def run(self, items: Sequence[Item]) -> list[Outcome]: ...


@dataclass
class CompilerReward:
    """Scores React replies through a sandbox.

    Args:
        sandbox: anything with `run(items)`; its owner closes it.
        w_compile, w_render, w_requirements: the parts of G; they add up to 1 by default.
        blank_penalty: taken off a page that shows nothing.
        failure: G of a reply that does not compile (the paper: a "large negative penalty", value not given).
        line_penalty: p_l of a flagged line, <= 0; a warning counts a tenth of it.
        window: how many lines away a penalty still reaches; 0 is the flagged line alone.
        first_error_only: after a syntax error a compiler's later errors are often echoes of the first.
        renormalize: divide the penalties by the number of flagged lines, so that they add up to at most one line's.
    """

    sandbox: Judges
    w_compile: float = 0.25
    w_render: float = 0.25
    w_requirements: float = 0.5
    blank_penalty: float = 0.25
    failure: float = 0.0
    line_penalty: float = -1.0
    window: int = 3
    first_error_only: bool = False
    renormalize: bool = False
    spread: str = field(default="every", init=False)

    @property
    def bound(self) -> float:
        """B of |S_t| <= B: one line's penalty where only one counts or all share it; else the sum is cut at two."""
        return abs(self.line_penalty) * (1 if self.first_error_only or self.renormalize else 2)

    def score(self, rollouts: Sequence[Rollout]) -> list[RewardSignal | None]:
        """One signal a rollout. A rollout whose component crashed the sandbox twice is unscored (None)."""
        items = [Item(text=r.completion, requirements=tuple(r.row.get("requirements") or ())) for r in rollouts]
        outcomes = self.sandbox.run(items)
        return [self._signal(r, o) for r, o in zip(rollouts, outcomes, strict=True)]

    def _signal(self, rollout: Rollout, outcome: Outcome) -> RewardSignal | None:
        details = {"sandbox": outcome}
        if outcome.status is Status.CRASHED:
            return None
        return RewardSignal(
            outcome=self.outcome(outcome, n_requirements=len(rollout.row.get("requirements") or ())),
            spans=tuple(self.penalties(extract(rollout.completion), outcome.diagnostics, len(rollout.completion))),
            metrics={
                "compile_rate": float(outcome.compiled),
                "render_rate": float(outcome.status is Status.OK),
                "requirements": outcome.requirements_met,
                "success": float(outcome.status is Status.OK and outcome.requirements_met == 1.0),
            },
            details=details,
        )

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

    def penalties(self, found: Extraction, diagnostics: Sequence[Diagnostic], length: int) -> list[Span]:
        """S as spans over whole lines of the reply, `length` characters long: additive over flagged lines."""
        flagged: dict[int, tuple[float, str]] = {}
        for d in diagnostics:
            weight = 0.1 if d.severity == "warning" else 1.0
            if weight > flagged.get(d.line, (0.0, ""))[0]:
                flagged[d.line] = (weight, d.message)
        if self.first_error_only and flagged:
            line = min(flagged, key=lambda n: (-flagged[n][0], n))
            flagged = {line: flagged[line]}
        scale = self.line_penalty / (len(flagged) if self.renormalize and flagged else 1)
        values: dict[int, float] = {}
        reasons: dict[int, str] = {}
        for line, (weight, message) in flagged.items():
            for near in range(line - self.window, line + self.window + 1):
                values[near] = values.get(near, 0.0) + scale * weight * (1 - abs(near - line) / (self.window + 1))
            reasons[line] = message
        starts = [*found.line_starts, length]
        return [
            Span(starts[n - 1], starts[n], max(value, -self.bound), reasons.get(n, ""))
            for n, value in sorted(values.items())
            if 1 <= n < len(starts) and starts[n - 1] < starts[n] and value
        ]
