"""A full disk, said in one line: every library has an exception of its own for it."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bot_grpo.errors import UserError
from reward_models.errors import RewardError
from sandbox.errors import SetupError
from tasks.errors import TaskError

ONE_LINE = (UserError, RewardError, SetupError, TaskError)
"""The exceptions that a command says in one line."""

_FULL_BYTES = 16 * 2**20
_NO_SPACE = ("No space left on device", "Disk quota exceeded")


@contextmanager
def full_disk_explained(folder: Path, advice: str) -> Iterator[None]:
    """Around what writes to `folder`: a full disk is a UserError that ends with `advice`, whatever was raised.

    The disk is asked, for torch's words don't name it. So is the message, for who cleans up behind itself (safetensors)
    leaves a disk with room again.
    """
    try:
        yield
    except ONE_LINE:
        raise
    except Exception as error:
        place = folder.absolute()
        free = shutil.disk_usage(next(p for p in (place, *place.parents) if p.exists())).free
        if free < _FULL_BYTES:
            raise UserError(f"the disk of {folder} is full; free some space{advice}") from error
        if any(words in str(error) for words in _NO_SPACE):
            left = f"the disk of {folder} has {free / 2**20:,.0f} MiB free, too few for what was to be written"
            raise UserError(f"no space left: {left}; free some{advice}") from error
        raise
