"""Reward models that can hang or crash live in a child process, and are asked against a deadline."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from reward_models import loading
from reward_models.base import Answer, Rollout, TokenRewardModel, Unscored
from reward_models.errors import RewardError
from reward_models.guard_child import pack, unpack
from reward_models.scoring import ask, model_name
from sandbox.errors import SetupError
from sandbox.processes import GoneError, LateError, LineProcess

TIMEOUT_S = 30.0
"""What a blocking model may take for a rollout, unless somebody says otherwise."""
START_S = 600.0
"""What a model may take to be loaded."""
_START = "import json, sys; sys.path[:] = json.loads(sys.argv[1]); from reward_models.guard_child import main; main()"
_GIVE_UP = 3  # calls lost in a row, after which the rest of a batch is not asked for


def open_reward(
    name: str, arguments: Mapping[str, Any] | None = None, *, timeout_s: float | None = None
) -> TokenRewardModel:
    """The reward model called `name` (see `loading.load_reward`), in a child process if it needs one.

    That is: with `timeout_s`, seconds for a batch, or where it is marked `blocking = True`. A blocking model is asked
    one rollout at a time, so that one that hangs costs itself alone. Raises RewardError.
    """
    target = loading.find(name)
    if timeout_s is None and not getattr(target, "blocking", False):
        return loading.make(target, arguments or {}, name)
    return Guarded(_load, name, dict(arguments or {}), timeout_s=timeout_s)


def _load(name: str, arguments: Mapping[str, Any]) -> TokenRewardModel:
    return loading.load_reward(name, **arguments)


class Child:
    """A process of its own for what `load(*args)` makes. All that is sent is pickled, functions by their names.

    Raises what `load` raises of RewardError and SetupError; RewardError too where anything else goes wrong with it.
    """

    def __init__(self, load: Callable[..., Any], *args: Any) -> None:
        self._process = LineProcess([sys.executable, "-c", _START, json.dumps(sys.path)])
        try:
            self.call(load, *args, timeout_s=START_S)
        except (GoneError, LateError, RuntimeError) as error:
            words = self.last_words()
            self.close()
            if isinstance(error, SetupError):
                raise
            raise RewardError(f"a reward model could not be loaded in a child process: {words or error}") from error
        except BaseException:
            self.close()
            raise

    def call(self, function: Callable[..., Any], *args: Any, timeout_s: float) -> Any:
        """`function(what was loaded, *args)`, called in the child.

        Raises:
            LateError, GoneError: it did not answer in time, or ended; close it.
            RuntimeError: it raised, or its answer cannot be sent; one line.
        """
        deadline = time.monotonic() + timeout_s
        self._process.send({"call": pack((function, args))}, deadline)
        answer = self._process.receive(deadline)
        if "mistake" in answer:
            raise unpack(answer["mistake"])
        if "error" in answer:
            raise RuntimeError(answer["error"])
        return unpack(answer["value"])

    def last_words(self) -> str:
        """The last line that came on its stderr."""
        return self._process.last_words()

    def close(self) -> None:
        """End the process and all that it started."""
        self._process.close()


class Guarded:
    """A reward model behind a `Child`: what does not come in time, or with the child alive, is unscored.

    A child that is late is killed; the next batch gets a new one.
    """

    def __init__(self, load: Callable[..., TokenRewardModel], *args: Any, timeout_s: float | None = None) -> None:
        self._load = load, args
        self._timeout_s = TIMEOUT_S if timeout_s is None else timeout_s
        self._child: Child | None = Child(load, *args)
        try:
            self.bound, self.spread, self.name, self._one_by_one = self._child.call(_facts, timeout_s=START_S)
        except (GoneError, LateError, RuntimeError) as error:
            self.close()
            raise RewardError(f"a reward model does not say what it is: {error}") from error

    def score(self, rollouts: Sequence[Rollout]) -> list[Answer]:
        """One answer a rollout, in order; `Unscored` with the reason for what did not come."""
        size = 1 if self._one_by_one else max(1, len(rollouts))
        answers: list[Answer] = []
        lost, why = 0, ""
        for start in range(0, len(rollouts), size):
            part = rollouts[start : start + size]
            if lost == _GIVE_UP:
                answers += [Unscored(f"{self.name} was not asked: {lost} in a row before it were lost ({why})")] * len(
                    part
                )
                continue
            try:
                answers += self._asked(part)
                lost = 0
            except RuntimeError as error:
                if isinstance(error, SetupError):
                    raise
                answers += [Unscored(f"{self.name}: {error}")] * len(part)
            except (LateError, GoneError, RewardError) as error:
                lost, why = lost + 1, str(error)
                answers += [Unscored(f"{self.name} {why}")] * len(part)
        return answers

    def _asked(self, rollouts: Sequence[Rollout]) -> list[Answer]:
        if self._child is None:
            self._child = Child(self._load[0], *self._load[1])
        try:
            found: list[Answer] = self._child.call(ask, rollouts, timeout_s=self._timeout_s)
            return found
        except LateError as error:
            self.close()
            raise LateError(f"took over {self._timeout_s:g} s, and was ended") from error
        except GoneError as error:
            words = self._child.last_words()
            self.close()
            raise GoneError(f"ended its process{': ' + words if words else ''}") from error

    def close(self) -> None:
        """End the child."""
        if self._child is not None:
            self._child.close()
            self._child = None


def _facts(model: Any) -> tuple[Any, Any, str, bool]:
    return (
        getattr(model, "bound", None),
        getattr(model, "spread", "every"),
        model_name(model),
        bool(getattr(model, "blocking", False)),
    )
