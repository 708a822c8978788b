"""Environments beside this one: what a package wants otherwise or more than is here, and everything else from here.

For packages that are too many, or too old, for everybody's set-up. Each has a module of its own (vllm_env, verl_env,
track_env), which run as a script builds the environment in the folder named, or in the one that its variable names.
"""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
from collections.abc import Callable, Sequence
from pathlib import Path

HERE = Path(__file__).resolve().parents[2]


def folder(variable: str) -> Path | None:
    """Where the environment is, or is to be; None: the person named no place."""
    found = os.environ.get(variable)
    return Path(found) if found else None


def build(target: Path, install: Callable[[Path], None]) -> Path:
    """The environment's python. `install` puts packages in, with that python, on the first call: it takes minutes."""
    python, ready = target / "bin" / "python", target / ".ready"
    if not ready.exists():
        subprocess.run([sys.executable, "-m", "venv", target], check=True)
        (packages(python) / "beside.pth").write_text(f"{sysconfig.get_path('purelib')}\n{HERE}\n")
        install(python)
        ready.touch()
    return python


def pip(python: Path, words: Sequence[str | Path]) -> None:
    """`pip install WORDS` there."""
    quiet = ["--no-input", "--disable-pip-version-check", "-q"]
    subprocess.run([python, "-m", "pip", "install", *quiet, *words], check=True)


def packages(python: Path) -> Path:
    """Its folder of packages."""
    return Path(says(python, "import sysconfig; print(sysconfig.get_path('purelib'))"))


def says(python: Path, code: str) -> str:
    """What that python prints."""
    return subprocess.run([python, "-c", code], check=True, capture_output=True, text=True).stdout.strip()


def main(script: str, variable: str, build: Callable[[Path], Path]) -> None:
    """Build it where the command line or the variable says."""
    place = Path(sys.argv[1]) if len(sys.argv) > 1 else folder(variable)
    if place is None:
        sys.exit(f"say where: {script} FOLDER")
    print(build(place))
