"""Reads back what trackio and wandb keep on this machine: `python track_read.py RUN PROJECT NAME` prints it as JSON.

Of each: the steps and values of every figure, the rows of every table by step, how many pictures each step has by
name, and the alarms with their steps. Needs both packages (`track_env.py`); trackio's folder is $TRACKIO_DIR.
"""

from __future__ import annotations

import json
import struct
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

BLOCK = 32768


class Kept:
    """What a tracker has of a run."""

    def __init__(self) -> None:
        self.figures: dict[str, list[tuple[int, float]]] = {}
        self.tables: dict[str, dict[int, list[dict[str, Any]]]] = {}
        self.pictures: dict[str, dict[int, int]] = {}
        self.alarms: list[tuple[int, str]] = []

    def figure(self, name: str, step: int, value: float) -> None:
        self.figures.setdefault(name, []).append((step, value))

    def table(self, name: str, step: int, rows: list[dict[str, Any]]) -> None:
        assert step not in self.tables.setdefault(name, {})
        self.tables[name][step] = rows

    def picture(self, name: str, step: int, file: Path) -> None:
        assert step not in self.pictures.setdefault(name, {})
        self.pictures[name][step] = file.stat().st_size


def records(file: Path) -> Iterator[bytes]:
    """The records of a .wandb file: LevelDB's log format, after a header of seven bytes."""
    content, at, parts = file.read_bytes(), 7, b""
    while at + 7 <= len(content):
        if BLOCK - at % BLOCK < 7:  # no room for a header: the block ends in zeros
            at += BLOCK - at % BLOCK
            continue
        _, size, kind = struct.unpack_from("<IHB", content, at)
        parts += content[at + 7 : at + 7 + size]
        at += 7 + size
        if kind in (1, 4):  # whole, or the last part
            yield parts
            parts = b""


def wandb_kept(run: Path) -> Kept:
    from wandb.proto.wandb_internal_pb2 import Record

    kept = Kept()
    for file in sorted((run / "wandb").glob("offline-run-*/*.wandb")):
        media = file.parent / "files"
        for content in records(file):
            record = Record.FromString(content)
            if not record.HasField("history"):
                continue
            row: dict[str, Any] = {}
            for item in record.history.item:  # a table is an item for each of its fields
                *outer, last = item.nested_key or [item.key]
                target = row.setdefault(outer[0], {}) if outer else row
                target[last] = json.loads(item.value_json)
            step = int(row.pop("step"))
            for name, value in row.items():
                if name == "alarms":
                    kept.alarms += [(step, text) for text in value.split("\n")]
                elif isinstance(value, dict) and value.get("_type") == "table-file":
                    table = json.loads((media / value["path"]).read_text())
                    kept.table(name, step, [dict(zip(table["columns"], one, strict=True)) for one in table["data"]])
                elif isinstance(value, dict) and value.get("_type") == "image-file":
                    kept.picture(name, step, media / value["path"])
                elif not name.startswith("_"):
                    kept.figure(name, step, value)
    return kept


def trackio_kept(project: str, name: str) -> Kept:
    from trackio.sqlite_storage import SQLiteStorage
    from trackio.utils import MEDIA_DIR

    kept = Kept()
    for row in SQLiteStorage.get_logs(project, name):
        step = row.pop("step")
        for key, value in row.items():
            if isinstance(value, dict) and value.get("_type") == "trackio.table":
                kept.table(key, step, value["_value"])
            elif isinstance(value, dict) and value.get("_type") == "trackio.image":
                kept.picture(key, step, MEDIA_DIR / value["file_path"])
            elif key != "timestamp":
                kept.figure(key, step, value)
    kept.alarms = [(alert["step"], alert["text"]) for alert in SQLiteStorage.get_alerts(project, run_name=name)]
    return kept


if __name__ == "__main__":
    found = {"wandb": wandb_kept(Path(sys.argv[1])), "trackio": trackio_kept(*sys.argv[2:])}
    print(json.dumps({name: vars(kept) for name, kept in found.items()}))
