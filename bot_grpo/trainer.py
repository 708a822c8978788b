"""BoTGRPOTrainer: a thin subclass of TRL's GRPOTrainer.

TRL samples, decodes, shuffles, cuts and steps. Three things differ. The reward function leaves token rewards behind
(`rewards.RewardCollector`); the advantages and the weights of the whole generation batch are made once, when it is
scored (`_generate_and_score_completions`); and the loss is their weighted sum (`_compute_loss`), so it cannot depend on
how the batch is cut into micro-batches or spread over processes. Where groups are refilled (`dynamic_sampling`), that
happens before TRL sees the batch.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from datasets import Dataset
from torch import Tensor
from transformers.trainer_utils import PREFIX_CHECKPOINT_DIR
from trl import GRPOTrainer

from bot_grpo import token_stats, vllm_setup
from bot_grpo.advantages import overlong_penalty
from bot_grpo.algorithms import Prepared, ScoredBatch
from bot_grpo.batch_files import load_batches, save_batches
from bot_grpo.config import BoTGRPOConfig
from bot_grpo.dynamic_sampling import Refilled, Rollouts, Row, check_refillable, draw_rows, refill
from bot_grpo.errors import UserError
from bot_grpo.eval_rows import EvalRows, own_random_numbers
from bot_grpo.generation import GroupRollouts, seeds_of
from bot_grpo.groups import Groups
from bot_grpo.logprobs import by_length, by_prompt, completion_logps, without_padding
from bot_grpo.records import Records
from bot_grpo.resume import Resumed, loading
from bot_grpo.rewards import RewardCollector, Scored, local_rewards, step_rewards
from bot_grpo.rundir import RunDir
from bot_grpo.together import is_sharded
from reward_models.base import TokenRewardModel
from reward_models.checkpoints import SealedCheckpoints


class BoTGRPOTrainer(SealedCheckpoints, GRPOTrainer):
    """Trains a policy on token rewards with any algorithm of `bot_grpo.algorithms`.

    Where the algorithm needs a reference policy, it is the one that training began from: a new LoRA adapter is switched
    off, of an adapter that came with the model a copy is kept, and of a whole model the one on disk is loaded.

    Args:
        model: a name, or a model; with `peft_config`, or already a `PeftModel`.
        reward_model: a `TokenRewardModel`; it sees each rollout with the row of its prompt (column `row`, JSON).
        args: settings.
        run: where rollouts are written; None writes none.
        **kwargs: as for `trl.GRPOTrainer`, but for `reward_funcs`.
    """

    # Narrower than TRL declares them.
    args: BoTGRPOConfig
    model: Any
    num_generations: int
    num_generations_eval: int
    max_completion_length: int
    _buffered_inputs: Any
    _eval = EvalRows()

    _tag_names = ["trl", "grpo", "bot-grpo"]  # noqa: RUF012

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
        self.records = Records(self)
        self._refilled: Refilled | None = None  # what TRL is about to ask for
        self._drawn: tuple[int, Sequence[int]] | None = None  # attempt and places of the rows that refilling samples
        self._fresh = False  # a generation batch has just been made, and not yet been cut
        self.collector = RewardCollector(reward_model, kwargs["processing_class"])
        self._sampler = kwargs.pop("rollout_func", None)
        if self._sampler is None and args.fast_sampling and not args.use_vllm and not is_sharded(args):
            self._sampler = GroupRollouts()
        if self._sampler is not None or args.dynamic_sampling:
            kwargs["rollout_func"] = lambda prompts, trainer: self._rollouts(prompts)
        before = args.beta
        args.beta = float("ref_logps" in self.algorithm.needs)  # to TRL, the sign that there must be a reference
        with vllm_setup.explained(args):
            super().__init__(model=model, reward_funcs=[self.collector], args=args, **kwargs)
        args.beta = before
        if self.accelerator.ddp_handler is not None:
            self.accelerator.ddp_handler.gradient_as_bucket_view = True  # or gradients take their memory twice
        self.collector.eos_token_ids = set(self.eos_token_ids)
        if self.use_vllm:
            vllm_setup.settle(self.vllm_generation, self.eos_token_ids)
        alone_on_cpu = self.accelerator.device.type == "cpu" and self.accelerator.num_processes == 1
        self._compact_head = alone_on_cpu and not args.cast_lm_head_to_fp32
        self._resumed = Resumed(self)
        self.add_callback(self._resumed)
        self._check(kwargs)

    def _check(self, kwargs: Mapping[str, Any]) -> None:
        if self.aux_loss_enabled:
            raise UserError(
                "this model has a router loss, which the loss here leaves out: set router_aux_loss_coef: 0.0"
            )
        if self._is_vlm:
            raise UserError("BoTGRPOTrainer trains on text: pass a tokenizer, not a processor")
        if self.args.dynamic_sampling:
            check_refillable(
                self.train_dataset,
                tools=bool(kwargs.get("tools") or kwargs.get("environment_factory")),
                sharded=self.accelerator.num_processes > 1 and (self.is_fsdp_enabled or self.is_deepspeed_enabled),
            )

    # -- rollouts -----------------------------------------------------------------------------------------------------

    def _rollouts(self, prompts: list[Any]) -> Rollouts:
        """TRL's rollout_func: what has been sampled already, or a fresh sample."""
        return self._sample(prompts) if self._refilled is None else self._refilled.rollouts

    def _sample(self, prompts: list[Any]) -> Rollouts:
        if self._sampler is not None:
            return self._sampler(prompts, self)
        prompt_ids, images, fields = self._tokenize_prompts(prompts)
        completion_ids, logprobs = self._generate_single_turn(prompt_ids, images, fields, num_generations=1)
        return {"prompt_ids": prompt_ids, "completion_ids": completion_ids, "logprobs": logprobs}

    def _refill(self, inputs: list[Row]) -> Refilled:
        """Sample and score the batch, and sample groups without contrast anew (see `dynamic_sampling`)."""

        def sample(rows: list[Row], places: list[int], attempt: int) -> Rollouts:
            self._drawn = attempt, [self.accelerator.process_index * len(inputs) + place for place in places]
            with self.records.timed("generate"):
                return self._sample([row["prompt"] for row in rows])

        def score(rows: list[Row], rollouts: Rollouts) -> list[Scored]:
            prompts, about = [row["prompt"] for row in rows], [row.get("row", "{}") for row in rows]
            return self.collector.score(prompts, rollouts["completion_ids"], about)

        def draw(attempt: int, n: int) -> list[Row]:
            return draw_rows(self.train_dataset, n, key=(self.args.seed, self._batch_number, attempt))

        groups = self._groups(len(inputs))
        attempts = int(self.args.dynamic_sampling or 0)
        done = refill(inputs, groups, sample=sample, score=score, draw=draw, attempts=attempts)
        self._drawn = None
        self.records.refill(done)
        return done

    def row_seeds(self, rows: int) -> list[int]:
        """A seed for each row that is about to be sampled: by its place in the batch of all processes, not by their
        number, and by the run's seed, the batch and the attempt."""
        first = self.accelerator.process_index * rows if self.model.training else self._eval.first(rows)
        if not self.model.training:
            return seeds_of((self.args.seed, 1), range(first, first + rows))
        attempt, places = self._drawn or (0, range(first, first + rows))
        return seeds_of((self.args.seed, 0, self._batch_number, attempt), places)

    def _generate(self, prompts: list[Any]) -> Any:
        with self.records.timed("generate"):
            return super()._generate(prompts)

    # -- rewards and advantages ---------------------------------------------------------------------------------------

    def _generate_and_score_completions(self, inputs: list[Row]) -> dict[str, Any]:
        scored_before = self.collector.seconds
        training = self.model.training
        if training and self.args.dynamic_sampling:
            self._refilled = self._refill(inputs)
            inputs, self.collector.ready = self._refilled.rows, self._refilled.scored
        own = len(inputs) if training else self._eval.own(len(inputs))
        self.collector.repeats = len(inputs) - own
        output = super()._generate_and_score_completions(inputs)
        self._refilled = None
        self.records.add_seconds("score", self.collector.seconds - scored_before)
        batch = self._scored_batch(output)
        self.records.rewards(batch, own)
        if not training:
            self.records.rollouts("eval", self.collector.batch[:own], batch, None)
            self._eval.next(len(inputs))
            return output
        self._fresh = True
        prepared = self._advantages(batch)
        self.records.rollouts("train", self.collector.batch, batch, prepared)
        # TRL's correction for a sampler that isn't quite the policy (vLLM) scales the policy term, not the KL.
        output["advantages"] = prepared.advantages_BT * output.get("importance_sampling_ratio", 1.0)
        if self.args.gradient_accumulation_steps % (self._slices * self.num_iterations) == 0:
            output.pop("old_per_token_logps", None)  # one update: TRL needs them for its correction, the loss does not
        output["weights"] = prepared.weights_BT
        output["loss_mask"] = batch.mask_BT if batch.loss_mask_BT is None else batch.loss_mask_BT
        return output | self.records.blank_tokens(batch.mask_BT, several_updates="old_per_token_logps" in output)

    def _scored_batch(self, output: Mapping[str, Any]) -> ScoredBatch:
        """The local rows of the generation batch with their token rewards."""
        scored, training = self.collector.batch, self.model.training
        mask_BT = (output["completion_mask"] * output.get("tool_mask", 1)).bool()
        device, width = mask_BT.device, mask_BT.size(1)
        needs = self.algorithm.needs if training else frozenset()
        scored_B = torch.tensor([s.signal is not None for s in scored], device=device)
        truncated_B = torch.tensor([s.rollout.truncated for s in scored], device=device)
        outcome_B = torch.tensor([0.0 if s.signal is None else s.signal.outcome for s in scored], device=device)
        if training and self.args.overlong_cache:
            penalty_B = overlong_penalty(mask_BT.sum(1), self.max_completion_length, self.args.overlong_cache)
            outcome_B = outcome_B + penalty_B * scored_B
        local_BT = self.args.w_s * local_rewards(scored, width).to(device) * mask_BT
        steps_BT, ends_BT = None, None
        if "steps" in needs:
            steps_BT, ends_BT = step_rewards(scored, width, spread=getattr(self.collector.model, "spread", "every"))
            steps_BT, ends_BT = self.args.w_s * steps_BT.to(device), ends_BT.to(device)
        old_BT, entropies_BT = self._before_update(output, needs)
        return ScoredBatch(
            mask_BT=mask_BT,
            logps_BT=None,
            old_logps_BT=old_BT,
            token_rewards_BT=(self.args.w_g * outcome_B[:, None] + local_BT) * mask_BT,
            outcome_B=outcome_B,
            ref_logps_BT=output.get("ref_per_token_logps"),
            entropies_BT=entropies_BT,
            step_rewards_BT=steps_BT,
            step_ends_BT=ends_BT,
            scored_B=scored_B,
            loss_mask_BT=mask_BT & ~truncated_B[:, None] if self.args.overlong_filter else None,
            local_rewards_BT=local_BT,
            truncated_B=truncated_B,
        )

    def _advantages(self, batch: ScoredBatch) -> Prepared:
        prepared = self.algorithm.prepare(batch, self.num_generations, groups=self._groups(len(batch.mask_BT)))
        for name, value in prepared.metrics.items():
            self._metrics["train"][name].append(value)
        return prepared

    def _groups(self, rows: int) -> Groups:
        return Groups.distributed(rows, self.num_generations, device=self.accelerator.device)

    # -- log-probabilities and the loss -------------------------------------------------------------------------------

    def _logps(self, model: Any, inputs: Mapping[str, Tensor], *, entropies: bool) -> tuple[Tensor, Tensor | None]:
        """Log-probabilities and, asked for, entropies of the completion tokens: (B, T) each."""
        ids_BS = torch.cat([inputs["prompt_ids"], inputs["completion_ids"]], dim=1)
        mask_BS = torch.cat([inputs["prompt_mask"], inputs["completion_mask"]], dim=1)
        keep, size = inputs["completion_ids"].size(1), self.args.per_device_train_batch_size
        logps_BT, entropies_BT, _ = self._get_per_token_logps_and_entropies(
            model, ids_BS, mask_BS, keep, size, compute_entropy=entropies
        )
        return logps_BT, entropies_BT

    def _get_per_token_logps_and_entropies(
        self, model: Any, input_ids: Tensor, attention_mask: Tensor, logits_to_keep: int, *args: Any, **kwargs: Any
    ) -> tuple[Tensor, Tensor | None, Tensor | None]:
        """As TRL's (which asks here too, for old and reference log-probabilities), by a faster way on a CPU."""
        if not self._compact_head:
            return super()._get_per_token_logps_and_entropies(
                model, input_ids, attention_mask, logits_to_keep, *args, **kwargs
            )
        logps_BT, entropies_BT = completion_logps(
            self.accelerator.unwrap_model(model),
            input_ids,
            attention_mask,
            attention_mask[:, -logits_to_keep:],
            temperature=self.temperature,
            autocast=self.accelerator.autocast,
            batch_size=args[0] if args else kwargs.get("batch_size"),
        )
        return logps_BT, entropies_BT, None

    @torch.no_grad()
    def _before_update(
        self, output: Mapping[str, Tensor], needs: frozenset[str]
    ) -> tuple[Tensor | None, Tensor | None]:
        """What the algorithm reads of the policy that sampled: log-probabilities and entropies.

        TRL knows the former where a batch makes several updates. Where it makes one, they serve the advantages and
        weights alone: the loss then takes its ratio as exactly 1.
        """
        known_BT = output.get("old_per_token_logps")
        if "entropies" not in needs and ("old_logps" not in needs or known_BT is not None):
            return known_BT, None
        logps_BT, entropies_BT = self._logps(self.model, output, entropies="entropies" in needs)
        return (logps_BT if known_BT is None else known_BT), entropies_BT

    def _compute_loss(self, model: Any, inputs: Mapping[str, Tensor]) -> Tensor:
        inputs = without_padding(inputs)
        logps_BT, entropies_BT = self._logps(model, inputs, entropies=True)
        if inputs.get("sampling_per_token_logps") is not None:  # against the policy from before the first update
            old_BT = inputs.get("old_per_token_logps", logps_BT)
            self.records.sampler_gap.add(inputs["sampling_per_token_logps"], old_BT, inputs["loss_mask"])
        loss, metrics = self.algorithm.policy_loss(
            inputs["advantages"],
            inputs["weights"],
            inputs["loss_mask"],
            logps_BT,
            inputs.get("old_per_token_logps"),
            inputs.get("ref_per_token_logps"),
            entropies_BT,
        )
        self.records.policy.add(metrics, inputs["loss_mask"].sum())
        token_stats.note(inputs, logps_BT, entropies_BT)
        # The weights make one loss of the whole generation batch: all its micro-batches on all processes add up to it.
        # Processes average their gradients, and an optimizer step takes some of its micro-batches, or those of several.
        share = self._slices / self.current_gradient_accumulation_steps
        return loss * self.accelerator.num_processes * share

    def training_step(self, *args: Any, **kwargs: Any) -> Tensor:
        loss = super().training_step(*args, **kwargs)
        if self.accelerator.sync_gradients or self._step % self._slices == 0:  # an update, or all micro-batches once
            self.records.tokens(self._buffered_inputs)
        return loss

    # -- evaluation ---------------------------------------------------------------------------------------------------

    def prediction_step(
        self, model: Any, inputs: Any, prediction_loss_only: bool, ignore_keys: list[str] | None = None
    ) -> tuple[Tensor, None, None]:
        """An evaluation samples and scores; there is no loss worth a forward pass."""
        self._prepare_inputs(inputs)
        return torch.zeros((), device=self.accelerator.device), None, None

    def evaluate(self, *args: Any, **kwargs: Any) -> dict[str, float]:
        """Evaluate with random numbers of its own: the same for every run of a seed, and none taken from training."""
        rows = args[0] if args else kwargs.get("eval_dataset")
        rows = self.eval_dataset if rows is None else rows
        total = len(rows) * self.num_generations_eval if isinstance(rows, Dataset) else None
        self._eval = EvalRows(total, self._place["rank"], self._place["processes"])
        with own_random_numbers(self.args.seed, self.accelerator.device):
            return super().evaluate(*args, **kwargs)

    # -- resuming -----------------------------------------------------------------------------------------------------

    def _prepare_inputs(self, generation_batch: Any) -> dict[str, Any]:
        if self.model.training and self._buffered_inputs is None:  # the first step, of a new run or a resumed one
            self._step = self.state.global_step * self.args.gradient_accumulation_steps
        inputs = super()._prepare_inputs(generation_batch)
        fresh, self._fresh = self._fresh and self.model.training, False
        if fresh and self._slices == self.current_gradient_accumulation_steps:
            # The loss is the same however rows are cut: there is less to compute where those of a prompt come together
            # (`completion_logps`), or else where those of like length do.
            self._buffered_inputs = (by_prompt if self._compact_head else by_length)(self._buffered_inputs)
            inputs = self._buffered_inputs[self._step % self._slices]
        return inputs

    def _save_checkpoint(self, model: Any, trial: Any) -> None:
        """A checkpoint in the middle of a generation batch keeps the batch: resuming goes on with it."""
        folder = Path(self._get_output_dir(trial=trial)) / f"{PREFIX_CHECKPOINT_DIR}-{self.state.global_step}"
        self._resumed.save(folder)
        if self._step % (self._slices * self.num_iterations):
            save_batches(folder, self._buffered_inputs, **self._place)
        super()._save_checkpoint(model, trial)

    def _load_from_checkpoint(self, resume_from_checkpoint: str, model: Any = None) -> None:
        with loading(resume_from_checkpoint):
            super()._load_from_checkpoint(resume_from_checkpoint, model)

    def _load_rng_state(self, checkpoint: str | None) -> None:
        with loading(checkpoint):
            super()._load_rng_state(checkpoint)

    def _load_optimizer_and_scheduler(self, checkpoint: str | None) -> None:
        with loading(checkpoint):
            super()._load_optimizer_and_scheduler(checkpoint)
            if checkpoint is not None:
                self._resumed.load(Path(checkpoint))
        if checkpoint is not None:
            updates = max(1, self._slices // self.args.gradient_accumulation_steps)
            cut = {"slices": self._slices, "updates": updates, **self._place}
            self._buffered_inputs = load_batches(Path(checkpoint), device=self.accelerator.device, **cut)
        if self._buffered_inputs is not None:
            self._step = self.state.global_step * self.args.gradient_accumulation_steps

    def _get_train_sampler(self, dataset: Any = None) -> Any:
        self.prompt_order = super()._get_train_sampler(dataset)
        return self.prompt_order

    @property
    def _slices(self) -> int:
        """Micro-batches of a generation batch."""
        return int(self.args.steps_per_generation or 1)

    @property
    def _batch_number(self) -> int:
        """Of the generation batch at hand, from 0: the same on any number of processes."""
        return self._step // (self._slices * self.num_iterations)

    @property
    def _batch_in_step(self) -> int:
        """Which generation batch of its step the one at hand is, from 0: a step may take several."""
        a_step = self.args.gradient_accumulation_steps // (self._slices * self.num_iterations)
        return self._batch_number % max(1, a_step)

    @property
    def _place(self) -> dict[str, int]:
        return {"rank": self.accelerator.process_index, "processes": self.accelerator.num_processes}

    # -- records ------------------------------------------------------------------------------------------------------

    def log(self, logs: dict[str, float], start_time: float | None = None) -> None:
        """TRL averages over micro-batches; policy figures are averaged over tokens, and the largest ratio is kept."""
        if self.model.training:
            self.records.update_figures()
        super().log(logs, start_time)

    def take_timers(self) -> dict[str, float]:
        """Seconds spent sampling and scoring since the last call."""
        return self.records.take_seconds()
