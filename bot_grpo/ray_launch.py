"""Runs a command on a node of a Ray cluster and ends as it ends: `bot-grpo compare --launcher ray` starts cells by it.

    python -m bot_grpo.ray_launch ray://HOST:PORT?cpus=8&gpus=1 COMMAND ...

The nodes need the same folder (a shared file system) and the same Python environment. Its output comes out here, and
Ctrl-C is passed on.
"""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from typing import Any
from urllib.parse import parse_qs, urlsplit

_LOOK_S = 1.0
_USAGE = "usage: python -m bot_grpo.ray_launch ray|ray://HOST:PORT[?cpus=N&gpus=N] COMMAND ..."


class _Remote:
    """The actor: a command's process on some node, in the folder that it was started from."""

    def __init__(self, command: list[str], folder: str, environment: dict[str, str]) -> None:
        self._out = tempfile.TemporaryFile()  # noqa: SIM115  # as long as the actor
        self._read = 0
        own = {k: v for k, v in os.environ.items() if k.startswith(("CUDA_", "RAY_"))}  # the node's, and Ray's choice
        self._process = subprocess.Popen(
            command,
            cwd=folder,
            env={**environment, **own},
            stdin=subprocess.DEVNULL,
            stdout=self._out,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            preexec_fn=_before_exec,
        )

    def look(self) -> tuple[bytes, int | None]:
        """What it has written since the last look, and its exit code, if it has ended."""
        code = self._process.poll()
        new = os.pread(self._out.fileno(), 2**20, self._read)
        self._read += len(new)
        return new, None if new else code

    def interrupt(self) -> None:
        with suppress(ProcessLookupError):
            self._process.send_signal(signal.SIGINT)

    def end(self) -> None:
        """Leave nothing of it running."""
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)


def _before_exec() -> None:
    signal.pthread_sigmask(signal.SIG_SETMASK, [])  # Ray's workers block SIGINT, and a mask is inherited
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG: an actor that is gone leaves no training behind


def main(argv: list[str]) -> int:
    """Run it; the command's exit code. 2: there is no cluster; 130: stopped by the second Ctrl-C."""
    if len(argv) < 2:
        print(_USAGE, file=sys.stderr)
        return 2
    from sandbox.errors import SetupError
    from sandbox.ray_pool import connect

    parts = urlsplit(argv[0] if "://" in argv[0] else argv[0].replace("ray", "ray://", 1))
    wanted = parse_qs(parts.query)
    cpus, gpus = (float(wanted.get(name, [default])[0]) for name, default in (("cpus", "1"), ("gpus", "0")))
    try:
        ray = connect(f"ray://{parts.netloc}" if parts.netloc else None)
    except SetupError as error:
        print(f"ray: {error}", file=sys.stderr)
        return 2
    asked: list[float] = []
    signal.signal(signal.SIGINT, lambda *_: asked.append(time.monotonic()))
    remote = ray.remote(_Remote).options(num_cpus=cpus, num_gpus=gpus)
    try:
        return _follow(ray, remote.remote(argv[1:], os.getcwd(), dict(os.environ)), asked)
    finally:
        ray.shutdown()


def _follow(ray: Any, actor: Any, asked: list[float]) -> int:
    passed_on = 0
    try:
        while True:
            new, code = ray.get(actor.look.remote())
            sys.stdout.buffer.write(new)
            sys.stdout.flush()
            if code is not None:
                return code if code >= 0 else 128 - code
            if passed_on < len(asked):
                passed_on += 1
                ray.get(actor.interrupt.remote())
            time.sleep(0 if new else _LOOK_S)
    except ray.exceptions.RayActorError as error:
        print(f"ray: the node is lost: {' '.join(str(error).split())[:300]}", file=sys.stderr)
        return 1
    finally:
        with suppress(ray.exceptions.RayError):
            ray.get(actor.end.remote(), timeout=10)
        ray.kill(actor)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
