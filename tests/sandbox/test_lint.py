"""What ESLint says of a component, beside the compiler and without a say in its verdict."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest
from sandbox_helpers import Judge, app, children

from sandbox import setup
from sandbox.compile import NodeCompiler, Source
from sandbox.outcome import Outcome, Status
from sandbox.pool import Item, Sandbox
from sandbox.processes import memory_of

CLEAN = app("const [n, set] = useState(0);\nreturn <button onClick={() => set(n + 1)}>{n}</button>;").replace(
    "useEffect, ", ""
)


@pytest.fixture(scope="module")
def linted() -> Iterator[Judge]:
    with Sandbox(render=False, lint=True, timeout_s=30) as sandbox:
        yield lambda *codes: sandbox.run([Item(code, "code") for code in codes])


def said(outcome: Outcome) -> list[tuple[str, int, int, str]]:
    found = [d for d in outcome.diagnostics if d.source == "eslint"]
    return [(d.severity, d.line, d.column, d.message.rpartition("(")[2].rstrip(")")) for d in found]


def test_a_clean_component_has_no_findings(linted: Judge) -> None:
    (outcome,) = linted(CLEAN)
    assert outcome.status is Status.OK
    assert not outcome.diagnostics


def test_what_does_not_parse_is_fatal_and_stands_beside_the_compilers_error(linted: Judge) -> None:
    (outcome,) = linted("export default function App() {\n  const = 3;\n  return <p />;\n}")
    assert outcome.status is Status.COMPILE_ERROR
    compiler, lint = outcome.diagnostics
    assert (compiler.source, compiler.severity, compiler.line) == ("esbuild", "fatal", 2)
    assert (lint.source, lint.severity, lint.line, lint.column) == ("eslint", "fatal", 2, 9)
    assert lint.message == "Parsing error: Variable declaration expected."


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("export default () => <Missing />;", [("error", 1, 23, "react/jsx-no-undef")]),
        ("export default () => <a.b></a.b>;", [("error", 1, 23, "react/jsx-no-undef")]),
        ("export default () => <p>{missing}</p>;", [("error", 1, 26, "no-undef")]),
        (
            "export default function App() {\n  const [n] = useState(0);\n  return <p>{n}</p>;\n}",
            [("error", 2, 15, "no-undef")],
        ),
        (
            app("if (App.x) { useState(1); }\nuseEffect(() => {});\nreturn <p>x</p>;"),
            [("error", 4, 14, "react-hooks/rules-of-hooks")],
        ),
        (
            "export default () => <ul>{[1].map((n) => <li>{n}</li>)}</ul>;",
            [("error", 1, 42, "react/jsx-key")],
        ),
        ("export default () => <p class='a'>x</p>;", [("error", 1, 25, "react/no-unknown-property")]),
        ("export default () => <br>x</br>;", [("error", 1, 22, "react/void-dom-elements-no-children")]),
        ("const a = 1;\nexport default () => <p>x</p>;", [("warning", 1, 7, "no-unused-vars")]),
        (
            'import { Home } from "lucide-react";\nexport default () => <p>x</p>;',
            [("warning", 1, 10, "no-unused-vars")],
        ),
        ("export default () => <img src='a.png' />;", [("warning", 1, 22, "jsx-a11y/alt-text")]),
        (
            app("const [n, set] = useState(0);\nuseEffect(() => { set(n); }, []);\nreturn <p>{n}</p>;"),
            [("warning", 5, 30, "react-hooks/exhaustive-deps")],
        ),
        # not worth a word, in a component of its own that may be TypeScript
        ('import React from "react";\nexport default () => <p>x</p>;', []),
        ("function App() { return <p>don't</p>; }", []),
        ("interface P { on: (value: string) => void }\nexport default ({ on }: P) => <p>{typeof on}</p>;", []),
        ("enum E { A, B }\nexport default () => <p>{E.A}</p>;", []),
        ("const f: React.FC<Props> = () => null;\nexport default f;", []),
        ("declare global { interface Window { mine: string } }\nexport default () => <p>{window.mine}</p>;", []),
    ],
)
def test_each_finding_has_its_severity_and_its_place(
    linted: Judge, code: str, expected: list[tuple[str, int, int, str]]
) -> None:
    (outcome,) = linted(code)
    assert said(outcome) == expected


@pytest.mark.parametrize("before", ["", "ééé", "漢字", "🎉🎉"])
def test_columns_count_characters_of_the_extracted_code(linted: Judge, before: str) -> None:
    line = f'  const s = "{before}" + missing;'
    broken = f'  const s = "{before}" oops;'
    around = "export default function App() {{\n{}\n  return <p>{{s}}</p>;\n}}"
    (finding,), fatal = (
        [d for d in outcome.diagnostics if d.source == "eslint"]
        for outcome in linted(*map(around.format, (line, broken)))
    )
    assert (finding.line, finding.column) == (2, line.index("missing") + 1)
    assert (fatal[0].severity, fatal[0].line, fatal[0].column) == ("fatal", 2, broken.index("oops") + 1)


def test_a_byte_order_mark_moves_no_column(linted: Judge) -> None:
    (outcome,) = linted("\ufeffexport default () => <Missing />;")
    assert said(outcome) == [("error", 1, 24, "react/jsx-no-undef")]


def test_a_component_cannot_talk_its_way_out(linted: Judge) -> None:
    for words in (
        "/* eslint-disable */",
        "/* eslint no-undef: off */",
        "/* global missing */",
        "// eslint-disable-next-line",
        "// @ts-nocheck",
        "/** @jsx 1x */",
        "/** @jsxRuntime classic */",
    ):
        (outcome,) = linted(f"{words}\nexport default () => <p>{{missing}}</p>;")
        assert said(outcome) == [("error", 2, 26, "no-undef")], words


def test_findings_change_no_verdict(linted: Judge) -> None:
    codes = [
        CLEAN,
        "export default () => <Missing />;",
        "export default () => <p>",
        "Sorry",
        'import "lodash";\n' + CLEAN,
    ]
    with Sandbox(render=False) as plain:
        for alone, both in zip(plain.run([Item(c, "code") for c in codes]), linted(*codes), strict=True):
            assert both.status is alone.status
            assert both.diagnostics[: len(alone.diagnostics)] == alone.diagnostics
            assert {d.source for d in both.diagnostics[len(alone.diagnostics) :]} <= {"eslint"}


def test_what_is_refused_before_compiling_is_not_linted(linted: Judge) -> None:
    (outcome,) = linted("[" * 300)
    assert outcome.status is Status.TOO_LARGE
    assert not said(outcome)


def test_a_reply_is_linted_in_the_places_of_its_code() -> None:
    reply = "Here it is:\n\n```jsx\nexport default () => <Missing />;\n```\n"
    with Sandbox(render=False, lint=True, timeout_s=30) as sandbox:
        (outcome,) = sandbox.run([Item(reply)])
    assert said(outcome) == [("error", 1, 23, "react/jsx-no-undef")]


def test_what_eslint_cannot_take_is_a_warning_of_ours(linted: Judge) -> None:
    deep = "!" * 20_000 + "1;\n" + CLEAN
    (outcome,) = linted(deep)
    assert not said(outcome)
    (found,) = [d for d in outcome.diagnostics if "not linted" in d.message]
    assert (found.source, found.severity) == ("sandbox", "warning")


def test_a_component_that_eslint_never_ends_on_loses_nothing_but_its_findings() -> None:
    before = set(children("worker.mjs"))
    hang = CLEAN.replace("return", "if(n){set(n)}" * 10_000 + "return")  # compiles in a moment
    begun = time.monotonic()
    with Sandbox(render=False, lint=True, timeout_s=4) as sandbox:
        first, hung, last = sandbox.run([Item(code, "code") for code in (CLEAN, hang, f"{CLEAN}// 2")])
        assert time.monotonic() - begun < 120
    assert [first.status, hung.status, last.status] == [Status.OK] * 3
    assert not first.diagnostics + last.diagnostics
    (found,) = hung.diagnostics
    assert (found.source, found.severity) == ("sandbox", "warning")
    assert "not linted" in found.message
    assert set(children("worker.mjs")) == before


def test_linting_is_off_unless_it_is_asked_for_and_costs_nothing(compile_only: Judge) -> None:
    (outcome,) = compile_only("export default () => <Missing />;")
    assert not outcome.diagnostics
    assert _memory(lint=False) + (40 << 20) < _memory(lint=True)  # it is not even loaded


def _memory(*, lint: bool) -> int:
    """Bytes that a worker holds when it has compiled a component."""
    node = setup.node()
    assert node is not None
    before = set(children("worker.mjs"))
    with NodeCompiler(node, setup.prepare_worker(), render=False, lint=lint, timeout_s=60) as compiler:
        compiler.compile([Source(CLEAN)])
        (worker,) = set(children("worker.mjs")) - before
        return memory_of(worker)
