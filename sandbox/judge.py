"""Model judges of a component: its code, its screenshot, or two screenshots against each other.

`Judge` asks any OpenAI-compatible server (vLLM, a hosted model). The protocol is BoT-GRPO's (section 3, appendix D). A
verdict that could not be had is data: its score is None and its reason says why. Only bad settings raise.
"""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Awaitable, Callable, Coroutine, Hashable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from PIL import Image

from sandbox.judge_cache import AnswerCache
from sandbox.judge_calls import Caller, Reply, Usage
from sandbox.judge_prompts import (
    Message,
    code_messages,
    lines_messages,
    prefer_messages,
    screenshot_messages,
)
from sandbox.judge_replies import NOT_REACT, LineMark, Winner, read_lines, read_score, read_winner, said
from sandbox.judge_settings import JudgeSettings

if TYPE_CHECKING:
    import openai

__all__ = [
    "CodeTask",
    "Judge",
    "JudgeSettings",
    "LineMark",
    "PairTask",
    "Preference",
    "ScreenshotTask",
    "Usage",
    "Verdict",
]

T = TypeVar("T", bound=Hashable)
R = TypeVar("R")
_OnDone = Callable[[int, R], None] | None

_SCORE_LINE = "SCORE: number"
_WINNER_LINE = "WINNER: letter"


@dataclass(frozen=True)
class CodeTask:
    """A component's code, extracted and without fences, and the request it was written for ("" if it isn't known)."""

    prompt: str
    code: str


@dataclass(frozen=True)
class ScreenshotTask:
    """A screenshot (PNG). The code is shown only where lines of it are asked for (`JudgeSettings.lines`)."""

    prompt: str
    screenshot: Path
    code: str = ""


@dataclass(frozen=True)
class PairTask:
    """Two screenshots (PNG), `a` shown first. Another `round` is asked with another seed, so it is another answer."""

    prompt: str
    a: Path
    b: Path
    round: int = 0


@dataclass(frozen=True)
class Verdict:
    """A judge's score.

    `score` is in [0, 10]; None where it could not be had, and `reason` says why. `not_react` (the code judge alone):
    the code is no React component; the score is 0 then. `lines` are at most three, of the extracted code. `reason` of
    a score is what the judge said. `tokens` are those of all its answers; `cached`: all of them were known before.
    """

    score: float | None
    lines: tuple[LineMark, ...] = ()
    not_react: bool = False
    reason: str = ""
    tokens: int = 0
    cached: bool = False


@dataclass(frozen=True)
class Preference:
    """The better of two pages: "A" (shown first) or "B"; None where no answer could be had, and `reason` says why."""

    winner: Winner | None
    reason: str = ""
    tokens: int = 0
    cached: bool = False


class Judge:
    """Asks a model for verdicts; results are in the order of the tasks, and equal tasks are asked once.

    Each answer is kept as it arrives (`JudgeSettings.cache`), so a Ctrl-C loses none that was paid for. `usage` counts
    over all batches; there is one batch at a time. Raises ValueError when there is no key for a hosted model, or the
    cache cannot be written.
    """

    def __init__(self, settings: JudgeSettings) -> None:
        self.settings = settings
        settings.key()
        try:
            cache = AnswerCache(settings.cache)
        except OSError as error:
            raise ValueError(f"judge: cache {settings.cache} cannot be written: {error.strerror or error}") from error
        self._caller = Caller(settings, cache)

    @property
    def usage(self) -> Usage:
        return self._caller.usage

    def judge_code(self, tasks: Sequence[CodeTask], *, on_done: _OnDone[Verdict] = None) -> list[Verdict]:
        """Scores and lines from request and code. `on_done(index, verdict)` is called as each arrives."""
        return self._run(tasks, self._code, on_done)

    def judge_screenshots(self, tasks: Sequence[ScreenshotTask], *, on_done: _OnDone[Verdict] = None) -> list[Verdict]:
        """Scores from request and screenshot, and lines where `JudgeSettings.lines` asks for them."""
        return self._run(tasks, self._screenshot, on_done)

    def prefer(self, tasks: Sequence[PairTask], *, on_done: _OnDone[Preference] = None) -> list[Preference]:
        """The better of each pair, one question a task. Judge both orders: a judge's taste for a place is strong."""
        return self._run(tasks, self._prefer, on_done)

    def calls_needed(self, tasks: Sequence[PairTask]) -> int:
        """How many of these questions the cache has no answer to."""
        needed = 0
        for task in set(tasks):
            messages = self._pair_messages(task)
            needed += not isinstance(messages, str) and not self._caller.known(messages, self._seed(task))
        return needed

    def _seed(self, task: PairTask) -> int:
        return self.settings.seed + task.round

    async def _code(self, client: openai.AsyncOpenAI, task: CodeTask) -> Verdict:
        if not task.code.strip():
            return Verdict(None, reason="there is no code to judge")
        messages = code_messages(task.prompt, task.code)
        reply = await self._caller.ask(client, messages, read_score, wanted=_SCORE_LINE, seed=self.settings.seed)
        if reply.value == NOT_REACT:
            return Verdict(0.0, (), True, _why(reply), reply.tokens, reply.cached)
        return _verdict(reply, task.code)

    async def _screenshot(self, client: openai.AsyncOpenAI, task: ScreenshotTask) -> Verdict:
        url, problem = png_url(task.screenshot)
        if problem:
            return Verdict(None, reason=problem)
        lines = self.settings.lines if task.code.strip() else "off"
        shown = task.code if lines == "one_turn" else None
        messages = screenshot_messages(task.prompt, url, self.settings.detail, shown)
        seed = self.settings.seed
        reply = await self._caller.ask(client, messages, read_score, wanted=_SCORE_LINE, seed=seed)
        verdict = _verdict(reply, shown)
        if lines != "two_turn" or verdict.score is None:
            return verdict
        second = lines_messages(messages, reply.text, task.code)
        # Any answer will do: what isn't a well-formed entry is no penalty, and the score stands whatever is said.
        named = await self._caller.ask(
            client, second, lambda text: said(text).strip() or None, wanted="LINE", seed=seed
        )
        marks = read_lines(named.value or "", task.code)
        why = verdict.reason if named.value is not None else f"{verdict.reason} (no lines: {named.reason})"
        tokens, cached = reply.tokens + named.tokens, reply.cached and named.cached
        return Verdict(verdict.score, marks, False, why, tokens, cached)

    async def _prefer(self, client: openai.AsyncOpenAI, task: PairTask) -> Preference:
        messages = self._pair_messages(task)
        if isinstance(messages, str):
            return Preference(None, messages)
        seed = self._seed(task)
        reply: Reply[Winner] = await self._caller.ask(client, messages, read_winner, wanted=_WINNER_LINE, seed=seed)
        return Preference(reply.value, _why(reply), reply.tokens, reply.cached)

    def _pair_messages(self, task: PairTask) -> list[Message] | str:
        """The question, or why it cannot be asked."""
        (a_url, a_problem), (b_url, b_problem) = png_url(task.a), png_url(task.b)
        return a_problem or b_problem or prefer_messages(task.prompt, a_url, b_url, self.settings.detail)

    def _run(
        self,
        tasks: Sequence[T],
        judge: Callable[[openai.AsyncOpenAI, T], Awaitable[R]],
        on_done: _OnDone[R],
    ) -> list[R]:
        indices: dict[T, list[int]] = {}
        for index, task in enumerate(tasks):
            indices.setdefault(task, []).append(index)
        results: dict[int, R] = {}

        async def one(client: openai.AsyncOpenAI, slots: asyncio.Semaphore, task: T) -> None:
            # The slot is held through the waits between tries (a server that says 429 should not get other requests
            # instead), and no more images are in memory than there are slots.
            async with slots:
                result = await judge(client, task)
            for index in indices[task]:
                results[index] = result
                if on_done is not None:
                    on_done(index, result)

        import openai  # here, for it takes half a second, and most runs ask no judge

        async def all_of_them() -> None:
            self._caller.begin()
            s = self.settings
            slots = asyncio.Semaphore(s.concurrency)
            client = openai.AsyncOpenAI(base_url=s.address(), api_key=s.key(), timeout=s.timeout_s, max_retries=0)
            async with client:
                await asyncio.gather(*(one(client, slots, task) for task in indices))

        if indices:
            _complete(all_of_them())
        return [results[index] for index in range(len(tasks))]


def _complete(work: Coroutine[Any, Any, None]) -> None:
    """Run it to its end; in a thread of its own where this one is already in an event loop (a notebook)."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        asyncio.run(work)
        return
    stop: list[Callable[[], object]] = []

    async def stoppable() -> None:
        loop, task = asyncio.get_running_loop(), asyncio.current_task()
        assert task is not None
        stop.append(lambda: loop.call_soon_threadsafe(task.cancel))
        await work

    with ThreadPoolExecutor(1) as thread:
        done = thread.submit(asyncio.run, stoppable())
        try:
            done.result()
        except BaseException:  # Ctrl-C comes to this thread alone
            if stop and not done.done():
                stop[0]()
            raise


def _verdict(reply: Reply[float], code: str | None) -> Verdict:
    if reply.value is None:
        return Verdict(None, reason=reply.reason, tokens=reply.tokens, cached=reply.cached)
    marks = read_lines(reply.text, code) if code is not None else ()
    return Verdict(min(max(reply.value, 0.0), 10.0), marks, False, _why(reply), reply.tokens, reply.cached)


def _why(reply: Reply[Any]) -> str:
    """What the judge said before the lines that are read; or why there is no answer."""
    if reply.value is None:
        return reply.reason
    spoken = [
        line
        for line in said(reply.text).removeprefix("</think>").split("\n")
        if not line.lstrip(" \t*").startswith(_READ)
    ]
    return " ".join(" ".join(spoken).split())[:500]


_READ = ("SCORE:", "WINNER:", "LINE ")


def png_url(path: Path) -> tuple[str, str]:
    """The picture as a data URL, and why there is none: ("data:image/png;base64,...", "") or ("", reason)."""
    try:
        content = path.read_bytes()
    except OSError as error:
        return "", f"the screenshot {path} cannot be read: {error.strerror or error}"
    try:
        with Image.open(BytesIO(content), formats=["PNG"]) as picture:
            picture.verify()
    except (OSError, SyntaxError, ValueError, Image.DecompressionBombError):  # SyntaxError: Pillow, a broken PNG
        return "", f"the screenshot {path} is no readable PNG"
    return "data:image/png;base64," + base64.b64encode(content).decode("ascii"), ""
