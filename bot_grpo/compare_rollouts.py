"""What the arms of a study wrote for the same prompts: the part of its page that needs more than figures.

A seed's cells see the same prompts in the same order, so that (seed, kind, step, group) names a prompt in all of them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from bot_grpo.compare_cells import Cell
from bot_grpo.report_data import Entry, choose_bundles, index_rollouts
from bot_grpo.report_fit import Rows, attach_images, fitting, packed_rows

MAX_COMPLETIONS = 800
TEXT_BUDGET = 1_900_000
"""Bytes of the page for completions."""
IMAGE_BUDGET = 2_700_000
"""Bytes of the page for screenshots. With the text and the page's own 80 kB it stays under 5 MB."""


@dataclass(frozen=True)
class _Kept:
    """A rollout that a cell has kept."""

    cell: int
    seed: int
    entry: Entry

    @property
    def prompt(self) -> tuple[Any, ...]:
        return self.seed, self.entry.kind, self.entry.step, self.entry.group

    @property
    def bundle(self) -> tuple[Any, ...]:
        """What is on the page as a whole: a group of all arms; a held-out prompt at every evaluation."""
        seed, kind, _, group = self.prompt
        return ("eval", seed, group) if kind == "eval" else ("train", *self.prompt)


def shared_rollouts(cells: Sequence[Cell], arms: Sequence[str]) -> dict[str, Any]:
    """For the page: `rows` (each with the number of its `arm`, and its `seed`), `images`, and `notes` about them.

    Of the prompts that at least two arms answered; where only one has kept rollouts, of all of its own.
    """
    cells = [cell for cell in cells if cell.arm in arms]
    notes: list[str] = []
    kept: list[_Kept] = []
    for i, cell in enumerate(cells):
        unread: list[str] = []
        kept += [_Kept(i, cell.seed, entry) for entry in index_rollouts(cell.path / "rollouts", unread)]
        notes += _of(cell, unread)
    there = {one.cell for one in kept}
    if kept and (without := [cell.name for i, cell in enumerate(cells) if i not in there]):
        notes.append(f"Without rollouts: {', '.join(without)}.")
    shared = _answered_by(kept, cells, arms=min(2, len({cells[i].arm for i in there})))
    rows = fitting(lambda cap: _load(shared, cells, arms, cap, notes), MAX_COMPLETIONS, TEXT_BUDGET)
    if len(rows) < len(kept):
        notes.append(
            f"{len(rows):,} of the runs’ {len(kept):,} completions are on this page: the groups of all arms at even "
            "distances, and the same held-out prompts at every evaluation."
        )
    images, _ = attach_images(rows, [cells[row.pop("cell")].path for row in rows], notes, IMAGE_BUDGET)
    return {"rows": rows, "images": images, "notes": list(dict.fromkeys(notes))}


def _answered_by(kept: Sequence[_Kept], cells: Sequence[Cell], *, arms: int) -> list[_Kept]:
    """The rollouts of prompts that so many arms have some of, in the order of their runs."""
    who: dict[tuple[Any, ...], set[str]] = defaultdict(set)
    for one in kept:
        who[one.prompt].add(cells[one.cell].arm)
    shared = [one for one in kept if len(who[one.prompt]) >= arms]
    return sorted(shared, key=lambda one: (one.seed, one.entry.step, one.entry.kind, one.entry.group, one.cell))


def _load(shared: Sequence[_Kept], cells: Sequence[Cell], arms: Sequence[str], cap: int, notes: list[str]) -> Rows:
    chosen = choose_bundles(shared, cap, lambda one: one.bundle)
    rows: Rows = []
    for i, cell in enumerate(cells):
        unread: list[str] = []
        mine = packed_rows([one.entry for one in chosen if one.cell == i], cell.path, unread)
        rows += [{**row, "arm": arms.index(cell.arm), "seed": cell.seed, "cell": i} for row in mine]
        notes += _of(cell, unread)
    return rows


def _of(cell: Cell, notes: Sequence[str]) -> list[str]:
    return [f"{cell.name}: {note}" for note in notes]
