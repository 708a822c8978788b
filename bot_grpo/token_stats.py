"""What the updates see of each token of a rollout: the policy's entropy, and the ratio pi / pi_old.

Both are in hand when the loss is computed, so they cost no forward pass. They are kept in the generation batch itself,
beside the rewards: there they are shuffled, cut and saved in checkpoints with their rows, and `place` says which rows
those are. After each update they go into a file of their own, tokens/*.parquet, for the rollouts' was written before.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import torch
from numpy.typing import NDArray
from torch import Tensor

from bot_grpo.objectives import LOG_RATIO_BOUND
from bot_grpo.token_rows import SCHEMA

UNKNOWN = float("inf")
"""In a generation batch, of a token that no loss was computed on yet; unlike NaN it is equal to itself."""


def blank(mask_BT: Tensor, *, step: int, first: int, several_updates: bool) -> dict[str, Tensor]:
    """What a generation batch of B rows takes along, nothing of it known yet; `first` is its first row's place."""
    device = mask_BT.device
    unknown_BT = torch.where(mask_BT.bool(), UNKNOWN, 0.0).half()
    kept = {
        "batch_step": torch.tensor(step, device=device),
        "place": torch.arange(first, first + len(mask_BT), device=device),
        "entropies": unknown_BT,
    }
    return kept | ({"log_ratios": unknown_BT.clone()} if several_updates else {})


@torch.no_grad()
def note(inputs: Mapping[str, Tensor], logps_BT: Tensor, entropies_BT: Tensor | None) -> None:
    """Write down, in the micro-batch itself, what its loss was computed from; it may be cut to fewer tokens since."""
    if "entropies" not in inputs or entropies_BT is None:
        return
    width = logps_BT.size(1)
    kept_BT = inputs["entropies"][:, :width]
    kept_BT.copy_(torch.where(kept_BT == UNKNOWN, entropies_BT.half(), kept_BT))
    if "log_ratios" in inputs and inputs.get("old_per_token_logps") is not None:
        log_ratio_BT = logps_BT.float() - inputs["old_per_token_logps"].float()
        inputs["log_ratios"][:, :width].copy_(log_ratio_BT.clamp(-LOG_RATIO_BOUND, LOG_RATIO_BOUND))


def table(batches: Sequence[Mapping[str, Any]]) -> pa.Table | None:
    """The rows of these micro-batches in the order of their places; None where they have kept nothing."""
    rows: list[tuple[int, Any, Any]] = []
    for batch in batches:
        if "entropies" not in batch:  # of a checkpoint that an earlier version wrote
            return None
        lengths_B = batch["completion_mask"].sum(1).tolist()
        entropies = _cut(batch["entropies"], lengths_B)
        log_ratios = _cut(batch["log_ratios"], lengths_B) if "log_ratios" in batch else [None] * len(lengths_B)
        rows += zip(batch["place"].tolist(), entropies, log_ratios, strict=True)
    rows.sort(key=lambda row: row[0])
    steps = [int(batches[0]["batch_step"])] * len(rows)
    return pa.table([steps, *map(list, zip(*rows, strict=True))], schema=SCHEMA)


def _cut(values_BT: Tensor, lengths_B: Sequence[int]) -> list[NDArray[np.float16] | None]:
    """Each row's own tokens; None for a row that no loss was computed on yet."""
    rows = zip(values_BT.cpu().numpy(), lengths_B, strict=True)
    return [None if (row_T[:n] == UNKNOWN).all() else row_T[:n] for row_T, n in rows]
