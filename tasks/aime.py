"""AIME problems and data sets like them: a problem, and an integer from 0 to 999.

A row: `AIMERow(id="2024-I-1", problem="Every morning ...", answer=204, source="HuggingFaceH4/aime_2024")`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

Form = Literal["steps", "boxed", "plain"]


@dataclass(frozen=True)
class AIMERow:
    """One problem and its answer; `extra` holds what else is known of it (year, solution, level, ...)."""

    id: str
    problem: str
    answer: int
    source: str = ""
    extra: Mapping[str, Any] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """The row as JSON has it."""
        return vars(self) | {"extra": dict(self.extra)}


def load(
    source: str | Path = "aime_2024",
    *,
    split: str | None = None,
    columns: Mapping[str, str] | None = None,
    limit: int | None = None,
) -> list[AIMERow]:
    """Rows of a set by its short name (`SETS`: "aime_2024", "aime_2025", "dapo", ...), of a hub id (`owner/name` or
    `owner/name:config`), of a JSONL, JSON, CSV or parquet file, or made here: "arithmetic:LEVEL" (1 to 4).

    `columns` maps problem, answer, id, solution to the names of one's own. A problem that occurs several times is
    given once. Raises TaskError, one line: no such source, no answer column, a gold that is no integer 0 to 999 (which
    row), an empty set.
    """
    raise NotImplementedError


def prompt(problem: str, form: Form = "steps") -> str:
    """What the model is asked: the problem and how to write the answer.

    "steps": the paper's `<step i>...</step i>` and `<final>...</final>`; "boxed": reason freely and end with a
    `\\boxed{}`; "plain": the problem alone.
    """
    raise NotImplementedError
