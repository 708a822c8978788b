"""TRL's reward functions as reward models: `f(prompts, completions, **columns) -> list[float | None]`, unchanged."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import Any

from reward_models.base import Answer, RewardSignal, Rollout, TokenRewardModel, Unscored

_TRL = ("prompts", "completions", "completion_ids")
_NO_COLUMNS = frozenset({"prompt", "completion", *_TRL})  # TRL gives these of a data set to nobody
_MESSAGES_WANTED = ("string indices must be", "string index out of range", "'str' object has no attribute")


def is_reward_function(value: Any) -> bool:
    """Whether TRL could call it: it takes `completions` (or `completion_ids`), and is neither a class nor a model."""
    if inspect.isclass(value) or not callable(value) or hasattr(value, "score"):
        return False
    return any(name in _parameters(value) for name in _TRL)


def as_model(value: Any) -> TokenRewardModel:
    """A reward model as it is; a reward function as the model that asks it."""
    model: TokenRewardModel = RewardFunction(value) if is_reward_function(value) else value
    return model


class RewardFunction:
    """A source of G. It gets the columns of the rollouts' rows as TRL gives those of a data set, and `arguments`.

    Completions come as text; where the function takes them for messages, as the lists of messages that TRL makes of
    chat prompts. A None leaves its rollout unscored.
    """

    bound = 0.0

    def __init__(self, function: Callable[..., Any], arguments: Mapping[str, Any] | None = None) -> None:
        self.function = function
        self.arguments = dict(arguments or {})
        self.name = str(getattr(function, "__name__", type(function).__name__))

    def score(self, rollouts: Sequence[Rollout]) -> Sequence[Answer] | Awaitable[Sequence[Answer]]:
        """One answer for each value that the function gives, in its order."""
        try:
            values = self._call(rollouts, chat=False)
        except Exception as error:
            values = self._again(rollouts, error)
        return self._awaited(rollouts, values) if inspect.isawaitable(values) else _signals(values)

    async def _awaited(self, rollouts: Sequence[Rollout], values: Awaitable[Any]) -> list[Answer]:
        try:
            return _signals(await values)
        except Exception as error:
            return _signals(await self._again(rollouts, error))

    def _again(self, rollouts: Sequence[Rollout], error: Exception) -> Any:
        """With messages, if `error` is what a text gives to whoever takes it for them."""
        if not any(words in str(error) for words in _MESSAGES_WANTED):
            raise error
        return self._call(rollouts, chat=True)

    def _call(self, rollouts: Sequence[Rollout], *, chat: bool) -> Any:
        prompts: list[Any] = [r.prompt for r in rollouts]
        completions: list[Any] = [r.completion for r in rollouts]
        if chat:
            prompts = [[{"role": "user", "content": text}] for text in prompts]
            completions = [[{"role": "assistant", "content": text}] for text in completions]
        names = dict.fromkeys(name for r in rollouts for name in r.row if name not in _NO_COLUMNS)
        given = {name: [r.row.get(name) for r in rollouts] for name in names} | self.arguments
        given |= {
            "prompts": prompts,
            "completions": completions,
            "completion_ids": [list(r.token_ids) for r in rollouts],
        }
        wanted = _parameters(self.function)
        missing = [n for n, p in wanted.items() if p.default is p.empty and p.kind in _NAMED and n not in given]
        if missing:
            raise ValueError(f"it wants the column {', '.join(missing)}; the rows have: {', '.join(names) or 'none'}")
        if not any(p.kind is p.VAR_KEYWORD for p in wanted.values()):
            given = {name: value for name, value in given.items() if name in wanted}
        return self.function(**given)


_NAMED = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)


def _parameters(function: Callable[..., Any]) -> Mapping[str, inspect.Parameter]:
    try:
        return inspect.signature(function).parameters
    except (TypeError, ValueError):  # written in C
        return {}


def _signals(values: Iterable[Any]) -> list[Answer]:
    return [Unscored("the reward function gave None") if v is None else RewardSignal(v) for v in values]
