"""The page of an audit: a table of verdicts, and of each criterion the threshold, values and examples (see `pages`)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import fields
from datetime import datetime
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any

from bot_grpo.audit_words import limits_words, value_words
from bot_grpo.pages import check_name, render, write_page
from reward_models.audit import CRITERIA, Audit, Criterion

_HIDDEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ud800-\udfff]")


def write_audit_page(target: Path, audits: Mapping[str, Audit], *, title: str, facts: Mapping[str, str]) -> None:
    """Write the page of these audits, by the names of their rewards, replacing an earlier one whole.

    The page has no script: what a model wrote is escaped text in it. Raises `UserError` when it cannot be written.
    """
    check_name(target)
    first = next(iter(audits.values()))
    criteria = [_row({name: one.criteria[at] for name, one in audits.items()}) for at in range(len(first.criteria))]
    content = render(
        "audit.html.j2",
        styles=("report.css", "audit.css"),
        scripts=(),
        title=title,
        date=datetime.now().strftime("%d %B %Y, %H:%M"),
        facts=list(facts.items()),
        rewards=[(name, f"{one.bound:g}", one.spread) for name, one in audits.items()],
        tiles=[_tile(name, one) for name, one in audits.items()],
        criteria=criteria,
        parts=[(part, list(rows)) for part, rows in groupby(criteria, key=itemgetter("part"))],
    )
    write_page(target, content)


def _tile(name: str, one: Audit) -> tuple[str, str, str]:
    """(reward, figure, remark) of the page's head."""
    others = [f"{one.count(v)} {v}" for v in ("doubtful", "good", "not measured") if one.count(v)]
    return name, f"{one.count('bad')} bad", ", ".join(others)


def _row(results: Mapping[str, Criterion]) -> dict[str, Any]:
    """A criterion, with the results of the rewards by their names."""
    some = next(iter(results.values()))
    spec = CRITERIA[some.name]
    low, high = _scale(list(results.values()))
    return {
        "name": some.name,
        "part": spec.part,
        "title": spec.title,
        "what": spec.what,
        "threshold": limits_words(some.limits, spec.unit),
        "zones": _zones(some, low, high),
        "results": [
            {
                "reward": name,
                "verdict": c.verdict,
                "value": value_words(c),
                "means": _visible(c.means),
                "mark": _mark(c, low, high),
                "examples": [{f.name: _visible(getattr(e, f.name)) for f in fields(e)} for e in c.examples],
            }
            for name, c in results.items()
        ],
    }


def _scale(results: list[Criterion]) -> tuple[float, float]:
    """The ends of the line on which a criterion's values are drawn: the thresholds lie on it, and all values."""
    limits, share = results[0].limits, CRITERIA[results[0].name].unit == "share"
    highest = max((v for c in results for v in (c.value, c.high) if v is not None), default=0.0)
    if limits.more:
        return (0.0 if share else -1.0), max(1.0, limits.good, highest)
    room = 2 * limits.bad
    return 0.0, max(min(room, 1.0) if share else room, limits.bad, highest) or 1.0


def _zones(some: Criterion, low: float, high: float) -> list[tuple[str, str, str]]:
    """(verdict, left, width) in percent of the line: where a value is good, doubtful, bad."""
    good, bad, more = some.limits
    cuts = [low, *sorted((good, bad)), high]
    verdicts = ("bad", "doubtful", "good") if more else ("good", "doubtful", "bad")
    return [
        (verdict, _at(a, low, high), f"{max(0.0, _share(b, low, high) - _share(a, low, high)):.2f}")
        for verdict, a, b in zip(verdicts, cuts, cuts[1:], strict=False)
    ]


def _mark(c: Criterion, low: float, high: float) -> dict[str, str] | None:
    """Where the value and its interval lie, in percent of the line."""
    if c.value is None:
        return None
    start, end = (c.low, c.high) if c.low is not None and c.high is not None else (c.value, c.value)
    width = max(0.0, _share(end, low, high) - _share(start, low, high))
    return {"at": _at(c.value, low, high), "start": _at(start, low, high), "width": f"{width:.2f}"}


def _at(value: float, low: float, high: float) -> str:
    return f"{_share(value, low, high):.2f}"


def _share(value: float, low: float, high: float) -> float:
    return 100 * min(max((value - low) / (high - low), 0.0), 1.0)


def _visible(text: str) -> str:
    """Characters that show as nothing, or turn the text around them, as something that can be seen."""
    return _HIDDEN.sub(lambda m: f"⟨U+{ord(m[0]):04X}⟩", text)
