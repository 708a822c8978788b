"""What a person is told while something takes long and says nothing itself."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

AFTER_S = 10.0


@contextmanager
def told_when_slow(what: str) -> Iterator[None]:
    """Print a line on stderr if the body is not done after AFTER_S seconds: "still WHAT"."""
    timer = threading.Timer(AFTER_S, lambda: print(f"still {what}", file=sys.stderr, flush=True))
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
