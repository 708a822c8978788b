"""Requirements on a page, as pure functions of its accessibility tree and text."""

from __future__ import annotations

from typing import Any

import pytest

from sandbox.requirements import (
    Node,
    RequirementError,
    Snapshot,
    check_grammar,
    expected,
    matching,
    nodes_of,
    numbers,
    static,
)


def page(text: str = "", *nodes: tuple[str, str]) -> Snapshot:
    return Snapshot(tuple(Node(role, name, i) for i, (role, name) in enumerate(nodes)), text)


def ax(node: int, role: str, name: str = "", *children: int, ignored: bool = False, parent: int | None = None) -> Any:
    fields = {
        "nodeId": str(node),
        "role": {"value": role},
        "name": {"value": name},
        "ignored": ignored,
        "childIds": [str(c) for c in children],
        "backendDOMNodeId": node + 100,
    }
    return fields if parent is None else {**fields, "parentId": str(parent)}


def test_nodes_come_in_document_order_without_ignored_ones() -> None:
    tree = [
        ax(1, "RootWebArea", "", 2, 3),
        ax(3, "button", "last", parent=1),
        ax(2, "generic", "", 4, 5, ignored=True, parent=1),
        ax(5, "image", "a picture", parent=2),
        ax(4, "heading", "first", parent=2),
    ]
    found = [(n.role, n.name, n.dom) for n in nodes_of(tree)]
    assert found == [
        ("rootwebarea", "", 101),
        ("heading", "first", 104),
        ("img", "a picture", 105),
        ("button", "last", 103),
    ]


def test_a_tree_nested_deeper_than_pythons_stack_is_read() -> None:
    deep = [ax(i, "group", "", i + 1, parent=i - 1 if i else None) for i in range(20_000)]
    assert len(nodes_of(deep)) == 20_000


def test_names_match_in_part_whatever_the_case_and_white_space() -> None:
    shown = page("", ("button", "  Add   to\nCart"), ("link", "Add to cart"))
    assert [n.role for n in matching(shown, "button", "add TO cart")] == ["button"]
    assert len(matching(shown, "button")) == 1
    assert matching(shown, "button", "remove") == []


@pytest.mark.parametrize(
    ("special", "general"), [("searchbox", "textbox"), ("switch", "checkbox"), ("alertdialog", "dialog")]
)
def test_a_role_counts_as_the_one_that_it_is_a_kind_of_but_not_the_other_way(special: str, general: str) -> None:
    assert matching(page("", (special, "")), general)
    assert not matching(page("", (general, "")), special)


@pytest.mark.parametrize(
    ("asked", "met"),
    [({}, True), ({"min": 2}, True), ({"min": 3}, False), ({"max": 2}, True), ({"max": 1}, False), ({"min": 0}, True)],
)
def test_role_counts(asked: dict[str, int], met: bool) -> None:
    shown = page("", ("button", "one"), ("button", "two"))
    result = static({"check": "role", "role": "button", **asked}, shown)
    assert result.met is met
    assert bool(result.reason) is not met


def test_min_0_max_0_asks_for_none() -> None:
    none = {"check": "role", "role": "button", "min": 0, "max": 0}
    assert static(none, page()).met
    assert not static(none, page("", ("button", "x"))).met


def test_text_is_found_whatever_the_case_and_white_space() -> None:
    assert static({"check": "text", "text": "total price"}, page("The TOTAL\n  Price: 5")).met
    assert not static({"check": "text", "text": "total prices"}, page("total price")).met


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Count: 5", [5]),
        ("1,234.5 of 12", [1234.5, 12]),
        ("3/7 done, 40%", [3, 7, 40]),
        ("-4 and −5", [-4, -5]),
        ("12:30", [12, 30]),
        ("2026-01-02", [2026, 1, 2]),
        ("x1 v2.0", [1, 2.0]),
        ("$19.99", [19.99]),
        ("none", []),
    ],
)
def test_numbers(text: str, found: list[float]) -> None:
    assert numbers(text) == found


@pytest.mark.parametrize(
    ("expect", "before", "after", "met"),
    [
        ({"changes": "number"}, "Count: 0", "Count: 1", True),
        ({"changes": "number"}, "Count: 0", "Total: 0", False),
        ({"changes": "number"}, "no number", "1", True),
        ({"changes": "text"}, "off", "on", True),
        ({"changes": "text"}, "off", "  OFF ", False),
        ({"number_delta": 1}, "a 5 b 7", "a 5 b 8", True),
        ({"number_delta": 1}, "a 5 b 7", "a 5 b 9", False),
        ({"number_delta": -0.5}, "2.5", "2", True),
        ({"number_delta": 1}, "5 8", "8 5", False),
        ({"text": "Thanks"}, "Send", "thanks, Ada", True),
        ({"text": "Thanks"}, "Thanks", "Thanks", False),
        ({"text": "Thanks"}, "Send", "Send", False),
        ({"no_text": "Hello"}, "hello", "bye", True),
        ({"no_text": "Hello"}, "bye", "bye", False),
        ({"no_text": "Hello"}, "hello", "hello", False),
    ],
)
def test_what_an_interaction_did(expect: dict[str, Any], before: str, after: str, met: bool) -> None:
    result = expected(expect, page(before), page(after))
    assert result.met is met
    assert bool(result.reason) is not met


def test_a_role_has_to_appear() -> None:
    expect = {"role": "dialog", "name": "settings"}
    closed, opened, other = page(), page("", ("dialog", "Settings")), page("", ("dialog", "Help"))
    assert expected(expect, closed, opened).met
    assert expected(expect, other, opened).met
    assert not expected(expect, closed, other).met
    assert not expected(expect, opened, opened).met


GOOD: list[Any] = [
    {"check": "role", "role": "button", "name": "Add", "min": 1, "max": 3},
    {"check": "text", "text": "Total"},
    {"check": "click", "role": "button", "name": "+", "nth": 0, "expect": {"changes": "number"}},
    {"check": "click", "role": "button", "expect": {"role": "dialog", "name": "x"}},
    {
        "check": "type",
        "role": "textbox",
        "name": "Name",
        "value": "Ada",
        "click": {"role": "button", "name": "Add"},
        "expect": {"text": "Ada"},
    },
    {"check": "type", "role": "slider", "value": "7", "expect": {"number_delta": 2.5}},
]


@pytest.mark.parametrize("requirement", GOOD)
def test_the_grammar_takes(requirement: Any) -> None:
    check_grammar(requirement)


@pytest.mark.parametrize(
    ("requirement", "says"),
    [
        ("button", "object"),
        ({}, "check must be"),
        ({"check": "hover", "role": "button"}, "check must be"),
        ({"check": "role"}, "role missing"),
        ({"check": "role", "role": "button", "count": 2}, "unknown key 'count'"),
        ({"check": "role", "role": "button", "min": "1"}, "min has the wrong type"),
        ({"check": "role", "role": "button", "min": True}, "min has the wrong type"),
        ({"check": "role", "role": "button", "min": -1}, "negative"),
        ({"check": "text", "text": 5}, "text has the wrong type"),
        ({"check": "click", "role": "button"}, "expect missing"),
        ({"check": "click", "role": "button", "expect": {}}, "exactly one"),
        ({"check": "click", "role": "button", "expect": {"text": "a", "no_text": "b"}}, "exactly one"),
        ({"check": "click", "role": "button", "expect": {"text": "a", "name": "b"}}, "exactly one"),
        ({"check": "click", "role": "button", "expect": {"changes": "colour"}}, "number or text"),
        ({"check": "click", "role": "button", "expect": {"number_delta": "1"}}, "a number"),
        ({"check": "type", "role": "textbox", "expect": {"text": "a"}}, "value missing"),
        ({"check": "type", "role": "textbox", "value": "a", "click": {}, "expect": {"text": "a"}}, "role missing"),
    ],
)
def test_the_grammar_refuses_and_says_why(requirement: Any, says: str) -> None:
    with pytest.raises(RequirementError, match=says):
        check_grammar(requirement)
