"""The render process: `python -m sandbox.render_worker`, one JSON request a line on stdin, one answer a line on stdout.

It is killed from outside when it does not answer, and ends with everything it started when its parent is gone.
"""

from __future__ import annotations

import asyncio
import dataclasses
import json
import os
import shutil
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from playwright.async_api import Error, async_playwright

from sandbox.processes import adopt_orphans, descendants, end_with_parent, kill_tree, memory_of, reap
from sandbox.render import Job, Renderer

_LINE_LIMIT = 64 << 20


async def _serve(renderer: Renderer, chromium: Path | None, end: Callable[[], None]) -> None:
    answers = os.fdopen(os.dup(1), "wb", buffering=0)
    os.dup2(2, 1)  # nothing else may write among the answers
    reader = asyncio.StreamReader(limit=_LINE_LIMIT)
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)

    def answer(message: dict[str, Any]) -> None:
        answers.write(json.dumps(message).encode() + b"\n")

    async with async_playwright() as playwright:
        try:
            answer({"ready": await renderer.start(playwright, chromium)})
        except (Error, TimeoutError) as error:
            answer({"failed": " ".join(str(error).split())[:300]})
            return
        while line := await reader.readline():
            answer(await _rendered(renderer, json.loads(line)))
        end()


async def _rendered(renderer: Renderer, request: dict[str, Any]) -> dict[str, Any]:
    job = Job(
        script=request["script"],
        css=request["css"],
        bundles=tuple(request["bundles"]),
        requirements=tuple(request["requirements"]),
        timeout_s=request["timeout_s"],
        patience_s=request["patience_s"],
    )
    begun = time.monotonic()
    _busy.set()
    try:
        rendered = await renderer.render(job)
    except Exception as error:  # not the component's doing: a full disk, no memory for a browser, our own mistake
        return {"failed": f"rendering failed: {type(error).__name__}: {' '.join(str(error).split())[:300]}"}
    finally:
        _busy.clear()
    return {
        "status": rendered.status,
        "stalled": rendered.stalled,
        "spent": rendered.spent,
        "troubles": [[t.message, t.line, t.column] for t in rendered.troubles],
        "requirements": [[r.met, r.reason] for r in rendered.requirements],
        "screenshot": str(rendered.screenshot) if rendered.screenshot else None,
        "page": dataclasses.asdict(rendered.page) if rendered.page else None,
        "page_reason": rendered.page_reason,
        "ms": (time.monotonic() - begun) * 1000,
    }


_busy = threading.Event()
_ending = threading.Lock()


def _end_when_flooded(memory: int, end: Callable[[], None]) -> None:
    """The last resort, in a thread: a page that says so much that the main thread no longer gets to look after it."""
    while _busy.wait():
        time.sleep(1)
        if sum(map(memory_of, (os.getpid(), *descendants(os.getpid())))) > 1.5 * memory:
            end()


def _end(folder: Path, parent: int) -> None:
    """End everything, and remove the browser's profile. Returns only where another thread is doing that already."""
    if not _ending.acquire(blocking=False):
        return
    begun = time.monotonic()
    while True:
        kill_tree(os.getpid(), itself=False)
        reap(2)
        shutil.rmtree(folder, ignore_errors=True)
        gone = not folder.exists() and not descendants(os.getpid())  # or else the main thread was starting something
        patience_s = 3 if os.getppid() == parent else 60  # without a parent nobody else takes it away
        if gone or time.monotonic() - begun > patience_s:
            os._exit(0)


def main() -> None:
    settings = json.loads(sys.argv[1])
    folder = Path(settings["folder"])
    end = partial(_end, folder, settings["parent"])
    adopt_orphans()
    signal.signal(signal.SIGTERM, lambda *_: end())
    folder.mkdir(mode=0o700)
    os.environ["TMPDIR"] = tempfile.tempdir = str(folder)
    end_with_parent(settings["parent"], end)
    threading.Thread(target=_end_when_flooded, args=(settings["memory"], end), daemon=True).start()
    try:
        renderer = Renderer(
            Path(settings["worker"]),
            Path(settings["screenshots"]) if settings["screenshots"] else None,
            judge=settings["judge"],
            memory=settings["memory"],
            recycle_after=settings["recycle_after"],
        )
        asyncio.run(_serve(renderer, Path(settings["chromium"]) if settings["chromium"] else None, end))
    finally:
        end()
        time.sleep(10)  # another thread is at it


if __name__ == "__main__":
    main()
