"""A problem and a completion in the tokens of a reward model's own tokenizer, each with its characters."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

from reward_models.alignment import CharSpans, TokenText
from reward_models.pretrained import Encoding, as_text, render

TEMPLATES = ("auto", "chat", "plain")


class Read(NamedTuple):
    """Ids of problem and completion, which begins at `start`; the half-open char span of each of the completion's ids
    in it; whether some of it did not fit."""

    ids: tuple[int, ...]
    start: int
    spans: CharSpans
    cut: bool


class Reader:
    """Turns a problem and a completion into `Read`.

    Args:
        tokenizer: the reward model's.
        template: "chat": the problem is a user's turn in the tokenizer's chat template. "plain": it stands by itself,
            with a line break after it. "auto": chat where there is such a template.
        limit: the most ids.
        end: whether an EOS follows a completion that fits. It has no characters.
    """

    def __init__(self, tokenizer: Any, *, template: str = "auto", limit: int, end: bool = False) -> None:
        self._tokenizer, self._limit = tokenizer, limit
        self._text = TokenText(tokenizer)
        chat = template == "chat" or (template == "auto" and bool(tokenizer.chat_template))
        self._turns = render(tokenizer, [("user", "")], answer=True) if chat else None
        self._end = (tokenizer.eos_token_id,) if end and tokenizer.eos_token_id is not None else ()

    def __call__(self, problem: str, completion: str) -> Read:
        """The completion is encoded by itself, as the policy began there, too."""
        prompt = self._prompt(problem)
        found = as_text(self._tokenizer, completion, offsets=True)
        ids = found["input_ids"]
        text, spans = self._text(ids)
        if text != completion:  # a tokenizer that normalizes: its offsets are those of the original
            spans = tiled(found["offset_mapping"])
        ids, spans = (*ids, *self._end), (*spans, *((len(completion),) * 2 for _ in self._end))
        room = max(0, self._limit - len(prompt))
        return Read((*prompt, *ids[:room]), len(prompt), spans[:room], len(ids) > room)

    def _prompt(self, problem: str) -> tuple[int, ...]:
        if self._turns is None:
            return tuple(as_text(self._tokenizer, f"{problem}\n", special=True)["input_ids"])
        encoding = Encoding(self._tokenizer)
        for template, n in self._turns:
            encoding.template(template)
            encoding.text(problem if n == 0 else "")
        return encoding.ids


def tiled(offsets: Sequence[tuple[int, int]]) -> CharSpans:
    """Offsets as spans that do not overlap: a character that takes several ids belongs to the last of them."""
    starts = [a for a, _ in offsets]
    spans, end = [], 0
    for (a, b), after in zip(offsets, [*starts, math.inf][1:], strict=True):
        start = max(a, end)
        end = max(start, int(min(b, after)))
        spans.append((start, end))
    return tuple(spans)
