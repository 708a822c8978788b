"""The page of a comparison in a real Chromium: quiet, accessible, the window's width, and read by keyboard."""

from __future__ import annotations

import os
import shutil
from importlib.resources import files
from pathlib import Path

import pytest
from playwright.sync_api import expect, sync_playwright

from bot_grpo.compare import figures
from bot_grpo.compare_cells import cell_folders, read_cell
from bot_grpo.compare_page import write_compare_page

pytestmark = pytest.mark.browser
STORED = Path(__file__).resolve().parents[2] / "bot_grpo" / "results" / "react-smollm2-cpu"
HOSTILE = "</script><script>document.title='pwned'</script><img src=x onerror=alert(1)>"


@pytest.fixture(scope="module")
def page_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    cells = [cell for path in cell_folders(STORED) if (cell := read_cell(path)) is not None]
    found = figures(
        cells, metrics=["eval/compile_rate", "eval/reward"], thresholds=[0.8, 0.95], baseline="grpo", arms=["bot_grpo"]
    )
    for part in (found["arms"][0], found["cells"][0]):
        part["name"] = HOSTILE
    found |= {"missing": [{"cell": "grpo-seed2", "why": HOSTILE}], "notes": ["A note."], "setting": {"task": "react"}}
    target = tmp_path_factory.mktemp("page") / "compare.html"
    write_compare_page(target, found, title=HOSTILE)
    return target


def test_it_opens_quietly_in_any_light_and_width_and_is_read_by_keyboard(page_file: Path) -> None:
    names = ("chromium", "chromium-browser", "google-chrome")
    chromium = next((path for name in names if (path := shutil.which(name))), None)
    expect.set_options(timeout=60_000)  # a busy machine is no failure
    axe = pytest.importorskip("axe_playwright_python", reason="axe is in the dev dependency group")
    heard: list[str] = []
    with sync_playwright() as playwright:
        root = ["--no-sandbox"] if os.geteuid() == 0 else []
        browser = playwright.chromium.launch(executable_path=chromium, args=root)
        for scheme, width in (("light", 1280), ("dark", 390)):
            context = browser.new_context(viewport={"width": width, "height": 800}, color_scheme=scheme)  # type: ignore[arg-type]
            page = context.new_page()
            page.set_default_timeout(60_000)
            page.on("console", lambda message: heard.append(f"console: {message.text}"))
            page.on("pageerror", lambda error: heard.append(f"error: {error}"))
            page.on("request", lambda request: heard.append(request.url))
            page.goto(page_file.as_uri())
            page.wait_for_selector("html[data-ready]")
            assert page.evaluate("document.documentElement.scrollWidth") == width
            expect(page.locator("#charts .chart")).to_have_count(3)  # and completion length, which every cell has
            assert page.locator("#charts .chart").first.locator("line.goal").count() == 2
            page.locator("#charts svg").first.focus()
            for _ in range(2):
                page.keyboard.press("ArrowLeft")
            assert set(page.locator("#charts .when").all_inner_texts()) == {"step 16"}
            expect(page.locator("#chart-status")).to_contain_text("compiles, step 16")
            expect(page.locator(".figures")).to_have_count(6)
            expect(page.locator(".alarms")).to_contain_text("grpo-seed2 </script>")
            page.evaluate(files(axe.__name__).joinpath("axe.min.js").read_text())
            found = page.evaluate("axe.run().then((r) => r.violations.map((v) => `${v.id}: ${v.nodes[0].html}`))")
            assert found == []
            assert "pwned" not in page.title().split("·")[1]
        browser.close()
    assert [text for text in heard if text != page_file.as_uri()] == []
