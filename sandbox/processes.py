"""Child processes that talk in lines of JSON and can always be ended, whatever state they are in."""

from __future__ import annotations

import contextlib
import ctypes
import json
import math
import os
import selectors
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

_PR_SET_CHILD_SUBREAPER = 36
_WAITS_ARE_COUNTED = Path("/proc/self/schedstat").exists()


class GoneError(Exception):
    """The child process has ended, or closed its output."""


class LateError(Exception):
    """The child process did not answer before the deadline."""


class LineProcess:
    """A child that reads one JSON object a line from its stdin and writes one a line to its stdout.

    Reading goes on while a message is being written, so neither side can wait for the other for ever. Nothing is
    forked: the child is started by exec, in a session of its own (Ctrl-C reaches the parent only). `grace_s` is how
    long it may take to clean up after a SIGTERM, before it is killed.
    """

    def __init__(self, argv: Sequence[str], *, env: Mapping[str, str] | None = None, grace_s: float = 0.0) -> None:
        self._grace_s = grace_s
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the process
        self._process = subprocess.Popen(
            argv,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            env=dict(env) if env is not None else None,
            start_new_session=True,
            bufsize=0,
        )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._in, self._out = self._process.stdin, self._process.stdout
        os.set_blocking(self._in.fileno(), False)
        os.set_blocking(self._out.fileno(), False)
        self._buffer = bytearray()
        self._scanned = 0

    @property
    def pid(self) -> int:
        return self._process.pid

    def alive(self) -> bool:
        return self._process.poll() is None

    def send(self, message: Mapping[str, Any], deadline: float) -> None:
        """Write one message. `deadline` is on the clock of time.monotonic; raises GoneError or LateError."""
        self.send_all([message], deadline)

    def send_all(self, messages: Iterable[Mapping[str, Any]], deadline: float) -> None:
        """`send` for several messages at once."""
        left = memoryview(b"".join(json.dumps(message).encode() + b"\n" for message in messages))
        with selectors.DefaultSelector() as selector:
            selector.register(self._in, selectors.EVENT_WRITE)
            selector.register(self._out, selectors.EVENT_READ)
            while left:
                for key, _ in _wait(selector, deadline):
                    if key.fileobj is self._out:
                        self._read()
                        continue
                    try:
                        left = left[os.write(self._in.fileno(), left) :]
                    except BlockingIOError:
                        continue
                    except OSError as error:
                        raise GoneError("the child process has ended") from error

    def receive(self, deadline: float) -> dict[str, Any]:
        """The next message. `deadline` is on the clock of time.monotonic; raises GoneError or LateError."""
        with selectors.DefaultSelector() as selector:
            selector.register(self._out, selectors.EVENT_READ)
            while (line := self._line()) is None:
                _wait(selector, deadline)
                self._read()
        try:
            message = json.loads(line)
        except ValueError as error:
            raise GoneError("the child process wrote something that is not a message") from error
        if not isinstance(message, dict):
            raise GoneError("the child process wrote something that is not a message")
        return message

    def _line(self) -> bytes | None:
        end = self._buffer.find(b"\n", self._scanned)
        if end < 0:
            self._scanned = len(self._buffer)
            return None
        line = bytes(self._buffer[:end])
        del self._buffer[: end + 1]
        self._scanned = 0
        return line

    def _read(self) -> None:
        try:
            data = os.read(self._out.fileno(), 1 << 20)
        except BlockingIOError:
            return
        if not data:
            raise GoneError("the child process has ended")
        self._buffer += data

    def last_words(self) -> str:
        """The last line that the child wrote to its stderr."""
        self._errors.seek(0)
        lines = self._errors.read()[-10_000:].decode("utf-8", "replace").split("\n")
        return next((line.strip()[:300] for line in reversed(lines) if line.strip()), "")

    def kill(self) -> None:
        """End the child and everything that it started; whoever waits for it in another thread gets a GoneError."""
        if self._grace_s and self.alive():
            self._process.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(self._grace_s)
        kill_tree(self._process.pid)

    def close(self) -> None:
        """`kill`, and let go of its pipes."""
        self.kill()
        self._process.wait()
        for stream in (self._in, self._out, self._errors):
            with contextlib.suppress(OSError):
                stream.close()


def _wait(selector: selectors.BaseSelector, deadline: float) -> list[tuple[selectors.SelectorKey, int]]:
    ready = selector.select(max(deadline - time.monotonic(), 0))
    if not ready:
        raise LateError("no answer before the deadline")
    return ready


def end_at_once() -> None:
    """End this process and everything that it started."""
    kill_tree(os.getpid(), itself=False)
    os._exit(0)


def end_with_parent(parent: int, end: Callable[[], None] = end_at_once) -> None:
    """For a child: call `end`, in a thread, as soon as process `parent` is gone (a SIGKILL included)."""

    def follow() -> None:
        while os.getppid() == parent:
            time.sleep(0.5)
        end()

    threading.Thread(target=follow, daemon=True).start()


def descendants(pid: int) -> list[int]:
    """All processes below `pid` (without it), as /proc lists them now; children come after their parents."""
    children: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError, IndexError, ValueError):
                parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
                children.setdefault(parent, []).append(int(entry.name))
    found, queue = [], [pid]
    while queue:
        below = children.get(queue.pop(), [])
        found += below
        queue += below
    return found


def adopt_orphans() -> None:
    """Become the parent of every orphan below this process, so that `reap` can bury them (Linux; elsewhere nothing).

    A container often has no init that would do so, and the dead pile up.
    """
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def reap(within_s: float) -> None:
    """Bury every dead child of this process; wait no longer than that for those that still die."""
    end = time.monotonic() + within_s
    with contextlib.suppress(ChildProcessError):
        while time.monotonic() < end:
            if os.waitpid(-1, os.WNOHANG) == (0, 0):
                time.sleep(0.01)


def memory_of(pid: int) -> int:
    """Bytes of memory that a process holds for itself (resident, without what it shares); 0 for one that is gone."""
    try:
        _, resident, shared, *_ = Path(f"/proc/{pid}/statm").read_text().split()
    except (OSError, ValueError):
        return 0
    return (int(resident) - int(shared)) * os.sysconf("SC_PAGE_SIZE")


def cpu_of(pid: int) -> float:
    """Seconds of CPU time that a process has used; 0 for one that is gone."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def waited_of(pid: int) -> float:
    """Seconds that the threads of a process were ready to run and had no CPU; infinite where nobody counts them."""
    waited = 0
    try:
        for thread in Path(f"/proc/{pid}/task").iterdir():
            with contextlib.suppress(OSError, IndexError):
                waited += int((thread / "schedstat").read_text().split()[1])
    except OSError:
        return 0.0
    return waited / 1e9 if _WAITS_ARE_COUNTED else math.inf


def kill_tree(pid: int, *, itself: bool = True) -> None:
    """SIGKILL `pid` and all that it started. What a member starts while it is being killed is found on a next look."""
    for _ in range(3):
        below = descendants(pid)
        for each in ([pid] if itself else []) + below:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(each, signal.SIGKILL)
        if not below:
            return


class ProcessOwner:
    """Holds at most one child process; a context manager whose end is the child's. Made for the compilers."""

    _process: LineProcess | None = None

    def close(self) -> None:
        """End the child, if there is one."""
        if self._process is not None:
            self._process.close()
            self._process = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, tb: TracebackType | None) -> None:
        self.close()
