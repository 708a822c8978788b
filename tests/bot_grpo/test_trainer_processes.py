"""Two processes come to the weights and figures of one, also where a group straddles them."""

from __future__ import annotations

import socket
from pathlib import Path
from typing import Any

import pytest
import tiny_trainer as tiny
import torch
import two_processes
from torch import multiprocessing

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1200)]


@pytest.fixture(scope="module")
def ranks(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    """What each of two processes came to, for every run."""
    folder = tmp_path_factory.mktemp("ranks")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    multiprocessing.spawn(two_processes.main, args=(port, str(folder)), nprocs=2, join=True)
    return [torch.load(folder / f"rank{rank}.pt") for rank in range(2)]


@pytest.mark.parametrize("name", list(two_processes.RUNS))
def test_both_processes_have_the_same_weights(name: str, ranks: list[dict[str, Any]]) -> None:
    first, second = (one[name] for one in ranks)
    assert tiny.distance(first["weights"], second["weights"]) == 0.0


@pytest.mark.parametrize("name", [n for n in two_processes.RUNS if n != "refill"])
def test_two_processes_equal_one(name: str, ranks: list[dict[str, Any]], tmp_path: Path) -> None:
    alone = two_processes.run(name, tmp_path, rows=two_processes.ROWS)
    rounding = 5e-6 if name == "ep_grpo" else 1e-6  # its z-scores enlarge the last bits of log-probabilities
    assert tiny.distance(ranks[0][name]["weights"], alone["weights"]) < rounding
    start = tiny.weights(tiny.with_lora(tiny.tiny_llama()))
    ends = {name: alone["weights"][name] for name in start}  # a reference adapter comes on top
    assert tiny.distance(start, ends) > 1e-4, "nothing was trained"
    for a, b in zip(ranks[0][name]["logged"], alone["logged"], strict=True):
        assert a == pytest.approx(b, rel=1e-4, abs=20 * rounding)
    assert alone["logged"][2]["policy/ratio_max"] > 1.0


def test_refilling_over_processes_ends(ranks: list[dict[str, Any]]) -> None:
    rows = ranks[0]["refill"]["logged"]
    assert len(rows) == 3
    assert "dynamic_sampling/attempts" in rows[0]
