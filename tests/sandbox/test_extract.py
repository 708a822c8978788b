"""`extract` takes the component out of a reply, whole, and knows where in the reply each line of it stands."""

from __future__ import annotations

import json
import os
import re
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sandbox.extract import Extraction, extract

SHARED = Path(os.environ.get("BOT_GRPO_SHARED") or Path(__file__).parents[2].parent / "shared")
REPLIES = SHARED / "cases" / "replies"
TASKS = Path(__file__).parents[2] / "tasks" / "data" / "react.jsonl"

COUNTER = """\
import { useState } from "react";

export default function App() {
  const [n, setN] = useState(0);
  return <p onClick={() => setN(n + 1)}>Don't panic: {n} :)</p>;
}"""
NO_EXPORT = """\
function App() {
  return (
    <div>
      <p>Hello there my friend</p>
      Some text on a line of its own
    </div>
  );
}"""
ARROW = """\
const App = () => {
  return <p>Hi</p>
}

export default App"""
ONE_LINE = "const App = () => <p>Hi</p>"
TWO_PARTS = """\
function Card({ text }) {
  return <b>{text}</b>;
}

// The main one
export default function App() {
  return <Card text="x" />;
}"""
TEMPLATE = """\
export default function Docs() {
  const text = `
```js
const x = 1;
```
`;
  return <pre>{text}</pre>;
}"""
COMPONENTS = [COUNTER, NO_EXPORT, ARROW, ONE_LINE, TWO_PARTS]

ENVELOPES = {
    "nothing around it": "{}",
    "prose before": "Here is the component:\n\n{}",
    "a sentence after": "{}\n\nThis code defines a component. It uses `useState`.\n\n1. First\n2. Second\n",
    "a list after": "{}\n\nExplanation:\n- it counts\n",
    "a heading after": "{}\n\n### How it works\nWell.",
    "a closing fence without an opening one": "{}\n```\n\nThis component counts.\n",
    "the same, and a usage example": "{}\n```\n\nUsage:\n```jsx\n<App/>\n```\n",
    "a fence": "Sure.\n\n```jsx\n{}\n```\nDone!",
    "a fence that closes at the end of a line": "```jsx\n{}```\nIt works.",
    "a fence that opens at the end of a line": "Here you go: ```jsx\n{}\n```\nBye",
    "a fence with text behind its end": "```jsx\n{}\n``` This is it.",
    "tildes": "~~~~ tsx\n{}\n~~~~\n",
    "a file name": "**App.jsx**\n\n```App.jsx\n{}\n```",
    "a file name in a comment": "```jsx\n// src/App.jsx\n{}\n```",
    "a wrong label": "```html\n{}\n```",
    "a markdown wrapper": "```markdown\n# Title\n```jsx\n{}\n```\n```\n",
    "an answer tag": "<think>A draft? ```jsx\n<p/>\n</think><answer>{}</answer>",
    "a fence in an answer tag": "<answer>\n```jsx\n{}\n```</answer>",
    "chat tokens": "<|im_start|>assistant\n{}<|im_end|>",
    "a thought before": "<thinking>\n```jsx\n" + TWO_PARTS + "\n```\n</thinking>\n```jsx\n{}\n```",
    "a thought that began in the prompt": "A draft\n```jsx\n" + TWO_PARTS + "\n```\nok</think>\n```jsx\n{}\n```",
    "the same, its fence open": "A draft\n```jsx\n" + TWO_PARTS + "\n</think>\n```jsx\n{}\n```",
    "a style sheet after": "```jsx\n{}\n```\n```css\n.a {{ color: red }}\n```".replace("{{", "{").replace("}}", "}"),
    "a repetition that was cut off": "```jsx\n{}\n```\n```jsx\nimport React from 'react';\nexport default function",
    "a fence that is never closed, then another": "```jsx\n{}\n\nAnother version of it:\n```jsx\nexport default fun",
}


def wrap(envelope: str, code: str) -> str:
    return envelope.replace("{}", code)


def without_space(text: str) -> str:
    return re.sub(r"\s", "", text)


@pytest.mark.parametrize("code", COMPONENTS, ids=["counter", "no export", "arrow", "one line", "two parts"])
@pytest.mark.parametrize("envelope", ENVELOPES.values(), ids=ENVELOPES)
def test_a_good_component_comes_out_whole_and_in_place(envelope: str, code: str) -> None:
    reply = wrap(envelope, code)
    found = extract(reply)
    assert (found.code, found.status) == (code, "ok")
    assert reply[found.start : found.start + len(code)] == code
    assert_lines_in_place(reply, found)


@pytest.mark.parametrize("code", COMPONENTS, ids=["counter", "no export", "arrow", "one line", "two parts"])
def test_code_that_is_not_one_piece_of_the_reply_keeps_its_lines(code: str) -> None:
    quoted = "> Look:\n> ```jsx\n" + "\n".join(f"> {line}".rstrip() for line in code.split("\n")) + "\n> ```\nSo."
    listed = "1. Write\n\n   ```jsx\n" + "\n".join(f"   {line}" for line in code.split("\n")) + "\n   ```\n2. Run"
    for reply in (quoted, listed):
        found = extract(reply)
        assert (found.code, found.status) == (code, "ok")
        assert_lines_in_place(reply, found)
        lines = code.split("\n")
        assert all(reply[found.offset(i + 1) :].startswith(line) for i, line in enumerate(lines))


@pytest.mark.parametrize("code", COMPONENTS, ids=["counter", "no export", "arrow", "one line", "two parts"])
@pytest.mark.parametrize(
    "dump", [lambda c: json.dumps({"code": c}), lambda c: json.dumps([{"a": 1, "c": c}], indent=2)]
)
def test_json_is_decoded_and_its_lines_are_found_in_the_escaped_text(dump, code: str) -> None:
    for reply in (dump(code), "```json\n" + dump(code) + "\n```", dump("Sure:\n```jsx\n" + code + "\n```")):
        found = extract(reply)
        assert (found.code, found.status) == (code, "ok")
        assert_lines_in_place(reply, found, unescape=True)
    cut = extract(dump(code)[: -len(code) // 3])
    assert cut.status in {"truncated", "no_code", "not_component"}
    assert code.startswith(cut.code)


def test_json_surrogate_pairs_and_control_letters_are_decoded() -> None:
    code = 'export default function App() {\n\treturn <p title="\\">\U0001f600 é</p>;\n}'
    assert extract(json.dumps({"code": code})).code == code


def assert_lines_in_place(reply: str, found: Extraction, unescape: bool = False) -> None:
    lines = found.code.split("\n")
    assert found.start == found.line_starts[0]
    assert len(found.line_starts) == len(lines)
    for line, start in zip(lines, found.line_starts, strict=True):
        expected = json.dumps(line)[1:-1] if unescape else line
        assert reply[start : start + len(expected)] == expected


def test_a_usage_example_with_a_default_export_of_its_own_does_not_win() -> None:
    usage = "import App from './App';\n\nexport default function Page() {\n  return <App />;\n}"
    assert extract(f"```jsx\n{COUNTER}\n```\nThen\n```jsx\n{usage}\n```\n").code == COUNTER


def test_a_configuration_file_does_not_win() -> None:
    config = 'import { defineConfig } from "vite";\nexport default defineConfig({ plugins: [] });'
    assert (
        extract(f"```jsx\n{COUNTER}\n```\n```js\n{config}\n```\n```js\nexport default {{ content: [] }}\n```").code
        == COUNTER
    )


def test_a_component_written_twice_without_a_fence_comes_out_once() -> None:
    assert extract(f"{COUNTER}\n\n{COUNTER}").code == COUNTER
    assert extract(f"{COUNTER}\n\n{COUNTER[:90]}").code == COUNTER


@pytest.mark.parametrize("envelope", ["{}", "````jsx\n{}\n````\n", "~~~\n{}\n~~~", "```jsx\n{}\n```\nIt is done."])
def test_a_fence_inside_a_template_literal_is_part_of_the_code(envelope: str) -> None:
    found = extract(wrap(envelope, TEMPLATE))
    assert (found.code, found.status) == (TEMPLATE, "ok")


@pytest.mark.parametrize("envelope", ["{}\n```\nAnd so on.", "```jsx\n{}\n```\nAnd so on.\n```\nnpm start\n```"])
def test_a_stray_back_tick_does_not_swallow_the_rest(envelope: str) -> None:
    code = COUNTER.replace("return", "// the ` is stray\n  return")
    assert extract(wrap(envelope, code)).code == code


def test_a_literal_tag_in_the_code_is_no_thought() -> None:
    code = 'export default function T() {\n  return <code>{"<think>no</think>"}</code>;\n}'
    assert extract(code).code == code
    assert extract(f"```jsx\n{code}\n```").code == code


@pytest.mark.parametrize("prefix", ["", "Here:\n", "```jsx\n", "Here:\n```\n", "<answer>\n"])
@pytest.mark.parametrize("code", COMPONENTS[:3] + COMPONENTS[4:], ids=["counter", "no export", "arrow", "two parts"])
def test_code_cut_at_any_place_runs_to_the_end_of_the_reply(prefix: str, code: str) -> None:
    for length in range(len("import { useState } from"), len(code)):
        reply = prefix + code[:length]
        found = extract(reply)
        if found.code:
            assert found.code == code[:length].rstrip()
        if found.code and prefix.endswith(("```\n", "jsx\n")):
            assert found.status == "truncated"
    assert extract(prefix + code[: code.index("return") + 10]).status == "truncated"


def test_a_sentence_after_a_fence_that_was_never_closed_is_no_code() -> None:
    found = extract(f"```jsx\n{COUNTER}\n\nThis component counts.")
    assert (found.code, found.status) == (COUNTER, "truncated")


@pytest.mark.parametrize(
    ("reply", "status", "language"),
    [
        ("", "no_code", ""),
        ("\n \t", "no_code", ""),
        ("I'm sorry, but I can't help with that.", "no_code", ""),
        ('Answer: "x"', "no_code", ""),
        ("```jsx\n\n```", "no_code", ""),
        ("<think>\n```jsx\n" + COUNTER + "\n```\n", "no_code", ""),
        ("<THINKING>" + COUNTER, "no_code", ""),
        (COUNTER + "\n</think>\nNo.", "no_code", ""),
        ("<html>\n<script>\nfunction App() { return '<p></p>' }\n</script>\n</html>", "not_component", "html"),
        ("```html\n<div>x</div>\n```", "not_component", "html"),
        ("<div>\n  <p>x</p>\n</div>", "not_component", "html"),
        ("```python\nclass App:\n    def f(self): return '</p>'\n```", "not_component", "python"),
        ("import numpy as np\nprint(1)", "not_component", "text"),
        ("def app():\n    return 1", "not_component", "text"),
        ("```jsx\n<App title='x' />\n```", "not_component", "jsx"),
        ("function add(a, b) { return a + b }", "not_component", ""),
        ('{"title": "a long enough title", "x": 1}', "no_code", ""),
    ],
)
def test_what_is_no_component_gets_a_name_and_no_code(reply: str, status: str, language: str) -> None:
    found = extract(reply)
    assert (found.code, found.status, found.line_starts) == ("", status, ())
    assert found.language in {language, ""}


@pytest.mark.parametrize(
    ("info", "language"),
    [
        ("TSX", "tsx"),
        ("tsx:src/App.tsx", "tsx"),
        ("src/App.jsx", "jsx"),
        ('js {1,3} title="a"', "js"),
        ("{.jsx}", "jsx"),
        ("", ""),
    ],
)
def test_language_is_what_the_fence_says(info: str, language: str) -> None:
    assert extract(f"```{info}\n{COUNTER}\n```").language == language


def test_lines_end_where_javascript_ends_them() -> None:
    code = "export default function App() {\r\n  /*\u2028*/ return <p/>;\r}\n// \u2029 end"
    found = extract(f"Hi\r\n```jsx\r\n{code}\r\n```\r\n")
    assert found.code == code
    assert [found.offset(i) - found.start for i in range(1, 7)] == [0, 33, 38, 54, 56, 60]
    assert found.offset(99) == found.offset(6)


@pytest.mark.skipif(not REPLIES.is_dir(), reason=f"no shared cases at {REPLIES} (set BOT_GRPO_SHARED)")
def test_shared_replies() -> None:
    wrong, rows = [], [json.loads(line) for line in (REPLIES / "manifest.jsonl").read_text().splitlines()]
    for row in rows:
        reply = (REPLIES / row["file"]).read_bytes().decode()
        expected = (REPLIES / row["expected_file"]).read_text() if row["expected_file"] else ""
        found = extract(reply)
        if (found.status, without_space(found.code)) != (row["status"], without_space(expected)):
            wrong.append((row["file"], found))
    assert len(rows) > 30
    assert not wrong


@pytest.mark.skipif(not TASKS.is_file(), reason="no task data")
def test_no_reference_of_the_tasks_is_damaged() -> None:
    references = [json.loads(line)["reference"].strip() for line in TASKS.read_text().splitlines()[::7]]
    for code in references:
        for envelope in ("{}", "{}\n\nThis component shows a card. You can use it.\n", "{}\n```\nThis is it."):
            found = extract(wrap(envelope, code))
            assert (found.code, found.status) == (code, "ok")


# fmt: off
FRAGMENTS = st.sampled_from([
    "```", "```jsx\n", "~~~", "\n", "`", "<think>", "</think>", "<answer>", "</answer>", "> ", "- ", "    ", "\r\n",
    '{"code": "', "\\n", '\\"', '"', "'", "/*", "*/", "//", "(", "{", "}", ")", "\u2028", "\ud800", "\\u12",
    "\x00", "é",
    "import a from 'a'\n", "export default App;\n", "<|im_end|>", "<html>", "def f():", "Some words here\n",
    "return <p/>;", "\u200b", COUNTER, NO_EXPORT, ONE_LINE,
])
UNITS = [
    "`", "`\n", "```\n", "```\n`\n", "```jsx\n", "<think>", "</think>", "<think></think>", "</think>x",
    "<answer>", "<|a|>x",
    "> ", "- ", " ", "\n", " \n", '[{"', "\\", '\\"', '"', "'", "/*", "(/", "const A=(", "import ",
    "import {", "import a,\n",
    "function A(", "}\n\n", "import a from 'a'\nexport default a;\n", "from './", "\u200b",
    "> ```jsx\n> a\n", "```x ```\n",
    "A b\n",
]
# fmt: on


@settings(deadline=None)
@given(st.lists(FRAGMENTS | st.text(max_size=5), max_size=25).map("".join))
def test_any_text_at_all_has_a_consistent_answer(reply: str) -> None:
    found = extract(reply)
    assert bool(found.code) == (found.status in {"ok", "truncated"}) == bool(found.line_starts)
    assert found.code == found.code.rstrip()
    assert all(0 <= start <= len(reply) for start in found.line_starts)
    assert list(found.line_starts) == sorted(found.line_starts)
    if found.code:
        assert found.start == found.line_starts[0]
        first = found.code.splitlines()[0]
        assert reply.startswith(first, found.start) or "\\" in reply


WORDS = st.lists(
    st.sampled_from(["The", "button", "counts", "clicks", "and", "shows", "them", "below"]), min_size=3, max_size=12
)
PROSE = st.lists(WORDS.map(lambda w: " ".join(w).capitalize() + "."), max_size=4).map("\n\n".join)


@settings(deadline=None)
@given(
    PROSE,
    PROSE,
    st.sampled_from(COMPONENTS),
    st.sampled_from(["```", "````", "~~~~~"]),
    st.sampled_from(["", "jsx", "tsx a.tsx"]),
)
def test_fenced_code_is_contiguous_whatever_the_prose(
    before: str, after: str, code: str, fence: str, info: str
) -> None:
    reply = f"{before}\n{fence}{info}\n{code}\n{fence}\n{after}"
    found = extract(reply)
    assert (found.code, found.status, found.start) == (code, "ok", reply.index(code))


@settings(deadline=None)
@given(PROSE, PROSE, st.sampled_from(COMPONENTS))
def test_unfenced_code_is_contiguous_whatever_the_prose(before: str, after: str, code: str) -> None:
    found = extract(f"{before}\n\n{code}\n\n{after}")
    assert (found.code, found.status) == (code, "ok")


@pytest.mark.parametrize("prefix", ["", COUNTER + "\n", "```jsx\n", '{"code":"', "    ```\n", "const a = `\n"])
def test_time_is_linear_in_the_length(prefix: str) -> None:
    for unit in UNITS:
        began = time.process_time()
        extract(prefix + unit * (60_000 // len(unit)))
        assert time.process_time() - began < 3, unit  # quadratic time takes minutes


@pytest.mark.parametrize("reply", ["`" * 1_000_000, "<think>" * 100_000, "```\n" * 250_000, "```jsx\n" * 140_000])
def test_a_megabyte_of_marks_takes_seconds(reply: str) -> None:
    began = time.process_time()
    assert extract(reply).code == ""
    assert time.process_time() - began < 10
