"""What several of the sandbox's tests need."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any

import pytest

from sandbox.outcome import Outcome
from sandbox.processes import descendants

Judge = Callable[..., list[Outcome]]
REPO = Path(__file__).resolve().parents[2]


def cases(kind: str) -> tuple[Path, list[dict[str, Any]]]:
    """The folder of a kind of shared cases and its manifest; skips the test where they are not there."""
    shared = Path(os.environ.get("BOT_GRPO_SHARED") or REPO.parent / "shared")
    folder = shared / "cases" / kind
    if not folder.is_dir():
        pytest.skip(f"the shared cases are not there: {folder} (BOT_GRPO_SHARED names their parent)")
    lines = (folder / "manifest.jsonl").read_text(encoding="utf-8").splitlines()
    return folder, [json.loads(line) for line in lines]


def app(body: str, head: str = "") -> str:
    """A component with this body (of a function) and these lines before it."""
    return (
        f'import React, {{ useEffect, useState }} from "react";\n{head}\nexport default function App() {{\n{body}\n}}\n'
    )


def command(pid: int) -> str:
    """The command line of a process; empty when it is gone (or only waits to be reaped)."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode("utf-8", "replace").strip()
    except OSError:
        return ""


def children(part: str, of: int | None = None) -> list[int]:
    """The processes below this one whose command line holds `part`."""
    return [pid for pid in descendants(of or os.getpid()) if part in command(pid)]


def started_since(before: Collection[int], part: str = "") -> list[int]:
    """The processes below this one that were not there `before` and have `part` in their command line.

    What those of then have started is left out: the session's browser starts helpers of its own at any time.
    """
    others: set[int] = set()
    for pid in sorted(before):  # parents come first, mostly
        if pid not in others:
            others |= {pid, *descendants(pid)}
    return [pid for pid in descendants(os.getpid()) if pid not in others and part in command(pid)]


def to_kill(before: Collection[int], part: str) -> list[int]:
    """`started_since`, without Chromium's crash handlers, whose command lines hold parts of the browser's."""
    return [pid for pid in started_since(before, part) if "crashpad" not in command(pid).split(" ")[0]]


def all_gone(pids: list[int], within_s: float = 60) -> bool:
    """Whether all of them end within that time; raises AssertionError, with who is left, where they do not.

    One that was killed ends only when the kernel is done with it, and a busy disk can make that many seconds.
    """
    end = time.monotonic() + within_s
    while left := [pid for pid in pids if command(pid)]:
        if time.monotonic() > end:
            raise AssertionError("still there: " + "; ".join(map(_described, left)))
        time.sleep(0.05)
    return True


def _described(pid: int) -> str:
    """A process in one line: what it is, what it waits for, and whether it was killed (bit 9 of ShdPnd)."""
    try:
        status = dict(line.split(":\t", 1) for line in Path(f"/proc/{pid}/status").read_text().splitlines())
    except OSError:
        return f"{pid} (ended since)"
    fields = {name: status.get(name, "?").strip() for name in ("State", "PPid", "SigPnd", "ShdPnd")}
    return f"{pid} {command(pid)[:100]} {fields}"
