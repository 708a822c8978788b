"""Read a run directory for its report: settings, curves, and a sample of completions that fits on a page.

Everything in a run directory is optional and may be half written (a killed or a running run): what cannot be read
is left out and named in `notes`, which the page shows.
"""

from __future__ import annotations

import json
import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import pyarrow as pa
import pyarrow.parquet as pq
import yaml

from bot_grpo.errors import UserError

Series = dict[str, list[tuple[int, float]]]
"""Per metric: (step, value) in step order, finite values only."""

T = TypeVar("T")


@dataclass(frozen=True)
class Entry:
    """One row of one rollouts file, found by its light columns alone."""

    file: Path
    row: int
    step: int
    kind: str
    group: int
    status: str


@dataclass(frozen=True)
class Run:
    """What a run directory says, completions excepted: those are only indexed."""

    path: Path
    config: Mapping[str, Any]
    summary: Mapping[str, Any]
    series: Series
    alarms: tuple[tuple[int, str], ...]
    index: tuple[Entry, ...]
    notes: list[str] = field(default_factory=list)


def read_run(path: Path) -> Run:
    """Read `path`. Raises `UserError` when it is not a run directory or holds nothing to show yet."""
    if not path.is_dir():
        nearby = Path("runs") / path.name
        hint = f"; did you mean {nearby}?" if nearby.is_dir() else ""
        raise UserError(f"{path} is not a directory{hint}")
    if not any((path / name).is_file() for name in ("metrics.jsonl", "config.yaml")):
        raise UserError(f"{path} is not a run directory (no config.yaml, no metrics.jsonl): give one that train wrote")
    notes: list[str] = []
    rows = _read_metrics(path / "metrics.jsonl", notes)
    series = to_series(rows)
    if not series:
        raise UserError(f"{path} has no metrics yet: wait for the first step, then run this again")
    return Run(
        path=path,
        config=_read_mapping(path / "config.yaml", notes),
        summary=_read_mapping(path / "summary.json", notes),
        series=series,
        alarms=_alarms(rows),
        index=index_rollouts(path / "rollouts", notes),
        notes=notes,
    )


def _read_mapping(path: Path, notes: list[str]) -> Mapping[str, Any]:
    """A YAML (or JSON, which is YAML) mapping; empty when the file is missing or unreadable."""
    try:
        value = yaml.safe_load(path.read_text(encoding="utf-8", errors="replace"))
    except FileNotFoundError:
        return {}
    except (OSError, yaml.YAMLError):
        notes.append(f"{path.name} could not be read.")
        return {}
    return value if isinstance(value, dict) else {}


def _read_metrics(path: Path, notes: list[str]) -> list[dict[str, Any]]:
    """The rows of metrics.jsonl that are JSON objects with a step; a half-written last line is ordinary."""
    if not path.exists():
        return []
    lines = path.read_text(encoding="utf-8", errors="replace").split("\n")
    rows, bad = [], 0
    for number, line in enumerate(lines, 1):
        try:
            row = json.loads(line) if line.strip() else None
        except json.JSONDecodeError:
            bad += number < len(lines)
            continue
        if isinstance(row, dict) and isinstance(row.get("step"), int):
            rows.append(row)
    if bad:
        notes.append(f"{bad} unreadable {'line' if bad == 1 else 'lines'} of metrics.jsonl left out.")
    return rows


def to_series(rows: Iterable[Mapping[str, Any]]) -> Series:
    """Curves by metric name. A step that was logged twice (a resumed run) keeps its last value."""
    by_key: dict[str, dict[int, float]] = defaultdict(dict)
    for row in rows:
        for key, value in row.items():
            if key == "step" or isinstance(value, bool) or not isinstance(value, int | float):
                continue
            if math.isfinite(value):
                by_key[key][row["step"]] = float(value)
    return {key: sorted(points.items()) for key, points in by_key.items()}


def _alarms(rows: Iterable[Mapping[str, Any]]) -> tuple[tuple[int, str], ...]:
    found: dict[tuple[int, str], None] = {}  # a set that keeps its order
    for row in rows:
        for text in row.get("alarms") or ():
            found[(row["step"], str(text))] = None
    return tuple(sorted(found))


def index_rollouts(folder: Path, notes: list[str]) -> tuple[Entry, ...]:
    """The rows of the files in a run's `rollouts`, by step, held-out ones first; what cannot be read is noted."""
    entries: list[Entry] = []
    for file in sorted(folder.glob("*.parquet")):
        default_kind = "eval" if file.name.startswith("eval") else "train"
        try:
            present = set(pq.read_schema(file).names)
            wanted = [c for c in ("step", "kind", "group", "status") if c in present]
            columns = pq.read_table(file, columns=wanted)
            rows = columns.to_pylist() if wanted else [{}] * pq.read_metadata(file).num_rows
        except (pa.ArrowException, OSError, ValueError):
            notes.append(f"rollouts/{file.name} could not be read (still being written, or damaged).")
            continue
        entries += [
            Entry(
                file=file,
                row=number,
                step=row.get("step") or 0,
                kind=row.get("kind") or default_kind,
                group=-1 if row.get("group") is None else row["group"],
                status=row.get("status") or "",
            )
            for number, row in enumerate(rows)
        ]
    return tuple(sorted(entries, key=lambda e: (e.step, e.kind != "eval", e.group, str(e.file), e.row)))


def evenly(items: Sequence[T], count: int) -> list[T]:
    """`count` of `items` at even distances, the first and the last among them (the last alone for a count of 1)."""
    if count >= len(items):
        return list(items)
    if count <= 1:
        return [items[-1]] if count == 1 else []
    return [items[round(i * (len(items) - 1) / (count - 1))] for i in range(count)]


def choose(index: Sequence[Entry], cap: int) -> list[Entry]:
    """At most `cap` entries that tell the story of the run, the same ones for the same run.

    Training: whole groups, evenly spaced over the run. Held out: the same prompts at every evaluation, so that one
    can be followed through the steps. Either kind may use up to half of `cap`, and what the other leaves.
    """
    return choose_bundles(index, cap, lambda e: ("eval", e.group) if e.kind == "eval" else ("train", e.step, e.group))


def choose_bundles(items: Sequence[T], cap: int, bundle_of: Callable[[T], tuple[Any, ...]]) -> list[T]:
    """At most `cap` items, in their order: whole bundles at even distances, of those whose name begins with "eval" and
    of the others. Either kind may use up to half of `cap`, and what the other leaves."""
    if len(items) <= cap:
        return list(items)
    bundles: dict[tuple[Any, ...], list[T]] = defaultdict(list)
    for item in items:
        bundles[bundle_of(item)].append(item)
    held_out, train = ([b for name, b in bundles.items() if (name[0] == "eval") is kind] for kind in (True, False))
    sizes = [sum(map(len, side)) for side in (held_out, train)]
    for_eval = min(sizes[0], max(cap // 2, cap - sizes[1]))
    kept = set(_whole(held_out, for_eval)) | set(_whole(train, cap - for_eval))
    return [item for item in items if item in kept]


def _whole(bundles: list[list[T]], cap: int) -> list[T]:
    """Evenly spaced bundles with at most `cap` entries in all; a single bundle that is larger is thinned."""
    count = len(bundles)
    while True:
        kept = [entry for bundle in evenly(bundles, count) for entry in bundle]
        if len(kept) <= cap:
            return kept
        if count == 1:
            return evenly(kept, cap)
        count = max(1, min(count - 1, count * cap // len(kept)))


def load_rows(entries: Sequence[Entry], notes: list[str]) -> list[dict[str, Any]]:
    """The full rows of `entries`, in their order, with step, kind, group and status as indexed."""
    by_file: dict[Path, list[Entry]] = defaultdict(list)
    for entry in entries:
        by_file[entry.file].append(entry)
    loaded: dict[Entry, dict[str, Any]] = {}
    for file, wanted in by_file.items():
        try:
            rows = pq.read_table(file).take([e.row for e in wanted]).to_pylist()
        except (pa.ArrowException, OSError, ValueError):
            notes.append(f"rollouts/{file.name} could not be read (still being written, or damaged).")
            continue
        for entry, row in zip(wanted, rows, strict=True):
            known = {"step": entry.step, "kind": entry.kind, "group": entry.group, "status": entry.status}
            loaded[entry] = {**row, **known}
    return [loaded[e] for e in entries if e in loaded]
