"""Replies to score: rows with a prompt and a completion, from a file or from a run's rollouts, a few at a time."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from bot_grpo.errors import UserError
from bot_grpo.rundir import ROLLOUTS
from reward_models.base import Rollout
from reward_models.contract import Encoded
from tasks.base import prompt_text

KINDS = (".jsonl", ".csv", ".parquet")
_TOKENS = ("token_ids", "spans")
_NOTED = ("step", "kind", "group", "outcome")
_A_RUNS_OWN = frozenset({*ROLLOUTS.names} - {"prompt", "completion", "requirements", "answer"})


@dataclass(frozen=True)
class Reply:
    """A row: what was asked for, what was written, and the fields that a reward model may read.

    `tokens` are the sampled ids and their spans where the row says what they were (a run's rollouts do). `noted` is
    where it comes from and what became of it, as far as the row says: step, kind, group, outcome.
    """

    id: str
    prompt: str
    completion: str
    row: Mapping[str, Any] = field(default_factory=dict)
    truncated: bool = False
    tokens: tuple[tuple[int, ...], tuple[tuple[int, int], ...]] | None = None
    noted: Mapping[str, Any] = field(default_factory=dict)

    def rollout(self, encode: Callable[[str], Encoded]) -> Rollout:
        """With its own tokens, or else those that `encode` makes of the text."""
        text, ids, spans = (self.completion, *self.tokens) if self.tokens else encode(self.completion)
        return Rollout(self.prompt, text, ids, spans, dict(self.row), self.truncated)


def read_replies(source: Path) -> Iterator[Reply]:
    """The rows of a .jsonl, .csv or .parquet file, or of all rollouts of a run's directory, in order.

    Each has a `completion`, and maybe a `prompt`, an `id` and `truncated`; what else it has is its row. Raises
    UserError where it gets to something that cannot be read.
    """
    files = sorted((source / "rollouts").glob("*.parquet")) if source.is_dir() else [source]
    if not files:
        raise UserError(f"{source} holds no rollouts/*.parquet: give a run that train wrote, or a file")
    for file in files:
        found = False
        for number, record in enumerate(records_of(file), 1):
            found = True
            yield _reply(record, f"{file}:{number}", str(number) if len(files) == 1 else f"{file.stem}:{number}")
        if not found:
            raise UserError(f"{file} has no rows")


def records_of(file: Path) -> Iterator[Mapping[str, Any]]:
    """The rows of a .jsonl, .csv or .parquet file. Raises UserError where one cannot be read."""
    kind = file.suffix.lower()
    if kind not in KINDS:
        raise UserError(f"{file}: name it {', '.join(KINDS)} according to what is in it")
    reader = {".jsonl": _jsonl, ".csv": _csv, ".parquet": _parquet}[kind]
    try:
        yield from reader(file)
    except FileNotFoundError as error:
        raise UserError(f"there is no file {file}") from error
    except (OSError, ValueError, csv.Error, pa.ArrowException) as error:
        raise UserError(f"{file} cannot be read: {str(error).splitlines()[0]}") from error


def _jsonl(file: Path) -> Iterator[Mapping[str, Any]]:
    with file.open(encoding="utf-8-sig") as lines:
        for number, line in enumerate(lines, 1):
            if line.strip():
                try:
                    record = json.loads(line)
                except ValueError as error:
                    raise UserError(f"{file}:{number} is not JSON: {error}") from error
                if not isinstance(record, dict):
                    raise UserError(f"{file}:{number} is {type(record).__name__}, not a JSON object")
                yield record


def _csv(file: Path) -> Iterator[Mapping[str, Any]]:
    csv.field_size_limit(1 << 30)
    with file.open(encoding="utf-8-sig", newline="") as lines:
        for record in csv.DictReader(lines):
            if None in record:
                raise UserError(f"{file}: a row has more cells than the header has names")
            yield record


def _parquet(file: Path) -> Iterator[Mapping[str, Any]]:
    with pq.ParquetFile(file) as opened:
        for batch in opened.iter_batches(batch_size=64):
            yield from batch.to_pylist()


def _reply(record: Mapping[str, Any], where: str, number: str) -> Reply:
    if "completion" not in record:
        raise UserError(f"{where} has no 'completion'; it has: {', '.join(map(str, record))}")
    text = _completion(record["completion"], where)
    own = _A_RUNS_OWN if all(name in record for name in _TOKENS) else frozenset()
    row = {k: v for k, v in record.items() if k not in {"completion", "truncated", *own}}
    if own and row.get("answer") is None:  # of a task without answers
        row.pop("answer", None)
    if isinstance(row.get("row"), Mapping):  # the fields together, as in a data set to train on
        row |= row.pop("row")
    if "requirements" in row:
        row["requirements"] = _requirements(row["requirements"], where)
    return Reply(
        id=str(record["id"]) if record.get("id") is not None else number,
        prompt=prompt_text(record.get("prompt")) or "",
        completion=text,
        row=row,
        truncated=record.get("truncated") in (True, "true", "True", "1"),
        tokens=_tokens(record, text),
        noted={name: record[name] for name in _NOTED if record.get(name) is not None},
    )


def _requirements(value: Any, where: str) -> list[Any]:
    """As a task's rows have them; a CSV file has them as JSON, and a run has each as JSON, with how it was met."""
    try:
        rules = json.loads(value or "[]") if isinstance(value, str) else value or []
        return [json.loads(r["check"]) if str(r["check"]).startswith("{") else r for r in rules]
    except (ValueError, TypeError, KeyError) as error:
        raise UserError(f"{where}: the requirements are no list of checks") from error


def _completion(value: Any, where: str) -> str:
    """A text, or chat messages of which the last one is the reply."""
    if isinstance(value, Sequence) and not isinstance(value, str) and value and isinstance(value[-1], Mapping):
        value = value[-1].get("content")
    if not isinstance(value, str):
        raise UserError(f"{where}: the completion is neither a text nor a list of messages")
    return value


def _tokens(record: Mapping[str, Any], text: str) -> tuple[tuple[int, ...], tuple[tuple[int, int], ...]] | None:
    """Ids and spans of a row that has both, if the spans tile its text."""
    ids, spans = (record.get(name) for name in _TOKENS)
    if not isinstance(ids, list) or not isinstance(spans, list) or len(ids) != len(spans):
        return None
    end = 0
    for start, stop in spans:
        if start != end or stop < start:
            return None
        end = stop
    return (tuple(ids), tuple((a, b) for a, b in spans)) if end == len(text) else None


class Encoder:
    """Text to the ids that a tokenizer makes of it, with their spans: for a text that no policy sampled, these stand in
    for its tokens."""

    def __init__(self, tokenizer: Any) -> None:
        from reward_models.alignment import TokenText

        self._tokenizer, self._text = tokenizer, TokenText(tokenizer)

    def __call__(self, text: str) -> Encoded:
        """The text as the ids spell it (not always to the letter: a vocabulary may lack a character), ids, spans."""
        clean = text.encode("utf-8", "replace").decode("utf-8")
        ids = tuple(self._tokenizer(clean, add_special_tokens=False, split_special_tokens=True)["input_ids"])
        spelled, spans = self._text(ids)
        return spelled, ids, spans
