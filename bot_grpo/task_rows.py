"""The rows of a run: what each task trains on and is held to, in the one shape that a run needs."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from bot_grpo.config import BoTGRPOConfig
from bot_grpo.errors import UserError
from bot_grpo.reward_sources import RunReward
from tasks import aime, react
from tasks.aime_format import Form, solution
from tasks.overlap import overlaps

Messages = list[dict[str, str]]

OWN_REWARD = {"react": "compiler", "aime": "aime"}
"""The tasks, and the built-in reward model that is a task's own."""


@dataclass(frozen=True)
class TaskRow:
    """A prompt as the user says it, what the reward model sees of the row, and an answer to learn from, if any."""

    id: str
    prompt: str
    row: Mapping[str, Any]
    reference: str | None = None


def check_settings(args: BoTGRPOConfig) -> None:
    """What a run would refuse of its task and its own reward, as far as neither data nor plug-ins are opened.

    Raises UserError, TaskError, RewardError.
    """
    args.make_algorithm()
    _check_task(args)
    if args.task == "react":
        react.check_tier(args.tier or None)
    if not args.rewards:
        RunReward((), dict(args.reward_settings or {}), own=OWN_REWARD[args.task])  # type: ignore[arg-type]  # parsed by now


def load_rows(args: BoTGRPOConfig) -> tuple[list[TaskRow], list[TaskRow]]:
    """Training rows, and `eval_prompts` held-out rows taken evenly over all there are.

    Raises UserError, TaskError.
    """
    _check_task(args)
    if args.columns and not args.prompts:
        raise UserError("columns names those of your own `prompts`: give them too, or leave it out")
    load = {"react": _react, "aime": _aime}[args.task]
    return load(args, "train"), spread(load(args, "test"), args.eval_prompts) if args.eval_prompts else []


def _check_task(args: BoTGRPOConfig) -> None:
    if args.task not in OWN_REWARD:
        raise UserError(f"no task {args.task!r}; there are: {', '.join(OWN_REWARD)}")


def spread(rows: Sequence[TaskRow], n: int) -> list[TaskRow]:
    """`n` rows taken evenly over the whole list, so that every family of prompts has its share."""
    if n >= len(rows):
        return list(rows)
    return [rows[i * len(rows) // n] for i in range(n)]


def messages(args: BoTGRPOConfig, prompt: str) -> Messages:
    """The chat that is sampled from."""
    system = [{"role": "system", "content": args.system_prompt}] if args.system_prompt else []
    return [*system, {"role": "user", "content": prompt}]


def _columns(args: BoTGRPOConfig) -> Mapping[str, str] | None:
    return args.columns if isinstance(args.columns, dict) else None


def _react(args: BoTGRPOConfig, split: str) -> list[TaskRow]:
    held_out = split == "test" and args.eval_source
    path = args.eval_source if held_out else args.prompts
    found = react.load_react(
        split=None if held_out else split, tier=args.tier or None, path=path, columns=_columns(args)
    )
    return [TaskRow(row.id, row.prompt, row.to_dict(), row.reference) for row in found]


def _aime(args: BoTGRPOConfig, split: str) -> list[TaskRow]:
    held_out = split == "test" and args.eval_source
    source = (args.eval_source if held_out else args.prompts) or "arithmetic:1"
    found = aime.load(source, split=None if held_out else split, columns=_columns(args))
    form = cast(Form, args.answer_form)
    return [TaskRow(row.id, aime.prompt(row.problem, form), row.to_dict(), _reference(args, row)) for row in found]


def _reference(args: BoTGRPOConfig, row: aime.AIMERow) -> str | None:
    """The row's solution; of a share `cold_start_direct` of the rows, always the same ones, the answer alone."""
    steps: str | None = row.extra.get("solution")
    if steps is None or random.Random(row.id).random() >= args.cold_start_direct:
        return steps
    return solution([], row.answer)


def seen_before(train: Sequence[TaskRow], held_out: Sequence[TaskRow]) -> str:
    """A line that names held-out AIME problems which are training problems too, in most of their words; "" for none."""
    known, asked = ({row.id: row.row["problem"] for row in rows if "problem" in row.row} for rows in (train, held_out))
    found = {pair.evaluation: pair for pair in reversed(overlaps(known, asked))}
    if not found:
        return ""
    pairs = ", ".join(f"{p.evaluation} is {p.train} ({p.share:.0%})" for p in list(found.values())[::-1][:3])
    return (
        f"{len(found)} of {len(held_out)} held-out problems share at least half of their 8-grams with a training "
        f"problem: {pairs}{', ...' if len(found) > 3 else ''}"
    )
