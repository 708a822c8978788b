"""`bot-grpo check-reward`: does a reward model keep to what every reward model has to?"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping
from itertools import islice
from pathlib import Path
from typing import Any

from bot_grpo.cli.parser import Parser, number
from bot_grpo.errors import UserError
from bot_grpo.invoked import program
from bot_grpo.reward_sources import in_options
from bot_grpo.waiting import told_when_slow
from reward_models.base import Rollout, TokenRewardModel
from reward_models.contract import (
    CHECKS,
    SLOW_S,
    TOLERANCE,
    UNSCORED,
    Finding,
    pretend_tokens,
    run_check,
    sample_rollouts,
    seconds_a_thousand_tokens,
)
from reward_models.errors import RewardError
from reward_models.guard import START_S, Child
from reward_models.loading import load_reward
from reward_models.scoring import bound_of, model_name
from sandbox.processes import GoneError, LateError
from sandbox.words import counted

_ROWS = 64
_SHOWN = 5
_EPILOG = """\
NAME is a built-in reward model, module:attribute, path/to/file.py:Name, or an entry point of an installed package; a
class, a factory, an object with `score`, or a reward function of TRL's kind. It is asked in a child process about an
empty completion, one character, emoji and CJK, CRLF, 4,000 characters, code, steps and a completion that was cut off,
and about the rows of --input; it then has to keep its bound, give one signal a rollout, put its spans inside the text,
and give the same scores whatever the order and the batch.
A model that scores nothing without fields of its own (aime: `answer`) needs --input.
Exit code: 0 fit, 1 not fit, 2 bad input.

examples:
  bot-grpo check-reward vowels.py:Vowels --args '{"weight": 0.5}'
  bot-grpo check-reward mypackage.rewards:solved --input replies.jsonl
"""


def main(argv: list[str]) -> int:
    args = _parser().parse_args(argv)
    arguments = json_mapping(args.args, "--args")
    samples = _samples(args)
    checker = _Checker(args, arguments)
    try:
        found = checker.check(samples)
    except RewardError as error:
        raise in_options(error) from error
    finally:
        checker.close()
    if args.input is None and (unscored := next((f for f in found if f.problem.startswith(UNSCORED)), None)):
        raise UserError(
            f"{args.name} has to be asked about rows of its own ({unscored.problem}): give --input FILE, a file whose "
            "rows have a prompt, a completion and the fields that it reads"
        )
    if found:
        print(f"not fit: {counted(len(found), 'problem')}")
        return 1
    print(
        f"fit; score something with it: {program()} score --reward {args.name} --input replies.jsonl --html scores.html"
    )
    return 0


def _parser() -> Parser:
    parser = Parser(
        prog="bot-grpo check-reward",
        description="Check a reward model before it trains anything, and say in plain words what is wrong and where.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("name", metavar="NAME", help="the reward model")
    parser.add_argument("--args", metavar="JSON", default="{}", help="its arguments, as a JSON object")
    parser.add_argument("--input", type=Path, metavar="FILE", help=f"ask about the first {_ROWS} rows of this file too")
    parser.add_argument(
        "--timeout", type=number(above=0), default=60.0, metavar="S", help="seconds for a check (default 60)"
    )
    parser.add_argument(
        "--slow",
        type=number(above=0),
        default=SLOW_S,
        metavar="S",
        help=f"seconds for a thousand tokens (default {SLOW_S:g})",
    )
    parser.add_argument(
        "--tolerance",
        type=number(least=0),
        default=TOLERANCE,
        metavar="X",
        help=f"how far apart two scores of one rollout may lie (default {TOLERANCE:g})",
    )
    return parser


def json_mapping(text: str, name: str) -> dict[str, Any]:
    """A JSON object given on the command line. Raises UserError."""
    try:
        value = json.loads(text)
    except ValueError as error:
        raise UserError(f"{name} is not JSON: {error}") from error
    if not isinstance(value, dict):
        raise UserError(f"{name} is a JSON object of the model's arguments, not {type(value).__name__}")
    return value


def _samples(args: argparse.Namespace) -> dict[str, Rollout]:
    if args.input is None:
        return sample_rollouts()
    from bot_grpo.replies import read_replies

    replies = list(islice(read_replies(args.input), _ROWS))
    rows = "first row" if len(replies) == 1 else f"first {len(replies)} rows"
    print(f"asking about the {rows} of {args.input} too; the samples have the fields of the first row")
    own = {f"row {reply.id}": reply.rollout(pretend_tokens) for reply in replies}
    return {**sample_rollouts(prompt=replies[0].prompt, row=replies[0].row), **own}


class _Checker:
    """Makes the checks in a child, each against a deadline, and prints how each one ends."""

    def __init__(self, args: argparse.Namespace, arguments: Mapping[str, Any]) -> None:
        self._args, self._arguments = args, dict(arguments)
        self._child: Child | None = None

    def close(self) -> None:
        if self._child is not None:
            self._child.close()
            self._child = None

    def check(self, samples: Mapping[str, Rollout]) -> list[Finding]:
        name, bound, spread = self._ask(_facts, timeout_s=self._args.timeout)
        print(f"{name} ({self._args.name}): bound {bound}, spread {spread}; {len(samples)} samples", flush=True)
        found: list[Finding] = []
        for sample, rollout in samples.items():  # one at a time: one that hangs or crashes is known by its name
            found += self._one("alone", {sample: rollout})
        self._say("alone", found)
        fit = {sample: r for sample, r in samples.items() if sample not in {f.where for f in found}}
        if not fit:
            print("nothing is left to make the other checks with (--input gives it rows with fields of their own)")
            return found
        for check in list(CHECKS)[1:]:
            more = self._one(check, fit)
            self._say(check, more)
            found += more
        if self._child is not None:
            seconds = self._ask(seconds_a_thousand_tokens, fit, timeout_s=self._args.timeout)
            print(f"      {seconds:.3f} s a thousand tokens")
        return found

    def _one(self, check: str, samples: Mapping[str, Rollout]) -> list[Finding]:
        where = next(iter(samples)) if check == "alone" else ""
        limits = self._args.tolerance, self._args.slow
        try:
            found: list[Finding] = self._ask(run_check, check, samples, *limits, timeout_s=self._args.timeout)
            return found
        except LateError:
            self.close()
            return [Finding(check, where, f"it did not end within {self._args.timeout:g} s")]
        except GoneError:
            words = self._child.last_words() if self._child is not None else ""
            self.close()
            return [Finding(check, where, f"its process ended{': ' + words if words else ''}")]

    def _ask(self, function: Any, *args: Any, timeout_s: float) -> Any:
        if self._child is None:
            with told_when_slow(f"loading {self._args.name}, for {START_S:g} s at most"):
                self._child = Child(_load, self._args.name, self._arguments)
        return self._child.call(function, *args, timeout_s=timeout_s)

    def _say(self, check: str, found: list[Finding]) -> None:
        print(f"{'WRONG' if found else 'ok':<6}{CHECKS[check][1]}", flush=True)
        for finding in found[:_SHOWN]:
            print(f"      {finding}")
        if len(found) > _SHOWN:
            print(f"      and {len(found) - _SHOWN} more")


def _load(name: str, arguments: Mapping[str, Any]) -> TokenRewardModel:
    return load_reward(name, **arguments)


def _facts(model: Any) -> tuple[str, str, str]:
    try:
        bound = f"{bound_of(model):g}"
    except ValueError:
        bound = "not declared"
    return model_name(model), bound, str(getattr(model, "spread", "every"))
