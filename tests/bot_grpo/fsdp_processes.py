"""What each of two gloo processes does in test_trainer_fsdp: train a tiny model whose weights FSDP2 shares out."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import torch

SETTINGS: dict[str, Any] = {"algorithm": "bot_grpo", "num_iterations": 2, "max_steps": 4}
ROWS = 12


def main(rank: int, port: int, folder: str, shared: dict[str, str]) -> None:
    """`shared`: the environment that `accelerate launch` gives for fsdp2.yaml."""
    sys.path.insert(0, str(Path(__file__).parent))
    torch.set_num_threads(1)
    os.environ |= shared | {
        "RANK": str(rank),
        "LOCAL_RANK": str(rank),
        "WORLD_SIZE": "2",
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": str(port),
        "ACCELERATE_USE_CPU": "true",
        "TRL_EXPERIMENTAL_SILENCE": "1",
    }
    import tiny_trainer as tiny
    from accelerate.state import PartialState
    from accelerate.utils import DistributedType

    from bot_grpo.config import BoTGRPOConfig

    made_config = BoTGRPOConfig.__post_init__

    def pretend(self: Any) -> None:
        """accelerate 1.15 leaves FSDP out on CPUs, though torch has it there: have it take them for GPUs."""
        made_config(self)
        assert self.distributed_state.distributed_type == DistributedType.MULTI_CPU
        PartialState._shared_state["distributed_type"] = DistributedType.MULTI_GPU

    BoTGRPOConfig.__post_init__ = pretend  # type: ignore[method-assign]
    made = tiny.trainer(
        Path(folder) / "out", reward=tiny.StubReward(levels=2), per_device_train_batch_size=ROWS // 2, **SETTINGS
    )
    made.train()
    local = {name: tuple(p.to_local().shape) for name, p in made.model.named_parameters()}
    state = made.accelerator.get_state_dict(made.model)
    made.save_model(str(Path(folder) / "model"))
    torch.save({"weights": state, "logged": tiny.logged(made), "local": local}, Path(folder) / f"rank{rank}.pt")
    torch.distributed.destroy_process_group()
