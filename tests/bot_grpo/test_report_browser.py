"""The report in a real Chromium: every control works by mouse and by keyboard, quietly and without a network."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from importlib.resources import files
from pathlib import Path

import pytest
from fake_run import write_fake_run
from playwright.sync_api import Locator, Page, expect

from bot_grpo import report as report_module
from bot_grpo.report import write_report

pytestmark = pytest.mark.browser
expect.set_options(timeout=60_000)  # a busy machine is no failure
Open = Callable[..., Page]


@pytest.fixture
def open_page(open_file: Open) -> Open:
    return partial(open_file, reduced_motion="reduce")


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = write_fake_run(tmp_path_factory.mktemp("runs") / "demo", steps=8, eval_every=4)
    return write_report(root).path


def only(page: Page, *, step: int | None = None, kind: str = "", status: str = "") -> None:
    """Set the filters; `step` is the slider's position, 0 for all steps."""
    if step is not None:
        page.locator("#step").fill(str(step))
    page.locator("#kind").select_option(kind)
    page.locator("#status").select_option(status)
    page.locator("#status").blur()


def count(page: Page) -> int:
    match = re.match(r"(\d+) of", page.locator("#count").inner_text())
    return int(match[1]) if match else 0


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize(("width", "height"), [(1280, 800), (390, 844)])
def test_it_opens_quietly_fits_the_window_and_is_accessible(
    open_page: Open, report: Path, scheme: str, width: int, height: int
) -> None:
    page = open_page(report, scheme=scheme, width=width, height=height)
    expect(page.locator("#failure")).to_be_hidden()
    assert page.evaluate("document.documentElement.scrollWidth") == width
    page.evaluate("for (const part of document.querySelectorAll('details')) part.open = true")
    only(page, step=0, kind="train", status="compile_error")
    expect(page.locator(".code.numbered .tok.down").first).to_be_visible()
    axe = pytest.importorskip("axe_playwright_python", reason="axe is in the dev dependency group")
    page.evaluate(files(axe.__name__).joinpath("axe.min.js").read_text())
    found = page.evaluate("axe.run().then((r) => r.violations.map((v) => `${v.id}: ${v.nodes[0].html}`))")
    assert found == []


def test_all_charts_read_the_same_step(open_page: Open, report: Path) -> None:
    page = open_page(report)
    charts = page.locator("#charts .chart")
    titles = charts.locator("figcaption").all_inner_texts()
    assert len(titles) == 10
    assert titles[0] == "Held-out prompts"
    svg = charts.first.locator("svg")
    box = svg.bounding_box()
    assert box
    svg.hover(position={"x": box["width"] - 14, "y": 80})
    assert set(page.locator("#charts .when").all_inner_texts()) == {"step 8"}
    page.mouse.move(2, 2)
    assert set(page.locator("#charts .when").all_inner_texts()) == {""}
    svg.focus()
    for _ in range(2):
        page.keyboard.press("ArrowLeft")
    assert set(page.locator("#charts .when").all_inner_texts()) == {"step 4"}
    expect(page.locator("#chart-status")).to_have_text(re.compile(r"Held-out prompts, step 4: compiles \d+ %, renders"))
    aria = svg.get_attribute("aria-label")
    assert aria is not None
    assert re.match(r"Held-out prompts: compiles from \d+ % at step 0 to \d+ % at step 8;", aria)


def test_the_rest_of_the_metrics_unfold(open_page: Open, report: Path) -> None:
    page = open_page(report)
    page.locator("#more-metrics summary").click()
    more = page.locator("#more-metrics .chart")
    assert "loss" in more.locator("figcaption").all_inner_texts()
    expect(more.first.locator("svg path.line")).to_be_visible()


def test_filters_and_gallery(open_page: Open, report: Path) -> None:
    page = open_page(report)
    expect(page.locator("#step-name")).to_have_text("8")
    only(page, step=0)
    expect(page.locator("#step-name")).to_have_text("all")
    everything = count(page)
    while page.locator("#show-more").is_visible():
        page.locator("#show-more").click()
    assert page.locator(".tile").count() == everything == 8 * 24 + 3 * 10
    parts = []
    for status in page.locator("#status option").evaluate_all("all => all.map((o) => o.value).filter(Boolean)"):
        only(page, status=status)
        parts.append(count(page))
        words = status.replace("_", " ")
        assert set(page.locator(".tile .verdict").all_inner_texts()) == {words}
        expect(page.locator("#reading > .facts-line .verdict")).to_have_text(words)
    assert sum(parts) == everything
    only(page, step=1, kind="eval")
    assert page.locator("#gallery h3").all_inner_texts() == ["Step 0 · held out"]
    assert count(page) == 10
    only(page, step=1, kind="train")
    expect(page.locator("#count")).to_have_text("None like that: change a filter.")
    expect(page.locator("#reader")).to_be_hidden()


def test_tiles_buttons_and_letters_walk_through_the_completions(open_page: Open, report: Path) -> None:
    page = open_page(report)
    only(page, step=0, kind="eval")
    page.locator(".tile").nth(2).click()
    position = page.locator("#position")
    expect(position).to_have_text("3 of 30")
    expect(page.locator('.tile[aria-current="true"]')).to_have_count(1)
    expect(page.locator("#reader-title")).to_be_in_viewport()
    page.locator("#next").click()
    expect(position).to_have_text("4 of 30")
    page.keyboard.press("k")
    page.keyboard.press("k")
    page.locator("#previous").click()
    expect(position).to_have_text("1 of 30")
    expect(page.locator("#previous")).to_be_disabled()
    page.keyboard.press("k")
    expect(position).to_have_text("1 of 30")
    for _ in range(40):
        page.keyboard.press("j")
    expect(position).to_have_text("30 of 30")
    expect(page.locator("#next")).to_be_disabled()
    page.locator("#kind").focus()
    page.keyboard.press("k")
    expect(position).to_have_text("30 of 30")  # typing in a control is not a command


def read_tip(page: Page) -> dict[str, str]:
    tip = page.locator("#tip")
    values = zip(tip.locator("dt").all_inner_texts(), tip.locator("dd").all_inner_texts(), strict=True)
    return {"place": tip.locator("p").inner_text(), **dict(values)}


def tokens(page: Page) -> Locator:
    return page.locator("#reading .code.numbered .tok")


def test_the_heat_map_shows_each_token_and_its_numbers(open_page: Open, report: Path) -> None:
    page = open_page(report)
    only(page, step=0, kind="train", status="compile_error")
    total = int(page.locator("#reading > .facts-line span", has_text="tokens").locator("b").inner_text())
    seen = tokens(page).evaluate_all("all => new Set(all.map((span) => span.dataset.t)).size")
    assert seen == total
    assert tokens(page).count() < 1.2 * total, "one span a token, but for a token with text on two lines"
    worst = tokens(page).evaluate_all("all => all.findIndex((span) => span.classList.contains('down'))")
    tokens(page).nth(worst).hover()
    shown = read_tip(page)
    assert re.fullmatch(rf"token \d+ of {total} · id \d+", shown["place"])
    assert shown["reward"].startswith("−")
    assert shown["local reward"].startswith("−")
    page.mouse.move(2, 2)
    expect(page.locator("#tip")).to_be_hidden()
    colours = []
    for key, label in (("2", "local"), ("3", "advantage"), ("1", "reward")):
        page.keyboard.press(key)
        expect(page.locator(f'#modes input[value="{label}"]')).to_be_checked()
        colours.append(
            tokens(page).evaluate_all("all => all.map((span) => getComputedStyle(span).backgroundColor).join()")
        )
    assert len(set(colours)) == 3
    page.locator("#modes label", has_text="advantage").click()
    assert tokens(page).evaluate_all("all => all.map((s) => getComputedStyle(s).backgroundColor).join()") == colours[1]
    expect(page.locator("#scale")).to_have_text(re.compile(r"−[\d.]+\+[\d.]+"))


def colours(page: Page) -> list[str]:
    return tokens(page).evaluate_all("all => all.map((span) => getComputedStyle(span).backgroundColor)")


def test_entropy_and_ratio_have_maps_of_their_own(open_page: Open, tmp_path: Path) -> None:
    page = open_page(write_report(write_fake_run(tmp_path / "run", steps=2, updates=2)).path)
    only(page, step=0, kind="train")
    assert page.locator("#modes label").all_inner_texts() == ["reward", "local reward", "advantage", "entropy", "ratio"]
    page.keyboard.press("4")
    expect(page.locator("#scale")).to_have_text(re.compile(r"0[\d.]+ nats"))
    assert tokens(page).evaluate_all("all => all.some((span) => span.classList.contains('down'))") is False
    assert len(set(colours(page))) > 5, "stronger with the entropy"
    tokens(page).first.hover()
    shown = read_tip(page)
    assert re.fullmatch(r"[\d.e−]+ nats", shown["entropy"])
    assert 0.8 < float(shown["ratio"]) < 1.2
    page.keyboard.press("5")
    expect(page.locator("#scale")).to_have_text(re.compile(r"0\.9\d+1\.0\d+"))
    signs = tokens(page).evaluate_all(
        "all => ['up', 'down'].map((c) => all.some((span) => span.classList.contains(c)))"
    )
    assert signs == [True, True], "more likely than when it was sampled, and less"
    only(page, step=1, kind="eval")
    expect(page.locator("#scale")).to_have_text("no token values were kept for this one")


def test_where_a_batch_makes_one_update_the_ratio_is_said_to_be_one(open_page: Open, report: Path) -> None:
    page = open_page(report)
    only(page, step=0, kind="train")
    page.keyboard.press("5")
    expect(page.locator('#modes input[value="ratio"]')).to_be_checked()
    expect(page.locator("#scale")).to_have_text("exactly 1: its batch made one update")
    assert set(colours(page)) == {"rgba(0, 0, 0, 0)"}
    tokens(page).first.hover()
    assert read_tip(page)["ratio"] == "exactly 1: its batch made one update"


def test_a_run_of_an_earlier_version_has_the_maps_that_it_kept(open_page: Open, tmp_path: Path) -> None:
    page = open_page(write_report(write_fake_run(tmp_path / "run", steps=2, updates=0)).path)
    only(page, step=0, kind="train")
    assert page.locator("#modes label").all_inner_texts() == ["reward", "local reward", "advantage"]
    page.keyboard.press("4")
    expect(page.locator('#modes input[value="reward"]')).to_be_checked()


def test_tokens_can_be_read_without_a_mouse(open_page: Open, report: Path) -> None:
    page = open_page(report)
    only(page, step=0, kind="train")
    page.locator("#next").focus()
    for _ in range(12):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.matches('.code')"):
            break
    for _ in range(3):
        page.keyboard.press("ArrowRight")
    assert read_tip(page)["place"].startswith("token 3 of")
    page.keyboard.press("ArrowLeft")
    expect(page.locator("#token-status")).to_have_text(re.compile(r"token 2 of .*\sadvantage", re.DOTALL))
    page.keyboard.press("End")
    place = read_tip(page)["place"]
    assert re.match(r"token (\d+) of \1 ", place)
    page.keyboard.press("Escape")
    expect(page.locator("#tip")).to_be_hidden()
    page.keyboard.press("j")
    assert page.evaluate("document.activeElement.matches('.code')"), "the next completion's text keeps the focus"


def test_diagnostics_stand_below_their_line_and_are_linked(open_page: Open, report: Path) -> None:
    page = open_page(report)
    only(page, step=0, status="compile_error")
    note = page.locator("#diagnostic-0")
    expect(note).to_contain_text('Expected "}" but found end of file')
    match = re.search(r"error (\d+):7", note.inner_text())
    assert match
    before = note.evaluate("note => note.previousElementSibling.dataset.n")
    assert before == match[1]
    page.locator(".diagnostics a").click()
    expect(note).to_be_in_viewport()
    only(page, step=0, status="ok")
    assert page.locator(".requirements li.bad").inner_text().startswith("not met:\nclick button no. 2")
    expect(page.locator("img.shot")).to_be_visible()


def test_a_group_side_by_side_and_a_held_out_prompt_through_training(open_page: Open, report: Path) -> None:
    page = open_page(report)
    only(page, step=3, kind="train", status="ok")
    cards = page.locator(".card")
    expect(cards).to_have_count(8)
    expect(page.locator(".card.here")).to_have_count(1)
    assert re.search(r"G −?[\d.]+\s*S −?[\d.e−]+\s*A −?[\d.e−]+", cards.nth(7).inner_text())
    cards.nth(7).get_by_role("button").click()
    expect(page.locator("#reader-title")).to_contain_text("rollout 8 of 8")
    expect(page.locator("#reader-title")).to_be_focused()
    only(page, step=1, kind="eval")
    expect(cards).to_have_count(3)
    cards.last.get_by_role("button").press("Enter")
    expect(page.locator("#reader-title")).to_have_text("Step 8 · held out · prompt 1")
    expect(page.locator("#step-name")).to_have_text("8")


def test_a_run_without_code_or_pictures_reads_well(open_page: Open, tmp_path: Path) -> None:
    page = open_page(write_report(write_fake_run(tmp_path / "aime", steps=4, react=False)).path)
    expect(page.locator(".filters label", has_text="Ended")).to_be_hidden()
    assert page.locator("#gallery img, aside, .diagnostic").count() == 0
    expect(page.locator(".tile .stub").first).to_contain_text("(final)")
    assert tokens(page).count() > 10
    assert page.locator("dl.tiles dt").all_inner_texts()[0] == "Accuracy"


SHOWN = "[...document.querySelectorAll('#reading .code.numbered .text')].map((line) => line.textContent).join('\\n')"


def test_hostile_completions_are_shown_and_do_nothing(open_page: Open, tmp_path: Path) -> None:
    root = write_fake_run(tmp_path / "run", steps=2, eval_every=1, groups=1, held_out=4, hostile=True)
    page = open_page(write_report(root).path)
    only(page, step=0)
    shown = []
    for _ in range(count(page)):
        shown.append(page.evaluate(SHOWN))
        page.keyboard.press("j")
    assert page.title() == "run · BoT-GRPO run"
    assert page.locator("script").count() == 2
    assert page.locator("[onerror]").count() == 0
    everything = "\n".join(shown)
    for text in ("</script><script>document.title='pwned'</script>", "NUL ␀, bell ␇, U+2028 ⟨U+2028⟩, bidi ⟨U+202E⟩ a",
                 "\U0001f600", "{{ 7*7 }} {% raw %} &lt;b&gt;", "<img src=x onerror="):  # fmt: skip
        assert text in everything


def test_print_leaves_the_controls_out(open_page: Open, report: Path) -> None:
    page = open_page(report)
    page.emulate_media(media="print")
    for hidden in ("#filters", ".bar", "#show-more"):
        expect(page.locator(hidden)).to_be_hidden()
    expect(page.locator("#charts svg").first).to_be_visible()
    expect(page.locator("#reading .code").first).to_be_visible()


@pytest.mark.slow
def test_thousands_of_completions_stay_smooth(open_page: Open, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each control, until the page has been laid out anew; the time for a busy machine, a quiet one takes 40 ms."""
    root = write_fake_run(tmp_path / "run", steps=60, groups=10, eval_every=20, held_out=50)
    result = write_report(root, max_completions=5_000)
    assert result.completions_in_run == 5_000
    assert result.completions > 1_200
    assert result.size < 5_000_000
    monkeypatch.setattr(report_module, "TEXT_BUDGET", 10**8)
    assert write_report(root, max_completions=5_000).completions == 5_000
    page = open_page(result.path)
    only(page, step=0)
    for what in ("j", "2", "4", "step", "status", "more"):
        spent = [page.evaluate(TIMED, [what, i]) for i in range(5)]
        assert sorted(spent)[2] < 250, f"{what}: {spent} ms"


TIMED = """async ([what, i]) => {
  const filters = document.querySelector("#filters");
  const set = (id, value) => {
    document.querySelector(id).value = value;
    filters.dispatchEvent(new Event("input"));
  };
  await new Promise((resolve) => setTimeout(resolve, 20));
  const began = performance.now();
  if (what === "step") set("#step", 7 * i);
  else if (what === "status") set("#status", ["ok", "blank", ""][i % 3]);
  else if (what === "more") document.querySelector("#show-more").click();
  else document.body.dispatchEvent(new KeyboardEvent("keydown", { key: what, bubbles: true }));
  document.body.getBoundingClientRect();
  return performance.now() - began;
}"""
