"""Counts in words, for messages and pages."""

from __future__ import annotations


def plural(n: int, one: str, many: str = "") -> str:
    """The word for `n` of something; `many` where the plural is not `one` with an s."""
    return one if n == 1 else many or one + "s"


def counted(n: int, one: str, many: str = "") -> str:
    """`1 page`, `2,000 pages`."""
    return f"{n:,} {plural(n, one, many)}"
