"""What compiles, what does not, and where the compiler says that it is wrong."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from sandbox_helpers import Judge, all_gone, cases, children, command

from sandbox import setup
from sandbox.compile import NodeCompiler, Source, refusal
from sandbox.errors import SetupError
from sandbox.fallback import PyCompiler
from sandbox.outcome import Outcome, Status
from sandbox.pool import Item, Sandbox
from sandbox.processes import descendants

COMPONENT = "export default function App() { return <p>hi</p>; }"


def status(outcome: Outcome) -> str:
    return outcome.status.value


def test_an_ordinary_component_compiles(compile_only: Judge) -> None:
    (outcome,) = compile_only(COMPONENT)
    assert outcome.status is Status.OK
    assert outcome.compiled
    assert not outcome.diagnostics
    assert outcome.compile_ms is not None
    assert outcome.render_ms is None


def test_every_invalid_case_is_an_error_at_the_place_where_esbuild_sees_it(compile_only: Judge) -> None:
    folder, rows = cases("invalid")
    for row in rows:
        code = (folder / row["file"]).read_text(encoding="utf-8")
        (outcome,) = compile_only(code, language=row["loader"])
        assert status(outcome) == "compile_error", row["file"]
        assert not outcome.compiled
        errors = [d for d in outcome.diagnostics if d.severity == "fatal"]
        first = row["expected"]["first_error"]
        line = code.splitlines()[first["line"] - 1] if first["line"] <= len(code.splitlines()) else ""
        column = len(line.encode()[: first["col"]].decode()) + 1
        assert (errors[0].line, errors[0].column, errors[0].message) == (first["line"], column, first["text"])
        assert len(errors) == row["expected"]["n_errors"]
        assert {d.source for d in errors} == {"esbuild"}


@pytest.mark.parametrize("before", ["", "ééé", "漢字", "🎉🎉", "a\u2028b".replace("\u2028", " ")])
def test_columns_count_characters_and_not_bytes(compile_only: Judge, before: str) -> None:
    line = f'  const s = "{before}" oops;'
    (outcome,) = compile_only(f"export default function App() {{\n{line}\n  return <p/>;\n}}")
    (found,) = outcome.diagnostics
    assert (found.line, found.column) == (2, line.index("oops") + 1)


def test_warnings_do_not_stop_a_component(compile_only: Judge) -> None:
    (outcome,) = compile_only(
        "const o = { a: 1, a: 2 };\nexport default () => <p title={o.a == -0}>x</p>;", language="jsx"
    )
    assert outcome.status is Status.OK
    assert {d.severity for d in outcome.diagnostics} == {"warning"}


@pytest.mark.parametrize(
    ("code", "language", "expected"),
    [
        ("const a: number = 1; export default () => <p>{a}</p>", "tsx", "ok"),
        ("const a: number = 1; export default () => <p>{a}</p>", "jsx", "compile_error"),
        ("const a: number = 1; export default () => <p>{a}</p>", None, "ok"),
        ("export default () => <p>a > b</p>", "tsx", "compile_error"),
        ("export default () => <p>a > b</p>", "jsx", "ok"),
        ("export default () => <p>a > b</p>", None, "ok"),
    ],
)
def test_the_language_decides_and_without_one_both_are_tried(
    compile_only: Judge, code: str, language: str | None, expected: str
) -> None:
    (outcome,) = compile_only(code, language=language)
    assert status(outcome) == expected


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("Sorry", "not_component"),
        ("'Sorry, I cannot do that.'", "not_component"),
        ('Answer: "x"', "not_component"),
        ("", "not_component"),
        ("// nothing\n", "not_component"),
        ("<html><body><p>hi</p></body></html>", "not_component"),
        ("<p>hi</p>", "not_component"),
        (f"<think>how?</think>\n{COMPONENT}", "not_component"),
        ("export default 'hi'", "not_component"),
        ("export default `hi`", "not_component"),
        ("export default 42", "not_component"),
        ("export default function add(a, b) { return a + b }", "not_component"),
        ("export const answer = 42", "not_component"),
        ("const app = () => <p/>", "not_component"),
        ("function App() { return <p/> }", "ok"),
        ("const App = () => <p/>", "ok"),
        ("export const Card = () => <p/>", "ok"),
        ("class App extends React.Component { render() { return <p/> } }", "ok"),
        ('import { memo } from "react"; const App = memo(() => <p/>); export { App as default }', "ok"),
        ("export default () => <p/>", "ok"),
        ("export default async function () { return <p/> }", "ok"),
        ("export default class extends React.Component { render() { return <p/> } }", "ok"),
        ('import React from "react"; export default () => React.createElement("p")', "ok"),
        ('import { createRoot } from "react-dom/client"; createRoot(document.body).render(<p/>)', "ok"),
        ("export default function App() { return 'text alone' }", "ok"),
        ("export default { a: 1 }", "ok"),  # it compiles; mounting it fails
        ("def f():\n  return 1", "compile_error"),
    ],
)
def test_compiles_means_that_there_is_a_component(compile_only: Judge, code: str, expected: str) -> None:
    (outcome,) = compile_only(code)
    assert status(outcome) == expected
    assert expected == "ok" or outcome.diagnostics


@pytest.mark.parametrize(
    ("imports", "says"),
    [
        ('import _ from "lodash"', '"lodash"'),
        ('import { Box } from "@mui/material"', '"@mui/material"'),
        ('import "left-pad"', '"left-pad"'),
        ('import x from "./helper"', '"./helper"'),
        ('import x from "../../../etc/passwd"', "etc/passwd"),
        ('import x from "https://esm.sh/react"', "esm.sh"),
        ('import logo from "./logo.svg"', "logo.svg"),
        ('import { useStats } from "react"', 'no export "useStats"'),
        ('import ReactDOM, { render as _ } from "react-dom"', 'no export "render"'),
        ('const _ = require("lodash")', '"lodash"'),
        ('const _ = import("lodash")', '"lodash"'),
        ('export { x } from "lodash"', '"lodash"'),
        ('export * from "lodash"', '"lodash"'),
    ],
)
def test_an_import_that_is_not_there_is_named_with_its_line(compile_only: Judge, imports: str, says: str) -> None:
    name = next((word for word in ("useStats", "ReactDOM", "Box", "logo", "x", "_") if word in imports), "0")
    use = "" if imports.startswith("export") else f"{{String({name})}}" if '"left-pad"' not in imports else ""
    (outcome,) = compile_only(f"// é\n\n  {imports};\nexport default () => <p>{use}</p>;", language="jsx")
    assert status(outcome) == "import_error"
    assert not outcome.compiled
    (found,) = [d for d in outcome.diagnostics if d.severity == "error"]
    assert says in found.message
    assert (found.source, found.line) == ("imports", 3)


@pytest.mark.parametrize(
    ("line", "wrong", "says"),
    [
        ('import _ from "lodash"; _;', '"lodash"', 'package "lodash" is not available'),
        (
            'import é, { memo, useStats as s } from "react"; é, memo, s;',
            "useStats as",
            '"react" has no export "useStats"',
        ),
        ('import A from "lucide-react"; A;', "A from", '"lucide-react" has no export "default"'),
        ('export { useStats } from "react";', "useStats", '"react" has no export "useStats"'),
        ('const a = 1, b = () => import("lodash");', '"lodash"', 'package "lodash" is not available'),
        ('const a = 1, b = require("./b");', '"./b"', 'there is no file "./b" beside a component'),
        ('import a from "../../etc/passwd"; a;', '"../', 'there is no file "../../etc/passwd" beside a component'),
        ('import a from "/etc/passwd"; a;', '"/', 'there is no file "/etc/passwd" beside a component'),
        ('import a from "file:///etc/passwd"; a;', '"file', 'there is no file "file:///etc/passwd" beside a component'),
        ('import a from "@/hooks/a"; a;', '"@', 'there is no file "@/hooks/a" beside a component'),
        ('import a from "@/components/ui/form"; a;', '"@', 'package "@/components/ui/form" is not available'),
        ('import a from "https://esm.sh/a"; a;', '"h', 'nothing can be imported from an address: "https://esm.sh/a"'),
    ],
)
def test_an_import_error_points_at_what_is_wrong(compile_only: Judge, line: str, wrong: str, says: str) -> None:
    (outcome,) = compile_only(f"// é\n  {line}\nexport default () => <p/>;", language="jsx")
    (found,) = [d for d in outcome.diagnostics if d.severity == "error"]
    assert (found.line, found.message) == (2, says)
    assert f"  {line}"[found.column - 1 :].startswith(wrong)


@pytest.mark.parametrize(
    "imports",
    [
        'import * as React from "react"',
        'import React, { useState, Suspense as S } from "react"',
        'import { createPortal } from "react-dom"',
        'import { createRoot } from "react-dom/client"',
        'import "./App.css"',
        'import styles from "./App.module.css"',
        'import "../styles/index.scss"',
        'import type { FC } from "react"',
        'import { type FC, useState } from "react"',
        'import type { Thing } from "./types"',
    ],
)
def test_imports_that_are_there(compile_only: Judge, imports: str) -> None:
    (outcome,) = compile_only(f"{imports};\nexport default () => <p/>;", language="tsx")
    assert status(outcome) == "ok"


@pytest.mark.parametrize(
    ("code", "why"),
    [
        ("x" * 200_001, "200,001 bytes"),
        ("é" * 100_001, "200,002 bytes"),
        ("[" * 257, "nested"),
        ("{" * 200_000, "nested"),
        ("<div>" * 257, "nested"),
        ("a" + " => a" * 201, "arrows"),
        ("(a) =>" * 201, "arrows"),
    ],
)
def test_what_hangs_or_kills_compilers_is_refused_before_they_see_it(code: str, why: str) -> None:
    assert why in (refusal(code) or "")


@pytest.mark.parametrize(
    "code",
    [
        COMPONENT,
        "x" * 200_000,
        "[" * 256,
        "[]" * 10_000,
        "<p></p>" * 2_000,
        "<br/>" * 2_000,
        "if (a < b && c > d) {}\n" * 2_000,
        "useState<string>(1);\n" * 2_000,
        "const f = x => x;\n" * 2_000,
        "a.map(x => x.map(y => y));\n" * 500,
    ],
)
def test_what_is_long_but_harmless_is_not_refused(code: str) -> None:
    assert refusal(code) is None


def test_a_lone_surrogate_or_a_nul_gets_a_verdict(compile_only: Judge) -> None:
    surrogate, nul = compile_only("export default () => <p>\ud800</p>", f"{COMPONENT}\0\nthis is {{ not javascript")
    assert status(surrogate) == "ok"
    assert status(nul) == "compile_error"


def test_deep_nesting_without_brackets_ends(compile_only: Judge) -> None:
    codes = [f"{head * 20_000}1;\n{COMPONENT}" for head in ("!", "- ", "if(a)", "a?b:", "1+", "new ")]
    begun = time.monotonic()
    for outcome in compile_only(*codes):
        assert status(outcome) in ("ok", "too_large", "compile_error")
    assert time.monotonic() - begun < 60
    assert status(compile_only(f"// after\n{COMPONENT}")[0]) == "ok"


def test_a_compiler_that_is_killed_is_started_again_and_loses_nothing() -> None:
    node = setup.node()
    assert node is not None
    others = set(children("worker.mjs"))
    with NodeCompiler(node, setup.prepare_worker(), render=False, timeout_s=20) as compiler:
        assert compiler.compile([Source(COMPONENT)])[0].status is Status.OK
        (pid,) = set(children("worker.mjs")) - others
        (service,) = [p for p in descendants(pid) if "esbuild" in command(p)]
        os.kill(service, signal.SIGKILL)  # esbuild's own process: every later call of its library fails
        answers = compiler.compile([Source(f"{COMPONENT}// {i}") for i in range(5)])
        assert [a.status for a in answers] == [Status.OK] * 5
        (pid,) = set(children("worker.mjs")) - others
        os.kill(pid, signal.SIGKILL)
        answers = compiler.compile([Source(f"{COMPONENT}// {i}") for i in range(5)])
        assert [a.status for a in answers] == [Status.OK] * 5
    assert set(children("worker.mjs")) == others


def test_a_compiler_that_hangs_is_replaced_and_only_the_culprit_pays() -> None:
    node = setup.node()
    assert node is not None
    with NodeCompiler(node, setup.prepare_worker(), render=False, timeout_s=2) as compiler:
        assert compiler.compile([Source(COMPONENT)])[0].status is Status.OK
        hang = "export default () => <p>{" + "x=>" * 3000 + "1}</p>"  # past the guard, which is not asked here
        answers = compiler.compile([Source(COMPONENT), Source(hang), Source(f"{COMPONENT}// 2")])
        assert [a.status for a in answers] == [Status.OK, Status.TOO_LARGE, Status.OK]


def test_a_worker_that_cannot_start_is_a_setup_error_and_not_a_verdict(tmp_path: Path) -> None:
    node = setup.node()
    assert node is not None
    with (
        NodeCompiler(node, tmp_path, render=False, timeout_s=2) as compiler,
        pytest.raises(SetupError, match="Node worker"),
    ):
        compiler.compile([Source(COMPONENT)])


def test_without_node_esbuild_py_compiles_and_is_never_imported_here() -> None:
    with PyCompiler(timeout_s=20) as compiler:
        good, bad, typed, imports, file, nul, prose = compiler.compile(
            [
                Source(COMPONENT),
                Source("export default () => <p>"),
                Source("const a: number = 1;\nexport default () => <p/>;"),
                Source('import React from "react";\nimport "lodash";\nexport default () => <p/>;'),
                Source('import a from "../../etc/passwd";\nexport default () => <p/>;'),
                Source(f"{COMPONENT}\0\n{{"),
                Source("Sorry"),
            ]
        )
    assert good.status is Status.OK
    assert [c.status for c in (bad, typed, nul)] == [Status.COMPILE_ERROR] * 3
    assert bad.diagnostics[0].line == 1
    assert imports.status is Status.IMPORT_ERROR
    assert imports.diagnostics[0].line == 2
    assert imports.diagnostics[0].message == 'package "lodash" is not available'
    assert file.diagnostics[0].message == 'there is no file "../../etc/passwd" beside a component'
    assert prose.status is Status.NOT_COMPONENT
    assert "esbuild_py" not in sys.modules


def test_esbuild_py_survives_what_aborts_its_process() -> None:
    with PyCompiler(timeout_s=3) as compiler:
        deep = "export default function App() { return " + "<div>" * 70_000 + "; }"
        outcome, after = compiler.compile([Source(deep), Source(COMPONENT)])
    assert outcome.status in (Status.TOO_LARGE, Status.COMPILE_ERROR)
    assert after.status is Status.OK


def test_without_node_compiling_goes_on_and_rendering_says_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BOT_GRPO_NODE", "")
    setup.node.cache_clear()
    try:
        with Sandbox(render=False) as sandbox:
            assert sandbox.run([Item(COMPONENT, "code")])[0].status is Status.OK
        with Sandbox() as sandbox, pytest.raises(SetupError, match="Node 20"):
            sandbox.run([Item(COMPONENT, "code")])
    finally:
        setup.node.cache_clear()


def test_replies_are_judged_by_the_component_in_them(compile_only: Judge) -> None:
    folder, rows = cases("replies")
    with Sandbox(render=False) as sandbox:
        replies = [(folder / row["file"]).read_bytes().decode("utf-8", "replace") for row in rows]
        outcomes = sandbox.run([Item(reply) for reply in replies])
    for row, reply, outcome in zip(rows, replies, outcomes, strict=True):
        if row["status"] in ("no_code", "not_component"):
            assert status(outcome) == row["status"], row["file"]
            continue
        expected = (folder / row["expected_file"]).read_text(encoding="utf-8")
        assert outcome.code.split() == expected.split(), row["file"]
        assert 0 <= outcome.code_start < len(reply)
        if row["status"] == "truncated":
            assert not outcome.compiled, row["file"]


def test_nothing_is_left_when_the_parent_is_killed() -> None:
    code = (
        "import os, sys, time\n"
        "from sandbox.pool import Item, Sandbox\n"
        "s = Sandbox(render=False)\n"
        f"s.run([Item({COMPONENT!r}, 'code')])\n"
        "print('ready', flush=True)\n"
        "time.sleep(60)\n"
    )
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE) as parent:
        assert parent.stdout is not None
        assert parent.stdout.readline() == b"ready\n"
        below = descendants(parent.pid)
        assert below
        parent.kill()
        parent.wait()
    assert all_gone(below)
