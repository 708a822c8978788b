"""Where steps are in a completion, and how many."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reward_models import step_text
from reward_models.errors import RewardError
from reward_models.step_text import SplitError, Step, check_split, split_steps


def texts(text: str, split: object = "\n\n", **settings: int) -> list[str]:
    return [text[s.text_start : s.text_end] for s in split_steps(text, split, **settings)]  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a\n\nb", ["a", "b"]),
        ("a.\n\n\nb", ["a.", "b"]),
        ("a\n\n\n\nb", ["a", "b"]),
        ("a\r\n\r\nb\r\n", ["a", "b"]),
        ("a \n \t\n  b  ", ["a", "b"]),
        ("\n\na\n\n", ["a"]),
        ("a\nb", ["a\nb"]),
        ("```py\nx = 1\n\ny = 2\n```", ["```py\nx = 1", "y = 2\n```"]),
        ("\\begin{array}{c} 1 \\\\\n\n2 \\end{array}", ["\\begin{array}{c} 1 \\\\", "2 \\end{array}"]),
        ("one", ["one"]),
        ("", []),
        ("\n\n \n\n", [""]),
    ],
)
def test_paragraphs(text: str, expected: list[str]) -> None:
    assert texts(text) == expected


def test_a_step_keeps_its_separator_and_its_text_is_without() -> None:
    assert split_steps(" a.\n\nb", "\n\n") == (Step(0, 5, 1, 3), Step(5, 6, 5, 6))


def test_blank_steps_belong_to_the_step_before_or_stay_on_their_own() -> None:
    text = "\na\n\n\nb\n"
    assert split_steps(text, "\n") == (Step(0, 5, 1, 2), Step(5, 7, 5, 6))
    steps = split_steps(text, "\n", min_chars=0)
    assert [s.span for s in steps] == [(0, 1), (1, 2), (3, 4), (4, 5), (5, 6)]


def test_short_steps_are_merged_and_their_number_is_bounded() -> None:
    assert texts("Hm\n\nLet me see.\n\nOk", min_chars=5) == ["Hm\n\nLet me see.\n\nOk"]
    assert texts("Let me see.\n\nOk\n\nSo it is 7.", min_chars=5) == ["Let me see.", "Ok\n\nSo it is 7."]
    long = "\n\n".join(["x"] * 500 + ["y" * 400] + ["z"] * 10)
    steps = split_steps(long, "\n\n", max_steps=7)
    assert 1 < len(steps) <= 7
    assert "".join(long[s.start : s.end] for s in steps) == long


def test_lines_tags_and_marks() -> None:
    assert texts("a\r\nb\n", "\n") == ["a", "b"]
    tagged = "Intro <step>a\n\nb</step> between <STEP n=2>c<step>d"
    assert texts(tagged, "tags") == ["a\n\nb", "c", "d"]
    marked = "Intro (step 1) a (Step 2)b\n(final) 7"
    assert texts(marked, "marks") == ["(step 1) a", "(Step 2)b"]
    assert texts("no marks", "marks") == texts("no tags </step>", "tags") == []


def test_a_pattern_or_a_function_of_ones_own() -> None:
    assert texts("a --- b ---c", r"-{3}") == ["a", "b", "c"]
    assert texts("1. a 2. b", r"(?=\d\.)") == ["1. a", "2. b"]
    assert texts("abcd", lambda text: [(0, 1), (2, 4)]) == ["a", "cd"]
    for spans in ([(0, 0)], [(0, 3), (2, 4)], [(3, 9)]):
        with pytest.raises(SplitError, match="out of order or outside"):
            split_steps("abcd", lambda text, spans=spans: spans)


def test_a_pattern_that_never_ends_is_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(step_text, "SPLIT_SECONDS", 0.2)
    start = time.process_time()
    with pytest.raises(SplitError, match=r"more than 0\.2 s"):
        split_steps("a" * 5000, r"(a|aa)+b")
    assert time.process_time() - start < 10


@pytest.mark.parametrize("bad", ["", "(", 7, None])
def test_what_is_no_way_to_split_is_one_line(bad: object) -> None:
    with pytest.raises(RewardError, match="split") as caught:
        check_split(bad)
    assert "\n" not in str(caught.value)


@given(
    text=st.text(alphabet="ab \n\r\t.<>/step()1final", max_size=120),
    split=st.sampled_from(["\n\n", "\n", "tags", "marks", r"\.", r"(?=a)"]),
    min_chars=st.integers(0, 6),
    max_steps=st.none() | st.integers(1, 5),
)
@settings(max_examples=400, deadline=None)
def test_steps_are_in_order_disjoint_not_empty_and_hold_their_text(
    text: str, split: str, min_chars: int, max_steps: int | None
) -> None:
    steps = split_steps(text, split, min_chars=min_chars, max_steps=max_steps)
    end = 0
    for step in steps:
        assert end <= step.start < step.end <= len(text)
        assert step.start <= step.text_start <= step.text_end <= step.end
        inside = text[step.text_start : step.text_end]
        assert inside == inside.strip()
        assert step.span[0] < step.span[1]
        end = step.end
    if split not in ("tags", "marks"):
        assert "".join(text[s.start : s.end] for s in steps) == text
        separators = {"\n\n": "\n", "\n": "\n", r"\.": ".", r"(?=a)": ""}[split]
        covered = "".join(text[s.text_start : s.text_end] for s in steps)
        lost = str.maketrans("", "", f" \n\r\t{separators}")
        assert covered.translate(lost) == text.translate(lost)
    if max_steps is not None:
        assert len(steps) <= max_steps
