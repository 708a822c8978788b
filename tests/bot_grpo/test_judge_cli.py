"""`bot-grpo judge` against a real HTTP server: tables, files, exit codes, and one line for each mistake."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from PIL import Image
from win_runs import BLUE, GREEN, RED, write_run

from bot_grpo.cli import main

sys.path.append(str(Path(__file__).parents[1] / "sandbox"))
from judge_server import JudgeServer, images, judge_server, texts
from werkzeug import Response

RANK = {GREEN: 3, BLUE: 2, RED: 1}


@pytest.fixture
def server() -> Iterator[JudgeServer]:
    with judge_server() as server:
        server.answers = honest
        yield server


def honest(body: dict[str, Any]) -> str:
    """Green before blue before red, wherever they stand."""
    a, b = (RANK[picture.getpixel((0, 0))] for picture in images(body))
    return f"Look.\nWINNER: {'A' if a > b else 'B'}"


@pytest.fixture
def model(server: JudgeServer, tmp_path: Path) -> list[str]:
    return ["--judge-model", "m", "--base-url", server.url, "--cache", str(tmp_path / "cache"), "--retries", "0"]


@pytest.fixture
def runs(tmp_path: Path) -> tuple[str, str]:
    """A: green, green, broken, broken, green, red. B: red, broken, green, broken, green and blue."""
    a = [GREEN, GREEN, None, None, GREEN, RED]
    b = [RED, None, GREEN, None, GREEN, BLUE]

    def rows(colours: list[Any]) -> list[dict[str, Any]]:
        return [{"prompt": f"prompt {i}", "colour": colour} for i, colour in enumerate(colours)]

    return str(write_run(tmp_path / "a", rows(a))), str(write_run(tmp_path / "b", rows(b)))


def said(capsys: pytest.CaptureFixture[str]) -> tuple[str, str]:
    out, err = capsys.readouterr()
    return out, err


def test_two_runs_are_compared_by_prompt(
    server: JudgeServer, model: list[str], runs: tuple[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    a, b = runs
    extra = ["--prices", "10", "100", "--output", str(tmp_path / "wins.json")]
    assert main(["judge", "--a", a, "--b", b, *model, *extra]) == 0
    out, err = said(capsys)
    assert f"A  {a}  (step 4, 6 pages, 4 can be judged)" in out
    [line] = [line for line in out.splitlines() if line.startswith("A against B")]
    assert line.split()[3:7] == ["2", "2", "2", "0"]
    assert "0.500 (" in line
    assert line.endswith("0% of 4")
    assert "8 calls (0 answers known before), 800 tokens sent, 80 received, cost 0.0160" in out
    assert "8 of 8 answers" in err
    found = json.loads((tmp_path / "wins.json").read_text())
    assert found["usage"]["calls"] == 8
    [match] = found["matches"]
    assert [pair["score"] for pair in match["pairs"]] == [1.0, 1.0, 0.0, 0.5, 0.5, 0.0]
    assert match["pairs"][1]["reason"] == "against a page that cannot be judged: compile_error"
    assert [one["winner"] for one in match["pairs"][0]["rounds"]] == ["A"] * 4
    assert (match["rate"], match["prompts"]) == (0.5, 6)
    assert "| prompt 0" in texts(server.bodies[0])

    assert main(["judge", "--a", a, "--b", b, *model, "--output", str(tmp_path / "again.json")]) == 0
    assert server.calls == 8
    assert json.loads((tmp_path / "again.json").read_text())["matches"] == found["matches"]


def test_a_dry_run_counts_calls_and_makes_none(
    server: JudgeServer, model: list[str], runs: tuple[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["judge", "--a", runs[0], "--b", runs[1], *model, "--dry-run"]) == 0
    plan = "6 pairs, 4 of them decided without a call; 8 questions about the others, of which 8 need a call"
    assert plan in said(capsys)[0]
    assert server.calls == 0
    assert main(["judge", "--a", runs[0], "--b", runs[1], *model, "--max-calls", "3"]) == 0
    err = said(capsys)[1]
    assert "unscored, 1 of 6 pairs: 4 of 4 rounds have no answer: the budget of 3 calls is used up" in err
    assert main(["judge", "--a", runs[0], "--b", runs[1], *model, "--dry-run"]) == 0
    assert "of which 5 need a call" in said(capsys)[0]


def test_a_dry_run_asks_nobody_and_needs_no_key(
    runs: tuple[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    argv = ["judge", "--a", runs[0], "--b", runs[1], "--judge-model", "m", "--cache", str(tmp_path / "cache")]
    assert main([*argv, "--dry-run"]) == 0
    assert "8 questions about the others, of which 8 need a call" in said(capsys)[0]


def test_one_is_not_said_like_many(model: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    a = write_run(tmp_path / "a", [{"prompt": "p", "colour": GREEN}])
    b = write_run(tmp_path / "b", [{"prompt": "p", "colour": GREEN}, {"prompt": "q", "colour": RED}])
    assert main(["judge", "--a", str(a), "--b", str(b), *model]) == 0
    out = said(capsys)[0]
    assert "(step 4, 1 page, 1 can be judged)" in out
    assert "(step 4, 2 pages, 2 can be judged)" in out
    assert "A and B: 1 page has no counterpart" in out


def test_several_sides_are_ranked(model: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    root = tmp_path / "run"
    for step, colour in ((0, RED), (4, BLUE), (8, GREEN)):
        write_run(root, [{"prompt": f"p{i}", "colour": colour} for i in range(5)], step=step)
    names = [f"{root}@0", f"{root}@4", str(root)]
    assert main(["judge", "--runs", *names, *model, "--output", str(tmp_path / "o.json")]) == 0
    out = said(capsys)[0].splitlines()
    places = [line.split()[:2] for line in out if (line[:1].isdigit() and "@" in line) or line.startswith("1 ")]
    assert places == [["1", "C"], ["2", "B"], ["3", "A"]]
    ranking = json.loads((tmp_path / "o.json").read_text())["ranking"]
    assert [one["side"] for one in ranking] == names[::-1]
    assert [one["rate"] for one in ranking] == [1.0, 0.5, 0.0]


def test_folders_are_compared_by_file_name(
    server: JudgeServer, model: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for folder, names, colour in (("a", "xyz", GREEN), ("b", "xyw", RED)):
        (tmp_path / folder).mkdir()
        for name in names:
            Image.new("RGB", (8, 8), colour).save(tmp_path / folder / f"{name}.png")
    (tmp_path / "b" / "y.png").write_bytes(b"broken")
    prompts = [{"name": "x", "prompt": "a clock"}, {"name": "v", "prompt": "a list"}]
    (tmp_path / "a" / "prompts.jsonl").write_text("\n".join(map(json.dumps, prompts)) + "\n")
    (tmp_path / "b" / "prompts.jsonl").write_text(json.dumps(prompts[1]) + "\n\n")
    sides = ["--a", str(tmp_path / "a"), "--b", str(tmp_path / "b")]
    assert main(["judge", *sides, *model, "--output", str(tmp_path / "o.json")]) == 0
    [match] = json.loads((tmp_path / "o.json").read_text())["matches"]
    found = {pair["name"]: (pair["score"], pair["prompt"]) for pair in match["pairs"]}
    assert found == {"v": (0.5, "a list"), "x": (1.0, "a clock"), "y": (1.0, "")}
    assert match["left_out"] == 2
    out = said(capsys)[0]
    assert "2 pages have no counterpart" in out
    assert f"   loses: the screenshot {tmp_path / 'b' / 'y.png'} is no readable PNG\n" in out
    assert f"   loses: there is no {tmp_path / 'a' / 'v.png'}\n" in out
    assert server.calls == 4


def test_samples_of_one_prompt_are_paired_in_their_order(model: list[str], tmp_path: Path) -> None:
    a = write_run(tmp_path / "a", [{"prompt": "p", "colour": c} for c in (GREEN, RED)])
    b = write_run(tmp_path / "b", [{"prompt": "p", "colour": c} for c in (RED, GREEN, BLUE)])
    assert main(["judge", "--a", str(a), "--b", str(b), *model, "--output", str(tmp_path / "o.json")]) == 0
    [match] = json.loads((tmp_path / "o.json").read_text())["matches"]
    assert [(pair["sample"], pair["score"]) for pair in match["pairs"]] == [(0, 1.0), (1, 0.0)]
    assert (match["left_out"], match["prompts"]) == (1, 1)


def test_a_lost_picture_or_an_unscored_rollout_is_no_defeat(
    server: JudgeServer, model: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    a = write_run(tmp_path / "a", [{"prompt": f"p{i}", "colour": GREEN} for i in range(3)])
    rows = [{"prompt": "p0", "colour": RED}, {"prompt": "p1", "status": None, "reason": "the sandbox was down"}]
    b = write_run(tmp_path / "b", [*rows, {"prompt": "p2", "status": "ok"}])
    (b / "screenshots" / "4-0.png").unlink()
    assert main(["judge", "--a", str(a), "--b", str(b), *model]) == 1
    out, err = said(capsys)
    [line] = [line for line in out.splitlines() if line.startswith("A against B")]
    assert line.split()[3:8] == ["0", "0", "0", "3", "–"]
    assert "the sandbox was down" in err
    assert "no screenshot was kept" in err
    assert "4-0.png" in err
    assert server.calls == 0


def test_a_server_that_refuses_is_exit_code_1(
    server: JudgeServer, model: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    server.answers = lambda body: Response('{"error": {"message": "no such key"}}', status=401)
    a = write_run(tmp_path / "a", [{"prompt": f"p{i}", "colour": GREEN} for i in range(30)])
    b = write_run(tmp_path / "b", [{"prompt": f"p{i}", "colour": RED} for i in range(30)])
    assert main(["judge", "--a", str(a), "--b", str(b), *model, "--concurrency", "2"]) == 1
    assert "unscored, 30 of 30 pairs: 4 of 4 rounds have no answer: the server answers 401" in said(capsys)[1]
    assert server.calls <= 4


@pytest.mark.parametrize(
    ("colour", "answers", "says"),
    [
        (RED, lambda body: Response("no", status=401), "nothing was answered"),
        (GREEN, honest, "no pair was asked about"),
        (RED, honest, "of 2 times that the order was swapped"),
    ],
)
def test_the_page_says_why_nobody_knows_whether_the_order_decides(
    colour: Any, answers: Any, says: str, server: JudgeServer, model: list[str], tmp_path: Path
) -> None:
    server.answers = answers
    a = write_run(tmp_path / "a", [{"prompt": "p", "colour": GREEN}])
    b = write_run(tmp_path / "b", [{"prompt": "p", "colour": colour}])
    page = tmp_path / "wins.html"
    assert main(["judge", "--a", str(a), "--b", str(b), *model, "--html", str(page)]) == (
        says == "nothing was answered"
    )
    assert f"<span>{says}</span>" in page.read_text()


@pytest.mark.browser
def test_the_page_judge_needs_no_model(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    good = "export default () => <main style={{padding: 40}}><h1>Clock</h1><button>Start the clock</button></main>"
    poor = good.replace("padding: 40", "padding: 40, color: '#eee'")
    checks = [{"check": json.dumps({"check": "role", "role": "button", "name": "Start"}), "met": True, "reason": ""}]
    rows = [{"prompt": p, "colour": c, "code": good, "requirements": checks} for p, c in (("p", GREEN), ("q", GREEN))]
    a = write_run(tmp_path / "a", rows)
    b = write_run(tmp_path / "b", [{**rows[0], "code": poor, "colour": RED}, {**rows[1], "colour": BLUE}])
    sides = ["--a", str(a), "--b", str(b)]
    assert main(["judge", *sides, "--judge", "page", "--output", str(tmp_path / "o.json")]) == 0
    found = json.loads((tmp_path / "o.json").read_text())
    [match] = found["matches"]
    assert [(pair["score"], pair["rounds"]) for pair in match["pairs"]] == [(1.0, []), (0.5, [])]
    assert found["judge"] == "page"
    assert "2 of 4 pages scored" in said(capsys)[1]


def mistakes(tmp_path: Path) -> list[tuple[list[str], str]]:
    write_run(tmp_path / "a", [{"prompt": "p", "colour": GREEN}])
    write_run(tmp_path / "b", [{"prompt": "p", "colour": RED}])
    write_run(tmp_path / "other", [{"prompt": "q", "colour": RED}])
    write_run(tmp_path / "aime", [{"prompt": "p", "status": None}])
    for name in ("empty", "shots", "more", "train/rollouts", "broken/rollouts"):
        (tmp_path / name).mkdir(parents=True)
    for folder, prompt in (("shots", "a clock"), ("more", "a list")):
        Image.new("RGB", (8, 8)).save(tmp_path / folder / "x.png")
        (tmp_path / folder / "prompts.jsonl").write_text(json.dumps({"name": "x", "prompt": prompt}))
    (tmp_path / "broken" / "rollouts" / "eval-00001.parquet").write_bytes(b"PAR1")
    (tmp_path / "bad").mkdir()
    (tmp_path / "bad" / "prompts.jsonl").write_text('{"name": "x"}')
    m, ab = ["--judge-model", "m", "--base-url", "http://127.0.0.1:9/v1"], ["--a", "a", "--b", "b"]
    return [
        (ab, "say who judges"),
        ([*ab, *m, "--judge", "page"], "say who judges"),
        (["--a", "a", *m], "--a and --b come together"),
        (m, "say what to compare"),
        (["--runs", "a", *m], "say what to compare"),
        (["--runs", "a", "a", *m], "named twice"),
        (["--runs", *(f"a@{i}" for i in range(27)), *m], "at most 26"),
        (["--a", "a", "--b", "nowhere", *m], "no directory 'nowhere'"),
        (["--a", "a", "--b", "empty", *m], "neither a run nor a folder"),
        (["--a", "a", "--b", "train", *m], "no held-out rollouts"),
        (["--a", "a", "--b", "broken", *m], "eval-00001.parquet cannot be read"),
        (["--a", "a", "--b", "aime", *m], "no rendered pages"),
        (["--a", "a", "--b", "other", *m], "no prompt in common"),
        (["--a", "a", "--b", "shots", *m], "a run and a folder"),
        (["--a", "shots", "--b", "more", *m], "different prompts"),
        (["--a", "shots", "--b", "bad", *m], "prompts.jsonl, line 1"),
        (["--a", "shots", "--b", "shots@3", *m], "has no steps"),
        (["--a", "shots", "--b", "empty/../shots", "--judge", "page"], "renders a run's components"),
        ([*ab, *m, "--step", "3"], "no evaluation at step 3; there are: 4"),
        (["--a", "a@7", "--b", "b", *m], "no evaluation at step 7"),
        ([*ab, *m, "--html", "page.txt"], "must end in .html"),
        ([*ab, *m, "--html", "no/such/page.html"], "cannot write no/such/page.html: there is no folder"),
        ([*ab, *m, "--output", "empty"], "cannot write empty: it is a folder"),
        ([*ab, *m, "--concurrency", "0"], "--concurrency is a whole number from 1, not 0"),
        ([*ab, *m, "--timeout", "0"], "--timeout is above 0, not 0.0"),
        ([*ab, *m, "--max-calls", "-1"], "--max-calls is a whole number from 0, or none, not -1"),
        ([*ab, *m, "--max-tokens", "-1"], "--max-tokens is"),
        ([*ab, *m, "--retries", "-1"], "--retries is"),
        ([*ab, *m, "--request", "{"], "--request is no JSON"),
        ([*ab, *m, "--request", "[]"], "--request is a mapping of further fields of the body, and not of model"),
        ([*ab, *m, "--detail", "huge"], "--detail is low, high or auto"),
        ([*ab, *m, "--prices", "1", "-1"], "--prices are"),
        ([*ab, *m, "--seed", "-1"], "--seed"),
        ([*ab, "--judge-model", "m", "--base-url", "localhost:8000"], "--base-url begins with http://"),
        ([*ab, "--judge-model", "m"], "set OPENAI_API_KEY, or --base-url for"),
        ([*ab, "--judge-model", " "], "--judge-model is the name of a model"),
        ([*ab, "--judge", "page", "--dry-run"], "makes no calls"),
        ([*ab, "--judge", "vibes"], "invalid choice"),
        ([*ab, *m, "--cache", "a/config.txt/x"], "cannot be written"),
    ]


def test_a_mistake_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "home"))
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    cases = mistakes(tmp_path)
    (tmp_path / "a" / "config.txt").touch()
    for argv, words in cases:
        assert main(["judge", *argv]) == 2, argv
        out, line = (text.strip() for text in said(capsys))
        assert words in line, argv
        assert not out, argv
        assert line.startswith("bot-grpo judge: ")
        assert "\n" not in line


def test_help_shows_an_example(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["judge", "--help"])
    assert "bot-grpo judge --a runs/bot --b runs/grpo --judge-model" in said(capsys)[0]
    assert main(["--help"]) == 0
    assert "judge" in said(capsys)[0]
