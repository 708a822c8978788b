"""Sampling with transformers: the sampler of `generation`, on batches of like lengths that do not depend on what is
already known."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import groupby
from typing import Any

import torch

from bot_grpo import bf16, models
from bot_grpo.backends import Completion, Done, Prompter, Request, Sampling, adapter_base, policy_folder, room
from bot_grpo.errors import UserError
from bot_grpo.generation import sample_groups


class HFBackend:
    """A model by name, folder, LoRA adapter, checkpoint or run, on the GPU where there is one.

    A problem's prompt is computed once for its samples in a batch, rows that have ended leave, and each row draws its
    own random numbers. Rows of one batch are of problems of like lengths. A kill loses the batch at hand.
    """

    def __init__(self, name: str, sampling: Sampling, *, dtype: str = "auto", batch_size: int = 64) -> None:
        folder = policy_folder(name)
        base = adapter_base(folder)
        self._model = _load(folder, base, dtype)
        self._tokenizer: Any = models.load_policy_tokenizer(folder, base)
        self._prompter = Prompter(self._tokenizer, sampling.template)
        self._sampling, self._batch_size = sampling, batch_size
        self._context = models.context_length(base or folder)
        self._eos = _eos_ids(self._model, self._tokenizer)
        self.notes = [self._prompter.note] if self._prompter.plain else []
        self.engine: Mapping[str, Any] = {
            "name": "transformers",
            "dtype": str(self._model.dtype).removeprefix("torch."),
            "device": _device_name(self._model.device),
            "template": "plain" if self._prompter.plain else "chat",
            "threads": torch.get_num_threads(),
        }

    def sample(self, requests: Sequence[Request], known: Collection[tuple[str, int]], on_done: Done) -> list[str]:
        """See `backends.Backend`."""
        prompts = {problem: self._prompter(next(of).messages) for problem, of in _by_problem(requests)}
        limit = room(prompts, self._context, self._sampling)
        for groups in batches(requests, {name: len(ids) for name, ids in prompts.items()}, self._batch_size):
            rows = [request for group in groups for request in group]
            if all(request.key in known for request in rows):
                continue
            completions = self._complete([prompts[group[0].problem] for group in groups], rows, limit)
            on_done([pair for pair in zip(rows, completions, strict=True) if pair[0].key not in known])
        return []

    def _complete(self, prompt_ids: list[list[int]], rows: Sequence[Request], limit: int) -> list[Completion]:
        try:
            sampled = sample_groups(
                self._model,
                prompt_ids,
                group_size=len(rows) // len(prompt_ids),
                max_new_tokens=limit,
                eos_token_ids=self._eos,
                pad_token_id=self._tokenizer.pad_token_id or 0,
                temperature=self._sampling.temperature,
                top_p=self._sampling.top_p,
                seeds=[request.seed for request in rows],
            )
        except (torch.OutOfMemoryError, MemoryError) as error:
            raise UserError(
                f"there is too little memory for {len(rows)} samples at a time: lower --batch-size (or --max-tokens); "
                "what was sampled is kept"
            ) from error
        return [self._completion(ids) for ids in sampled.ids]

    def _completion(self, ids: list[int]) -> Completion:
        ended = ids[-1] in self._eos
        text = self._tokenizer.decode(ids[:-1] if ended else ids, skip_special_tokens=True)
        return Completion(text, len(ids), "stop" if ended else "length")

    def close(self) -> None:
        """Nothing is left to end."""


def batches(requests: Sequence[Request], lengths: Mapping[str, int], size: int) -> list[list[list[Request]]]:
    """Batches of groups of requests: one problem in a group, as many in each group of a batch, `size` rows at most.

    The longest prompts come first, so that what does not fit into memory is met at once.
    """
    groups = []
    for _, of in _by_problem(requests):
        rows = list(of)
        groups += [rows[i : i + size] for i in range(0, len(rows), size)]
    groups.sort(key=lambda group: (-len(group), -lengths[group[0].problem]))
    out: list[list[list[Request]]] = []
    for group in groups:
        last = out[-1] if out else []
        if last and len(last[0]) == len(group) and (len(last) + 1) * len(group) <= size:
            last.append(group)
        else:
            out.append([group])
    return out


def _by_problem(requests: Iterable[Request]) -> Any:
    return groupby(requests, key=lambda request: request.problem)


def _load(folder: str, base: str | None, dtype: str) -> Any:
    device = "cuda" if torch.cuda.is_available() else "cpu"
    if dtype == "auto" and device == "cpu" and not bf16.in_hardware(cpu=True):
        dtype = "float32"  # the same weights, and several times as fast
    model: Any = models.load_policy(folder, base, dtype=dtype)
    try:
        return model.to(device).eval()
    except torch.OutOfMemoryError as error:
        raise UserError(f"model {folder!r} does not fit into the memory of {_device_name(device)}") from error


def _eos_ids(model: Any, tokenizer: Any) -> list[int]:
    found = model.generation_config.eos_token_id
    ids = {tokenizer.eos_token_id, *(found if isinstance(found, list) else [found])} - {None}
    if not ids:
        raise UserError("the model has no end-of-text token, so it could never end an answer")
    return sorted(ids)


def _device_name(device: Any) -> str:
    return torch.cuda.get_device_name(device) if str(device).startswith("cuda") else str(device)
