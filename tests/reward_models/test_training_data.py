"""Rows of each kind become the marks that they say, and bad ones one line."""

from __future__ import annotations

from typing import Any

import pytest

from reward_models.errors import RewardError
from reward_models.training_data import RIGHT, UNKNOWN, WRONG, Example, character_labels, distinct, examples_of


def one(record: dict[str, Any], **settings: Any) -> Example:
    [example] = examples_of(record, "f:1", **settings)
    return example


def drawn(example: Example, *, first: bool = False) -> list[str]:
    """The text in pieces of one label, each with + - or ? before it."""
    labels, out = character_labels(example, first=first), []
    for n, (char, label) in enumerate(zip(example.completion, labels, strict=True)):
        if n == 0 or label != labels[n - 1]:
            out.append({WRONG: "-", UNKNOWN: "?", RIGHT: "+"}[int(label)])
        out[-1] += char
    return out


def test_spans_as_lists_and_as_objects() -> None:
    row = {"prompt": "Say.", "completion": "one two three four", "spans": [[4, 7, -1], [8, 13, 0.5, "fine"]]}
    assert drawn(one(row)) == ["+one ", "-two", "+ three four"]
    assert drawn(one(row, unmarked=UNKNOWN)) == ["?one ", "-two", "? ", "+three", "? four"]
    objects = {**row, "spans": [{"start": 4, "end": 7, "value": -1}, {"start": 8, "end": 13, "value": 0.5}]}
    assert drawn(one(objects)) == drawn(one(row))
    assert drawn(one(row), first=True) == ["+one ", "-two", "? three four"]
    assert one(row).problem == "Say."


def test_where_spans_overlap_wrong_wins_and_0_says_nothing() -> None:
    row = {"prompt": "", "completion": "abcdef", "spans": [[2, 4, -1], [0, 6, 1], [3, 5, 0]]}
    assert drawn(one(row)) == ["+ab", "-cd", "+ef"]
    assert drawn(one({**row, "spans": [[4, 6, 0]]})) == ["+abcd", "?ef"]


def test_messages_are_texts() -> None:
    row = {
        "prompt": [{"role": "system", "content": "s"}, {"role": "user", "content": "ask"}],
        "completion": [{"role": "assistant", "content": "abc"}],
        "spans": [],
    }
    assert (one(row).problem, one(row).completion) == ("ask", "abc")


def test_steps_of_trls_kind() -> None:
    row = {"prompt": "2 + 2", "completions": ["It is 4.", "", "So 5."], "labels": [True, True, False]}
    example = one(row)
    assert example.completion == "It is 4.\n\n\n\nSo 5."
    assert drawn(example) == ["+It is 4.\n\n\n\n", "-So 5."]
    assert example.split == "\n\n"


def test_math_shepherd() -> None:
    steps = "Step 1: Janet has 3 + 4 = 7 eggs. {}\nStep 2: She eats 7 - 3 = 5. {}\nStep 3: The answer is: 5 {}"
    problem = "Step 1 is easy. How many eggs?"
    row = {
        "input": f"{problem} {steps.format('ки', 'ки', 'ки')}",
        "label": f"{problem} {steps.format('+', '-', '-')}",
        "task": "GSM8K",
    }
    example = one(row)
    assert example.problem == problem
    assert drawn(example) == [
        "+Step 1: Janet has 3 + 4 = 7 eggs.\n",
        "-Step 2: She eats 7 - 3 = 5.\nStep 3: The answer is: 5",
    ]
    assert drawn(example, first=True)[1:] == ["-Step 2: She eats 7 - 3 = 5.\n", "?Step 3: The answer is: 5"]
    assert example.split == "\n"


def test_prm800k_has_the_chosen_way_and_each_other_completion() -> None:
    steps = [
        {"completions": [{"text": "A", "rating": 1}, {"text": "B", "rating": -1}], "chosen_completion": 0},
        {"completions": [{"text": "C", "rating": -1}], "human_completion": {"text": "D"}, "chosen_completion": None},
        {"completions": [{"text": "E", "rating": 0}, {"text": "F", "rating": None}], "chosen_completion": 0},
        {"completions": [{"text": "G", "rating": -1}], "chosen_completion": None},
    ]
    row = {"question": {"problem": "P", "ground_truth_answer": "7"}, "label": {"steps": steps, "finish_reason": "x"}}
    assert [drawn(e) for e in examples_of(row, "f:1")] == [
        ["+A\n\nD\n\nE"],
        ["-B"],
        ["?A\n\n", "-C"],
        ["?A\n\nD\n\nE\n\n", "-G"],
    ]


REPLY = "Here it is:\n```jsx\nexport default function App() {\n  return <p>{1 +}</p>;\n}\n```\n"


def diagnostic(line: int, **more: Any) -> dict[str, Any]:
    return {"source": "esbuild", "severity": "fatal", "line": line, "column": 1, "message": "no", **more}


def verdict(status: str, *diagnostics: dict[str, Any]) -> dict[str, Any]:
    return {
        "prompt": "p",
        "completion": REPLY,
        "status": status,
        "diagnostics": list(diagnostics),
        "spans": [],
        "local": [],
    }


def test_a_runs_diagnostics_are_lines_of_the_reply() -> None:
    row = verdict("compile_error", diagnostic(3), diagnostic(2), diagnostic(1, severity="warning"))
    assert drawn(one(row), first=True) == [
        "+Here it is:\n```jsx\nexport default function App() {\n",
        "-  return <p>{1 +}</p>;\n",
        "?}\n```\n",
    ]
    assert drawn(one(row))[1] == "-  return <p>{1 +}</p>;\n}\n```\n"  # the last line's span ends with the reply
    at_column = drawn(one(verdict("compile_error", diagnostic(2, column=17))), first=True)
    assert at_column == ["+" + REPLY[: REPLY.index("}</p>")], "-}</p>;\n", "?}\n```\n"]
    beyond = drawn(one(verdict("compile_error", diagnostic(2, column=99))), first=True)
    assert beyond[1:] == ["-\n", "?}\n```\n"]
    assert drawn(one(verdict("ok", diagnostic(2, source="eslint", severity="error")))) == ["+" + REPLY]


@pytest.mark.parametrize("status", ["no_code", "not_component", "timeout", "crashed", "compile_error"])
def test_a_failure_without_a_line_says_nothing_of_lines(status: str) -> None:
    assert examples_of(verdict(status), "f:1") == []


def test_the_local_rewards_of_a_run_without_a_compiler() -> None:
    row = {
        "prompt": "p", "completion": "ab cd", "spans": [[0, 2], [2, 2], [2, 5]], "local": [0.5, 9.0, -0.2],
        "status": None, "diagnostics": None, "scored": True,
    }  # fmt: skip
    assert drawn(one(row)) == ["+ab", "- cd"]
    assert examples_of({**row, "scored": False}, "f:1") == []


@pytest.mark.parametrize(
    ("record", "said"),
    [
        ({"prompt": "p", "completion": "abc", "spans": [[1, 9, -1]]}, "span 1 is [1, 9), which is not inside"),
        ({"prompt": "p", "completion": "abc", "spans": [[2, 2, -1]]}, "span 1 is [2, 2), which is not inside"),
        ({"prompt": "p", "completion": "abc", "spans": [[0, 1, "bad"]]}, "value of span 1 is 'bad', not a number"),
        ({"prompt": "p", "completion": "abc", "spans": [[0, 1, float("nan")]]}, "value of span 1 is nan"),
        ({"prompt": "p", "completion": "abc", "spans": [[0, 1]]}, "span 1 is [0, 1], not [start, end, value]"),
        ({"prompt": "p", "completion": "abc", "spans": [{"start": 0}]}, "span 1 is [0, None)"),
        ({"prompt": "p", "completion": "abc", "spans": 7}, "its columns do not fit"),
        ({"prompt": "p", "completion": 3, "spans": []}, "completion is int, not a text"),
        ({"prompt": "p", "completions": ["a"], "labels": [True, False]}, "1 steps in completions but 2 labels"),
        ({"prompt": "p", "completions": ["a"], "labels": ["yes"]}, "a label is not true or false"),
        ({"input": "q Step 1: a ки", "label": "q Step 1: a x"}, "no + or - where input has its tag number 1"),
        ({"input": "q Step 1: a ки", "label": "q Step 1: b +"}, "no + or - where input has its tag number 1"),
        ({"input": "q a ки", "label": "q a +"}, 'no "Step 1:"'),
        ({"question": {"problem": "P"}, "label": {}}, "its columns do not fit (KeyError('steps'))"),
        ({"prompt": "p", "text": "t"}, "has prompt, text; a labelled row has"),
        ({}, "has no column"),
    ],
)
def test_a_bad_row_is_one_line_that_names_it(record: dict[str, Any], said: str) -> None:
    with pytest.raises(RewardError) as error:
        examples_of(record, "data.jsonl:7")
    text = str(error.value)
    assert text.startswith("data.jsonl:7")
    assert said in text
    assert "\n" not in text


def test_repeated_rows_count_once() -> None:
    row = {"prompt": "p", "completion": "abc", "spans": [[0, 1, -1]]}
    rows = [one(row), one(row), one({**row, "spans": []})]
    assert list(distinct(rows)) == [rows[0], rows[2]]
