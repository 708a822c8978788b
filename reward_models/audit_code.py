"""Changes to React code by its syntax tree: some that mean nothing, and some that break it.

Code comes as text and is parsed by tree-sitter (TSX, of which JSX and JavaScript are parts). Each function returns the
changed code and the character where it was changed, or None where the code has no place for it.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator
from functools import cache

import tree_sitter_typescript
from tree_sitter import Language, Node, Parser

Edited = tuple[str, int] | None

_NAMES: dict[int, tuple[str, ...]] = {
    length: tuple(names.split())
    for length, names in enumerate(
        (
            *("v k q", "it el", "one val obj", "unit each item", "value entry piece", "amount number object"),
            *("current element content", "anything selected", "remaining something", "collection allOfThem"),
            *("currentItem", "visibleItems", "selectedValue", "remainingItems", "visibleElements", "selectedElements"),
        ),
        start=1,
    )
}
"""What a variable may be called instead, by length: with as many letters, all else stays where it stood."""

_GLOBALS = frozenset("event name status window document location history open close print top self parent".split())  # noqa: SIM905
"""Names that a browser gives a meaning where a program doesn't."""

_BRACKETS = frozenset("(){}[]")
_TRIES = 20  # of places, each of which is parsed
_FUNCTION = re.compile(r"(?:set|handle|on|use|is|has)[A-Z]")  # names that say more than what a value is
_TAGS = frozenset({"jsx_opening_element", "jsx_closing_element", "jsx_self_closing_element"})
_PORTS = frozenset({"import_specifier", "import_clause", "namespace_import", "export_specifier"})
_DIRECTIVE = re.compile(r"@|eslint|prettier|istanbul|^\s*/\s*<|^\s*[#!]")
_MARK = re.compile(r"(//+|/\*+)[ \t]*")


@cache
def _parser() -> Parser:
    return Parser(Language(tree_sitter_typescript.language_tsx()))


def parses(code: str) -> bool:
    """Whether the code is well-formed, as far as the grammar goes."""
    return not _tree(code)[0].has_error


def rename(code: str, rng: random.Random) -> Edited:
    """One local variable by another name of the same length, wherever it stands.

    A name qualifies that is declared here, is no component, no global and no key of an object; its new name is new.
    """
    root, data = _tree(code)
    if root.has_error:
        return None
    taken = {_text(n, data) for n in _leaves(root) if "identifier" in n.type}
    fit = [(old, new) for old in sorted(_locals(root, data)) if (new := _other_name(old, taken)) is not None]
    if not fit:
        return None
    old, new = rng.choice(fit)
    places = [n.start_byte for n in _variables(root) if _text(n, data) == old]
    for at in reversed(places):
        data = data[:at] + new.encode() + data[at + len(old.encode()) :]
    return data.decode(), len(data[: places[0]].decode())


def reword(code: str) -> Edited:
    """Each comment with the same meaning in other words; where there is none, a plain one after the first statement.

    Comments that tell a tool something stay as they are.
    """
    root, data = _tree(code)
    if root.has_error:
        return None
    comments = [n for n in _nodes(root) if n.type == "comment" and not _DIRECTIVE.search(_text(n, data)[2:])]
    if not comments:
        end = _first_statement(root, data)
        return None if end is None else (_inserted(data, end, " // Here it begins."), len(data[:end].decode()))
    for node in reversed(comments):
        old = _text(node, data)
        mark = _MARK.match(old)
        assert mark is not None
        words = old[mark.end() :]
        first = words[:1].lower() if words[1:2].islower() else words[:1]  # "TODO" and "API" stay
        new = f"{mark[0].rstrip()} Note: {first}{words[1:]}"
        data = data[: node.start_byte] + new.encode() + data[node.end_byte :]
    return data.decode(), len(data[: comments[0].start_byte].decode())


def with_comment(code: str, words: str) -> tuple[str, int]:
    """The code with `words` as a comment on a line of its own, after its first statement if that ends its line."""
    root, data = _tree(code)
    end = _first_statement(root, data)
    if end is None:
        return f"// {words}\n{code}", 0
    return _inserted(data, end, f"\n// {words}"), len(data[:end].decode()) + 1


def drop_bracket(code: str, rng: random.Random) -> Edited:
    """A space in place of a bracket, so that the code can't be parsed any more."""
    return _blanked(code, rng, lambda n: n.type in _BRACKETS and not n.is_named)


def unclose_tag(code: str, rng: random.Random) -> Edited:
    """Spaces in place of a closing tag, so that the code can't be parsed any more."""
    return _blanked(code, rng, lambda n: n.type == "jsx_closing_element")


def misspell(code: str, rng: random.Random) -> Edited:
    """One use of a local variable by a name that nothing has, with as many letters."""
    root, data = _tree(code)
    if root.has_error:
        return None
    names = _locals(root, data)
    taken = {_text(n, data) for n in _leaves(root) if "identifier" in n.type}
    uses = [n for n in _variables(root) if _text(n, data) in names and not _declares(n)]
    rng.shuffle(uses)
    for node in uses:
        old = _text(node, data)
        swapped = (old[:i] + old[i + 1] + old[i] + old[i + 2 :] for i in range(1, len(old) - 1))
        wrong = [w for w in (*swapped, f"{old[:-1]}q", f"{old[:-1]}z") if w not in taken]
        if wrong:
            changed = data[: node.start_byte] + wrong[0].encode() + data[node.end_byte :]
            return changed.decode(), len(data[: node.start_byte].decode())
    return None


def _tree(code: str) -> tuple[Node, bytes]:
    data = code.encode("utf-8", "replace")
    return _parser().parse(data).root_node, data


def _nodes(root: Node) -> Iterator[Node]:
    """All nodes, in the order of the text; without recursion, since code may be nested deeply."""
    waiting = [root]
    while waiting:
        node = waiting.pop()
        yield node
        waiting.extend(reversed(node.children))


def _leaves(root: Node) -> Iterator[Node]:
    return (n for n in _nodes(root) if n.child_count == 0)


def _text(node: Node, data: bytes) -> str:
    return data[node.start_byte : node.end_byte].decode()


def _variables(root: Node) -> Iterator[Node]:
    """Identifiers that stand for a value: no keys, no attributes, no names of tags."""
    for node in _leaves(root):
        if node.type == "identifier" and node.parent is not None and node.parent.type not in _TAGS:
            yield node


def _declares(node: Node) -> bool:
    """Whether an identifier is where a variable or a parameter is declared."""
    parent = node.parent
    if parent is None:
        return False
    if parent.type in ("array_pattern", "rest_pattern", "required_parameter", "optional_parameter"):
        return True
    field = {"variable_declarator": "name", "arrow_function": "parameter", "pair_pattern": "value"}.get(parent.type)
    return field is not None and parent.child_by_field_name(field) == node


def _locals(root: Node, data: bytes) -> set[str]:
    declared = {_text(n, data) for n in _variables(root) if _declares(n) and not _exported(n)}
    components = {name for name in declared if name[0].isupper()}
    shorthand = {_text(n, data) for n in _leaves(root) if n.type.startswith("shorthand_property")}
    outside = {_text(n, data) for n in _leaves(root) if n.parent is not None and n.parent.type in _PORTS}
    return declared - components - shorthand - outside - _GLOBALS


def _exported(node: Node) -> bool:
    """Whether it is declared by an `export const` (and not inside of what that exports)."""
    declarator = node.parent
    while declarator is not None and declarator.type.endswith("pattern"):
        declarator = declarator.parent
    if declarator is None or declarator.type != "variable_declarator" or declarator.parent is None:
        return False
    outer = declarator.parent.parent
    return outer is not None and outer.type == "export_statement"


def _other_name(old: str, taken: set[str]) -> str | None:
    if not old.isascii() or _FUNCTION.match(old):
        return None
    return next((name for name in _NAMES.get(len(old), ()) if name not in taken), None)


def _first_statement(root: Node, data: bytes) -> int | None:
    """The byte where the first statement ends that a line ends with, too."""
    for node in _nodes(root):
        if node.type.endswith(("_statement", "_declaration")) and data[node.end_byte : node.end_byte + 1] == b"\n":
            return node.end_byte
    return None


def _inserted(data: bytes, at: int, text: str) -> str:
    return (data[:at] + text.encode() + data[at:]).decode()


def _blanked(code: str, rng: random.Random, wanted: Callable[[Node], bool]) -> Edited:
    root, data = _tree(code)
    if root.has_error:
        return None
    found = [n for n in _nodes(root) if wanted(n)]
    for node in rng.sample(found, min(len(found), _TRIES)):
        changed = data[: node.start_byte] + b" " * (node.end_byte - node.start_byte) + data[node.end_byte :]
        if _parser().parse(changed).root_node.has_error:
            return changed.decode(), len(data[: node.start_byte].decode())
    return None
