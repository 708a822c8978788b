"""The parser of every verb: a mistake is one line, like any other bad input."""

from __future__ import annotations

import argparse
from typing import NoReturn

from bot_grpo.errors import UserError


class Parser(argparse.ArgumentParser):
    """argparse's, but for `error`, which prints no usage."""

    def error(self, message: str) -> NoReturn:
        raise UserError(f"{message}; `{self.prog} --help` lists the options")
