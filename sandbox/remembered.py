"""What became of the last components, so that an equal one costs nothing."""

from __future__ import annotations

import threading
from collections import OrderedDict

from sandbox.outcome import Outcome

_EACH = 1500  # bytes that an outcome takes beside its texts


class Remembered:
    """At most `count` outcomes by key, of about `size` bytes together; the one longest not asked for goes first.

    May be used from several threads. An outcome whose screenshot was deleted is forgotten.
    """

    def __init__(self, count: int = 4096, size: int = 64 << 20) -> None:
        self._count = count
        self._size = size
        self._held = 0
        self._outcomes: OrderedDict[str, Outcome] = OrderedDict()
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._outcomes)

    def get(self, key: str) -> Outcome | None:
        with self._lock:
            outcome = self._outcomes.get(key)
            if outcome is None:
                return None
            if outcome.screenshot is not None and not outcome.screenshot.exists():
                self._forget(key)
                return None
            self._outcomes.move_to_end(key)
            return outcome

    def put(self, key: str, outcome: Outcome) -> None:
        """Remember an outcome; one that is larger than all that may be held is not."""
        with self._lock:
            self._forget(key)
            if size_of(outcome) > self._size:
                return
            self._outcomes[key] = outcome
            self._held += size_of(outcome)
            while len(self._outcomes) > self._count or self._held > self._size:
                self._forget(next(iter(self._outcomes)))

    def _forget(self, key: str) -> None:
        outcome = self._outcomes.pop(key, None)
        if outcome is not None:
            self._held -= size_of(outcome)


def size_of(outcome: Outcome) -> int:
    """About how many bytes an outcome takes."""
    findings = outcome.page.findings if outcome.page is not None else ()
    texts = (outcome.code, *(d.message for d in outcome.diagnostics), *(r.reason for r in outcome.requirements))
    return _EACH + sum(len(text) + 100 for text in (*texts, *findings))
