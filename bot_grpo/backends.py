"""What an evaluation samples from: one small Protocol, and what its backends share.

`eval_hf` samples with this project's own sampler, `eval_vllm` with vLLM in this process, `eval_openai` from any server
that speaks OpenAI's protocol. Each is imported only when it is asked for.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Protocol

from bot_grpo.errors import UserError

Messages = tuple[tuple[str, str], ...]
"""(role, content) of a chat."""

LONGEST = 8192
"""Tokens of a completion at most where `max_tokens` is not given."""


@dataclass(frozen=True)
class Request:
    """One sample to take: the problem's id, the number of the sample, what is asked, and the sample's seed."""

    problem: str
    sample: int
    messages: Messages
    seed: int

    @property
    def key(self) -> tuple[str, int]:
        return self.problem, self.sample


@dataclass(frozen=True)
class Completion:
    """What a model wrote; `tokens` as the engine counts them. "length": it was cut off by a limit."""

    text: str
    tokens: int
    finish: Literal["stop", "length"]


Done = Callable[[Sequence[tuple[Request, Completion]]], None]


@dataclass(frozen=True)
class Sampling:
    """How to sample. `max_tokens` None: what the model's context leaves, at most LONGEST."""

    temperature: float = 0.6
    top_p: float = 0.95
    max_tokens: int | None = None
    template: Mapping[str, Any] = field(default_factory=dict)
    """Further arguments of the chat template, say {"enable_thinking": False}."""


class Backend(Protocol):
    """An engine with a model in it."""

    engine: Mapping[str, Any]
    """What a result depends on besides the settings: versions, dtype, device, how prompts are written."""
    notes: Sequence[str]
    """What a person should know before it begins; one line each."""

    def sample(self, requests: Sequence[Request], known: Collection[tuple[str, int]], on_done: Done) -> list[str]:
        """Sample what is not `known`, and hand over completions as they come; each is handed over once.

        `requests` are those of the whole evaluation, known ones too, so that an engine whose sums depend on the batch
        can form the batches that an unbroken run would have. Returns a reason for each sample that could not be had.
        Raises UserError where nothing can be: a prompt longer than the context, too little memory.
        """
        ...

    def close(self) -> None: ...


def sample_seed(seed: int, problem: str, sample: int) -> int:
    """The seed of one sample, in [0, 2^31): it depends on nothing else, so on no order and no batch."""
    digest = hashlib.sha256(f"{seed}\0{problem}\0{sample}".encode("utf-8", "surrogatepass")).digest()
    return int.from_bytes(digest[:4], "big") >> 1


def prompt_hash(messages: Messages) -> str:
    """Says whether two prompts are the same."""
    return hashlib.sha256(json.dumps(messages).encode()).hexdigest()[:16]


def policy_folder(name: str) -> str:
    """Where the weights are: of a run's folder its final model or else its last checkpoint; any other name as it is."""
    folder = Path(name).expanduser()
    if not folder.is_dir() or any((folder / f).exists() for f in ("config.json", "adapter_config.json")):
        return name
    checkpoints = [p for p in folder.glob("checkpoints/checkpoint-*") if (p / "trainer_state.json").exists()]
    newest = sorted(checkpoints, key=lambda p: int(p.name.rpartition("-")[2]) if p.name[-1].isdigit() else -1)[-1:]
    for found in (folder / "model", *newest):
        if any((found / f).exists() for f in ("config.json", "adapter_config.json")):
            return str(found)
    raise UserError(f"model {name!r}: there is no config.json, adapter_config.json, model/ or whole checkpoint in it")


def adapter_base(folder: str) -> str | None:
    """The base model of a LoRA adapter's folder; None where it is no adapter."""
    file = Path(folder).expanduser() / "adapter_config.json"
    if not file.exists():
        return None
    try:
        return str(json.loads(file.read_text(encoding="utf-8"))["base_model_name_or_path"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UserError(f"{file} is no adapter's config: {type(error).__name__}") from error


class Prompter:
    """Chats as token ids: by the tokenizer's chat template, or where it has none as plain text."""

    def __init__(self, tokenizer: Any, template: Mapping[str, Any]) -> None:
        self.plain = not getattr(tokenizer, "chat_template", None)
        self._tokenizer, self._template = tokenizer, dict(template)

    def __call__(self, messages: Messages) -> list[int]:
        if self.plain:
            return list(self._tokenizer(plain_text(messages))["input_ids"])
        chat = [{"role": role, "content": content} for role, content in messages]
        try:
            encoded = self._tokenizer.apply_chat_template(
                chat, add_generation_prompt=True, tokenize=True, return_dict=True, **self._template
            )
        except Exception as error:  # a template is a program, and raises what it likes
            raise UserError(
                f"the model's chat template refuses the prompt: {' '.join(str(error).split())[:160]}"
            ) from (error)
        return list(encoded["input_ids"])

    @property
    def note(self) -> str:
        return "the model has no chat template: the problem is given as plain text, followed by an empty line"


def plain_text(messages: Messages) -> str:
    """A chat for a model without a template."""
    return "".join(f"{content.strip()}\n\n" for _, content in messages)


def room(prompts: Mapping[str, Sequence[int]], context: int | None, sampling: Sampling) -> int:
    """Tokens of a completion at most, the same for all problems. Raises UserError where a prompt leaves too few."""
    name, longest = max(((name, len(ids)) for name, ids in prompts.items()), key=lambda pair: pair[1])
    asked = sampling.max_tokens
    if context is None:
        return asked or LONGEST
    left = context - longest
    if left < 1:
        raise UserError(
            f"problem {name!r} has {longest:,} tokens, and the model's context is {context:,}: there is no room to "
            "answer; leave the problem out, or take a model with a longer context"
        )
    if asked is not None and asked > left:
        raise UserError(
            f"problem {name!r} has {longest:,} tokens, and with --max-tokens {asked} it passes the model's context of "
            f"{context:,}: at most --max-tokens {left}"
        )
    return asked or min(left, LONGEST)
