"""`bot-grpo report --serve`: the page of a run that goes on, over real HTTP and in a real browser."""

from __future__ import annotations

import json
import re
import shutil
import signal
import subprocess
import sys
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
from fake_run import write_fake_run
from playwright.sync_api import Browser, expect

from bot_grpo.cli import main
from bot_grpo.report import live_page
from bot_grpo.report_serve import ReportServer


@pytest.fixture
def whole(tmp_path: Path) -> Path:
    return write_fake_run(tmp_path / "whole", steps=6, eval_every=3)


@pytest.fixture
def run(whole: Path, tmp_path: Path) -> Path:
    """The run as it was after three of its six steps."""
    run = tmp_path / "run"
    shutil.copytree(whole, run)
    (run / "summary.json").unlink()
    rows = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    (run / "metrics.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows if row["step"] <= 3))
    for file in (run / "rollouts").iterdir():
        if int(file.stem[-5:]) > 3:
            file.unlink()
    return run


@pytest.fixture
def server(run: Path) -> Iterator[ReportServer]:
    with ReportServer(run, lambda now: live_page(run, now)) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.shutdown()


def _get(url: str) -> tuple[int, bytes]:
    try:
        with urllib.request.urlopen(url, timeout=60) as answer:
            return answer.status, answer.read()
    except urllib.error.HTTPError as error:
        return error.code, error.read()


def _go_on(run: Path, whole: Path) -> None:
    for file in (whole / "rollouts").iterdir():
        shutil.copy(file, run / "rollouts" / file.name)
    shutil.copy(whole / "metrics.jsonl", run / "metrics.jsonl")


def test_the_page_is_made_anew_when_the_run_has_gone_on(server: ReportServer, run: Path, whole: Path) -> None:
    before, stamp = _get(server.url), _get(server.url + "stamp")
    assert before[0] == 200
    assert stamp[1].decode() in before[1].decode()
    assert _get(server.url)[1] == before[1]
    _go_on(run, whole)
    assert _get(server.url + "stamp")[1] != stamp[1]
    assert _get(server.url)[1] != before[1]


def test_nothing_else_is_served(server: ReportServer) -> None:
    assert _get(server.url + "metrics.jsonl")[0] == 404
    assert _get(server.url + "../../etc/passwd")[0] == 404


def test_a_run_that_was_taken_away_is_said(server: ReportServer, run: Path) -> None:
    shutil.rmtree(run)
    status, text = _get(server.url)
    assert status == 503
    assert b"is not a directory" in text


def test_a_report_on_disk_asks_for_nothing(run: Path, whole: Path) -> None:
    assert b"connect-src" in live_page(run, "1-1")
    assert main(["report", str(whole)]) == 0
    assert b"connect-src" not in (whole / "report.html").read_bytes()


def test_bad_input_is_one_line(
    whole: Path, server: ReportServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    port = str(server.server_address[1])
    for words, says in [
        ([str(whole), "--serve", "--port", port], "another --port"),
        ([str(whole), "--serve", "--port", "70000"], "another --port"),
        ([str(whole), "--serve", "--output", "x.html"], "choose one"),
        ([str(tmp_path / "nothing"), "--serve"], "is not a directory"),
    ]:
        assert main(["report", *words]) == 2
        error = capsys.readouterr().err
        assert says in error
        assert error.count("\n") == 1


def test_the_command_serves_until_ctrl_c(whole: Path) -> None:
    words = [sys.executable, "-m", "bot_grpo", "report", str(whole), "--serve"]
    child = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None
    said = child.stdout.readline()
    address = re.search(r"http://127\.0\.0\.1:\d+/", said)
    assert address is not None, said
    assert _get(address[0])[0] == 200
    child.send_signal(signal.SIGINT)
    assert "no longer served" in child.communicate(timeout=30)[0]
    assert child.returncode == 0


@pytest.mark.browser
def test_the_page_follows_the_run_and_keeps_the_readers_place(
    browser: Browser, server: ReportServer, run: Path, whole: Path
) -> None:
    page = browser.new_context(viewport={"width": 1280, "height": 800}).new_page()
    page.set_default_timeout(60_000)
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.on("console", lambda message: errors.append(message.text))
    page.goto(server.url)
    page.wait_for_selector("html[data-ready]")
    assert page.locator("#step-name").inner_text() == "3"
    page.locator("#step").fill("2")
    page.locator("#kind").select_option("train")
    page.locator(".tile").nth(4).click()
    page.keyboard.press("3")
    title = page.locator("#reader-title").inner_text()
    text = page.locator("#reading .code").first.inner_text()
    _go_on(run, whole)
    expect(page.locator("#step")).to_have_attribute("max", "7", timeout=60_000)  # steps 0 to 6
    page.wait_for_selector("html[data-ready]")
    assert page.locator("#reader-title").inner_text() == title
    assert page.locator("#reading .code").first.inner_text() == text
    assert page.locator("#kind").input_value() == "train"
    assert page.locator("#modes input[value=advantage]").is_checked()
    server.shutdown()
    server.server_close()
    expect(page.locator("#live-word")).to_contain_text("The server has stopped", timeout=60_000)
    page.context.close()
    assert [error for error in errors if "ERR_CONNECTION_REFUSED" not in error] == []
