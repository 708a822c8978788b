"""The process behind `guard.Child`: holds one reward model and calls functions with it."""

from __future__ import annotations

import base64
import json
import os
import pickle
from typing import Any

from reward_models.errors import RewardError
from reward_models.scoring import said
from sandbox.errors import SetupError
from sandbox.processes import end_with_parent


def main() -> None:
    """Answer one message a line until stdin ends. What the model prints goes to stderr, and it has no stdin."""
    end_with_parent(os.getppid())
    messages, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb", buffering=0)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(2, 1)
    model: list[Any] = []  # what the first message loads
    for line in messages:
        answer = json.dumps(_answer(unpack(json.loads(line)["call"]), model)).encode() + b"\n"
        while answer:
            answer = answer[answers.write(answer) :]


def _answer(call: tuple[Any, tuple[Any, ...]], model: list[Any]) -> dict[str, str]:
    function, arguments = call
    try:
        if not model:
            model.append(function(*arguments))
            return {"value": pack(None)}
        return {"value": pack(function(model[0], *arguments))}
    except (RewardError, SetupError) as error:
        return {"mistake": pack(error)}
    except Exception as error:  # whatever a plug-in raises
        return {"error": said(error)}


def pack(value: Any) -> str:
    """Any value that pickle takes, as ASCII."""
    return base64.b64encode(pickle.dumps(value)).decode("ascii")


def unpack(text: str) -> Any:
    """The value that `pack` was given."""
    return pickle.loads(base64.b64decode(text))
