"""The replies that an audit is made on: drawn in whole groups from a run or a file, with what is known of them."""

from __future__ import annotations

import math
import random
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from bot_grpo.errors import UserError
from bot_grpo.replies import Encoder, Reply, read_replies
from reward_models.audit import Sample
from reward_models.contract import Encoded
from sandbox.words import counted

_KNOWN = frozenset({"step", "kind", "group", "outcome"})  # not for the model to read


@dataclass(frozen=True)
class Found:
    """Samples, what makes tokens of a text, and in words how many there are of what."""

    samples: list[Sample]
    encode: Callable[[str], Encoded]
    about: str


def read_samples(source: Path, tokenizer: str, *, limit: int, seed: int) -> Found:
    """At most `limit` replies in whole groups, drawn at random, in the input's order.

    A group is what a row calls so, of one step; where it says nothing, the replies to one prompt at one step. The input
    is read twice, so that a long run need not fit into memory. Raises UserError.
    """
    groups: dict[str, list[int]] = defaultdict(list)
    for number, reply in enumerate(read_replies(source)):
        _number(reply, "outcome"), _number(reply, "step")  # what is wrong is said before anything is loaded
        groups[_group(reply, number)].append(number)
    chosen = _drawn(list(groups.values()), limit, random.Random(seed))

    from bot_grpo.models import load_tokenizer

    encode = Encoder(load_tokenizer(tokenizer))
    samples = [_sample(reply, number, encode) for number, reply in enumerate(read_replies(source)) if number in chosen]
    return Found(samples, encode, _about(samples, sum(map(len, groups.values()))))


def _drawn(groups: list[list[int]], limit: int, rng: random.Random) -> set[int]:
    chosen: list[int] = []
    for group in rng.sample(groups, len(groups)):
        if len(chosen) + len(group) <= limit:
            chosen += group
    return set(chosen or rng.choice(groups)[:limit])


def _group(reply: Reply, number: int) -> str:
    noted = reply.noted
    name = noted.get("group", reply.prompt or f"row {number}")
    return f"{noted.get('kind', '')}/{noted.get('step', '')}/{name}"


def _sample(reply: Reply, number: int, encode: Callable[[str], Encoded]) -> Sample:
    row = {key: value for key, value in reply.row.items() if key not in _KNOWN}
    step = _number(reply, "step")
    return Sample(
        replace(reply, row=row).rollout(encode),
        name=reply.id,
        outcome=_number(reply, "outcome"),
        group=_group(reply, number),
        step=None if step is None else int(step),
    )


def _number(reply: Reply, name: str) -> float | None:
    value: Any = reply.noted.get(name)
    if value is None or value == "":
        return None
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = float("nan")
    if not math.isfinite(number):
        raise UserError(f"reply {reply.id}: its {name} is {str(value)[:40]!r}, not a number")
    return number


def _about(samples: list[Sample], total: int) -> str:
    groups = len({s.group for s in samples})
    steps = sorted({s.step for s in samples if s.step is not None})
    known = sum(s.outcome is not None for s in samples)
    drawn = f"{len(samples):,} of {total:,} replies" if len(samples) < total else counted(total, "reply", "replies")
    when = f" of steps {steps[0]} to {steps[-1]}" if len(steps) > 1 else f" of step {steps[0]}" if steps else ""
    told = "all" if known == len(samples) else f"{known:,}" if known else "none"
    return f"{drawn} in {counted(groups, 'group')}{when}, {told} with an outcome"
