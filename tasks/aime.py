"""AIME problems and data sets like them: a problem, and an integer from 0 to 999.

A row: `AIMERow(id="1", problem="How many squares ...", answer=25, source="math-ai/aime25")`. Sets differ in their
columns, in how they write the answer, and in how often they repeat a problem; `read` makes them alike.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any

from tasks.aime_format import prompt
from tasks.answers import gold_integer
from tasks.base import Record, find_column, iter_records, one_line, prompt_text
from tasks.errors import TaskError
from tasks.overlap import fingerprint

__all__ = ["SETS", "AIMERow", "Loaded", "load", "prompt", "read"]

_2025 = ("opencompass/AIME2025:AIME2025-I", "opencompass/AIME2025:AIME2025-II")
SETS: Mapping[str, tuple[str, ...]] = {
    "aime_2024": ("HuggingFaceH4/aime_2024",),
    "aime_2025": _2025,
    "aime_2026": ("MathArena/aime_2026",),
    "aime_1983_2024": ("di-zhang-fdu/AIME_1983_2024",),
    "aimo_validation": ("AI-MO/aimo-validation-aime",),
    "dapo": ("BytedTsinghua-SIA/DAPO-Math-17k",),
    "polaris": ("POLARIS-Project/Polaris-Dataset-53K",),
    "opencompass/AIME2025": _2025,
    "MathArena/aime_2024": ("MathArena/aime_2024_I", "MathArena/aime_2024_II"),
}
"""Short names, and what they are on the hub. Any other set of the hub goes by its own id."""

ARITHMETIC = "arithmetic:"
"""Begins the name of problems that are made here: `arithmetic:1` to `arithmetic:4`, by level."""

_TRAINING = re.compile(r"aime.1983|dapo-math|polaris|deepscaler|eurus|openr1-math|big-math|numina", re.IGNORECASE)
_PROBLEM = ("problem", "question", "prompt", "input", "origin_prompt", "source_prompt", "messages")
_ANSWER = (
    "answer",
    "expected_answer",
    "gold_answer",
    "gold",
    "ground_truth",
    "final_answer",
    "reward_model",
    "solution",
)
_ID = ("id", "problem_id", "problem_idx", "question_id", "unique_id", "uuid", "index")
_ROLES = ("problem", "answer", "id", "split")


@dataclass(frozen=True)
class AIMERow:
    """One problem and its answer; `extra` holds the set's other columns (year, solution, level, ...)."""

    id: str
    problem: str
    answer: int
    source: str = ""
    extra: Mapping[str, Any] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """The row as JSON has it."""
        return vars(self) | {"extra": dict(self.extra)}


@dataclass(frozen=True)
class Loaded:
    """The rows of a set, each problem once. `repeated` says how often more it occurs, by the row's id; `dropped` has a
    line for each problem whose answer is no integer from 0 to 999, or not always the same."""

    rows: list[AIMERow]
    repeated: Mapping[str, int]
    dropped: list[str]


def load(
    source: str | Path = "aime_2024",
    *,
    split: str | None = None,
    columns: Mapping[str, str] | None = None,
    limit: int | None = None,
    drop: bool | None = None,
) -> list[AIMERow]:
    """The rows of `read`, at most `limit`; never an empty list.

    "arithmetic:LEVEL" gives problems that are made here (`arithmetic_problems`): of the train templates unless `split`
    is "test", and 1,000 of them without a `limit`.
    """
    if limit is not None and limit < 1:
        raise TaskError(f"limit is {limit}: it must be at least 1")
    if str(source).startswith(ARITHMETIC):
        return _made(str(source), split, limit)
    return read(source, split=split, columns=columns, drop=drop).rows[:limit]


def read(
    source: str | Path,
    *,
    split: str | None = None,
    columns: Mapping[str, str] | None = None,
    drop: bool | None = None,
) -> Loaded:
    """A set by its short name (`SETS`), a hub id (`owner/name` or `owner/name:config`), or a JSONL, JSON, CSV or
    parquet file.

    Args:
        split: None for all rows. "train" or "test" of a set that does not part them itself is parted here: a fifth of
            its problems, by the hash of their text, is "test".
        columns: what problem, answer, id and split are called, e.g. `{"answer": "reward_model.ground_truth"}`.
        drop: leave out rows whose answer is no integer from 0 to 999, instead of refusing the set; None: only of the
            hub's large sets for training (DAPO, Polaris, AIME 1983-2024, ...), most of which hold other mathematics.

    Raises:
        TaskError: one line: no such source, no column of problems or answers (which there are), an answer that is no
        integer from 0 to 999 (of which row), no rows.
    """
    unknown = sorted(set(columns or {}) - set(_ROLES))
    if unknown:
        raise TaskError(f"columns: no such thing as {', '.join(unknown)}; it maps {', '.join(_ROLES)}")
    parts = SETS.get(str(source), (str(source),))
    rows: dict[str, AIMERow] = {}
    repeated: Counter[str] = Counter()
    dropped: dict[str, str] = {}
    for part in parts:
        dropping = _for_training(part) if drop is None else drop
        for row, wrong in _rows(part, split, columns, prefix=len(parts) > 1):
            key = fingerprint(row.problem)
            earlier = rows.setdefault(key, row)
            if earlier is not row and not wrong and earlier.answer != row.answer:
                wrong = _two_answers(row, earlier)
            if wrong and not dropping:
                raise TaskError(wrong)
            if wrong:
                dropped.setdefault(key, wrong)
            elif earlier is not row:
                repeated[earlier.id] += 1
    if not rows:
        raise TaskError(f"{source}: no rows in it")
    kept = _parted([row for key, row in rows.items() if key not in dropped], split)
    if not kept:
        why = f"; {len(dropped)} were left out, the first: {next(iter(dropped.values()))}" if dropped else ""
        raise TaskError(f"{source}: no rows to use{f' with split {split}' if split else ''}{why}")
    _check_ids(kept, source)
    return Loaded(kept, {row.id: repeated[row.id] for row in kept if repeated[row.id]}, list(dropped.values()))


def _for_training(part: str) -> bool:
    """Whether this is one of the hub's large sets, where a row that can't be used is no reason to stop."""
    return bool(_TRAINING.search(part)) and not Path(part).exists()


def _two_answers(row: AIMERow, earlier: AIMERow) -> str:
    return (
        f"{row.source}: row {row.id} has the problem of row {earlier.id}, and another answer: "
        f"{row.answer}, not {earlier.answer}"
    )


def _rows(
    part: str, split: str | None, columns: Mapping[str, str] | None, *, prefix: bool
) -> Iterator[tuple[AIMERow, str]]:
    """Rows in order, with what is wrong with the answer of each ("": nothing, else it is -1)."""
    records = iter_records(part, split)
    first = next(records, None)
    if first is None:
        return
    names = {role: _column(first, role, columns, part) for role in _ROLES}
    tag = part.rpartition(":" if ":" in part else "/")[2] + "-" if prefix else ""
    for n, record in enumerate(chain([first], records), 1):
        problem = prompt_text(_cell(record, names["problem"]))
        if problem is None:
            raise TaskError(f"{part}: row {n} has no text in its column {names['problem']!r}")
        given = _cell(record, names["id"])
        row_id = f"{tag}{n if given in (None, '') else given}"
        try:
            gold = _cell(record, names["answer"])
        except ValueError as error:
            raise TaskError(f"{part}: row {n}: {names['answer']!r} is not JSON: {one_line(error)}") from error
        answer = gold_integer(gold)
        extra = {k: v for k, v in record.items() if k not in (names["problem"], names["answer"], names["id"])}
        extra |= {"split": _cell(record, names["split"])} if names["split"] else {}
        wrong = ""
        if answer is None:
            shown = "empty" if gold in (None, "") else repr(gold if len(repr(gold)) < 80 else f"{str(gold)[:60]}...")
            where = f"{part}: row {row_id}" + ("" if str(n) == row_id else f" (number {n})")
            wrong = f"{where}: its answer is {shown}: it should be an integer from 0 to 999"
        yield AIMERow(row_id, _unwrapped(problem), -1 if answer is None else answer, part, extra), wrong


def _column(record: Record, role: str, columns: Mapping[str, str] | None, source: str) -> str | None:
    """The column, or dotted path, for a role; None for an id or a split that isn't there."""
    asked = (columns or {}).get(role)
    if asked is not None and "." in asked and asked not in record:
        column, _, rest = asked.partition(".")
        return f"{find_column(record, role, (), {role: column}, source)}.{rest}"
    known = {"problem": _PROBLEM, "answer": _ANSWER, "id": _ID, "split": ("split",)}[role]
    found = find_column(record, role, known, columns, source)
    if found is None and role in ("problem", "answer"):
        raise TaskError(
            f"{source}: no column of {role}s (such as {', '.join(known[:3])}); it has {', '.join(map(str, record))}: "
            f"name the right one with columns: {{{role}: NAME}} (--columns {role}=NAME)"
        )
    if found is not None and found.lower() == "reward_model" and asked is None:
        return f"{found}.ground_truth"
    return found


def _cell(record: Record, name: str | None) -> Any:
    """The value under a name, or under a path of names `reward_model.ground_truth`."""
    if name is None or name in record:
        return record.get(name) if name else None
    column, _, rest = name.partition(".")
    value = record.get(column)
    if isinstance(value, str) and value.lstrip().startswith("{"):  # CSV
        value = json.loads(value)
    return _cell(value, rest) if isinstance(value, dict) and rest else None


_ASKED = re.compile(r"\ASolve the following math problem step by step\.[^\n]*\n+")
_REMINDED = re.compile(r"\s*Remember to put your answer on its own line after \"Answer:\"\.?\s*\Z")


def _unwrapped(problem: str) -> str:
    """Without the instructions that verl's sets put around each problem: how to answer is said by `prompt`."""
    return _REMINDED.sub("", _ASKED.sub("", problem)).strip()


def _parted(rows: Sequence[AIMERow], split: str | None) -> list[AIMERow]:
    if split is None:
        return list(rows)
    unsaid = [fingerprint(row.problem) for row in rows if not row.extra.get("split")]
    by_hash = sorted(unsaid, key=lambda text: hashlib.sha256(text.encode("utf-8", "replace")).hexdigest())
    held_out = set(by_hash[: max(1, len(by_hash) // 5)]) if len(by_hash) > 1 else set()

    def side(row: AIMERow) -> str:
        return str(row.extra.get("split") or ("test" if fingerprint(row.problem) in held_out else "train"))

    return [row for row in rows if side(row) == split]


def _check_ids(rows: Sequence[AIMERow], source: str | Path) -> None:
    seen: set[str] = set()
    for row in rows:
        if row.id in seen:
            raise TaskError(
                f"{source}: two problems have the id {row.id!r}: name another column with columns: {{id: NAME}}"
            )
        seen.add(row.id)


def _made(source: str, split: str | None, limit: int | None) -> list[AIMERow]:
    from tasks import arithmetic_problems as made  # it makes rows, so it imports this module

    level = source.removeprefix(ARITHMETIC)
    if level not in map(str, made.LEVELS):
        raise TaskError(f"{source}: the levels are {', '.join(f'{ARITHMETIC}{n}' for n in made.LEVELS)}")
    return made.problems(int(level), split=split or "train", **({} if limit is None else {"n": limit}))
