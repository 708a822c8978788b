"""BoTGRPOTrainer: a thin subclass of TRL's GRPOTrainer.

TRL samples, decodes, shuffles, cuts and steps. Three things differ. The reward function leaves token rewards behind
(`rewards.RewardCollector`); the advantages and the weights of the whole generation batch are made once, when it has been
scored (`_generate_and_score_completions`); and the loss is their weighted sum (`_compute_loss`), so it cannot depend on
how the batch is cut into micro-batches or spread over processes.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from contextlib import contextmanager
from typing import Any

import torch
from peft import PeftModel
from torch import Tensor
from trl import GRPOTrainer

from bot_grpo.algorithms import Prepared, ScoredBatch
from bot_grpo.config import BoTGRPOConfig
from bot_grpo.generation import GroupRollouts
from bot_grpo.groups import Groups
from bot_grpo.rewards import RewardCollector, Scored, local_rewards
from bot_grpo.rundir import RunDir
from bot_grpo.runrows import rollout_rows
from reward_models.base import TokenRewardModel


class BoTGRPOTrainer(GRPOTrainer):
    """Trains a policy on token rewards with any algorithm of `bot_grpo.algorithms`.

    Args:
        model: a name, or a model; with `peft_config`, or already a `PeftModel`.
        reward_model: a `TokenRewardModel`; it sees each rollout with the row of its prompt (column `row`, JSON).
        args: settings.
        run: where rollouts are written; None writes none.
        **kwargs: as for `trl.GRPOTrainer`, but for `reward_funcs`.
    """

    _tag_names = ["trl", "grpo", "bot-grpo"]

    def __init__(
        self,
        model: Any,
        reward_model: TokenRewardModel,
        args: BoTGRPOConfig,
        *,
        run: RunDir | None = None,
        **kwargs: Any,
    ) -> None:
        self.algorithm = args.make_algorithm()
        self.run = run
        args.beta = self.algorithm.settings["beta"]  # TRL then keeps a reference model (or switches the adapter off)
        self._timers = {"generate": 0.0, "score": 0.0}
        collector = RewardCollector(reward_model, kwargs["processing_class"])
        fast = args.fast_sampling and not args.use_vllm and "rollout_func" not in kwargs
        if fast:
            kwargs["rollout_func"] = GroupRollouts()
        super().__init__(model=model, reward_funcs=[collector], args=args, **kwargs)
        # Each process gives its own rows' part of one weighted sum; Trainer must not average it over micro-batches.
        self.model_accepts_loss_kwargs = True
        collector.eos_token_ids = set(self.eos_token_ids)
        self.collector = collector

    # -- rollouts, rewards, advantages ------------------------------------------------------------------------------

    def _generate(self, prompts: list[Any]) -> Any:
        start = time.perf_counter()
        answer = super()._generate(prompts)
        self._timers["generate"] += time.perf_counter() - start
        return answer

    def _generate_and_score_completions(self, inputs: list[dict[str, Any]]) -> dict[str, Any]:
        scored_before = self.collector.seconds
        output = super()._generate_and_score_completions(inputs)
        self._timers["score"] += self.collector.seconds - scored_before
        training = self.model.training
        batch = self._scored_batch(output)
        self._log_rewards("train" if training else "eval", self.collector.batch, batch)
        if not training:
            self._write("eval", self.collector.batch, batch, None)
            return output
        prepared = self._advantages(batch)
        self._write("train", self.collector.batch, batch, prepared)
        output["advantages"] = prepared.advantages_BT
        output["weights"] = prepared.weights_BT
        if batch.old_logps_BT is not None:
            output["old_per_token_logps"] = batch.old_logps_BT
        if batch.ref_logps_BT is not None:
            output["ref_per_token_logps"] = batch.ref_logps_BT
        return output

    def _scored_batch(self, output: Mapping[str, Any]) -> ScoredBatch:
        """The local rows of the generation batch with their token rewards."""
        mask_BT = output["completion_mask"].bool()
        device, (rows, width) = mask_BT.device, mask_BT.shape
        scored = self.collector.batch
        outcome_B = torch.tensor([0.0 if s.signal is None else s.signal.outcome for s in scored], device=device)
        local_BT = self.args.w_s * local_rewards(scored, width).to(device)
        needs = self.algorithm.needs if self.model.training else frozenset()
        return ScoredBatch(
            mask_BT=mask_BT,
            logps_BT=None,
            old_logps_BT=self._old_logps(output) if "old_logps" in needs else output.get("old_per_token_logps"),
            token_rewards_BT=(self.args.w_g * outcome_B[:, None] + local_BT) * mask_BT,
            outcome_B=outcome_B,
            ref_logps_BT=self._ref_logps(output) if "ref_logps" in needs else None,
            entropies_BT=self._logps(self.model, output, entropies=True)[1] if "entropies" in needs else None,
            scored_B=torch.tensor([s.signal is not None for s in scored], device=device),
            local_rewards_BT=local_BT * mask_BT,
            truncated_B=torch.tensor([s.rollout.truncated for s in scored], device=device),
        )

    def _advantages(self, batch: ScoredBatch) -> Prepared:
        groups = Groups.distributed(len(batch.mask_BT), self.num_generations, device=batch.mask_BT.device)
        prepared = self.algorithm.prepare(batch, self.num_generations, groups=groups)
        for name, value in prepared.metrics.items():
            self._metrics["train"][name].append(value)
        return prepared

    # -- log-probabilities ------------------------------------------------------------------------------------------

    def _logps(self, model: Any, inputs: Mapping[str, Tensor], *, entropies: bool = False) -> tuple[Tensor, Any]:
        """Log-probabilities (and entropies) of the completion tokens: (B, T) each."""
        ids_BS = torch.cat([inputs["prompt_ids"], inputs["completion_ids"]], dim=1)
        mask_BS = torch.cat([inputs["prompt_mask"], inputs["completion_mask"]], dim=1)
        keep = inputs["completion_ids"].size(1)
        logps_BT, entropies_BT, _ = self._get_per_token_logps_and_entropies(
            model, ids_BS, mask_BS, keep, self.args.per_device_train_batch_size, compute_entropy=entropies
        )
        return logps_BT, entropies_BT

    @torch.no_grad()
    def _old_logps(self, output: Mapping[str, Tensor]) -> Tensor:
        known = output.get("old_per_token_logps")
        return self._logps(self.model, output)[0] if known is None else known

    @torch.no_grad()
    def _ref_logps(self, output: Mapping[str, Tensor]) -> Tensor:
        known = output.get("ref_per_token_logps")
        if known is not None:
            return known
        model = self.accelerator.unwrap_model(self.model)
        if not isinstance(model, PeftModel):
            raise ValueError(f"{self.algorithm.name} needs a reference policy: train a LoRA adapter, or set beta > 0")
        with model.disable_adapter():
            return self._logps(self.model, output)[0]

    # -- the loss -----------------------------------------------------------------------------------------------------

    def _compute_loss(self, model: Any, inputs: Mapping[str, Tensor]) -> Tensor:
        inputs = _without_padding(inputs)
        logps_BT, entropies_BT = self._logps(model, inputs, entropies=True)
        loss, metrics = self.algorithm.policy_loss(
            inputs["advantages"],
            inputs["weights"],
            inputs["completion_mask"],
            logps_BT,
            inputs.get("old_per_token_logps"),
            inputs.get("ref_per_token_logps"),
            entropies_BT,
        )
        for name, value in metrics.items():
            self._metrics["train"][name].append(self.accelerator.gather(value.float()).nanmean().item())
        # The weights make one loss of the whole generation batch. Processes average their gradients and each optimizer
        # step sees one of S slices, hence the two factors.
        slices = max(1, self.args.steps_per_generation // self.args.gradient_accumulation_steps)
        return loss * self.accelerator.num_processes * slices

    def prediction_step(
        self, model: Any, inputs: Any, prediction_loss_only: bool, ignore_keys: list[str] | None = None
    ) -> tuple[Tensor, None, None]:
        """An evaluation samples and scores; there is no loss worth a forward pass."""
        self._prepare_inputs(inputs)
        return torch.zeros((), device=self.accelerator.device), None, None

    def evaluate(self, *args: Any, **kwargs: Any) -> dict[str, float]:
        """Evaluate with random numbers of its own: the same for every run of a seed, and none taken from training."""
        with _own_random_numbers(self.args.seed, self.accelerator.device):
            return super().evaluate(*args, **kwargs)

    # -- records ------------------------------------------------------------------------------------------------------

    def _log_rewards(self, mode: str, scored: list[Scored], batch: ScoredBatch) -> None:
        """Averages over all processes: what the reward model measured, and the parts of the reward."""
        sums: dict[str, list[float]] = {}
        for one in scored:
            sums.setdefault("unscored", []).append(float(one.signal is None))
            sums.setdefault("truncated", []).append(float(one.rollout.truncated))
            for name, value in (one.signal.metrics if one.signal else {}).items():
                sums.setdefault(name, []).append(float(value))
        lengths_B = batch.mask_BT.sum(1)
        sums["completion_length"] = lengths_B.tolist()
        keep = [i for i, one in enumerate(scored) if one.signal is not None]
        sums["reward/outcome"] = batch.outcome_B[keep].tolist()
        local_B = batch.local_rewards_BT.sum(1) / lengths_B.clamp(min=1) if batch.local_rewards_BT is not None else None
        sums["reward/local"] = local_B[keep].tolist() if local_B is not None else []
        for name in sorted(sums):
            stats = torch.tensor([sum(sums[name]), len(sums[name])], device=self.accelerator.device)
            total, count = self.accelerator.reduce(stats, reduction="sum").tolist()
            self._metrics[mode][name].append(total / count if count else float("nan"))

    def take_timers(self) -> dict[str, float]:
        """Seconds spent sampling and scoring since the last call."""
        taken = dict(self._timers)
        self._timers = dict.fromkeys(self._timers, 0.0)
        return taken

    def _write(self, kind: str, scored: list[Scored], batch: ScoredBatch, prepared: Prepared | None) -> None:
        if self.run is None:
            return
        step = self.state.global_step + (1 if kind == "train" else 0)
        size = self.num_generations if kind == "train" else self.num_generations_eval
        rows = rollout_rows(self.run, step, kind, size, scored, batch.token_rewards_BT, prepared)
        rank, world = self.accelerator.process_index, self.accelerator.num_processes
        prefix = {"train": "step", "eval": "eval"}[kind] + (f"-rank{rank}" if world > 1 else "")
        self.run.write_rollouts(f"{prefix}-{step:05d}", rows)


def _without_padding(inputs: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Cut the columns which are padding in every row of this micro-batch: they cost time and change nothing."""
    width = max(1, int(inputs["completion_mask"].sum(1).max()))
    start = int(inputs["prompt_mask"].size(1) - inputs["prompt_mask"].sum(1).max())
    cut = {"completion_ids", "completion_mask", "advantages", "weights", "old_per_token_logps", "ref_per_token_logps"}
    out = {k: v[:, :width] if k in cut else v for k, v in inputs.items()}
    return out | {k: inputs[k][:, start:] for k in ("prompt_ids", "prompt_mask")}


@contextmanager
def _own_random_numbers(seed: int, device: torch.device) -> Iterable[None]:
    devices = [device] if device.type == "cuda" else []
    with torch.random.fork_rng(devices=devices):
        torch.manual_seed(seed)
        yield
