"""Sampling from a server that speaks OpenAI's protocol: vLLM in an environment of its own, llama.cpp, a hosted model.

Requests, retries and waits are those of the model judges (`sandbox.judge_calls`).
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Collection, Mapping, Sequence
from importlib.metadata import version
from typing import Any

import openai

from bot_grpo.backends import LONGEST, Completion, Done, Request, Sampling
from bot_grpo.errors import UserError
from sandbox.judge_cache import Answer, AnswerCache
from sandbox.judge_calls import Caller
from sandbox.judge_settings import JudgeSettings

_IN_A_ROW = 3
"""Times `concurrency`: after so many failures with no answer between them nothing more is asked."""


def check_address(base_url: str | None) -> None:
    """Raises UserError where there is neither a key nor a server to ask."""
    if not (base_url or os.environ.get("OPENAI_BASE_URL") or os.environ.get("OPENAI_API_KEY")):
        raise UserError("--backend openai: set OPENAI_API_KEY, or --base-url for a server of your own")


class OpenAIBackend:
    """A model behind an address; `concurrency` requests at a time, each handed over as it is answered.

    A request that fails is tried again where that makes sense (429 and 5xx, no answer, an answer that cannot be read),
    after what the server asks to wait. `request` has more fields of its body; a None takes one away. A thought that the
    server sends apart is put before the answer, in <think>.
    """

    def __init__(
        self,
        name: str,
        sampling: Sampling,
        *,
        base_url: str | None = None,
        concurrency: int = 16,
        timeout_s: float = 1800.0,
        retries: int = 5,
        backoff_s: float = 0.5,
        request: Mapping[str, Any] | None = None,
    ) -> None:
        check_address(base_url)
        fields: dict[str, Any] = {"top_p": sampling.top_p}
        if sampling.template:
            fields["chat_template_kwargs"] = dict(sampling.template)
        try:
            self._settings = JudgeSettings(
                name,
                base_url=base_url,
                concurrency=concurrency,
                timeout_s=timeout_s,
                retries=retries,
                backoff_s=backoff_s,
                temperature=sampling.temperature,
                answer_tokens=sampling.max_tokens or LONGEST,
                request=fields | dict(request or {}),
            )
            self._settings.key()
        except ValueError as error:
            raise UserError(f"--backend openai: {str(error).removeprefix('judge: ')}") from error
        self.notes: Sequence[str] = []
        self.engine: Mapping[str, Any] = {"name": "openai", "client": version("openai")}

    def sample(self, requests: Sequence[Request], known: Collection[tuple[str, int]], on_done: Done) -> list[str]:
        """See `backends.Backend`."""
        left = [request for request in requests if request.key not in known]
        return asyncio.run(self._ask_all(left, on_done)) if left else []

    async def _ask_all(self, requests: Sequence[Request], on_done: Done) -> list[str]:
        s = self._settings
        caller, slots = Caller(s, AnswerCache(None)), asyncio.Semaphore(s.concurrency)
        reasons: list[str] = []
        in_a_row = 0

        async def one(client: openai.AsyncOpenAI, request: Request) -> None:
            nonlocal in_a_row
            async with slots:  # held through the waits: a server that says 429 should not get other requests instead
                if in_a_row >= _IN_A_ROW * s.concurrency:
                    reasons.append(reasons[-1])
                    return
                messages = [{"role": role, "content": content} for role, content in request.messages]
                answer = await caller.complete(client, messages, request.seed)
            if isinstance(answer, Answer):
                in_a_row = 0
                on_done([(request, _completion(answer))])
            else:
                in_a_row += 1
                reasons.append(answer)

        async with (
            openai.AsyncOpenAI(base_url=s.address(), api_key=s.key(), timeout=s.timeout_s, max_retries=0) as client,
            asyncio.TaskGroup() as group,
        ):
            for request in requests:
                group.create_task(one(client, request))
        return reasons

    def close(self) -> None:
        """Nothing is left to end."""


def _completion(answer: Answer) -> Completion:
    text = answer.text
    if answer.thought:
        end = "" if answer.cut and not text else "</think>\n"
        text = f"<think>\n{answer.thought}{end}{text}"
    return Completion(text, answer.completion_tokens, "length" if answer.cut else "stop")
