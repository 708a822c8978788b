"""Run in verl's environment: what verl's own core functions, config and Ray actors make of the integration.

    python verl_checks.py core
    python verl_checks.py alone|ray MODEL_FOLDER

`core`: the reference values, float32, through compute_advantage and the registered policy losses. `alone`,
`ray`: see `verl_ray.py`. Raises AssertionError; prints what was checked.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

import numpy as np
import torch
from golden_batch import f64, golden, golden_batch
from torch import Tensor
from verl_golden import CASES, mask_of, rows_for

from bot_grpo.algorithms import get_algorithm
from bot_grpo.integrations import verl_batch as vb


def close(a: Tensor, b: Tensor, rtol: float = 2e-5, atol: float = 1e-6) -> None:
    torch.testing.assert_close(a.double(), b.double(), rtol=rtol, atol=atol)


def core() -> None:
    import verl  # VERL_USE_EXTERNAL_MODULES names ours
    from verl.experimental.agent_loop.agent_loop import _agent_loop_registry
    from verl.experimental.reward_loop.reward_manager import get_reward_manager_cls
    from verl.trainer.ppo.core_algos import ADV_ESTIMATOR_REGISTRY, POLICY_LOSS_REGISTRY

    ours = {vb.verl_name(name) for name in vb.LAYOUTS}
    assert ours <= set(ADV_ESTIMATOR_REGISTRY), ADV_ESTIMATOR_REGISTRY
    assert ours <= set(POLICY_LOSS_REGISTRY)
    assert ADV_ESTIMATOR_REGISTRY["grpo"].__module__ == POLICY_LOSS_REGISTRY["gspo"].__module__, (
        "verl's own were replaced"
    )
    assert get_reward_manager_cls("bot_grpo").__name__ == "BoTRewardManager"
    assert {"bot_grpo_single_turn", "bot_grpo_tool", "single_turn_agent"} <= set(_agent_loop_registry)
    for name, settings, key in CASES:
        check_reference(name, settings, key)
        print(f"verl {verl.__version__}: {vb.verl_name(name)} gives {key}")
    check_vanilla()
    check_refusals()


def check_vanilla() -> None:
    """With verl's own loss in place of ours, its second clip out of the way: the advantages alone are right as well."""
    from verl.trainer.ppo.core_algos import get_policy_loss_fn

    batch, want = golden_batch(), golden()["algos"]["bot_grpo"]
    rows_BT, mask_BT, uids, order = rows_for("bot_grpo", {}, unscored=False)
    assert batch.logps_BT is not None
    assert batch.old_logps_BT is not None
    config = actor_config("seq-mean-token-mean", {"clip_low": 0.2, "clip_high": 0.2}, {}, clip_ratio_c=1e9)
    loss, _ = get_policy_loss_fn("vanilla")(
        old_log_prob=batch.old_logps_BT.float()[order],
        log_prob=batch.logps_BT.detach().float()[order],
        advantages=vb.advantages("bot_grpo", rows_BT, mask_BT, uids),
        response_mask=mask_BT,
        loss_agg_mode="seq-mean-token-mean",
        config=config,
    )
    close(loss, f64(want["loss"]), 1e-4)
    print("vanilla on the advantages of bot_grpo gives bot_grpo")


def check_reference(name: str, settings: dict[str, Any], key: str) -> None:
    """Advantages by verl's compute_advantage, then loss and gradient by verl's registered loss, whole and in parts."""
    from omegaconf import OmegaConf
    from verl import DataProto
    from verl.trainer.ppo.core_algos import get_policy_loss_fn
    from verl.trainer.ppo.ray_trainer import compute_advantage

    want, batch = golden()["algos"][key], golden_batch(name)
    extra = name != "balanced"  # K of the group would count it
    rows_BT, mask_BT, uids, order = rows_for(name, settings, unscored=extra)
    data = DataProto.from_dict(
        tensors={"token_level_rewards": rows_BT, "response_mask": mask_BT},
        non_tensors={"uid": np.array(uids, dtype=object)},
    )
    config = OmegaConf.create({"bot_grpo": settings, "use_kl_in_reward": False})
    data = compute_advantage(data, adv_estimator=vb.verl_name(name), config=config)
    advantages_BT = data.batch["advantages"]
    assert advantages_BT.dtype == torch.float32
    assert torch.equal(advantages_BT, data.batch["returns"])
    back = order.argsort()
    if name != "balanced" and not settings.get("per_group"):
        adv = f64(want["adv"])
        close(advantages_BT[back][:8], adv if adv.dim() == 2 else adv[:, None] * mask_of())

    def padded(x: Tensor | None) -> Tensor:
        assert x is not None
        x = x.detach().float()
        return (torch.cat([x, x[:1]]) if extra else x)[order]

    new_BT, old_BT = padded(batch.logps_BT).requires_grad_(), padded(batch.old_logps_BT)
    full = dict(CASES_SETTINGS[key])
    clip = get_algorithm(name, **{k: v for k, v in full.items() if k in {"clip_low", "clip_high"}}).settings
    mode, width = vb.mode_of(name), mask_BT.shape[1]
    loss_fn = get_policy_loss_fn(vb.verl_name(name))

    def loss_of(rows: Any, info: dict[str, Any]) -> Tensor:
        actor = actor_config(mode, clip, {"loss_scale_factor": width, **info})
        loss, metrics = loss_fn(
            old_log_prob=old_BT[rows],
            log_prob=new_BT[rows],
            advantages=advantages_BT[rows],
            response_mask=mask_BT[rows].bool(),
            loss_agg_mode=mode,
            config=actor,
            rollout_is_weights=None,
        )
        assert all(isinstance(x, float) for x in metrics.values())
        return loss

    loss = loss_of(slice(None), {})
    (grad,) = torch.autograd.grad(loss, new_BT)
    close(loss, f64(want["loss"]), 1e-4)
    close(grad[back][:8], f64(want["dloss_dlogp"]), 1e-4)
    assert not extra or (grad[back][8] == 0).all(), "an unscored rollout is trained on"
    # As verl's engine calls it: micro-batches of two processes, with the sizes of the whole.
    info = {"dp_size": 2, "batch_num_tokens": int(mask_BT.sum()), "global_batch_size": 8}
    parts = [loss_of(rows, info) / 2 for rows in (slice(0, 3), slice(3, 4), slice(4, None))]
    close(torch.stack(parts).sum(), f64(want["loss"]), 1e-4)


def actor_config(mode: str, clip: Any, info: dict[str, Any], **more: Any) -> Any:
    from verl.workers.config import ActorConfig

    return ActorConfig(
        strategy="fsdp",
        rollout_n=4,
        ppo_micro_batch_size_per_gpu=1,
        loss_agg_mode=mode,
        clip_ratio_low=1.0 if clip["clip_low"] is None else clip["clip_low"],
        clip_ratio_high=1e9 if clip["clip_high"] is None else clip["clip_high"],
        global_batch_info=info,
        **more,
    )


def check_refusals() -> None:
    from omegaconf import OmegaConf
    from verl.trainer.ppo.core_algos import get_adv_estimator_fn, get_policy_loss_fn

    def message(call: Any, *args: Any, **kwargs: Any) -> str:
        try:
            call(*args, **kwargs)
        except ValueError as error:
            return str(error)
        raise AssertionError(f"{call} accepted {kwargs}")

    ones = torch.ones(2, 3)
    clip = {"clip_low": 0.2, "clip_high": 0.2}
    losses = {"advantages": ones, "response_mask": ones, "log_prob": -ones, "old_log_prob": -ones}
    wrong = actor_config("token-mean", clip, {})
    said = message(get_policy_loss_fn("bot_grpo"), **losses, loss_agg_mode="token-mean", config=wrong)
    assert "loss_agg_mode=seq-mean-token-mean, not token-mean" in said
    mode = "seq-mean-token-sum-norm"
    said = message(
        get_policy_loss_fn("bot_grpo.dr_grpo"), **losses, loss_agg_mode=mode, config=actor_config(mode, clip, {})
    )
    assert "loss_scale_factor" in said
    config = OmegaConf.create({"bot_grpo": {"clip_low": 0.1}, "use_kl_in_reward": False})
    said = message(get_adv_estimator_fn("bot_grpo"), ones, ones, index=["a", "a"], config=config)
    assert "actor.clip_ratio_low" in said
    config = OmegaConf.create({"use_kl_in_reward": True})
    said = message(get_adv_estimator_fn("bot_grpo.grpo_process"), ones, ones, index=["a", "a"], config=config)
    assert "use_kl_in_reward=False" in said
    print("what does not fit is refused")


if __name__ == "__main__":
    from golden_batch import GOLDEN_ROWS

    CASES_SETTINGS = {key: settings for _, settings, key in GOLDEN_ROWS}
    if sys.argv[1] == "core":
        core()
    else:
        import verl_ray

        {"alone": verl_ray.alone, "ray": verl_ray.main}[sys.argv[1]](Path(sys.argv[2]))
