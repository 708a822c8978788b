"""The page judge: a score for a rendered page by fixed rules, with no model and no taste. The pure half.

    score = (0.4 requirements + used (0.15 + 0.15 contrast + 0.15 names + 0.1 fits + 0.05 errors)) / their weights

Each part is in [0, 1]. A part that could not be judged (no requirements, no text) is left out with its weight. What is
not on a page cannot be wrong, so what depends on faults counts only as far as the page is used. The weights are ours:
nobody measured them against people's judgement.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sandbox.outcome import PageScore, RequirementResult
from sandbox.words import counted, plural

WEIGHTS = {"requirements": 0.4, "used": 0.15, "contrast": 0.15, "names": 0.15, "fits": 0.1, "errors": 0.05}
FULL = 0.05
"""Share of the screenshot's squares with something in them from which on a page counts as fully used."""
WIDTH = 1280
"""Pixels; a page that is wider has to be scrolled sideways."""


@dataclass(frozen=True)
class Checked:
    """What axe-core said of some rules: on how many elements they hold, don't, or could not be decided."""

    good: int = 0
    bad: int = 0
    unknown: int = 0
    examples: tuple[str, ...] = ()


@dataclass(frozen=True)
class Look:
    """What was measured on a page.

    `used` is the share of the screenshot's squares with something in them, `width` how wide the page is in pixels,
    `cut` how many of the `shown` elements cross an edge beyond which nobody can scroll.
    """

    used: float
    contrast: Checked = Checked()
    names: Checked = Checked()
    width: int = WIDTH
    shown: int = 0
    cut: int = 0
    cut_examples: tuple[str, ...] = ()


def blank(why: str) -> PageScore:
    """The score of a page on which nothing is to be seen."""
    return PageScore(0.0, {"used": 0.0}, (why,))


def page_score(look: Look, requirements: Sequence[RequirementResult] = (), errors: Sequence[str] = ()) -> PageScore:
    """Score a page by what was measured, by the requirements' results, and by the errors that it threw."""
    parts: dict[str, float] = {}
    if requirements:
        parts["requirements"] = sum(r.met for r in requirements) / len(requirements)
    parts["used"] = min(1.0, look.used / FULL)
    for name, checked in (("contrast", look.contrast), ("names", look.names)):
        if checked.good + checked.bad:
            parts[name] = checked.good / (checked.good + checked.bad)
    inside = 1.0 - look.cut / look.shown if look.shown else 1.0
    parts["fits"] = 0.5 * inside + 0.5 * (look.width <= WIDTH)
    parts["errors"] = 0.0 if errors else 1.0
    faults = sum(WEIGHTS[name] * (parts[name] if name != "used" else 1.0) for name in parts if name != "requirements")
    total = WEIGHTS["requirements"] * parts.get("requirements", 0.0) + parts["used"] * faults
    score = total / sum(WEIGHTS[name] for name in parts)
    rounded = {name: round(value, 4) for name, value in parts.items()}
    return PageScore(round(score, 4), rounded, tuple(_findings(look, requirements, errors)))


def _findings(look: Look, requirements: Sequence[RequirementResult], errors: Sequence[str]) -> list[str]:
    found = [f"requirement: {r.reason}" for r in requirements if not r.met]
    if look.used < FULL:
        found.append(
            f"used: something is to be seen on {100 * look.used:.1f} % of the page; {100 * FULL:g} % count as full"
        )
    found += _named("contrast", look.contrast.examples, look.contrast.bad)
    if look.contrast.unknown:
        why = "a picture or a gradient behind the text"
        found.append(f"contrast: not to be judged {counted(look.contrast.unknown, 'time')} ({why})")
    found += _named("names", look.names.examples, look.names.bad)
    if look.width > WIDTH:
        found.append(f"fits: the page is {look.width} pixels wide, so {WIDTH} must be scrolled sideways")
    found += _named("fits", [f"{example} is cut off by the window's edge" for example in look.cut_examples], look.cut)
    return found + _named("errors", errors[:5], len(errors))


def _named(part: str, examples: Sequence[str], count: int) -> list[str]:
    left = count - len(examples)
    return [
        *(f"{part}: {example}" for example in examples),
        *([f"{part}: {left} more like {plural(left, 'this', 'these')}"] if left > 0 else []),
    ]
