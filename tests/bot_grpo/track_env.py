"""An environment with trackio and wandb beside this one (see `env_beside`): too many packages for all set-ups."""

from __future__ import annotations

from pathlib import Path

import env_beside

VARIABLE = "BOT_GRPO_TRACK_ENV"
WHEELS = ["trackio==0.43.0", "wandb==0.31.0"]


def folder() -> Path | None:
    """Where the environment is, or is to be; None: the person named no place."""
    return env_beside.folder(VARIABLE)


def build(target: Path) -> Path:
    """The environment's python; a minute or two on the first call."""
    words: list[str | Path] = ["-c", env_beside.HERE / "constraints.txt", *WHEELS]
    return env_beside.build(target, lambda python: env_beside.pip(python, words))


if __name__ == "__main__":
    env_beside.main("track_env.py", VARIABLE, build)
