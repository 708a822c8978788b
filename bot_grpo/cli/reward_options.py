"""The options that name reward models, for the commands that ask them."""

from __future__ import annotations

import argparse
from dataclasses import replace
from typing import Any

from bot_grpo.cli.check_reward import json_mapping
from bot_grpo.cli.parser import number
from bot_grpo.errors import UserError
from bot_grpo.reward_sources import SourceSpec, read_sources


class _Arguments(argparse.Action):
    """--args belongs to the --reward before it."""

    def __call__(self, parser: Any, namespace: Any, values: Any, option: str | None = None) -> None:
        if not namespace.reward:
            raise UserError("--args belongs after the --reward that it is for")
        given = json_mapping(values, "--args")
        namespace.reward[-1] = replace(namespace.reward[-1], args=given)


class _Reward(argparse.Action):
    """One source, by name or as JSON."""

    def __call__(self, parser: Any, namespace: Any, values: Any, option: str | None = None) -> None:
        namespace.reward = [*(namespace.reward or []), *read_sources(values, called="--reward")]


def add_reward_options(parser: argparse.ArgumentParser) -> None:
    """Add --reward, --args, --timeout and --tokenizer."""
    add = parser.add_argument
    add("--reward", action=_Reward, metavar="NAME", help="a reward model; may be given several times")
    add("--args", action=_Arguments, metavar="JSON", help="arguments of the --reward before it")
    add("--timeout", type=number(above=0), metavar="S", help="seconds for a batch; a child process keeps to it")
    add(
        "--tokenizer",
        default="smollm2-135m",
        metavar="NAME",
        help="whose tokens: smollm2-135m (embedded), a folder, or a hub id (default: smollm2-135m)",
    )


def specs_of(args: argparse.Namespace) -> list[SourceSpec]:
    """The sources that these options name. Raises UserError where there are none."""
    if not args.reward:
        raise UserError("name a reward model: --reward NAME")
    return [s if args.timeout is None or s.timeout_s else replace(s, timeout_s=args.timeout) for s in args.reward]
