"""Read a judge's answer, strictly: only whole lines of the agreed form count, a digit anywhere else never does.

An answer often quotes what it judges, and that can hold a line like ours. So a score counts when exactly one value is
stated; two different ones are no score, whichever comes last. What chat models add (`**SCORE: 7**`, `- LINE 3: -1`) is
allowed: nothing else becomes a score by it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

NOT_REACT = -3.0
"""What the code judge answers when the code is no React component (appendix D)."""
MAX_LINES = 3

Winner = Literal["A", "B"]

_SCORE = re.compile(r"^[ \t]*\*{0,2}SCORE:\*{0,2}[ \t]*(-?[0-9]{1,6}(?:\.[0-9]{1,6})?)\*{0,2}[ \t\r]*$", re.MULTILINE)
_WINNER = re.compile(r"^[ \t]*\*{0,2}WINNER:\*{0,2}[ \t]*([AB])\*{0,2}[ \t\r]*$", re.MULTILINE)
_LINE = re.compile(r"^[ \t]*(?:[-*][ \t]+)?LINE[ \t]+([0-9]{1,6}):[ \t]*(-[123])(?![\w.])[ \t:,]*(.*)$", re.MULTILINE)
_REASON_LENGTH = 300
_THOUGHT_ENDS = "</think>"


@dataclass(frozen=True)
class LineMark:
    """A line that a judge blames: `line` from 1 in the extracted code, `impact` -1, -2 or -3."""

    line: int
    impact: int
    reason: str


def said(text: str) -> str:
    """What a model says aloud, from the mark that ends its thought: a thought (`<think>`) is a draft, and one that was
    never closed is all there is. The mark stays, so that what shares a line with it (a quotation?) is no whole line."""
    _, mark, aloud = text.rpartition(_THOUGHT_ENDS)
    if mark:
        return mark + aloud
    return "" if text.lstrip().startswith("<think>") else text


def read_score(text: str) -> float | None:
    """The one value of the lines `SCORE: n`, as it stands (not clipped); None without one, or with two."""
    values = {float(found) for found in _SCORE.findall(said(text))}
    return values.pop() if len(values) == 1 else None


def read_winner(text: str) -> Winner | None:
    """The one letter of the lines `WINNER: A`; None without one, or with both."""
    values = set(_WINNER.findall(said(text)))
    return values.pop() if len(values) == 1 else None


def read_lines(text: str, code: str) -> tuple[LineMark, ...]:
    """The first three lines blamed, each once. An entry that is malformed, or outside of `code`, is dropped."""
    count = code.count("\n") + 1
    marks: dict[int, LineMark] = {}
    for number, impact, reason in _LINE.findall(said(text)):
        line = int(number) + 1  # the judge counts from 0
        if line <= count and len(marks) < MAX_LINES:
            marks.setdefault(line, LineMark(line, int(impact), reason.strip(" \t\r-–—")[:_REASON_LENGTH]))
    return tuple(marks.values())
