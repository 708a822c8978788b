"""What the families of React prompts are written with: tables of facts, several ways to ask, a reference to fill in.

A `Family` is data: a table with one line a row (fields parted by `|`, members of a list by `;`, parts of a member by
`/`), the ways in which people ask for such a thing, the checks that a good answer passes, and reference components
with `@field` holes.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

Requirement = dict[str, Any]
Fields = Mapping[str, Any]

TONES = ("blue", "green", "rose", "violet", "amber", "teal", "sky")
TEMPLATES = Path(__file__).parent / "templates"


@dataclass(frozen=True)
class Draft:
    """A row before it has an id and a split."""

    family: str
    prompt: str
    requirements: tuple[Requirement, ...]
    reference: str | None


@dataclass(frozen=True)
class Family:
    """Rows that ask for the same kind of thing.

    `fields` names the columns of `table`. A name that ends in `*` is a list, whose members are also to be had as
    `first` to `fourth`; one that ends in `**` is a list of lists. `derive` adds what can be computed from the rest.
    Row n uses `asks[n % len(asks)]` and `references[n % len(references)]`; `requires` gets the row's fields.
    """

    name: str
    fields: str
    table: str
    asks: Sequence[str]
    requires: Callable[[Fields], list[Requirement]]
    references: Sequence[str] = ()
    derive: Callable[[Fields], dict[str, Any]] = lambda f: {}

    def drafts(self) -> Iterator[Draft]:
        for n, values in enumerate(read_table(self.fields, self.table)):
            values |= self.derive(values)
            coded = values | {"tone": TONES[n % len(TONES)]}
            reference = fill(self.references[n % len(self.references)], coded) if self.references else None
            prompt = re.sub(r'\b([Aa]) "(?=[AEIOU])', r'\1n "', self.asks[n % len(self.asks)].format(**spoken(values)))
            yield Draft(self.name, prompt, tuple(self.requires(values)), reference)


def read_table(fields: str, table: str) -> Iterator[dict[str, Any]]:
    """The lines of `table` as dicts; a line with the wrong number of fields is an error of ours, and named."""
    names = fields.split()
    for line in table.strip().splitlines():
        cells = [cell.strip() for cell in line.split("|")]
        if len(cells) != len(names):
            raise ValueError(f"{len(cells)} fields instead of {len(names)} ({fields}): {line}")
        row: dict[str, Any] = {}
        for name, cell in zip(names, cells, strict=True):
            if name.endswith("**"):
                row[name[:-2]] = [[part.strip() for part in item.split(" / ")] for item in cell.split(";")]
            elif name.endswith("*"):
                row[name[:-1]] = [part.strip() for part in cell.split(";")]
                row |= zip(("first", "second", "third", "fourth"), row[name[:-1]], strict=False)
            else:
                row[name] = cell
        yield row


def fill(template: str, fields: Fields) -> str:
    """`template` with every `@field` replaced: text as it is, anything else as a JSON literal."""

    def value(match: re.Match[str]) -> str:
        found = fields[match[1]]
        return found if isinstance(found, str) else json.dumps(found, ensure_ascii=False)

    return re.sub(r"@(\w+)", value, template).strip()


def template(name: str) -> str:
    """The text of templates/NAME.jsx."""
    return (TEMPLATES / f"{name}.jsx").read_text(encoding="utf-8")


def spoken(fields: Fields) -> dict[str, Any]:
    """The fields as a prompt says them: lists in words."""
    return {k: quoted(v) if isinstance(v, list) else v for k, v in fields.items()}


def quoted(items: Sequence[str | Sequence[str]]) -> str:
    """`"a", "b" and "c"`; what follows the first part of a member stands in brackets after it."""
    *head, last = [f'"{item}"' if isinstance(item, str) else f'"{item[0]}" ({", ".join(item[1:])})' for item in items]
    return f"{', '.join(head)} and {last}" if head else last


def role(role: str, name: str | None = None, **limits: int) -> Requirement:
    return {"check": "role", "role": role} | ({"name": name} if name is not None else {}) | limits


def heading(name: str) -> Requirement:
    return role("heading", name)


def button(name: str) -> Requirement:
    return role("button", name)


def text(text: str) -> Requirement:
    return {"check": "text", "text": text}


def texts(items: Sequence[str]) -> list[Requirement]:
    return [text(item) for item in items]


def click(name: str, /, *, on: str = "button", nth: int = 0, **expect: Any) -> Requirement:
    """Click the `on` called `name`; `expect` is the E of the grammar, as keywords."""
    where: Requirement = {"check": "click", "role": on, "name": name}
    return where | ({"nth": nth} if nth else {}) | {"expect": expect}


def typed(name: str, value: str, /, *, on: str = "textbox", then: str | None = None, **expect: Any) -> Requirement:
    """Type `value` into the `on` called `name`, then press the button called `then` if there is one."""
    where: Requirement = {"check": "type", "role": on, "name": name, "value": value}
    return where | ({"click": {"role": "button", "name": then}} if then else {}) | {"expect": expect}
