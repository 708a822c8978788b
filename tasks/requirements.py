"""The grammar of requirements, as the rows of a task are checked against it (README.md explains it)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tasks.errors import TaskError

ROLES = frozenset(
    """
    alert alertdialog application article banner blockquote button caption cell checkbox code columnheader combobox
    complementary contentinfo definition deletion dialog document emphasis feed figure form generic grid gridcell
    group heading img insertion link list listbox listitem log main mark marquee math menu menubar menuitem
    menuitemcheckbox menuitemradio meter navigation note option paragraph progressbar radio radiogroup region row
    rowgroup rowheader scrollbar search searchbox separator slider spinbutton status strong subscript superscript
    switch tab table tablist tabpanel term textbox time timer toolbar tooltip tree treegrid treeitem
    """.split()  # noqa: SIM905
)
"""The roles of WAI-ARIA 1.2 that a page can have, and `mark`."""

_KEYS = {
    "role": ({"role"}, {"name", "min", "max"}),
    "text": ({"text"}, set()),
    "click": ({"role", "expect"}, {"name", "nth"}),
    "type": ({"role", "value", "expect"}, {"name", "nth", "click"}),
}
_EXPECTATIONS = ("changes", "number_delta", "text", "no_text", "role")


def validate_requirement(requirement: object) -> None:
    """Raises a `TaskError` that names what is wrong with a requirement; returns if nothing is."""
    if not isinstance(requirement, Mapping):
        raise TaskError(f"must be an object, not {type(requirement).__name__}")
    check = requirement.get("check")
    if check not in _KEYS:
        raise TaskError(f'"check" is {check!r}: it must be one of {", ".join(_KEYS)}')
    needed, allowed = _KEYS[check]
    _keys(requirement, needed, allowed | {"check"}, f'a "{check}" check')
    _target(requirement)
    if "text" in requirement:
        _words(requirement, "text")
    if check == "type" and not isinstance(requirement["value"], str):
        raise TaskError('"value" must be a string (write numbers as "7")')
    if "click" in requirement:
        _pressed(requirement["click"])
    if "expect" in requirement:
        _expectation(requirement["expect"])


def _pressed(click: Any) -> None:
    if not isinstance(click, Mapping):
        raise TaskError('"click" must be an object with a "role"')
    _keys(click, {"role"}, {"name", "nth"}, '"click"')
    _target(click)


def _target(requirement: Mapping[str, Any]) -> None:
    if "role" in requirement and requirement["role"] not in ROLES:
        raise TaskError(f'"role" is {requirement["role"]!r}, which is no ARIA role')
    if "name" in requirement:
        _words(requirement, "name")
    for key in ("min", "max", "nth"):
        value = requirement.get(key, 0)
        if not isinstance(value, int) or isinstance(value, bool) or value < 0:
            raise TaskError(f'"{key}" is {value!r}: it must be a whole number from 0')
    if requirement.get("max", 1 << 30) < requirement.get("min", 1):
        raise TaskError(f'"max" is {requirement["max"]}, less than "min" ({requirement.get("min", 1)})')


def _expectation(expect: Any) -> None:
    if not isinstance(expect, Mapping):
        raise TaskError('"expect" must be an object')
    kinds = [key for key in _EXPECTATIONS if key in expect]
    if len(kinds) != 1:
        raise TaskError(f'"expect" must have exactly one of {", ".join(_EXPECTATIONS)}; it has {sorted(expect)}')
    kind = kinds[0]
    _keys(expect, {kind}, {"name"} if kind == "role" else set(), '"expect"')
    if kind == "changes" and expect["changes"] not in ("number", "text"):
        raise TaskError(f'"changes" is {expect["changes"]!r}: it must be "number" or "text"')
    if kind == "number_delta":
        delta = expect["number_delta"]
        if not isinstance(delta, int | float) or isinstance(delta, bool) or delta == 0 or delta != delta:
            raise TaskError(f'"number_delta" is {delta!r}: it must be a number other than 0')
    if kind in ("text", "no_text"):
        _words(expect, kind)
    if kind == "role":
        _target(expect)


def _words(holder: Mapping[str, Any], key: str) -> None:
    if not isinstance(holder[key], str) or not holder[key].strip():
        raise TaskError(f'"{key}" must be a string with something in it')


def _keys(holder: Mapping[str, Any], needed: set[str], allowed: set[str], what: str) -> None:
    missing = sorted(needed - set(holder))
    if missing:
        raise TaskError(f'{what} needs "{missing[0]}"')
    unknown = sorted(set(map(str, holder)) - needed - allowed)
    if unknown:
        raise TaskError(f'{what} has no "{unknown[0]}"')
