"""`bot-grpo sandbox`: one verdict a line, in input order; one clear line for bad input."""

from __future__ import annotations

import base64
import csv
import io
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from judge_server import JudgeServer, judge_server, slowly

from bot_grpo.cli import main
from bot_grpo.cli.sandbox_inputs import read_entries
from sandbox import setup

COMPONENT = "export default function App() { return <h1>hi</h1>; }\n"
REPLY = f"Here it is:\n```jsx\n{COMPONENT}```\n"


@pytest.fixture
def server() -> Iterator[JudgeServer]:
    with judge_server() as server:
        yield server


@pytest.fixture
def files(tmp_path: Path) -> Path:
    folder = tmp_path / "in"
    folder.mkdir()
    (folder / "b.jsx").write_text(COMPONENT)
    (folder / "a.tsx").write_text("const n: number = 1;\n" + COMPONENT)
    (folder / "c.md").write_text(REPLY)
    (folder / "d.txt").write_text("I'm sorry, I can't help with that.")
    (folder / "e.jsx").write_text("export default () => <p>;")
    (folder / "f.jsx").write_bytes(b"\xff\xfe" + COMPONENT.encode("utf-16-le"))
    (folder / "g.md").write_bytes(b"\xff\xfe```jsx\n" + COMPONENT.encode() + b"\n```\xff")
    (folder / "h.jsx").write_bytes(b"\xef\xbb\xbf" + COMPONENT.encode())
    (folder / "i.jsx").write_bytes(b"")
    (folder / "ignored.png").write_bytes(b"\x89PNG")
    (folder / "sub.jsx").mkdir()
    return folder


def test_a_directory_is_judged_in_order_of_names(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["sandbox", str(files), "--json"]) == 0
    out, err = capsys.readouterr()
    rows = [json.loads(line) for line in out.splitlines()]
    assert [(Path(row["file"]).name, row["status"]) for row in rows] == [
        ("a.tsx", "ok"),
        ("b.jsx", "ok"),
        ("c.md", "ok"),
        ("d.txt", "no_code"),
        ("e.jsx", "compile_error"),
        ("f.jsx", "compile_error"),
        ("g.md", "ok"),
        ("h.jsx", "ok"),
        ("i.jsx", "not_component"),
    ]
    assert set(rows[0]) == {
        *("file", "status", "diagnostics", "requirements", "compile_ms", "render_ms", "screenshot"),
        *("page", "page_reason", "judge"),
    }
    assert set(rows[4]["diagnostics"][0]) == {"source", "severity", "line", "column", "message"}
    assert rows[4]["diagnostics"][0]["severity"] == "fatal"
    assert rows[1]["compile_ms"] > 0
    assert rows[1]["render_ms"] is None
    assert "9 judged: 5 ok" in err


def test_text_has_one_line_each_in_the_order_given(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    names = [str(files / name) for name in ("e.jsx", "b.jsx", "d.txt", "b.jsx")]
    assert main(["sandbox", *names]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[:2] for line in lines] == [
        ["compile_error", names[0]],
        ["ok", names[1]],
        ["no_code", names[2]],
        ["ok", names[3]],
    ]
    assert "line 1:" in lines[0]


def test_standard_input_is_a_reply(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(REPLY.encode())))
    assert main(["sandbox", "-", "--json"]) == 0
    row = json.loads(capsys.readouterr().out)
    assert (row["file"], row["status"]) == ("-", "ok")


def test_a_file_too_long_to_be_read_gets_a_verdict(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bot_grpo.cli.sandbox_inputs._READ_LIMIT", 300_000)
    (tmp_path / "big.md").write_text("x" * 400_000)
    assert main(["sandbox", str(tmp_path), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["status"] == "too_large"


@pytest.mark.parametrize(
    ("argv", "says"),
    [
        (["nothing.jsx"], "there is no file or directory 'nothing.jsx'"),
        (["EMPTY"], "holds no file of these kinds"),
        (["FILE", "--timeout", "0"], "--timeout"),
        (["FILE", "--timeout", "nan"], "--timeout"),
        (["FILE", "--workers", "0"], "--workers"),
        (["FILE", "--screenshots", "FILE"], "cannot write"),
        (["FILE", "--screenshots", "x", "--no-render"], "--screenshots needs rendering"),
        (["FILE", "--judge", "page", "--no-render"], "--judge page needs rendering"),
        (["FILE", "--judge", "code"], "--judge code needs --judge-model"),
        (["FILE", "--judge", "screenshot", "--judge-model", "m", "--base-url", "x"], "--base-url begins with http"),
        (["FILE", "--html", "gallery.txt"], "must end in .html"),
        (["FILE", "--html", "no/such/gallery.html"], "cannot write no/such/gallery.html"),
        (["FILE", "--workers", "many"], "--workers is at least 1, or ray"),
        (["ROWS"], "rows.jsonl:1 has no 'completion'; it has: text"),
        (["BAD"], "bad.jsonl:1: check must be one of role, text, click, type"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(
    argv: list[str], says: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "empty").mkdir()
    file = tmp_path / "a.jsx"
    file.write_text(COMPONENT)
    rows, bad = tmp_path / "rows.jsonl", tmp_path / "bad.jsonl"
    rows.write_text('{"text": "no completion"}')
    bad.write_text(json.dumps({"completion": REPLY, "requirements": [{"check": "smell"}]}))
    names = {"EMPTY": tmp_path / "empty", "FILE": file, "ROWS": rows, "BAD": bad}
    argv = [str(names.get(arg, arg)) for arg in argv]
    assert main(["sandbox", *argv]) == 2
    out, err = capsys.readouterr()
    lines = err.splitlines()
    assert (out, len(lines)) == ("", 1)
    assert says in lines[0]


def test_rows_of_jsonl_and_of_a_runs_rollouts_are_a_component_each(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = {"check": "role", "role": "heading", "name": "hi"}
    chat = [{"role": "user", "content": "?"}, {"role": "assistant", "content": REPLY}]
    lines = [{"completion": REPLY, "id": "first", "requirements": [asked]}, {"completion": chat}, {"completion": "No."}]
    (tmp_path / "a.jsonl").write_text("\n".join(map(json.dumps, lines)))
    found = [{"check": json.dumps(asked), "met": True, "reason": ""}]
    plain = [{"check": "click", "role": "button", "expect": {"text": "a"}}, {"check": "text", "text": "hi"}]
    columns = {"completion": [REPLY, REPLY], "prompt": ["Say hi", None], "requirements": [found, None], "step": [1, 2]}
    pq.write_table(pa.table(columns), tmp_path / "b.parquet")
    pq.write_table(pa.table({"completion": [REPLY], "requirements": [plain]}), tmp_path / "c.parquet")
    assert main(["sandbox", str(tmp_path), "--json"]) == 0
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    b, c = tmp_path / "b.parquet", tmp_path / "c.parquet"
    assert [row["file"] for row in rows] == [
        *("first", f"{tmp_path / 'a.jsonl'}:2", f"{tmp_path / 'a.jsonl'}:3"),
        *(f"{b}:1", f"{b}:2", f"{c}:1"),
    ]
    assert [row["status"] for row in rows] == ["ok", "ok", "no_code", "ok", "ok", "ok"]
    entries = read_entries([str(tmp_path)], prompt="for the rest")
    assert [entry.item.requirements for entry in entries] == [(asked,), (), (), (asked,), (), tuple(plain)]
    assert [entry.prompt for entry in entries[3:]] == ["Say hi", "for the rest", "for the rest"]


def test_rows_of_csv_are_a_component_each(tmp_path: Path) -> None:
    asked = {"check": "text", "text": "hi"}
    file = tmp_path / "a.csv"
    with file.open("w", encoding="utf-8-sig", newline="") as out:  # as a spreadsheet writes it
        columns = csv.writer(out)
        columns.writerow(["completion", "id", "requirements"])
        columns.writerows([[REPLY, "first", json.dumps([asked])], [REPLY, "", ""]])
    first, second = read_entries([str(file)])
    assert (first.name, first.item.text, first.item.requirements) == ("first", REPLY, (asked,))
    assert (second.name, second.item.text, second.item.requirements) == (f"{file}:2", REPLY, ())


def test_the_case_of_an_ending_does_not_matter(tmp_path: Path) -> None:
    (tmp_path / "A.JSONL").write_text(json.dumps({"completion": REPLY}) + "\n" + json.dumps({"completion": REPLY}))
    (tmp_path / "B.TSX").write_text("export default () => <p>hi</p>;")
    assert len(read_entries([str(tmp_path / "A.JSONL")])) == 2
    (only,) = read_entries([str(tmp_path)])
    assert (only.item.kind, only.item.language) == ("code", "tsx")


def test_no_node_is_said_once_and_a_wrong_one_in_one_line(
    files: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    try:
        monkeypatch.setenv("BOT_GRPO_NODE", "")
        setup.node.cache_clear()
        assert main(["sandbox", str(files / "b.jsx"), str(files / "h.jsx")]) == 0
        said = capsys.readouterr().err.splitlines()
        assert len(said) == 2
        assert said[0].startswith("bot-grpo sandbox: there is no Node, so esbuild-py compiles (JSX only")
        for wrong in ("/nonexistent", "/bin/false"):
            monkeypatch.setenv("BOT_GRPO_NODE", wrong)
            setup.node.cache_clear()
            assert main(["sandbox", "--render", str(files / "b.jsx")]) == 2
            (line,) = capsys.readouterr().err.splitlines()
            assert f"BOT_GRPO_NODE={wrong} is no Node that runs" in line
            assert "Errno" not in line
    finally:
        setup.node.cache_clear()


def test_a_model_judges_the_code(
    files: Path,
    tmp_path: Path,
    server: JudgeServer,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    server.answers = lambda body: "It greets.\nLINE 0: -2 no label\nSCORE: 7"
    names = [str(files / name) for name in ("b.jsx", "d.txt", "e.jsx")]
    argv = ["sandbox", *names, "--judge", "code", "--judge-model", "m", "--base-url", server.url]
    assert main([*argv, "--json", "--prompt", "Say hi"]) == 0
    out, err = capsys.readouterr()
    rows = [json.loads(line) for line in out.splitlines()]
    assert [row["file"] for row in rows] == names
    assert rows[0]["judge"]["code"]["score"] == 7
    assert rows[0]["judge"]["code"]["lines"] == [{"line": 1, "impact": -2, "reason": "no label"}]
    assert rows[1]["judge"]["code"]["score"] is None
    assert rows[1]["judge"]["code"]["reason"] == "there is no code to judge"
    assert rows[2]["judge"]["code"]["score"] == 7
    assert "Say hi" in str(server.bodies[0]["messages"])
    assert "m is asked about 3 components" in err
    assert "2 requests" in err
    assert main([*argv, "--prompt", "Say hi"]) == 0
    out, err = capsys.readouterr()
    assert "code judge 7 of 10" in out.splitlines()[0]
    assert "code judge no score: there is no code to judge" in out.splitlines()[1]
    assert "0 requests, 0 tokens, 2 answers known before" in err


def test_a_judge_that_scores_nothing_is_exit_code_1_and_says_each_reason_once(
    files: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    names = [str(files / name) for name in ("b.jsx", "d.txt", "e.jsx", "h.jsx")]
    argv = ["sandbox", *names, "--judge", "code", "--judge-model", "m", "--base-url", "http://127.0.0.1:9/v1"]
    assert main(argv) == 1
    out, err = capsys.readouterr()
    assert "4 judged: 2 ok, 1 no_code, 1 compile_error; code judge: 0 of 4 scored" in err
    reasons = [line for line in err.splitlines() if line.startswith("unscored, ")]
    assert [line.split(":")[0] for line in reasons] == [
        "unscored, 3 of 4 by the code judge",
        "unscored, 1 of 4 by the code judge",
    ]
    assert all(line.count("cannot be reached") == 1 for line in out.splitlines() if "d.txt" not in line)
    assert main(["sandbox", names[1], "--judge", "code", "--judge-model", "m", "--base-url", "http://127.0.0.1:9"]) == 1
    assert "m is asked about 1 component\n" in capsys.readouterr().err


def interrupted(argv: list[str], after: int, env: dict[str, str]) -> tuple[int, str]:
    """Ctrl-C once it has printed so many lines: its exit code, and what it says on stderr."""
    command = [sys.executable, "-m", "bot_grpo", "sandbox", *argv]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True, env={**os.environ, **env}) as process:
        assert process.stdout is not None
        for _ in range(after):
            assert process.stdout.readline()
        process.send_signal(signal.SIGINT)
        said = process.communicate(timeout=60)[1]
    return process.returncode, said


def gallery_rows(page: Path) -> list[dict[str, Any]]:
    payload = re.search(r'<script id="payload"[^>]*>([^<]*)<', page.read_text())
    assert payload is not None
    rows: list[dict[str, Any]] = json.loads(zlib.decompress(base64.b64decode(payload[1])))["rows"]
    return rows


def test_ctrl_c_leaves_a_gallery_of_what_was_judged(tmp_path: Path, server: JudgeServer) -> None:
    server.answers = slowly(0.3)
    codes = [COMPONENT.replace("hi", f"hi {i}") for i in range(60)]
    (tmp_path / "rows.jsonl").write_text(
        "\n".join(json.dumps({"completion": code, "id": f"n{i}"}) for i, code in enumerate(codes))
    )
    page = tmp_path / "gallery.html"
    judge = ["--judge", "code", "--judge-model", "m", "--base-url", server.url]
    argv = [str(tmp_path / "rows.jsonl"), "--no-render", "--html", str(page), *judge]
    code, err = interrupted(argv, 1, {"XDG_CACHE_HOME": str(tmp_path / "cache")})
    assert code == 130
    assert f"60 of 60 were judged; wrote {page}" in err
    rows = gallery_rows(page)
    assert [row["name"] for row in rows] == [f"n{i}" for i in range(60)]
    assert 0 < sum("code" in row["judges"] for row in rows) < 60


@pytest.mark.browser
def test_ctrl_c_while_pages_are_rendered_leaves_those_that_were(tmp_path: Path) -> None:
    codes = [COMPONENT.replace("hi", f"hi {i}") for i in range(200)]
    (tmp_path / "rows.jsonl").write_text(
        "\n".join(json.dumps({"completion": code, "id": f"n{i}"}) for i, code in enumerate(codes))
    )
    page = tmp_path / "gallery.html"
    code, err = interrupted([str(tmp_path / "rows.jsonl"), "--html", str(page), "--timeout", "20"], 3, {})
    assert code == 130
    rows = gallery_rows(page)
    assert f"{len(rows)} of 200 were judged; wrote {page}" in err
    assert 3 <= len(rows) < 200
    assert all(row["picture"] for row in rows)


@pytest.mark.browser
def test_pages_are_judged_and_a_gallery_is_written(
    files: Path,
    tmp_path: Path,
    server: JudgeServer,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr("os.geteuid", lambda: 0)
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    asked = [{"check": "text", "text": "hi"}, {"check": "role", "role": "button"}]
    (tmp_path / "rows.jsonl").write_text(json.dumps({"completion": REPLY, "id": "row", "requirements": asked}))
    page = tmp_path / "gallery.html"
    argv = ["sandbox", str(tmp_path / "rows.jsonl"), str(files / "e.jsx"), "--timeout", "20", "--html", str(page)]
    judges = ["--judge", "page", "--judge", "screenshot", "--judge-model", "m", "--base-url", server.url]
    assert main([*argv, *judges, "--json"]) == 0
    out, err = capsys.readouterr()
    good, broken = (json.loads(line) for line in out.splitlines())
    assert good["requirements"][0] == {"met": True, "reason": ""}
    assert not good["requirements"][1]["met"]
    assert good["page"]["parts"]["requirements"] == 0.5
    assert good["judge"]["screenshot"]["score"] == 7
    assert broken["page"] is None
    assert broken["judge"]["screenshot"]["reason"] == "no screenshot: compile_error"
    assert (good["screenshot"], list((tmp_path / "temporary").iterdir())) == (None, [])
    assert err.count("running as root") == 1
    assert f"wrote {page}" in err
    assert "data:image/webp" not in page.read_text()  # it travels deflated
    assert "gallery" in page.read_text()


@pytest.mark.browser
def test_rendering_leaves_screenshots(files: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shots = tmp_path / "deep" / "shots"
    argv = ["sandbox", "--json", "--screenshots", str(shots), "--workers", "2", "--timeout", "4"]
    assert main([*argv, str(files / "b.jsx"), str(files / "e.jsx"), str(files / "c.md")]) == 0
    out, err = capsys.readouterr()
    rows = [json.loads(line) for line in out.splitlines()]
    assert [row["status"] for row in rows] == ["ok", "compile_error", "ok"]
    assert Path(rows[0]["screenshot"]).read_bytes().startswith(b"\x89PNG")
    assert rows[1]["screenshot"] is None
    assert rows[0]["screenshot"] == rows[2]["screenshot"]
    assert f"screenshots in {shots}" in err
