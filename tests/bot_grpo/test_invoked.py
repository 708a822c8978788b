"""The commands that are suggested can be typed."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from bot_grpo.invoked import program


@pytest.mark.parametrize(
    ("called", "on_path", "suggested"),
    [
        ("venv/bin/bot-grpo", "venv/bin", "bot-grpo"),  # the shell finds this one
        ("venv/bin/bot-grpo", "empty", "venv/bin/bot-grpo"),
        ("venv/bin/bot-grpo", "other/bin", "venv/bin/bot-grpo"),  # it would find another one
        ("lib/bot_grpo/__main__.py", "empty", "bot-grpo"),
    ],
)
def test_it_is_the_name_only_where_the_shell_finds_it(
    called: str, on_path: str, suggested: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for folder in ("venv/bin", "other/bin", "empty"):
        (tmp_path / folder).mkdir(parents=True)
        if folder != "empty":
            (tmp_path / folder / "bot-grpo").touch(mode=0o755)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", str(tmp_path / on_path))
    monkeypatch.setattr(sys, "argv", [called])
    assert program() == suggested
