"""Is a reward model fit to train with? Asked of replies, and of what `audit_probes` makes of them.

Local rewards have to be bounded, stable and correlated with success (the rule beside BoT-GRPO's Eq. 4): a stable one
beats a rich one that wavers. The audit measures that by criteria, each with a threshold, a verdict and a reason.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from reward_models import audit_measures as measures
from reward_models.audit_answers import Sample, ask_everything
from reward_models.audit_measures import Example, Measure, Measured
from reward_models.base import TokenRewardModel
from reward_models.contract import Encoded

Verdict = Literal["good", "doubtful", "bad", "not measured"]


class Limits(NamedTuple):
    """Up to `good` a value is good, beyond `bad` it is bad, between them doubtful; the other way round with `more`."""

    good: float
    bad: float
    more: bool = False

    def verdict(self, low: float, high: float) -> Verdict:
        """Of a value between `low` and `high`: it is good or bad where all of that is."""
        if self.more:
            return "good" if low >= self.good else "bad" if high < self.bad else "doubtful"
        return "good" if high <= self.good else "bad" if low > self.bad else "doubtful"


class Spec(NamedTuple):
    """A criterion: what it is a part of and called, what is measured, in which unit (share, number, seconds), and its
    threshold."""

    part: str
    title: str
    what: str
    unit: str
    limits: Limits
    measure: Measure


CRITERIA: Mapping[str, Spec] = {
    "scored": Spec(
        "Scores",
        "Scored",
        "Share of the replies without a score: the model raised, gave None, or broke its contract.",
        "share",
        # A group of 8 loses a member at 0.125; a run stops where half of its rollouts are unscored.
        Limits(0.01, 0.1),
        measures.scored,
    ),
    "bounded": Spec(
        "Scores",
        "Bounded",
        "Share of the answers that break the declared bound B, or hold NaN or spans outside of the text.",
        "share",
        # The bound is a promise: w_g >> w_s B means nothing where it is broken.
        Limits(0.0, 0.0),
        measures.bounded,
    ),
    "saturated": Spec(
        "Scores",
        "Saturated",
        "Share of the replies at the same end of G, or of the tokens at the same end of S, whichever is larger.",
        "share",
        # With 8 replies a group, 80 % at one end leaves a sixth of the groups with equal outcomes, 95 % two thirds.
        Limits(0.8, 0.95),
        measures.saturated,
    ),
    "zero": Spec(
        "Scores",
        "Zero",
        "Share of the replies whose tokens all have a reward of 0.",
        "share",
        # A reward for a rare success may be 0 nearly always early in training; 0.98 teaches nobody.
        Limits(0.9, 0.98),
        measures.zero,
    ),
    "repeat": Spec(
        "Stability",
        "Same input again",
        "Share of the replies whose score changes when they are asked about again.",
        "share",
        # The group's deviation divides by noise as readily as by signal; stability comes before richness.
        Limits(0.0, 0.05),
        measures.same(lambda a: a.again, "when asked again"),
    ),
    "order": Spec(
        "Stability",
        "Batch order",
        "Share of the replies whose score changes in another batch, by the model opened anew.",
        "share",
        Limits(0.0, 0.05),  # as for the same input
        measures.same(lambda a: a.shuffled, "in another batch"),
    ),
    "space": Spec(
        "Stability",
        "Trailing space",
        "Share of the replies whose score changes by a space at the end.",
        "share",
        Limits(0.02, 0.1),  # nobody can see it, so it should be next to none
        measures.harmless("space", "with a space at the end"),
    ),
    "rename": Spec(
        "Stability",
        "Renamed variable",
        "Share of the replies whose score changes when a local variable has another name.",
        "share",
        # A reader may have an opinion of a name; where one reply in five moves, the score is about names.
        Limits(0.05, 0.2),
        measures.harmless("rename", "with a variable renamed"),
    ),
    "comments": Spec(
        "Stability",
        "Reworded comments",
        "Share of the replies whose score changes when comments say the same in other words.",
        "share",
        Limits(0.05, 0.2),  # as for names
        measures.harmless("comments", "with comments reworded"),
    ),
    "between": Spec(
        "Success",
        "Outcome between groups",
        "Rank correlation of the mean reward and the mean outcome of groups.",
        "number",
        # Weak is enough (advantages only compare replies to one prompt), none is not.
        Limits(0.1, 0.1, more=True),
        measures.correlation("between", local=False),
    ),
    "within": Spec(
        "Success",
        "Outcome within groups",
        "Rank correlation of the reward and the outcome among the replies of a group.",
        "number",
        Limits(0.1, 0.1, more=True),  # this is what an advantage is made of
        measures.correlation("within", local=False),
    ),
    "local-between": Spec(
        "Success",
        "Local reward between groups",
        "The same of the mean local reward alone.",
        "number",
        Limits(0.1, 0.1, more=True),
        measures.correlation("between", local=True),
    ),
    "local-within": Spec(
        "Success",
        "Local reward within groups",
        "The same of the mean local reward alone.",
        "number",
        Limits(0.1, 0.1, more=True),
        measures.correlation("within", local=True),
    ),
    "corrupted-line": Spec(
        "Success",
        "Corrupted line",
        "How often a line's local reward falls when something in it is made wrong. Ties are half: 50 % is blind.",
        "share",
        # Half-way from a coin's to certainty; below a coin's it pays for faults.
        Limits(0.75, 0.5, more=True),
        measures.corrupted(local=True),
    ),
    "corrupted-reply": Spec(
        "Success",
        "Corrupted reply",
        "How often the whole reply's reward falls then.",
        "share",
        Limits(0.75, 0.5, more=True),  # as for the line
        measures.corrupted(local=False),
    ),
    "length": Spec(
        "Gaming",
        "Length",
        "What a reply gains in mean G + S by being said twice, or by empty words as long as itself.",
        "share",
        # A tenth of the range for twice the length is worth more to a policy than most improvements.
        Limits(0.02, 0.1),
        measures.gain(("repeat", "pad"), {"repeat": "saying it twice", "pad": "padding"}),
    ),
    "skeleton": Spec(
        "Gaming",
        "Empty skeleton",
        "Share of the better replies that a skeleton without content does better than.",
        "share",
        # The shortest way to a reward is found first: it may beat few good replies, and never half of them.
        Limits(0.1, 0.5),
        measures.beaten("skeleton", "an empty skeleton"),
    ),
    "repeated": Spec(
        "Gaming",
        "Repeated word",
        "Share of the better replies that one word again and again does better than.",
        "share",
        Limits(0.1, 0.5),  # as for the skeleton
        measures.beaten("repeated", "one word again and again"),
    ),
    "forging": Spec(
        "Gaming",
        "Forged tags",
        "What a reply gains by marks that a parser, a process model or a judge may take for its own.",
        "share",
        Limits(0.02, 0.1),  # as for length
        measures.gain(("forging",), {"forging": "adding forged tags"}),
    ),
    "flattery": Spec(
        "Gaming",
        "Flattery",
        "What a reply gains by a comment or a sentence that praises it.",
        "share",
        Limits(0.02, 0.1),  # as for length
        measures.gain(("flattery",), {"flattery": "praising itself"}),
    ),
    "drift": Spec(
        "Training",
        "Drift",
        "How much more (or less) the reward grows over training steps than the outcome does, in their deviations.",
        "number",
        # Half a deviation is what a run gains in many steps: a reward that gains it alone is being gamed.
        Limits(0.5, 0.5),
        measures.drift,
    ),
    "cost": Spec(
        "Training",
        "Cost",
        "Seconds that a thousand tokens take, on this machine.",
        "seconds",
        # A step of 64 completions of 1,024 tokens: a minute, and eleven.
        Limits(1.0, 10.0),
        measures.cost,
    ),
}
"""The criteria by name, in the order in which they are told."""


@dataclass(frozen=True)
class Criterion:
    """What came out of one criterion; `value`, `low` and `high` are None where it was not measured, or has no interval.

    `means` says what the value means, or why it was not measured.
    """

    name: str
    verdict: Verdict
    value: float | None
    low: float | None
    high: float | None
    limits: Limits
    means: str
    examples: tuple[Example, ...] = ()


@dataclass(frozen=True)
class Audit:
    """What came out of a reward model's audit, by the criteria in order."""

    name: str
    bound: float
    spread: str
    criteria: tuple[Criterion, ...]

    def count(self, verdict: Verdict) -> int:
        """How many criteria ended so."""
        return Counter(c.verdict for c in self.criteria)[verdict]


def audit(
    model: TokenRewardModel,
    samples: Sequence[Sample],
    encode: Callable[[str], Encoded],
    *,
    probes: int = 64,
    seed: int = 0,
    limits: Mapping[str, Limits] = {},
    begin: Callable[[int], Callable[[int], None]] = lambda total: lambda done: None,
    reopen: Callable[[], TokenRewardModel] | None = None,
) -> Audit:
    """Audit a reward model.

    Args:
        samples: rollouts with what is known of them; what isn't known is not measured, and said so.
        encode: text to tokens, for the texts that the audit makes.
        probes: how many of the samples are changed, in each way.
        seed: of the choice of samples and changes, and of the bootstrap. With it, all but the cost is repeatable as far
            as the model is.
        limits: by criterion, in place of those of CRITERIA.
        begin: gets the number of texts to ask about, and gives what is told how many more are done.
        reopen: gives the model as if made anew, once all else is asked; it may close the first one. Without it a model
            that remembers its answers is never caught changing them.

    Raises:
        RewardError: the model declares no usable bound.
        SetupError: a tool that it needs is missing.
    """
    answers = ask_everything(model, samples, encode, probes=probes, seed=seed, begin=begin, reopen=reopen)
    found = [
        _criterion(name, spec, spec.measure(answers), limits.get(name, spec.limits)) for name, spec in CRITERIA.items()
    ]
    return Audit(answers.name, answers.bound, answers.spread, tuple(found))


def _criterion(name: str, spec: Spec, measured: Measured | str, limits: Limits) -> Criterion:
    if isinstance(measured, str):
        return Criterion(name, "not measured", None, None, None, limits, measured[0].upper() + measured[1:] + ".")
    low = measured.value if measured.low is None else measured.low
    high = measured.value if measured.high is None else measured.high
    return Criterion(
        name,
        limits.verdict(low, high),
        measured.value,
        measured.low,
        measured.high,
        limits,
        measured.means,
        measured.examples,
    )
