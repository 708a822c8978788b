"""Whether two answers are the same mathematics (`\\frac12` and 0.5, two sets, two polynomials), by Math-Verify.

What a reply holds can keep a computer algebra system busy for ever, or fill the memory, and a signal or a thread cannot
stop it. So it runs in a child process, which is asked against a deadline, killed when it is late, and limited in memory
and, should its parent die, in time. For integers use `tasks.answers.grade`, which needs none of that.
"""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from dataclasses import dataclass
from multiprocessing.connection import Connection, Pipe
from types import TracebackType
from typing import Self

from tasks.answers import NO_ANSWER, RIGHT, TRUNCATED, final_answer
from tasks.errors import TaskError
from tasks.integers import MAX_LENGTH

MEMORY_BYTES = 4 << 30
START_S = 60.0
_START = "import json, sys; sys.path[:] = json.loads(sys.argv[1]); from tasks.equivalence_child import main; main()"


@dataclass(frozen=True)
class Same:
    """`same`: whether an answer is the gold; None where that could not be found out, and `reason` says why."""

    same: bool | None
    reason: str


class MathVerify:
    """Math-Verify in a child process, which starts with the first question and ends with `close` (or a `with` block).

    Args:
        timeout_s: what one comparison may take. A child that takes longer is killed; the next question gets a new one.

    Raises TaskError: Math-Verify is not installed.
    """

    def __init__(self, timeout_s: float = 5.0) -> None:
        self._timeout_s = timeout_s
        self._process: subprocess.Popen[bytes] | None = None
        self._pipe: Connection | None = None
        if importlib.util.find_spec("math_verify") is None:
            raise TaskError("Math-Verify is not installed: pip install 'bot-grpo[maths]'")

    def grade(self, reply: str, gold: str, *, truncated: bool = False) -> Same:
        """As `tasks.answers.grade`, for a gold that may be any mathematics: of the final answer only."""
        answer, _, why = final_answer(reply)
        if truncated or answer is None:
            return Same(False, TRUNCATED if truncated else why)
        return self.compare(answer, gold)

    def compare(self, answer: str, gold: str) -> Same:
        """Whether `answer` is `gold`, both in LaTeX or plain text."""
        if not answer.strip():
            return Same(False, NO_ANSWER)
        if len(answer) > MAX_LENGTH:
            return Same(False, "too long for an answer")
        try:
            pipe = self._pipe or self._started()
            pipe.send((answer, gold))
            if not pipe.poll(self._timeout_s):
                self.close()
                return Same(None, f"Math-Verify took over {self._timeout_s:g} s, and was ended")
            same, error = pipe.recv()
        except (EOFError, OSError) as ended:
            self.close()
            return Same(None, f"Math-Verify ended its process{f': {ended}' if str(ended) else ''}")
        return Same(same, error or (RIGHT if same else "another answer"))

    def _started(self) -> Connection:
        here, there = Pipe()
        command = [sys.executable, "-c", _START, json.dumps(sys.path), str(there.fileno())]
        command += [str(MEMORY_BYTES), str(self._timeout_s)]
        with there:  # the child's end, which has to be closed here for its end to be seen
            self._process = subprocess.Popen(
                command,
                pass_fds=[there.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )
        self._pipe = here
        if not here.poll(START_S):
            raise OSError(f"it did not start within {START_S:g} s")
        here.recv()
        return here

    def close(self) -> None:
        """Kill the child."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
        if self._pipe is not None:
            self._pipe.close()
        self._process = self._pipe = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __del__(self) -> None:
        self.close()
