"""Parts tier: apps of three small parts, each of them a component, put together from the facts of tiny families.

A slip in one part spoils an app that is otherwise sound, which is what a reward that knows the place is good at.
Parts of test rows are taken from held-out tiny rows, so that neither their labels nor their facts were trained on.
"""

from __future__ import annotations

import random
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

from tasks.react_families import tiny_cards, tiny_counts, tiny_lists, tiny_toggles
from tasks.react_families.kit import Draft, Family, Fields, fill, read_table, spoken

NUMBER = 3


@dataclass(frozen=True)
class Part:
    """How a row of `family` is asked for as one part of an app, and written as a component called `component`."""

    family: Family
    ask: str
    component: str
    reference: str

    @property
    def has_state(self) -> bool:
        return "useState" in self.reference


PARTS = (
    Part(
        tiny_counts.COUNTER,
        'a counter "{title}" that starts at {start}, with a button "{button}" that {does}',
        "Counter",
        """
function Counter() {
  const [count, setCount] = useState(@start);
  return <section>
    <h2>@title</h2>
    <p>{count}</p>
    <button onClick={() => setCount(@code)}>@button</button>
  </section>;
}
""",
    ),
    Part(
        tiny_counts.LIKE,
        'a post "{title}" with "{count} {noun}" and a button "{button}" that adds one',
        "Post",
        """
function Post() {
  const [likes, setLikes] = useState(@count);
  return <section>
    <h2>@title</h2>
    <p>{likes} @noun</p>
    <button onClick={() => setLikes(likes + 1)}>@button</button>
  </section>;
}
""",
    ),
    Part(
        tiny_toggles.FAQ,
        'help on "{title}": a button "{question}" that shows "{answer}"',
        "Help",
        """
function Help() {
  const [open, setOpen] = useState(false);
  return <section>
    <h2>@title</h2>
    <button onClick={() => setOpen(!open)}>@question</button>
    {open && <p>@answer</p>}
  </section>;
}
""",
    ),
    Part(
        tiny_cards.STAT,
        'a figure "{label}" of "{value}" with the note "{note}"',
        "Figure",
        """
function Figure() {
  return <section>
    <h2>@label</h2>
    <p>@value, @note</p>
  </section>;
}
""",
    ),
    Part(
        tiny_cards.QUOTE,
        'a quote "{title}": "{quote}" by "{author}"',
        "Quote",
        """
function Quote() {
  return <section>
    <h2>@title</h2>
    <p>@quote, @author</p>
  </section>;
}
""",
    ),
    Part(
        tiny_lists.TODO,
        'a list "{title}" of {items}',
        "List",
        """
function List() {
  return <ul>
    <h2>@title</h2>
    <li>@first</li>
    <li>@second</li>
    <li>@third</li>
  </ul>;
}
""",
    ),
)
OPENINGS = ("An app with three parts", "One page with three sections", "Three small things on one page")
_GLUE = """
export default function App() {
  return <main>%s</main>;
}
"""


def drafts(held_out: Collection[str], *, test: bool, rows: int) -> Iterator[Draft]:
    """`rows` different apps of parts whose tiny rows are in `held_out` (ids of tiny rows) or, without `test`, are not.

    One part of each has state. The sets of parts take turns; their order and their facts are drawn.
    """
    facts = {part.component: list(_facts(part, held_out, test=test)) for part in PARTS}
    sets = [parts for parts in combinations(PARTS, NUMBER) if sum(part.has_state for part in parts) == 1]
    rng = random.Random(f"parts {test}")
    seen: set[tuple[str, ...]] = set()
    while len(seen) < rows:
        parts = sets[len(seen) % len(sets)]
        fields = [rng.choice(facts[part.component]) for part in parts]
        key = tuple(str(mine) for mine in fields)
        if key in seen:
            continue
        yield _draft(rng.sample(list(zip(parts, fields, strict=True)), NUMBER), len(seen))
        seen.add(key)


def _facts(part: Part, held_out: Collection[str], *, test: bool) -> Iterator[Fields]:
    for n, fields in enumerate(read_table(part.family.fields, part.family.table), 1):
        if (f"tiny-{part.family.name}-{n:03d}" in held_out) == test:
            yield fields


def _draft(chosen: Sequence[tuple[Part, Fields]], n: int) -> Draft:
    asked = [f"{number}. {part.ask.format(**spoken(fields))}" for number, (part, fields) in enumerate(chosen, 1)]
    code = [fill(part.reference, fields) for part, fields in chosen]
    tags = "".join(f"<{part.component} />" for part, _ in chosen)
    checks = [check for part, fields in chosen for check in part.family.requires(fields)]
    checks.sort(key=lambda check: check["check"] == "click")  # what is there at first, before anything is used
    return Draft(
        family="three",
        prompt=f"{OPENINGS[n % len(OPENINGS)]}:\n" + "\n".join(asked),
        requirements=tuple(checks),
        reference="\n\n".join(['import { useState } from "react";', *code, (_GLUE % tags).strip()]),
    )
