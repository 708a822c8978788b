"""The model judge that a command line asks for; what is wrong with it is said in the options' names."""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bot_grpo.cli.parser import in_options
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
        options = {_SETTINGS.get(name, name): "--" + name.replace("_", "-") for name in names}
        raise UserError(in_options(str(error).removeprefix("judge: "), options)) from error
