"""Marks for the steps of a solution by its sums alone, without a model: are both sides of a `=` the same number?

Sides are worked out as exact fractions, in time linear in the text; nothing is ever executed. A reader of text cannot
know that "10 mod 3 = 1" does not claim 3 = 1, so what isn't plainly a sum is left alone: a side with a letter in it, or
one that a word such as "mod" reaches into, and two plain numbers. 0 thus means "nothing to check" (often so), and -1 is
seldom wrong.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import pairwise
from typing import NamedTuple

from reward_models.arithmetic_text import Side, Token, chains
from reward_models.base import Answer, Rollout, Unscored
from reward_models.step_marks import Mark, check_marks, marks_signal
from reward_models.step_text import Split, SplitError, check_split, split_steps

MAX_BITS = 1024
"""A side is left alone when a numerator or denominator gets longer, or an exponent larger than this."""


@dataclass
class ArithmeticReward:
    """+1 for a step whose equations all hold, -1 for one with an equation that doesn't, 0 where there is none.

    Args:
        split, min_chars, max_steps: how steps are found (`reward_models.step_text.split_steps`).
        rounding: whether a decimal that rounds the exact value to its own last digit is right (10/3 = 3.33).
        propagation, window: how marks become rewards (`reward_models.step_marks`). By default every step counts for
            itself: a sum is right or wrong whatever stood before it.
    """

    split: Split = "\n"
    min_chars: int = 1
    max_steps: int | None = None
    rounding: bool = True
    propagation: str = "independent"
    window: int = 1
    bound: float = field(default=1.0, init=False)
    spread: str = field(default="every", init=False)

    def __post_init__(self) -> None:
        check_split(self.split)
        check_marks(self.propagation, self.window)

    def score(self, rollouts: Sequence[Rollout]) -> list[Answer]:
        """One signal a rollout, of local rewards alone; unscored where the steps could not be found."""
        return [self._one(r.completion) for r in rollouts]

    def _one(self, text: str) -> Answer:
        try:
            steps = split_steps(text, self.split, min_chars=self.min_chars, max_steps=self.max_steps)
        except SplitError as error:
            return Unscored(str(error))
        marks = [step_mark(text[s.text_start : s.text_end], rounding=self.rounding) for s in steps]
        return marks_signal(steps, marks, propagation=self.propagation, window=self.window, name="arithmetic")


class Check(NamedTuple):
    """An equation at characters [start, end), the numbers that its sides come to, and whether they are the same."""

    start: int
    end: int
    left: Fraction
    right: Fraction
    holds: bool


def step_mark(text: str, *, rounding: bool = True) -> Mark:
    """(+1, 0 or -1, why): the first equation that doesn't hold, or how many do."""
    checks = check_equations(text, rounding=rounding)
    for check in checks:
        if not check.holds:
            return -1, f"{' '.join(text[check.start : check.end].split())[:120]} (is {_shown(check.left)})"
    return (1, f"{len(checks)} right") if checks else (0, "")


def check_equations(text: str, *, rounding: bool = True) -> list[Check]:
    """Each `a = b` in `text` that can be checked; of a chain a = b = c, each pair of neighbours."""
    checks = []
    for chain in chains(text):
        values = [None if side is None else evaluate(side.tokens) for side in chain]
        for (left, a), (right, b) in pairwise(zip(chain, values, strict=True)):
            if left is None or right is None or a is None or b is None or not (left.worked_out or right.worked_out):
                continue
            slack = max(_half_a_digit(left), _half_a_digit(right)) if rounding else Fraction(0)
            checks.append(Check(left.tokens[0].start, right.tokens[-1].end, a, b, abs(a - b) <= slack))
    return checks


def _half_a_digit(side: Side) -> Fraction:
    """How far off a number may be that was rounded as it was written."""
    return (side.precision or Fraction(0)) / 2


_BINDS = {"+": 1, "-": 1, "*": 2, "/": 2, "negate": 3, "^": 4, "over": 5}
_BARRIERS = ("(", "frac")


class _LeftAloneError(Exception):
    """This side cannot be worked out, or will not be."""


def evaluate(tokens: Sequence[Token]) -> Fraction | None:
    """The value of a side by the usual rules of precedence, `2(3)` and `(2)(3)` being products.

    None: no well-formed expression, a division by zero, or numbers beyond MAX_BITS.
    """
    values: list[Fraction] = []
    waiting: list[str] = []
    wanted = True  # whether an operand comes next
    try:
        for token in tokens:
            kind = token.kind
            if waiting and waiting[-1] == "over" and wanted and kind != "(":
                return None
            if wanted and kind == "number" and token.value is not None:
                values.append(token.value)
                wanted = False
            elif wanted and kind in ("(", "-", "frac"):
                waiting.append("negate" if kind == "-" else kind)
            elif wanted and kind == "+":
                continue
            elif wanted:
                return None
            elif kind == "%":
                values[-1] /= 100
            elif kind == ")":
                _apply_down_to(0, values, waiting)
                if not waiting or waiting.pop() != "(":
                    return None
                if waiting and waiting[-1] == "frac":  # that was its numerator
                    waiting[-1] = "over"
                    wanted = True
            elif kind == "(" and not (waiting and waiting[-1] == "/"):  # 6/2(3) means two things
                _apply_down_to(_BINDS["*"], values, waiting)
                waiting += ["*", "("]
                wanted = True
            elif kind in _BINDS:
                _apply_down_to(_BINDS[kind] + (kind == "^"), values, waiting)
                waiting.append(kind)
                wanted = True
            else:
                return None
        if wanted:
            return None
        _apply_down_to(0, values, waiting)
    except _LeftAloneError:
        return None
    return values[0] if len(values) == 1 and not waiting else None


def _apply_down_to(binds: int, values: list[Fraction], waiting: list[str]) -> None:
    """Apply the operators that wait and bind at least so tightly, back to the last open bracket."""
    while waiting and waiting[-1] not in _BARRIERS and _BINDS[waiting[-1]] >= binds:
        operator = waiting.pop()
        right = values.pop()
        values.append(-right if operator == "negate" else _applied(operator, values.pop(), right))


def _applied(operator: str, a: Fraction, b: Fraction) -> Fraction:
    if operator == "^":
        result = _power(a, b)
    elif operator in ("/", "over"):
        if not b:
            raise _LeftAloneError
        result = a / b
    else:
        result = a + b if operator == "+" else a - b if operator == "-" else a * b
    if _bits(result) > MAX_BITS:
        raise _LeftAloneError
    return result


def _power(a: Fraction, b: Fraction) -> Fraction:
    exponent = b.numerator
    if b.denominator != 1 or abs(exponent) > MAX_BITS or _bits(a) * abs(exponent) > MAX_BITS or not (a or exponent > 0):
        raise _LeftAloneError
    return Fraction(a**exponent)


def _bits(number: Fraction) -> int:
    return max(number.numerator.bit_length(), number.denominator.bit_length())


def _shown(number: Fraction) -> str:
    if number.denominator == 1:
        return str(number.numerator) if _bits(number) < 100 else "a large number"
    short = f"{number.numerator}/{number.denominator}" if _bits(number) < 40 else ""
    return f"{short} = {float(number):.6g}" if short else f"{float(number):.6g}"
