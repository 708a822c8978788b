"""Problems that are made: right, the same every time, learnable in principle, and parted by structure."""

from __future__ import annotations

import re
import subprocess
import sys
from collections import Counter
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reward_models.arithmetic import step_mark
from reward_models.step_text import split_steps
from tasks import arithmetic_problems
from tasks.aime_format import format_of, prompt
from tasks.answers import grade
from tasks.arithmetic_problems import LEVELS, SPLITS, problems, work_out
from tasks.arithmetic_templates import ITEMS, NAMES, TEMPLATES, Template
from tasks.errors import TaskError

SETS = list(product(LEVELS, SPLITS))
STEPS_OF_LEVEL = {1: {1}, 2: {2}, 3: {2}, 4: {3, 4}}


@pytest.mark.parametrize(("level", "split"), SETS)
def test_a_reference_is_right_in_its_format_and_in_every_sum(level: int, split: str) -> None:
    for row in problems(level, split=split, n=400):
        text = row.extra["solution"]
        assert 0 <= row.answer <= 999
        assert grade(text, row.answer).correct
        assert format_of(text) == "perfect"
        steps = split_steps(text, "tags")
        assert len(steps) in STEPS_OF_LEVEL[level]
        marks = [step_mark(text[s.text_start : s.text_end]) for s in steps]
        assert marks == [(1, "1 right")] * len(steps), text


@pytest.mark.parametrize(("level", "split"), SETS)
def test_the_numbers_of_a_problem_are_in_its_text(level: int, split: str) -> None:
    """What the first step works with was said, or is a constant of the template."""
    for row in problems(level, split=split, n=200):
        said = set(re.findall(r"\d+", row.problem)) | set(re.findall(r"(?<!\w)\d+", row.extra["structure"]))
        first = re.findall(r"\d+", row.extra["solution"].split(">")[1])[:2]
        assert set(first) <= said, row


@pytest.mark.parametrize(("level", "split"), SETS)
def test_problems_differ_and_templates_take_turns(level: int, split: str) -> None:
    rows = problems(level, split=split, n=300)
    assert len({row.problem for row in rows}) == len({row.id for row in rows}) == 300
    counts = Counter(row.extra["template"] for row in rows)
    assert set(counts) == {t.name for t in TEMPLATES if (t.level, t.split) == (level, split)}
    assert max(counts.values()) - min(counts.values()) <= 1
    assert len({row.answer for row in rows}) > 40


def test_no_text_is_left_unfilled() -> None:
    for level, split in SETS:
        for row in problems(level, split=split, n=200):
            assert "{" not in row.problem
            assert row.problem[0].isupper() or row.problem[0].isdigit()
            assert row.problem.endswith(("?", "."))


@pytest.mark.parametrize(("level", "split"), SETS)
def test_the_same_arguments_give_the_same_problems(level: int, split: str) -> None:
    rows = problems(level, split=split, n=60)
    assert problems(level, split=split, n=60) == rows
    assert problems(level, split=split, n=20) == rows[:20]
    other = problems(level, split=split, n=60, seed=1)
    assert len({r.problem for r in rows} & {r.problem for r in other}) < 20
    assert not {r.id for r in rows} & {r.id for r in other}


def test_another_process_makes_the_same_problems() -> None:
    """Nothing hangs on the hash seed, or on what was asked before."""
    script = "from tasks.arithmetic_problems import problems; print([r.problem for r in problems(4, n=30)])"
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == repr([r.problem for r in problems(4, n=30)])


# -- train and test ----------------------------------------------------------------------------------------------------


_CHANGEABLE = re.compile(rf"\d+|\b(?:{'|'.join([*NAMES, *ITEMS])})\b")


def skeleton(problem: str) -> str:
    """A problem without what a renumbering could change: numbers, names and things."""
    return _CHANGEABLE.sub(lambda m: "#" if m[0].isdigit() else "NAME" if m[0] in NAMES else "ITEMS", problem)


def chain(template: Template) -> tuple[tuple[str, ...], ...]:
    """The chain of operations, whatever its numbers are called; the sides of a sum and a product may be swapped."""
    names: dict[str, str] = {}
    steps = []
    for line in template.work:
        result, left, sign, right = line.replace("=", "").split()
        sides = []
        for side in (left, right):
            if not side.isdigit():
                names.setdefault(side, f"given {sum(v.startswith('given') for v in names.values())}")
            sides.append(names.get(side, side))
        names[result] = f"result {len(steps)}"
        steps.append((sign, *(sorted(sides) if sign in "+*" else sides)))
    return tuple(steps)


def test_no_wording_of_a_test_template_is_one_of_a_train_template() -> None:
    seen = {
        split: {skeleton(r.problem) for level in LEVELS for r in problems(level, split=split, n=800)}
        for split in SPLITS
    }
    assert len(seen["train"]) >= 40
    assert len(seen["test"]) >= 20
    assert not seen["train"] & seen["test"]


def test_no_chain_of_operations_of_a_test_template_is_one_of_a_train_template() -> None:
    chains = {split: {chain(t) for t in TEMPLATES if t.split == split and t.level > 1} for split in SPLITS}
    assert not chains["train"] & chains["test"]
    assert chain(TEMPLATES[0]) == chain(TEMPLATES[2])  # at level 1 there is one operation to be had


def test_each_level_has_several_templates_on_both_sides() -> None:
    counts = Counter((t.level, t.split) for t in TEMPLATES)
    assert set(counts) == set(SETS)
    assert all(counts[level, "train"] >= 2 and counts[level, "test"] >= 2 for level in LEVELS)
    assert all(counts[level, "train"] >= 6 for level in (2, 3, 4))
    assert len({(t.level, t.split, t.name) for t in TEMPLATES}) == len(TEMPLATES)


# -- what cannot be ----------------------------------------------------------------------------------------------------


def test_wrong_arguments(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(TaskError, match="no level 5: there are 1, 2, 3, 4"):
        problems(5)
    with pytest.raises(TaskError, match="no split 'dev': there are train, test"):
        problems(1, split="dev")
    with pytest.raises(TaskError, match="n is 0"):
        problems(1, n=0)
    monkeypatch.setattr(arithmetic_problems, "_DRAWS", 3)  # else it looks long for the last of them
    with pytest.raises(TaskError, match=r"level 1 has only about \d{4,5} test problems, not 100000: ask for fewer"):
        problems(1, split="test", n=100_000)


@settings(deadline=None)
@given(st.integers(0, 99), st.integers(0, 99), st.sampled_from(["+", "-", "*", "/"]))
def test_a_step_is_right_or_there_is_none(a: int, b: int, sign: str) -> None:
    values = {"a": a, "b": b}
    steps = work_out([f"s = a {sign} b"], values)
    exact = {"+": a + b, "-": a - b, "*": a * b}[sign] if sign != "/" else (a / b if b else -1)
    if steps is None:
        assert not (exact == int(exact) and 0 <= exact <= 999)
    else:
        assert steps == [f"{a} {sign} {b} = {int(exact)}"]
        assert values["s"] == exact


# -- the format --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("<step 1>a</step 1><final>3</final>", "perfect"),
        ("\n<step 1>a</step 1>\n\n<step 2>b\nc</step 2>\n<final>3</final>\n", "perfect"),
        ("<step 1>a</step 1><final>3</final><|im_end|>\n", "perfect"),
        ("<step 1>a</step 1><final>3</final></s>", "perfect"),
        ("<step 1>a < b > c</step 1><final>3</final>", "perfect"),
        ("", "none"),
        ("no tags, but \\boxed{3}", "none"),
        ("<b>3</b>", "none"),
        ("<steps>3</steps>", "none"),
        ("<step 1>a</step 1>", "partial"),
        ("<final>3</final>", "partial"),
        ("So: <step 1>a</step 1><final>3</final>", "partial"),
        ("<step 1>a</step 1> then <final>3</final>", "partial"),
        ("<step 1>a</step 1><final>3</final> Done.", "partial"),
        ("<step 1> </step 1><final>3</final>", "partial"),
        ("<step 1>a</step 1><final></final>", "partial"),
        ("<step 1>a<final>3</final>", "mismatched"),
        ("<step 1>a</step 1><final>3", "mismatched"),
        ("<step 1>a</step 1", "mismatched"),
        ("<step 1>a</step 2><final>3</final>", "mismatched"),
        ("<step 1>a</step><final>3</final>", "mismatched"),
        ("<step>a</step><final>3</final>", "mismatched"),
        ("<step 2>a</step 2><final>3</final>", "mismatched"),
        ("<step 1>a</step 1><step 3>b</step 3><final>3</final>", "mismatched"),
        ("<step 1>a</step 1><step 1>b</step 1><final>3</final>", "mismatched"),
        ("<step 1>a<step 2>b</step 2></step 1><final>3</final>", "mismatched"),
        ("<step 1>a</step 1></step 1><final>3</final>", "mismatched"),
        ("</final>", "mismatched"),
        ("<step 1>a</step 1><final>3</final><final>4</final>", "mismatched"),
        ("<step 1>a</step 1><final>3</final><step 2>b</step 2>", "mismatched"),
        ("<final>3</final><step 1>a</step 1>", "mismatched"),
        ("<step 01>a</step 01><final>3</final>", "mismatched"),
    ],
)
def test_the_format(text: str, found: str) -> None:
    assert format_of(text) == found


@settings(deadline=None)
@given(st.text(max_size=100))
def test_no_text_breaks_the_format_check(text: str) -> None:
    assert format_of(text) in ("perfect", "mismatched", "partial", "none")
    steps = f"<step 1>{text}</step 1><final>3</final>"
    assert format_of(steps) == "perfect" or not text.strip() or "<" in text


def test_the_prompt_names_the_tags_that_are_checked() -> None:
    asked = prompt("What is 2 + 2?", "steps")
    assert all(tag in asked for tag in ("<step 1>", "</step 1>", "<step 2>", "<final>", "</final>"))
