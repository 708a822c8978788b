"""The grammar of requirements: what it lets through, what it refuses, and how it says so."""

import pytest

from sandbox.requirements import RequirementError, check_grammar
from tasks.errors import TaskError
from tasks.requirements import validate_requirement

GOOD = [
    {"check": "role", "role": "button"},
    {"check": "role", "role": "listitem", "min": 0, "max": 0},
    {"check": "role", "role": "button", "name": "Add", "min": 1, "max": 3},
    {"check": "text", "text": "Total"},
    {"check": "click", "role": "button", "name": "+", "nth": 2, "expect": {"changes": "number"}},
    {"check": "click", "role": "tab", "expect": {"changes": "text"}},
    {"check": "click", "role": "button", "expect": {"number_delta": -0.5}},
    {"check": "click", "role": "button", "expect": {"role": "dialog", "name": "Sure?"}},
    {"check": "type", "role": "textbox", "value": "", "expect": {"no_text": "Hello"}},
    {
        "check": "type",
        "role": "textbox",
        "name": "Name",
        "nth": 1,
        "value": "Ada",
        "click": {"role": "button", "name": "Add", "nth": 0},
        "expect": {"text": "Ada"},
    },
]

TEXT = {"check": "text", "text": "x"}
ROLE = {"check": "role", "role": "button"}
CLICK = {"check": "click", "role": "button", "expect": {"text": "x"}}
TYPE = {"check": "type", "role": "textbox", "value": "x", "expect": {"text": "x"}}

BAD = [
    ("text", "must be an object"),
    ({}, '"check" is None'),
    ({"check": "see"}, "one of role, text, click, type"),
    ({"check": "text"}, 'needs "text"'),
    (TEXT | {"text": " "}, '"text" must be a string'),
    (TEXT | {"role": "button"}, 'has no "role"'),
    (ROLE | {"role": "buton"}, "no ARIA role"),
    (ROLE | {"name": ""}, '"name" must be a string'),
    (ROLE | {"min": -1}, '"min" is -1'),
    (ROLE | {"min": True}, '"min" is True'),
    (ROLE | {"min": 3, "max": 2}, 'less than "min"'),
    (ROLE | {"max": 0}, 'less than "min"'),
    (ROLE | {"expect": {"text": "x"}}, 'has no "expect"'),
    ({"check": "click", "role": "button"}, 'needs "expect"'),
    (CLICK | {"nth": "first"}, '"nth" is'),
    (CLICK | {"expect": []}, '"expect" must be an object'),
    (CLICK | {"expect": {}}, "exactly one of"),
    (CLICK | {"expect": {"text": "x", "changes": "text"}}, "exactly one of"),
    (CLICK | {"expect": {"text": "x", "name": "y"}}, 'has no "name"'),
    (CLICK | {"expect": {"changes": "colour"}}, '"changes" is'),
    (CLICK | {"expect": {"number_delta": 0}}, '"number_delta" is 0'),
    (CLICK | {"expect": {"number_delta": float("nan")}}, '"number_delta" is nan'),
    (CLICK | {"expect": {"role": "popup"}}, "no ARIA role"),
    (TYPE | {"value": 7}, '"value" must be a string'),
    (TYPE | {"click": "Add"}, '"click" must be an object'),
    (TYPE | {"click": {"name": "Add"}}, '"click" needs "role"'),
]


@pytest.mark.parametrize("requirement", GOOD)
def test_good_requirements_pass_here_and_in_the_sandbox(requirement):
    validate_requirement(requirement)
    check_grammar(requirement)


@pytest.mark.parametrize(("requirement", "says"), BAD)
def test_bad_requirements_are_refused_with_the_reason(requirement, says):
    with pytest.raises(TaskError) as error:
        validate_requirement(requirement)
    assert says in str(error.value)
    assert "\n" not in str(error.value)


def test_whatever_the_sandbox_refuses_is_refused_when_rows_are_loaded():
    for requirement, _ in BAD:
        try:
            check_grammar(requirement)
        except RequirementError:
            with pytest.raises(TaskError):
                validate_requirement(requirement)
