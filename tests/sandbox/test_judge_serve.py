"""The judges against `transformers serve`, an OpenAI-compatible server of the ecosystem, with a real picture."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from judge_server import picture
from PIL import Image
from tiny_vlm import save_tiny_vlm

from sandbox.judge import CodeTask, Judge, JudgeSettings, PairTask, ScreenshotTask
from sandbox.judge_prompts import code_messages, prefer_messages, screenshot_messages

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, str, Any, Path]]:
    """Address, the model's name, its processor and the server's log."""
    folder = tmp_path_factory.mktemp("vlm")
    processor = save_tiny_vlm(folder / "tiny")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [str(Path(sys.executable).with_name("transformers")), "serve", str(folder / "tiny")]
    where = ["--host", "127.0.0.1", "--port", str(port), "--device", "cpu"]
    log = folder / "log"
    with log.open("w") as out:
        offline = {**os.environ, "HF_HUB_OFFLINE": "1"}
        server = subprocess.Popen([*command, *where], stdout=out, stderr=subprocess.STDOUT, env=offline)
    try:
        _wait(f"http://127.0.0.1:{port}/health", server, log)
        yield f"http://127.0.0.1:{port}/v1", str(folder / "tiny"), processor, log
    finally:
        server.kill()
        server.wait()


def _wait(url: str, server: subprocess.Popen[bytes], log: Path) -> None:
    for _ in range(270):
        assert server.poll() is None, log.read_text()
        try:
            with urllib.request.urlopen(url, timeout=2):
                return
        except OSError:
            time.sleep(1)
    raise AssertionError(log.read_text())


def tokens(processor: Any, messages: list[dict[str, Any]], pictures: list[Path]) -> int:
    """How many tokens the model reads, counted here."""
    [message] = messages
    parts = (
        message["content"] if isinstance(message["content"], list) else [{"type": "text", "text": message["content"]}]
    )
    said = [{"type": "image"} if part["type"] == "image_url" else part for part in parts]
    text = processor.apply_chat_template([{"role": "user", "content": said}], add_generation_prompt=True)
    read = processor(text=text, images=[Image.open(path) for path in pictures] or None)
    return len(read["input_ids"][0])


def test_a_real_server_takes_text_and_pictures(served: tuple[str, str, Any, Path], tmp_path: Path) -> None:
    url, model, processor, log = served
    judge = Judge(JudgeSettings(model, base_url=url, retries=0, answer_tokens=8, timeout_s=120, concurrency=1))
    a, b = picture(tmp_path / "a.png", "red"), picture(tmp_path / "b.png", "blue")

    [of_code] = judge.judge_code([CodeTask("A counter", "const x = <p/>;")])
    expected = tokens(processor, code_messages("A counter", "const x = <p/>;"), [])
    assert judge.usage.prompt_tokens == expected

    [of_picture] = judge.judge_screenshots([ScreenshotTask("A counter", a)])
    expected += tokens(processor, screenshot_messages("A counter", "", "auto"), [a])
    assert judge.usage.prompt_tokens == expected

    [of_two] = judge.prefer([PairTask("A counter", a, b)])
    expected += tokens(processor, prefer_messages("A counter", "", "", "auto"), [a, b])
    assert judge.usage.prompt_tokens == expected
    text_alone = tokens(processor, [{"role": "user", "content": "x"}], [])
    assert tokens(processor, [{"role": "user", "content": [{"type": "image_url"}]}], [a]) - text_alone + 1 == 4

    # The model's weights are random, and so is what it says: no verdict, with a reason, and the tokens counted.
    assert (of_code.score, of_picture.score, of_two.winner) == (None, None, None)
    assert all(one.reason and one.tokens > 1000 for one in (of_code, of_picture, of_two))
    assert log.read_text().count('"POST /v1/chat/completions HTTP/1.1" 200') == judge.usage.answers == 3


def test_a_model_that_the_server_does_not_have_is_said(served: tuple[str, str, Any, Path]) -> None:
    url, _, _, _ = served
    judge = Judge(JudgeSettings("no/such-model", base_url=url, retries=0, timeout_s=120))
    [verdict] = judge.judge_code([CodeTask("p", "x")])
    assert verdict.score is None
    assert "the server answers 400: Server is pinned" in verdict.reason
