"""Cold starts that are kept: which are the same, and what becomes of one that is cut short."""

from __future__ import annotations

import os
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import torch
from tiny import save_tiny_model

from bot_grpo import models
from bot_grpo.cold_start import Demonstrations, keep, kept, name_of, take
from bot_grpo.rundir import folder_once

SETTINGS = {"steps": 2, "seed": 0, "learning_rate": 1e-4}


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_tiny_model(tmp_path_factory.mktemp("tiny"))


def answers(tiny: Path, *texts: str) -> Demonstrations:
    tokenizer = models.load_tokenizer(str(tiny))
    return Demonstrations(tokenizer, [[{"role": "user", "content": "a page"}]] * len(texts), texts)


def test_a_cold_start_is_named_by_weights_answers_and_settings(tiny: Path) -> None:
    def named(model: Any = None, data: Any = None, **settings: Any) -> str:
        model = models.load_model(str(tiny)) if model is None else model
        return name_of(model, data or answers(tiny, "a", "b"), {**SETTINGS, **settings})

    moved, frozen, rounded = (models.load_model(str(tiny)) for _ in range(3))
    with torch.no_grad():
        next(moved.parameters()).view(-1)[0] += 1
    next(frozen.parameters()).requires_grad_(False)
    others = [named(seed=1), named(lora_alpha=64), named(moved), named(frozen), named(rounded.bfloat16())]
    others += [named(data=answers(tiny, "b", "a")), named(data=answers(tiny, "a"))]
    assert named() == named()
    assert len({named(), *others}) == len(others) + 1


def test_who_is_first_keeps_it_and_what_is_half_there_is_none(tiny: Path, tmp_path: Path) -> None:
    model, folder = models.load_model(str(tiny)), tmp_path / "starts" / "one"
    before = {name: value.clone() for name, value in model.named_parameters()}

    def loss() -> float | None:
        return None if (found := kept(folder)) is None else found.loss

    assert loss() is None
    assert keep(folder, model, 1.5) == ""
    with torch.no_grad():
        next(model.parameters()).zero_()
    assert keep(folder, model, 9.0) == ""
    found = kept(folder)
    assert found is not None
    take(found, model)
    assert found.loss == 1.5
    assert all(torch.equal(before[name], value) for name, value in model.named_parameters())
    for file, text in (("about.json", "{"), ("about.json", "[]"), ("weights.pt", "PK"), ("weights.pt", None)):
        (folder / file).unlink() if text is None else (folder / file).write_text(text)
        assert loss() is None
        assert keep(folder, model, 2.5) == ""  # the damaged one makes room
        assert loss() == 2.5
    with suppress(KeyboardInterrupt), folder_once(tmp_path / "starts" / "two", proof="about.json") as scratch:
        (scratch / "weights.pt").touch()
        raise KeyboardInterrupt
    assert [p.name for p in (tmp_path / "starts").iterdir()] == ["one"]


def test_what_cannot_be_kept_is_said_and_costs_nothing_else(tiny: Path, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert "Not a directory" in keep(tmp_path / "file" / "one", models.load_model(str(tiny)), 1.0)


def test_what_a_killed_process_left_behind_is_gone_a_day_later(tmp_path: Path) -> None:
    old, new = tmp_path / ".one.1.tmp", tmp_path / ".one.2.tmp"
    for folder in (old, new):
        folder.mkdir()
    yesterday = time.time() - 100_000
    os.utime(old, (yesterday, yesterday))
    with folder_once(tmp_path / "one", proof="x") as scratch:
        (scratch / "x").touch()
    assert sorted(p.name for p in tmp_path.iterdir()) == [".one.2.tmp", "one"]
