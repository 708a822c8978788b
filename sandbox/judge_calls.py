"""Requests to a model behind an OpenAI-compatible address: retries, a budget, a cache, and what all of it cost."""

from __future__ import annotations

import asyncio
import email.utils
import json
import random
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from sandbox.judge_cache import Answer, AnswerCache
from sandbox.judge_prompts import Message, again_messages, printable
from sandbox.judge_settings import JudgeSettings
from sandbox.words import counted

if TYPE_CHECKING:
    import openai

T = TypeVar("T")

_LONGEST_BACKOFF_S = 30.0
_LONGEST_WAIT_S = 120.0
_HOPELESS = {401: "the key is refused", 403: "the key may not do this", 404: "not found (does the address end in /v1?)"}
_PASSING = {408, 409, 425, 429}


@dataclass
class Usage:
    """What was asked so far. `calls` are requests sent, failed ones too; `cached` are answers that were known."""

    calls: int = 0
    answers: int = 0
    cached: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0

    @property
    def tokens(self) -> int:
        return self.prompt_tokens + self.completion_tokens

    def cost(self, prices: tuple[float, float]) -> float:
        """In the currency of `prices`, which are per million tokens sent and received."""
        return (self.prompt_tokens * prices[0] + self.completion_tokens * prices[1]) / 1e6


@dataclass(frozen=True)
class Reply(Generic[T]):
    """What was read from the answers to one question. `value` None: `reason` says why. `cached`: nothing was sent."""

    value: T | None
    text: str = ""
    reason: str = ""
    tokens: int = 0
    cached: bool = False


@dataclass(frozen=True)
class _Failure:
    reason: str
    again: bool
    wait_s: float = 0.0
    """What the server asks to wait."""
    silent: bool = False
    """There was no answer at all."""


class Caller:
    """Asks questions of one model. One batch at a time: `begin`, then any number of `ask`, side by side."""

    def __init__(self, settings: JudgeSettings, cache: AnswerCache) -> None:
        self.settings = settings
        self.usage = Usage()
        self._cache = cache
        self._hopeless = ""

    def begin(self) -> None:
        """A new batch: what was hopeless may have been put right."""
        self._hopeless = ""

    def known(self, messages: list[Message], seed: int) -> bool:
        """Whether the first answer to a question is in the cache."""
        return self._cache.get(self._cache.key(self._body(messages, seed))) is not None

    async def ask(
        self,
        client: openai.AsyncOpenAI,
        messages: list[Message],
        read: Callable[[str], T | None],
        *,
        wanted: str,
        seed: int,
    ) -> Reply[T]:
        """Ask until `read` finds a value in an answer, the retries are used up, or the budget is."""
        tokens, sent, reason = 0, False, ""
        for attempt in range(self.settings.retries + 1):
            body = self._body(messages, seed)
            key = self._cache.key(body)
            answer = self._cache.get(key)
            if answer is None:
                if over := self._hopeless or self._over_budget():
                    before = f"; before that: {reason}" if reason not in ("", over) else ""
                    return Reply(None, reason=over + before, tokens=tokens)
                sent = True
                got = await self._send(client, body)
                if isinstance(got, _Failure):
                    reason = got.reason
                    if not got.again or not await self._wait(got, attempt):
                        return Reply(None, reason=reason, tokens=tokens)
                    continue
                self._cache.put(key, got)
                answer = got
            else:
                self.usage.cached += 1
            tokens += answer.tokens
            value = read(answer.whole_lines)
            if value is not None:
                return Reply(value, answer.whole_lines, tokens=tokens, cached=not sent)
            reason = _unread(answer, wanted)
            messages = again_messages(messages, answer.text, wanted)
        return Reply(None, reason=reason, tokens=tokens, cached=not sent)

    async def complete(self, client: openai.AsyncOpenAI, messages: list[Message], seed: int) -> Answer | str:
        """The answer to one question, whatever it says, or why there is none. Retries and budget as for `ask`; nothing
        is looked up or kept."""
        reason = ""
        for attempt in range(self.settings.retries + 1):
            if over := self._hopeless or self._over_budget():
                return over
            got = await self._send(client, self._body(messages, seed))
            if isinstance(got, Answer):
                return got
            reason = got.reason
            if not got.again or not await self._wait(got, attempt):
                break
        return reason

    def _body(self, messages: list[Message], seed: int) -> dict[str, Any]:
        """All that is sent. A setting of `request` that is None takes a field away."""
        s = self.settings
        body = {
            "model": s.model,
            "messages": messages,
            "temperature": s.temperature,
            "seed": seed,
            "max_tokens": s.answer_tokens,
            **s.request,
        }
        return {name: value for name, value in body.items() if value is not None}

    def _over_budget(self) -> str:
        s, used = self.settings, self.usage
        if s.max_calls is not None and used.calls >= s.max_calls:
            return f"the budget of {counted(s.max_calls, 'call')} is used up"
        if s.max_tokens is not None and used.tokens >= s.max_tokens:
            return f"the budget of {counted(s.max_tokens, 'token')} is used up ({used.tokens:,} were)"
        return ""

    async def _send(self, client: openai.AsyncOpenAI, body: Mapping[str, Any]) -> Answer | _Failure:
        import openai  # here, for it takes half a second, and most runs ask no judge

        self.usage.calls += 1
        limit = self.settings.timeout_s
        try:
            async with asyncio.timeout(limit):  # the client's own limit is on each read: a server can drip for ever
                raw = await client.chat.completions.with_raw_response.create(
                    model=body["model"],
                    messages=body["messages"],
                    extra_body={k: v for k, v in body.items() if k not in {"model", "messages"}},
                )
            content = raw.http_response.content
        except openai.APIStatusError as error:
            return self._refused(error)
        except (TimeoutError, openai.APITimeoutError):
            return _Failure(f"no answer within {limit:g} s", again=True, silent=True)
        except openai.APIConnectionError as error:
            why = _one_line(str(error.__cause__ or error))
            return _Failure(f"{client.base_url} cannot be reached: {why}", again=True, silent=True)
        except openai.OpenAIError as error:
            return _Failure(_one_line(str(error)), again=True)
        answer = read_completion(content, body)
        if isinstance(answer, Answer):
            self.usage.answers += 1
            self.usage.prompt_tokens += answer.prompt_tokens
            self.usage.completion_tokens += answer.completion_tokens
            return answer
        return _Failure(answer, again=True)

    def _refused(self, error: openai.APIStatusError) -> _Failure:
        status, said = error.status_code, _one_line(_message(error))
        if status in _HOPELESS or (status == 429 and error.code == "insufficient_quota"):
            hint = _HOPELESS.get(status, "no credit is left")
            self._hopeless = f"the server answers {status}, {hint}: {said}"
            return _Failure(self._hopeless, again=False)
        again = status >= 500 or status in _PASSING
        return _Failure(f"the server answers {status}: {said}", again, retry_after(error.response.headers))

    async def _wait(self, failure: _Failure, attempt: int) -> bool:
        """Wait before the next try: exponential, with jitter, at least what the server asks. False: give up."""
        last = attempt >= self.settings.retries
        if last and failure.silent and not self.usage.answers:
            self._hopeless = failure.reason  # it never answered: the rest of the batch would wait in vain too
        if last or failure.wait_s > _LONGEST_WAIT_S:
            return False
        backoff = min(self.settings.backoff_s * 2**attempt, _LONGEST_BACKOFF_S) * random.uniform(0.5, 1.5)
        await asyncio.sleep(max(backoff, failure.wait_s))
        return True


def read_completion(content: bytes, body: Mapping[str, Any]) -> Answer | str:
    """The answer in a chat completion's JSON, or what is wrong with it. Nothing about its shape is taken on trust."""
    try:
        data = json.loads(content)
        choice = data["choices"][0]
        message = choice["message"]
        text = message["content"] or ""
        refusal = message.get("refusal")
    except (ValueError, TypeError, LookupError, AttributeError, RecursionError):
        return f"what the server sent is no chat completion: {_one_line(content[:120].decode('utf-8', 'replace'))!r}"
    if not isinstance(text, str):
        return f"the answer is no text but a {type(text).__name__}"
    if not text and isinstance(refusal, str):
        text = refusal
    text = printable(text)
    usage = data.get("usage")
    sent, received = (_count(usage, name) for name in ("prompt_tokens", "completion_tokens"))
    if not sent and not received:  # a server that doesn't count: a guess, so that a budget still ends
        sent, received = len(json.dumps(_without_images(body))) // 4, len(text) // 4
    return Answer(text, choice.get("finish_reason") == "length", sent, received, _thought(message))


def _thought(message: Mapping[str, Any]) -> str:
    """vLLM and its kin call it `reasoning_content`, newer ones `reasoning`."""
    found = message.get("reasoning_content") or message.get("reasoning")
    return printable(found) if isinstance(found, str) else ""


def _count(usage: Any, name: str) -> int:
    value = usage.get(name) if isinstance(usage, dict) else None
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0


def _without_images(body: Mapping[str, Any]) -> list[str]:
    parts: list[str] = []
    for message in body["messages"]:
        content = message["content"]
        parts += [content] if isinstance(content, str) else [part.get("text", "") for part in content]
    return parts


def retry_after(headers: Mapping[str, str]) -> float:
    """Seconds that a Retry-After header asks to wait, given as a number or as a date (RFC 9110); 0 without one."""
    value = headers.get("retry-after")
    if value is None:
        return 0.0
    try:
        seconds = float(value)
    except ValueError:
        try:
            seconds = email.utils.parsedate_to_datetime(value).timestamp() - time.time()
        except (TypeError, ValueError, OverflowError):
            return 0.0
    return max(seconds, 0.0) if seconds == seconds else 0.0


def _unread(answer: Answer, wanted: str) -> str:
    if answer.cut:
        return f"the answer was cut off after {counted(answer.completion_tokens, 'token')}, with no line {wanted}"
    said = _one_line(answer.text)
    return f"no single line {wanted} in the answer {said!r}" if said else "the answer is empty"


def _message(error: openai.APIStatusError) -> str:
    body = error.body
    if isinstance(body, dict):
        for name in ("message", "detail", "error"):
            if isinstance(body.get(name), str):
                return str(body[name])
    return error.response.text.strip() or error.response.reason_phrase or "nothing more"


def _one_line(text: str, limit: int = 160) -> str:
    text = " ".join(text.split())
    return text if len(text) <= limit else f"{text[:limit]}…"
