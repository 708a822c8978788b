"""The parser of every verb: a mistake is one line, like any other bad input."""

from __future__ import annotations

import argparse
import math
import re
from collections.abc import Callable, Mapping
from typing import NoReturn

from bot_grpo.errors import UserError


class Parser(argparse.ArgumentParser):
    """argparse's, but for `error`, which prints no usage."""

    def error(self, message: str) -> NoReturn:
        raise UserError(f"{message}; `{self.prog} --help` lists the options")


def in_options(message: str, options: Mapping[str, str]) -> str:
    """A message about settings, with the option that gives each in its place.

    `options` are by the settings' names: the word that the message begins with, and any that has an underscore.
    """
    apart = [name for name in options if "_" in name]
    pattern = "|".join([rf"^(?:{'|'.join(options)})\b", *([rf"\b(?:{'|'.join(apart)})\b"] if apart else [])])
    return re.sub(pattern, lambda found: options[found[0]], message)


def number(*, least: float = -math.inf, above: float = -math.inf, whole: bool = False) -> Callable[[str], float]:
    """An option's type: a finite number that is at least so much, or above that."""
    bounds = [f"from {least:g}"] * (least > -math.inf) + [f"above {above:g}"] * (above > -math.inf)
    wanted = " ".join(["a whole number" if whole else "a number", *bounds])

    def read(text: str) -> float:
        try:
            value = int(text) if whole else float(text)
        except ValueError:
            value = math.nan
        if not (math.isfinite(value) and value >= least and value > above):
            raise argparse.ArgumentTypeError(f"{wanted} is wanted, not {text!r}")
        return value

    return read
