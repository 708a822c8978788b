"""An environment with PyPI's verl beside this one (see `env_beside`): verl wants an older transformers than is here."""

from __future__ import annotations

from pathlib import Path

import env_beside

VARIABLE = "BOT_GRPO_VERL_ENV"
# With what text needs of its extra verl-core.
WHEELS = ["verl==0.9.1", "TransferQueue>=0.1.10", "cachetools", "uvicorn", "fastapi"]


def folder() -> Path | None:
    """Where the environment is, or is to be; None: the person named no place."""
    return env_beside.folder(VARIABLE)


def build(target: Path) -> Path:
    """The environment's python; minutes on the first call."""
    return env_beside.build(target, lambda python: env_beside.pip(python, WHEELS))


if __name__ == "__main__":
    env_beside.main("verl_env.py", VARIABLE, build)
