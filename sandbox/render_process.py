"""The parent's side of the render process: start it, ask it, and end it with its browser when it does not answer."""

from __future__ import annotations

import json
import os
import secrets
import shutil
import sys
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sandbox.compile import Compiled
from sandbox.errors import SetupError
from sandbox.limits import MEMORY, PATIENCE, RECYCLE_AFTER
from sandbox.outcome import PageScore, RequirementResult, Status
from sandbox.processes import GoneError, LateError, LineProcess

_START_S = 120.0
_END_S = 4.0
_GRACE_S = 20.0  # what a render process has on top of a component's time to answer, on a busy machine too


@dataclass(frozen=True)
class Rendered:
    """What became of a page. A trouble is (message, line from 1 in the script or None, column from 0).

    `stalled`: another time it might end otherwise, for it was given up through no fault of its own.
    """

    status: Status
    troubles: tuple[tuple[str, int | None, int], ...] = ()
    requirements: tuple[RequirementResult, ...] = ()
    screenshot: Path | None = None
    page: PageScore | None = None
    page_reason: str = ""
    stalled: bool = False
    ms: float = 0.0


class RenderProcess:
    """One render process, started when first needed, and again when it died or did not answer.

    `stop` may be called from any thread; the rest belongs to one thread at a time.
    """

    def __init__(
        self,
        worker: Path,
        chromium: Path | None,
        screenshots: Path | None,
        timeout_s: float,
        *,
        page: bool = False,
        memory: int = MEMORY,
        recycle_after: int = RECYCLE_AFTER,
    ) -> None:
        self._settings = {
            "parent": os.getpid(),
            "worker": str(worker),
            "chromium": str(chromium) if chromium else None,
            "screenshots": str(screenshots.resolve()) if screenshots else None,
            "judge": page,
            "memory": memory,
            "recycle_after": recycle_after,
        }
        self._timeout_s = timeout_s
        self._process: LineProcess | None = None
        self._folder: str | None = None
        self._stopped = False
        self._lock = threading.Lock()

    def start(self) -> None:
        """Start it now, if it does not run. Raises as `render` does."""
        self._running()

    def render(self, compiled: Compiled, requirements: Sequence[Mapping[str, Any]]) -> Rendered:
        """Mount a component and look at it; it is tried twice before it is called `crashed`.

        The first try gets up to PATIENCE times the time-out, the second one what is left of that, and the time-out at
        least; starting a browser, or finding out that a render process does not answer, comes on top.
        Raises SetupError when no browser can be started, and GoneError after `stop`.
        """
        request = {
            "script": compiled.script,
            "css": compiled.css,
            "bundles": compiled.bundles,
            "requirements": list(requirements),
            "timeout_s": self._timeout_s,
        }
        begun = time.monotonic()
        patience_s = self._timeout_s * PATIENCE
        why = "the browser died or did not answer"
        for last in (False, True):
            try:
                process = self._running()
                asked = time.monotonic()
                process.send({**request, "patience_s": patience_s}, asked + patience_s + _GRACE_S)
                answer = process.receive(asked + patience_s + _GRACE_S)
            except (GoneError, LateError):
                self._end()
                if self._stopped:
                    raise
                patience_s = self._timeout_s
                continue
            if "failed" in answer:
                raise SetupError(answer["failed"])
            if answer["spent"]:
                self._end()
            patience_s = max(patience_s - (time.monotonic() - asked), self._timeout_s)
            if answer["status"] != Status.CRASHED and (last or not answer["stalled"]):
                return _rendered(answer)
            if answer["troubles"]:
                why = answer["troubles"][0][0]
        return Rendered(Status.CRASHED, ((f"{why}, twice", None, 0),), ms=(time.monotonic() - begun) * 1000)

    @property
    def stopped(self) -> bool:
        return self._stopped

    def stop(self) -> None:
        """End the process, and let none be started any more."""
        with self._lock:
            self._stopped = True
            if self._process is not None:
                self._process.kill()

    def close(self) -> None:
        """`stop`, and clean up. Nothing may be rendering any more."""
        self.stop()
        self._end()

    def _running(self) -> LineProcess:
        if self._process is not None:
            return self._process
        try:
            return self._started()
        except SetupError:  # it may have been bad luck: memory was short, somebody killed something
            return self._started()

    def _started(self) -> LineProcess:
        with self._lock:
            if self._stopped:
                raise GoneError("stopped")
            # The child makes it: if this process is killed, there is always one to take it away.
            self._folder = f"{_short_tempdir()}/bot-grpo-{secrets.token_hex(4)}"
            settings = json.dumps({**self._settings, "folder": self._folder})
            argv = [sys.executable, "-m", "sandbox.render_worker", settings]
            self._process = process = LineProcess(argv, grace_s=_END_S)
        try:
            hello = process.receive(time.monotonic() + _START_S)
        except (GoneError, LateError) as error:
            if self._stopped:
                raise
            hello = {"failed": process.last_words() or str(error)}
        if "failed" in hello:
            self._end()
            hint = "install Chromium (python -m sandbox.setup) or set BOT_GRPO_CHROMIUM"
            raise SetupError(f"Chromium does not start: {hello['failed']}; {hint}")
        return process

    def _end(self) -> None:
        with self._lock:
            process, self._process = self._process, None
        if process is not None:
            process.close()
        folder, self._folder = self._folder, None
        if folder is not None:
            shutil.rmtree(folder, ignore_errors=True)


def _short_tempdir() -> str:
    """Chromium puts a socket in there, and the path of a socket has at most 107 characters, of which it takes 62."""
    usual = tempfile.gettempdir()
    return "/tmp" if len(usual) > 40 and os.access("/tmp", os.W_OK) else usual


def _rendered(answer: Mapping[str, Any]) -> Rendered:
    return Rendered(
        status=Status(answer["status"]),
        troubles=tuple((message, line, column) for message, line, column in answer["troubles"]),
        requirements=tuple(RequirementResult(met, reason) for met, reason in answer["requirements"]),
        screenshot=Path(answer["screenshot"]) if answer["screenshot"] else None,
        page=_page(answer["page"]),
        page_reason=answer["page_reason"],
        stalled=answer["stalled"],
        ms=answer["ms"],
    )


def _page(answer: Mapping[str, Any] | None) -> PageScore | None:
    return PageScore(answer["score"], answer["parts"], tuple(answer["findings"])) if answer else None
