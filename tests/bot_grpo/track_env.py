"""An environment with trackio and wandb beside this one, and everything else from here.

Their packages are too many for everybody's set-up. Run as a script it builds the environment in the folder named, or in
$BOT_GRPO_TRACK_ENV; a second time it finds it ready.
"""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
from pathlib import Path

WHEELS = ["trackio==0.43.0", "wandb==0.31.0"]


def folder() -> Path | None:
    """Where the environment is, or is to be; None: the person named no place."""
    found = os.environ.get("BOT_GRPO_TRACK_ENV")
    return Path(found) if found else None


def build(target: Path) -> Path:
    """The environment's python; a minute or two on the first call."""
    python = target / "bin" / "python"
    ready = target / ".ready"
    if ready.exists():
        return python
    subprocess.run([sys.executable, "-m", "venv", target], check=True)
    find = "import sysconfig; print(sysconfig.get_path('purelib'))"
    site = Path(subprocess.run([python, "-c", find], check=True, capture_output=True, text=True).stdout.strip())
    here = Path(__file__).resolve().parents[2]
    (site / "beside.pth").write_text(f"{sysconfig.get_path('purelib')}\n{here}\n")
    pip = [python, "-m", "pip", "install", "--no-input", "--disable-pip-version-check", "-q"]
    subprocess.run([*pip, "-c", here / "constraints.txt", *WHEELS], check=True)
    ready.touch()
    return python


if __name__ == "__main__":
    place = Path(sys.argv[1]) if len(sys.argv) > 1 else folder()
    if place is None:
        sys.exit("say where: track_env.py FOLDER")
    print(build(place))
