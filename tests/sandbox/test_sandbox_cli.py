"""`bot-grpo sandbox`: one verdict a line, in input order; one clear line for bad input."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path

import pytest

from bot_grpo.cli import main

COMPONENT = "export default function App() { return <h1>hi</h1>; }\n"
REPLY = f"Here it is:\n```jsx\n{COMPONENT}```\n"


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
    assert set(rows[0]) == {"file", "status", "diagnostics", "compile_ms", "render_ms", "screenshot"}
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
    monkeypatch.setattr("bot_grpo.cli.sandbox._READ_LIMIT", 300_000)
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
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(
    argv: list[str], says: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "empty").mkdir()
    file = tmp_path / "a.jsx"
    file.write_text(COMPONENT)
    argv = [{"EMPTY": str(tmp_path / "empty"), "FILE": str(file)}.get(arg, arg) for arg in argv]
    assert main(["sandbox", *argv]) == 2
    lines = [line for line in capsys.readouterr().err.splitlines() if "without its own sandbox" not in line]
    assert len(lines) == 1
    assert says in lines[0]


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
