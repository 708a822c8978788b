"""What a task asks of a rendered page, and whether a page has it: the pure half (`interact` does the clicking).

A requirement is a JSON object; `sandbox/README.md` has the grammar. A page is a `Snapshot`: the accessibility tree, and
the text that can be seen, both taken outside the reach of the page's own scripts.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sandbox.outcome import RequirementResult


class RequirementError(ValueError):
    """A requirement that does not follow the grammar: the message is one line that says where and why."""


@dataclass(frozen=True)
class Node:
    """A node of the accessibility tree: ARIA role, accessible name, and the DOM node behind it."""

    role: str
    name: str
    dom: int = 0


@dataclass(frozen=True)
class Snapshot:
    nodes: tuple[Node, ...]
    text: str


# Chromium's names for roles, where they are not ARIA's.
_ROLES = {
    "image": "img",
    "svgroot": "img",
    "canvas": "img",
    "popupbutton": "combobox",
    "comboboxselect": "combobox",
    "comboboxgrouping": "combobox",
    "comboboxmenubutton": "combobox",
    "textfieldwithcombobox": "combobox",
    "menulistoption": "option",
    "listboxoption": "option",
    "togglebutton": "button",
    "disclosuretriangle": "button",
    "radiobutton": "radio",
    "progressindicator": "progressbar",
    "sectionheader": "banner",
    "sectionfooter": "contentinfo",
}

# A role counts as those that it is a kind of.
_KINDS = {
    "searchbox": "textbox",
    "switch": "checkbox",
    "gridcell": "cell",
    "columnheader": "cell",
    "rowheader": "cell",
    "alertdialog": "dialog",
    "menuitemcheckbox": "menuitem",
    "menuitemradio": "menuitem",
    "grid": "table",
    "treegrid": "table",
}


def normal(text: str) -> str:
    """For comparing: lower case, white space collapsed."""
    return " ".join(text.split()).casefold()


def nodes_of(tree: Sequence[Mapping[str, Any]]) -> tuple[Node, ...]:
    """The nodes that assistive technology sees, in document order, of CDP's Accessibility.getFullAXTree."""
    by_id = {node["nodeId"]: node for node in tree}
    found: list[Node] = []
    stack = [node["nodeId"] for node in reversed(tree) if node.get("parentId") not in by_id]
    while stack:
        node = by_id.get(stack.pop())
        if node is None:
            continue
        stack += reversed(node.get("childIds", ()))
        role = str(node.get("role", {}).get("value", "")).lower()
        if not node.get("ignored") and role:
            name = str(node.get("name", {}).get("value", ""))
            found.append(Node(_ROLES.get(role, role), name, int(node.get("backendDOMNodeId", 0))))
    return tuple(found)


def matching(page: Snapshot, role: str, name: str | None = None) -> list[Node]:
    """The nodes of this role (or of a kind of it) whose accessible name contains `name`."""
    part = normal(name or "")
    return [n for n in page.nodes if role in (n.role, _KINDS.get(n.role)) and part in normal(n.name)]


_NUMBER = re.compile(r"(?<![\w.])[-−]?\d{1,3}(?:,\d{3})+(?:\.\d+)?|(?<![\w.])[-−]?\d+(?:\.\d+)?|\d+(?:\.\d+)?")


def numbers(text: str) -> list[float]:
    """The numbers in a text, in order: `1,234.5` is one, `3/7` are two."""
    return [float(n.replace(",", "").replace("−", "-")) for n in _NUMBER.findall(text)]


def static(requirement: Mapping[str, Any], page: Snapshot) -> RequirementResult:
    """Judge a `role` or a `text` requirement on a page."""
    if requirement["check"] == "text":
        met = normal(requirement["text"]) in normal(page.text)
        return RequirementResult(met, "" if met else f"the text {requirement['text']!r} is not on the page")
    count = len(matching(page, requirement["role"], requirement.get("name")))
    least, most = requirement.get("min", 1), requirement.get("max")
    met = count >= least and (most is None or count <= most)
    wanted = f"at least {least}" if count < least else f"at most {most}"
    return RequirementResult(met, "" if met else f"{count} of {_called(requirement)}, {wanted} wanted")


def expected(expectation: Mapping[str, Any], before: Snapshot, after: Snapshot) -> RequirementResult:
    """Judge what an interaction did to a page."""
    (kind, value), *rest = [(k, v) for k, v in expectation.items() if k != "name"]
    assert not rest
    if kind == "changes" and value == "number":
        met, reason = numbers(before.text) != numbers(after.text), "no number on the page changed"
    elif kind == "changes":
        met, reason = normal(before.text) != normal(after.text), "the text on the page did not change"
    elif kind == "number_delta":
        pairs = zip(numbers(before.text), numbers(after.text), strict=False)
        met, reason = any(abs(b - a - value) < 1e-9 for a, b in pairs), f"no number on the page changed by {value}"
    elif kind == "text":
        there = normal(value) in normal(before.text)
        met = not there and normal(value) in normal(after.text)
        reason = f"{value!r} was on the page already" if there else f"{value!r} did not appear"
    elif kind == "no_text":
        there = normal(value) in normal(before.text)
        met = there and normal(value) not in normal(after.text)
        reason = f"{value!r} is still on the page" if there else f"{value!r} was not on the page before"
    else:
        had, has = (bool(matching(p, value, expectation.get("name"))) for p in (before, after))
        met = has and not had
        reason = f"{_called(expectation)} {'was there already' if had else 'did not appear'}"
    return RequirementResult(met, "" if met else reason)


def _called(requirement: Mapping[str, Any]) -> str:
    name = requirement.get("name")
    return f"{requirement['role']} {name!r}" if name else str(requirement["role"])


_TARGET = {"role": str, "name": str, "nth": int}
_EXPECTATIONS = ("changes", "number_delta", "text", "no_text", "role")
_FIELDS: dict[str, tuple[set[str], dict[str, Any]]] = {  # check -> (what must be there, what may be there)
    "role": ({"role"}, {"role": str, "name": str, "min": int, "max": int}),
    "text": ({"text"}, {"text": str}),
    "click": ({"role", "expect"}, {**_TARGET, "expect": Mapping}),
    "type": ({"role", "value", "expect"}, {**_TARGET, "value": str, "click": Mapping, "expect": Mapping}),
}


def check_grammar(requirement: Any) -> None:
    """Raise RequirementError where a requirement is not one."""
    if not isinstance(requirement, Mapping):
        raise RequirementError(f"a requirement is an object, not {type(requirement).__name__}: {requirement!r}")
    check = requirement.get("check")
    if check not in _FIELDS:
        raise RequirementError(f"check must be one of {', '.join(_FIELDS)}, not {check!r}: {dict(requirement)!r}")
    must, may = _FIELDS[check]
    _check_fields(requirement, must, {"check": str, **may})
    if "click" in requirement:
        _check_fields(requirement["click"], {"role"}, _TARGET)
    if "expect" in requirement:
        _check_expectation(requirement["expect"])


def _check_fields(given: Mapping[str, Any], must: set[str], may: Mapping[str, Any]) -> None:
    if missing := must - given.keys():
        raise RequirementError(f"{', '.join(sorted(missing))} missing in {dict(given)!r}")
    for key, value in given.items():
        if key not in may:
            raise RequirementError(f"unknown key {key!r} in {dict(given)!r}; there are: {', '.join(may)}")
        if not isinstance(value, may[key]) or (may[key] is int and isinstance(value, bool)):
            raise RequirementError(f"{key} has the wrong type in {dict(given)!r}")
        if may[key] is int and value < 0:
            raise RequirementError(f"{key} is negative in {dict(given)!r}")


def _check_expectation(expect: Mapping[str, Any]) -> None:
    kinds = [kind for kind in _EXPECTATIONS if kind in expect]
    others = expect.keys() - {*kinds, "name"}
    if len(kinds) != 1 or others or ("name" in expect and kinds != ["role"]):
        raise RequirementError(f"expect holds exactly one of {', '.join(_EXPECTATIONS)}: {dict(expect)!r}")
    value = expect[kinds[0]]
    if kinds == ["number_delta"]:
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise RequirementError(f"number_delta is a number: {dict(expect)!r}")
    elif not isinstance(value, str):
        raise RequirementError(f"{kinds[0]} is a text: {dict(expect)!r}")
    elif kinds == ["changes"] and value not in ("number", "text"):
        raise RequirementError(f"changes is number or text: {dict(expect)!r}")
