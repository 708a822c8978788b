"""Run in verl's environment, on a local Ray: the way of a rollout through verl's own actors, without a GPU.

verl's reward workers and its agent loop worker run as they do in training, on its config and its data set, and hand
over through TransferQueue; then the trainer's own step makes the advantages. Only what samples is a stand-in: verl's
samplers are vLLM and SGLang servers on GPUs, so here transformers samples from the same small model.
"""

from __future__ import annotations

import asyncio
import time
import uuid
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch

from bot_grpo.advantages import bag_of_tokens
from bot_grpo.groups import Groups
from reward_models.alignment import TokenText
from reward_models.base import Answer, RewardSignal, Rollout, Span, Unscored
from reward_models.scoring import score

N, LENGTH, W_G, W_S = 4, 24, 2.0, 0.5


class Letters:
    """G is the share of letters, and each letter has a local reward; a rollout in four can't be scored."""

    bound = 64.0

    def score(self, rollouts: Sequence[Rollout]) -> list[Answer]:
        return [self._one(r) for r in rollouts]

    def _one(self, rollout: Rollout) -> Answer:
        if rollout.token_ids[0] % 4 == 0:
            return Unscored("the first token can be divided by four")
        found = [i for i, c in enumerate(rollout.completion) if c.isascii() and c.isalpha()]
        spans = [Span(i, i + 1, 0.25) for i in found]
        return RewardSignal(len(found) / max(1, len(rollout.completion)), spans, metrics={"letters": float(len(found))})


def settings(folder: Path, *more: str) -> Any:
    """verl's config with the overrides that verl_data wrote, and those of this machine."""
    import verl
    from hydra import compose, initialize_config_dir

    here = [
        f"actor_rollout_ref.model.path={folder}",
        "actor_rollout_ref.model.lora_rank=0",
        f"actor_rollout_ref.rollout.n={N}",
        f"actor_rollout_ref.rollout.response_length={LENGTH}",
        f"data.max_response_length={LENGTH}",
        "data.train_batch_size=2",
        "actor_rollout_ref.actor.ppo_mini_batch_size=2",
        "actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu=4",
        "actor_rollout_ref.actor.use_dynamic_bsz=False",
        "actor_rollout_ref.rollout.name=vllm",
        "reward.num_workers=1",
        "transfer_queue.backend.SimpleStorage.num_data_storage_units=1",
        f"reward.bot_grpo.rewards='{Path(__file__)}:Letters'",
        f"reward.bot_grpo.w_g={W_G}",
        f"reward.bot_grpo.w_s={W_S}",
        "reward.reward_model.rollout.name=vllm",
        "trainer.device=cpu",
    ]
    lines = (folder / "data" / "overrides.txt").read_text().splitlines()
    with initialize_config_dir(str(Path(verl.__file__).parent / "trainer" / "config"), version_base=None):
        return compose("ppo_trainer", overrides=[*lines, *here, *more])


def stand_in_sampler(config: Any) -> Any:
    """verl's client of LLM servers, but transformers samples, in the process that asks."""
    from verl.workers.rollout.llm_server import LLMServerClient
    from verl.workers.rollout.replica import TokenOutput

    class StandInSampler(LLMServerClient):
        _model: Any = None

        async def generate(self, request_id: str, *, prompt_ids: list[int], **kwargs: Any) -> Any:
            from transformers import AutoModelForCausalLM

            if self._model is None:
                self._model = AutoModelForCausalLM.from_pretrained(self.config.actor_rollout_ref.model.path)
            asked = torch.tensor([prompt_ids])
            out = self._model.generate(asked, do_sample=True, top_k=0, max_new_tokens=LENGTH)
            ids = out[0, len(prompt_ids) :].tolist()
            return TokenOutput(token_ids=ids, extra_fields={"min_global_steps": 0, "max_global_steps": 0})

    return StandInSampler(config)


def rollouts(config: Any) -> Any:
    """Two prompts through verl's agent loop worker and reward workers: their keys and tags in TransferQueue."""
    import ray
    import transfer_queue as tq
    from verl.experimental.reward_loop import RewardLoopManager
    from verl.trainer.ppo.utils import create_rl_dataset
    from verl.trainer.ppo.v1.agent_loop_tq import AgentLoopWorkerTQ
    from verl.utils import hf_tokenizer
    from verl.utils import tensordict_utils as tu
    from verl.utils.dataset.rl_dataset import collate_fn

    tokenizer = hf_tokenizer(config.actor_rollout_ref.model.path)
    data = create_rl_dataset(config.data.train_files, config.data, tokenizer, None)
    handles = RewardLoopManager(config).reward_loop_worker_handles
    worker = AgentLoopWorkerTQ.remote(config, stand_in_sampler(config), None, handles)
    batch_dict = collate_fn([data[0], data[1]])
    batch_dict["uid"] = np.array([str(uuid.uuid4()) for _ in range(2)], dtype=object)
    batch = tu.get_tensordict(batch_dict)
    tu.assign_non_tensor_data(batch, "global_steps", 1)
    ray.get(worker.generate_sequences.remote(batch))
    until = time.monotonic() + 1200
    while time.monotonic() < until:
        tags = tq.kv_list("train").get("train", {})
        states = [tags.get(uid, {}).get("status") for uid in batch_dict["uid"]]
        assert "failure" not in states, "an agent loop failed: its log says why"
        if states == ["finished"] * 2:
            return {key: tag for key, tag in tags.items() if key not in set(batch_dict["uid"])}
        time.sleep(0.5)
    raise AssertionError(f"the agent loops did not end: {states}")


def alone(folder: Path) -> None:
    """One process: our agent loop and reward manager as verl makes and calls them, then its advantages and its loss."""
    from verl import DataProto
    from verl.experimental.agent_loop.agent_loop import AgentLoopWorker
    from verl.experimental.reward_loop.reward_loop import RewardLoopWorker
    from verl.trainer.ppo.utils import create_rl_dataset
    from verl.trainer.ppo.v1.utils import compute_advantage_for_multi_trajectories
    from verl.utils import hf_tokenizer
    from verl.utils.tensordict_utils import list_of_dict_to_tensordict
    from verl.workers.utils.padding import response_to_nested

    config = settings(folder)
    tokenizer = hf_tokenizer(str(folder))
    data = create_rl_dataset(config.data.train_files, config.data, tokenizer, None)

    async def work() -> list[dict[str, Any]]:
        rewards = RewardLoopWorker(config)

        class Local:  # an actor's handle, where there is no actor
            class compute_score:
                remote = staticmethod(rewards.compute_score)

        found: list[dict[str, Any]] = []

        class Worker(AgentLoopWorker):  # keeps what verl's AgentLoopWorkerTQ puts into TransferQueue
            async def _agent_loop_postprocess(self, output: Any, validate: bool, **kwargs: Any) -> None:
                await self._compute_score([output], kwargs=kwargs)
                found.append({**output.as_dict(), "uid": kwargs["uid"]})

        worker = Worker(config, stand_in_sampler(config), None, [Local()])
        name = config.actor_rollout_ref.rollout.agent.default_agent_loop
        info = {"step": 1, "sample_index": 0, "rollout_n": 0, "validate": False}
        runs = [
            worker._run_agent_loop({}, info, agent_name=name, trace=False, uid=str(i), **data[i])
            for i in range(2)
            for _ in range(N)
        ]
        await asyncio.gather(*runs)
        return found

    found = asyncio.run(work())
    got = list_of_dict_to_tensordict(found)
    for name in ("prompts", "responses", "response_mask", "rm_scores"):  # as TransferQueue gives them back
        got[name] = torch.nested.as_nested_tensor([one[name] for one in found], layout=torch.jagged)
    padded = got.select("response_mask", "rm_scores").to_padded_tensor()
    padded["token_level_rewards"] = padded["rm_scores"]
    uids = np.array(list(got["uid"]), dtype=object)
    batch = compute_advantage_for_multi_trajectories(
        DataProto(batch=padded, non_tensor_batch={"uid": uids}),
        batch_keys=[],
        adv_estimator=config.algorithm.adv_estimator,
        config=config.algorithm,
    )
    got["advantages"] = response_to_nested(batch.batch["advantages"], got["response_mask"])
    check(got, TokenText(tokenizer))
    update(got, config)


def main(folder: Path) -> None:
    import ray
    import transfer_queue as tq
    from transfer_queue import KVBatchMeta
    from verl.trainer.ppo.v1 import get_trainer_cls
    from verl.utils import hf_tokenizer

    ray.init(num_cpus=8, include_dashboard=False)
    config = settings(folder)
    config.transfer_queue.enable = True
    tq.init(config.transfer_queue)
    try:
        tags = rollouts(config)
        print(f"{len(tags)} rollouts came through {config.actor_rollout_ref.rollout.agent.default_agent_loop}")
        assert len(tags) == 2 * N
        batch = KVBatchMeta(keys=list(tags), tags=list(tags.values()), partition_id="train")
        trainer = object.__new__(get_trainer_cls("sync"))  # its start wants GPUs; this step of it does not
        trainer.config = config
        trainer._compute_advantage(batch, {})
        fields = ["uid", "prompts", "responses", "response_mask", "rm_scores", "advantages", "extra_fields"]
        got = tq.kv_batch_get(keys=batch.keys, partition_id="train", select_fields=fields)
        check(got, TokenText(hf_tokenizer(str(folder))))
        update(got, config)
    finally:
        tq.close()
        ray.shutdown()


def check(got: Any, text: TokenText) -> None:
    """Rewards stand on the tokens that they were given for, and advantages are bag_of_tokens of them."""
    masks, rewards, advantages = (
        got[name].to_padded_tensor(0).float() for name in ("response_mask", "rm_scores", "advantages")
    )
    infos = [getattr(x, "data", x)["reward_extra_info"] for x in got["extra_fields"]]
    model, unscored = Letters(), 0
    for row, ids in enumerate(got["responses"].unbind()):
        completion, spans = text(ids.tolist())
        (one,) = score(model, [Rollout("", completion, tuple(ids.tolist()), spans)])
        n = len(ids)
        assert "token_rewards" not in infos[row]
        if one.signal is None:
            unscored += 1
            assert not masks[row].any()
            assert infos[row]["unscored"] == 1.0
            assert infos[row]["outcome"] is None
            assert "four" in infos[row]["reason"]
            continue
        want = (W_G * one.signal.outcome + W_S * torch.from_numpy(one.local_T)).float()
        torch.testing.assert_close(rewards[row, :n], want)
        assert masks[row, :n].all()
        assert infos[row]["letters"] == one.signal.metrics["letters"]
    uids = np.array(got["uid"].tolist() if hasattr(got["uid"], "tolist") else list(got["uid"]))
    index = torch.from_numpy(np.unique(uids, return_inverse=True)[1])
    want = bag_of_tokens(rewards, masks, 0, groups=Groups(index, 2))
    torch.testing.assert_close(advantages, want)
    assert want.abs().max() > 0.1
    print(f"{unscored} of {len(masks)} unscored; advantages up to {want.abs().max():.2f}, as bag_of_tokens gives them")


def update(got: Any, config: Any) -> None:
    """Two optimizer steps by verl's own ppo_loss, as its engine calls it (whose engines are for CUDA and NPU alone)."""
    from tensordict import TensorDict
    from transformers import AutoModelForCausalLM
    from verl.utils import tensordict_utils as tu
    from verl.utils.config import omega_conf_to_dataclass
    from verl.workers.utils.losses import ppo_loss

    actor = omega_conf_to_dataclass(config.actor_rollout_ref.actor)
    model = AutoModelForCausalLM.from_pretrained(config.actor_rollout_ref.model.path, dtype=torch.float32)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    rows = list(zip(got["prompts"].unbind(), got["responses"].unbind(), strict=True))

    def log_probs() -> Any:  # of the token after each, as verl's engines lay them out
        found = []
        for prompt, response in rows:
            ids = torch.cat([prompt, response])
            logps = model(ids[None]).logits[0].log_softmax(-1)[:-1].gather(1, ids[1:, None])[:, 0]
            found.append(torch.cat([logps, logps.new_zeros(1)]))
        return torch.nested.as_nested_tensor(found, layout=torch.jagged)

    with torch.no_grad():
        every = log_probs().unbind()
        old = [every[i][len(p) - 1 : len(p) + len(r) - 1] for i, (p, r) in enumerate(rows)]
    fields = {name: got[name] for name in ("prompts", "responses", "response_mask", "advantages")}
    fields["old_log_probs"] = torch.nested.as_nested_tensor(old, layout=torch.jagged)
    data = TensorDict(fields, batch_size=[len(rows)])
    tokens = int(got["response_mask"].values().sum())
    tu.assign_non_tensor(data, dp_size=1, batch_num_tokens=tokens, global_batch_size=len(rows))
    losses = []
    for _ in range(3):
        loss, metrics = ppo_loss(actor, {"log_probs": log_probs()}, data)
        losses.append(loss.item())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    advantages, masks = (got[name].to_padded_tensor(0).float() for name in ("advantages", "response_mask"))
    want = -(advantages.sum(1) / masks.sum(1).clamp(min=1)).mean()  # of a ratio of 1: the mean over rollouts
    torch.testing.assert_close(torch.tensor(losses[0]), want, rtol=1e-4, atol=1e-6)
    assert losses[2] < losses[1] < losses[0], losses
    assert "actor/policy/ratio_max" in metrics
    print(f"verl's ppo_loss over three optimizer steps: {', '.join(f'{x:.5f}' for x in losses)}")
