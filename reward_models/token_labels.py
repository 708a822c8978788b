"""From marks on characters to labels on a classifier's tokens and steps, and the split into what is learned from and
what is held out."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from reward_models.learned import RIGHT_CLASS, WRONG_CLASS, step_places
from reward_models.reading import Read, Reader
from reward_models.step_text import Split, split_steps
from reward_models.training_data import RIGHT, UNKNOWN, WRONG, Example, character_labels

IGNORED = -100
_CLASSES = {WRONG: WRONG_CLASS, RIGHT: RIGHT_CLASS, UNKNOWN: IGNORED}


class Labelled(NamedTuple):
    """A completion as it is learned from.

    `token_labels` are the classes, or IGNORED, of the completion's ids. `step_at` are the places of its steps' scores
    among them, and `step_labels` the classes of these steps, or IGNORED; steps that were cut off are left out.
    """

    problem: str
    read: Read
    token_labels: tuple[int, ...]
    step_at: tuple[int, ...]
    step_labels: tuple[int, ...]

    @property
    def labels(self) -> list[int]:
        """Of all ids; the problem's are IGNORED."""
        return [IGNORED] * self.read.start + list(self.token_labels)


def labelled(example: Example, read: Reader, split: Split, *, first: bool = True) -> Labelled | None:
    """The example in tokens, or None where no token of it has a label (cut off, or unknown).

    A token has the label of its first character that is no white space: to most tokenizers " bad" is one token, and
    people mark "bad". A token without such a character has that of the place where it begins. A step is wrong if some
    of it is, right if the rest of what is known of it is; the token where its score is read has the step's label.
    """
    text = example.completion
    chars = character_labels(example, first=first)
    tokens = read(example.problem, text)
    labels = [_CLASSES[int(chars[_shown(text, *s)])] if s[0] < len(text) else IGNORED for s in tokens.spans]
    steps = split_steps(text, split)
    at, step_labels = [], []
    for step, place in zip(steps, step_places(tokens, steps, len(text)), strict=True):
        if place is None:
            continue
        inside = chars[step.start : step.end]
        label = _CLASSES[WRONG if WRONG in inside else RIGHT if RIGHT in inside else UNKNOWN]
        at.append(place)
        step_labels.append(label)
        labels[place] = label
    if all(label == IGNORED for label in labels):
        return None
    return Labelled(example.problem, tokens, tuple(labels), tuple(at), tuple(step_labels))


def _shown(text: str, start: int, end: int) -> int:
    return next((i for i in range(start, end) if not text[i].isspace()), start)


def parted(rows: Sequence[Labelled], held_out: float, seed: int) -> tuple[list[Labelled], list[Labelled]]:
    """Rows to learn from, and those of a share `held_out` of the problems, at least one; no problem is in both."""
    problems = sorted({row.problem for row in rows})
    random.Random(seed).shuffle(problems)
    out = set(problems[: max(1, round(held_out * len(problems)))])
    return [r for r in rows if r.problem not in out], [r for r in rows if r.problem in out]


def token_counts(rows: Sequence[Labelled]) -> tuple[int, int]:
    """How many tokens are labelled wrong, and right."""
    counts = np.bincount([y for row in rows for y in row.token_labels if y != IGNORED], minlength=2)
    return int(counts[WRONG_CLASS]), int(counts[RIGHT_CLASS])
