"""The page of an evaluation in Chromium: it is quiet, fits, works by keyboard, and nothing that was written runs."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
from eval_runs import settings
from playwright.sync_api import Page, expect

from bot_grpo import eval_page
from bot_grpo.eval_page import write_eval_page
from bot_grpo.eval_results import Graded, compare, results
from bot_grpo.eval_tasks import AIME, Mark
from bot_grpo.evaluate import Problem, Sample

pytestmark = pytest.mark.browser
expect.set_options(timeout=60_000)  # a busy machine is no failure
Open = Callable[..., Page]

HOSTILE = "</script><script>document.title='pwned'</script><img src=x onerror=alert(1)> \u202e\u0000 \\boxed{7}"


def graded(n: int = 12) -> list[Graded]:
    """30 problems; of problem i the first i samples are right, the last one is cut off. The last has no sample."""
    out = []
    for i in range(30):
        problem = Problem(f"<i>p{i}</i>", (("user", "q"),), f"<b>What</b> is {i} times 7?", {"answer": 7}, "7")
        took = 0 if i == 29 else n
        samples = [
            Sample(problem.id, k, k, "x", HOSTILE if k == 0 else f"{k} \\boxed{{{k}}}", 10 * i + k, "stop", 0.5)
            for k in range(took)
        ]
        if took:
            samples[-1] = Sample(problem.id, n - 1, 0, "x", "round and", 999, "length", 0.5)
        marks = [
            Mark(k < i, "7" if k < i else str(k), "right" if k < i else "another integer", {"boxed": 1.0})
            for k in range(took - 1)
        ]
        marks += [Mark(False, None, "truncated", {"boxed": 0.0})] * (took > 0)
        out.append(Graded(problem, tuple(samples), tuple(marks)))
    return out


def figures(found: list[Graded], n: int = 12) -> dict[str, Any]:
    config = {"settings": settings(system_prompt="<u>Think</u>."), "n": n, "sessions": [{"engine": {"name": "hf"}}]}
    return results(AIME(), found, config, None)


@pytest.fixture(scope="module")
def page_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = graded()
    made = figures(found)
    made["compare"] = compare(made, figures(graded(6), 6), "evals/<i>other</i>")
    target = tmp_path_factory.mktemp("page") / "report.html"
    write_eval_page(target, made, found, title="<i>mine</i>")
    return target


@pytest.fixture
def open_page(open_file: Open, page_file: Path) -> Open:
    return partial(open_file, page_file, height=900)


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (1280, "dark"), (390, "light")])
def test_it_fits_the_window_and_is_accessible(open_page: Open, width: int, scheme: str) -> None:
    page = open_page(width=width, scheme=scheme)
    expect(page.locator("#failure")).to_be_hidden()
    assert page.evaluate("document.documentElement.scrollWidth") == width
    axe = pytest.importorskip("axe_playwright_python", reason="axe is in the dev dependency group")
    page.evaluate(files(axe.__name__).joinpath("axe.min.js").read_text())
    assert page.evaluate("axe.run().then((r) => r.violations.map((v) => `${v.id}: ${v.nodes[0].html}`))") == []


def test_what_a_model_wrote_is_shown_and_does_not_run(open_page: Open) -> None:
    page = open_page()
    assert page.title() == "<i>mine</i> · BoT-GRPO evaluation"
    assert "<script>document.title='pwned'</script><img src=x onerror=alert(1)>" in page.locator("#sample").inner_text()
    assert "⟨U+202E⟩" in page.locator("#sample").inner_text()
    expect(page.locator("#problem")).to_have_text("<b>What</b> is 0 times 7?")
    assert page.locator("main i:not(.share i), main u, main img").count() == 0
    expect(page.locator("#compare-title")).to_have_text("Against evals/<i>other</i>")


def test_figures_and_the_curve_are_those_of_the_results(open_page: Open) -> None:
    page = open_page()
    made = figures(graded())
    expect(page.locator(".tiles dd b").first).to_have_text(f"{100 * made['pass_at_k'][0]['value']:.1f} %")
    assert page.locator("#curve circle").count() == 12
    first = page.locator("#curve circle title").first.text_content()
    assert first is not None
    assert first.startswith("Pass@1: ")
    assert page.locator("#curve svg").get_attribute("aria-label", timeout=60_000).startswith("Pass@k: ")  # type: ignore[union-attr]
    rows = page.locator("section").first.locator("tbody tr").all_inner_texts()
    assert rows[0].split()[:2] == ["1", f"{100 * made['pass_at_k'][0]['value']:.1f}"]
    expect(page.locator("main")).to_contain_text("Wrong answers: another integer × ")
    expect(page.locator("footer")).to_contain_text("1 of 30 problems without a graded sample is left out")


def test_problems_can_be_searched_put_in_order_and_filtered(open_page: Open) -> None:
    page = open_page()
    names = page.locator("#tiles .name")
    assert names.count() == 24
    page.locator("#show-more").click()
    assert names.count() == 30
    page.locator("#order").select_option("easy")
    expect(names.first).to_have_text("<i>p11</i>")
    page.locator("#shown").select_option("never")
    expect(page.locator("#count")).to_have_text("1 of 30 problems")
    expect(page.locator("#reader-title")).to_have_text("<i>p0</i>")
    page.locator("#shown").select_option("")
    page.locator("#search").fill("29 times")
    expect(page.locator("#sample-facts")).to_have_text("No sample of this problem.")
    page.locator("#search").fill("nothing like it")
    expect(page.locator("#reader")).to_be_hidden()


def test_samples_are_read_by_keyboard(open_page: Open) -> None:
    page = open_page()
    page.keyboard.press("j")
    page.keyboard.press("j")
    expect(page.locator("#reader-title")).to_have_text("<i>p2</i>")
    expect(page.locator("#about")).to_contain_text("2 of 12 right")
    expect(page.locator("#about")).to_contain_text("given: 7 × 3")
    page.keyboard.press("ArrowRight")
    expect(page.locator("#sample")).to_have_text("1 \\boxed{1}")
    expect(page.locator("#samples [aria-pressed=true]")).to_have_text("2")
    page.locator("#samples button").last.click()
    expect(page.locator("#sample-facts")).to_contain_text("truncated")
    expect(page.locator("#sample-facts")).to_contain_text("999 tokens")
    page.keyboard.press("ArrowRight")
    expect(page.locator("#sample")).to_have_text("round and")
    page.keyboard.press("k")
    expect(page.locator("#reader-title")).to_have_text("<i>p1</i>")


def test_of_many_long_samples_the_middle_is_left_out(
    open_file: Open, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(eval_page, "BUDGET", 30 * 12 * 100)
    found = graded()
    long = Sample(found[0].problem.id, 0, 0, "x", "a" * 50_000 + "\\boxed{7}", 9, "stop", 0.1)
    found[0] = Graded(found[0].problem, (long, *found[0].samples[1:]), found[0].marks)
    target = tmp_path / "report.html"
    write_eval_page(target, figures(found), found, title="long")
    page = open_file(target, height=900)
    expect(page.locator("#sample")).to_contain_text("characters are left out here")
    expect(page.locator("#sample")).to_contain_text("\\boxed{7}")
    expect(page.locator("footer")).to_contain_text("Of 1 long sample the middle is left out here")
