"""Whether a reply to an AIME problem is right: its final answer, and the integer from 0 to 999 that it should be.

Nothing here is evaluated, executed or looked for twice, so a reply costs its length once, whatever is in it. For other
mathematics than integers there is `tasks.equivalence`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from tasks.errors import TaskError
from tasks.integers import MAX_LENGTH, NO_NUMBER, Reading, read_integer

LARGEST = 999

RIGHT = "right"
ANOTHER = "another integer"
OUT_OF_RANGE = "not from 0 to 999"
TRUNCATED = "truncated"
UNFINISHED = "an unfinished thought"
UNCLOSED_BOX = "an unclosed box"
UNCLOSED_TAG = "an unclosed tag"
NO_ANSWER = "no final answer"
"""Reasons of a `Grade`, beside those of `tasks.integers`: a fixed set, so that they can be counted."""


@dataclass(frozen=True)
class Grade:
    """How one reply fared.

    Attributes:
        correct: whether the final answer is the gold.
        answer: the final answer, an integer as "204", anything else as it was written, on one line and cut to 100
            characters; None where there is none, or the reply was cut off.
        reason: "right", or what is wrong, out of a fixed set.
        boxed: whether there is a complete box after the last thought.
    """

    correct: bool
    answer: str | None
    reason: str
    boxed: bool = False


def grade(reply: str, gold: int, *, truncated: bool = False) -> Grade:
    """Grades one reply; never raises for what a reply holds, and takes time linear in its length.

    The final answer is the last complete `\\boxed{}` (or `\\fbox{}`) after the last end of reasoning (`</think>` and
    its kin). Where there is no box it is what the last `<final>` or `<answer>` tag holds, or the paper's `(final)` is
    followed by; where there is none of these, what a plain closing sentence says ("The answer is 204."). An unclosed
    box or tag, an unfinished thought and a truncated reply are wrong.

    Raises TaskError: the gold is no integer from 0 to 999.
    """
    if isinstance(gold, bool) or not isinstance(gold, int) or not 0 <= gold <= LARGEST:
        raise TaskError(f"the gold is {gold!r}: it should be an integer from 0 to {LARGEST}")
    said, boxed, reason = final_answer(reply)
    if truncated:
        return Grade(False, None, TRUNCATED, boxed)
    if said is None:
        return Grade(False, None, reason, boxed)
    reading = read_integer(said)
    if reading.value is None:
        return Grade(False, " ".join(said.split())[:100] or None, reading.reason, boxed)
    correct = reading.value == gold
    wrong = ANOTHER if reading.value <= LARGEST else OUT_OF_RANGE
    return Grade(correct, _shown(reading.value), RIGHT if correct else wrong, boxed)


def final_answer(reply: str) -> tuple[str | None, bool, str]:
    """(the text of the final answer or None, whether it stands in a box, why there is none)."""
    start, thinking = _after_thoughts(reply)
    if thinking:
        return None, False, UNFINISHED
    box, open_box = _last_box(reply, start)
    if open_box:
        return None, False, UNCLOSED_BOX
    if box is not None:
        return box, True, ""
    tag, open_tag = _last_tag(reply, start)
    if open_tag:
        return None, False, UNCLOSED_TAG
    answer = tag if tag is not None else _closing_sentence(reply[max(start, len(reply) - MAX_LENGTH) :])
    return answer, False, "" if answer is not None else NO_ANSWER


def gold_integer(value: object) -> int | None:
    """The gold as data sets write it: 25, 25.0, "025", `336^\\circ`, "$33$", a solution that ends in `\\boxed{204}`.

    None for what names no integer from 0 to 999.
    """
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int | str):
        return None
    reading = Reading(value) if isinstance(value, int) else read_integer(value)
    if reading.value is None and isinstance(value, str):
        box, _ = _last_box(value, 0)
        reading = read_integer(box) if box is not None else NO_NUMBER
    return reading.value if reading.value is not None and 0 <= reading.value <= LARGEST else None


def _shown(value: int) -> str:
    return str(value) if value <= 10**30 else "a large number"


# -- thoughts ----------------------------------------------------------------------------------------------------------

_NAMES = ("think", "thinking", "thought", "thoughts", "reasoning", "reflection", "antthinking", "seed:think")
_THOUGHTS = (
    *((name.removeprefix("ant").removeprefix("seed:"), f"<{name}>", f"</{name}>") for name in _NAMES),
    ("THINK]", "[THINK]", "[/THINK]"),
    ("think▷", "◁think▷", "◁/think▷"),
    ("_of_thought|>", "<|begin_of_thought|>", "<|end_of_thought|>"),
    ("_THINKING|>", "<|START_THINKING|>", "<|END_THINKING|>"),
    ("<|channel|>", "<|channel|>analysis<|message|>", "<|channel|>final<|message|>"),
)
"""(what both marks hold, how a thought begins, how it ends). Each is looked for by itself, from the end, since a single
pattern for all of them is slow on a reply full of `<`."""


def after_thoughts(reply: str) -> int:
    """Where the last thought of a reply has ended; 0 where there is none, its length in one that has not ended."""
    start, thinking = _after_thoughts(reply)
    return len(reply) if thinking else start


def _after_thoughts(reply: str) -> tuple[int, bool]:
    """(where the last thought has ended, whether one has begun since)."""
    begun, ended = -1, 0
    for core, begins, ends in _THOUGHTS:
        if core in reply:
            begun = max(begun, reply.rfind(begins))
            last = reply.rfind(ends)
            ended = max(ended, last + len(ends) if last >= 0 else 0)
    return ended, begun >= ended


# -- boxes -------------------------------------------------------------------------------------------------------------

_BOX = re.compile(r"\\(?:boxed|fbox)\s{0,20}\{")
_BRACE = re.compile(r"\\.|[{}]", re.DOTALL)
_MENTIONS = 1000  # "box" without a brace after it
_NESTED = 8


def _last_box(text: str, start: int) -> tuple[str | None, bool]:
    """(what the last box holds, whether it isn't closed); a box inside of others belongs to the outermost."""
    box = _box_before(text, len(text), start)
    if box is None:
        return None, False
    end = _closed(text, box.end())
    if end is None:
        return None, True
    content, opening, nearby = text[box.end() : end], box, max(start, box.start() - MAX_LENGTH)
    for _ in range(_NESTED):
        before = _box_before(text, opening.start(), nearby)
        if before is None:
            break
        opening, closes = before, _closed(text, before.end())
        if closes is not None and closes > end:
            content, end = text[before.end() : closes], closes
    return content, False


def _box_before(text: str, end: int, start: int) -> re.Match[str] | None:
    """The last opening of a box in text[start:end]."""
    for _ in range(_MENTIONS):
        end = text.rfind("box", start, end)
        if end < 0:
            return None
        for back in (1, 2):  # \boxed and \fbox
            if end - back >= start and (box := _BOX.match(text, end - back)):
                return box
    return None


def _closed(text: str, start: int) -> int | None:
    """Where the brace is that closes what is open at `start`; None where none is near enough."""
    depth = 1
    for mark in _BRACE.finditer(text, start, min(len(text), start + MAX_LENGTH + 1)):
        depth += {"{": 1, "}": -1}.get(mark[0], 0)
        if not depth:
            return mark.start()
    return None


# -- tags and sentences ------------------------------------------------------------------------------------------------

_TAGS = ("final", "answer", "final_answer")


def _last_tag(text: str, start: int) -> tuple[str | None, bool]:
    """(what the last tag of an answer holds, whether it isn't closed)."""
    opened = max((text.rfind(f"<{name}>", start), name) for name in _TAGS)
    mark = text.rfind("(final)", start)
    if mark > opened[0]:
        return text[mark + len("(final)") : mark + len("(final)") + MAX_LENGTH + 1], False
    if opened[0] < 0:
        return None, False
    inside = opened[0] + len(opened[1]) + 2
    closes = text.find(f"</{opened[1]}>", inside)
    return (None, True) if closes < 0 else (text[inside : min(closes, inside + MAX_LENGTH + 1)], False)


_SPECIAL = re.compile(r"<[|/]?[\w|｜▁ ]{1,40}[|/]?>")
_CUE = re.compile(
    r"\banswers?\b[^.\n:=?!]{0,80}?(?:\b(?:is|are|was|equals)\b|[:=：])|答案[^\n\d]{0,20}?[是为為:：]{1,2}"
    r"|\banswer\b[*_]{0,3}[ \t]{0,9}\n(?=[\s*_$\\([]{0,20}\d)|^####(?=[ \t]{0,9}[-+$\\]{0,2}\d)",
    re.IGNORECASE | re.MULTILINE,
)
_SETTING = re.compile(r"(?:[\s*_:$]|\\[(\[])*")
_SENTENCE_END = re.compile(r"\n|[.!?](?=\s|$)|。|$")
_CLAUSE = re.compile(r",?\s+(?:which|since|because|as|where|so|obtained|given)\b.*", re.DOTALL | re.IGNORECASE)
_TAKEN_BACK = re.compile(
    r"\d|\b(?:wait|wrong|incorrect|mistaken?|however|actually|but|instead|no|not)\b", re.IGNORECASE
)


def _closing_sentence(tail: str) -> str | None:
    """What the last "the answer is ..." of the tail says, if nothing of weight comes after it."""
    tail = _SPECIAL.sub(" ", tail).rstrip()
    cues = list(_CUE.finditer(tail))
    if not cues:
        return None
    setting = _SETTING.match(tail, cues[-1].end())
    ends = _SENTENCE_END.search(tail, begins := setting.end() if setting else cues[-1].end())
    assert ends is not None
    if ends[0] == "?" or _TAKEN_BACK.search(tail, ends.end()):
        return None
    said = tail[begins : ends.start()]
    return said if read_integer(said).value is not None else _CLAUSE.sub("", said)
