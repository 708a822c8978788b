"""The model judge that a command line asks for; what is wrong with it is said in the options' names."""

from __future__ import annotations

import argparse
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bot_grpo.errors import UserError

if TYPE_CHECKING:
    from sandbox.judge import Judge  # imported where it is used: it takes a second

_SETTINGS = {"judge_model": "model", "timeout": "timeout_s"}  # the rest is called as in JudgeSettings


def open_judge(args: argparse.Namespace, *names: str, **more: Any) -> Judge:
    """The judge with the options `names` of `args`, and with `more` settings that no option gives.

    Answers are kept under ~/.cache where there is no --cache. Raises UserError.
    """
    from sandbox.judge import Judge, JudgeSettings

    settings = {_SETTINGS.get(name, name): getattr(args, name) for name in names}
    if settings.get("cache") is None:
        settings["cache"] = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "bot-grpo" / "judge"
    try:
        return Judge(JudgeSettings(**settings, **more))
    except ValueError as error:
        raise UserError(_in_options(str(error).removeprefix("judge: "), names)) from error


def _in_options(message: str, names: tuple[str, ...]) -> str:
    """A setting that a message begins with, or that no other word can be, as the option that gives it."""
    options = {_SETTINGS.get(name, name): "--" + name.replace("_", "-") for name in names}
    pattern = rf"^(?:{'|'.join(options)})\b|\b(?:{'|'.join(name for name in options if '_' in name)})\b"
    return re.sub(pattern, lambda found: options[found[0]], message)
