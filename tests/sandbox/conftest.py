"""One sandbox with a browser for all tests that only look at outcomes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from sandbox_helpers import Judge

from sandbox.outcome import Outcome
from sandbox.pool import Item, Sandbox


@pytest.fixture(scope="session")
def screenshots(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("screenshots")


@pytest.fixture(scope="session")
def browser_sandbox(screenshots: Path) -> Iterator[Sandbox]:
    with Sandbox(workers=2, screenshots=screenshots, timeout_s=3) as sandbox:
        yield sandbox


@pytest.fixture(scope="session")
def render(browser_sandbox: Sandbox) -> Judge:
    """render(code, ...) -> outcomes; each code is a string, or (string, requirements)."""

    def judge(*codes: str | tuple[str, list[dict[str, Any]]]) -> list[Outcome]:
        pairs = [(code, []) if isinstance(code, str) else code for code in codes]
        return browser_sandbox.run([Item(code, "code", requirements=tuple(asked)) for code, asked in pairs])

    return judge


@pytest.fixture(scope="session")
def compile_only() -> Iterator[Judge]:
    """compile_only(code, ..., language=None) -> outcomes."""
    with Sandbox(render=False) as sandbox:

        def judge(*codes: str, language: str | None = None) -> list[Outcome]:
            return sandbox.run([Item(code, "code", language) for code in codes])

        yield judge
