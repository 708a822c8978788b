"""What the trainer leaves behind of its steps: figures for the log, seconds, and rollouts in the run's folder."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from torch import Tensor

from bot_grpo import token_stats
from bot_grpo.algorithms import Prepared, ScoredBatch
from bot_grpo.dynamic_sampling import Refilled
from bot_grpo.rewards import Scored
from bot_grpo.runrows import rollout_rows
from bot_grpo.sampler_gap import SamplerGap
from bot_grpo.step_stats import PolicyStats, averages, pass_sums, reward_sums
from sandbox.words import counted

if TYPE_CHECKING:
    from bot_grpo.trainer import BoTGRPOTrainer

logger = logging.getLogger(__name__)


class Records:
    """Kept by a trainer, of whose processes each has its own. What crosses processes says so: all must call it."""

    def __init__(self, trainer: BoTGRPOTrainer) -> None:
        self._trainer = trainer
        self.policy, self.sampler_gap = PolicyStats(), SamplerGap()
        self.stats = self.policy, self.sampler_gap
        self.warned = False
        self._seconds = {"generate": 0.0, "score": 0.0}

    # -- figures ------------------------------------------------------------------------------------------------------

    def update_figures(self) -> None:
        """The figures of micro-batches since the last call, merged over processes, in place of TRL's averages."""
        for stats in self.stats:
            found = stats.take(self._trainer.accelerator)
            self._trainer._metrics["train"].update({name: [value] for name, value in found.items()})

    def rewards(self, batch: ScoredBatch, own: int) -> None:
        """The parts of the reward and what the reward model measured, of the first `own` rows, over processes."""
        trainer = self._trainer
        assert batch.local_rewards_BT is not None
        parts = batch.mask_BT.sum(1)[:own], batch.outcome_B[:own], batch.local_rewards_BT[:own]
        scored, training, args = trainer.collector.batch[:own], trainer.model.training, trainer.args
        bound = args.w_s * trainer.collector.model.bound
        sums = reward_sums(scored, *parts, trainer.accelerator, w_g=args.w_g, bound=bound)
        if not training:
            sums = trainer._eval.add(sums | pass_sums(scored, trainer.num_generations_eval, trainer.accelerator))
        metrics = trainer._metrics["train" if training else "eval"]
        metrics["reward"].pop()  # TRL's, the outcome of what it asked for
        for name, value in averages(sums).items():
            metrics[name] = [*metrics[name], value] if training else [value]  # an evaluation's is of all its rows

    def refill(self, done: Refilled) -> None:
        """How often groups were sampled anew; groups that stay without contrast are warned of once."""
        trainer = self._trainer
        for name, value in (("attempts", done.attempts), ("groups", done.groups), ("unfilled", done.unfilled)):
            trainer._metrics["train"][f"dynamic_sampling/{name}"].append(float(value))
        if not done.unfilled or self.warned or not trainer.accelerator.is_main_process:
            return
        self.warned = True
        text = (
            f"after {counted(done.attempts, 'refill')} {done.unfilled:.0%} of the groups still have equal outcomes; "
            "training goes on with them, and they teach nothing: the task may be too hard or too easy for this model "
            "(said once; dynamic_sampling/unfilled has every step)"
        )
        logger.warning(text)
        if trainer.run is not None:
            trainer.run.log({"step": trainer.state.global_step + 1, "alarms": [text]})

    # -- seconds ------------------------------------------------------------------------------------------------------

    @contextmanager
    def timed(self, name: str) -> Iterator[None]:
        """Count what is done meanwhile as `name`: generate or score."""
        start = time.perf_counter()
        yield
        self.add_seconds(name, time.perf_counter() - start)

    def add_seconds(self, name: str, seconds: float) -> None:
        self._seconds[name] += seconds

    def take_seconds(self) -> dict[str, float]:
        """Seconds spent sampling and scoring since the last call."""
        taken = dict(self._seconds)
        self._seconds = dict.fromkeys(self._seconds, 0.0)
        return taken

    # -- rollouts -----------------------------------------------------------------------------------------------------

    def rollouts(self, kind: str, scored: list[Scored], batch: ScoredBatch, prepared: Prepared | None) -> None:
        """A file of this process' rollouts of a generation batch, or of a batch of an evaluation."""
        trainer, rows = self._trainer, len(batch.mask_BT)
        if trainer.run is None:
            return
        step, size = trainer.state.global_step, trainer.num_generations_eval
        number, first = trainer._eval.batches, trainer._eval.first(rows)  # an evaluation may take several batches
        if kind == "train":
            step, size = self._step, trainer.num_generations
            number, first = trainer._batch_in_step, self._first(rows)
        found = rollout_rows(trainer.run, step, kind, size, scored, batch.token_rewards_BT, prepared, first=first)
        trainer.run.write_rollouts(self._name({"train": "step", "eval": "eval"}[kind], number, step), found)

    def blank_tokens(self, mask_BT: Tensor, *, several_updates: bool) -> dict[str, Tensor]:
        """What a generation batch takes along so that each token's entropy and ratio are noted (`token_stats`)."""
        if self._trainer.run is None:
            return {}
        first = self._first(len(mask_BT))
        return token_stats.blank(mask_BT, step=self._step, first=first, several_updates=several_updates)

    def tokens(self, batches: Sequence[Mapping[str, Tensor]]) -> None:
        """A file of what the updates have seen of the tokens of this generation batch, in place of an earlier one."""
        run, found = self._trainer.run, token_stats.table(batches)
        if run is not None and found is not None:
            number = found["place"][0].as_py() // (len(found) * self._trainer._place["processes"])
            step = found["step"][0].as_py()
            run.write_tokens(self._name("step", number, step), found)

    @property
    def _step(self) -> int:
        """The one that a generation batch is made for, from 1."""
        return int(self._trainer.state.global_step) + 1

    def _first(self, rows: int) -> int:
        """The place of this process' first row among the rollouts of the step, where a batch has `rows` on each."""
        place = self._trainer._place
        return (self._trainer._batch_in_step * place["processes"] + place["rank"]) * rows

    def _name(self, kind: str, number: int, step: int) -> str:
        place = self._trainer._place
        rank = f"-rank{place['rank']}" if place["processes"] > 1 else ""
        return f"{kind}{rank}{f'-batch{number}' if number else ''}-{step:05d}"
