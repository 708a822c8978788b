"""The page of scored replies in a real Chromium: it is quiet, works by keyboard, and nothing that was written runs."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from bot_grpo.cli.score import result_row
from bot_grpo.replies import Reply
from bot_grpo.score_page import page_row, write_score_page
from reward_models.base import RewardSignal, Rollout, Span
from reward_models.contract import pretend_tokens
from reward_models.scoring import score

pytestmark = pytest.mark.browser
expect.set_options(timeout=60_000)  # a busy machine is no failure
Open = Callable[..., Page]

HOSTILE = "</script><script>document.title='pwned'</script><img src=x onerror=alert(1)>\n😀 aeiou \u202e\u0000 end"


class Vowels:
    bound = 0.5

    def score(self, rollouts: Any) -> Any:
        return [self.one(r) for r in rollouts]

    def one(self, rollout: Rollout) -> RewardSignal | None:
        text = rollout.completion
        marks = [Span(i, i + 1, -0.5 if c == "e" else 0.25, f"<b>{c}</b>") for i, c in enumerate(text) if c in "aeiou"]
        return None if text == "?" else RewardSignal(len(marks) / max(1, len(text)), marks)


@pytest.fixture(scope="module")
def page_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    texts = {
        "hostile": HOSTILE,
        "plain": "eeb\nae",
        "none": "?",
        "empty": "",
        **{f"r{i}": "x" * i for i in range(1, 40)},
    }
    replies = [Reply(name, "<i>ask</i>", text) for name, text in texts.items()]
    scored = score(Vowels(), [r.rollout(pretend_tokens) for r in replies])
    rows = [page_row(result_row(reply, one), one.rollout.token_ids) for reply, one in zip(replies, scored, strict=True)]
    target = tmp_path_factory.mktemp("page") / "scores.html"
    write_score_page(target, rows, title="<i>replies</i>", facts={"Rewards": "Vowels"}, notes=["A note."], total=99)
    return target


@pytest.fixture
def open_page(open_file: Open, page_file: Path) -> Open:
    return partial(open_file, page_file, height=900)


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (1280, "dark"), (390, "light")])
def test_it_fits_the_window_and_is_accessible(open_page: Open, width: int, scheme: str) -> None:
    page = open_page(width=width, scheme=scheme)
    expect(page.locator("#failure")).to_be_hidden()
    assert page.evaluate("document.documentElement.scrollWidth") == width
    page.locator(".tile").nth(1).click()
    axe = pytest.importorskip("axe_playwright_python", reason="axe is in the dev dependency group")
    page.evaluate(files(axe.__name__).joinpath("axe.min.js").read_text())
    assert page.evaluate("axe.run().then((r) => r.violations.map((v) => `${v.id}: ${v.nodes[0].html}`))") == []


def test_what_a_model_wrote_is_shown_and_does_not_run(open_page: Open) -> None:
    page = open_page()
    assert page.title() == "<i>replies</i> · BoT-GRPO scores"
    text = page.locator("#reading .code").inner_text()
    assert "<script>document.title='pwned'</script><img src=x onerror=alert(1)>" in text
    assert "⟨U+202E⟩" in text
    assert page.locator("#reading img, #reading i, #reading b b").count() == 0
    expect(page.locator(".prompt")).to_have_text("<i>ask</i>")
    expect(page.locator(".marks li").first).to_contain_text("<b>i</b>")


def test_tokens_have_their_colours_and_numbers(open_page: Open) -> None:
    page = open_page()
    page.keyboard.press("j")
    expect(page.locator("#reader-title")).to_have_text("plain")
    expect(page.locator("#reading .tok.down").first).to_have_text("eeb")
    page.locator("#reading .code").focus()
    page.keyboard.press("ArrowRight")
    tip = page.locator("#tip")
    expect(tip).to_contain_text('"eeb"')
    expect(tip).to_contain_text("local reward")
    expect(tip).not_to_contain_text("advantage")
    page.keyboard.press("1")
    expect(page.locator("#modes input:checked")).to_have_value("reward")
    page.locator(".marks button").nth(1).click()
    expect(page.locator("#reading .tok.held")).to_have_text("eeb")


def test_replies_can_be_searched_put_in_order_and_filtered(open_page: Open) -> None:
    page = open_page()
    names = page.locator("#tiles .name")
    assert names.count() == 24
    page.locator("#show-more").click()
    assert names.count() == 43
    page.locator("#order").select_option("high")
    expect(names.first).to_have_text("plain")
    page.locator("#show-more").click()
    expect(names.last).to_have_text("none")
    page.locator("#order").select_option("worst")
    expect(names.first).to_have_text("hostile")
    page.locator("#shown").select_option("not")
    expect(page.locator("#count")).to_have_text("1 of 43 replies")
    expect(page.locator("#reading .facts-line")).to_contain_text("Vowels could not score it")
    page.locator("#shown").select_option("")
    page.locator("#search").fill("eeb")
    expect(page.locator("#count")).to_have_text("1 of 43 replies")
    page.locator("#search").fill("nothing like it")
    expect(page.locator("#reader")).to_be_hidden()
    expect(page.locator("footer")).to_contain_text("The first 43 of 99 replies are on this page.")
