"""Completions and their screenshots on a page of bounded size: what the pages of a run and of a comparison share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from bot_grpo.pages import deflate
from bot_grpo.report_data import Entry, evenly, load_rows
from bot_grpo.report_rows import Thumbnails, pack
from bot_grpo.token_rows import attach
from sandbox.words import counted

Rows = list[dict[str, Any]]


def packed_rows(entries: Sequence[Entry], run_dir: Path, notes: list[str]) -> Rows:
    """The rows of `entries` as a page wants them, and each one's `screenshot`: a path within `run_dir`."""
    raws = load_rows(entries, notes)
    attach(raws, run_dir / "tokens", notes)
    return [{**pack(raw), "screenshot": raw.get("screenshot")} for raw in raws]


def fitting(load: Callable[[int], Rows], cap: int, budget: int) -> Rows:
    """What `load` gives for `cap`, or for a smaller one where that would take more bytes of the page than `budget`."""
    while True:
        rows = load(cap)
        size = len(deflate(rows))
        if size <= budget or cap == 1:
            return rows
        cap = max(1, min(cap - 1, int(0.95 * min(cap, len(rows)) * budget / size)))


def attach_images(rows: Rows, folders: Sequence[Path], notes: list[str], budget: int) -> tuple[dict[str, str], int]:
    """Set each row's `image` to a key of the pictures that fit `budget` bytes; how many rows have one is the second.

    `folders` has the run of each row, in which its screenshot lies.
    """
    by_run = {folder: Thumbnails(folder) for folder in dict.fromkeys(folders)}
    for row, folder in zip(rows, folders, strict=True):
        row["image"] = by_run[folder].add(row.pop("screenshot"))
    uris = {key: uri for thumbnails in by_run.values() for key, uri in thumbnails.uris.items()}
    count, kept = len(uris), dict(uris)
    while (size := sum(map(len, kept.values()))) > budget:
        count = min(count - 1, count * budget // size)
        kept = dict(evenly(list(uris.items()), count))
    left_out = 0
    for row in rows:
        row["image_left_out"] = row["image"] is not None and row["image"] not in kept
        left_out += row["image_left_out"]
        row["image"] = row["image"] if row["image"] in kept else None
    if kept:
        notes.append("Screenshots are cropped to what is painted, and shrunk.")
    if left_out:
        notes.append(f"{counted(left_out, 'screenshot')} left out to keep the page small (an even sample is kept).")
    if unreadable := sum(thumbnails.unreadable for thumbnails in by_run.values()):
        notes.append(f"{counted(unreadable, 'screenshot')} could not be read.")
    return kept, sum(row["image"] is not None for row in rows)
