"""The prompts of tasks/data/react.jsonl, and the program that writes that file: `python -m tasks.react_families`.

Our own writing throughout. One module a group of families; `kit` says what a family is.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from typing import Any

from tasks.react_families import (
    app_life,
    app_play,
    app_work,
    parts,
    standard_forms,
    standard_lists,
    standard_panels,
    standard_tools,
    tiny_cards,
    tiny_counts,
    tiny_forms,
    tiny_lists,
    tiny_toggles,
)
from tasks.react_families.kit import Draft, Family

TIERS: dict[str, tuple[Family, ...]] = {
    "tiny": (
        *tiny_counts.FAMILIES,
        *tiny_toggles.FAMILIES,
        *tiny_cards.FAMILIES,
        *tiny_lists.FAMILIES,
        *tiny_forms.FAMILIES,
    ),
    "standard": (
        *standard_lists.FAMILIES,
        *standard_forms.FAMILIES,
        *standard_panels.FAMILIES,
        *standard_tools.FAMILIES,
    ),
    "app": (
        *app_work.FAMILIES,
        *app_life.FAMILIES,
        *app_play.FAMILIES,
    ),
}
TEST_SHARE = 0.2
PARTS_ROWS = (240, 60)
"""Rows of the tier `parts`, for training and held out."""
WISHES = (
    "Use Tailwind.",
    "It has to look good on a phone as well.",
    "No external libraries, please.",
    "Keep the design calm, with lots of white space.",
    "Rounded corners and soft shadows would be nice.",
    "Everything in one file with a default export.",
    "Surprise me with the colours.",
    "Hooks only, no class components.",
    "It should be usable with the keyboard.",
    "Make it look like a finished product, not like a demo.",
)
"""Things that people add, which nothing checks; every third prompt of the two larger tiers ends in one."""


def rows() -> Iterator[dict[str, Any]]:
    """Every row of the data set, in the order of the file."""
    held_out: set[str] = set()
    for tier, families in TIERS.items():
        by_name: dict[str, list[Draft]] = {}
        for family in families:
            by_name.setdefault(family.name, []).extend(family.drafts())
        for name, drafts in by_name.items():
            found = list(_family_rows(tier, name, drafts))
            held_out |= {row["id"] for row in found if row["split"] == "test"}
            yield from found
    yield from _parts_rows(held_out)


def _family_rows(tier: str, name: str, drafts: Sequence[Draft]) -> Iterator[dict[str, Any]]:
    ids = [f"{tier}-{name}-{n:03d}" for n in range(1, len(drafts) + 1)]
    held_out = _held_out(ids, drafts)
    for row_id, draft in zip(ids, drafts, strict=True):
        prompt = draft.prompt if tier == "tiny" else _with_wish(draft.prompt, row_id)
        yield _row(row_id, tier, "test" if row_id in held_out else "train", draft, prompt)


def _parts_rows(held_out: Collection[str]) -> Iterator[dict[str, Any]]:
    """Rows of the tier `parts`: on the side of the tiny rows that they are made of."""
    train, test = (parts.drafts(held_out, test=test, rows=PARTS_ROWS[test]) for test in (False, True))
    for n, (split, draft) in enumerate([*(("train", d) for d in train), *(("test", d) for d in test)], 1):
        yield _row(f"parts-{draft.family}-{n:03d}", "parts", split, draft, draft.prompt)


def _row(row_id: str, tier: str, split: str, draft: Draft, prompt: str) -> dict[str, Any]:
    return {
        "id": row_id,
        "tier": tier,
        "family": draft.family,
        "split": split,
        "prompt": prompt,
        "requirements": list(draft.requirements),
        "reference": draft.reference,
    }


def _with_wish(prompt: str, row_id: str) -> str:
    number = int(_hash(row_id), 16)
    if number % 3 or "\n" in prompt:
        return prompt
    wish = WISHES[number // 3 % len(WISHES)]
    return f"{prompt} {wish}" if prompt[-1] in ".?!" else f"{prompt}. {wish}"


def _hash(row_id: str) -> str:
    return hashlib.sha256(row_id.encode()).hexdigest()


def _held_out(ids: Sequence[str], drafts: Sequence[Draft]) -> set[str]:
    """A fifth of a family: the first by the hash of their id, of those that share no label with another row."""
    labels = [set(re.findall(r'"([^"]+)"', draft.prompt)) for draft in drafts]
    uses = Counter(label for row in labels for label in row)
    alone = [row_id for row_id, row in zip(ids, labels, strict=True) if all(uses[label] == 1 for label in row)]
    wanted = max(1, round(TEST_SHARE * len(ids)))
    if len(alone) < wanted:  # families of the larger tiers share a label by design, such as "Monthly"
        alone = list(ids)
    by_hash = sorted(alone, key=_hash)
    return set(by_hash[:wanted])


def render() -> str:
    """The text of tasks/data/react.jsonl."""
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows())
