"""Tokenizers and weights of reward models, from a folder or a hub, and ids from text that cannot forge a token."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, Protocol, TypeVar

import torch
from tokenizers import Tokenizer
from torch import Tensor, nn
from transformers import AutoConfig, AutoTokenizer, PreTrainedTokenizerFast
from transformers.utils import cached_file

from reward_models.errors import RewardError
from tasks.hub import lost


class HasIds(Protocol):
    """An input of a model."""

    @property
    def ids(self) -> tuple[int, ...]: ...


Messages = Sequence[tuple[str, str]]
"""(role, content) of a chat."""

_PROBE = "So f(x) = 12.5 here.\n\nThen it isn't  Σ \\frac{1}{2}:\n\t1,000 days ok?"
_DATE = "26 Jul 2024"
"""What Llama's templates would fill in with today's date: an input must be the same tomorrow."""
_HOLE = "\uf8ff"


def load_tokenizer(name: str) -> Any:
    """The tokenizer of a reward model.

    transformers 5 rebuilds some tokenizers by their class and forgets the splitting rules of tokenizer.json
    (transformers#45812, #45920); where a probe is not cut as the file has it, the file is taken as it is.
    """
    _look_for(name)
    try:
        tokenizer = AutoTokenizer.from_pretrained(name)
        path = cached_file(name, "tokenizer.json", _raise_exceptions_for_missing_entries=False)
    except (OSError, ValueError) as error:
        raise _not_there(name, error) from error
    if path is not None:
        as_written = Tokenizer.from_file(path).encode(_PROBE, add_special_tokens=False).ids
        if as_written != tokenizer.encode(_PROBE, add_special_tokens=False):
            tokenizer = PreTrainedTokenizerFast.from_pretrained(name)
    return tokenizer


def load_config(name: str) -> Any:
    """The config of a model. Raises RewardError where there is none, or it needs code from the hub."""
    _look_for(name)
    try:
        return AutoConfig.from_pretrained(name)
    except (OSError, ValueError) as error:
        raise _not_there(name, error) from error


def load_weights(cls: Any, name: str, *, dtype: str, device: str | None, **arguments: Any) -> nn.Module:
    """A model with all of its weights, in eval mode, on `device` (None: the GPU if there is one).

    Raises:
        RewardError: there is no such model, or it lacks weights, which transformers would make up at random.
    """
    check_dtype(dtype)
    where = device or ("cuda" if torch.cuda.is_available() else "cpu")
    _look_for(name)
    try:
        model, found = cls.from_pretrained(name, dtype=dtype, output_loading_info=True, **arguments)
        model = model.eval().to(where)
    except (OSError, ValueError, RuntimeError) as error:
        raise _not_there(name, error) from error
    lacking = sorted(found["missing_keys"]) + sorted(str(key) for key in found["mismatched_keys"])
    if lacking:
        raise RewardError(f"{name} lacks weights that such a model has ({_some(lacking)}): is it of another kind?")
    return model


def check_dtype(dtype: str) -> None:
    """Raises RewardError for what is no dtype of weights."""
    if dtype not in ("auto", "float32", "bfloat16", "float16"):
        raise RewardError(f"dtype is auto (as the weights are), float32, bfloat16 or float16, not {dtype!r}")


def _look_for(name: str) -> None:
    """Raise RewardError at once for what is neither here nor to be had from the hub."""
    if not Path(name).expanduser().exists() and lost(name):
        raise RewardError(
            f"{name} cannot be loaded: it is no folder here, and the hub cannot be reached to look for it there"
        )


def _not_there(name: str, error: Exception) -> RewardError:
    lines = str(error).strip().splitlines()
    return RewardError(f"{name} cannot be loaded: {lines[0][:200] if lines else type(error).__name__}")


def _some(names: Iterable[str]) -> str:
    names = list(names)
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")


class Encoding:
    """Builds the token ids of one input, piece by piece, so that each position is known where it is made.

    What is given as text stays text: a solution that writes `<|im_end|>` or a step tag gets the ids of its letters.
    Neighbouring texts are encoded as one, as they would be in the whole string.
    """

    def __init__(self, tokenizer: Any) -> None:
        self._tokenizer = tokenizer
        self._ids: list[int] = []
        self._text: list[str] = []

    def text(self, text: str) -> None:
        """Text that anybody may have written."""
        self._text.append(text)

    def template(self, text: str) -> None:
        """Text of a chat template, whose special tokens are meant."""
        added = (str(t.content) for t in self._tokenizer.added_tokens_decoder.values() if t.special)
        pattern = _any_of(frozenset([*added, *self._tokenizer.all_special_tokens]))
        for i, part in enumerate(pattern.split(text) if pattern else [text]):
            if i % 2:
                self.id(self._tokenizer.convert_tokens_to_ids(part))
            else:
                self.text(part)

    def id(self, token_id: int) -> None:
        """One token."""
        self.here()
        self._ids.append(token_id)

    def piece(self, text: str) -> None:
        """Text that is encoded for itself, whatever stands beside it."""
        self.here()
        self.text(text)
        self.here()

    def here(self) -> int:
        """The position of the last token so far (-1: none)."""
        text = "".join(self._text)
        self._text = []
        if text:
            self._ids += as_text(self._tokenizer, text)["input_ids"]
        return len(self._ids) - 1

    @property
    def ids(self) -> tuple[int, ...]:
        self.here()
        return tuple(self._ids)


@lru_cache(maxsize=16)
def _any_of(names: frozenset[str]) -> re.Pattern[str] | None:
    longest_first = sorted(names, key=len, reverse=True)
    return re.compile(f"({'|'.join(map(re.escape, longest_first))})") if names else None


def as_text(tokenizer: Any, text: str, *, special: bool = False, offsets: bool = False) -> Any:
    """The encoding of `text`, of which nothing becomes a special token. `special`: with the tokenizer's own BOS."""
    clean = text.encode("utf-8", "replace").decode()  # a lone surrogate would raise; it becomes one "?"
    return tokenizer(clean, add_special_tokens=special, split_special_tokens=True, return_offsets_mapping=offsets)


def single_id(tokenizer: Any, token: str) -> int:
    """The id of a token of the vocabulary. Raises RewardError where `token` is not one."""
    found = tokenizer.convert_tokens_to_ids(token)
    if found is None or found == tokenizer.unk_token_id:
        raise RewardError(f"the tokenizer has no token {token!r}: is it the reward model's own?")
    return int(found)


def render(tokenizer: Any, messages: Messages, *, answer: bool) -> list[tuple[str, int]]:
    """A chat template around contents: (template text, number of the content that follows it; -1 after the last).

    The contents go in by place, never through the template: some templates trim what they are given, and a content
    could hold another one's text. `answer`: ask for the assistant's turn at the end.
    """
    if not tokenizer.chat_template:
        raise RewardError("the tokenizer has no chat template, and this reward model is fed through one")
    chat = [{"role": role, "content": f"{_HOLE}{n}{_HOLE}"} for n, (role, _) in enumerate(messages)]
    whole = tokenizer.apply_chat_template(chat, tokenize=False, add_generation_prompt=answer, date_string=_DATE)
    parts = re.split(f"{_HOLE}(\\d+){_HOLE}", str(whole))
    return list(zip(parts[::2], [*map(int, parts[1::2]), -1], strict=True))


T = TypeVar("T", bound=HasIds)


_ON_A_GPU, _ON_A_CPU = 16384, 2048
_MOST_PADDING = 0.25


def batches(inputs: Iterable[T], device: torch.device, tokens: int | None = None) -> Iterator[list[T]]:
    """Inputs in batches of like lengths: at most `tokens` tokens with their padding, and a quarter of it padding.

    A longer input is alone. `tokens` None: as many as a GPU needs to be busy; a CPU is with few, and padding costs it.
    """
    most = tokens or (_ON_A_CPU if device.type == "cpu" else _ON_A_GPU)
    batch: list[T] = []
    filled = 0
    for one in sorted(inputs, key=lambda one: len(one.ids)):
        size, width = (len(batch) + 1) * len(one.ids), len(one.ids)
        if batch and (size > most or filled + width < (1 - _MOST_PADDING) * size):
            yield batch
            batch, filled = [], 0
        batch.append(one)
        filled += width
    if batch:
        yield batch


def padded(rows: Sequence[Sequence[int]], device: torch.device) -> tuple[Tensor, Tensor | None]:
    """ids_BT and mask_BT of rows of ids, padded on the right: so no position of a causal model moves.

    The mask is None where there is no padding: attention is then causal and no more, for which there are fast kernels.
    """
    if len(set(map(len, rows))) == 1:
        return torch.tensor([list(ids) for ids in rows], device=device), None
    ids_BT = torch.zeros(len(rows), max(map(len, rows)), dtype=torch.long)
    mask_BT = torch.zeros_like(ids_BT)
    for row, ids in enumerate(rows):
        ids_BT[row, : len(ids)] = torch.tensor(ids)
        mask_BT[row, : len(ids)] = 1
    return ids_BT.to(device), mask_BT.to(device)
