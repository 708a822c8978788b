"""BoTGRPOTrainer against TRL: the hook of (B, T) advantages, and training step by step on the same rollouts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import tiny_trainer as tiny
import torch
from torch import Tensor
from transformers.trainer_callback import PrinterCallback
from trl import GRPOConfig, GRPOTrainer

from bot_grpo.rewards import RewardCollector


def trl_trainer(folder: Path, model: Any, **changes: Any) -> GRPOTrainer:
    """TRL's own trainer with the rollouts, the rewards and the data of `tiny.trainer`."""
    tokenizer = tiny.byte_tokenizer()
    collector = RewardCollector(tiny.StubReward(), tokenizer)
    made = GRPOTrainer(
        model,
        [collector],
        GRPOConfig(output_dir=str(folder), **(tiny.COMMON | changes)),
        train_dataset=tiny.prompts(),
        processing_class=tokenizer,
        rollout_func=tiny.FixedRollouts(tokenizer),
    )
    made.remove_callback(PrinterCallback)
    return made


# -- TRL's own loss takes (B, T) advantages ---------------------------------------------------------------------------


def canary_inputs(trainer: GRPOTrainer, model: Any) -> dict[str, Tensor]:
    """Two rows of 5 and 3 tokens with a different advantage on each token, and a policy that has moved."""
    torch.manual_seed(0)
    mask = torch.tensor([[1, 1, 1, 1, 1], [1, 1, 1, 0, 0]])
    inputs = {
        "prompt_ids": torch.randint(0, 256, (2, 3)),
        "prompt_mask": torch.ones(2, 3, dtype=torch.long),
        "completion_ids": torch.randint(0, 256, (2, 5)),
        "completion_mask": mask,
        "advantages": torch.randn(2, 5),
        "num_items_in_batch": mask.sum(),
    }
    inputs["old_per_token_logps"] = token_logps(model, inputs).detach() + 0.3 * torch.randn(2, 5)
    trainer.current_gradient_accumulation_steps = 1
    return inputs


def token_logps(model: Any, inputs: dict[str, Tensor]) -> Tensor:
    """log pi of each completion token, from plain logits: (B, T)."""
    ids = torch.cat([inputs["prompt_ids"], inputs["completion_ids"]], 1)
    mask = torch.cat([inputs["prompt_mask"], inputs["completion_mask"]], 1)
    positions = (mask.cumsum(1) - 1).clamp(min=0)
    logits = model(input_ids=ids, attention_mask=mask, position_ids=positions).logits[:, :-1].log_softmax(-1)
    width = inputs["completion_ids"].size(1)
    return logits[:, -width:].gather(2, inputs["completion_ids"][:, :, None])[:, :, 0]


def gradient(model: Any, loss: Tensor) -> Tensor:
    model.zero_grad()
    loss.backward()
    return torch.cat([p.grad.flatten() for p in model.parameters() if p.grad is not None])


@pytest.mark.parametrize("loss_type", ["grpo", "dr_grpo", "dapo", "bnpo"])
def test_trls_loss_gives_each_token_its_own_advantage(loss_type: str, tmp_path: Path) -> None:
    model = tiny.tiny_llama()
    trainer = trl_trainer(
        tmp_path, model, loss_type=loss_type, epsilon=0.2, epsilon_high=0.28, gradient_accumulation_steps=1
    )
    inputs = canary_inputs(trainer, model)
    mask, advantages = inputs["completion_mask"].float(), inputs["advantages"]
    ratio = (token_logps(model, inputs) - inputs["old_per_token_logps"]).exp()
    term = -torch.minimum(ratio * advantages, ratio.clamp(0.8, 1.28) * advantages) * mask
    weights = {
        "grpo": mask / mask.sum(1, keepdim=True) / 2,
        "dr_grpo": mask / (2 * trainer.max_completion_length),
        "dapo": mask / mask.sum(),
        "bnpo": mask / mask.sum(),
    }[loss_type]
    want = (weights * term).sum()
    want_gradient = gradient(model, want)
    got = trainer._compute_loss(model, inputs)
    torch.testing.assert_close(got, want, rtol=1e-5, atol=1e-6)
    torch.testing.assert_close(gradient(model, got), want_gradient, rtol=1e-4, atol=1e-6)


def test_trls_sequence_ratio_loses_token_credit(tmp_path: Path) -> None:
    """Why gspo_token has its own ratio here: in TRL only the mean advantage of a row reaches the gradient."""
    model = tiny.tiny_llama()
    trainer = trl_trainer(tmp_path, model, loss_type="grpo", importance_sampling_level="sequence", epsilon=10.0)
    inputs = canary_inputs(trainer, model)
    own = gradient(model, trainer._compute_loss(model, inputs))
    mask = inputs["completion_mask"].float()
    mean = (inputs["advantages"] * mask).sum(1, keepdim=True) / mask.sum(1, keepdim=True)
    averaged = gradient(model, trainer._compute_loss(model, {**inputs, "advantages": mean.expand(2, 5)}))
    torch.testing.assert_close(own, averaged, rtol=1e-4, atol=1e-6)


# -- the same parameters as TRL, after every step ---------------------------------------------------------------------

ROWS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "grpo": (
        {"algorithm": "grpo", "algorithm_settings": {"std": "sample", "eps": 1e-4}},
        {"loss_type": "grpo"},
    ),
    "grpo with KL": (
        {"algorithm": "grpo", "algorithm_settings": {"std": "sample", "eps": 1e-4, "beta": 0.5}},
        {"loss_type": "grpo", "beta": 0.5, "use_bias_correction_kl": False},
    ),
    "dr_grpo": ({"algorithm": "dr_grpo"}, {"loss_type": "dr_grpo", "scale_rewards": "none"}),
    "dapo": (
        {"algorithm": "dapo", "algorithm_settings": {"eps": 1e-4}, "dynamic_sampling": 0},
        {"loss_type": "dapo", "epsilon_high": 0.28},
    ),
    "gspo": (
        {"algorithm": "gspo", "algorithm_settings": {"std": "sample", "eps": 1e-4}},
        {"loss_type": "grpo", "importance_sampling_level": "sequence", "epsilon": 3e-4, "epsilon_high": 4e-4},
    ),
}
CUTS = {  # 16 rollouts a generation batch
    "one update": {"per_device_train_batch_size": 4, "gradient_accumulation_steps": 4},
    "mini-batches": {
        "per_device_train_batch_size": 4,
        "gradient_accumulation_steps": 2,
        "steps_per_generation": 4,
        "num_iterations": 2,
    },
}
# With Adam's usual epsilon of 1e-8, the rounding of a gradient near 0 becomes a step of full size.
ADAM = {"optim": "adamw_torch", "learning_rate": 1e-3, "adam_epsilon": 1e-4}


def assert_same_training(name: str, cut: dict[str, Any], folder: Path) -> None:
    ours, theirs = ROWS[name]
    recorded = []
    for kind in ("ours", "theirs"):
        where = folder / kind
        model = tiny.saved_llama(folder / "model")
        changes = {"max_steps": 3, **cut}
        made = (
            tiny.trainer(where, model=model, **ours, **changes)
            if kind == "ours"
            else trl_trainer(where, model, **theirs, **changes)
        )
        record = tiny.Record()
        made.add_callback(record)
        before = tiny.weights(model)
        made.train()
        recorded.append(record.steps)
    assert len(recorded[0]) == 3
    assert tiny.distance(before, recorded[1][0]) > 1e-4, "nothing was trained"
    for step, (own, trl) in enumerate(zip(*recorded, strict=True)):
        assert tiny.distance(own, trl) < 1e-6, f"parameters differ after step {step + 1}"


@pytest.mark.parametrize("name", list(ROWS))
def test_same_parameters_as_trl_with_mini_batches_and_iterations(name: str, tmp_path: Path) -> None:
    assert_same_training(name, CUTS["mini-batches"], tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("name", list(ROWS))
@pytest.mark.parametrize("cut", [CUTS["one update"], CUTS["one update"] | ADAM, CUTS["mini-batches"] | ADAM])
def test_same_parameters_as_trl(name: str, cut: dict[str, Any], tmp_path: Path) -> None:
    assert_same_training(name, cut, tmp_path)
