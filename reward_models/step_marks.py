"""From marks of steps, {-1, 0, +1}, to a local reward (BoT-GRPO, Eq. 8 without its outcome and format terms).

    S_t = 1/|S| * sum of e_s over the steps s in S(t)

|S| is the number of steps of the solution and S(t) the steps around the token's own: a window of 1 is the step alone.
The paper names window sizes 1, 3 and 5 without a formula; centring them on the step is our reading. Tokens outside of
every step get 0.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, get_args

from reward_models.base import RewardSignal, Span
from reward_models.errors import RewardError
from reward_models.step_text import Step

Propagation = Literal["error", "context", "independent"]
Mark = tuple[int, str]
"""A step's e_s in {-1, 0, +1}, and why."""


def check_marks(propagation: str, window: int) -> None:
    """Raises RewardError, one line, for settings that no marks can have."""
    if propagation not in get_args(Propagation):
        raise RewardError(f"propagation is one of {', '.join(get_args(Propagation))}, not {propagation!r}")
    if isinstance(window, bool) or not isinstance(window, int) or window < 1 or window % 2 == 0:
        raise RewardError(f"window is an odd number of steps (1, 3, 5, ...), not {window!r}")


def propagated(marks: Sequence[Mark], propagation: str) -> list[Mark]:
    """The marks as they count: with "error", everything after the first incorrect step is 0 (the paper's default)."""
    if propagation != "error":
        return list(marks)
    first = next((i for i, (e, _) in enumerate(marks) if e < 0), len(marks))
    return [*marks[: first + 1], *((0, "after the first incorrect step") for _ in marks[first + 1 :])]


def marks_signal(
    steps: Sequence[Step],
    marks: Sequence[Mark],
    *,
    propagation: str,
    window: int,
    name: str,
    metrics: Mapping[str, float] | None = None,
    details: Mapping[str, Any] | None = None,
) -> RewardSignal:
    """The signal of one solution: S on each of its steps, at most 1 in absolute value; `name` begins its metrics."""
    counted = propagated(marks, propagation)
    half, n = window // 2, max(1, len(steps))
    sums = [sum(e for e, _ in counted[max(0, i - half) : i + half + 1]) for i in range(len(steps))]
    spans = [
        Span(step.start, step.end, total / n, f"step {i}: {e:+d} {why}".rstrip())
        for i, (step, total, (e, why)) in enumerate(zip(steps, sums, counted, strict=True), 1)
        if total or e
    ]
    share = {f"{name}/{word}": sum(e == value for e, _ in marks) / n for word, value in _WORDS.items()}
    return RewardSignal(
        outcome=None,
        spans=tuple(spans),
        metrics={f"{name}/steps": float(len(steps)), **share, **(metrics or {})},
        details={f"{name}_marks": [e for e, _ in marks], **(details or {})},
        steps=tuple((s.start, s.end) for s in steps),
    )


_WORDS = {"correct": 1, "incorrect": -1}
