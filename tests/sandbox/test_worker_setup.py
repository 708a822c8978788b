"""The worker's folder: what is put there, and what is done again when something changed."""

from __future__ import annotations

from pathlib import Path

import pytest

from sandbox import setup
from sandbox.compile import NodeCompiler, Source
from sandbox.outcome import Status


def test_a_worker_elsewhere_is_built_from_the_packages_that_are_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    there = setup.prepare_worker()
    folder = tmp_path / "worker"
    (folder / "node_modules").mkdir(parents=True)
    for package in (there / "node_modules").iterdir():
        if package.name != setup._STAMP:
            (folder / "node_modules" / package.name).symlink_to(package)
    (folder / "node_modules" / setup._STAMP).write_text(setup._digest(setup._NPM_FILES))  # installed, not built
    monkeypatch.setattr(setup, "worker_dir", lambda: folder)
    assert setup.prepare_worker() == folder
    assert (folder / "vendor" / "exports.json").read_text() == (there / "vendor" / "exports.json").read_text()
    built = (folder / "vendor" / "exports.json").stat().st_mtime_ns
    assert setup.prepare_worker() == folder
    assert (folder / "vendor" / "exports.json").stat().st_mtime_ns == built
    node = setup.node()
    assert node is not None
    code = 'import { Home } from "lucide-react";\nexport default () => <Home />;'
    with NodeCompiler(node, folder, render=True, timeout_s=60) as compiler:
        (compiled,) = compiler.compile([Source(code)])
    assert compiled.status is Status.OK


def test_the_packages_are_installed_again_only_when_they_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in setup._sources():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes((setup._SOURCE / name).read_bytes())
    monkeypatch.setattr(setup, "_SOURCE", tmp_path)
    packages, everything = setup._digest(setup._NPM_FILES), setup._fingerprint()
    assert everything.startswith(packages)
    with (tmp_path / "ui" / "button.jsx").open("a") as file:
        file.write("// changed\n")
    assert setup._fingerprint() != everything
    assert setup._fingerprint().startswith(packages)
    with (tmp_path / "package.json").open("a") as file:
        file.write("\n")
    assert not setup._fingerprint().startswith(packages)
