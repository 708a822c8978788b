"""What a run keeps of an evaluation."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pyarrow.parquet as pq
import pytest
import tiny_trainer as tiny

from bot_grpo.rundir import RunDir
from bot_grpo.trainer import BoTGRPOTrainer


@pytest.mark.parametrize(("batch", "samples"), [(2, 1), (4, 2), (48, 1)])
def test_an_evaluation_in_several_batches_keeps_all_its_rollouts(tmp_path: Path, batch: int, samples: int) -> None:
    run = RunDir(tmp_path / "run")
    run.create(resume=False)
    tokenizer = tiny.byte_tokenizer()
    trainer = BoTGRPOTrainer(
        tiny.tiny_llama(),
        tiny.StubReward(),
        tiny.config(tmp_path / "out", per_device_eval_batch_size=batch, num_generations_eval=samples),
        run=run,
        train_dataset=tiny.prompts(),
        eval_dataset=tiny.prompts(6),
        processing_class=tokenizer,
        rollout_func=tiny.FixedRollouts(tokenizer),
    )
    trainer.evaluate()
    trainer.evaluate()  # the same step: written over, not added
    rows = [row for file in run.rollouts.glob("eval*.parquet") for row in pq.read_table(file).to_pylist()]
    assert Counter(row["prompt"] for row in rows) == dict.fromkeys(tiny.prompts(6)["prompt"], samples)
    assert Counter(row["group"] for row in rows) == dict.fromkeys(range(6), samples)
    run.cut_back(-1)
    assert not list(run.rollouts.iterdir())
