"""What `arithmetic_problems` makes its problems of: a line of numbers, a chain of operations, ways to ask."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

NAMES = (
    "Ada",
    "Ben",
    "Chloe",
    "David",
    "Emma",
    "Farid",
    "Grace",
    "Hugo",
    "Ines",
    "Jonas",
    "Kemal",
    "Lena",
    "Mei",
    "Tom",
)
ITEMS = (
    "apples",
    "books",
    "candles",
    "cards",
    "coins",
    "eggs",
    "marbles",
    "pencils",
    "pens",
    "plums",
    "shells",
    "stamps",
)


@dataclass(frozen=True)
class Template:
    """One structure. `draw` has the range of each number, `work` the operations in order, the last of which gives the
    answer, and `asks` the wordings, with the numbers, `{name}` and `{items}` in braces."""

    name: str
    level: int
    split: str
    draw: Mapping[str, tuple[int, int]]
    work: tuple[str, ...]
    asks: tuple[str, ...]


_TWO_DIGITS = (10, 99)
_SMALL = (2, 9)
_MIDDLE = (2, 30)

_LEVEL_1 = (
    Template(
        "sum",
        1,
        "train",
        {"a": _TWO_DIGITS, "b": _TWO_DIGITS},
        ("s = a + b",),
        ("What is {a} + {b}?", "Add {a} and {b}.", "Find the sum of {a} and {b}.", "Increase {a} by {b}."),
    ),
    Template(
        "difference",
        1,
        "train",
        {"a": _TWO_DIGITS, "b": _TWO_DIGITS},
        ("s = a - b",),
        ("What is {a} - {b}?", "Subtract {b} from {a}.", "Find {a} minus {b}.", "Decrease {a} by {b}."),
    ),
    Template(
        "missing start",
        1,
        "test",
        {"a": _TWO_DIGITS, "b": _TWO_DIGITS},
        ("s = b + a",),
        (
            "Taking {a} away from a number leaves {b}. What is the number?",
            "A number minus {a} is {b}. Find the number.",
        ),
    ),
    Template(
        "missing part",
        1,
        "test",
        {"b": _TWO_DIGITS, "a": _TWO_DIGITS},
        ("s = b - a",),
        ("{a} plus a number is {b}. What is the number?", "Two numbers add up to {b}. One is {a}. Find the other."),
    ),
)

_LEVEL_2 = (
    Template(
        "three added",
        2,
        "train",
        {"a": _MIDDLE, "b": _MIDDLE, "c": _MIDDLE},
        ("s = a + b", "t = s + c"),
        ("What is {a} + {b} + {c}?", "Add {a}, {b} and {c}.", "Find the sum of {a}, {b} and {c}."),
    ),
    Template(
        "sum less one",
        2,
        "train",
        {"a": _MIDDLE, "b": _MIDDLE, "c": _MIDDLE},
        ("s = a + b", "t = s - c"),
        ("What is {a} + {b} - {c}?", "Add {a} and {b}, then subtract {c}.", "From the sum of {a} and {b} take {c}."),
    ),
    Template(
        "two taken away",
        2,
        "train",
        {"a": (20, 90), "b": _MIDDLE, "c": _MIDDLE},
        ("s = a - b", "t = s - c"),
        ("What is {a} - {b} - {c}?", "Start with {a}. Take away {b}, then take away {c}."),
    ),
    Template(
        "product and more",
        2,
        "train",
        {"a": _SMALL, "b": _SMALL, "c": _MIDDLE},
        ("s = a * b", "t = s + c"),
        ("What is {a} * {b} + {c}?", "Multiply {a} by {b}, then add {c}."),
    ),
    Template(
        "sum times",
        2,
        "train",
        {"a": _SMALL, "b": _SMALL, "c": _SMALL},
        ("s = a + b", "t = s * c"),
        ("What is ({a} + {b}) * {c}?", "Add {a} and {b}, then multiply by {c}."),
    ),
    Template(
        "quotient and more",
        2,
        "train",
        {"a": (4, 81), "b": _SMALL, "c": _MIDDLE},
        ("s = a / b", "t = s + c"),
        ("What is {a} / {b} + {c}?", "Divide {a} by {b}, then add {c}."),
    ),
    Template(
        "away and back",
        2,
        "test",
        {"a": _MIDDLE, "b": _MIDDLE, "c": _MIDDLE},
        ("s = a - b", "t = s + c"),
        ("What is {a} - {b} + {c}?", "Subtract {b} from {a}, then add {c}."),
    ),
    Template(
        "product less one",
        2,
        "test",
        {"a": _SMALL, "b": _SMALL, "c": _MIDDLE},
        ("s = a * b", "t = s - c"),
        ("What is {a} * {b} - {c}?", "Multiply {a} by {b}, then subtract {c}."),
    ),
    Template(
        "difference times",
        2,
        "test",
        {"a": _MIDDLE, "b": _MIDDLE, "c": _SMALL},
        ("s = a - b", "t = s * c"),
        ("What is ({a} - {b}) * {c}?", "Subtract {b} from {a}, then multiply by {c}."),
    ),
)

_LEVEL_3 = (
    Template(
        "change",
        3,
        "train",
        {"a": _SMALL, "b": _SMALL, "c": (10, 200)},
        ("s = a * b", "t = c - s"),
        (
            "{name} buys {a} {items} at {b} dollars each and pays with {c} dollars. How many dollars are left?",
            "{name} has {c} dollars and buys {a} {items}. Each costs {b} dollars. How many dollars remain?",
        ),
    ),
    Template(
        "found and given",
        3,
        "train",
        {"a": _MIDDLE, "b": _MIDDLE, "c": _MIDDLE},
        ("s = a + b", "t = s - c"),
        (
            "{name} has {a} {items}, finds {b} more and gives {c} away. How many {items} are left?",
            "A box holds {a} {items}. {name} puts in {b} and takes out {c}. How many {items} does it hold now?",
        ),
    ),
    Template(
        "boxes and loose",
        3,
        "train",
        {"a": _SMALL, "b": _SMALL, "c": _MIDDLE},
        ("s = a * b", "t = s + c"),
        (
            "There are {a} boxes with {b} {items} each, and {c} loose {items}. How many {items} are there?",
            "{name} has {c} {items} and gets {a} bags of {b} {items}. How many {items} does {name} have?",
        ),
    ),
    Template(
        "shared",
        3,
        "train",
        {"a": _MIDDLE, "b": _MIDDLE, "c": _SMALL},
        ("s = a + b", "t = s / c"),
        (
            "{a} red and {b} blue {items} are shared equally among {c} children. How many does each get?",
            "{name} puts {a} old and {b} new {items} into {c} boxes, equally many in each. How many are in one box?",
        ),
    ),
    Template(
        "more on the second day",
        3,
        "train",
        {"a": _MIDDLE, "b": _MIDDLE},
        ("s = a + b", "t = a + s"),
        (
            "{name} reads {a} pages on Monday, and {b} pages more than that on Tuesday. How many pages on both days?",
            "One jar holds {a} {items}. Another holds {b} more than the first. How many {items} do both hold?",
        ),
    ),
    Template(
        "perimeter",
        3,
        "train",
        {"a": _MIDDLE, "b": _MIDDLE},
        ("s = a + b", "t = 2 * s"),
        (
            "A rectangle is {a} cm long and {b} cm wide. What is its perimeter in cm?",
            "A garden is {a} m by {b} m. How many meters of fence go around it?",
        ),
    ),
    Template(
        "times as old",
        3,
        "train",
        {"a": _SMALL, "b": (2, 6)},
        ("s = a * b", "t = s - a"),
        (
            "{name} is {a} years old. An aunt is {b} times as old. How many years older is the aunt?",
            "{name} has {a} {items}, and a friend has {b} times as many. How many more does the friend have?",
        ),
    ),
    Template(
        "off and on",
        3,
        "test",
        {"a": _MIDDLE, "b": _MIDDLE, "c": _MIDDLE},
        ("s = a - b", "t = s + c"),
        (
            "A bus carries {a} people. {b} get off and {c} get on. How many people are on the bus?",
            "{name} has {a} {items}, loses {b} and then wins {c}. How many {items} does {name} have now?",
        ),
    ),
    Template(
        "rows with gaps",
        3,
        "test",
        {"a": _SMALL, "b": _SMALL, "c": _SMALL},
        ("s = a * b", "t = s - c"),
        (
            "A hall has {a} rows of {b} seats. {c} seats are broken. How many seats can be used?",
            "{name} fills {a} trays with {b} {items} each, then {c} {items} fall off. How many are left on the trays?",
        ),
    ),
    Template(
        "rate",
        3,
        "test",
        {"a": (12, 144), "b": _SMALL, "c": _SMALL},
        ("s = a / b", "t = s * c"),
        (
            "A machine makes {a} parts in {b} hours. How many does it make in {c} hours?",
            "{b} bags hold {a} {items}, all the same number. How many {items} do {c} bags hold?",
        ),
    ),
)

_LEVEL_4 = (
    Template(
        "remainder",
        4,
        "train",
        {"a": _SMALL, "b": _SMALL, "c": _MIDDLE, "d": (3, 12)},
        ("s = a * b", "t = s + c", "q = t // d", "u = d * q", "v = t - u"),
        (
            "What is the remainder when {a} * {b} + {c} is divided by {d}?",
            "{name} has {a} bags of {b} {items} and {c} more, and fills boxes of {d}. How many {items} are left over?",
        ),
    ),
    Template(
        "two purchases",
        4,
        "train",
        {"a": _SMALL, "b": _SMALL, "c": _SMALL, "d": _SMALL},
        ("s = a * b", "t = c * d", "u = s + t"),
        (
            "{name} buys {a} {items} at {b} dollars and {c} hats at {d} dollars. How many dollars is that?",
            "There are {a} rows of {b} trees and {c} rows of {d} bushes. How many plants are there?",
        ),
    ),
    Template(
        "average",
        4,
        "train",
        {"a": _MIDDLE, "b": _MIDDLE, "c": _MIDDLE},
        ("s = a + b", "t = s + c", "u = t / 3"),
        (
            "What is the average of {a}, {b} and {c}?",
            "{name} scores {a}, {b} and {c} points in three games. How many points is that a game, on average?",
        ),
    ),
    Template(
        "nth term",
        4,
        "train",
        {"n": (5, 30), "a": (1, 40), "d": _SMALL},
        ("s = n - 1", "t = s * d", "u = a + t"),
        (
            "A sequence starts with {a}, and each term is {d} more than the one before. What is term number {n}?",
            "{name} saves {a} dollars in week 1, and each week {d} more than the week before. How many in week {n}?",
        ),
    ),
    Template(
        "areas",
        4,
        "train",
        {"a": (12, 30), "b": (12, 30), "c": (2, 11), "d": (2, 11)},
        ("s = a * b", "t = c * d", "u = s - t"),
        (
            "A {a} by {b} rectangle has a {c} by {d} rectangle cut out of it. What area is left?",
            "A yard of {a} m by {b} m has a pool of {c} m by {d} m. How many square meters are not pool?",
        ),
    ),
    Template(
        "equation",
        4,
        "train",
        {"a": _SMALL, "b": _MIDDLE, "c": (10, 150), "d": _SMALL},
        ("s = c - b", "t = s / a", "u = t * d"),
        (
            "If {a}x + {b} = {c}, what is {d}x?",
            "{a} equal {items} and a box of {b} g weigh {c} g. How many grams do {d} of the {items} weigh?",
        ),
    ),
    Template(
        "team",
        4,
        "train",
        {"a": _SMALL, "b": _SMALL, "c": _SMALL, "d": _MIDDLE},
        ("s = a + b", "t = s * c", "u = t + d"),
        (
            "{name} packs {a} {items} an hour, a friend packs {b}. They work {c} hours and had {d} before. "
            "How many {items} are there?",
            "What is ({a} + {b}) * {c} + {d}?",
        ),
    ),
    Template(
        "remainder of a product",
        4,
        "test",
        {"a": _SMALL, "b": _SMALL, "c": _SMALL, "d": (3, 12)},
        ("s = a + b", "t = s * c", "q = t // d", "u = d * q", "v = t - u"),
        (
            "What is the remainder when ({a} + {b}) * {c} is divided by {d}?",
            "{c} classes have {a} girls and {b} boys each. All form teams of {d}. How many children are left over?",
        ),
    ),
    Template(
        "perimeter from area",
        4,
        "test",
        {"a": (20, 600), "b": (4, 30)},
        ("s = a / b", "t = b + s", "u = 2 * t"),
        (
            "A rectangle has area {a}, and one side is {b}. What is its perimeter?",
            "A field of {a} square meters is {b} m wide. How many meters of fence go around it?",
        ),
    ),
    Template(
        "saved, spent, doubled",
        4,
        "test",
        {"a": _SMALL, "b": _SMALL, "c": _MIDDLE},
        ("s = a * b", "t = s - c", "u = 2 * t"),
        (
            "{name} saves {a} dollars a week for {b} weeks, spends {c} and doubles the rest. How many dollars now?",
            "Multiply {a} by {b}, subtract {c}, and double what is left. What is the result?",
        ),
    ),
)

TEMPLATES = (*_LEVEL_1, *_LEVEL_2, *_LEVEL_3, *_LEVEL_4)
