"""Grading: what counts as the final answer, which texts name an integer, and what a reply costs."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks.answers import (
    ANOTHER,
    NO_ANSWER,
    OUT_OF_RANGE,
    RIGHT,
    TRUNCATED,
    UNCLOSED_BOX,
    UNCLOSED_TAG,
    UNFINISHED,
    after_thoughts,
    final_answer,
    gold_integer,
    grade,
)
from tasks.errors import TaskError
from tasks.integers import read_integer

# -- replies -----------------------------------------------------------------------------------------------------------

RIGHT_204 = [
    "\\boxed{204}",
    "$\\boxed{204}$",
    "So the answer is $\\boxed{204}$.",
    "\\boxed {204}",
    "\\boxed\n{204}",
    "\\boxed{\n204\n}",
    "\\boxed{204}.",
    "\\boxed{204}^\\circ",
    "\\fbox{204}",
    "\\\\boxed{204}",
    "\\boxed{0204}",
    "\\boxed{204\\text{ minutes}}",
    "\\boxed{\\boxed{204}}",
    "\\boxed{\\text{the box is \\fbox{204}}}",
    "\\boxed{x = 204}",
    "\\boxed{33}, no: \\boxed{204}",
    "\\boxed{33} \\boxed{} \\boxed{204}",
    "{ \\boxed{204}",
    "} \\boxed{204}",
    "\\{1, 2\\} so \\boxed{204}",
    "\\boxed{1 \\boxed{204}",
    "\\boxed 33, I mean \\boxed{204}",
    "a box of 12 boxes, \\boxed{204} boxes",
    "\\boxed{204} boxed",
    "\\boxed{204}<|im_end|>",
    "\\boxed{204}" + " and so on" * 1000,
    "word " * 10_000 + "\\boxed{204}",
    "<think>hm</think>\\boxed{204}",
    "<think>\\boxed{33}</think>\\boxed{204}",
    "hm</think>\\boxed{204}",
    "\\boxed{33}</think>\n\n\\boxed{204}",
    "<think>\\boxed{33</think>\\boxed{204}",
    "<think>a</think><think>b</think>\\boxed{204}",
    "<think>a <think> b</think>\\boxed{204}",
    "<thinking>\\boxed{33}</thinking>\\boxed{204}",
    "<thought>\\boxed{33}</thought>\\boxed{204}",
    "<reasoning>\\boxed{33}</reasoning>\\boxed{204}",
    "<reflection>\\boxed{33}</reflection>\\boxed{204}",
    "<seed:think>\\boxed{33}</seed:think>\\boxed{204}",
    "[THINK]\\boxed{33}[/THINK]\\boxed{204}",
    "◁think▷\\boxed{33}◁/think▷\\boxed{204}",
    "<|begin_of_thought|>\\boxed{33}<|end_of_thought|>\\boxed{204}",
    "<|START_THINKING|>\\boxed{33}<|END_THINKING|>\\boxed{204}",
    "<|channel|>analysis<|message|>\\boxed{33}<|end|><|start|>assistant<|channel|>final<|message|>\\boxed{204}",
    "<think>hm</think>The answer is 204.",
    "I think the answer is \\boxed{204}",
    "<final>204</final>",
    "<final> 204 </final>",
    "<final>$204$</final>",
    "<final>\\boxed{204}</final>",
    "<final>The answer is 204.</final>",
    "<final>x = 204</final>",
    "<final>204</final> and more",
    "<final>33</final><final>204</final>",
    "<step 1>12 * 17 = 204</step 1>\n<final>204</final>",
    "<final>33</final> \\boxed{204}",
    "\\boxed{204} <final>33</final>",
    "<answer>204</answer>",
    "<think>x</think><answer>204</answer>",
    "<final_answer>204</final_answer>",
    "(final) 204",
    "(step 1) 12 * 17 = 204\n(final) 204",
    "(final) so it is 204 minutes",
    "(final) 33\n<final>204</final>",
    "<final>33</final>\n(final) 204",
    "The answer is 204.",
    "The answer is 204",
    "the answer is 204!",
    "THE ANSWER IS 204.",
    "So the final answer is 204.",
    "The answer is $204$.",
    "The answer is \\(204\\).",
    "The answer is \\[204\\]",
    "The answer is\n\n$$204$$\n",
    "The answer is **204**.",
    "**The answer is 204.**",
    "The answer is: 204",
    "The answer is: \\text{204}",
    "The answer is therefore 204.",
    "The answer equals 204.",
    "The answer is 204 minutes.",
    "The answer is 204^\\circ.",
    "The answer is $m + n = 204$.",
    "The answer is 12 * 17 = 204.",
    "The answer is \\frac{408}{2} = 204",
    "The answer is 204, since 12 * 17 = 204.",
    "The answer is 204 because of that.",
    "The answer, in minutes, is 204.",
    "The answer to the problem is 204.",
    "The answer (in minutes) is 204.",
    "The answer we seek is 204.",
    "Answer: 204",
    "ANSWER: 204",
    "Answer = 204",
    "Answer:\n204",
    "Answer:\n\n204\n",
    "**Answer:** 204",
    "**Answer: 204**",
    "**Answer**: 204",
    "Final Answer: 204",
    "Final Answer: The final answer is 204. I hope it is correct.",
    "### Final Answer\n\nThe answer is 204.",
    "## Final Answer\n\n204",
    "**Final Answer**\n\n$$204$$\n",
    "**Answer**\n204.",
    "答案是204。",
    "所以答案为：$204$。",
    "#### 204",
    "Long story.\n#### 204\n",
    "The answer is 33. Let me check. The answer is 204.",
    "The answer is 204.\n</step 4>",
    "The answer is 204.<|im_end|>",
    "The answer is 204.</s>",
    "The answer is 204.<|endoftext|>\n",
]

WRONG_204 = [
    ("", NO_ANSWER),
    ("   \n", NO_ANSWER),
    ("204", NO_ANSWER),
    ("We get 204.", NO_ANSWER),
    ("12 * 17 = 204", NO_ANSWER),
    ("boxed{204}", NO_ANSWER),
    ("\\box{204}", NO_ANSWER),
    ("\\boxed 204", NO_ANSWER),
    ("\\boxed(204)", NO_ANSWER),
    ("<step 1>204</step 1>", NO_ANSWER),
    ("\\boxed{33}", ANOTHER),
    ("\\boxed{204} no, \\boxed{33}", ANOTHER),
    ("\\boxed{204}\\boxed{205}", ANOTHER),
    ("<think>\\boxed{204}</think>\\boxed{33}", ANOTHER),
    ("<final>33</final>", ANOTHER),
    ("<final>204</final><final>33</final>", ANOTHER),
    ("The answer is 33.", ANOTHER),
    ("The answer is 204. The answer is 33.", ANOTHER),
    ("\\boxed{1204}", OUT_OF_RANGE),
    ("\\boxed{2{,}040}", OUT_OF_RANGE),
    ("\\boxed{" + "9" * 500 + "}", OUT_OF_RANGE),
    ("\\boxed{204", UNCLOSED_BOX),
    ("\\boxed{", UNCLOSED_BOX),
    ("\\boxed{204\\}", UNCLOSED_BOX),
    ("\\boxed{\\text{204}", UNCLOSED_BOX),
    ("\\boxed{204} or \\boxed{20", UNCLOSED_BOX),
    ("The answer is 204. \\boxed{20", UNCLOSED_BOX),
    ("\\boxed{204" + "." * 2000 + "}", UNCLOSED_BOX),
    ("<think>\\boxed{204}", UNFINISHED),
    ("<think>The answer is 204.", UNFINISHED),
    ("<thinking>\\boxed{204}", UNFINISHED),
    ("<think>a</think>\\boxed{204}<think>", UNFINISHED),
    ("<think>a</think><think>\\boxed{204}", UNFINISHED),
    ("[THINK]\\boxed{204}", UNFINISHED),
    ("◁think▷\\boxed{204}", UNFINISHED),
    ("<|begin_of_thought|>\\boxed{204}", UNFINISHED),
    ("<|channel|>analysis<|message|>\\boxed{204}", UNFINISHED),
    ("<think>\\boxed{204}</think>", NO_ANSWER),
    ("<think>The answer is 204.</think>", NO_ANSWER),
    ("\\boxed{204}</think>", NO_ANSWER),
    ("<final>204", UNCLOSED_TAG),
    ("<final>The answer is 204.", UNCLOSED_TAG),
    ("<final>204</final><final>204", UNCLOSED_TAG),
    ("<answer>204", UNCLOSED_TAG),
    ("\\boxed{}", "an empty answer"),
    ("\\boxed{ }", "an empty answer"),
    ("\\boxed{204}\\boxed{}", "an empty answer"),
    ("<final></final>", "an empty answer"),
    ("\\boxed{204.5}", "not an integer"),
    ("\\boxed{-204}", "a negative number"),
    ("\\boxed{204, 205}", "several values"),
    ("\\boxed{204 \\text{ or } 205}", "several values"),
    ("\\boxed{2 + \\boxed{204}}", "not a plain integer"),
    ("\\boxed{m+n}", "not a number"),
    ("\\boxed{\\frac{408}{2}}", "not a plain integer"),
    ("\\boxed{\\text{not }204}", "not a plain integer"),
    ("<final>204 or 205</final>", "several values"),
    ("<final>" + "x" * 5000 + "204</final>", "too long for an answer"),
    ("The answer is 204 or 205.", "several values"),
    ("The answer is not 204.", "not a plain integer"),
    ("The answer is about 204.", "not a plain integer"),
    ("The answer is m+n.", "not a number"),
    ("The answer is -204.", "a negative number"),
    ("The answer is 204.5.", "not an integer"),
    ("The answer is 204?", NO_ANSWER),
    ("Is the answer 204?", NO_ANSWER),
    ("The answer is 204? No.", NO_ANSWER),
    ("The answer is 204. Wait, that is wrong.", NO_ANSWER),
    ("The answer is 204. But that cannot be.", NO_ANSWER),
    ("The answer is 204. Hence 12 * 18 = 216.", NO_ANSWER),
    ("The answer is 204." + " word" * 1000, NO_ANSWER),
    ("#### Step 204: go on", NO_ANSWER),
    ("We look for the answer.\n\nStep 204 is next", NO_ANSWER),
    ("## Answer\n\nStep 204", NO_ANSWER),
]


@pytest.mark.parametrize("reply", RIGHT_204)
def test_a_right_reply(reply: str) -> None:
    found = grade(reply, 204)
    assert (found.correct, found.answer, found.reason) == (True, "204", RIGHT)
    assert grade(reply, 203).reason == ANOTHER


@pytest.mark.parametrize(("reply", "reason"), WRONG_204)
def test_a_wrong_reply_says_why(reply: str, reason: str) -> None:
    found = grade(reply, 204)
    assert not found.correct
    assert found.reason == reason


@pytest.mark.parametrize("reply", RIGHT_204)
def test_a_truncated_reply_is_wrong(reply: str) -> None:
    found = grade(reply, 204, truncated=True)
    assert (found.correct, found.answer, found.reason) == (False, None, TRUNCATED)


@pytest.mark.parametrize("gold", range(0, 1000, 37))
@pytest.mark.parametrize("form", ["\\boxed{%d}", "\\boxed{%03d}", "<final>%d</final>", "The answer is %d."])
def test_every_gold(gold: int, form: str) -> None:
    assert grade(form % gold, gold).correct
    assert not grade(form % gold, (gold + 1) % 1000).correct


def test_a_wrong_answer_is_shown_as_it_was_written() -> None:
    assert grade("\\boxed{\\frac{1}\n{3}}", 3).answer == "\\frac{1} {3}"
    assert grade("\\boxed{" + "x" * 500 + "}", 3).answer == "x" * 100
    assert grade("\\boxed{025}", 3).answer == "25"
    assert grade("\\boxed{1{,}024}", 3).answer == "1024"
    assert grade("\\boxed{}", 3).answer is None
    assert grade("hm", 3).answer is None


def test_boxed_says_whether_there_is_a_complete_box() -> None:
    assert grade("\\boxed{33}", 204).boxed
    assert grade("\\boxed{33}", 204, truncated=True).boxed
    assert not grade("<final>204</final>", 204).boxed
    assert not grade("\\boxed{204", 204).boxed
    assert not grade("<think>\\boxed{204}</think>", 204).boxed


@pytest.mark.parametrize("gold", [-1, 1000, 3.0, "3", None, True])
def test_a_gold_that_is_none_is_refused(gold: object) -> None:
    with pytest.raises(TaskError, match="from 0 to 999"):
        grade("\\boxed{3}", gold)  # type: ignore[arg-type]


def test_where_thoughts_end() -> None:
    assert after_thoughts("no thought") == 0
    assert after_thoughts("<think>a</think>b") == len("<think>a</think>")
    assert after_thoughts("<think>a") == len("<think>a")


@pytest.mark.parametrize(
    ("value", "gold"),
    [
        (25, 25),
        (25.0, 25),
        ("025", 25),
        ("336^\\circ", 336),
        ("$33$", 33),
        ("\\boxed{204}", 204),
        ("Long.\n\nSo the sum is $\\boxed{204}$.", 204),
        ("x" * 5000 + " \\boxed{033} and so on", 33),
        ("33.0", 33),
        (0, 0),
        (999, 999),
        (1000, None),
        (-1, None),
        (33.5, None),
        ("33.5", None),
        ("", None),
        (None, None),
        (True, None),
        ([33], None),
        (float("nan"), None),
        (float("inf"), None),
        ("m+n", None),
        ("a solution without a box", None),
    ],
)
def test_golds_as_data_sets_write_them(value: object, gold: int | None) -> None:
    assert gold_integer(value) == gold


# -- whatever a reply holds --------------------------------------------------------------------------------------------

PIECES = [
    "\\boxed{", "\\fbox{", "}", "{", "\\", "\\}", "<think>", "</think>", "[THINK]", "[/THINK]", "◁think▷",
    "<final>", "</final>", "<answer>", "</answer>", "(final)", "The answer is ", "answer", "####", " ", "\n",
    ".", ",", "=", "204", "33", "-", "0", "\\text{", "^\\circ", "\\frac", "$", "$$", "\\(", "\\)", "٣", "²",
    "x", "or", "not", "<|im_end|>", "</s>", "?", "**",
]  # fmt: skip


@settings(max_examples=400, deadline=None)
@given(st.lists(st.sampled_from(PIECES), max_size=40).map("".join) | st.text(max_size=200))
def test_no_reply_raises_and_what_is_right_names_the_gold(reply: str) -> None:
    found = grade(reply, 204)
    assert found.reason
    assert found.correct == (found.reason == RIGHT)
    if found.correct:
        said, boxed, _ = final_answer(reply)
        assert said is not None
        assert read_integer(said).value == 204
        assert found.boxed == boxed
        assert found.answer == "204"
    assert not grade(reply, 204, truncated=True).correct


@settings(max_examples=300, deadline=None)
@given(st.text(max_size=60), st.integers(0, 999))
def test_a_last_box_decides_whatever_stands_before(before: str, gold: int) -> None:
    reply = before.replace("think", "").replace("THINK", "") + f" \\boxed{{{gold}}}"
    assert grade(reply, gold).correct


# -- time --------------------------------------------------------------------------------------------------------------

MEGABYTE = 1_000_000
HOSTILE = [
    "\\boxed{", "\\boxed{}", "\\boxed{1}", "\\boxed", "\\fbox", "box", "{", "}", "\\", "<", "<t", "<|",
    "<think>", "</think>", "<think", "</think", "thinking>", "<seed:", "[THINK]", "◁think▷", "<|channel|>",
    "<final>", "</final>", "<final", "(final)", "<answer>", "answer is ", "The answer is 204. ", "answer ",
    "####", "#### 2\n", " ", "\n", "9", "٣", ",000", "$", "=", "\\text{", "\\boxed{1}{",
]  # fmt: skip


def hostile_replies() -> list[str]:
    replies = [piece * (MEGABYTE // len(piece)) for piece in HOSTILE]
    replies += ["\\boxed{" * 9 + piece * 500 + "}" * 600 for piece in ("\\text{", "{", "1,", "a'", "=", "(", "٣", " ")]
    marks = "<|channel|> _THINKING|> _of_thought|> THINK] reasoning reflection thinking thoughts"
    return replies + [marks + piece * (MEGABYTE // len(piece)) for piece in ("<", "k", "<think", "</thought")]


def test_no_reply_takes_more_than_its_length() -> None:
    """A quadratic grader takes minutes for these; the bound only has to tell the two apart on any machine."""
    start = time.process_time()
    for reply in hostile_replies():
        grade(reply, 204)
    assert time.process_time() - start < 20


@pytest.mark.slow
def test_a_hostile_megabyte_takes_under_50_ms() -> None:
    for reply in hostile_replies():
        times = []
        for _ in range(5):
            start = time.process_time()
            grade(reply, 204)
            times.append(time.process_time() - start)
        assert min(times) < 0.05, (reply[:20], min(times))


# -- data that may be at hand ------------------------------------------------------------------------------------------

AIME = Path(os.environ.get("AIME_DATA", Path(__file__).parents[3] / "shared" / "data"))


@pytest.mark.skipif(not AIME.is_dir(), reason="no folder with AIME problems: name one in AIME_DATA")
def test_the_golds_of_real_sets_are_accepted_in_every_form() -> None:
    rows = [json.loads(line) for file in sorted(AIME.glob("aime*.jsonl")) for line in file.open(encoding="utf-8")]
    assert rows
    for row in rows:
        gold = gold_integer(row["answer_raw"])
        assert gold == row["answer"], row["id"]
        for form in ("\\boxed{%s}", "<final>%s</final>", "The answer is %s.", "#### %s"):
            assert grade(form % row["answer_raw"], gold).correct, row["id"]
        assert not grade(row["problem"], gold).correct
