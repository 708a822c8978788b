"""Requirements on real pages: what is looked for, clicked and typed in a browser."""

# ruff: noqa: E501 - JSX on one line is easier to read than cut in pieces

from __future__ import annotations

from typing import Any

import pytest
from sandbox_helpers import Judge, app

from sandbox.outcome import Status

pytestmark = pytest.mark.browser


def check(render: Judge, code: str, *asked: dict[str, Any]) -> list[str]:
    """The reasons of the requirements that are not met ("" for those that are)."""
    (outcome,) = render((code, list(asked)))
    assert outcome.status is Status.OK, outcome.diagnostics
    assert len(outcome.requirements) == len(asked)
    return [r.reason if not r.met else "" for r in outcome.requirements]


def click(target: str, name: str = "", /, *, nth: int = 0, **expect: Any) -> dict[str, Any]:
    return {"check": "click", "role": target, **({"name": name} if name else {}), "nth": nth, "expect": expect}


def type_(role: str, value: str, *, click: dict[str, Any] | None = None, **expect: Any) -> dict[str, Any]:
    return {"check": "type", "role": role, "value": value, "expect": expect, **({"click": click} if click else {})}


def role(role: str, name: str = "", **counts: int) -> dict[str, Any]:
    return {"check": "role", "role": role, **({"name": name} if name else {}), **counts}


COUNTER = app(
    """const [n, set] = useState(0);
  return <main><h1>Counter</h1><p>Count: {n}</p>
    <button onClick={() => set(n - 1)}>-</button><button onClick={() => set(n + 1)}>+</button>
    <button disabled onClick={() => set(0)}>Reset</button></main>;"""
)


def test_a_counter_counts(render: Judge) -> None:
    assert (
        check(
            render,
            COUNTER,
            click("button", "+", number_delta=1),
            click("button", "+", changes="number"),
            click("button", "-", number_delta=-1),
            click("button", nth=1, text="count: 2"),
            {"check": "text", "text": "Count: 0"},
            role("button", min=3, max=3),
            role("heading", "counter"),
        )
        == [""] * 7
    )


def test_what_is_not_met_is_told(render: Judge) -> None:
    reasons = check(
        render,
        COUNTER,
        click("button", "Save", changes="text"),
        click("button", "Reset", changes="number"),
        click("button", "+", number_delta=2),
        click("button", nth=9, changes="text"),
        {"check": "text", "text": "Total"},
        role("slider"),
        role("button", max=2),
    )
    assert all(reasons)
    assert "no button 'Save'" in reasons[0]
    assert "number 10" in reasons[3]


def test_roles_are_those_of_aria(render: Judge) -> None:
    markup = """<><nav><a href="#x">Home</a></nav><img alt="A cat" src="data:image/gif;base64,R0lGODlhAQABAAAAACw=" />
      <svg role="img" aria-label="A chart" width="9" height="9" /><ul><li>one</li><li>two</li></ul>
      <table><thead><tr><th>Name</th></tr></thead><tbody><tr><td>Ada</td></tr></tbody></table>
      <label>Email <input type="email" /></label><input type="search" aria-label="Find" /><textarea aria-label="Notes" />
      <label><input type="checkbox" /> Agree</label><input type="radio" aria-label="Red" /><input type="range" aria-label="Volume" />
      <input type="number" aria-label="Age" /><select aria-label="Size"><option>S</option><option>M</option></select>
      <progress value="0.5" aria-label="Done" /><div role="tablist"><button role="tab">One</button></div>
      <button aria-pressed="true">Bold</button><div role="switch" aria-checked="false" tabIndex="0">Wifi</div>
      <details><summary>More</summary>text</details><div role="alert">Careful</div><article>x</article><hr />
      <div style={{ display: "none" }}><button>Hidden</button></div><button aria-hidden="true">Silent</button></>"""
    met = check(
        render,
        app(f"return {markup};"),
        role("navigation"),
        role("link", "Home"),
        role("img", "A cat"),
        role("img", "A chart"),
        role("listitem", min=2, max=2),
        role("list"),
        role("table"),
        role("row", min=2),
        role("cell", "Ada"),
        role("columnheader", "Name"),
        role("textbox", "email"),
        role("textbox", min=3, max=3),
        role("searchbox", "Find"),
        role("checkbox", "Agree"),
        role("radio", "Red"),
        role("slider", "Volume"),
        role("spinbutton", "Age"),
        role("combobox", "Size"),
        role("option", min=2),
        role("progressbar", "Done"),
        role("tab", "One"),
        role("tablist"),
        role("button", "Bold"),
        role("switch", "Wifi"),
        role("alert"),
        role("article"),
        role("separator"),
        role("button", "Hidden", min=0, max=0),
        role("button", "Silent", min=0, max=0),
    )
    assert met == [""] * len(met)


FORM = app(
    """const [name, set] = useState(""); const [names, add] = useState([]); const [colour, pick] = useState("Red");
  const [level, setLevel] = useState(3); const [agreed, agree] = useState(false); const [open, show] = useState(false);
  return <form onSubmit={(e) => { e.preventDefault(); add([...names, name]); set(""); }}>
    <label>Name <input value={name} onChange={(e) => set(e.target.value)} /></label>
    <button disabled={!name}>Add</button><ul>{names.map((n) => <li key={n}>{n}!</li>)}</ul>
    <select aria-label="Colour" value={colour} onChange={(e) => pick(e.target.value)}><option>Red</option><option>Blue</option></select>
    <p>Picked {colour}, level {level}</p>
    <input type="range" min="0" max="10" aria-label="Level" value={level} onChange={(e) => setLevel(Number(e.target.value))} />
    <label><input type="checkbox" checked={agreed} onChange={(e) => agree(e.target.checked)} /> I agree</label>
    {agreed && <p>Thanks for agreeing</p>}
    <button type="button" onClick={() => show(true)}>Settings</button>
    {open && <div role="dialog" aria-label="Settings"><button type="button" onClick={() => show(false)}>Close</button></div>}
  </form>;"""
)


def test_a_form_is_used_as_a_person_would(render: Judge) -> None:
    met = check(
        render,
        FORM,
        type_("textbox", "Ada", click={"role": "button", "name": "Add"}, text="Ada!"),
        type_("textbox", "Ben", text="Ben"),
        type_("combobox", "blue", text="Picked Blue"),
        type_("slider", "7", number_delta=4),
        click("checkbox", "agree", text="Thanks"),
        click("checkbox", "agree", no_text="Thanks"),
        {**click("button", "Settings"), "expect": {"role": "dialog", "name": "settings"}},
        click("button", "Close", no_text="Close"),
    )
    assert met == [""] * len(met)


CHOICES = app(
    """const [fruit, setFruit] = useState(""); const [size, setSize] = useState("s");
  return <div className="p-8">
    <Select value={fruit} onValueChange={setFruit}><SelectTrigger aria-label="Fruit"><SelectValue placeholder="Any" /></SelectTrigger>
      <SelectContent><SelectItem value="a">Apple</SelectItem><SelectItem value="p">Pear</SelectItem></SelectContent></Select>
    <Select value={size} onValueChange={setSize}><SelectTrigger aria-label="Size"><SelectValue /></SelectTrigger>
      <SelectContent><SelectItem value="s">Small</SelectItem><SelectItem value="l">Large</SelectItem></SelectContent></Select>
    <select aria-label="Native"><option>Small</option><option>Pear</option></select>
    <div role="combobox" aria-label="Broken" tabIndex={0}>nothing opens</div><p>{fruit} and {size}</p></div>;""",
    'import { Select, SelectContent, SelectItem, SelectTrigger, SelectValue } from "@/components/ui/select";',
)


def test_a_list_that_the_page_draws_itself_is_chosen_from(render: Judge) -> None:
    def choose(name: str, value: str, **expect: Any) -> dict[str, Any]:
        return {**type_("combobox", value, **expect), "name": name}

    reasons = check(
        render,
        CHOICES,
        choose("Fruit", "pear", text="p and s"),
        choose("Size", "Kiwi", changes="text"),
        choose("Size", "Large", text="p and l"),
        choose("Fruit", "Apple", text="a and l"),
        choose("Broken", "Large", changes="text"),
    )
    assert reasons == ["", "no option Kiwi", "", "", "no option Large"]


def test_a_value_in_a_field_is_text_that_can_be_seen(render: Judge) -> None:
    code = app(
        'const [v, set] = useState("0");\n'
        'return <><input readOnly value={v} aria-label="Display" /><button onClick={() => set("12")}>12</button></>;'
    )
    assert check(render, code, click("button", "12", number_delta=12)) == [""]


def test_a_covered_button_is_not_reached_and_a_hidden_check_box_is(render: Judge) -> None:
    cover = '<div style={{ position: "fixed", inset: 0, background: "rgba(0,0,0,.5)" }} />'
    covered = app(
        f"const [n, set] = useState(0);\nreturn <><button onClick={{() => set(n + 1)}}>Add</button><p>{{n}}</p>{cover}</>;"
    )
    assert check(render, covered, click("button", "Add", changes="number")) != [""]
    styled = app(
        'const [on, set] = useState(false);\nreturn <label><input type="checkbox" className="sr-only" checked={on} '
        'onChange={(e) => set(e.target.checked)} aria-label="Dark" /><span className="block w-8 h-4 bg-red-500" />{on ? "dark" : "light"}</label>;'
    )
    assert check(render, styled, click("checkbox", "Dark", text="dark")) == [""]


def test_a_click_below_the_fold_scrolls_there(render: Judge) -> None:
    code = app(
        "const [n, set] = useState(0);\nreturn <><p>{n}</p><div style={{ height: 3000 }} />"
        "<button onClick={() => set(n + 1)}>Add</button></>;"
    )
    assert check(render, code, click("button", "Add", number_delta=1)) == [""]


def test_what_happens_soon_after_a_click_counts(render: Judge) -> None:
    code = app(
        'const [t, set] = useState("idle");\nreturn <><p>{t}</p>'
        '<button onClick={() => { set("saving"); setTimeout(() => set("saved"), 400); }}>Save</button></>;'
    )
    assert check(render, code, click("button", "Save", text="saved")) == [""]


def test_the_screenshot_is_of_the_page_before_it_is_used(render: Judge) -> None:
    plain, used = render(COUNTER, (COUNTER, [click("button", "+", number_delta=1)]))
    assert plain.screenshot == used.screenshot


def test_a_page_that_hangs_or_dies_when_it_is_used_loses_what_comes_after(render: Judge) -> None:
    head = app(
        "const [n, set] = useState(0);\nreturn <><p>{n}</p><button onClick={() => set(n + 1)}>Add</button>"
        "<button onClick={() => { for (;;); }}>Hang</button></>;"
    )
    (outcome,) = render(
        (
            head,
            [
                click("button", "Add", number_delta=1),
                click("button", "Hang", changes="text"),
                click("button", "Add", number_delta=1),
            ],
        )
    )
    assert outcome.status is Status.OK
    assert [r.met for r in outcome.requirements] == [True, False, False]
    assert outcome.requirements[1].reason == "the page hung"


def test_a_page_that_tries_to_leave_when_it_is_used_stays(render: Judge) -> None:
    code = app(
        'const [n, set] = useState(0);\nuseEffect(() => { onbeforeunload = (e) => { e.preventDefault(); return "stay"; }; }, []);\n'
        'return <><a href="http://127.0.0.1:9/">Away</a><button onClick={() => set(n + 1)}>Add</button><p>{n}</p></>;'
    )
    assert check(render, code, click("link", "Away", changes="text"), click("button", "Add", number_delta=1))[1] == ""
    assert check(render, COUNTER, click("button", "+", number_delta=1)) == [""]


def test_a_page_cannot_fake_what_is_looked_at(render: Judge) -> None:
    fake = (
        'Object.defineProperty(HTMLElement.prototype, "innerText", { get: () => "Thanks" });'
        "Element.prototype.getClientRects = () => { throw 1; }; document.querySelectorAll = () => [];"
    )
    code = app(f"{fake}\nreturn <button>Send</button>;")
    reasons = check(render, code, {"check": "text", "text": "Thanks"}, {"check": "text", "text": "Send"})
    assert reasons[0]
    assert not reasons[1]
