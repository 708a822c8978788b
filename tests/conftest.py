"""What every test has: a search path for modules of its own."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True)
def _own_search_path(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A reward model's folder is put on `sys.path` when it is loaded: no later test finds its `mine.py` there."""
    monkeypatch.setattr(sys, "path", list(sys.path))
    yield
    sys.modules.pop("mine", None)
