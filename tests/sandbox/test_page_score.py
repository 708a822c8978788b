"""The page judge: rules on a rendered page. What it says is right, bounded, the same each time, and not forged."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sandbox_helpers import Judge, app, cases

from sandbox.outcome import Outcome, PageScore, RequirementResult, Status
from sandbox.page_score import FULL, WEIGHTS, WIDTH, Checked, Look, page_score
from sandbox.pixels import used_share
from sandbox.pool import Item, Sandbox

MET, UNMET = RequirementResult(True), RequirementResult(False, "0 of button, at least 1 wanted")
FULLY = Look(used=1.0, contrast=Checked(good=4), names=Checked(good=2), shown=6)

counts = st.integers(0, 50)
checked = st.builds(Checked, counts, counts, counts)
looks = st.builds(Look, st.floats(0, 1), checked, checked, st.integers(1280, 9000), st.integers(0, 50), st.just(0))


@settings(deadline=None)
@given(looks, st.lists(st.booleans(), max_size=6), st.lists(st.text(), max_size=3))
def test_score_and_parts_are_bounded_and_the_formula_is_the_documented_one(
    look: Look, met: list[bool], errors: list[str]
) -> None:
    page = page_score(look, [RequirementResult(each) for each in met], errors)
    parts = dict(page.parts)
    assert 0 <= page.score <= 1
    assert all(0 <= value <= 1 for value in parts.values())
    assert parts.keys() <= WEIGHTS.keys()
    assert ("requirements" in parts) is bool(met)
    faults = 0.15 + sum(WEIGHTS[k] * parts[k] for k in ("contrast", "names", "fits", "errors") if k in parts)
    total = 0.4 * parts.get("requirements", 0) + parts["used"] * faults
    assert math.isclose(page.score, total / sum(WEIGHTS[k] for k in parts), abs_tol=2e-4)


def test_a_page_without_fault_has_all_and_no_finding() -> None:
    assert page_score(FULLY, [MET]) == PageScore(1.0, dict.fromkeys(WEIGHTS, 1.0))
    assert math.isclose(sum(WEIGHTS.values()), 1)


@pytest.mark.parametrize(
    ("look", "requirements", "errors", "part", "finding"),
    [
        (FULLY, [MET, UNMET], [], "requirements", "requirement: 0 of button, at least 1 wanted"),
        (Look(0.5 * FULL, Checked(1)), [], [], "used", "used: something is to be seen on 2.5 % of the page"),
        (Look(1, Checked(3, 1, 0, ("p: 1:1",))), [], [], "contrast", "contrast: p: 1:1"),
        (Look(1, names=Checked(0, 7, 0, ("a", "b"))), [], [], "names", "names: 5 more like these"),
        (Look(1, names=Checked(0, 3, 0, ("a", "b"))), [], [], "names", "names: 1 more like this"),
        (Look(1, width=WIDTH + 1), [], [], "fits", "fits: the page is 1281 pixels wide"),
        (Look(1, shown=4, cut=1, cut_examples=("h1",)), [], [], "fits", "fits: h1 is cut off"),
        (FULLY, [], ["Error: no"], "errors", "errors: Error: no"),
    ],
)
def test_every_fault_costs_its_part_and_is_named(
    look: Look, requirements: list[RequirementResult], errors: list[str], part: str, finding: str
) -> None:
    page = page_score(look, requirements, errors)
    assert [name for name, value in page.parts.items() if value < 1] == [part]
    assert page.score < 1
    assert any(said.startswith(finding) for said in page.findings)


def test_an_emptier_page_earns_less_and_its_lack_of_faults_is_worth_less() -> None:
    scores = [page_score(Look(FULL * share, Checked(1), Checked(1), shown=1)).score for share in (0.1, 0.5, 1, 4)]
    assert scores == [0.1, 0.5, 1, 1]


def test_what_nobody_could_judge_is_left_out_and_said() -> None:
    page = page_score(Look(1, Checked(unknown=3)))
    assert "contrast" not in page.parts
    assert page.score == 1
    assert page.findings == ("contrast: not to be judged 3 times (a picture or a gradient behind the text)",)


DOT = "data:image/gif;base64,R0lGODlhAQABAAAAACw="
GOOD = f"""<main className="min-h-screen bg-gray-100 p-8"><h1 className="text-3xl font-bold">Tea timer</h1>
  <div className="mt-6 rounded-xl border border-gray-400 bg-white p-6">
  <label>Minutes <input className="border" /></label>
  <button className="ml-4 rounded bg-blue-700 px-4 py-2 text-white">Start</button>
  <p className="mt-4">Ready when you are.</p>
  <img alt="a cup" width="200" height="120" className="border-4 border-black" src="{DOT}" /></div></main>"""
BAD = f"""<main className="p-8"><h1 className="text-3xl font-bold">Tea timer</h1>
  <p className="text-gray-300">Ready when you are.</p>
  <input /><button></button><a href="#"></a><div role="slidr" className="border-8 border-black p-20">x</div>
  <img width="200" height="120" src="{DOT}" /></main>"""
FORGERY = """
window.axe = { run: async () => ({ violations: [], passes: [], incomplete: [] }), configure() {} };
document.querySelectorAll = Document.prototype.querySelectorAll = () => [];
Array.prototype.flatMap = Object.keys = () => [];
window.getComputedStyle = () => ({}); Element.prototype.checkVisibility = Element.prototype.matches = () => false;
Object.defineProperty(Element.prototype, "scrollWidth", { get: () => 1 });
window.Promise = null; JSON.stringify = () => "{}";
"""
BUTTON = {"check": "role", "role": "button"}


@pytest.fixture(scope="module")
def judged() -> Iterator[Judge]:
    """judged(code, ...) -> outcomes of a sandbox that scores pages; each code is asked for a button."""
    with Sandbox(page=True, timeout_s=20) as sandbox:

        def judge(*codes: str) -> list[Outcome]:
            return sandbox.run([Item(code, "code", requirements=(BUTTON,)) for code in codes])

        yield judge


def page_of(outcome: Outcome) -> PageScore:
    assert outcome.page is not None, outcome
    return outcome.page


@pytest.mark.browser
def test_good_and_bad_pages(judged: Judge) -> None:
    good, bad, wide, cut, late = judged(
        app(f"return {GOOD}"),
        app(f"return {BAD}"),
        app(f"return <div style={{{{ width: 1500 }}}}>{GOOD}</div>"),
        app(f'return <div>{GOOD}<b style={{{{ position: "absolute", left: -20, top: 9 }}}}>half a word</b></div>'),
        app(f'useEffect(() => {{ setTimeout(() => {{ throw new Error("too late"); }}, 9); }}, []); return {GOOD}'),
    )
    assert page_of(good) == PageScore(1.0, dict.fromkeys(WEIGHTS, 1.0))
    said = page_of(bad).findings
    for start in (
        'contrast: p "Ready when you are.": 1.4',
        "names: button: ",
        "names: input: ",
        "names: a: ",
        "names: img: ",
        'names: div "x": ',
    ):
        assert any(each.startswith(start) for each in said), (start, said)
    assert page_of(bad).parts["names"] == 0 < page_of(bad).parts["contrast"] < 1
    assert page_of(wide).parts["fits"] == 0.5
    assert page_of(wide).findings == ("fits: the page is 1500 pixels wide, so 1280 must be scrolled sideways",)
    assert page_of(cut).findings[-1:] == ("""fits: b "half a word" is cut off by the window's edge""",)
    assert page_of(late).findings == ("errors: Error: too late",)
    assert {o.status for o in (good, bad, wide, cut, late)} == {Status.OK}


@pytest.mark.browser
def test_only_a_mounted_page_is_scored_and_a_blank_one_gets_nothing(judged: Judge) -> None:
    empty, blank, broken, unfinished = judged(
        app("return <p>Hi</p>"), app("return <i />"), app('throw new Error("no");'), "export default () => <p>;"
    )
    assert page_of(empty).score < 0.05
    assert page_of(blank) == PageScore(0.0, {"used": 0.0}, ("every pixel has the same colour",))
    assert [o.status for o in (blank, broken, unfinished)] == [
        Status.BLANK,
        Status.RUNTIME_ERROR,
        Status.COMPILE_ERROR,
    ]
    assert (broken.page, unfinished.page) == (None, None)


@pytest.mark.browser
def test_a_component_cannot_forge_its_score(judged: Judge) -> None:
    honest, forged = judged(app(f"return {BAD}"), app(f"return {BAD}", FORGERY))
    assert page_of(forged).parts == page_of(honest).parts
    assert page_of(forged).findings == page_of(honest).findings


@pytest.mark.browser
def test_what_axe_cannot_take_has_no_score_but_a_reason_and_its_requirements(judged: Judge) -> None:
    names = '<form><input name="nodeName" /><input name="attributes" /><input name="parentNode" /></form>'
    stack = '{Array.from({ length: 3000 }, (_, i) => <p key={i} style={{ position: "absolute", top: 0 }}>row {i}</p>)}'
    clobbered, heavy, after = judged(
        app(f'return <div>{names}<img name="querySelectorAll" alt="" />{GOOD}</div>'),
        app(f"return <div><button>Go</button>{stack}</div>"),
        app(f"return {GOOD} /* once more */"),
    )
    assert clobbered.page is None
    assert clobbered.page_reason.startswith("axe-core fails on it: TypeError")
    assert clobbered.requirements_met == 1
    assert heavy.page is None
    assert heavy.status is Status.OK
    assert heavy.page_reason in ("axe-core did not end within 1 s on a CPU", "the page hung when it was judged")
    assert page_of(after).score == 1


@pytest.mark.browser
def test_the_score_is_the_same_every_time_and_changes_nothing_else(judged: Judge, tmp_path: Path) -> None:
    code = app(f"return {BAD}")
    items = [Item(code, "code", requirements=(BUTTON,))]
    with Sandbox(page=True, screenshots=tmp_path) as sandbox:
        (again,) = sandbox.run(items)
    with Sandbox(screenshots=tmp_path) as sandbox:
        (without,) = sandbox.run(items)
    assert again.page == judged(code)[0].page
    assert (without.page, without.page_reason) == (None, "")
    assert (again.status, again.requirements, again.screenshot) == (
        without.status,
        without.requirements,
        without.screenshot,
    )
    assert again.screenshot is not None
    assert 0.03 < used_share(again.screenshot.read_bytes()) < 0.3


@pytest.mark.slow
@pytest.mark.browser
def test_hostile_components_get_a_bounded_score_or_none_with_a_reason(judged: Judge) -> None:
    folder, rows = cases("hostile")
    codes = [(folder / row["file"]).read_bytes().decode("utf-8", "replace") for row in rows]
    for row, outcome in zip(rows, judged(*codes), strict=True):
        if outcome.page is not None:
            assert 0 <= outcome.page.score <= 1, row
            assert outcome.status in (Status.OK, Status.BLANK), row
        else:
            assert outcome.page_reason or outcome.status is not Status.OK, (row, outcome)
