"""Every algorithm through the trainer: against a plain evaluation, however the batch is cut, over several updates."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import tiny_trainer as tiny
import torch
from torch import Tensor

from bot_grpo.algorithms import ALGORITHMS, ScoredBatch, evaluate
from bot_grpo.trainer import BoTGRPOTrainer

OFF_POLICY = {"num_iterations": 2, "per_device_train_batch_size": 8, "gradient_accumulation_steps": 1}


def token_logps(model: Any, ids_BS: Tensor, mask_BS: Tensor, width: int) -> Tensor:
    """log pi of the last `width` tokens, from plain logits of the unwrapped model: (B, T)."""
    positions_BS = (mask_BS.cumsum(1) - 1).clamp(min=0)
    logits = model(input_ids=ids_BS, attention_mask=mask_BS, position_ids=positions_BS).logits[:, :-1].log_softmax(-1)
    return logits[:, -width:].gather(2, ids_BS[:, -width:, None])[:, :, 0]


class Keeper:
    """Keeps the generation batches of a trainer, as they were before the first update."""

    def __init__(self, trainer: BoTGRPOTrainer) -> None:
        self.batches: list[ScoredBatch] = []
        self.outputs: list[dict[str, Tensor]] = []
        inner = trainer._scored_batch

        def keep(output: Any) -> ScoredBatch:
            batch = inner(output)
            self.batches.append(batch)
            self.outputs.append(dict(output))
            return batch

        trainer._scored_batch = keep  # type: ignore[method-assign]


@pytest.mark.parametrize("name", list(ALGORITHMS))
def test_two_updates_equal_gradient_descent_on_the_plain_loss(name: str, tmp_path: Path) -> None:
    """The trainer's steps on a batch are steps of SGD on `evaluate`'s loss, with logits from the model alone."""
    model, twin = tiny.tiny_llama(), tiny.tiny_llama()
    before = tiny.weights(model)
    settings = {"clip_low": 0.01, "clip_high": 0.01} if name in {"gspo", "gspo_token", "bot_grpo", "reco"} else {}
    if name == "ep_grpo":
        model = tiny.saved_llama(tmp_path / "model")
    rate = 1e-3 if name == "reco" else 0.1
    trainer = tiny.trainer(
        tmp_path,
        model=model,
        algorithm=name,
        algorithm_settings=settings,
        dynamic_sampling=0,
        learning_rate=rate,
        **OFF_POLICY,
    )
    keeper, record = Keeper(trainer), tiny.Record()
    trainer.add_callback(record)
    trainer.train()
    (batch,), (output,) = keeper.batches, keeper.outputs
    ids = torch.cat([output["prompt_ids"], output["completion_ids"]], 1)
    mask = torch.cat([output["prompt_mask"], output["completion_mask"]], 1)
    width = output["completion_ids"].size(1)
    old = token_logps(twin, ids, mask, width).detach()
    torch.testing.assert_close(batch.old_logps_BT[batch.mask_BT], old[batch.mask_BT], atol=1e-5, rtol=0)
    settings = dict(trainer.algorithm.settings)
    for step in range(2):
        logps = token_logps(twin, ids, mask, width)
        fields = vars(batch) | {"logps_BT": logps}
        out = evaluate(name, ScoredBatch(**fields), num_generations=4, **settings)
        twin.zero_grad()
        out.loss.backward()
        with torch.no_grad():
            for parameter in twin.parameters():
                parameter -= rate * parameter.grad
        assert tiny.distance(record.steps[step], tiny.weights(twin)) < 2e-6, f"parameters differ after step {step + 1}"
    assert tiny.distance(before, record.steps[1]) > 1e-4, "nothing was trained"
    first, second = tiny.logged(trainer)
    assert first["policy/ratio_max"] == pytest.approx(1.0)
    assert second["policy/ratio_max"] > 1.001, "the second update on a batch must see a ratio"
    assert torch.isfinite(torch.tensor([first["loss"], second["loss"], first["grad_norm"]])).all()


CUTS = [(8, 1), (2, 4), (1, 8)]


@pytest.mark.parametrize("name", ["bot_grpo", "dapo", "balanced"])
def test_cutting_the_batch_changes_nothing(name: str, tmp_path: Path) -> None:
    """1 x 8, 2 x 4 and 8 x 1 give the same parameters and the same figures, on and off policy."""
    runs = []
    for size, accumulate in CUTS:
        trainer = tiny.trainer(
            tmp_path / f"{size}",
            algorithm=name,
            dynamic_sampling=0,
            overlong_filter=True,
            num_iterations=2,
            max_steps=3,
            per_device_train_batch_size=size,
            gradient_accumulation_steps=accumulate,
        )
        trainer.train()
        runs.append((tiny.weights(trainer.model), tiny.logged(trainer)))
    whole, whole_log = runs[0]
    for cut, cut_log in runs[1:]:
        assert tiny.distance(whole, cut) < 1e-6
        for a, b in zip(whole_log, cut_log, strict=True):
            assert a == pytest.approx(b, rel=1e-4, abs=1e-5)


@pytest.mark.parametrize("name", ["gspo", "bot_grpo"])
def test_mini_batches_add_up_to_the_batch(name: str, tmp_path: Path) -> None:
    """Two optimizer steps on halves of a generation batch: with a tiny step size they are one on all of it, twice."""
    ends = []
    for accumulate in (4, 2):
        trainer = tiny.trainer(
            tmp_path / str(accumulate),
            algorithm=name,
            algorithm_settings={"clip_low": None, "clip_high": None},
            per_device_train_batch_size=2,
            gradient_accumulation_steps=accumulate,
            steps_per_generation=4,
            max_steps=4 // accumulate,
            learning_rate=1e-3,
        )
        before = tiny.weights(trainer.model)
        trainer.train()
        ends.append({k: v - before[k] for k, v in tiny.weights(trainer.model).items()})
    whole, halves = ends
    size = max(v.abs().max() for v in whole.values())
    assert max((2 * whole[k] - halves[k]).abs().max() for k in whole) < 0.05 * size


def test_several_generations_in_one_update_are_averaged(tmp_path: Path) -> None:
    """An update over two generation batches is the mean of the two, as it is for TRL, not their sum."""
    ends = []
    for accumulate in (1, 2):
        trainer = tiny.trainer(
            tmp_path / str(accumulate),
            gradient_accumulation_steps=accumulate,
            steps_per_generation=1,
            max_steps=2 // accumulate,
            learning_rate=1e-3,
        )
        before = tiny.weights(trainer.model)
        trainer.train()
        ends.append({k: v - before[k] for k, v in tiny.weights(trainer.model).items()})
    apart, together = ends
    size = max(v.abs().max() for v in apart.values())
    assert max((apart[k] - 2 * together[k]).abs().max() for k in apart) < 0.05 * size


def test_lengths_default_to_the_longest_completion(tmp_path: Path) -> None:
    assert tiny.config(tmp_path, algorithm="dr_grpo").make_algorithm().settings["constant"] == 12
    assert tiny.config(tmp_path, algorithm="pure").make_algorithm().settings["baseline_length"] == 12
    own = tiny.config(tmp_path, algorithm="dr_grpo", algorithm_settings={"constant": 7})
    assert own.make_algorithm().settings["constant"] == 7


@pytest.mark.parametrize("name", ["grpo", "ep_grpo"])
def test_the_reference_is_the_policy_that_training_began_from(name: str, tmp_path: Path) -> None:
    """Also for an adapter that has been trained before; and the reference stays as it was."""
    model = tiny.with_lora(tiny.tiny_llama(), warm=True)
    settings = {"beta": 0.1} if name == "grpo" else {}
    trainer = tiny.trainer(
        tmp_path, model=model, algorithm=name, algorithm_settings=settings, max_steps=3, learning_rate=1.0
    )
    trainer.train()
    kl = [row["policy/kl"] for row in tiny.logged(trainer)]
    assert kl[0] == pytest.approx(0.0, abs=1e-6)
    assert kl[2] > 1e-5
    assert trainer.args.beta == 0.0  # settings are left as the user wrote them


def test_trls_sampler_correction_scales_the_policy_term(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With vLLM TRL gives a ratio of policy to sampler, which its loss multiplies in; so does ours."""
    from trl import GRPOTrainer

    def train(ratio: float, rate: float) -> dict[str, Tensor]:
        inner = GRPOTrainer._generate_and_score_completions

        def corrected(self: Any, inputs: Any) -> Any:
            output = inner(self, inputs)
            output["importance_sampling_ratio"] = torch.full((len(output["completion_ids"]), 1), ratio)
            return output

        with monkeypatch.context() as patch:
            patch.setattr(GRPOTrainer, "_generate_and_score_completions", corrected)
            trainer = tiny.trainer(tmp_path / str(ratio), max_steps=1, learning_rate=rate)
            trainer.train()
        return tiny.weights(trainer.model)

    assert tiny.distance(train(0.5, 0.1), train(1.0, 0.05)) < 1e-6
