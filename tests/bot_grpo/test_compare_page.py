"""The page of a comparison in a real Chromium: quiet, accessible, as wide as the window, read by mouse and keyboard."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from functools import partial
from importlib.resources import files
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from fake_run import HOSTILE as HOSTILE_TEXTS
from fake_run import write_fake_study
from playwright.sync_api import Page, expect

from bot_grpo import compare_rollouts
from bot_grpo.cli import main
from bot_grpo.compare import figures
from bot_grpo.compare_cells import Cell, cell_folders, read_cell
from bot_grpo.compare_page import write_compare_page
from bot_grpo.compare_rollouts import shared_rollouts
from bot_grpo.pages import deflate

pytestmark = pytest.mark.browser
expect.set_options(timeout=60_000)  # a busy machine is no failure
STORED = Path(__file__).resolve().parents[2] / "bot_grpo" / "results" / "react-smollm2-cpu"
HOSTILE = "</script><script>document.title='pwned'</script><img src=x onerror=alert(1)>"
Open = Callable[..., Page]


def cells_of(study: Path) -> list[Cell]:
    return [cell for path in cell_folders(study) if (cell := read_cell(path)) is not None]


@pytest.fixture
def open_page(open_file: Open) -> Open:
    return partial(open_file, reduced_motion="reduce")


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of the results that are kept here, which have no rollouts; hostile names."""
    cells = cells_of(STORED)
    found = figures(
        cells, metrics=["eval/compile_rate", "eval/reward"], thresholds=[0.8, 0.95], baseline="grpo", arms=["bot_grpo"]
    )
    for part in (found["arms"][0], found["cells"][0]):
        part["name"] = HOSTILE
    found |= {"missing": [{"cell": "grpo-seed2", "why": HOSTILE}], "notes": ["A note."], "setting": {"task": "react"}}
    target = tmp_path_factory.mktemp("page") / "compare.html"
    write_compare_page(target, found, cells, title=HOSTILE)
    return target


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An invented study of three arms and two seeds, with rollouts."""
    root = tmp_path_factory.mktemp("studies") / "demo"
    shape: dict[str, Any] = {"steps": 4, "eval_every": 2, "groups": 2, "rollouts": 4, "held_out": 3, "updates": 2}
    shape["pictures"] = 3
    return write_fake_study(root, ("bot_grpo", "grpo", "bot_grpo+w_s=0"), **shape)


@pytest.fixture(scope="module")
def page_file(study: Path) -> Path:
    assert main(["compare", str(study), "--force"]) == 0
    return study / "compare.html"


def pick(page: Page, *, seed: str | None = None, kind: str | None = None, step: int | None = None) -> None:
    """`step` is the slider's position."""
    if seed is not None:
        page.locator("#seed").select_option(seed)
    if kind is not None:
        page.locator("#kind").select_option(kind)
    if step is not None:
        page.locator("#step").fill(str(step))
    page.evaluate("document.activeElement.blur()")


def violations(page: Page) -> list[str]:
    axe = pytest.importorskip("axe_playwright_python", reason="axe is in the dev dependency group")
    page.evaluate(files(axe.__name__).joinpath("axe.min.js").read_text())
    found: list[str] = page.evaluate("axe.run().then((r) => r.violations.map((v) => `${v.id}: ${v.nodes[0].html}`))")
    return found


# -- figures alone ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("scheme", "width"), [("light", 1280), ("dark", 390)])
def test_figures_alone_open_quietly_in_any_light_and_width(
    open_page: Open, stored: Path, scheme: str, width: int
) -> None:
    page = open_page(stored, scheme=scheme, width=width)
    assert page.evaluate("document.documentElement.scrollWidth") == width
    expect(page.locator("#charts .chart")).to_have_count(3)  # and completion length, which every cell has
    assert page.locator("#charts .chart").first.locator("line.goal").count() == 2
    page.locator("#charts svg").first.focus()
    for _ in range(2):
        page.keyboard.press("ArrowLeft")
    assert set(page.locator("#charts .when").all_inner_texts()) == {"step 16"}
    expect(page.locator("#chart-status")).to_contain_text("compiles, step 16")
    expect(page.locator(".figures")).to_have_count(7)
    expect(page.locator(".alarms")).to_contain_text("grpo-seed2 </script>")
    expect(page.locator("#completions")).to_contain_text("These runs kept no completions")
    assert page.locator("#filters, #reader, #modes").count() == 0
    assert violations(page) == []
    assert "pwned" not in page.title().split("·")[1]


# -- the arms side by side --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize(("width", "height"), [(1280, 800), (390, 844)])
def test_it_opens_quietly_fits_the_window_and_is_accessible(
    open_page: Open, page_file: Path, scheme: str, width: int, height: int
) -> None:
    page = open_page(page_file, scheme=scheme, width=width, height=height)
    expect(page.locator("#failure")).to_be_hidden()
    pick(page, kind="train")
    page.locator(".card button").first.click()
    expect(page.locator("#reading .code.numbered")).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") == width
    assert violations(page) == []


def test_an_arm_is_a_column_with_its_rollouts_of_the_prompt(open_page: Open, page_file: Path, study: Path) -> None:
    page = open_page(page_file)
    pick(page, seed="1", kind="train", step=3)
    expect(page.locator("#group-title")).to_have_text("Seed 1 · step 3 · training")
    assert page.locator(".arm h4").all_inner_texts() == ["bot_grpo", "bot_grpo+w_s=0", "grpo"]
    wanted = {name: rows_at(study / f"{name}-seed1", step=3) for name in ("bot_grpo", "bot_grpo+w_s=0", "grpo")}
    for group in range(2):
        expect(page.locator("#position")).to_have_text(f"{group + 1} of 2")
        expect(page.locator("#group .prompt")).to_have_text(wanted["grpo"][4 * group]["prompt"])
        for column, rows in enumerate(wanted.values()):
            arm, mine = page.locator(".arm").nth(column), rows[4 * group : 4 * group + 4]
            expect(arm.locator(".card")).to_have_count(4)
            ok = sum(row["status"] == "ok" for row in mine)
            mean_g = sum(row["outcome"] for row in mine) / 4
            expect(arm.locator("> .facts-line")).to_contain_text(
                re.compile(rf"^{ok} of 4 ok\s*mean G {number(mean_g)}")
            )
            for i, row in enumerate(mine):
                card = arm.locator(".card").nth(i)
                expect(card.locator(".verdict")).to_have_text(row["status"].replace("_", " "))
                expect(card.locator(".facts-line")).to_contain_text(f"G {number(row['outcome'])}")
                assert row["completion"].split("\n")[0] in card.locator(".code").inner_text()
        page.keyboard.press("j")


def rows_at(run: Path, step: int) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = pq.read_table(run / "rollouts" / f"step-{step:05d}.parquet").to_pylist()
    return rows


def number(value: float) -> str:
    """As the page writes it: three digits, a true minus sign."""
    return f"{value + 0.0:.3g}".replace("-", "−")


def test_buttons_lists_and_letters_walk_through_the_prompts(open_page: Open, page_file: Path) -> None:
    page = open_page(page_file)
    expect(page.locator("#group-title")).to_have_text("Seed 0 · step 4 · held out")
    assert page.locator("#prompt option").count() == 3
    first = page.locator("#group .prompt").inner_text()
    page.locator("#next").click()
    page.keyboard.press("j")
    expect(page.locator("#position")).to_have_text("3 of 3")
    expect(page.locator("#next")).to_be_disabled()
    page.keyboard.press("j")
    expect(page.locator("#position")).to_have_text("3 of 3")
    page.keyboard.press("k")
    page.locator("#previous").click()
    expect(page.locator("#previous")).to_be_disabled()
    assert page.locator("#group .prompt").inner_text() == first
    page.locator("#prompt").select_option(index=1)
    expect(page.locator("#position")).to_have_text("2 of 3")
    second = page.locator("#group .prompt").inner_text()
    page.locator("#step").fill("1")
    expect(page.locator("#step-name")).to_have_text("0")
    assert page.locator("#group .prompt").inner_text() == second, "a held-out prompt is followed through the steps"
    page.locator("#seed").select_option("1")
    expect(page.locator("#group-title")).to_have_text("Seed 1 · step 0 · held out")
    page.locator("#seed").press("k")
    expect(page.locator("#position")).to_have_text("2 of 3")  # typing in a control is not a command
    pick(page, kind="train")
    expect(page.locator("#group-title")).to_have_text(re.compile(r"Seed 1 · step \d · training"))


def test_a_card_opens_its_rollout_below_token_by_token(open_page: Open, page_file: Path) -> None:
    page = open_page(page_file)
    expect(page.locator("#reader")).to_be_hidden()
    pick(page, kind="train", step=4)
    page.locator(".arm").nth(2).locator(".card button").nth(1).press("Enter")
    expect(page.locator("#reader-title")).to_have_text("grpo · rollout 2 of 4")
    expect(page.locator("#reader-title")).to_be_focused()
    expect(page.locator("#reader-title")).to_be_in_viewport()
    expect(page.locator(".card.here")).to_have_count(1)
    expect(page.locator('.card button[aria-current="true"]')).to_have_count(1)
    shades = []
    for key, mode in enumerate(("reward", "local", "advantage", "entropy", "ratio"), 1):
        page.keyboard.press(str(key))
        expect(page.locator(f'#modes input[value="{mode}"]')).to_be_checked()
        shades.append(
            page.locator(".tok").evaluate_all("all => all.map((s) => getComputedStyle(s).backgroundColor).join()")
        )
    assert len(set(shades)) == 5, "cards and reader show the mode that was chosen"
    page.locator("#modes label", has_text="advantage").click()
    text = page.locator("#reading .code.numbered")
    text.focus()
    for _ in range(2):
        page.keyboard.press("ArrowRight")
    expect(page.locator("#tip")).to_contain_text("token 2 of")
    expect(page.locator("#token-status")).to_contain_text("ratio")
    page.keyboard.press("j")
    expect(page.locator("#reader")).to_be_hidden()
    expect(page.locator("#tip")).to_be_hidden()
    assert page.locator(".card.here").count() == 0


def test_print_leaves_the_controls_out(open_page: Open, page_file: Path) -> None:
    page = open_page(page_file)
    page.emulate_media(media="print")
    for hidden in ("#filters", ".bar"):
        expect(page.locator(hidden)).to_be_hidden()
    expect(page.locator(".arm .code").first).to_be_visible()
    expect(page.locator(".figures").first).to_be_visible()


def test_an_arm_without_the_prompt_says_so(open_page: Open, study: Path, tmp_path: Path) -> None:
    """Of refilled groups, and where one of the runs has been cleared of its rollouts."""
    mine = shutil.copytree(study, tmp_path / "study")
    file = mine / "grpo-seed0" / "rollouts" / "step-00004.parquet"
    table = pq.read_table(file)
    place = table.schema.get_field_index("prompt")
    other = pa.array([HOSTILE_TEXTS[0]] * len(table))
    pq.write_table(table.set_column(place, "prompt", other), file)
    shutil.rmtree(mine / "bot_grpo+w_s=0-seed0" / "rollouts")
    assert main(["compare", str(mine), "--force"]) == 0
    page = open_page(mine / "compare.html")
    pick(page, seed="0", kind="train", step=4)
    missing = "It has no rollouts of this prompt at this step."
    expect(page.locator(".arm", has_text=missing)).to_have_count(2)
    assert HOSTILE_TEXTS[0][:80] in " ".join(page.locator("#prompt option").all_inner_texts())
    expect(page.locator("footer")).to_contain_text("Without rollouts: bot_grpo+w_s=0-seed0.")
    assert "pwned" not in page.title()


# -- what is on the page ----------------------------------------------------------------------------------------------


def test_only_what_two_arms_answered_is_shown_group_by_group(study: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cells = cells_of(study)
    arms = ["bot_grpo", "grpo"]
    whole = shared_rollouts(cells, arms)
    assert {row["arm"] for row in whole["rows"]} == {0, 1}
    assert len(whole["rows"]) == 2 * 2 * (4 * 8 + 3 * 3)
    assert len(json.dumps(whole["images"])) > 1000
    lone = shared_rollouts([cell for cell in cells if cell.arm == "grpo"], ["grpo"])
    assert len(lone["rows"]) == 2 * (4 * 8 + 3 * 3), "of one arm alone, all of its own"
    assert shared_rollouts([], ["grpo"]) == {"rows": [], "images": {}, "notes": []}
    monkeypatch.setattr(compare_rollouts, "MAX_COMPLETIONS", 60)
    some = shared_rollouts(cells, arms)
    assert 40 <= len(some["rows"]) <= 60
    assert f"{len(some['rows'])} of the runs’ 164 completions are on this page" in some["notes"][-2]
    groups: dict[Any, int] = {}
    for row in some["rows"]:
        name = (row["seed"], row["kind"], row["step"], row["group"])
        groups[name] = groups.get(name, 0) + 1
    assert {count for (_, kind, *_), count in groups.items() if kind == "train"} == {8}, "four of either arm"
    assert {count for (_, kind, *_), count in groups.items() if kind == "eval"} == {2}


def test_what_does_not_fit_is_left_out_and_said(study: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compare_rollouts, "TEXT_BUDGET", 40_000)
    monkeypatch.setattr(compare_rollouts, "IMAGE_BUDGET", 5_000)
    found = shared_rollouts(cells_of(study), ["bot_grpo", "grpo"])
    assert 10 < len(found["rows"]) < 164
    assert len(deflate(found["rows"])) < 42_000
    assert 1_000 < sum(map(len, found["images"].values())) <= 5_000
    notes = " ".join(found["notes"])
    assert "164 completions are on this page" in notes
    assert "screenshots left out to keep the page small" in notes


@pytest.mark.slow
def test_a_large_study_stays_under_5_megabytes_and_smooth(open_page: Open, tmp_path: Path) -> None:
    shape: dict[str, Any] = {"steps": 40, "eval_every": 10, "groups": 4, "rollouts": 8, "held_out": 24, "updates": 2}
    write_fake_study(tmp_path / "study", noisy_pictures=True, **shape)
    assert main(["compare", str(tmp_path / "study")]) == 0
    page_file = tmp_path / "study" / "compare.html"
    assert 2_000_000 < page_file.stat().st_size < 5_000_000
    page = open_page(page_file)
    spent = page.evaluate(
        """() => ["j", "k", "j", "2", "3", "4", "5"].map((key) => {
            const began = performance.now();
            document.body.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
            document.body.getBoundingClientRect();
            return performance.now() - began;
        })"""
    )
    assert max(spent) < 250, spent
