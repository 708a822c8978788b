"""The gallery: what travels in it; in a real Chromium, every way through it works and hostile text stays text."""

from __future__ import annotations

import base64
import json
import re
import shutil
import time
import zlib
from collections.abc import Callable
from functools import partial
from importlib.resources import files
from pathlib import Path

import pytest
from PIL import Image, ImageDraw
from playwright.sync_api import Page, expect

from bot_grpo.errors import UserError
from bot_grpo.gallery import Exhibit, write_gallery
from sandbox.judge import Verdict
from sandbox.judge_replies import LineMark
from sandbox.outcome import Diagnostic, Outcome, PageScore, RequirementResult, Status

expect.set_options(timeout=60_000)  # a busy machine is no failure
Open = Callable[..., Page]

RULES = ({"check": "role", "role": "button", "name": "Go"}, {"check": "text", "text": "Total"})
CODE = """import { useState } from "react";

// it's a comment
export default function App() {
  return <p>Don't</p>;
}"""
EVIL = (
    "// \u2028 </script><script>window.pwned = 1; alert(1)</script><!--\n"
    "const a = '<img src=x onerror=\"window.pwned = 2\">'; \ud800 \x00 \u202e\n"
    "`${"
)


def exhibits(folder: Path) -> list[Exhibit]:
    """Five components: good, poor, broken, hostile, none; the pictures are 1280 x 800 with a small box in them."""
    shots = []
    for number, colour in enumerate(("navy", "teal")):
        picture = Image.new("RGB", (1280, 800), "white")
        ImageDraw.Draw(picture).rectangle((40, 40, 200 + 300 * number, 120), fill=colour)
        shots.append(folder / f"{number}.png")
        picture.save(shots[-1])
    met, unmet = RequirementResult(True), RequirementResult(False, "the text 'Total' is not on the page")
    parts = {"requirements": 0.5, "used": 0.25, "contrast": 1.0}
    poor = PageScore(0.31, parts, ("names: input: Form elements must have labels",))
    broken = Diagnostic("esbuild", "fatal", 4, 7, 'Expected ";" but found "default"')
    lint = Diagnostic("eslint", "warning", 5, 3, "no-unused-vars: 'x' is never used")
    judged = {"code": Verdict(4.0, (LineMark(5, -2, "Says nothing"),), reason="It shows a word.")}
    good = Outcome(Status.OK, CODE, 0, (lint,), (met, met), 1.2, 80, shots[0], PageScore(0.9, {"used": 0.9}))
    second = Outcome(Status.OK, CODE, 0, (), (met, unmet), 1.2, 80, shots[1], poor)
    wrong = Diagnostic("esbuild", "fatal", 3, 1, EVIL)
    return [
        Exhibit("replies/10-good.tsx", good, "A page with a total", RULES, judged),
        Exhibit("replies/2-poor.tsx", second, "", RULES),
        Exhibit("replies/broken.jsx", Outcome(Status.COMPILE_ERROR, CODE, 0, (broken,), (), 1.0)),
        Exhibit(EVIL, Outcome(Status.COMPILE_ERROR, EVIL, 0, (wrong,), (), 1.0), EVIL),
        Exhibit("replies/sorry.md", Outcome(Status.NO_CODE)),
    ]


def payload(page: str) -> dict[str, object]:
    found = re.search(r'<script id="payload" type="application/octet-stream">([A-Za-z0-9+/=]*)</script>', page)
    assert found
    data: dict[str, object] = json.loads(zlib.decompress(base64.b64decode(found[1])))
    return data


def test_hostile_text_travels_whole_and_is_nowhere_markup(tmp_path: Path) -> None:
    target = tmp_path / "g.html"
    gallery = write_gallery(exhibits(tmp_path), target, title=EVIL)
    page = target.read_text()
    assert "window.pwned = 1; alert(1)</script>" not in page
    assert page.count("</script>") == 2
    row = payload(page)["rows"][3]  # type: ignore[index]
    assert (row["name"], row["code"], row["prompt"]) == (EVIL, EVIL, EVIL)
    assert (gallery.components, gallery.screenshots, gallery.unreadable) == (5, 2, 0)
    assert gallery.size == target.stat().st_size < 150_000


def test_pictures_are_embedded_once_and_smaller_and_a_broken_one_is_left_out(tmp_path: Path) -> None:
    shot = exhibits(tmp_path)[0].outcome.screenshot
    assert shot is not None
    copy, broken = shutil.copy(shot, tmp_path / "copy.png"), tmp_path / "broken.png"
    broken.write_bytes(b"\x89PNG\r\n")
    made = [Exhibit(str(p), Outcome(Status.OK, screenshot=Path(p))) for p in (shot, copy, broken, tmp_path / "gone")]
    gallery = write_gallery(made, tmp_path / "g.html")
    data = payload((tmp_path / "g.html").read_text())
    assert (gallery.screenshots, gallery.unreadable, len(data["pictures"])) == (2, 2, 1)  # type: ignore[arg-type]
    (picture,) = data["pictures"].values()  # type: ignore[attr-defined]
    x, y, w, h = picture["box"]
    assert x <= 40 / 1280
    assert y <= 40 / 800
    assert x + w >= 200 / 1280
    assert y + h >= 120 / 800
    assert w < 0.3
    assert picture["uri"].startswith("data:image/webp;base64,UklG")


def test_a_page_is_not_written_over_another_kind_of_file(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"must end in \.html"):
        write_gallery([], tmp_path / "App.tsx")
    with pytest.raises(UserError, match="cannot write"):
        write_gallery([], tmp_path / "no" / "g.html")
    assert write_gallery([], tmp_path / "g.html").components == 0


@pytest.fixture
def open_page(open_file: Open) -> Open:
    return partial(open_file, reduced_motion="reduce")


@pytest.fixture(scope="module")
def gallery(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("gallery")
    return write_gallery(exhibits(folder), folder / "gallery.html", title="replies").path


def shown(page: Page) -> list[str]:
    names = page.locator("#grid .tile").evaluate_all("all => all.map((card) => card.dataset.row)")
    return [("good", "poor", "broken", "evil", "sorry")[int(row)] for row in names]


@pytest.mark.browser
def test_filter_search_and_sort(open_page: Open, gallery: Path) -> None:
    page = open_page(gallery)
    assert shown(page) == ["good", "poor", "broken", "evil", "sorry"]
    chip = page.locator("#statuses button", has_text="compile error")
    expect(chip).to_have_text("compile error2")
    chip.click()
    assert shown(page) == ["broken", "evil"]
    assert chip.get_attribute("aria-pressed") == "true"
    chip.click()
    assert len(shown(page)) == 5
    page.locator("#search").fill("a total 10-GOOD")  # words of the prompt and of the name
    assert shown(page) == ["good"]
    expect(page.locator("#count")).to_have_text("1 of 5")
    page.locator("#search").fill('found "default"')  # of a message
    assert shown(page) == ["broken"]
    page.locator("#search").fill("nowhere")
    expect(page.locator("#count")).to_have_text("None like that: change the search or the filter.")
    page.locator("#search").fill("")
    for order, wanted in {
        "page score, best first": ["good", "poor", "broken", "evil", "sorry"],
        "page score, worst first": ["poor", "good", "broken", "evil", "sorry"],
        "requirements met, worst first": ["poor", "good", "broken", "evil", "sorry"],
        "code judge, worst first": ["good", "poor", "broken", "evil", "sorry"],
        "by name": ["evil", "poor", "good", "broken", "sorry"],
    }.items():
        page.locator("#sort").select_option(label=order)
        assert shown(page) == wanted, order


@pytest.mark.browser
def test_everything_works_by_keyboard(open_page: Open, gallery: Path) -> None:
    page = open_page(gallery)
    focus = "document.activeElement.dataset.row ?? document.activeElement.id"
    page.keyboard.press("/")
    page.keyboard.type("replies")
    page.keyboard.press("Enter")
    assert page.evaluate(focus) == "0"
    for key, row in {"ArrowRight": "1", "ArrowLeft": "0", "ArrowUp": "0"}.items():
        page.keyboard.press(key)
        assert page.evaluate(focus) == row
    page.keyboard.press("Enter")
    title = page.locator("#detail-title")
    expect(title).to_have_text("replies/10-good.tsx")
    expect(page.locator("#overview")).to_be_hidden()
    page.keyboard.press("ArrowLeft")  # there is none before
    page.keyboard.press("ArrowRight")
    page.keyboard.press("j")
    expect(title).to_have_text("replies/broken.jsx")
    expect(page.locator("#position")).to_have_text("3 of 4")
    page.keyboard.press("Escape")
    expect(page.locator("#overview")).to_be_visible()
    assert page.evaluate(focus) == "2"
    page.keyboard.press("Enter")
    expect(title).to_have_text("replies/broken.jsx")
    page.go_back()
    expect(page.locator("#overview")).to_be_visible()
    page.go_forward()
    expect(title).to_be_visible()
    page.keyboard.press("/")
    expect(page.locator("#search")).to_be_focused()
    page.keyboard.press("Escape")
    expect(page.locator("#search")).to_have_value("")
    assert len(shown(page)) == 5


@pytest.mark.browser
def test_the_detail_shows_what_was_found_where(open_page: Open, gallery: Path) -> None:
    page = open_page(gallery, at="#1")  # an address can be passed on
    lines = page.locator("#reading .line")
    assert [line.rstrip() for line in lines.all_inner_texts()] == CODE.split("\n")
    below = lines.nth(4).locator("xpath=following-sibling::*[1]")
    expect(below).to_have_text("warning no-unused-vars: 'x' is never usedeslint, column 3")
    expect(below.locator("xpath=following-sibling::*[1]")).to_have_text("−2 Says nothingcode judge")
    assert page.locator(".t-comment").all_inner_texts() == ["// it's a comment"]
    assert page.locator(".t-string").all_inner_texts() == ['"react"']
    shot = page.locator("#detail .shot")
    assert shot.locator("img").evaluate("img => img.decode().then(() => img.naturalWidth)") == 1280
    whole = shot.locator("img").bounding_box()
    page.keyboard.press("z")
    close = shot.locator("img").bounding_box()
    assert whole
    assert close
    assert close["width"] > 3 * whole["width"]
    page.locator("#next").click()
    expect(page.locator(".requirements .good")).to_have_text("met: button “Go” there")
    expect(page.locator(".requirements .bad")).to_contain_text("the text 'Total' is not on the page")
    expect(page.locator("#reading aside")).to_contain_text("Page, by rules: 0.31")
    assert page.locator(".measures dt").all_inner_texts() == ["requirements", "used", "contrast"]
    expect(page.locator(".findings li")).to_have_text("names: input: Form elements must have labels")
    page.locator("#next").click()
    expect(page.locator(".line.flagged")).to_have_attribute("data-n", "4")
    page.locator(".diagnostics a").click()
    expect(page.locator(".line.found")).to_have_attribute("data-n", "4")
    page.locator("#back").click()
    expect(page.locator("#overview")).to_be_visible()


@pytest.mark.browser
def test_hostile_code_neither_runs_nor_breaks_the_page(open_page: Open, gallery: Path) -> None:
    page = open_page(gallery, at="#4")
    assert page.evaluate("window.pwned") is None
    expect(page.locator("#detail-title")).to_contain_text("</script><script>window.pwned = 1; alert(1)</script><!--")
    lines = page.locator("#reading .line")
    assert lines.count() == 4  # U+2028 ends a line, as it does for the compiler
    expect(lines.nth(2)).to_contain_text("""const a = '<img src=x onerror="window.pwned = 2">'; ⟨U+D800⟩ ␀ ⟨U+202E⟩""")
    expect(lines.nth(2)).to_have_class("line flagged")
    page.keyboard.press("ArrowRight")
    expect(page.locator("#detail-title")).to_have_text("replies/sorry.md")
    expect(page.locator("#reading .note")).to_have_text("There is no code in it.")


@pytest.mark.browser
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize(("width", "height"), [(1280, 800), (390, 844)])
def test_it_fits_the_window_and_is_accessible(
    open_page: Open, gallery: Path, scheme: str, width: int, height: int
) -> None:
    page = open_page(gallery, scheme=scheme, width=width, height=height)
    axe = pytest.importorskip("axe_playwright_python", reason="axe is in the dev dependency group")
    page.evaluate(files(axe.__name__).joinpath("axe.min.js").read_text())
    for row in (None, 0, 1, 3):
        if row is not None:
            page.locator(f'#grid .tile[data-row="{row}"]').click()
            expect(page.locator("#detail")).to_be_visible()
        assert page.evaluate("document.documentElement.scrollWidth") == width
        found = page.evaluate("axe.run().then((r) => r.violations.map((v) => `${v.id}: ${v.nodes[0].html}`))")
        assert found == []
        if row is not None:
            page.keyboard.press("Escape")


def until(page: Page, condition: str) -> None:
    """Wait until it holds. (`wait_for_function` asks again from the page, whose policy forbids to evaluate strings.)"""
    end = time.monotonic() + 60
    while not page.evaluate(condition):
        assert time.monotonic() < end, condition
        page.wait_for_timeout(50)


@pytest.mark.browser
def test_a_thousand_components_open_at_once_and_load_pictures_when_they_come_near(
    open_page: Open, tmp_path: Path
) -> None:
    few = exhibits(tmp_path)
    many = [Exhibit(f"{n:04}.tsx", few[n % 2].outcome) for n in range(1000)]
    page = open_page(write_gallery(many, tmp_path / "many.html").path)
    loaded = "[...document.querySelectorAll('#grid img')].filter((img) => img.src).length"
    expect(page.locator("#count")).to_have_text("1,000 of 1,000")
    until(page, f"{loaded} > 0")
    assert page.evaluate(loaded) < 120
    page.locator("#search").fill("0999")
    assert page.locator("#grid .tile").count() == 1
    until(page, "document.querySelector('#grid img').naturalWidth === 1280")
