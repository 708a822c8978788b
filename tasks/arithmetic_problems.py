"""Problems in the shape of AIME's (the answer is an integer from 0 to 999) that a model of 135M can learn."""

from __future__ import annotations

from tasks.aime import AIMERow

LEVELS = (1, 2, 3, 4)


def problems(level: int, *, split: str = "train", n: int = 1000, seed: int = 0) -> list[AIMERow]:
    """`n` different problems of a level; the same for the same arguments.

    Level 1: one sum; 2: two operations; 3: short word problems of two steps; 4: three or four steps. `extra` has
    "solution" (a reference in the format of `tasks.aime.prompt(..., "steps")`), "level", "template" and "split". No
    test problem has the structure of a train problem.
    """
    raise NotImplementedError
