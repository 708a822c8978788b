"""verl's side of scoring: the reward manager, and the agent loops that put token rewards into verl's batch.

A reward manager of verl returns one number, and the agent loop's output writes it on the last token. Ours returns a
number for each token beside it, and the output of our agent loops writes those. `bot_grpo.integrations.verl` imports
this module.
"""

from __future__ import annotations

import asyncio
import json
import math
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import torch
from omegaconf import OmegaConf
from transformers import GenerationConfig
from verl import DataProto
from verl.experimental.agent_loop import AgentLoopOutput, SingleTurnAgentLoop, ToolAgentLoop
from verl.experimental.agent_loop.agent_loop import register as register_agent_loop
from verl.experimental.reward_loop.reward_manager import register as register_reward_manager
from verl.experimental.reward_loop.reward_manager.base import RewardManagerBase

from bot_grpo.integrations.verl_batch import (
    LAYOUTS,
    algorithm_for,
    layout_of,
    reward_settings,
    write_rewards,
)
from bot_grpo.reward_sources import mixed, open_models, read_sources
from reward_models.alignment import TokenText
from reward_models.base import Rollout, TokenRewardModel
from reward_models.scoring import Scored, score

AGENT_LOOPS = ("bot_grpo_single_turn", "bot_grpo_tool")


class Scorer:
    """A reward model in a thread of its own, which scores at once whatever has come in since the last time."""

    def __init__(self, model: TokenRewardModel) -> None:
        self.model = model
        self._thread = ThreadPoolExecutor(1)
        self._waiting: list[tuple[Rollout, asyncio.Future[Scored]]] = []
        self._task: asyncio.Task[None] | None = None

    async def score(self, rollout: Rollout) -> Scored:
        """The rollout's score. What `scoring.score` raises, a missing tool, is raised to each who waits."""
        future: asyncio.Future[Scored] = asyncio.get_running_loop().create_future()
        self._waiting.append((rollout, future))
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._work())
        return await future

    async def _work(self) -> None:
        while self._waiting:
            batch, self._waiting = self._waiting, []
            rollouts = [rollout for rollout, _ in batch]
            try:
                scored = await asyncio.get_running_loop().run_in_executor(self._thread, score, self.model, rollouts)
            except BaseException as error:
                for _, future in batch:
                    future.set_exception(error)
                continue
            for (_, future), one in zip(batch, scored, strict=True):
                future.set_result(one)


@register_reward_manager("bot_grpo")
class BoTRewardManager(RewardManagerBase):
    """Scores rollouts by the reward models of `reward.bot_grpo`, for the algorithm of `algorithm.adv_estimator`.

    A row of the data set brings what the reward model reads in `extra_info.row`, as JSON
    (`python -m bot_grpo.integrations.verl_data` writes such files); without it that is `extra_info` with verl's
    `ground_truth` and `data_source`. `reward_extra_info` has `outcome` (G; None where there is no score), `local` (the
    mean w_s S_t), `unscored`, `reason` and the reward model's metrics. Raises ValueError, one line, for settings that
    do not fit together.
    """

    def __init__(
        self,
        config: Any,
        tokenizer: Any,
        compute_score: Any = None,
        reward_router_address: str | None = None,
        reward_model_tokenizer: Any = None,
    ) -> None:
        super().__init__(config, tokenizer, compute_score)
        name = str(config.algorithm.adv_estimator).removeprefix("bot_grpo.")
        if name not in LAYOUTS:
            raise ValueError(f"reward manager bot_grpo scores for its own algorithms, not adv_estimator={name}")
        self.settings = reward_settings(plain(config.reward.get("bot_grpo")))
        self.algorithm = algorithm_for(name, plain(config.algorithm.get("bot_grpo")))
        loop = config.actor_rollout_ref.rollout.agent.default_agent_loop
        if layout_of(self.algorithm) != "outcome" and loop not in AGENT_LOOPS:
            raise ValueError(
                f"{name} reads token rewards, which the agent loop {loop} drops: set "
                f"actor_rollout_ref.rollout.agent.default_agent_loop={AGENT_LOOPS[0]}"
            )
        self.max_length = int(config.actor_rollout_ref.rollout.response_length)
        self.stops = _stop_ids(tokenizer, config.actor_rollout_ref.model.path)
        self._no_outcome = math.nan if (config.algorithm.get("filter_groups") or {}).get("enable", False) else None
        self._text = TokenText(tokenizer)
        specs = read_sources(self.settings.rewards, called="reward.bot_grpo.rewards")
        self._scorer = Scorer(mixed(specs, open_models(specs)))

    async def run_single(self, data: DataProto) -> dict[str, Any]:
        """Score one rollout: {"reward_score": ..., "reward_extra_info": {...}}."""
        one = await self._scorer.score(self._rollout(data[-1]))
        spread = getattr(self._scorer.model, "spread", "every")
        rewards_T = write_rewards(one, self.algorithm, self.settings, max_length=self.max_length, spread=spread)
        signal = one.signal
        info: dict[str, Any] = {
            "outcome": self._no_outcome if signal is None else signal.outcome,
            "local": None
            if signal is None
            else self.settings.w_s * float(one.local_T.sum()) / max(1, len(one.local_T)),
            "unscored": float(signal is None),
            "reason": one.reason,
            **({} if signal is None else signal.metrics),
        }
        if rewards_T is None:
            return {"reward_score": math.nan, "reward_extra_info": info}
        if layout_of(self.algorithm) == "outcome":
            return {"reward_score": float(rewards_T.sum()), "reward_extra_info": info}
        # Not a number on purpose: an agent loop that would put it on the last token is found out by the estimator.
        return {"reward_score": math.nan, "reward_extra_info": {**info, "token_rewards": rewards_T.tolist()}}

    def _rollout(self, item: Any) -> Rollout:
        responses_T, about = item.batch["responses"], item.non_tensor_batch
        length = int(item.batch["attention_mask"][-len(responses_T) :].sum())
        ids = tuple(responses_T[:length].tolist())
        text, spans = self._text(ids)
        prompt = list(about["raw_prompt"])[-1]["content"] if "raw_prompt" in about else ""
        extra = dict(about.get("extra_info") or {})
        row = json.loads(extra["row"]) if "row" in extra else _verl_row(about, extra)
        return Rollout(prompt, text, ids, spans, row, truncated=not ids or ids[-1] not in self.stops)


def _verl_row(about: Any, extra: dict[str, Any]) -> dict[str, Any]:
    truth = (about.get("reward_model") or {}).get("ground_truth")
    return {**extra, "ground_truth": truth, "data_source": about.get("data_source")}


def plain(config: Any) -> dict[str, Any]:
    """A part of verl's config as a dict; empty where there is none."""
    return dict((OmegaConf.to_container(config, resolve=True) if OmegaConf.is_config(config) else config) or {})


def _stop_ids(tokenizer: Any, model: str) -> set[int]:
    """The ids that end a completion: the tokenizer's, and those of the model's generation config where it has one."""
    try:
        found = GenerationConfig.from_pretrained(model).eos_token_id
    except (OSError, ValueError):
        found = None
    ids: Sequence[int | None] = found if isinstance(found, list) else [found]
    return {i for i in [*ids, tokenizer.eos_token_id] if i is not None}


class TokenRewardOutput(AgentLoopOutput):
    """An agent loop's output whose `rm_scores` are token rewards; without a score its response mask is cleared."""

    def as_dict(self) -> dict[str, Any]:
        info = self.extra_fields.get("reward_extra_info") or {}
        rewards = info.pop("token_rewards", None)
        output: dict[str, Any] = super().as_dict()
        if info.get("unscored"):
            output["response_mask"] = torch.zeros_like(output["response_mask"])
            output["rm_scores"] = torch.zeros(len(output["responses"]))
        elif rewards is not None:
            if len(rewards) != len(output["responses"]):
                raise ValueError(f"{len(rewards)} token rewards for a response of {len(output['responses'])} tokens")
            output["rm_scores"] = torch.tensor(rewards, dtype=torch.float32)
        return output


def with_token_rewards(output: AgentLoopOutput) -> TokenRewardOutput:
    """The same output, as one that takes token rewards; for an agent loop of one's own."""
    return TokenRewardOutput.model_construct(_fields_set=set(output.model_fields_set), **output.__dict__)


@register_agent_loop(AGENT_LOOPS[0])
class TokenRewardSingleTurn(SingleTurnAgentLoop):
    """verl's single turn, with token rewards."""

    async def run(self, sampling_params: dict[str, Any], **kwargs: Any) -> TokenRewardOutput:
        return with_token_rewards(await super().run(sampling_params, **kwargs))


@register_agent_loop(AGENT_LOOPS[1])
class TokenRewardTool(ToolAgentLoop):
    """verl's loop with tools, with token rewards; what a tool said gets none."""

    async def run(self, sampling_params: dict[str, Any], **kwargs: Any) -> TokenRewardOutput:
        return with_token_rewards(await super().run(sampling_params, **kwargs))
