"""What `bot-grpo sandbox` judges: a component in a file, on standard input, or in each row of JSONL, CSV or parquet."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bot_grpo.errors import UserError
from sandbox.pool import Item
from sandbox.requirements import RequirementError, check_grammar
from tasks.base import prompt_text, read_records

KINDS = {".jsx", ".tsx", ".js", ".ts", ".md", ".txt", ".html"}
ROWS = {".jsonl", ".csv", ".parquet"}
_CODE = {".jsx": "jsx", ".tsx": "tsx"}
_READ_LIMIT = 16 << 20  # bytes; longer than any reply


@dataclass(frozen=True)
class Entry:
    """One thing to judge, what it is called, and the request that it answers ("" where nobody said)."""

    name: str
    item: Item
    prompt: str = ""


def read_entries(names: Sequence[str], prompt: str = "") -> list[Entry]:
    """The entries of these files and directories ("-": standard input), in order.

    A row's own prompt goes before `prompt`. Raises `UserError` and `TaskError`.
    """
    entries: list[Entry] = []
    for name in (each for given in names for each in _expanded(given)):
        entries += _rows(Path(name), prompt) if _kind(name) in ROWS else [Entry(name, _item(name), prompt)]
    return entries


def _expanded(name: str) -> list[str]:
    path = Path(name)
    if name == "-" or (path.exists() and not path.is_dir()):
        return [name]
    if not path.exists():
        raise UserError(f"there is no file or directory {name!r}")
    files = sorted(p for p in path.iterdir() if p.is_file())
    found = [str(p) for p in files if _kind(p) in KINDS] or [str(p) for p in files if _kind(p) in ROWS]
    if not found:
        raise UserError(f"{name!r} holds no file of these kinds: {' '.join([*sorted(KINDS), *sorted(ROWS)])}")
    return found


def _kind(name: str | Path) -> str:
    return Path(name).suffix.lower()


def _item(name: str) -> Item:
    try:
        if name == "-":
            data = sys.stdin.buffer.read(_READ_LIMIT + 1)
        else:
            with Path(name).open("rb") as file:
                data = file.read(_READ_LIMIT + 1)
    except OSError as error:
        raise UserError(f"cannot read {name!r}: {error.strerror}") from error
    text = data.decode("utf-8", "replace").removeprefix("\ufeff")
    language = _CODE.get(_kind(name))
    if language or len(data) > _READ_LIMIT:  # what is too long to be a reply is refused as code
        return Item(text, "code", language)
    return Item(text)


def _rows(path: Path, prompt: str) -> list[Entry]:
    records = read_records(path)
    entries = []
    for number, record in enumerate(records, 1):
        where = f"{path}:{number}"
        if "completion" not in record:
            raise UserError(f"{where} has no 'completion'; it has: {', '.join(map(str, record))}")
        item = Item(_text(record["completion"], where), requirements=_requirements(record.get("requirements"), where))
        name = where if record.get("id") in (None, "") else str(record["id"])
        entries.append(Entry(name, item, prompt_text(record.get("prompt")) or prompt))
    return entries


def _text(completion: Any, where: str) -> str:
    """A completion's text: a string, or chat messages of which the last one is the reply."""
    if isinstance(completion, Sequence) and not isinstance(completion, str) and completion:
        last = completion[-1]
        completion = last.get("content") if isinstance(last, Mapping) else None
    if not isinstance(completion, str):
        raise UserError(f"{where}: the completion is neither a text nor a list of messages")
    return completion


def _requirements(value: Any, where: str) -> tuple[Mapping[str, Any], ...]:
    """Requirements as a task's rows have them, or as a run's rollouts do (`check` holds the requirement as JSON)."""
    try:
        rules = json.loads(value or "null") if isinstance(value, str) else value  # CSV's empty cells
        if not isinstance(rules, list | None):
            raise RequirementError(f"requirements are a list, not {type(rules).__name__}")
        found = tuple(_rule(rule) for rule in rules or ())
        for rule in found:
            check_grammar(rule)
    except ValueError as error:  # RequirementError and JSON's are of this kind
        raise UserError(f"{where}: {error}") from error
    return found


def _rule(rule: Any) -> Any:
    if isinstance(rule, Mapping) and str(rule.get("check", "")).startswith("{"):
        return json.loads(rule["check"])
    return _filled(rule)


def _filled(value: Any) -> Any:
    """Without the keys that parquet fills with nulls, because other rows have them."""
    if not isinstance(value, Mapping):
        return value
    return {key: _filled(each) for key, each in value.items() if each is not None}
