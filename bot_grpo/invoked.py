"""What to type to run this program once more, for the commands that it suggests."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

NAME = "bot-grpo"


def again(run: Path) -> str:
    """The command that goes on with a run."""
    return f"{program()} train --config {run}/config.yaml --output_dir {run} --resume auto"


def program() -> str:
    """`bot-grpo` where the shell finds this one by that name; else the path by which it was called."""
    called, found = Path(sys.argv[0]), shutil.which(NAME)
    if called.name != NAME or (found is not None and Path(found).resolve() == called.resolve()):
        return NAME
    return sys.argv[0]
