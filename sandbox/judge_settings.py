"""How a model judge is reached and what it may cost."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal


@dataclass(frozen=True)
class JudgeSettings:
    """Settings of a `Judge`. Raises ValueError, one line, for a bad one.

    Args:
        model: the name that the server knows the model by.
        base_url: an OpenAI-compatible address (`http://localhost:8000/v1`); None: $OPENAI_BASE_URL, else OpenAI's own.
        api_key: None: $OPENAI_API_KEY; a server at an address of one's own may need none.
        concurrency: requests under way at a time.
        timeout_s: seconds for one request.
        retries: further tries after a failed request or an answer that cannot be read.
        backoff_s: about what the first retry waits; each further one waits twice as long, half a minute at most.
        max_calls: a budget: requests, retries included. What is cached is served beyond it.
        max_tokens: a budget: tokens sent and received. No request starts after it; those under way may pass it.
        cache: a folder for answers, shared by any number of processes; None keeps them in memory.
        detail: how closely a hosted model looks at an image ("low", "high", "auto").
        lines: whether the screenshot judge also names lines of the code. "one_turn": in the same question, so that it
            sees the code when it gives the score. "two_turn": in a second question, when the score already stands.
        prices: per million tokens, sent and received; None: no cost is shown.
        temperature, seed, answer_tokens: sent as temperature, seed and max_tokens.
        request: more fields of the request's body, say {"chat_template_kwargs": {"enable_thinking": False}}; a None
            takes one away ({"max_tokens": None, "max_completion_tokens": 2048}).
    """

    model: str
    base_url: str | None = None
    api_key: str | None = field(default=None, repr=False)
    concurrency: int = 8
    timeout_s: float = 60.0
    retries: int = 3
    backoff_s: float = 0.5
    max_calls: int | None = None
    max_tokens: int | None = None
    cache: Path | None = None
    detail: str = "auto"
    lines: Literal["off", "one_turn", "two_turn"] = "off"
    prices: tuple[float, float] | None = None
    temperature: float = 0.0
    seed: int = 0
    answer_tokens: int = 1024
    request: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for holds, text in (*self._endpoint_rules(), *self._number_rules()):
            if not holds:
                raise ValueError(f"judge: {text}")
        if self.cache is not None:
            object.__setattr__(self, "cache", Path(self.cache).expanduser())  # a recipe has text
        if self.prices is not None:
            object.__setattr__(self, "prices", tuple(self.prices))

    def _endpoint_rules(self) -> list[tuple[bool, str]]:
        url, key, modes = self.base_url, self.api_key, ("off", "one_turn", "two_turn")
        is_url = isinstance(url, str) and url.startswith(("http://", "https://"))
        is_key = isinstance(key, str) and key.isascii() and key.isprintable() and bool(key.strip())
        is_request = isinstance(self.request, Mapping) and not {"model", "messages", "stream"} & set(self.request)
        return [
            (isinstance(self.model, str) and bool(self.model.strip()), "model is the name of a model, and is empty"),
            (url is None or is_url, f"base_url begins with http:// or https://, unlike {url!r}"),
            (key is None or is_key, "api_key is empty or holds characters that no key has (a line break?)"),
            (self.cache is None or isinstance(self.cache, Path | str), f"cache is a folder, not {self.cache!r}"),
            (self.detail in ("low", "high", "auto"), f"detail is low, high or auto, not {self.detail!r}"),
            (self.lines in modes, f"lines is off, one_turn or two_turn, not {self.lines!r}"),
            (is_request, "request is a mapping of further fields of the body, and not of model, messages or stream"),
        ]

    def _number_rules(self) -> list[tuple[bool, str]]:
        prices, heat = self.prices, self.temperature
        pair = isinstance(prices, tuple | list) and len(prices) == 2 and all(_number(p) and p >= 0 for p in prices)
        whole = {"concurrency": 1, "retries": 0, "seed": 0, "answer_tokens": 1}
        budgets = {"max_calls": self.max_calls, "max_tokens": self.max_tokens}
        return [
            *(
                (
                    _whole(getattr(self, name), least),
                    f"{name} is a whole number from {least}, not {getattr(self, name)!r}",
                )
                for name, least in whole.items()
            ),
            *(
                (value is None or _whole(value, 0), f"{name} is a whole number from 0, or none, not {value!r}")
                for name, value in budgets.items()
            ),
            (_number(self.timeout_s) and self.timeout_s > 0, f"timeout_s is above 0, not {self.timeout_s!r}"),
            (_number(self.backoff_s) and self.backoff_s >= 0, f"backoff_s is 0 or more, not {self.backoff_s!r}"),
            (_number(heat) and 0 <= heat <= 2, f"temperature is a number from 0 to 2, not {heat!r}"),
            (prices is None or pair, f"prices are two numbers, a million tokens sent and received, not {prices!r}"),
        ]

    def address(self) -> str | None:
        """The server's address; None: the openai package's own."""
        return self.base_url or os.environ.get("OPENAI_BASE_URL") or None

    def key(self) -> str:
        """The key to send. Raises ValueError where OpenAI's own address would be asked without one."""
        key = self.api_key or os.environ.get("OPENAI_API_KEY")
        if key:
            return key
        if self.address() is None:
            raise ValueError("judge: no key: set OPENAI_API_KEY, or base_url for a server of your own")
        return "none"


def _number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _whole(value: object, least: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= least
