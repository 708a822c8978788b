"""The page of a comparison in a real Chromium: pairs, filters and rounds, quietly and without a network."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect, sync_playwright
from win_runs import BLUE, GREEN, RED, write_run

from bot_grpo.win_matches import judged_by_model, matches, standings
from bot_grpo.win_page import write_win_page
from bot_grpo.win_sides import read_side
from sandbox.judge import PairTask, Preference

pytestmark = pytest.mark.browser
expect.set_options(timeout=60_000)  # a busy machine is no failure

HOSTILE = "</script><script>document.title='pwned'</script><img src=x onerror=document.title='pwned'> \u202e{{ 7*7 }}"


class StubJudge:
    """A STUB that prefers the first page of the prompts that ask for it, and the larger file name elsewhere."""

    def prefer(self, tasks: list[PairTask], *, on_done: object = None) -> list[Preference]:
        return [self._one(task) for task in tasks]

    def _one(self, task: PairTask) -> Preference:
        if "lost" in task.prompt:
            return Preference(None, "the budget is used up")
        if "first" in task.prompt or str(task.a) > str(task.b):
            return Preference("A", f"<b>better</b> {HOSTILE}")
        return Preference("B", "better")


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A page of two sides, and one of three."""
    root = tmp_path_factory.mktemp("wins")
    prompts = [HOSTILE, "the first one", "lost", *(f"prompt {i}" for i in range(30))]
    for name, colour in (("a", GREEN), ("b", RED), ("c", BLUE)):
        rows = [{"prompt": prompt, "colour": colour} for prompt in prompts]
        rows[3] = {"prompt": prompts[3], "colour": None if name == "b" else colour}
        write_run(root / name, rows)
    pages = []
    for names in ("ab", "abc"):
        sides = [read_side(str(root / name)) for name in names]
        played = judged_by_model(matches(sides), StubJudge())
        pages.append(root / f"{names}.html")
        write_win_page(pages[-1], sides, played, standings(played, len(sides)), "a <b>stub</b>")
    return pages[0], pages[1]


@pytest.fixture
def page(request: pytest.FixtureRequest) -> Iterator[Page]:
    """A page on which nothing may be logged and nothing may be asked for."""
    found = next((path for name in ("chromium", "google-chrome") if (path := shutil.which(name))), None)
    heard: list[str] = []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found, args=["--no-sandbox"] if os.geteuid() == 0 else [])
        page = browser.new_page(viewport={"width": 1280, "height": 900})
        page.set_default_timeout(60_000)
        page.on("console", lambda message: heard.append(message.text))
        page.on("pageerror", lambda error: heard.append(str(error)))
        page.on(
            "request",
            lambda asked: heard.append(asked.url) if not asked.url.startswith(("file:", "data:")) else None,
        )
        yield page
        assert page.title() != "pwned"
        browser.close()
    assert heard == []


def opened(page: Page, path: Path) -> Page:
    page.goto(path.as_uri())
    page.wait_for_selector("html[data-ready]")
    return page


def test_pairs_filters_and_rounds(page: Page, written: tuple[Path, Path]) -> None:
    opened(page, written[0])
    expect(page.locator("#count")).to_have_text("33 of 33 pairs")
    expect(page.locator(".pair")).to_have_count(24)
    page.get_by_role("button", name="Show 9 more").click()
    expect(page.locator(".pair")).to_have_count(33)
    expect(page.locator("#of-match")).to_be_hidden()

    counts = {"first": 1, "second": 30, "tie": 1, "none": 1, "order": 1, "": 33}
    for value, count in counts.items():
        page.locator("#ended").select_option(value)
        expect(page.locator("#count")).to_have_text(f"{count} of 33 pairs")

    page.locator("#ended").select_option("first")
    [pair] = page.locator(".pair").all()
    expect(pair.locator(".outcome")).to_contain_text("A wins")
    expect(pair.locator(".outcome")).to_contain_text("compile_error")
    expect(pair.locator("figure")).to_have_count(2)
    expect(pair.locator("figure.winner img")).to_have_count(1)
    expect(pair.locator(".stub")).to_have_text("compile_error")

    page.locator("#ended").select_option("tie")
    [pair] = page.locator(".pair").all()
    expect(pair.locator(".outcome b")).to_have_text("tie, 2 to 2")
    pair.locator("summary").click()
    expect(pair.locator(".rounds b")).to_have_text(
        ["1. A first: A wins", "2. B first: B wins", "3. B first: B wins", "4. A first: A wins"]
    )
    expect(pair.locator(".rounds span").first).to_contain_text("<b>better</b> </script>")

    page.locator("#ended").select_option("none")
    expect(page.locator(".outcome")).to_contain_text("not scored")
    expect(page.locator(".outcome")).to_contain_text("the budget is used up")


def test_three_sides_have_a_ranking_and_a_choice_of_match(page: Page, written: tuple[Path, Path]) -> None:
    opened(page, written[1])
    expect(page.locator("h1")).to_have_text("3 sides")
    expect(page.locator("#count")).to_have_text("99 of 99 pairs")
    places = page.locator("section[aria-labelledby=ranking-title] tbody tr td:nth-child(2)").all_inner_texts()
    assert [place[0] for place in places] == ["C", "B", "A"]
    page.locator("#match").select_option(label="B against C")
    expect(page.locator("#count")).to_have_text("33 of 99 pairs")
    expect(page.locator(".pair").first.locator("figcaption b")).to_have_text(["B ", "C "])
    images = page.locator(".pair img")
    assert images.evaluate_all("all => all.every(one => one.naturalWidth > 0)")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing(page: Page, written: tuple[Path, Path], scheme: str) -> None:
    axe = pytest.importorskip("axe_playwright_python", reason="axe is in the dev dependency group")
    page.emulate_media(color_scheme="dark" if scheme == "dark" else "light")
    opened(page, written[1])
    page.evaluate(files(axe.__name__).joinpath("axe.min.js").read_text())
    found = page.evaluate("axe.run().then((r) => r.violations.map((v) => `${v.id}: ${v.nodes[0].html}`))")
    assert found == []


def test_a_narrow_window_needs_no_scrolling_sideways(page: Page, written: tuple[Path, Path]) -> None:
    page.set_viewport_size({"width": 360, "height": 800})
    for path in written:
        opened(page, path)
        assert page.evaluate("document.documentElement.scrollWidth") <= 360
