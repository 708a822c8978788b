"""Where the steps of a solution are, as character spans: what a process reward model or a judge of steps scores.

A step keeps two spans. `start:end` is the step with what parts it from the next one, so that every character that was
sampled belongs somewhere; `text_start:text_end` is what is in it, without that and without white space around, and is
what a model reads.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import regex

from reward_models.base import Rollout
from reward_models.errors import RewardError

SPLIT_SECONDS = 2.0
"""How long a regular expression of one's own may look at one completion, in CPU time."""

Spans = Sequence[tuple[int, int]]
Split = str | Callable[[str], Spans]


class Step(NamedTuple):
    """A step. `start:end` holds `text_start:text_end`; a blank step has text_start == text_end."""

    start: int
    end: int
    text_start: int
    text_end: int

    @property
    def span(self) -> tuple[int, int]:
        """Where its value sits: on its text, or on all of it where it is blank."""
        return (self.text_start, self.text_end) if self.text_start < self.text_end else (self.start, self.end)


class SplitError(ValueError):
    """A completion whose steps could not be found; the message is one line."""


def split_steps(text: str, split: Split, *, min_chars: int = 1, max_steps: int | None = None) -> tuple[Step, ...]:
    """The steps of `text`: in order, disjoint, none of them empty.

    Args:
        text: a completion.
        split: "\\n\\n" (blank lines), "\\n" (lines), "tags" (what `<step>` and `</step>` enclose), "marks" (from one
            `(step 1)` to the next or to `(final)`, BoT-GRPO's format for AIME), any other string as a regular
            expression for what stands between steps (it may be zero-width), or a function from text to the half-open
            spans of its steps. What is outside of tags or before the first mark is in no step.
        min_chars: a step of fewer characters is merged with the next one; a blank one belongs to the step before it.
            0 keeps blank steps as steps of their own.
        max_steps: where there are more, neighbours are merged until each has its share of the text.

    Raises:
        SplitError: a regular expression of one's own that did not come to an end, or a function whose spans overlap,
            are empty, or lie outside of the text.
    """
    if callable(split):
        pieces = _given(split(text), len(text))
    elif split in _SPLITS:
        pieces = _SPLITS[split](text)
    else:
        pieces = _between(text, _own_pattern(split, text))
    steps = _packed([_trimmed(text, *piece) for piece in pieces if piece[0] < piece[2]], min_chars)
    if max_steps is not None and len(steps) > max_steps:
        total = sum(_size(s) for s in steps)
        steps = _packed(steps, max(1, -(-total // max_steps)))
    return tuple(steps)


def check_split(split: object) -> None:
    """Raises RewardError for what is no way to split: no regular expression, or neither text nor a function."""
    if callable(split):
        return
    if not isinstance(split, str) or not split:
        raise RewardError(f"split is one of {', '.join(map(repr, _SPLITS))}, a regular expression or a function")
    if split not in _SPLITS:
        try:
            regex.compile(split)
        except regex.error as error:
            raise RewardError(f"split {split!r} is no regular expression: {error}") from error


def problem_of(rollout: Rollout) -> str:
    """The problem that a rollout answers: what its row calls so, or else its prompt, which may hold more."""
    row = rollout.row
    return str(row.get("problem") or row.get("question") or row.get("prompt") or rollout.prompt)


def _trimmed(text: str, start: int, text_end: int, end: int) -> Step:
    inside = text[start:text_end]
    if not inside.strip():
        return Step(start, end, start, start)
    first = start + len(inside) - len(inside.lstrip())
    return Step(start, end, first, start + len(inside.rstrip()))


def _size(step: Step) -> int:
    return step.text_end - step.text_start


def _packed(steps: Sequence[Step], least: int) -> list[Step]:
    """Merge steps until each holds `least` characters of text; what is left over goes to the last one."""
    packed: list[Step] = []
    sizes: list[int] = []
    for step in steps:
        size = _size(step)
        if packed and (sizes[-1] < least or (size == 0 < least)):
            packed[-1] = _joined(packed[-1], step)
            sizes[-1] += size
        else:
            packed.append(step)
            sizes.append(size)
    if len(packed) > 1 and sizes[-1] < least:
        last = packed.pop()
        packed[-1] = _joined(packed[-1], last)
    return packed


def _joined(a: Step, b: Step) -> Step:
    texts = [s for s in (a, b) if _size(s)] or [a]
    return Step(a.start, b.end, texts[0].text_start, texts[-1].text_end)


# A piece is (start, end of its text, end with its separator).
_Piece = tuple[int, int, int]


def _between(text: str, separators: Iterator[tuple[int, int]]) -> list[_Piece]:
    pieces, start = [], 0
    for a, b in separators:
        pieces.append((start, a, b))
        start = b
    return [*pieces, (start, len(text), len(text))]


def _own_pattern(pattern: str, text: str) -> Iterator[tuple[int, int]]:
    try:
        found = [m.span() for m in regex.finditer(pattern, text, timeout=SPLIT_SECONDS)]
    except TimeoutError:
        raise SplitError(f"the pattern {pattern!r} looked for steps for more than {SPLIT_SECONDS:g} s") from None
    return iter(found)


def _separated(pattern: str) -> Callable[[str], list[_Piece]]:
    compiled = re.compile(pattern)
    return lambda text: _between(text, (m.span() for m in compiled.finditer(text)))


_STEP_TAG = re.compile(r"</?step\b[^<>\n]{0,40}>", re.IGNORECASE)
_STEP_MARK = re.compile(r"\((?:step[ \t]{1,4}[0-9]{1,6}|final)\)", re.IGNORECASE)


def _tagged(text: str) -> list[_Piece]:
    """An element that is not closed ends where the next one opens, or with the text: completions are cut off."""
    pieces: list[_Piece] = []
    opened: tuple[int, int] | None = None
    for tag in _STEP_TAG.finditer(text):
        closes = tag[0].startswith("</")
        if opened is not None:
            pieces.append((opened[1], tag.start(), tag.end() if closes else tag.start()))
        opened = None if closes else tag.span()
    return [*pieces, (opened[1], len(text), len(text))] if opened is not None else pieces


def _marked(text: str) -> list[_Piece]:
    marks = list(_STEP_MARK.finditer(text))
    starts = [*(m.start() for m in marks), len(text)]
    return [(m.start(), end, end) for m, end in zip(marks, starts[1:], strict=True) if m[0].lower() != "(final)"]


def _given(spans: Spans, length: int) -> list[_Piece]:
    pieces, end = [], 0
    for start, stop in spans:
        if not end <= start < stop <= length:
            raise SplitError(f"step [{start}, {stop}) is empty, out of order or outside of {length} characters")
        pieces.append((start, stop, stop))
        end = stop
    return pieces


_SPLITS: dict[str, Callable[[str], list[_Piece]]] = {
    "\n\n": _separated(r"\r?\n[ \t]*\r?\n"),
    "\n": _separated(r"\r?\n"),
    "tags": _tagged,
    "marks": _marked,
}
