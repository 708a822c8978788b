"""The integer that an answer's text names: "025", `336^\\circ`, `x = 33`, `\\text{33 minutes}`; or why it names none.

Strict where it matters: what would have to be worked out, rounded or chosen is no integer (33.5, 66/2, 2^5, 33x,
"33 or 34"). Nothing is evaluated, and only the first MAX_LENGTH characters are ever looked at.
"""

from __future__ import annotations

import re
import unicodedata
from typing import NamedTuple

MAX_LENGTH = 1000
"""A longer text is no answer."""


class Reading(NamedTuple):
    """`value`, or None and the `reason`: a few words out of a fixed set, so that they can be counted."""

    value: int | None
    reason: str = ""


EMPTY = Reading(None, "an empty answer")
NO_NUMBER = Reading(None, "not a number")
NOT_PLAIN = Reading(None, "not a plain integer")
NOT_WHOLE = Reading(None, "not an integer")
NEGATIVE = Reading(None, "a negative number")
SEVERAL = Reading(None, "several values")
TOO_LONG = Reading(None, "too long for an answer")

_WORDS_AROUND = 12

_INVISIBLE = re.compile("[\u00ad\u200b-\u200f\u2060-\u2064\ufe0e\ufe0f\ufeff]")
_GROUPED = re.compile(r"(?<![\d.,])[1-9]\d{0,2}(?:(?:,|\{,\}|\\,|[\u2009\u202f\u00a0'])\d{3})+(?![\d.,]*\d)")
_DEGREES = re.compile(r"\^\s*\{?\s*\\circ\s*\}?|\\degrees?\b|\\circ\b|[°º˚]")
_SPACING = re.compile(
    r"\\[,;:!> ]|\\q?quad\b|\\(?:thin|med|thick)space\b|\\(?:display|text)style\b|\\(?:left|right)(?![A-Za-z])"
    r"|\\(?:big|large|Large|normalsize|bf|rm|it)\b|\\\\|&nbsp;|~|\\(?:text)?color\s*\{[^{}]*\}|\\\$|[$€£]|\\[()\[\]]|\*\*|__|`|[\"“”„]|\s"
)
_WRAPPER = re.compile(
    r"\\(?:text(?:bf|it|rm|up|sf|tt|normal)?|math(?:rm|bf|it|sf|tt|normal)|operatorname\*?|boldsymbol|bm|[mhf]box"
    r"|boxed|emph|underline)\s*\{([^{}]*)\}"
)
_BASE_TEN = re.compile(r"_\s*(?:10(?!\d)|\{\s*(?:10|@?ten)\s*\})[\s.]*$")
_UNIT_POWER = re.compile(r"(?<=[A-Za-z])(?:\^\s*\{?\s*[23]\s*\}?|[²³])")
_RELATION = re.compile(
    r"[<>≠≈≤≥±~∼≡]|\\(?:n(?:e|eq|ot)|not|approx|sim|simeq|equiv|leq?|geq?|lt|gt|pm|mp|in)(?![A-Za-z])"
)
_IN_BRACKETS = re.compile(r"\([^()]*\)|\{[^{}]*\}|\[[^\[\]]*\]")
_SEVERAL = re.compile(r"[,;]|(?<![A-Za-z])(?:and|or)(?![A-Za-z])")
_ASIDE = re.compile(r"\(([^()]*)\)")
_NUMBER = re.compile(r"\d+(?:\.\d+)?|\.\d+")
_WORD = re.compile(r"(@?)([^\W\d_]+(?:['’-][^\W\d_]+)*)")

_CHANGING = """
about almost and approximately arccos arcsin arctan around at base between billion but cannot choose cos cot csc cube
cubed dozen either exp factorial false fewer gcd greater half hundred if incorrect infinity lcm least less ln log
million minus mod modulo more most nearly negative neither no none nor not or over per percent pi plus power quarter
root roughly sec sin sqrt squared tan than third thirds thousand times to tenths trillion undefined unless unlike up
versus wrong one two three four five six seven eight nine ten eleven twelve twenty thirty forty fifty sixty seventy
eighty ninety"""
_MEANS_MORE = frozenset(_CHANGING.split())
"""Words that change what the number beside them says. (Single letters have a rule of their own.)"""

_UNITS = frozenset(("cm", "mm", "km", "ft", "in", "kg", "mg", "hr", "min", "sec", "deg", "degree", "degrees", "units"))
"""What may touch the number."""


def read_integer(text: str) -> Reading:
    """The integer that `text` names, of any size but not negative."""
    plain = text.strip()
    if plain.isascii() and plain.isdigit() and len(plain) <= MAX_LENGTH:
        return Reading(int(plain))
    if not plain:
        return EMPTY
    if len(plain) > MAX_LENGTH:
        return TOO_LONG
    plain = _simplified(text)
    if ".." in plain:
        return NOT_PLAIN
    if "=" in plain:
        before, _, plain = plain.rpartition("=")
        if _RELATION.search(before):
            return NOT_PLAIN
        if _SEVERAL.search(_IN_BRACKETS.sub("", before)):
            return SEVERAL
    plain = _without_brackets(plain.lstrip(" ,;:'").rstrip(" .,;:'"))
    if not plain:
        return EMPTY
    return _one_number(plain)


def _simplified(text: str) -> str:
    """ASCII digits and minus signs, single spaces for all that only sets the text, `@` before words of `\\text{}`."""
    if not text.isascii():
        text = _INVISIBLE.sub("", text)
        text = "".join(_as_ascii(c) for c in text)
    text = _GROUPED.sub(lambda m: re.sub(r"\D", "", m[0]), text)
    text = _SPACING.sub(" ", _DEGREES.sub(" degrees ", text))
    for _ in range(4):  # one in the other
        text, n = _WRAPPER.subn(lambda m: _WORD.sub(r"@\2", m[1]), text)
        if not n:
            break
    return _UNIT_POWER.sub(" ", _BASE_TEN.sub("", text))


def _as_ascii(c: str) -> str:
    if c.isascii():
        return c
    digit = unicodedata.decimal(c, None)  # superscripts have none
    if digit is not None:
        return str(digit)
    return {"−": "-", "–": "-", "‒": "-", "﹣": "-", "－": "-", "＝": "=", "，": ",", "．": ".", "。": "."}.get(c, c)


def _without_brackets(text: str) -> str:
    """Without braces, which only group, and a pair of round brackets around it all."""
    text = " ".join(re.sub(r"(?<!\\)[{}]", "", text).split())
    while text.startswith("(") and text.endswith(")") and len(text) > 2:
        text = text[1:-1].strip(" .")
    return text


def _one_number(text: str) -> Reading:
    numbers = list(_NUMBER.finditer(text))
    if not numbers:
        return NO_NUMBER
    first = numbers[0]
    before, after = text[: first.start()], text[first.end() :]
    if len(numbers) > 1:
        between = text[first.end() : numbers[1].start()]
        return SEVERAL if re.fullmatch(r"[ ,;]*|.*[,;].*|.*\b(?:and|or)\b.*", between) else NOT_PLAIN
    if "." in first[0] and first[0].partition(".")[2].strip("0"):
        return NOT_WHOLE
    if before.rstrip().endswith("-"):
        return NEGATIVE
    if not _harmless(before.removesuffix("+"), touches_right=True) or not _harmless(
        _ASIDE.sub(r" \1 ", after), touches_right=False
    ):
        return NOT_PLAIN
    return Reading(int(first[0].partition(".")[0] or 0))


def _harmless(text: str, *, touches_right: bool) -> bool:
    """Whether what stands on one side of the number is nothing but words that do not change it."""
    words = list(_WORD.finditer(text))
    if len(words) > _WORDS_AROUND or _WORD.sub("", text).strip(" .,;:'"):
        return False
    for i, word in enumerate(words):
        marked, letters = word.groups()
        name = letters.lower()
        touches = (word.end() == len(text)) if touches_right else (i == 0 and word.start() == 0)
        if name in _MEANS_MORE or name.endswith(("n't", "n’t")) or (len(name) == 1 and name != "a" and not marked):
            return False
        if touches and (touches_right or not (marked or name in _UNITS)):
            return False
    return True
