"""What the tests of pages share: a real Chromium, and a way to open a file in it that hears everything it does."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, sync_playwright


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    names = ("chromium", "chromium-browser", "google-chrome")
    found = next((path for name in names if (path := shutil.which(name))), None)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found, args=["--no-sandbox"] if os.geteuid() == 0 else [])
        yield browser
        browser.close()


@pytest.fixture
def open_file(browser: Browser) -> Iterator[Callable[..., Page]]:
    """Open a file; afterwards, fail if it logged anything, opened a dialog or asked for anything but itself."""
    heard: list[str] = []
    pages: list[Page] = []

    def open_(
        file: Path,
        *,
        width: int = 1280,
        height: int = 800,
        scheme: Any = "light",
        at: str = "",
        ready: str = "html[data-ready]",
        **context: Any,
    ) -> Page:
        view: Any = {"width": width, "height": height}
        page = browser.new_context(viewport=view, color_scheme=scheme, **context).new_page()
        page.set_default_timeout(60_000)
        page.on("console", lambda message: heard.append(f"console: {message.text}"))
        page.on("pageerror", lambda error: heard.append(f"error: {error}"))
        page.on("dialog", lambda dialog: (heard.append("dialog"), dialog.dismiss()))
        page.on("request", lambda request: None if own(request.url, file) else heard.append(request.url))
        page.goto(file.as_uri() + at)
        page.wait_for_selector(ready)
        pages.append(page)
        return page

    yield open_
    for page in pages:
        page.context.close()
    assert heard == []


def own(url: str, file: Path) -> bool:
    return url.partition("#")[0] == file.as_uri() or url.startswith("data:")
