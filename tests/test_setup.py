"""The set-up: what is pinned, and what `make setup` says on a machine where something is missing."""

from __future__ import annotations

import re
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
TOOLS = ["bash", "uname", "sed", "awk", "df", "cat", "dirname", "touch", "rm", "grep"]
NODE = "#!/bin/sh\necho {}\n"


def names(requirements: list[str]) -> set[str]:
    return {re.match(r"[\w.-]+", line)[0].lower().replace("_", "-") for line in requirements}


def test_constraints_are_names_and_exact_versions() -> None:
    lines = [line for line in (ROOT / "constraints.txt").read_text().splitlines() if not line.startswith("#")]
    assert all(re.fullmatch(r"[a-z0-9][a-z0-9.-]*==[0-9][\w.!]*", line) for line in lines)
    assert lines == sorted(lines)
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    direct = names(project["project"]["dependencies"] + project["dependency-groups"]["dev"])
    assert direct | {"pip", "llama-cpp-python"} <= names(lines)


@pytest.fixture
def machine(tmp_path: Path) -> Path:
    """A machine's PATH with the least that `make` needs, and beside it a checkout that isn't set up."""
    bin_dir = tmp_path / "bin"
    bin_dir.mkdir()
    for tool in TOOLS:
        (bin_dir / tool).symlink_to(shutil.which(tool) or "/missing")
    for name, text in {"node": NODE.format(22), "npm": "#!/bin/sh\n", "python3": "#!/bin/sh\nexit 1\n"}.items():
        install(bin_dir / name, text)
    for name in ("Makefile", "pyproject.toml", "constraints.txt"):
        shutil.copy(ROOT / name, tmp_path)
    return bin_dir


def install(path: Path, script: str) -> None:
    path.write_text(script)
    path.chmod(0o755)


def make(bin_dir: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    make_path = shutil.which("make") or pytest.skip("there is no make")
    return subprocess.run(
        [make_path, "-C", str(bin_dir.parent), *arguments],
        env={"PATH": str(bin_dir)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_make_alone_lists_the_targets(machine: Path) -> None:
    done = make(machine)
    assert done.returncode == 0
    for target in ("setup", "train", "test", "test-slow", "lint", "clean"):
        assert re.search(rf"^  make {target} +\w", done.stdout, re.MULTILINE)
    assert "TORCH_INDEX" in done.stdout


@pytest.mark.parametrize(
    ("change", "arguments", "said"),
    [
        ({"node": None}, [], "there is no Node; install Node 20 or newer"),
        ({"node": NODE.format(18)}, [], "this is Node 18; install Node 20 or newer"),
        ({"npm": None}, [], "there is no npm; install it"),
        ({}, [], "there is no Python 3.11 to 3.13; install one"),
        ({}, ["PYTHON=python3"], "PYTHON=python3 is not a Python 3.11 to 3.13"),
        (
            {"python3": '#!/bin/sh\ncase "$2" in *ensurepip*) exit 1;; esac\n'},
            [],
            "python3 has no venv module; install it",
        ),
        ({"python3": "#!/bin/sh\n", "df": "#!/bin/sh\necho; echo x 1 1 1048576 1 /\n"}, [], "1 GB are free here"),
    ],
)
def test_what_is_missing_is_said_in_one_line(
    machine: Path, change: dict[str, str | None], arguments: list[str], said: str
) -> None:
    for name, script in change.items():
        (machine / name).unlink()
        if script is not None:
            install(machine / name, script)
    done = make(machine, "setup", *arguments)
    lines = done.stderr.splitlines()
    assert done.returncode == 2
    assert lines[0].startswith(f"make setup: {said}")
    assert len(lines) == 2  # make itself adds that the target failed
    assert not (machine.parent / ".venv").exists()


VENV_PYTHON = """#!/bin/bash
echo "$*" >> {log}
case "$*" in
  *'version("torch")'*) exit 1 ;;
  *--dry-run*) echo '{{"requires_dist": ["filelock", "{brings}==1; platform_system == \\"Linux\\""]}}' ;;
esac
"""


@pytest.mark.parametrize(
    ("brings", "nvidia", "arguments", "installs"),
    [
        ("numpy", False, [], ["-c constraints.txt -e . --group dev"]),
        ("nvidia-cublas", False, [], []),
        ("cuda-toolkit", False, [], []),
        ("cuda-toolkit", True, [], ["-c constraints.txt -e . --group dev"]),
        ("cuda-toolkit", False, ["CUDA=1"], ["-c constraints.txt -e . --group dev"]),
        (
            "cuda-toolkit",
            False,
            ["TORCH_INDEX=file:///wheels"],
            ["--no-deps --index-url file:///wheels torch==", "-c constraints.txt -e . --group dev"],
        ),
    ],
)
def test_cuda_is_never_taken_by_accident(
    machine: Path, brings: str, nvidia: bool, arguments: list[str], installs: list[str]
) -> None:
    log = machine.parent / "log"
    (machine.parent / ".venv" / "bin").mkdir(parents=True)
    install(machine.parent / ".venv" / "bin" / "python", VENV_PYTHON.format(log=log, brings=brings))
    if nvidia:
        install(machine / "nvidia-smi", "#!/bin/sh\n")
    done = make(machine, "setup", *arguments)
    calls = [line for line in log.read_text().splitlines() if " install " in line and "--dry-run" not in line]
    calls = [call for call in calls if "constraints.txt" in call or "--index-url" in call]  # not those of tools
    assert [expected in call for expected, call in zip(installs, calls, strict=True)] == [True] * len(installs)
    assert done.returncode == (0 if installs else 2)
    assert ("name PyTorch's CPU wheel index" in done.stderr) == (not installs)


def test_an_installed_checkout_is_left_alone(machine: Path) -> None:
    log = machine.parent / "log"
    (machine.parent / ".venv" / "bin").mkdir(parents=True)
    install(machine.parent / ".venv" / "bin" / "python", VENV_PYTHON.format(log=log, brings="numpy"))
    assert make(machine, "setup").returncode == 0
    log.unlink()
    assert make(machine, "setup").returncode == 0
    assert log.read_text().splitlines() == ["-m sandbox.setup"]
