"""The simplest reward model there is: regular expressions, and what their matches are worth.

A pattern is the user's and is trusted; the text it looks at is not. The `regex` package gives each pattern a deadline
on each text, so one that backtracks for ever costs `seconds` and leaves that completion unscored. What a deadline can't
bound is the time to compile a pattern (nested large counts): that is paid once, when the model is made.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import regex

from reward_models.base import Answer, RewardSignal, Rollout, Span, Unscored
from reward_models.errors import RewardError


class _Rule(NamedTuple):
    pattern: Any
    value: float
    reason: str


@dataclass
class LexicalReward:
    """A value on the characters that a pattern matches; where matches overlap, values add up, within the bound.

    Args:
        patterns: regular expression -> value, or {"value": ..., "reason": ...}. Matches are found as `finditer` does;
            flags go into the pattern ("(?i)todo"). An empty match is no character and has no value.
        bound: B; a sum beyond it is cut.
        seconds: the deadline of one pattern on one completion, in CPU time.

    Raises:
        RewardError: no patterns, one that is no regular expression, or a value that is no number within the bound.
    """

    patterns: Mapping[str, float | Mapping[str, Any]]
    bound: float = 1.0
    seconds: float = 1.0
    spread: str = field(default="every", init=False)

    def __post_init__(self) -> None:
        if not isinstance(self.patterns, Mapping) or not self.patterns:
            raise RewardError("patterns is a mapping: regular expression -> value, or {value: ..., reason: ...}")
        self._rules = [_rule(pattern, given, self.bound) for pattern, given in self.patterns.items()]

    def score(self, rollouts: Sequence[Rollout]) -> list[Answer]:
        """One signal a rollout, of local rewards alone."""
        return [self._one(r.completion) for r in rollouts]

    def _one(self, text: str) -> Answer:
        matches: list[tuple[int, int, int]] = []
        for n, (pattern, _, _) in enumerate(self._rules):
            try:
                found = [m.span() for m in pattern.finditer(text, timeout=self.seconds)]
            except TimeoutError:
                return Unscored(f"the pattern {pattern.pattern!r} took more than {self.seconds:g} s")
            matches += [(a, b, n) for a, b in found if a < b]
        counts = Counter(self._rules[n].reason for _, _, n in matches)
        metrics = {f"lexical/{rule.reason}": float(counts[rule.reason]) for rule in self._rules}
        return RewardSignal(None, _disjoint(matches, self._rules, self.bound), metrics=metrics)


def _rule(pattern: str, given: float | Mapping[str, Any], bound: float) -> _Rule:
    said = given if isinstance(given, Mapping) else {"value": given}
    value: Any = said.get("value")
    reason = said.get("reason", pattern)
    number = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    if not number or abs(value) > bound:
        raise RewardError(f"pattern {pattern!r}: its value is a number from {-bound:g} to {bound:g}, not {value!r}")
    try:
        return _Rule(regex.compile(pattern), float(value), str(reason))
    except regex.error as error:
        raise RewardError(f"pattern {pattern!r} is no regular expression: {error}") from error


def _disjoint(matches: Sequence[tuple[int, int, int]], rules: Sequence[_Rule], bound: float) -> tuple[Span, ...]:
    """Matches [start, end) of rules, as disjoint spans that each hold the sum of the rules which match there."""
    edges = sorted([(a, True, n) for a, _, n in matches] + [(b, False, n) for _, b, n in matches])
    spans: list[Span] = []
    active: set[int] = set()
    at = 0
    for place, begins, n in edges:  # at one place, ends come before beginnings
        if active and at < place:
            here = [rules[i] for i in sorted(active)]
            total = min(max(sum(r.value for r in here), -bound), bound)
            spans.append(Span(at, place, total, "; ".join(r.reason for r in here)))
        at = place
        (active.add if begins else active.remove)(n)
    return tuple(spans)
