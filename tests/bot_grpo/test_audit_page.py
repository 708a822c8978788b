"""The page of an audit in a real Chromium: it is quiet, fits, can be read by everyone, and nothing written runs."""

from __future__ import annotations

import random
from collections.abc import Callable
from functools import partial
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from bot_grpo.audit_page import write_audit_page
from reward_models.arithmetic import ArithmeticReward
from reward_models.audit import CRITERIA, Sample, audit
from reward_models.base import RewardSignal, Rollout, Span
from reward_models.contract import pretend_tokens

pytestmark = pytest.mark.browser
expect.set_options(timeout=60_000)  # a busy machine is no failure
Open = Callable[..., Page]

HOSTILE = "</style></script><script>document.title='pwned'</script><img src=x onerror=alert(1)> \u202e\u0000 1 + 1 = 2"


class Noise:
    bound = 0.5

    def __init__(self) -> None:
        self._random = random.Random(0)

    def score(self, rollouts: Any) -> Any:
        return [self.one(r) for r in rollouts]

    def one(self, rollout: Rollout) -> RewardSignal | None:
        marks = [Span(0, 1, 0.5 * self._random.random(), "<b>x</b>")] if rollout.completion else []
        return None if "?" in rollout.completion else RewardSignal(self._random.random(), marks)


@pytest.fixture(scope="module")
def page_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    rollouts = [Rollout(f"p{i // 4}", *pretend_tokens(f"{HOSTILE} {i % 4}" + "?" * (i == 3))) for i in range(40)]
    samples = [Sample(r, f"<i>{i}</i>", i % 2, r.prompt, i // 4) for i, r in enumerate(rollouts)]
    target = tmp_path_factory.mktemp("page") / "audit.html"
    models = {
        "<i>noise</i>": Noise(),
        "arithmetic": ArithmeticReward(),
        "a/very/long/name-of-a-reward.py:Reward": Noise(),
    }
    audits = {name: audit(model, samples, pretend_tokens, probes=8) for name, model in models.items()}
    write_audit_page(target, audits, title="<i>replies</i>", facts={"Input": "40 replies", "Seed": "0"})
    return target


@pytest.fixture
def open_page(open_file: Open, page_file: Path) -> Open:
    return partial(open_file, page_file, height=900, ready="html")  # it has no script that could say so


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (1280, "dark"), (390, "light"), (390, "dark")])
def test_it_fits_the_window_and_is_accessible(open_page: Open, width: int, scheme: str) -> None:
    page = open_page(width=width, scheme=scheme)
    page.evaluate("document.querySelectorAll('details').forEach((d) => { d.open = true; })")
    assert page.evaluate("document.documentElement.scrollWidth") == width
    axe = pytest.importorskip("axe_playwright_python", reason="axe is in the dev dependency group")
    page.evaluate(files(axe.__name__).joinpath("axe.min.js").read_text())
    assert page.evaluate("axe.run().then((r) => r.violations.map((v) => `${v.id}: ${v.nodes[0].html}`))") == []


def test_what_a_model_wrote_is_shown_and_does_not_run(open_page: Open) -> None:
    page = open_page()
    assert page.title() == "<i>replies</i> · BoT-GRPO audit"
    page.locator("#repeat summary").first.click()
    shown = page.locator("#repeat .example").first
    expect(shown).to_contain_text("<script>document.title='pwned'</script><img src=x onerror=alert(1)>")
    expect(shown).to_contain_text("⟨U+202E⟩⟨U+0000⟩")
    assert page.locator("main img, main i:not(.line i), main script").count() == 0


def test_each_criterion_has_a_row_a_threshold_and_a_verdict_for_each_reward(open_page: Open) -> None:
    page = open_page()
    assert page.locator(".criterion").count() == len(CRITERIA)
    assert page.locator("tbody tr:not(.part)").count() == len(CRITERIA)
    assert page.locator("tbody .verdict").count() == 3 * len(CRITERIA)
    row = page.locator("tbody tr", has_text="Same input again")
    expect(row.locator("td").first).to_have_text("bad 100 %")
    expect(row.locator("td").nth(1)).to_have_text("good 0 %")
    expect(row.locator("td").last).to_have_text("good to 0 %, bad above 5 %")
    row.locator("a").click()
    expect(page.locator("#repeat")).to_be_in_viewport()
    expect(page.locator("#rename")).to_contain_text("0 of 8 replies have a place for it")
    expect(page.locator("#scored")).to_contain_text("1 of them: Noise could not score it")


def test_the_mark_lies_where_the_value_is(open_page: Open) -> None:
    page = open_page()
    lines = page.locator("#repeat .line")
    for number, share in ((0, 1.0), (1, 0.0)):
        line, dot = (lines.nth(number).locator(where).bounding_box() for where in ("xpath=.", ".dot"))
        assert line is not None
        assert dot is not None
        assert dot["x"] + dot["width"] / 2 == pytest.approx(line["x"] + share * line["width"], abs=1.5)
