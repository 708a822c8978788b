"""What every test has: a search path for modules of its own, and a Ctrl-C that can be heard."""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator

import pytest

# A shell starts what runs in its background with SIGINT ignored, and children inherit that: none would hear Ctrl-C.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(autouse=True)
def _own_search_path(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A reward model's folder is put on `sys.path` when it is loaded: no later test finds its `mine.py` there."""
    monkeypatch.setattr(sys, "path", list(sys.path))
    yield
    sys.modules.pop("mine", None)
