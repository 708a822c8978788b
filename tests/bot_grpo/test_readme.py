"""README.md: its links lead somewhere, and its example of a reward model trains."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from tiny_trainer import byte_tokenizer, prompts, saved_llama, weights

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "page", ["README.md", *sorted(p.relative_to(ROOT).as_posix() for p in ROOT.glob("*/README.md"))]
)
def test_relative_links_lead_to_files(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    links = re.findall(r"\]\(((?!https?:|#)[^)]+)\)", text)
    assert [link for link in links if not (ROOT / page).parent.joinpath(link.split("#")[0]).exists()] == []
    assert "@@" not in text


def test_the_example_of_a_reward_model_trains(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (code,) = [block for block in re.findall(r"```python\n(.*?)```", README, re.S) if "NoShouting" in block]
    before = weights(saved_llama(tmp_path / "model"))
    code = code.replace('"path/or/hub-id"', repr(str(tmp_path / "model")))
    small = ", max_steps=2, max_completion_length=8, learning_rate=0.1, report_to=[], bf16=False)"
    code = code.replace("num_generations=8)", "num_generations=8" + small)
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {"dataset": prompts(), "tokenizer": byte_tokenizer()}
    exec(code, names)
    after = weights(names["trainer"].model)
    assert any((after[name].cpu() != value).any() for name, value in before.items())
