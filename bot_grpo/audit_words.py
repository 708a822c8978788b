"""An audit's numbers in words, for the command and the page."""

from __future__ import annotations

from reward_models.audit import CRITERIA, Audit, Criterion, Limits


def number_words(value: float, unit: str) -> str:
    """A value of a criterion in its unit."""
    if unit == "share":
        return f"{round(100 * value, 1):g} %"
    if unit == "seconds":
        return f"{value:.2g} s"
    return f"{value:.2f}".replace("-", "−")


def value_words(criterion: Criterion) -> str:
    """The value with its interval; "" where it was not measured."""
    unit = CRITERIA[criterion.name].unit
    if criterion.value is None:
        return ""
    if criterion.low is None or criterion.high is None:
        return number_words(criterion.value, unit)
    low, high = (number_words(value, unit) for value in (criterion.low, criterion.high))
    return f"{number_words(criterion.value, unit)} ({low} to {high})"


def limits_words(limits: Limits, unit: str) -> str:
    """A threshold: where good ends and where bad begins."""
    good, bad = (
        f"{100 * v:g} %" if unit == "share" else f"{v:g} s" if unit == "seconds" else f"{v:g}" for v in limits[:2]
    )
    return f"good from {good}, bad below {bad}" if limits.more else f"good to {good}, bad above {bad}"


def verdict_words(audit: Audit) -> str:
    """How many criteria ended how, and what follows."""
    counts = [(verdict, audit.count(verdict)) for verdict in ("bad", "doubtful", "good", "not measured")]
    words = ", ".join(f"{count} {verdict}" for verdict, count in counts if count)
    bad = [CRITERIA[c.name].title.lower() for c in audit.criteria if c.verdict == "bad"]
    return f"{words}; not fit as it is ({'; '.join(bad)})" if bad else words
