"""React apps in one file: prompts, and what the rendered page must show and do.

The rows that come with the project are in data/react.jsonl, in four tiers: `tiny` (what a 135M model can write in
160 tokens), `parts` (three such things in one app, in 300 tokens), `standard` and `app`. A row of that file, wrapped:

    {"id": "tiny-counter-001", "tier": "tiny", "family": "counter", "split": "train",
     "prompt": "A counter titled \"Cups of tea\" that starts at 4, with a button \"Pour one\" that adds one.",
     "requirements": [{"check": "role", "role": "heading", "name": "Cups of tea"},
                      {"check": "text", "text": "4"},
                      {"check": "role", "role": "button", "name": "Pour one"},
                      {"check": "click", "role": "button", "name": "Pour one", "expect": {"number_delta": 1}}],
     "reference": "import { useState } from \"react\";\n\nexport default function Counter() {\n  ..."}

The grammar of requirements is in README.md; `sandbox` reads the same one and checks the page.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tasks.base import Record, find_column, one_line, prompt_column, prompt_text, read_records
from tasks.errors import TaskError
from tasks.requirements import validate_requirement

BUNDLED = Path(__file__).parent / "data" / "react.jsonl"
TIERS = ("tiny", "parts", "standard", "app")

_COLUMNS = {
    "id": ("id", "question_id", "index"),
    "tier": ("tier",),
    "family": ("family",),
    "split": ("split",),
    "requirements": ("requirements",),
    "reference": ("reference",),
}


@dataclass(frozen=True)
class ReactRow:
    """One prompt. `requirements` may be empty (prompts from elsewhere); `reference` is a component that meets them."""

    id: str
    prompt: str
    tier: str = ""
    family: str = ""
    split: str = ""
    requirements: tuple[Mapping[str, Any], ...] = ()
    reference: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """The row as JSON has it."""
        return vars(self) | {"requirements": [dict(r) for r in self.requirements]}


def load_react(
    *,
    tier: str | None = "tiny",
    split: str | None = "train",
    path: str | Path | None = None,
    columns: Mapping[str, str] | None = None,
    limit: int | None = None,
) -> list[ReactRow]:
    """Rows of one tier and split (None: of all), in the order of the file, at most `limit`.

    `path` is a file of one's own or a hub id (see `load_prompts`). There, `tier` applies only if the rows have
    tiers, and rows that do not say their split are parted here: a fifth of them, by the hash of their id, is "test".
    """
    check_tier(tier)
    if limit is not None and limit < 1:
        raise TaskError(f"limit is {limit}: it must be at least 1")
    rows = load_prompts(path if path is not None else BUNDLED, columns, split)
    held_out = _held_out([row.id for row in rows if not row.split])
    chosen = [
        row
        for row in rows
        if (tier is None or row.tier in ("", tier))
        and (split is None or (row.split or ("test" if row.id in held_out else "train")) == split)
    ]
    if not chosen:
        raise TaskError(f"{path or BUNDLED.name}: no rows with tier {tier} and split {split}")
    return chosen[:limit]


def check_tier(tier: str | None) -> None:
    """A TaskError for a tier that there isn't; None stands for all of them."""
    if tier is not None and tier not in TIERS:
        raise TaskError(f"no tier {tier!r}: it is one of {', '.join(TIERS)}")


def load_prompts(
    source: str | Path, columns: Mapping[str, str] | None = None, split: str | None = None
) -> list[ReactRow]:
    """Prompts from a JSONL, JSON, CSV or parquet file, or from the hub (`owner/name` or `owner/name:config`).

    The columns are found by their usual names (prompt, question, instruction, messages, conversation, ...; see
    `tasks.base.PROMPT_COLUMNS`), or as `columns` says, e.g. `{"prompt": "ask", "requirements": "checks"}`. Rows
    need no requirements. A `TaskError` says in one line which row and which key is wrong.
    """
    unknown = set(columns or {}) - {"prompt", *_COLUMNS}
    if unknown:
        raise TaskError(
            f"columns: no such thing as {', '.join(sorted(unknown))}; it maps prompt, {', '.join(_COLUMNS)}"
        )
    records = read_records(source, split)
    prompt = prompt_column(records[0], columns, source)
    names = {role: find_column(records[0], role, known, columns, source) for role, known in _COLUMNS.items()}
    rows = [_row(record, prompt, names, n, source) for n, record in enumerate(records, 1)]
    seen: set[str] = set()
    for n, row in enumerate(rows, 1):
        if row.id in seen:
            raise TaskError(f"{source}: row {n} has the id {row.id!r} of an earlier row")
        seen.add(row.id)
    return rows


def _row(record: Record, prompt: str, names: Mapping[str, str | None], n: int, source: str | Path) -> ReactRow:
    def cell(role: str) -> Any:
        name = names[role]
        return None if name is None else record.get(name)

    asked = prompt_text(record.get(prompt))
    if asked is None:
        raise TaskError(f"{source}: row {n} has no text in its prompt column {prompt!r}")
    row_id = cell("id")
    row_id = f"row-{n:05d}" if row_id in (None, "") else str(row_id)
    words = {role: str(cell(role) or "") for role in ("tier", "family", "split")}
    return ReactRow(
        id=row_id,
        prompt=asked,
        requirements=_requirements(cell("requirements"), f"{source}: row {row_id}"),
        reference=cell("reference") or None,
        **words,
    )


def _requirements(value: Any, where: str) -> tuple[dict[str, Any], ...]:
    if isinstance(value, str) and value.strip():  # CSV
        try:
            value = json.loads(value)
        except ValueError as error:
            raise TaskError(f"{where}: requirements is not JSON: {one_line(error)}") from error
    if value is None or value == "":
        return ()
    if not isinstance(value, Sequence) or isinstance(value, str):
        raise TaskError(f"{where}: requirements must be a list, not {type(value).__name__}")
    requirements = tuple(_without_none(item) for item in value)
    for k, requirement in enumerate(requirements, 1):
        try:
            validate_requirement(requirement)
        except TaskError as error:
            raise TaskError(f"{where}: requirement {k}: {error}") from error
    return requirements


def _without_none(value: Any) -> Any:
    # Arrow gives every object of a column all the keys that any of them has.
    if isinstance(value, Mapping):
        return {key: _without_none(item) for key, item in value.items() if item is not None}
    return value


def _held_out(ids: Sequence[str]) -> set[str]:
    by_hash = sorted(ids, key=lambda row_id: hashlib.sha256(row_id.encode()).hexdigest())
    return set(by_hash[: max(1, len(ids) // 5)]) if len(ids) > 1 else set()
