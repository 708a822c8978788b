"""How an answer to an AIME problem is asked for, written and checked: the paper's steps in tags, or a box in free text.

<step 1>12 + 30 = 42</step 1>
<step 2>42 / 2 = 21</step 2>
<final>21</final>
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal, get_args

from tasks.errors import TaskError

Form = Literal["steps", "boxed", "plain"]

_HOW: dict[Form, str] = {
    "steps": (
        "The answer is an integer from 0 to 999. Write the solution as numbered steps, <step 1>...</step 1>, "
        "<step 2>...</step 2> and so on, and after the last step the answer alone as <final>...</final>."
    ),
    "boxed": "Reason step by step. The answer is an integer from 0 to 999: put it at the end in \\boxed{}.",
    "plain": "",
}


def prompt(problem: str, form: Form = "steps") -> str:
    """What the model is asked: the problem, and how to write the answer.

    "steps": the paper's tags; "boxed": free text that ends with a box; "plain": the problem alone. Raises TaskError
    for another form.
    """
    if form not in get_args(Form):
        raise TaskError(f"form is one of {', '.join(get_args(Form))}, not {form!r}")
    return f"{problem}\n\n{_HOW[form]}".strip()


def solution(steps: Sequence[str], answer: int) -> str:
    """A solution as "steps" asks for it."""
    lines = [f"<step {i}>{step}</step {i}>" for i, step in enumerate(steps, 1)]
    return "\n".join([*lines, f"<final>{answer}</final>"])


FormatOf = Literal["perfect", "mismatched", "partial", "none"]

_TAG = re.compile(r"<(/?)(?:step(?:[ \t]{1,4}([0-9]{1,6}))?|(final))[ \t]{0,4}>")
_AROUND = re.compile(r"(?:\s|<\|[\w|]{1,40}\|>|</s>)*")


def format_of(text: str) -> FormatOf:
    """How well the tags of a reply, without its thoughts, keep to the paper's format.

    "perfect": steps 1, 2, ..., each closed by a tag of its number, then one final; none of them is empty, and there is
    nothing but white space around them. "mismatched": a tag that is not closed, closes nothing, has the wrong number or
    is inside of another one, a second final, or a step after it. "none": no tags. "partial": tags that match, but
    something is missing or stands outside of them.
    """
    steps, finals, opened = 0, 0, ""
    at, outside, empty = 0, False, False
    for tag in _TAG.finditer(text):
        closes, number, final = tag.groups()
        name = "final" if final else f"step {number or ''}"
        between = text[at : tag.start()]
        at = tag.end()
        if closes:
            if name != opened:
                return "mismatched"
            opened, empty = "", empty or not between.strip()
            continue
        if opened or finals or not (final or number == str(steps + 1)):
            return "mismatched"
        opened, outside = name, outside or bool(between.strip())
        steps, finals = steps + (not final), finals + bool(final)
    if opened:
        return "mismatched"
    if not steps and not finals:
        return "none"
    whole = steps and finals and not outside and not empty and _AROUND.fullmatch(text, at)
    return "perfect" if whole else "partial"
