"""Find the equations in a text: tokens, runs of tokens around a `=`, and which of their sides can be trusted.

Linear in the text: one pass of a scanner none of whose patterns looks far ahead, and a short look at what stands before
and after each run.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import NamedTuple

MAX_DIGITS = 40
"""A longer number is not read."""


class Token(NamedTuple):
    """`kind` is number, frac (two bracketed parts follow), one of `+ - * / ^ % ( ) =`, or "" for no arithmetic."""

    kind: str
    start: int
    end: int
    value: Fraction | None = None
    decimals: int = 0


class Side(NamedTuple):
    """One side of a `=`."""

    tokens: Sequence[Token]

    @property
    def worked_out(self) -> bool:
        """Whether there is something to work out: not for a number, a signed number or a percentage."""
        return sum(t.kind == "number" for t in self.tokens) > 1

    @property
    def precision(self) -> Fraction | None:
        """What one in the last digit of a single number is worth; None for anything else, and for whole numbers."""
        numbers = [t for t in self.tokens if t.kind == "number"]
        percent = self.tokens[-1].kind == "%"
        if len(numbers) != 1 or not (numbers[0].decimals or percent):
            return None
        return Fraction(1, 10 ** numbers[0].decimals * (100 if percent else 1))


def chains(text: str) -> Iterator[list[Side | None]]:
    """The sides of each a = b = c in `text`; None for a side that stands in something else than a plain sum."""
    for run in _runs(tokens(text)):
        sides: list[list[Token]] = [[]]
        for token in run:
            if token.kind == "=":
                sides.append([])
            else:
                sides[-1].append(token)
        if len(sides) > 1:
            middle = [Side(s) if s and not _unmatched(s) else None for s in sides[1:-1]]
            yield [_first(sides[0], text), *middle, _last(sides[-1], text)]


def _runs(all_tokens: Sequence[Token]) -> Iterator[list[Token]]:
    run: list[Token] = []
    for token in all_tokens:
        if token.kind:
            run.append(token)
        elif run:
            yield run
            run = []
    if run:
        yield run


# -- the scanner -------------------------------------------------------------------------------------------------------

_TOKEN = re.compile(
    r"""
    (?P<mark>^[ \t]*(?:[-*+•][ \t]+|\(?[0-9]{1,3}[.)][ \t]+))       # a bullet, or the number of an item
  | (?P<space>[ \t]*(?:\\\\[ \t]*)?\n[ \t]*(?=&?[ \t]*=[^>])         # a line that goes on with =
      |[ \t]+|\\[,;:!\ ]|\\q?quad(?![a-zA-Z])|&|\\left(?![a-zA-Z])|\\right(?![a-zA-Z])|\\boxed(?![a-zA-Z])
      |\\?[$€£](?=[ \t]?[0-9.]))
  | (?P<number>[0-9]{1,3}(?:(?:,|\{,\})[0-9]{3})+(?![0-9])(?:\.[0-9]+)?|[0-9]+(?:\.[0-9]+)?|\.[0-9]+)
  | (?P<digits>\\[dt]?frac[ \t]*[0-9][ \t]*[0-9])                    # \frac12
  | (?P<frac>\\[dt]?frac(?=[ \t]*\{))
  | (?P<other>[=-]{1,4}>|[!<>:≠≤≥~]=|=[<!~])                         # arrows, and what compares otherwise
  | (?P<equals>==?)
  | (?P<percent>\\?%)
  | (?P<power>\*\*|\^)
  | (?P<super>[²³])
  | (?P<times>[*×·⋅∗]|\\times(?![a-zA-Z])|\\cdot(?![a-zA-Z])|[xX](?=[ \t]*[0-9(.]))
  | (?P<of>of\b)
  | (?P<over>/(?!/)|÷|\\div(?![a-zA-Z]))
  | (?P<sign>[+−-])
  | (?P<open>[(\[{])
  | (?P<close>[)\]}])
  | (?P<word>\\?[^\W\d_]+)
    """,
    re.VERBOSE | re.MULTILINE,
)
_OPERAND_FOLLOWS = re.compile(r"[ \t]*(?:[0-9.({\[\\+−-]|[$€£])")
_PLAIN = {"equals": "=", "percent": "%", "over": "/", "open": "(", "close": ")", "frac": "frac"}


def tokens(text: str) -> list[Token]:
    """All tokens of `text` in their order; white space and what only sets type (`&`, `\\left`) has none."""
    out: list[Token] = []
    at = 0
    while at < len(text):
        found = _TOKEN.match(text, at)
        start, at = at, found.end() if found is not None else at + 1
        if found is None:
            out.append(Token("", start, at))
        elif found.lastgroup != "space":
            out += _read(str(found.lastgroup), found[0], start, at, text, out[-1].kind if out else "")
    return out


def _read(kind: str, word: str, start: int, end: int, text: str, before: str) -> list[Token]:
    """What a word of the text stands for, after a token of the kind `before`."""
    after_operand = before in ("number", "%", ")")
    match kind:
        case "number":
            return [_number(word, start, end)]
        case "digits":
            digits = [c for c in word if c.isdigit()]
            parts = [("(", None), ("number", digits[0]), (")", None), ("(", None), ("number", digits[1]), (")", None)]
            rest = [Token(k, start, end, None if d is None else Fraction(int(d))) for k, d in parts]
            return [Token("frac", start, end), *rest]
        case "super":
            return [Token("^", start, end), Token("number", start, end, Fraction(2 if word == "²" else 3))]
        case "power" | "times":  # else it is a bullet, bold print, or the letter x
            sign = "^" if kind == "power" else "*"
            return [Token(sign if after_operand and _OPERAND_FOLLOWS.match(text, end) else "", start, end)]
        case "of":
            return [Token("*" if after_operand else "", start, end)]
        case "sign":
            return [Token("+" if word == "+" else "-", start, end)]
        case _:
            return [Token(_PLAIN.get(kind, ""), start, end)]


def _number(word: str, start: int, end: int) -> Token:
    digits = word.replace("{,}", "").replace(",", "")
    value = Fraction(digits) if len(digits) <= MAX_DIGITS else None
    return Token("number", start, end, value, len(digits.partition(".")[2]))


# -- what stands around ------------------------------------------------------------------------------------------------

_NEAR = 32
_MAY_TOUCH_BEFORE = frozenset("([{:;,.\"'“‘`>—–*$=~≈→⇒∴&…")
_MAY_TOUCH_AFTER = frozenset(".,:;?)]}\"'”’`>*$—–…=~&\\")
_A_SIGN_MAY_FOLLOW = frozenset(":;,.([{>—–=≈→⇒∴…")
_REACH_OUT = frozenset("±∓√∑∏∫∞!|")
_HARMLESS_COMMANDS = re.compile(
    "text|textbf|mathrm|mathbf|q?quad|implies|Rightarrow|rightarrow|Longrightarrow|iff|therefore|because|to|checkmark"
    "|end|begin|hline"
)
_REACHING_WORDS = re.compile(
    "mod|modulo|choose|times|plus|minus|over|divided|multiplied|per|sin|cos|tan|cot|sec|csc|log|ln|lg|exp|sqrt|root"
    "|cube|squared|cubed|power|of|by|from|to|max|min|gcd|lcm|between|than|hundred|thousand|million|billion|trillion"
    "|dozen|pi|percent|th|factorial|base|[^\\W\\d_]",  # the last: a variable
    re.IGNORECASE,
)
_SETTING_BEFORE = re.compile(r"(?:\\left|\\boxed|\\[,;:!]|[$€£& \t])+$")
_WORD_BEFORE = re.compile(r"(\\?)([^\W\d_]{1,30})$")
_WORD_AFTER = re.compile(r"(\\?)([^\W\d_]+)")


def _unmatched(side: Sequence[Token]) -> list[int]:
    """Where brackets are that have no partner in this side."""
    opened, alone = [], []
    for i, token in enumerate(side):
        if token.kind == "(":
            opened.append(i)
        elif token.kind == ")":
            if opened:
                opened.pop()
            else:
                alone.append(i)
    return sorted(alone + opened)


def _first(side: Sequence[Token], text: str) -> Side | None:
    """What of the first side belongs to the equation: all after the last bracket that is closed elsewhere."""
    if not side:
        return None
    cut = _unmatched(side)
    kept = side[cut[-1] + 1 :] if cut else side
    if not kept:
        return None
    if not cut:
        return None if _reached_from_before(text, kept) else Side(kept)
    bracket = side[cut[-1]]
    touches = kept[0].start == bracket.end
    return Side(kept) if bracket.kind == "(" or (kept[0].kind in ("number", "(") and not touches) else None


def _last(side: Sequence[Token], text: str) -> Side | None:
    """What of the last side belongs to the equation: all before the first bracket that has no partner in it."""
    cut = _unmatched(side)
    kept = side[: cut[0]] if cut else side
    if not kept:
        return None
    closed = bool(cut) and side[cut[0]].kind == ")"
    return Side(kept) if closed or not _reached_from_behind(text, kept[-1].end) else None


def _reached_from_before(text: str, side: Sequence[Token]) -> bool:
    """Whether what stands before a side may be a part of its sum."""
    start = side[0].start
    before = text[max(0, start - _NEAR) : start]
    near = _SETTING_BEFORE.sub("", before)
    if not near or near.endswith("\n"):
        return False
    if near == before and (near[-1] not in _MAY_TOUCH_BEFORE or (near[-1] in ",.:" and near[-2:-1].isdigit())):
        return True
    signed = side[0].kind in ("+", "-")
    word = _WORD_BEFORE.search(near)
    if word is None:
        return signed and near[-1] not in _A_SIGN_MAY_FOLLOW
    if word[1]:
        return _HARMLESS_COMMANDS.fullmatch(word[2]) is None
    article = word[2] in ("a", "A", "I")
    return bool(signed or not Side(side).worked_out or (_REACHING_WORDS.fullmatch(word[2]) and not article))


def _reached_from_behind(text: str, end: int) -> bool:
    """Whether what stands behind a side may be a part of its sum."""
    after = text[end : end + _NEAR]
    near = after.lstrip(" \t$&")
    if not near or near.startswith("\n"):
        return False
    if near == after and (near[0] not in _MAY_TOUCH_AFTER or (near[0] in ",.:" and near[1:2].isdigit())):
        return True
    if near[0] in _REACH_OUT:
        return True
    bracketed = near[0] in "([{"
    word = _WORD_AFTER.match(near[1:].lstrip() if bracketed else near)
    if word is None:
        return bracketed
    return (_HARMLESS_COMMANDS.fullmatch(word[2]) is None) if word[1] else bool(_REACHING_WORDS.fullmatch(word[2]))
