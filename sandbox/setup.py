"""Find or install what the sandbox needs: Node, its packages, Chromium. `python -m sandbox.setup` does it all."""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator
from functools import lru_cache
from pathlib import Path

from sandbox.errors import SetupError

NODE_MIN = 20
GET_NODE = "install it (Debian: apt-get install nodejs npm), or put it on PATH"
_SOURCE = Path(__file__).parent / "worker"
_CHROMIUMS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
_STAMP = ".bot-grpo-stamp"
_NPM_FILES = (".npmrc", "package.json", "package-lock.json")


@lru_cache(maxsize=1)
def node() -> Path | None:
    """Node ($BOT_GRPO_NODE, or the one on PATH), or None where there is none. Raises SetupError for one too old."""
    named = os.environ.get("BOT_GRPO_NODE")
    found = named if named is not None else shutil.which("node")
    if not found:
        return None
    called = f"BOT_GRPO_NODE={named}" if named else found
    hint = f"point BOT_GRPO_NODE at Node {NODE_MIN} or newer, or unset it" if named else GET_NODE
    try:
        version = _output([found, "--version"])
        major = int(version.lstrip("v").partition(".")[0])
    except (OSError, subprocess.SubprocessError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else "it does not say its version"
        raise SetupError(f"{called} is no Node that runs ({why}); {hint}") from error
    if major < NODE_MIN:
        raise SetupError(f"{called} is Node {version}, and the sandbox needs Node {NODE_MIN} or newer; {hint}")
    return Path(found)


def chromium() -> Path | None:
    """A Chromium of the system ($BOT_GRPO_CHROMIUM, or one on PATH); None means Playwright's own download."""
    named = os.environ.get("BOT_GRPO_CHROMIUM")
    if named:
        if not os.access(named, os.X_OK):
            raise SetupError(f"BOT_GRPO_CHROMIUM={named} is not a program; point it at a Chromium or unset it")
        return Path(named)
    return next((Path(path) for name in _CHROMIUMS if (path := shutil.which(name))), None)


def worker_dir() -> Path:
    """Where the Node worker lives: in the package, or in the user's cache where the package cannot be written."""
    if os.access(_SOURCE, os.W_OK) or _is_ready(_SOURCE):
        return _SOURCE
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return cache / "bot-grpo" / f"worker-{_digest(_sources())[:12]}"


def prepare_worker() -> Path:
    """The Node worker's directory, with its packages installed and its bundles built; does no work twice."""
    folder = worker_dir()
    if _is_ready(folder):
        return folder
    if node() is None:
        raise SetupError(f"there is no Node {NODE_MIN} or newer; {GET_NODE}")
    npm = shutil.which("npm")
    if npm is None:
        raise SetupError("there is no npm; install it (Debian: apt-get install npm)")
    try:
        (folder / "vendor").mkdir(parents=True, exist_ok=True)
        with _locked(folder / "vendor" / ".lock"):
            if not _is_ready(folder):
                _install(folder, npm)
    except OSError as error:
        raise SetupError(f"cannot install the Node worker in {folder}: {error}") from error
    return folder


def _install(folder: Path, npm: str) -> None:
    if folder != _SOURCE:
        for name in _sources():
            (folder / name).parent.mkdir(exist_ok=True)
            shutil.copy(_SOURCE / name, folder / name)
    packages = _digest(_NPM_FILES)
    if not _stamp(folder).startswith(packages):  # else only what is built of them is out of date
        _run([npm, "ci", "--no-audit", "--no-fund"], folder, "npm ci failed (is the npm registry reachable?)")
        (folder / "node_modules" / _STAMP).write_text(packages)
    _run([str(node()), "build.mjs"], folder, "bundling the pages' packages failed")
    (folder / "node_modules" / _STAMP).write_text(_fingerprint())


def _is_ready(folder: Path) -> bool:
    return _stamp(folder) == _fingerprint() and (folder / "vendor" / "exports.json").exists()


def _stamp(folder: Path) -> str:
    try:
        return (folder / "node_modules" / _STAMP).read_text()
    except OSError:
        return ""


def _sources() -> list[str]:
    kinds = (".mjs", ".js", ".json")
    names = [p.name for p in _SOURCE.iterdir() if p.suffix in kinds or p.name == ".npmrc"]
    return sorted(names) + sorted(f"ui/{p.name}" for p in (_SOURCE / "ui").iterdir())


def _fingerprint() -> str:
    """Of the packages, and of all of the worker's files."""
    return f"{_digest(_NPM_FILES)} {_digest(_sources())}"


def _digest(names: Iterable[str]) -> str:
    digest = hashlib.sha256()
    for name in names:
        digest.update(f"{name}\0".encode() + (_SOURCE / name).read_bytes())
    return digest.hexdigest()


@contextlib.contextmanager
def _locked(path: Path) -> Iterator[None]:
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _run(argv: list[str], folder: Path, problem: str) -> None:
    try:
        done = subprocess.run(argv, cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=600)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise SetupError(f"{problem}: {error}") from error
    if done.returncode:
        lines = [line for line in (done.stderr or done.stdout).splitlines() if line.strip()]
        raise SetupError(f"{problem}: {' / '.join(lines[:3])[:300]}")


def _output(argv: list[str]) -> str:
    return subprocess.run(argv, capture_output=True, text=True, timeout=20, check=True).stdout.strip()


def own_chromium() -> Path | None:
    """Chromium as Playwright downloaded it, or None."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        path = Path(playwright.chromium.executable_path)
    return path if path.exists() else None


def prepare_chromium() -> str:
    """Make sure that there is a Chromium; returns what was chosen and why, in a few words."""
    if found := chromium():
        return f"{found} (found on this machine)"
    if found := own_chromium():
        return f"{found} (downloaded by Playwright before)"
    try:
        argv = [sys.executable, "-m", "playwright", "install", "chromium"]
        _run(argv, Path.cwd(), "playwright install chromium failed")
        if found := own_chromium():
            return f"{found} (downloaded by Playwright)"
    except SetupError as error:
        if os.geteuid() != 0 or not shutil.which("apt-get"):
            hint = "install Chromium (Debian: apt-get install chromium) or set BOT_GRPO_CHROMIUM"
            raise SetupError(f"{error}; {hint}") from error
    _run(["apt-get", "update"], Path.cwd(), "apt-get update failed; install Chromium or set BOT_GRPO_CHROMIUM")
    argv = ["apt-get", "install", "-y", "--no-install-recommends", "chromium", "fonts-dejavu-core", "fonts-liberation"]
    _run(argv, Path.cwd(), "apt-get install chromium failed; install Chromium or set BOT_GRPO_CHROMIUM")
    if found := chromium():
        return f"{found} (Debian's package, just installed)"
    raise SetupError("no Chromium could be installed; install one and set BOT_GRPO_CHROMIUM to its path")


def describe() -> dict[str, str]:
    """What the sandbox runs on (or why it can't): node, esbuild, chromium."""
    facts: dict[str, str] = {}
    try:
        path = node()
        facts["node"] = (
            f"{_output([str(path), '--version'])} ({path})" if path else "none: esbuild-py compiles, no render"
        )
    except SetupError as error:
        facts["node"] = str(error)
    folder = worker_dir()
    manifest = folder / "node_modules" / "esbuild" / "package.json"
    if _is_ready(folder):
        import json

        facts["esbuild"] = f"{json.loads(manifest.read_text())['version']} ({folder})"
    else:
        facts["esbuild"] = "not installed yet: python -m sandbox.setup"
    try:
        browser = chromium() or own_chromium()
        facts["chromium"] = (
            f"{_output([str(browser), '--version'])} ({browser})" if browser else "none: python -m sandbox.setup"
        )
    except (SetupError, OSError, subprocess.SubprocessError) as error:
        facts["chromium"] = str(error)
    return facts


def main() -> int:
    """Set everything up; one line a tool. Exit code 2 and one line that says what to install where that fails."""
    try:
        path = node()
        folder = prepare_worker()
        print(f"Node: {_output([str(path), '--version'])}, packages in {folder}")
        print(f"Chromium: {prepare_chromium()}")
    except SetupError as error:
        print(f"sandbox.setup: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
