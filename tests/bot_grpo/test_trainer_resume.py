"""Resuming from a checkpoint comes to the same weights, figures and answers as going straight on."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import tiny_trainer as tiny
import torch
from golden_batch import NAMES
from transformers import TrainerState

from bot_grpo.rundir import last_checkpoint

SAMPLED: dict[str, Any] = {
    "rollouts": None,  # real samples: the random numbers must go on where they stopped
    "optim": "adamw_torch",
    "learning_rate": 0.01,
    "max_completion_length": 6,
    "save_strategy": "steps",
    "save_steps": 1,
    "max_steps": 4,
}


def lora_trainer(folder: Path, *, fresh: bool = False, **changes: Any) -> Any:
    """`fresh`: with an adapter as a process begins with that hasn't loaded the checkpoint yet."""
    adapter = tiny.with_lora(tiny.tiny_llama(), seed=9 if fresh else 1, warm=not fresh)
    return tiny.trainer(folder, model=adapter, **(SAMPLED | changes))


def greedy(model: Any) -> list[int]:
    ids = torch.tensor([[65, 66, 67]])
    return model.generate(ids, attention_mask=torch.ones_like(ids), max_new_tokens=12, do_sample=False)[0].tolist()


def assert_resumes_exactly(folder: Path, *, at: int, **changes: Any) -> None:
    straight = lora_trainer(folder / "straight", **changes)
    straight.train()
    resumed = lora_trainer(folder / "resumed", fresh=True, **changes)
    resumed.train(resume_from_checkpoint=str(folder / "straight" / f"checkpoint-{at}"))
    mine, theirs = (tiny.logged(made) for made in (resumed, straight))
    assert mine == theirs
    assert theirs[-1]["step"] == 4
    assert tiny.distance(tiny.weights(resumed.model), tiny.weights(straight.model)) == 0
    assert greedy(resumed.model) == greedy(straight.model)


def test_after_whole_generation_batches(tmp_path: Path) -> None:
    assert_resumes_exactly(tmp_path, at=2)


def test_with_refilled_groups(tmp_path: Path) -> None:
    """New prompts depend on the seed and the step, not on how the run got there."""
    reward = tiny.StubReward(levels=2)
    assert_resumes_exactly(tmp_path, at=2, algorithm="dapo", reward=reward, dynamic_sampling=2)


def test_in_the_middle_of_a_generation_batch(tmp_path: Path) -> None:
    """The second iteration on a batch goes on with that batch, and the next batch comes when it would have come."""
    assert_resumes_exactly(tmp_path, at=1, num_iterations=2)


def test_between_mini_batches(tmp_path: Path) -> None:
    mini = {"per_device_train_batch_size": 4, "steps_per_generation": 3, "num_generations": 4}
    assert_resumes_exactly(tmp_path, at=2, algorithm="gspo", **mini)


def test_the_reference_policy_is_still_the_first(tmp_path: Path) -> None:
    assert_resumes_exactly(tmp_path, at=2, algorithm="grpo", algorithm_settings={"beta": 0.2})


@pytest.mark.parametrize("at", [2, 3])
def test_in_a_second_pass_over_the_prompts(at: int, tmp_path: Path) -> None:
    """A pass is two steps; each has an order of its own."""
    assert_resumes_exactly(tmp_path, at=at, data=tiny.prompts(4))


def test_between_two_lines_of_metrics(tmp_path: Path) -> None:
    """A line is of the steps since the last one, also of those before the checkpoint."""
    assert_resumes_exactly(tmp_path, at=3, logging_steps=2, num_iterations=2)


def test_after_the_last_step_there_is_none(tmp_path: Path) -> None:
    assert_resumes_exactly(tmp_path, at=4)


def test_a_checkpoint_counts_when_its_last_file_is_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write = TrainerState.save_to_json

    def half(state: TrainerState, path: str) -> None:
        if state.global_step < 3:
            return write(state, path)
        Path(path).write_text('{"global_step": ')
        raise KeyboardInterrupt

    monkeypatch.setattr(TrainerState, "save_to_json", half)
    with pytest.raises(KeyboardInterrupt):
        lora_trainer(tmp_path, rollouts="fixed").train()
    assert (tmp_path / "checkpoint-3").is_dir()
    assert last_checkpoint(tmp_path) == tmp_path / "checkpoint-2"
    modes = {file.stat().st_mode for file in (tmp_path / "checkpoint-2").iterdir()}
    assert len(modes) == 1, "a whole one is as readable as its seal, weights too"


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_every_algorithm(name: str, tmp_path: Path) -> None:
    assert_resumes_exactly(tmp_path, at=3, algorithm=name, num_iterations=2, gradient_accumulation_steps=2)
