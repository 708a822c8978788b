"""A real HTTP server that speaks the chat-completions protocol; what it answers is up to the test."""

from __future__ import annotations

import base64
import io
import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from PIL import Image
from pytest_httpserver import HTTPServer
from werkzeug import Request, Response

from sandbox.judge import Judge, JudgeSettings

Body = dict[str, Any]
Answers = Callable[[Body], str | Response]


def completion(text: Any, *, finish: str = "stop", usage: Any = "counted", **message: Any) -> Response:
    """A chat completion as a server sends it."""
    if usage == "counted":
        usage = {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110}
    body = {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1,
        "model": "m",
        "choices": [
            {"index": 0, "finish_reason": finish, "message": {"role": "assistant", "content": text, **message}}
        ],
        "usage": usage,
    }
    return Response(json.dumps(body), content_type="application/json")


class JudgeServer:
    """Answers each request by `answers(body)`; keeps the bodies, and the most requests that were under way at once."""

    def __init__(self, http: HTTPServer) -> None:
        self.bodies: list[Body] = []
        self.headers: list[dict[str, str]] = []
        self.at_once = 0
        self.answers: Answers = lambda body: "SCORE: 7"
        self.url = http.url_for("/v1")
        self._now = 0
        self._lock = threading.Lock()
        http.expect_request("/v1/chat/completions", method="POST").respond_with_handler(self._handle)

    def _handle(self, request: Request) -> Response:
        with self._lock:
            self._now += 1
            self.at_once = max(self.at_once, self._now)
            self.bodies.append(json.loads(request.get_data()))
            self.headers.append(dict(request.headers))
            body = self.bodies[-1]
        try:
            answer = self.answers(body)
        finally:
            with self._lock:
                self._now -= 1
        return completion(answer) if isinstance(answer, str) else answer

    @property
    def calls(self) -> int:
        return len(self.bodies)

    def judge(self, **settings: Any) -> Judge:
        return Judge(JudgeSettings(**{"model": "m", "base_url": self.url, "backoff_s": 0.0, **settings}))

    def script(self, *answers: str | Response | Exception) -> None:
        """These answers one after another, whatever is asked; the last one for ever."""
        left = list(answers)

        def answer(body: Body) -> str | Response:
            with self._lock:
                return left.pop(0) if len(left) > 1 else left[0]

        self.answers = answer


@contextmanager
def judge_server() -> Iterator[JudgeServer]:
    http = HTTPServer(threaded=True)
    http.start()
    try:
        yield JudgeServer(http)
    finally:
        http.stop()


def slowly(seconds: float, answer: str = "SCORE: 7") -> Answers:
    def wait(body: Body) -> str:
        time.sleep(seconds)
        return answer

    return wait


def texts(body: Body) -> str:
    """All text of a request."""
    found = []
    for message in body["messages"]:
        content = message["content"]
        found += [content] if isinstance(content, str) else [part.get("text", "") for part in content]
    return "\n".join(found)


def images(body: Body) -> list[Image.Image]:
    """The pictures of a request, opened."""
    found = []
    for message in body["messages"]:
        for part in message["content"] if isinstance(message["content"], list) else []:
            if part["type"] == "image_url":
                head, data = part["image_url"]["url"].split(",", 1)
                assert head == "data:image/png;base64"
                found.append(Image.open(io.BytesIO(base64.b64decode(data))))
    return found


def picture(path: Path, colour: tuple[int, int, int] | str = "white") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.new("RGB", (64, 40), colour).save(path)
    return path
