"""The process behind `equivalence.MathVerify`."""

from __future__ import annotations

import contextlib
import logging
import resource
import sys
from math import ceil
from multiprocessing.connection import Connection


def main() -> None:
    """Answer (answer, gold) with (whether they are the same, what went wrong), until the other end is closed."""
    pipe = Connection(int(sys.argv[2]))
    memory, timeout_s = int(sys.argv[3]), float(sys.argv[4])
    import math_verify  # under a limit it may not find the room to start

    logging.disable()  # it warns that time-outs are ours to see to
    resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    pipe.send("ready")
    with contextlib.suppress(EOFError, OSError):
        while True:
            answer, gold = pipe.recv()
            _limit_time(timeout_s)
            try:
                same = math_verify.verify(_read(gold), _read(answer), timeout_seconds=None)
                pipe.send((same, ""))
            except MemoryError:
                pipe.send((None, "Math-Verify ran out of memory"))
            except Exception as error:  # whatever a reply makes it raise
                pipe.send((None, f"Math-Verify: {type(error).__name__}: {str(error)[:200]}"))


def _limit_time(seconds: float) -> None:
    """For a child whose parent was killed: nobody else will end it."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    _, hard = resource.getrlimit(resource.RLIMIT_CPU)
    resource.setrlimit(resource.RLIMIT_CPU, (ceil(used.ru_utime + used.ru_stime + seconds) + 1, hard))


def _read(text: str) -> object:
    import math_verify

    return math_verify.parse(text if "\\boxed" in text else f"\\boxed{{{text}}}", parsing_timeout=None)
