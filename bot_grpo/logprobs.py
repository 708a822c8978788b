"""Log-probabilities of completion tokens on a CPU, where TRL's chunked head scores prompts and padding too.

Off CUDA, TRL's fused head projects every position of the batch onto the vocabulary, twice (its backward recomputes
each tile). With a vocabulary of 49,152 that is nearly half of a 135M model's update. Here only completions are
projected, once, by the model's own forward pass: whatever it does to its logits (scales them, caps them) is done.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import torch
from torch import Tensor

PER_TOKEN = (
    *("completion_ids", "completion_mask", "advantages", "weights", "loss_mask"),
    *("old_per_token_logps", "ref_per_token_logps", "sampling_per_token_logps"),
)


def completion_logps(
    model: Any,
    ids_BS: Tensor,
    attention_BS: Tensor,
    mask_BT: Tensor,
    *,
    temperature: float = 1.0,
    autocast: Callable[[], AbstractContextManager[Any]] = nullcontext,
    batch_size: int | None = None,
) -> tuple[Tensor, Tensor]:
    """log pi of each completion token, and the entropy (nats) of its distribution; 0 where the mask is.

    Args:
        model: a causal language model, or a `PeftModel` around one.
        ids_BS, attention_BS: prompt and completion together; the completion is the last T columns.
        mask_BT: true on completion tokens.
        temperature: logits are divided by it, as they were in sampling.
        autocast: the context of the forward pass.
        batch_size: rows a forward pass; None: all.

    Returns:
        logps_BT (differentiable) and entropies_BT (not), float32.
    """
    size = batch_size or len(ids_BS)
    parts = [
        _rows(model, ids, attention, mask.bool(), temperature, autocast)
        for ids, attention, mask in zip(ids_BS.split(size), attention_BS.split(size), mask_BT.split(size), strict=True)
    ]
    return torch.cat([logps for logps, _ in parts]), torch.cat([entropies for _, entropies in parts])


def _rows(
    model: Any,
    ids_BS: Tensor,
    attention_BS: Tensor,
    mask_BT: Tensor,
    temperature: float,
    autocast: Callable[[], AbstractContextManager[Any]],
) -> tuple[Tensor, Tensor]:
    end, width = ids_BS.size(1), mask_BT.size(1)
    before_T = torch.arange(end - width - 1, end - 1, device=ids_BS.device)  # what predicts token t stands before it
    with autocast():
        output = model(input_ids=ids_BS, attention_mask=attention_BS, use_cache=False, logits_to_keep=before_T)
    all_NV = (output.logits[mask_BT].float() / temperature).log_softmax(-1)
    own_N = all_NV.gather(-1, ids_BS[:, -width:][mask_BT][:, None])[:, 0]
    with torch.no_grad():
        entropy_N = -(all_NV.exp() * all_NV).sum(-1)
    blank_BT = own_N.new_zeros(mask_BT.shape)
    return blank_BT.masked_scatter(mask_BT, own_N), blank_BT.masked_scatter(mask_BT, entropy_N)


def by_length(batches: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The same rows in as many micro-batches of the same sizes, the longest completions first.

    Tensors of (rows, ...) are reordered; what has no rows (a scalar, None) stays as it is in the first micro-batch.
    """
    lengths_B = torch.cat([b["completion_mask"].sum(1) for b in batches])
    order = lengths_B.argsort(descending=True, stable=True)
    sizes = [len(b["completion_mask"]) for b in batches]
    out: list[dict[str, Any]] = [dict(b) for b in batches]
    for name, first in batches[0].items():
        if isinstance(first, Tensor) and first.dim() > 0 and len(first) == sizes[0]:
            whole = torch.cat([b[name] for b in batches])[order]
            for part, rows in zip(out, whole.split(sizes), strict=True):
                part[name] = rows
    return out


def without_padding(batch: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Cut the columns which are padding in every row of this micro-batch: they cost time and change nothing."""
    width = max(1, int(batch["completion_mask"].sum(1).max()))
    start = int(batch["prompt_mask"].size(1) - batch["prompt_mask"].sum(1).max())
    cut = {name: batch[name][:, :width] for name in PER_TOKEN if batch.get(name) is not None}
    return dict(batch) | cut | {name: batch[name][:, start:] for name in ("prompt_ids", "prompt_mask")}
