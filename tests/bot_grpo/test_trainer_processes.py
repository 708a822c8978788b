"""Two processes come to the weights and figures of one, also where a group straddles them, and share its work."""

from __future__ import annotations

import socket
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import tiny_trainer as tiny
import torch
import two_processes
from torch import multiprocessing

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("processes")


@pytest.fixture(scope="module")
def unbroken(folder: Path) -> dict[str, Any]:
    """One process, from beginning to end; its checkpoints are what two processes resume from."""
    return two_processes.resumed(folder / "one", None, processes=1)


@pytest.fixture(scope="module")
def ranks(folder: Path, unbroken: dict[str, Any]) -> list[dict[str, Any]]:
    """What each of two processes came to, for every run."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    multiprocessing.spawn(two_processes.main, args=(port, str(folder)), nprocs=2, join=True)
    return [torch.load(folder / f"rank{rank}.pt") for rank in range(2)]


def assert_alike(mine: dict[str, Any], theirs: dict[str, Any], *, rounding: float) -> None:
    """Weights to `rounding`, figures of the steps that both have to a little more."""
    assert tiny.distance(mine["weights"], theirs["weights"]) < rounding
    steps = min(len(mine["logged"]), len(theirs["logged"]))
    for a, b in zip(mine["logged"][-steps:], theirs["logged"][-steps:], strict=True):
        assert a == pytest.approx(b, rel=1e-4, abs=20 * rounding)


@pytest.mark.parametrize("name", list(two_processes.RUNS))
def test_two_processes_equal_one(name: str, ranks: list[dict[str, Any]], tmp_path: Path) -> None:
    first, second = (one[name] for one in ranks)
    assert tiny.distance(first["weights"], second["weights"]) == 0.0
    alone = two_processes.run(name, tmp_path, processes=1)
    assert_alike(first, alone, rounding=5e-6 if name == "ep_grpo" else 1e-6)  # its z-scores enlarge the last bits
    assert len(alone["logged"]) == two_processes.STEPS
    assert alone["logged"][1]["policy/ratio_max"] > 1.0
    start = tiny.tiny_llama() if two_processes.RUNS[name].get("whole") else tiny.with_lora(tiny.tiny_llama())
    before = tiny.weights(start)
    ends = {name: alone["weights"][name] for name in before}  # a reference adapter comes on top
    assert tiny.distance(before, ends) > 1e-4, "nothing was trained"
    scored = Counter(first["scored"]) + Counter(second["scored"])
    assert scored == Counter(alone["scored"]), "rollouts are scored once, by one of the processes"
    if name == "refilled":
        assert max(row.get("dynamic_sampling/attempts", 0) for row in alone["logged"]) > 0
    else:
        assert len(first["scored"]) == len(second["scored"])


def test_an_evaluation_is_shared_out_and_nothing_is_scored_twice(ranks: list[dict[str, Any]], tmp_path: Path) -> None:
    first, second = (one["evaluated"] for one in ranks)
    alone = two_processes.evaluated(tmp_path)
    assert Counter(p for p, _ in alone["scored"]) == dict.fromkeys(tiny.prompts(5)["prompt"], 1)
    assert Counter(first["scored"]) + Counter(second["scored"]) == Counter(alone["scored"])
    assert (len(first["scored"]), len(second["scored"])) == (3, 2)
    for name in ("eval_reward/outcome", "eval_completion_length", "eval_unscored", "eval_length"):
        assert first["figures"][name] == second["figures"][name]
        assert first["figures"][name] == pytest.approx(alone["figures"][name], rel=1e-6), name


@pytest.mark.parametrize("at", two_processes.AT)
def test_one_process_goes_on_as_two(at: int, ranks: list[dict[str, Any]], unbroken: dict[str, Any]) -> None:
    assert len(ranks[0][f"resumed at {at}"]["logged"]) == two_processes.STEPS
    assert_alike(ranks[0][f"resumed at {at}"], unbroken, rounding=5e-6)


@pytest.mark.parametrize("at", two_processes.AT)
def test_two_processes_go_on_as_one(
    at: int, ranks: list[dict[str, Any]], unbroken: dict[str, Any], folder: Path, tmp_path: Path
) -> None:
    assert_alike(ranks[0]["unbroken"], unbroken, rounding=5e-6)
    alone = two_processes.resumed(tmp_path, folder / "two" / f"checkpoint-{at}", processes=1)
    assert_alike(alone, unbroken, rounding=5e-6)
