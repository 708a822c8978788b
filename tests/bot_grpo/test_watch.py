"""`bot-grpo watch`: what it shows, of runs that go on, have ended, or have not begun; and in a real terminal."""

from __future__ import annotations

import json
import os
import pty
import re
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from fake_run import write_fake_run
from rich.console import Console

from bot_grpo.cli import main
from bot_grpo.rundir import hold
from bot_grpo.watch import plain, screen, sparkline, take


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return write_fake_run(tmp_path / "some-run", steps=6, hostile=True)


def _shown(path: Path, width: int = 100) -> str:
    console = Console(width=width, record=True, file=open(os.devnull, "w"))  # noqa: SIM115
    console.print(screen(take(path), width=width))
    return console.export_text()


def test_the_screen_has_steps_curves_alarms_and_completions(run: Path) -> None:
    text = _shown(run)
    assert "some-run  step 6/6  ·  done  ·  bot_grpo  ·  react" in text
    assert "Held-out prompts: compiles" in text
    assert "alarm at step" in text
    assert text.count("─ step 6  ·  ") == 4


@pytest.mark.parametrize("width", [20, 40, 60, 80, 130, 240])
def test_no_line_is_wider_than_the_terminal_and_no_figure_is_cut(run: Path, width: int) -> None:
    text = _shown(run, width)
    assert max(map(len, text.splitlines())) <= width
    table = text[: text.index("alarm")].splitlines()[2:]
    rows = [line.split() for line in table if line.strip() and "─" not in line and "last" not in line]
    assert rows
    assert not any("…" in cell for row in rows for cell in row[-2:] if any(map(str.isdigit, cell)))
    assert all(re.fullmatch(r"%|-?[\d.]+(e-\d+)?", row[-1]) for row in rows), rows


def test_a_killed_run_is_not_taken_for_one_that_goes_on(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (run / "summary.json").unlink()
    with hold(run):
        other = "import pathlib, sys; from bot_grpo.rundir import is_held; print(is_held(pathlib.Path(sys.argv[1])))"
        said = subprocess.run([sys.executable, "-c", other, str(run)], capture_output=True, text=True, check=True)
        assert said.stdout == "True\n"
    assert "no process is at work on it" in _shown(run)
    assert main(["watch", str(run)]) == 0
    assert "--resume auto" in capsys.readouterr().out
    (run / ".lock").unlink()
    assert not take(run).deserted, "of a run from before there were locks it is not known"


def test_the_time_left_is_said_while_a_run_goes_on(run: Path) -> None:
    (run / "summary.json").unlink()
    config = json.loads((run / "config.yaml").read_text())
    (run / "config.yaml").write_text(json.dumps({**config, "max_steps": 66}))
    text = _shown(run)
    assert "step 6/66" in text
    assert "min" in text.split("left")[0]


def test_what_a_model_wrote_cannot_steer_the_terminal() -> None:
    assert plain("a\x1b[2Jb\x07\u202ec\td") == "a\ufffd[2Jb\ufffd\ufffdc   d"
    assert plain("line\nline") == "line\nline"


def test_heights_of_a_sparkline() -> None:
    assert sparkline([0.0, 0.5, 1.0], share=True) == "▁▅█"
    assert sparkline([3.0, 7.0]) == "▁█"
    assert sparkline([2.0, 2.0]) == "▅▅"
    assert len(sparkline(list(range(100)), width=10)) == 10


def test_no_run_is_bad_input(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["watch", str(tmp_path / "nothing"), "--once"]) == 2
    assert "is not a directory" in capsys.readouterr().err
    assert main(["watch", str(tmp_path), "--every", "0"]) == 2


def test_a_run_is_followed_from_before_its_first_step_to_its_end(tmp_path: Path) -> None:
    (tmp_path / "config.yaml").write_text("algorithm: grpo\nmax_steps: 2\n")
    words = [sys.executable, "-m", "bot_grpo", "watch", str(tmp_path), "--every", "0.05"]
    child = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None
    assert "has logged nothing yet; waiting" in child.stdout.readline()
    for step in (1, 2):
        with (tmp_path / "metrics.jsonl").open("a") as file:
            file.write(json.dumps({"step": step, "reward": step / 4}) + "\n")
        assert child.stdout.readline() == f"step {step}  reward {step / 4:.4g}\n"
    (tmp_path / "summary.json").write_text('{"finished": true}')
    assert child.wait(timeout=30) == 0


def test_in_a_real_terminal_it_draws_until_the_run_has_ended(run: Path) -> None:
    summary = (run / "summary.json").read_text()
    (run / "summary.json").unlink()
    threading.Timer(3.0, lambda: (run / "summary.json").write_text(summary)).start()
    ours, theirs = pty.openpty()
    environment = {**os.environ, "TERM": "xterm-256color", "COLUMNS": "100", "LINES": "40"}
    words = [sys.executable, "-m", "bot_grpo", "watch", str(run), "--every", "0.1"]
    child = subprocess.Popen(words, stdout=theirs, stderr=theirs, env=environment)
    os.close(theirs)
    drawn = b""
    try:
        while piece := os.read(ours, 65_536):
            drawn += piece
    except OSError:  # the other end has closed
        os.close(ours)
    assert child.wait(timeout=10) == 0
    text = drawn.decode()
    assert "Held-out prompts: compiles" in text
    assert "done" in text
    assert f"bot-grpo report {run}" in text.replace("\r\n", "")
