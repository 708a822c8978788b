"""Problems in the shape of AIME's (the answer is an integer from 0 to 999) that a model of 135M can learn.

They are made on the fly from the templates of `arithmetic_templates`, the same for the same arguments on any machine.
A row, wrapped:

    AIMERow(id="3-train-0-00000", answer=30, source="arithmetic:3",
            problem="Tom buys 4 pens at 5 coins each and pays with 50 coins. How many coins are left?",
            extra={"level": 3, "template": "change", "structure": "s = a * b; t = c - s", "split": "train",
                   "solution": "<step 1>4 * 5 = 20</step 1>\\n<step 2>50 - 20 = 30</step 2>\\n<final>30</final>"})

The sums of a solution are what `reward_models.arithmetic` can check. The test templates work with other chains of
operations than any train template, so no test problem is a train problem with other numbers or words. (At level 1,
where there is but one operation, they ask for another of its three numbers.)
"""

from __future__ import annotations

import random
import re
from collections.abc import Sequence

from tasks.aime import ARITHMETIC, AIMERow
from tasks.aime_format import solution
from tasks.answers import LARGEST
from tasks.arithmetic_templates import ITEMS, NAMES, TEMPLATES, Template
from tasks.errors import TaskError

LEVELS = (1, 2, 3, 4)
SPLITS = ("train", "test")

_DRAWS = 500  # of a template, before it is taken to have no new problem


def problems(level: int, *, split: str = "train", n: int = 1000, seed: int = 0) -> list[AIMERow]:
    """`n` different problems of a level, its templates in turn; fewer are the beginning of more.

    Level 1: one sum of two numbers; 2: two operations; 3: short word problems of two steps; 4: three or four steps,
    with remainders, averages, areas. `extra` has "solution" (as `aime_format.prompt(..., "steps")` asks for it),
    "level", "template", "structure" and "split". Another seed gives other numbers; some problems may be the same.

    Raises TaskError: no such level or split, or more problems than its templates have.
    """
    if level not in LEVELS:
        raise TaskError(f"no level {level!r}: there are {', '.join(map(str, LEVELS))}")
    if split not in SPLITS:
        raise TaskError(f"no split {split!r}: there are {', '.join(SPLITS)}")
    if n < 1:
        raise TaskError(f"n is {n}: it must be at least 1")
    templates = [t for t in TEMPLATES if (t.level, t.split) == (level, split)]
    rng = random.Random(f"{level} {split} {seed}")  # of text: the same in every version of Python
    rows: dict[str, AIMERow] = {}
    turn = 0
    while len(rows) < n:
        template = templates[turn % len(templates)]
        row_id = f"{level}-{split}-{seed}-{len(rows):05d}"
        draws = (_drawn(template, rng, row_id) for _ in range(_DRAWS))
        row = next((row for row in draws if row is not None and row.problem not in rows), None)
        if row is not None:
            rows[row.problem] = row
            turn += 1
            continue
        templates.remove(template)
        if not templates:
            raise TaskError(f"level {level} has only about {len(rows)} {split} problems, not {n}: ask for fewer")
    return list(rows.values())


def _drawn(template: Template, rng: random.Random, row_id: str) -> AIMERow | None:
    """A problem of this template; None where the numbers came out fractional, negative or too large."""
    values = {name: rng.randint(low, high) for name, (low, high) in template.draw.items()}
    words = {"name": rng.choice(NAMES), "items": rng.choice(ITEMS)}
    asked = rng.choice(template.asks)
    steps = work_out(template.work, values)
    if steps is None:
        return None
    answer = list(values.values())[-1]
    extra = {
        "level": template.level,
        "template": template.name,
        "structure": "; ".join(template.work),
        "split": template.split,
        "solution": solution(steps, answer),
    }
    return AIMERow(row_id, asked.format(**values, **words), answer, f"{ARITHMETIC}{template.level}", extra)


_WORK = re.compile(r"(\w) = (\w+) ([-+*/]|//) (\w+)")


def work_out(work: Sequence[str], values: dict[str, int]) -> list[str] | None:
    """The steps "4 * 5 = 20" of `work` ("s = a * b"), whose results are added to `values`.

    A `//` gives no step: the step after it shows what came out. None where a result is no integer from 0 to 999.
    """
    steps = []
    for line in work:
        parts = _WORK.fullmatch(line)
        assert parts is not None, line
        name, left, sign, right = parts.groups()
        a, b = (int(side) if side.isdigit() else values[side] for side in (left, right))
        if sign in ("/", "//") and (b == 0 or (sign == "/" and a % b)):
            return None
        result = {"+": a + b, "-": a - b, "*": a * b}[sign] if sign in "+-*" else a // b
        if not 0 <= result <= LARGEST:
            return None
        values[name] = result
        if sign != "//":
            steps.append(f"{a} {sign} {b} = {result}")
    return steps
