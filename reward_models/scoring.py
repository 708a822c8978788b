"""Ask a reward model, check what it says, and put its local rewards on tokens. A bad answer fails its item, no run."""

from __future__ import annotations

import asyncio
import inspect
import math
import operator
import traceback
from collections.abc import Awaitable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any, get_args

import numpy as np
from numpy.typing import NDArray

from reward_models.alignment import Spread, spread_spans
from reward_models.base import RewardSignal, Rollout, Span, TokenRewardModel, Unscored
from reward_models.errors import RewardError
from sandbox.errors import SetupError
from sandbox.words import counted

_SLACK = 1e-9  # of a bound: sums of floats


@dataclass(frozen=True)
class Scored:
    """One rollout, its signal and the local reward S of each of its tokens. `signal` None: unscored, `reason` why."""

    rollout: Rollout
    signal: RewardSignal | None
    local_T: NDArray[np.float64]
    reason: str = ""


def score(model: TokenRewardModel, rollouts: Sequence[Rollout], *, outcome: bool = True) -> list[Scored]:
    """Score rollouts and put their local rewards on their tokens, in order.

    Where `outcome` is true a signal without a G is unscored. A missing tool (SetupError) is raised: it is no fault of a
    rollout. All else that goes wrong leaves its rollouts unscored.
    """
    answers = ask(model, rollouts)
    return [_scored(model, *each, outcome) for each in zip(rollouts, answers, strict=True)]


def ask(model: TokenRewardModel, rollouts: Sequence[Rollout]) -> list[RewardSignal | Unscored]:
    """One answer a rollout, in order; where the model fails as a whole, each is `Unscored` with the reason."""
    if not rollouts:
        return []
    name = model_name(model)
    try:
        answers = answers_of(model, list(rollouts))
    except SetupError:
        raise
    except (Exception, SystemExit) as error:  # whatever a plug-in raises
        return [Unscored(f"{name} raised {said(error)}")] * len(rollouts)
    if len(answers) != len(rollouts):
        return [
            Unscored(f"{name} returned {counted(len(answers), 'signal')} for {counted(len(rollouts), 'rollout')}")
        ] * len(rollouts)
    return [_answer(name, one) for one in answers]


def answers_of(model: TokenRewardModel, rollouts: list[Rollout]) -> list[Any]:
    """What `model.score` gives, as a list; whatever it raises is raised."""
    answer = model.score(rollouts)
    return list(_wait_for(answer) if inspect.isawaitable(answer) else answer)


def model_name(model: Any) -> str:
    """What a model is called in messages: its `name`, else its class."""
    return str(getattr(model, "name", None) or type(model).__name__)


def said(error: BaseException) -> str:
    """An exception in one line: its type, its message, and the place it comes from, which is never who caught it."""
    if isinstance(error, SyntaxError):  # it is no frame's: the file was never run
        text, place = error.msg, (error.filename, error.lineno) if error.filename else None
    else:
        raised = traceback.extract_tb(error.__traceback__)[1:]
        frames = [f for f in raised if not f.filename.startswith("<frozen")]
        own = [f for f in frames if "/lib/python3" not in f.filename] or frames  # rather than inside of a library
        text, place = str(error), (own[-1].filename, own[-1].lineno) if own else None
    message = " ".join(str(text).split())[:300]
    where = f" ({place[0].rsplit('/', 1)[-1]}:{place[1]})" if place else ""
    return f"{type(error).__name__}{': ' + message if message else ''}{where}"


def _wait_for(answer: Awaitable[Any]) -> Any:
    async def wait() -> Any:
        return await answer

    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(wait())
    with ThreadPoolExecutor(1) as other:  # a notebook's loop runs in this thread
        return other.submit(asyncio.run, wait()).result()


def _answer(name: str, answer: Any) -> RewardSignal | Unscored:
    if answer is None:
        return Unscored(f"{name} could not score it")
    if isinstance(answer, RewardSignal | Unscored):
        return answer
    return Unscored(f"{name} gave {type(answer).__name__}, not a RewardSignal")


def _scored(model: TokenRewardModel, rollout: Rollout, answer: RewardSignal | Unscored, outcome: bool) -> Scored:
    reason = ""
    if isinstance(answer, Unscored):
        reason = answer.reason
    elif outcome and answer.outcome is None:
        reason = "there is no outcome G; as a source of local rewards alone its role is local"
    else:
        try:
            return Scored(rollout, *checked(model, rollout, answer))
        except ValueError as error:
            reason = str(error)
    return Scored(rollout, None, np.zeros(len(rollout.token_ids)), reason)


def checked(model: Any, rollout: Rollout, signal: RewardSignal) -> tuple[RewardSignal, NDArray[np.float64]]:
    """The signal with plain numbers, and the local reward of each token: (T,) float64.

    Raises:
        ValueError: what is wrong with the signal, or with what the model declares, in one line.
    """
    bound = bound_of(model)
    outcome = None if signal.outcome is None else _number(signal.outcome, "the outcome")
    if outcome is not None and not math.isfinite(outcome):
        raise ValueError(f"the outcome is {outcome}")
    spans = _spans(signal.spans)
    local_T = _spread(getattr(model, "spread", "every"), rollout, spans) + _tokens(rollout, signal.tokens)
    if not np.isfinite(local_T).all():
        raise ValueError("a local reward is not a number")
    worst = float(np.abs(local_T).max(initial=0.0))
    if worst > bound + _SLACK:
        raise ValueError(f"a local reward of {worst:g} breaks the bound {bound:g}")
    metrics = {name: _number(value, f"the metric {name!r}") for name, value in signal.metrics.items()}
    steps = _steps(rollout, signal.steps)
    return replace(signal, outcome=outcome, spans=spans, metrics=metrics, steps=steps), local_T


def bound_of(model: Any) -> float:
    """The B that a model declares. Raises RewardError where it declares none, or no number of 0 or more."""
    if not hasattr(model, "bound"):
        raise RewardError(f"{model_name(model)} declares no bound: the largest |S_t| that a token can get")
    bound = _number(model.bound, f"the bound of {model_name(model)}")
    if not 0 <= bound < math.inf:
        raise RewardError(f"the bound of {model_name(model)} is {bound:g}; it is a number, 0 or more")
    return bound


def _number(value: Any, what: str) -> float:
    try:
        return float(value)
    except (TypeError, ValueError):
        raise RewardError(f"{what} is {type(value).__name__}, not a number") from None


def _spans(spans: Iterable[Any]) -> tuple[Span, ...]:
    spans = tuple(spans)
    if set(map(type, spans)) == {Span}:  # by columns: a model may give a span for each of a million tokens
        starts, ends, values = (set(map(type, map(operator.itemgetter(i), spans))) for i in range(3))
        if starts == ends == {int} and values == {float}:
            return spans
    try:
        return tuple(Span(operator.index(a), operator.index(b), float(v), *more) for a, b, v, *more in spans)
    except (TypeError, ValueError):
        raise ValueError("a span is not (start, end, value, reason) with whole numbers for the first two") from None


def _spread(spread: Any, rollout: Rollout, spans: Sequence[Span]) -> NDArray[np.float64]:
    if spread not in get_args(Spread):
        raise ValueError(f"there is no spread {spread!r}; there are: {', '.join(get_args(Spread))}")
    try:
        return spread_spans(spans, rollout.spans, spread)
    except ValueError as error:
        end, length = max(s.end for s in spans), len(rollout.completion)
        hint = "; spans count from the start of the completion, not of the prompt"
        raise ValueError(f"{error}{hint if length < end <= len(rollout.prompt) + length else ''}") from None


def _tokens(rollout: Rollout, tokens: Any) -> NDArray[np.float64] | float:
    if tokens is None:
        return 0.0
    try:
        values = np.asarray(tokens, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError("a token's reward is not a number") from None
    if values.shape != (len(rollout.token_ids),):
        raise ValueError(
            f"{counted(values.size, 'reward')} for the {counted(len(rollout.token_ids), 'token')} of the completion"
        )
    return values


def _steps(rollout: Rollout, steps: Sequence[tuple[int, int]] | None) -> tuple[tuple[int, int], ...] | None:
    if steps is None:
        return None
    end = 0
    for start, stop in steps:
        if not end <= start < stop <= len(rollout.completion):
            raise ValueError(f"step [{start}, {stop}) is empty, out of order or outside the text")
        end = stop
    return tuple((a, b) for a, b in steps)
