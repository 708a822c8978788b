"""The same problem twice: within a set, and between the sets that one trains on and those one evaluates on."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

_TOKEN = re.compile(r"[^\W\d_]+|\d+|[^\w\s$\\{}.,;:!?]")


def fingerprint(problem: str) -> str:
    """What is the same for two problems that differ in white space, dollar signs and case alone."""
    return re.sub(r"[\s$]|\\[,;:! ]", "", problem).casefold()


@dataclass(frozen=True)
class Overlap:
    """A train problem and an evaluation problem that share words.

    `share` is the part of the evaluation problem's n-grams that the train problem has; `words` is the first of them.
    """

    train: str
    evaluation: str
    share: float
    words: str


def overlaps(
    train: Mapping[str, str], evaluation: Mapping[str, str], *, n: int = 8, least: float = 0.5
) -> list[Overlap]:
    """Pairs of problems (id -> text) that share at least `least` of their n-grams; the nearest first.

    Words, numbers and signs count, punctuation and case don't; a problem shorter than n is one gram. A single shared
    8-gram says little here, for AIME problems end alike ("where m and n are relatively prime positive integers"): of
    the 900 pairs of a 2024 and a 2025 problem 33 share one, none of them more than 18 %. `least=0` gives those, too.
    """
    grams = {key: _grams(text, n) for key, text in evaluation.items()}
    index: dict[tuple[str, ...], list[str]] = {}
    for key, found in grams.items():
        for gram in found:
            index.setdefault(gram, []).append(key)
    pairs = []
    for train_key, text in train.items():
        shared: dict[str, list[tuple[str, ...]]] = {}
        for gram in _grams(text, n):
            for key in index.get(gram, ()):
                shared.setdefault(key, []).append(gram)
        for key, common in shared.items():
            share = len(common) / len(grams[key])
            if share >= least:
                pairs.append(Overlap(train_key, key, share, " ".join(common[0])))
    return sorted(pairs, key=lambda pair: -pair.share)


def _grams(text: str, n: int) -> dict[tuple[str, ...], None]:
    """The n-grams of a text, each once, in order."""
    words = _TOKEN.findall(text.casefold())
    return dict.fromkeys(tuple(words[i : i + n]) for i in range(max(1, len(words) - n + 1))) if words else {}
