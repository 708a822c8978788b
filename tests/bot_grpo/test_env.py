"""`bot-grpo env` always comes out, whole and fast, whatever the machine lacks."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

import sandbox.setup
from bot_grpo.cli import env
from bot_grpo.cli import main as bot_grpo

EXPECTED = {"bot-grpo", "python", *env.PACKAGES, "cpu", "memory", "gpu", "vllm", "embedded model"}


def report(capsys: pytest.CaptureFixture[str]) -> dict[str, str]:
    assert bot_grpo(["env", "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_one_line_a_fact(capsys: pytest.CaptureFixture[str]) -> None:
    facts = report(capsys)
    assert set(facts) >= EXPECTED | {"node", "esbuild", "chromium"}
    assert all(value and "\n" not in value for value in facts.values())
    assert bot_grpo(["env"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == len(facts)
    assert all(line.startswith(name) for line, name in zip(lines, facts, strict=True))


def test_nothing_heavy_is_imported() -> None:
    code = "import sys; from bot_grpo.cli.env import collect; collect(); print({'torch', 'trl'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.strip() == "set()"


def test_a_machine_where_everything_fails_still_gets_its_report(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*args: object, **kwargs: object) -> None:
        raise RuntimeError("it is\nbroken")

    for where, name in ((subprocess, "run"), (env, "find_spec"), (sandbox.setup, "describe"), (Path, "read_text")):
        monkeypatch.setattr(where, name, fail)
    facts = report(capsys)
    assert set(facts) == EXPECTED | {"sandbox"}
    for name in ("cpu", "memory", "gpu", "sandbox", "embedded model"):
        assert facts[name] == "unknown (RuntimeError: it is broken)"


def test_missing_packages_are_named(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> str:
        raise env.PackageNotFoundError(name)

    monkeypatch.setattr(env, "version", missing)
    monkeypatch.setattr(env, "find_spec", lambda name: None)
    facts = report(capsys)
    assert facts["trl"] == "not installed: make setup"
    assert facts["vllm"].startswith("not installed")
    assert facts["embedded model"].startswith("not found")
    assert facts["gpu"].endswith("torch is not installed")


@pytest.mark.parametrize(
    ("cuda", "said"),
    [("None", "torch can't use it"), ("'13.0'", "2 x NVIDIA H200, 1 MiB, 7, torch is a build for CUDA 13.0")],
)
def test_a_gpu_that_torch_cannot_use_is_pointed_out(
    cuda: str, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    tool = tmp_path / "nvidia-smi"
    tool.write_text("#!/bin/sh\necho 'NVIDIA H200, 1 MiB, 7'\necho 'NVIDIA H200, 1 MiB, 7'\n")
    tool.chmod(0o755)
    (tmp_path / "torch").mkdir()
    (tmp_path / "torch" / "__init__.py").touch()
    (tmp_path / "torch" / "version.py").write_text(f"cuda: Optional[str] = {cuda}\nhip: Optional[str] = None\n")
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    monkeypatch.setattr(
        env, "find_spec", lambda name: type("Spec", (), {"origin": str(tmp_path / name / "__init__.py")})()
    )
    assert said in report(capsys)["gpu"]


@pytest.mark.parametrize("verb", ["env", "algorithms", "report", "sandbox"])
def test_an_unknown_option_is_bad_input_in_one_line(verb: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert bot_grpo([verb, "--jsn"]) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1, error
