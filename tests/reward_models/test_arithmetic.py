"""Sums in the text: which are checked, which are right, and that none costs more than its length."""

from __future__ import annotations

import time
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reward_models.arithmetic import ArithmeticReward, check_equations, step_mark
from reward_models.base import RewardSignal, Rollout
from reward_models.contract import RewardModelContract
from reward_models.errors import RewardError
from reward_models.loading import load_reward


class TestContract(RewardModelContract):
    def make_model(self) -> ArithmeticReward:
        return ArithmeticReward()


RIGHT = [
    "3 + 4 = 7",
    "so 3+4 =7.",
    "5 * 3 = 15 and 2 * 4 = 8",
    "x = 3 + 4 = 7",
    "12 = 3 * 4",
    "2 * (3 + 4) = 14 = 7 + 7",
    "[3 + (4 - 1)] / 2 = 3",
    "3 - -4 = 7",
    "3 − 4 = −1",
    "-2^2 = -4",
    "(-2)^2 = 4",
    "2^{10} = 1024",
    "2**3 = 8",
    "2^-1 = 0.5",
    "5² = 25",
    "2^3^2 = 512",
    "0.1 + 0.2 = 0.3",
    ".5 + .5 = 1",
    "1,000 + 500 = 1,500",
    "1{,}000 + 1 = 1001",
    "100 ÷ 4 = 25",
    "3 x 4 = 12",
    "3x4=12",
    "(2)(3) = 6",
    "2(3) = 6",
    "there are 5 (3 + 2 = 5)",
    "3 + 4 = 7 (apples)",
    "3 + 4 = 7 apples",
    "20% of 50 = 10",
    "1/2 of 10 = 5",
    "1/4 = 25%",
    "1/3 = 33.3%",
    "10 / 3 = 3.33",
    "3.33 = 10/3",
    "$3 + 4 = 7$",
    "$5 + $3 = $8",
    r"\$5 + \$3 = \$8",
    r"3 \times 4 = 12",
    r"3 \cdot 4 = 12",
    r"8 \div 2 = 4",
    r"\frac{1}{2} + \frac{1}{3} = \frac{5}{6}",
    r"\frac{1 + 2}{\frac{1}{2}} = 6",
    r"\frac12 + \dfrac13 = \tfrac56",
    r"\left(3+4\right)\cdot 2 = 14",
    r"3 + 4 = \boxed{7}",
    r"3 + 4 = 7 \text{ apples}",
    "3 + 4 &= 7 \\\\\n &= 8 - 1",
    "1. 3 + 4 = 7",
    "(1) 3 + 4 = 7",
    "- 3 + 4 = 7",
    "**3 + 4 = 7**",
    "Step 3: 7*8 = 56",
    "3 + 4 = 7 => 7 - 2 = 5",
]
WRONG = [
    "3 + 4 = 8",
    "5 * 3 = 15 and 2 * 4 = 9",
    "x = 3 + 4 = 8",
    "2 * (3 + 4) = 14 = 7 + 8",
    "10/3 = 3.34",
    "1/3 = 33.4%",
    "7/2 = 4",
    "20% of 50 = 11",
    r"\frac{1}{2} + \frac{1}{3} = \frac{2}{5}",
    r"\left(3+4\right)\cdot 2 = 15",
    "3x4=13",
    "2(3) = 7",
    "* 3 + 4 = 8",
    "3 + 4\n= 8",
    r"\$5 + \$3 = \$9",
    "2 + 2 == 5",
]
LEFT_ALONE = [
    "",
    "seven",
    "3 + 4",
    "= 7",
    "3 + = 7",
    "5 = 5",
    "tax of 8% = 4",
    "x + 3 = 5",
    "2x = 4",
    "5 + 2x = 9",
    "a_1 + 2 = 3",
    "f(3) + 1 = 9",
    "(x + 1)(3) + 4 = 9",
    "x -3 + 5 = 2",
    "3 + 4 = 7x",
    "3 + 4 = 7 - x",
    "3 + 4 = 7 m",
    "5 cm + 3 cm = 8 cm",
    "10 mod 3 = 1",
    "10 mod 3 + 1 = 2",
    "9 + 8 = 5 (mod 12)",
    r"12 + 5 = 5 \pmod{12}",
    "5 choose 2 + 0 = 10",
    "gcd of 12 and 18 = 6",
    "there are 3 dozen = 36",
    "sin 3 + 4 = 7",
    r"\sqrt{16} + 0 = 5",
    r"\sin 3 + 4 = 7",
    r"3 + 4 = 7\pi",
    "3! + 0 = 7",
    "3 + 4 = 7!",
    "3 + 4 ≈ 8",
    "3 + 4 <= 9",
    "3 + 4 != 9",
    "3 + 4 => 9",
    "2,5 + 3 = 5,5",
    "1:30 + 0:30 = 2:00",
    "6/2(1+2) = 1",
    "1 1/2 + 1/2 = 3",
    "5 % 3 + 0 = 1",
    "1/0 = 5",
    "0^0 = 5",
    "0^-1 = 5",
    "2^0.5 = 1",
    "9^9^9^9 = 1",
    "2^99999999999999999999 = 1",
    "1" * 41 + " + 1 = 2",
    "3 + 4\n\n= 8",
    r"\frac{1} + 2 = 3",
    "5² is more; 3²2 = 5",
]


@pytest.mark.parametrize(
    ("text", "mark"), [(t, m) for texts, m in ((RIGHT, 1), (WRONG, -1), (LEFT_ALONE, 0)) for t in texts]
)
def test_marks(text: str, mark: int) -> None:
    assert step_mark(text)[0] == mark


def test_the_reason_says_what_it_is() -> None:
    assert step_mark("First 1 + 1 = 2, then 10/4 =  3 left.") == (-1, "10/4 = 3 (is 5/2 = 2.5)")
    assert step_mark("1 + 1 = 2, 2 + 2 = 4") == (1, "2 right")


def test_rounding_can_be_off() -> None:
    assert step_mark("10 / 3 = 3.33", rounding=False)[0] == -1
    assert step_mark("10 / 4 = 2.50", rounding=False)[0] == 1


def test_checks_say_where() -> None:
    text = "Now 3 + 4 = 7 = 2 * 4."
    assert [(text[c.start : c.end], c.holds) for c in check_equations(text)] == [
        ("3 + 4 = 7", True),
        ("7 = 2 * 4", False),
    ]


def expressions() -> st.SearchStrategy[str]:
    leaf = st.integers(0, 99).map(str)
    return st.recursive(
        leaf,
        lambda inner: st.one_of(
            st.tuples(inner, st.sampled_from([" + ", " - ", " * ", " / "]), inner).map("".join),
            inner.map(lambda e: f"({e})"),
            inner.map(lambda e: f"-({e})"),
        ),
        max_leaves=8,
    )


@given(text=expressions())
@settings(max_examples=300, deadline=None)
def test_values_are_those_of_python_with_fractions(text: str) -> None:
    exact = "".join(f"Fraction({part})" if part.isdigit() else part for part in _parted(text))
    try:
        expected = eval(exact, {"Fraction": Fraction})
    except ZeroDivisionError:
        expected = None
    found = check_equations(f"0 * 1 = {text}")
    assert [c.right for c in found] == ([] if expected is None else [expected])


def _parted(text: str) -> list[str]:
    import re

    return re.findall(r"[0-9]+|[^0-9]+", text)


# -- text that was written to hang it ----------------------------------------------------------------------------------

HOSTILE = {
    "=": "=",
    "==": "= ",
    "1+": "1+",
    "1=": "1=",
    "(": "(",
    "()": "()",
    "[1": "[1",
    "minus": "1-",
    "minuses": "-",
    "plusses": "+ ",
    "power": "9^",
    "stars": "3**",
    "digits": "1",
    "thousands": "1,000,",
    "fractions": "\\frac{1}{",
    "frac": "\\frac",
    "unit fractions": "1/7+1/11+1/13+1/17+",
    "lines": "\n",
    "line and space": "\n   ",
    "spaces": " ",
    "x": "x ",
    "words": "word ",
    "letters": "a",
    "commands": "\\a",
    "percent": "5%",
    "dollars": "$5",
    "braces": "{,}",
    "sums": "1+1=2\n",
    "chain": "1+1=",
    "boxes": "\\boxed{",
}


@pytest.mark.parametrize("unit", list(HOSTILE.values()), ids=list(HOSTILE))
@pytest.mark.slow  # it is timed
def test_time_is_linear_in_the_text(unit: str) -> None:
    def seconds(length: int) -> float:
        text = "2 + 2 = " + unit * (length // len(unit))
        start = time.process_time()
        check_equations(text)
        return time.process_time() - start

    short = seconds(5_000)
    assert seconds(50_000) < 40 * short + 0.2  # a hundred times, if it were quadratic


@pytest.mark.slow
@pytest.mark.parametrize("unit", list(HOSTILE.values()), ids=list(HOSTILE))
def test_a_megabyte_is_no_trouble(unit: str) -> None:
    start = time.process_time()
    ArithmeticReward().score([Rollout("p", "2 + 2 = " + unit * (1_000_000 // len(unit)))])
    assert time.process_time() - start < 60


def test_brackets_as_deep_as_they_like() -> None:
    deep = 100_000
    assert step_mark("(" * deep + "1 + 1" + ")" * deep + " = 2")[0] == 1


# -- the reward --------------------------------------------------------------------------------------------------------


def signal(text: str, **settings: object) -> RewardSignal:
    [answer] = load_reward("arithmetic", **settings).score([Rollout("p", text)])
    assert isinstance(answer, RewardSignal)
    return answer


def test_a_steps_mark_is_shared_by_the_number_of_steps() -> None:
    text = "3 + 4 = 7\nWe see.\n7 * 2 = 15\n1 + 1 = 2"
    found = signal(text)
    assert [(text[s.start : s.end].strip(), s.value) for s in found.spans] == [
        ("3 + 4 = 7", 1 / 4),
        ("7 * 2 = 15", -1 / 4),
        ("1 + 1 = 2", 1 / 4),
    ]
    assert found.outcome is None
    assert found.metrics == {"arithmetic/steps": 4.0, "arithmetic/correct": 0.5, "arithmetic/incorrect": 0.25}
    assert [s.value for s in signal(text, propagation="error").spans] == [1 / 4, -1 / 4]


def test_nothing_to_check_is_no_reward() -> None:
    assert signal("Hello.\nThere.").spans == ()
    assert signal("").spans == ()


@pytest.mark.parametrize("settings", [{"split": "("}, {"window": 0}, {"propagation": "x"}])
def test_bad_settings_are_one_line(settings: dict[str, object]) -> None:
    with pytest.raises(RewardError) as caught:
        load_reward("arithmetic", **settings)
    assert "\n" not in str(caught.value)
