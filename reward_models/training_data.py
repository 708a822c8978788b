"""Labelled text to learn a reward model from: rows of several kinds, as completions with marks on their characters.

spans           prompt, completion, spans: [[start, end, value(, reason)], ...] or {start, end, value(, reason)}
steps           prompt, completions (the steps), labels (TRL's Math-Shepherd and PRM800K)
Math-Shepherd   input, label: the same text, ки after each step of the one where + or - stands in the other
PRM800K         question.problem, label.steps[].completions[] with text and rating
a run's rows    a compiler's `diagnostics`, or else `local` rewards on tokens, whose signs are taken
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reward_models.base import Span
from reward_models.errors import RewardError
from reward_models.plain_settings import is_number
from sandbox.extract import extract
from sandbox.outcome import Status
from tasks.base import prompt_text

WRONG, UNKNOWN, RIGHT = -1, 0, 1
"""Labels of a character."""

_JUDGED = {Status.OK, Status.BLANK, Status.COMPILE_ERROR, Status.IMPORT_ERROR, Status.RUNTIME_ERROR}
_TAG = "ки"
_BETWEEN = "\n\n"  # steps that come as a list


@dataclass(frozen=True)
class Example:
    """A completion and what is known of it: a mark below 0 is wrong, above 0 right, 0 unknown. `unmarked` is the label
    of the characters in no mark; `split`, what parts its steps."""

    problem: str
    completion: str
    marks: tuple[Span, ...]
    unmarked: int = UNKNOWN
    split: str = "\n"


def examples_of(record: Mapping[str, Any], where: str, *, unmarked: int = RIGHT) -> list[Example]:
    """The examples that a row holds; none where nobody judged it.

    Args:
        record: the row, by column.
        where: its file and number, for messages.
        unmarked: what a row with spans says of the characters outside of them.

    Raises:
        RewardError: a row of no known kind, or with something wrong in it; one line that begins with `where`.
    """
    for columns, read in _KINDS:
        if all(record.get(name) is not None for name in columns):
            try:
                return read(record, unmarked)
            except (TypeError, ValueError, KeyError, IndexError, AttributeError) as error:
                problem = str(error) if isinstance(error, _RowError) else f"its columns do not fit ({error!r})"
                raise RewardError(f"{where}: {problem}") from error
    kinds = "; ".join(" + ".join(columns) for columns, _ in _KINDS)
    raise RewardError(f"{where} has {', '.join(map(str, record)) or 'no column'}; a labelled row has {kinds}")


def character_labels(example: Example, *, first: bool = True) -> NDArray[np.int8]:
    """The label of each character. Where marks overlap, wrong wins. `first`: what follows the first wrong mark is
    unknown, as nobody can say what is right after a mistake (so are steps dropped in 2501.07301, section 2.2)."""
    labels = np.full(len(example.completion), example.unmarked, dtype=np.int8)
    for wanted in (UNKNOWN, RIGHT, WRONG):
        for start, end, value, _ in example.marks:
            if np.sign(value) == wanted:
                labels[start:end] = wanted
    wrong = [(m.start, m.end) for m in example.marks if m.value < 0]
    if first and wrong:
        labels[min(wrong)[1] :] = UNKNOWN
    return labels


class _RowError(ValueError):
    """What is wrong with a row, in words."""


def _text(value: Any, name: str) -> str:
    """A text, or chat messages of which the last one counts."""
    if isinstance(value, Sequence) and not isinstance(value, str) and value and isinstance(value[-1], Mapping):
        value = value[-1].get("content")
    if not isinstance(value, str):
        raise _RowError(f"{name} is {type(value).__name__}, not a text")
    return value


def _problem(record: Mapping[str, Any]) -> str:
    return prompt_text(record["prompt"]) or ""


# -- rows with spans, and a run's rows ---------------------------------------------------------------------------------


def _of_spans(record: Mapping[str, Any], unmarked: int) -> list[Example]:
    text = _text(record["completion"], "completion")
    marks = tuple(_mark(span, n, len(text)) for n, span in enumerate(record["spans"], 1))
    return [Example(_problem(record), text, marks, unmarked)]


def _mark(span: Any, number: int, length: int) -> Span:
    if isinstance(span, Mapping):
        span = [span.get("start"), span.get("end"), span.get("value"), span.get("reason", "")]
    if not isinstance(span, Sequence) or isinstance(span, str) or not 3 <= len(span) <= 4:
        raise _RowError(f"span {number} is {span!r}, not [start, end, value]")
    start, end, value = span[:3]
    whole = all(isinstance(n, int) and not isinstance(n, bool) for n in (start, end))
    if not whole or not 0 <= start < end <= length:
        raise _RowError(f"span {number} is [{start}, {end}), which is not inside the completion's {length} characters")
    if not is_number(value):
        raise _RowError(f"the value of span {number} is {value!r}, not a number: below 0 is wrong, above 0 right")
    return Span(start, end, float(value), str(span[3]) if len(span) > 3 else "")


def _of_verdict(record: Mapping[str, Any], unmarked: int) -> list[Example]:
    """Wrong is a line that an error names, from the column it names; the rest is right. (What stands before it in the
    line is no mistake, and nothing could be learned from it.) A reply with no component in it says nothing of lines."""
    if record["status"] not in _JUDGED:
        return []
    text = _text(record["completion"], "completion")
    errors = [d for d in record["diagnostics"] or () if d["severity"] != "warning" and d["source"] != "eslint"]
    found = extract(text)
    starts = [*found.line_starts, len(text)]  # the last line's mark ends with the reply, as its penalty does
    marks = []
    for line, column, message in sorted((d["line"], d["column"], d["message"]) for d in errors):
        if 1 <= line < len(starts) and starts[line - 1] < starts[line]:
            start = min(found.offset(line, column), starts[line] - 1)
            marks.append(Span(start, starts[line], -1.0, message))
    failed = record["status"] not in (Status.OK, Status.BLANK)
    return [Example(_problem(record), text, tuple(marks), RIGHT)] if marks or not failed else []


def _of_rewards(record: Mapping[str, Any], unmarked: int) -> list[Example]:
    """Any other run's row: the sign of the local reward on each token."""
    if record.get("scored") is False:
        return []
    text = _text(record["completion"], "completion")
    pairs = zip(record["spans"], record["local"], strict=True)
    marks = tuple(Span(a, b, float(value)) for (a, b), value in pairs if a < b)
    if marks and marks[-1].end > len(text):
        raise _RowError("its tokens reach beyond its completion")
    return [Example(_problem(record), text, marks, UNKNOWN)]


# -- rows with steps ---------------------------------------------------------------------------------------------------


def _joined(problem: str, steps: Sequence[str], labels: Sequence[int], between: str) -> Example:
    """Steps as one text; what parts two of them belongs to the first, as a step's score may sit there."""
    marks, start = [], 0
    for n, (step, label) in enumerate(zip(steps, labels, strict=True), 1):
        end = start + len(step) + (len(between) if n < len(steps) else 0)
        if start < end:
            marks.append(Span(start, end, float(label)))
        start = end
    return Example(problem, between.join(steps), tuple(marks), UNKNOWN, between)


def _of_steps(record: Mapping[str, Any], unmarked: int) -> list[Example]:
    steps = [_text(step, "a step") for step in record["completions"]]
    labels = list(record["labels"])
    if len(steps) != len(labels):
        raise _RowError(f"{len(steps)} steps in completions but {len(labels)} labels")
    if any(label not in (True, False, 0, 1) for label in labels):
        raise _RowError("a label is not true or false")
    return [_joined(_problem(record), steps, [RIGHT if x else WRONG for x in labels], _BETWEEN)]


def _of_shepherd(record: Mapping[str, Any], unmarked: int) -> list[Example]:
    """A problem and its steps in one text; the first step begins at the last "Step 1:" before the first tag."""
    *parts, _ = _text(record["input"], "input").split(_TAG)
    marked, place, labels = _text(record["label"], "label"), 0, []
    for n, part in enumerate(parts, 1):
        place += len(part)
        sign = marked[place : place + 1]
        if not marked[:place].endswith(part) or sign not in ("+", "-"):
            raise _RowError(f"label has no + or - where input has its tag number {n}")
        labels.append(RIGHT if sign == "+" else WRONG)
        place += 1
    begin = parts[0].rfind("Step 1:") if parts else -1
    if begin < 0:
        raise _RowError(f'input has no "Step 1:" that ends with {_TAG}')
    steps = [parts[0][begin:].strip(), *(part.strip() for part in parts[1:])]
    return [_joined(parts[0][:begin].strip(), steps, labels, "\n")]


def _of_prm800k(record: Mapping[str, Any], unmarked: int) -> list[Example]:
    """The way that was chosen, and each other completion of a step after the steps before it, which count once.

    Ratings of 0 (neutral) count as right, as in 2305.20050, appendix; a completion without one is unknown.
    """
    problem = _text(record["question"]["problem"], "question.problem")
    done: list[str] = []
    ratings: list[int] = []
    out: list[Example] = []
    for step in record["label"]["steps"]:
        offered, chosen = step["completions"] or [], step.get("chosen_completion")
        texts = [_text(c["text"], "a step's text") for c in offered]
        labels = [{None: UNKNOWN, -1: WRONG, 0: RIGHT, 1: RIGHT}[c.get("rating")] for c in offered]
        for n, (text, label) in enumerate(zip(texts, labels, strict=True)):
            if n != chosen and label != UNKNOWN:
                before = [UNKNOWN] * len(done)
                out.append(_joined(problem, [*done, text], [*before, label], _BETWEEN))
        if chosen is not None:
            done, ratings = [*done, texts[chosen]], [*ratings, labels[chosen]]
        elif step.get("human_completion"):
            human = step["human_completion"]
            done.append(_text(human["text"] if isinstance(human, Mapping) else human, "human_completion"))
            ratings.append(RIGHT)  # written to go on from there
        else:
            break
    return [_joined(problem, done, ratings, _BETWEEN), *out] if done else out


_KINDS: tuple[tuple[tuple[str, ...], Callable[[Mapping[str, Any], int], list[Example]]], ...] = (
    (("prompt", "completion", "status", "diagnostics"), _of_verdict),
    (("prompt", "completion", "spans", "local"), _of_rewards),
    (("prompt", "completion", "spans"), _of_spans),
    (("prompt", "completions", "labels"), _of_steps),
    (("input", "label"), _of_shepherd),
    (("question", "label"), _of_prm800k),
)
"""Columns by which a row is known, and what reads it; the first that fits."""


def distinct(examples: Sequence[Example]) -> Iterator[Example]:
    """Examples without those that were there before, text and marks alike: a policy repeats itself."""
    seen = set()
    for example in examples:
        key = example.problem, example.completion, example.marks
        if key not in seen:
            seen.add(key)
            yield example
