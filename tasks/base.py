"""Reading the rows of a task: JSONL, JSON, CSV and parquet files, and data sets of the hub through `datasets`."""

from __future__ import annotations

import csv
import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from tasks.errors import TaskError
from tasks.hub import lost

Record = dict[str, Any]

PROMPT_COLUMNS = (
    "prompt",
    "question",
    "instruction",
    "problem",
    "messages",
    "conversation",
    "conversations",
    "conversation_a",
    "input",
    "origin_prompt",
    "llm_generated_idea",
    "nl_description",
)
"""Where a prompt is looked for, in this order, whatever the case of the letters."""

FALLBACK_SPLITS = ("train", "validation", "test")
MOST_FILES = 10_000
"""In the folder of a data set, folders in it included."""
_FILES = (".jsonl", ".json", ".csv", ".parquet")
_HUB_ID = re.compile(r"[\w.-]+(/[\w.-]+)?(:[\w.-]+)?")


def read_records(source: str | Path, split: str | None = None) -> list[Record]:
    """The rows of a file, or of a hub data set `owner/name` or `owner/name:config`; never an empty list.

    `split` is for the hub. A data set with a train split and a test or validation split gives the one asked for, and
    its rows get a `split`; of any other the first of train, validation, test is read, else its only split. A
    `TaskError` says in one line what is wrong with the source.
    """
    records = list(iter_records(source, split))
    if not records:
        raise TaskError(f"{source}: no rows in it")
    return records


def iter_records(source: str | Path, split: str | None = None) -> Iterator[Record]:
    """The rows of `read_records` one by one: a large data set of the hub stays on disk. There may be none."""
    path = Path(source).expanduser()
    if path.suffix.lower() in _FILES or path.is_file():
        yield from _read_file(path)
    elif _HUB_ID.fullmatch(str(source)) or path.is_dir():
        if path.is_dir():
            _check_folder(path)
        yield from _iter_hub(str(source), split)
    else:
        raise TaskError(f"{source}: neither a file ({', '.join(_FILES)}) nor a hub id such as owner/name")


def is_missing_file(source: str | Path) -> bool:
    """Whether a source is a file by its name, and is not there."""
    path = Path(source).expanduser()
    return path.suffix.lower() in _FILES and not path.is_file()


def _check_folder(path: Path) -> None:
    """A folder of a data set, and not a disk, which `datasets` would look all through before it says anything."""
    seen, folders = 0, [path]
    while folders:
        try:
            with os.scandir(folders.pop()) as found:
                for entry in found:
                    seen += 1
                    if entry.is_dir(follow_symlinks=False):
                        folders.append(Path(entry.path))
                    if seen > MOST_FILES:
                        raise TaskError(
                            f"{path}: has over {MOST_FILES:,} files: give the data set's own folder, or a file "
                            f"({', '.join(_FILES)})"
                        )
        except OSError:  # not ours to read
            continue


def _read_file(path: Path) -> list[Record]:
    if not path.is_file():
        raise TaskError(f"{path}: no such file")
    try:
        match path.suffix.lower():
            case ".jsonl":
                return [_record(line, f"{path}:{n}") for n, line in enumerate(_lines(path), 1) if line.strip()]
            case ".json":
                whole = json.loads(path.read_text(encoding="utf-8"))
                if not isinstance(whole, list) or not all(isinstance(row, dict) for row in whole):
                    raise TaskError(f"{path}: should hold a list of JSON objects")
                return whole
            case ".csv":
                return _read_csv(path)
            case ".parquet":
                import pyarrow.parquet  # slow to import, and seldom needed

                rows: list[Record] = pyarrow.parquet.read_table(path).to_pylist()
                return rows
    except (OSError, ValueError) as error:
        if isinstance(error, TaskError):
            raise
        raise TaskError(f"{path}: cannot be read: {one_line(error)}") from error
    raise TaskError(f"{path}: name it {', '.join(_FILES)} according to what is in it")


def _lines(path: Path) -> Iterable[str]:
    # Not str.splitlines: U+2028 inside a JSON string is no end of line.
    with path.open(encoding="utf-8") as file:
        yield from file


def _record(line: str, where: str) -> Record:
    try:
        row = json.loads(line)
    except ValueError as error:
        raise TaskError(f"{where}: not JSON: {one_line(error)}") from error
    if not isinstance(row, dict):
        raise TaskError(f"{where}: should be a JSON object, not {type(row).__name__}")
    return row


def _read_csv(path: Path) -> list[Record]:
    csv.field_size_limit(1 << 30)
    with path.open(encoding="utf-8-sig", newline="") as file:
        rows = list(csv.DictReader(file))
    for n, row in enumerate(rows, 1):
        if None in row:
            raise TaskError(f"{path}: row {n} has more cells than the header has names")
    return rows


def _iter_hub(source: str, split: str | None) -> Iterator[Record]:
    import datasets  # slow to import, and only needed here

    name, _, config = (source, "", "") if Path(source).is_dir() else source.partition(":")
    converted = Path(datasets.config.HF_DATASETS_CACHE) / name.replace("/", "___")
    if not Path(source).is_dir() and not converted.is_dir() and lost(name, "dataset"):
        raise TaskError(f"{source}: there is no such file, and the hub cannot be reached to look for it there")
    try:
        loaded = datasets.load_dataset(name, config or None)
    except Exception as error:  # the hub, the network and the builder scripts raise what they like
        raise TaskError(f"{source}: `datasets` cannot load it: {one_line(error)}") from error
    chosen, tag = _split_to_read(list(loaded), split)
    if chosen is None:
        raise TaskError(f"{source}: has the splits {', '.join(loaded)}; say which")
    more = {"split": tag} if tag else {}
    for batch in loaded[chosen].iter(batch_size=1000):  # a row at a time takes several times as long
        names = list(batch)
        for values in zip(*batch.values(), strict=True):
            yield more | dict(zip(names, values, strict=True))


def _split_to_read(splits: Sequence[str], asked: str | None) -> tuple[str | None, str | None]:
    """The split to read, and what its rows are to be called when the data set keeps train and test apart itself."""
    held_out = next((s for s in ("test", "validation") if s in splits), None)
    if asked in ("train", "test") and "train" in splits and held_out:
        return ("train" if asked == "train" else held_out), asked
    known = next((s for s in (asked, *FALLBACK_SPLITS) if s in splits), None)
    return known or (splits[0] if len(splits) == 1 else None), None


def find_column(
    record: Mapping[str, Any], role: str, known: Sequence[str], columns: Mapping[str, str] | None, source: str | Path
) -> str | None:
    """The record's column for `role`: what `columns` says, else the first of `known` that is there, case ignored.

    None when there is no such column; a column that `columns` names must be there.
    """
    here = {str(name).lower(): str(name) for name in record}
    asked = (columns or {}).get(role)
    if asked is not None:
        if asked.lower() not in here:
            raise TaskError(f"{source}: no column {asked!r} for {role}; it has {', '.join(map(str, record))}")
        return here[asked.lower()]
    return next((here[name] for name in known if name in here), None)


def prompt_column(record: Mapping[str, Any], columns: Mapping[str, str] | None, source: str | Path) -> str:
    """The column that holds the prompt; a `TaskError` names the columns that are there if none does."""
    found = find_column(record, "prompt", PROMPT_COLUMNS, columns, source)
    if found is None:
        raise TaskError(
            f"{source}: no prompt column (such as prompt, question, instruction, messages); "
            f"it has {', '.join(map(str, record))}: name the right one with columns: {{prompt: NAME}} "
            "(--columns prompt=NAME)"
        )
    return found


def prompt_text(value: Any) -> str | None:
    """What the user asked: a string as it is, of a list of messages the text of the first user turn.

    Understands `{role, content}` and `{from, value}` messages, content that is itself a list of `{type, text}`
    parts, and lists written as a JSON string (as CSV files hold them). None when there is no text.
    """
    if isinstance(value, str):
        if value.lstrip().startswith("[{"):
            try:
                return prompt_text(json.loads(value))
            except ValueError:
                pass
        return value.strip() or None
    if isinstance(value, Mapping):
        return prompt_text(value.get("content", value.get("value", value.get("text"))))
    if not isinstance(value, Sequence):
        return None
    turns = [turn for turn in value if isinstance(turn, Mapping)]
    if any("role" in turn or "from" in turn for turn in turns):
        user = (t for t in turns if str(t.get("role", t.get("from"))).lower() in {"user", "human"})
        return prompt_text(next(user, None))
    parts = [prompt_text(part) for part in value]
    return "\n".join(part for part in parts if part) or None


def one_line(error: BaseException) -> str:
    """The first line of an error's message, or its type when it has none."""
    return next(iter(str(error).strip().splitlines()), type(error).__name__)
