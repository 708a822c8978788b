"""Each token's entropy and ratio, as the updates saw them, beside the right rollout: after cuts and stops too."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
import tiny_trainer as tiny
import torch
from torch import Tensor

from bot_grpo import token_rows, token_stats
from bot_grpo.batch_files import load_batches, save_batches
from bot_grpo.logprobs import by_length
from bot_grpo.report_data import choose, index_rollouts, load_rows
from bot_grpo.rundir import RunDir

HALF = 2e-3
"""Of a value, what float16 may take away, and float32 sums in another order."""
CUT: dict[str, Any] = {"per_device_train_batch_size": 4, "gradient_accumulation_steps": 2}


def keeping(folder: Path, **changes: Any) -> tuple[Any, RunDir]:
    """A trainer whose run is kept on disk."""
    trainer = tiny.trainer(folder / "out", **(CUT | changes))
    trainer.run = RunDir(folder / "run")
    trainer.run.create(resume=True)
    return trainer, trainer.run


def rows_of(run: RunDir, step: int = 1) -> list[dict[str, Any]]:
    """The rollouts of a step with what was kept of their tokens, as the report reads them."""
    notes: list[str] = []
    index = [entry for entry in index_rollouts(run.rollouts, notes) if entry.step == step]
    rows = load_rows(choose(index, 1000), notes)
    token_rows.attach(rows, run.tokens, notes)
    assert notes == []
    return sorted(rows, key=lambda row: row["place"])


def logps(weights: dict[str, Tensor], row: dict[str, Any]) -> Tensor:
    """log pi of the whole vocabulary before each token of a rollout, (T, V) float64, without padding."""
    model = tiny.tiny_llama()
    model.load_state_dict(weights, strict=False)  # the head is tied
    prompt = tiny.byte_tokenizer()(row["prompt"])["input_ids"]
    ids = torch.tensor([[*prompt, *row["token_ids"]]])
    with torch.no_grad():
        return model(ids).logits[0, len(prompt) - 1 : -1].double().log_softmax(-1)


def own(logps_TV: Tensor, row: dict[str, Any]) -> Tensor:
    return logps_TV.gather(1, torch.tensor(row["token_ids"])[:, None])[:, 0]


def test_entropies_and_the_last_ratio_are_those_of_the_policy_that_the_update_had(tmp_path: Path) -> None:
    """Two updates on a batch of micro-batches that are shuffled and ordered by length."""
    trainer, run = keeping(tmp_path, num_iterations=2, max_steps=2)
    record = tiny.Record()
    trainer.add_callback(record)
    before = tiny.weights(trainer.model)
    trainer.train()
    rows = rows_of(run)
    assert [row["place"] for row in rows] == list(range(8))
    assert len({len(row["token_ids"]) for row in rows}) > 3
    moved = 0.0
    for row in rows:
        then_TV, now_TV = logps(before, row), logps(record.steps[0], row)
        entropies_T = -(then_TV.exp() * then_TV).sum(-1)
        assert row["entropies"] == pytest.approx(entropies_T.tolist(), rel=HALF)
        log_ratio_T = own(now_TV, row) - own(then_TV, row)
        assert row["log_ratios"] == pytest.approx(log_ratio_T.tolist(), rel=HALF, abs=2e-5)
        moved = max(moved, log_ratio_T.abs().max().item())
    assert moved > 0.01, "the test wants a ratio that is not 1"
    assert len(list(run.tokens.iterdir())) == 1


def test_where_a_batch_makes_one_update_no_ratio_is_kept(tmp_path: Path) -> None:
    trainer, run = keeping(tmp_path, max_steps=2)
    trainer.train()
    for step in (1, 2):
        for row in rows_of(run, step):
            assert len(row["entropies"]) == len(row["token_ids"])
            assert row["log_ratios"] is None
    assert "log_ratios" not in trainer._buffered_inputs[0]


def test_without_a_run_nothing_is_carried_along(tmp_path: Path) -> None:
    trainer = tiny.trainer(tmp_path, **CUT)
    trainer.train()
    assert not {"entropies", "place"} & trainer._buffered_inputs[0].keys()


def test_a_run_that_stops_between_two_updates_goes_on_with_what_it_had_noted(tmp_path: Path) -> None:
    """Mini-batches: after the first update some rows have not been seen yet."""
    changes: dict[str, Any] = {"steps_per_generation": 2, "gradient_accumulation_steps": 1, "max_steps": 2}
    changes |= {"save_strategy": "steps", "save_steps": 1}
    trainer, run = keeping(tmp_path, **changes)
    trainer.train()
    whole = rows_of(run)
    assert all(row["entropies"] for row in whole)
    stopped, half = keeping(tmp_path / "stopped", **(changes | {"max_steps": 1}))
    stopped.train()
    seen = [row for row in rows_of(half) if row["entropies"] is not None]
    assert len(seen) == 4
    resumed = tiny.trainer(tmp_path / "stopped" / "out", **(CUT | changes))
    resumed.run = half
    resumed.train(resume_from_checkpoint=str(tmp_path / "stopped" / "out" / "checkpoint-1"))
    assert rows_of(half) == whole
    (name,) = [file.name for file in run.tokens.iterdir()]
    assert pq.read_table(half.tokens / name).equals(pq.read_table(run.tokens / name))


def test_several_generation_batches_of_a_step_have_files_and_places_of_their_own(tmp_path: Path) -> None:
    trainer, run = keeping(tmp_path, steps_per_generation=1, max_steps=2)
    trainer.train()
    names = {"step-00001.parquet", "step-batch1-00001.parquet", "step-00002.parquet", "step-batch1-00002.parquet"}
    for folder in (run.rollouts, run.tokens):
        assert {file.name for file in folder.iterdir()} == names
    for step in (1, 2):
        rows = rows_of(run, step)
        assert [(row["place"], row["group"]) for row in rows] == [(i, i // 4) for i in range(8)]
        assert all(len(row["entropies"]) == len(row["token_ids"]) for row in rows)
    run.cut_back(1)
    assert {file.name for file in run.tokens.iterdir()} == {name for name in names if "00001" in name}


def batch(rows: int = 6, *, seed: int = 0) -> tuple[list[dict[str, Any]], Tensor, Tensor]:
    """Micro-batches as the trainer has them, with the entropies and log-ratios that an update will see, by place."""
    rng = np.random.default_rng(seed)
    lengths = torch.from_numpy(rng.integers(1, 9, rows))
    mask_BT = (torch.arange(9) < lengths[:, None]).long()
    entropies_BT, ratios_BT = (torch.from_numpy(rng.normal(size=(rows, 9))).float() for _ in range(2))
    given = token_stats.blank(mask_BT, step=7, first=12, several_updates=True)
    given |= {"completion_mask": mask_BT, "prompt_ids": mask_BT[:, :2], "prompt_mask": mask_BT[:, :2]}
    parts = [{k: v[i : i + 2] if v.dim() else v for k, v in given.items()} for i in range(0, rows, 2)]
    return by_length(parts), entropies_BT, ratios_BT


def note(one: dict[str, Any], entropies_BT: Tensor, ratios_BT: Tensor) -> None:
    """As the loss of one micro-batch does it, which sees no more columns than its rows have tokens."""
    at, width = one["place"] - 12, int(one["completion_mask"].sum(1).max())
    cut = one | {"old_per_token_logps": torch.zeros(len(at), width)}
    token_stats.note(cut, ratios_BT[at, :width], entropies_BT[at, :width])


def test_what_was_noted_finds_its_row_on_another_number_of_processes(tmp_path: Path) -> None:
    """Two processes stop in the middle of a batch, and one goes on."""
    parts, entropies_BT, ratios_BT = batch(12)
    for one in parts[:4]:
        note(one, entropies_BT, 5 * ratios_BT)
    for rank in (0, 1):
        save_batches(tmp_path, parts[rank::2], rank=rank, processes=2)
    loaded = load_batches(tmp_path, rank=0, processes=1, slices=3, updates=1, device=torch.device("cpu"))
    assert loaded is not None
    assert [len(one["place"]) for one in loaded] == [4, 4, 4]
    for one in loaded:
        note(one, -entropies_BT - 9, ratios_BT)  # the entropies of the first time stay, the last ratios count
    found = token_stats.table(loaded).to_pylist()
    assert [(row["step"], row["place"]) for row in found] == [(7, 12 + i) for i in range(12)]
    seen = {int(place) - 12 for one in parts[:4] for place in one["place"]}
    lengths = torch.cat([one["completion_mask"].sum(1) for one in parts])[
        torch.cat([p["place"] for p in parts]).argsort()
    ]
    for i, row in enumerate(found):
        first_T = entropies_BT[i] if i in seen else -entropies_BT[i] - 9
        n = int(lengths[i])
        assert row["entropies"] == pytest.approx(first_T[:n].tolist(), rel=HALF)
        assert row["log_ratios"] == pytest.approx(ratios_BT[i, :n].tolist(), rel=HALF)


def test_a_checkpoint_of_an_earlier_version_has_no_tokens_to_write() -> None:
    parts, *_ = batch()
    for one in parts:
        for name in ("batch_step", "place", "entropies", "log_ratios"):
            del one[name]
    assert token_stats.table(parts) is None


def test_small_ratios_keep_three_digits() -> None:
    """A ratio in float16 would be 1, 1.001 or 1.002; its logarithm is not."""
    parts, entropies_BT, _ = batch(2)
    note(parts[0], entropies_BT, torch.full((2, 9), 3.21e-4))
    assert token_stats.table(parts).to_pylist()[0]["log_ratios"][0] == pytest.approx(3.21e-4, rel=1e-3)


def test_files_that_are_missing_or_damaged_leave_the_rows_as_they_are(tmp_path: Path) -> None:
    notes: list[str] = []
    old = {"step": 1, "kind": "train", "completion": "x"}
    token_rows.attach([old], tmp_path / "none", notes)
    row = {**old, "place": 0}
    (tmp_path / "step-00001.parquet").write_bytes(b"PAR1")
    (tmp_path / "step-00002.parquet").write_bytes(b"PAR1")  # of no row that is asked for
    token_rows.attach([row], tmp_path, notes)
    assert row == {**old, "place": 0}
    assert notes == ["tokens/step-00001.parquet could not be read (still being written, or damaged)."]
