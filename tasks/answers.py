"""Whether a reply to an AIME problem is right: its final answer, and the integer from 0 to 999 that it should be."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Grade:
    """`correct`; `answer`: the final answer, an integer as "204", anything else as it was written (cut to 100
    characters), None where there is none; `reason`: in a few words why, or where the answer was found; `boxed`:
    whether it stood in a complete box."""

    correct: bool
    answer: str | None
    reason: str
    boxed: bool = False


def grade(reply: str, gold: int, *, truncated: bool = False) -> Grade:
    """Grades one reply; never raises for what a reply holds, and takes time linear in its length.

    The final answer is the last complete `\\boxed{}` after the last end of reasoning (`</think>` and its kin); where
    there is no box, what a `<final>` tag or a plain closing sentence ("the answer is 204") says. A truncated reply, an
    unfinished thought and an unclosed box are wrong.
    """
    raise NotImplementedError
