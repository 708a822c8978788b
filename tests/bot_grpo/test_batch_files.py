"""A generation batch in a checkpoint is read by any number of processes: the same updates on the same rows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

from bot_grpo.batch_files import joined, load_batches, save_batches
from bot_grpo.eval_rows import EvalRows

CPU = torch.device("cpu")


def micro_batch(numbers: list[int], *, prompt: int, completion: int) -> dict[str, Any]:
    """Rows that can be told apart, with padding where the trainer puts it."""
    rows = torch.tensor(numbers)
    ids = rows[:, None].repeat(1, completion)
    return {
        "prompt_ids": torch.cat([torch.zeros(len(rows), 1), rows[:, None].repeat(1, prompt - 1)], 1).long(),
        "completion_ids": ids,
        "completion_mask": torch.ones_like(ids),
        "old_per_token_logps": None,
        "num_items_in_batch": torch.tensor(7),
    }


def written(folder: Path) -> list[list[dict[str, Any]]]:
    """Two processes with four micro-batches of two rows each, for two updates; widths differ."""
    made = [
        [micro_batch([10 * rank + 2 * i, 10 * rank + 2 * i + 1], prompt=3 + rank, completion=2 + i) for i in range(4)]
        for rank in range(2)
    ]
    for rank, batches in enumerate(made):
        save_batches(folder, batches, rank=rank, processes=2)
    return made


def rows(batches: list[dict[str, Any]]) -> list[int]:
    return [int(n) for batch in batches for n in batch["completion_ids"][:, 0]]


def test_as_many_processes_read_what_they_wrote(tmp_path: Path) -> None:
    made = written(tmp_path)
    for rank in range(2):
        read = load_batches(tmp_path, rank=rank, processes=2, slices=4, updates=2, device=CPU)
        assert read is not None
        for mine, theirs in zip(read, made[rank], strict=True):
            assert mine["completion_ids"].equal(theirs["completion_ids"])


@pytest.mark.parametrize(("processes", "slices"), [(1, 2), (1, 4), (1, 8), (2, 2), (4, 2)])
def test_others_make_the_same_updates_on_the_same_rows(tmp_path: Path, processes: int, slices: int) -> None:
    written(tmp_path)
    read = [
        load_batches(tmp_path, rank=r, processes=processes, slices=slices, updates=2, device=CPU)
        for r in range(processes)
    ]
    assert all(batches is not None and len(batches) == slices for batches in read)
    half = slices // 2
    for update, wanted in enumerate(({0, 1, 2, 3, 10, 11, 12, 13}, {4, 5, 6, 7, 14, 15, 16, 17})):
        found = [n for batches in read for n in rows((batches or [])[update * half : (update + 1) * half])]
        assert sorted(found) == sorted(wanted)


def test_rows_of_other_widths_are_padded_on_their_own_side(tmp_path: Path) -> None:
    made = written(tmp_path)
    whole = joined([made[0][0], made[1][3]])
    assert whole["prompt_ids"].tolist()[0] == [0, 0, 0, 0]
    assert whole["prompt_ids"].tolist()[2] == [0, 16, 16, 16]
    assert whole["completion_mask"].tolist()[0] == [1, 1, 0, 0, 0]
    assert whole["old_per_token_logps"] is None
    assert whole["num_items_in_batch"] == 7


def test_what_does_not_divide_is_said(tmp_path: Path) -> None:
    written(tmp_path)
    with pytest.raises(ValueError, match="do not divide"):
        load_batches(tmp_path, rank=0, processes=3, slices=2, updates=2, device=CPU)


def test_a_checkpoint_between_batches_holds_none(tmp_path: Path) -> None:
    assert load_batches(tmp_path, rank=0, processes=1, slices=1, updates=1, device=CPU) is None


@pytest.mark.parametrize(("total", "own"), [(5, [[2, 2], [1, 0]]), (4, [[2, 2]]), (3, [[2, 1]]), (1, [[1, 0]])])
def test_the_rows_that_fill_up_an_evaluation_are_told_apart(total: int, own: list[list[int]]) -> None:
    places = [EvalRows(total, rank=r, processes=2) for r in range(2)]
    for wanted in own:
        assert [p.own(2) for p in places] == wanted
        for p in places:
            p.next(2)
    assert EvalRows(total).own(9) == 9
