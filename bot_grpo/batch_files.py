"""A generation batch that a checkpoint keeps between two updates on it: a file a process, for any number of them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import pad

Batch = dict[str, Any]  # one micro-batch: tensors of (rows, ...), and what has no rows


def save_batches(folder: Path, batches: Sequence[Batch], *, rank: int, processes: int) -> None:
    """Keep this process' micro-batches in the checkpoint."""
    folder.mkdir(parents=True, exist_ok=True)
    torch.save({"processes": processes, "batches": list(batches)}, _file(folder, rank))


def load_batches(
    folder: Path, *, rank: int, processes: int, slices: int, updates: int, device: torch.device
) -> list[Batch] | None:
    """This process' micro-batches, `slices` of them for `updates` updates; None where the checkpoint holds none.

    Written by another number of processes, or cut otherwise, each update's rows are shared out anew: together the
    processes make the same updates on the same rows.

    Raises:
        ValueError: that many processes or micro-batches don't divide an update's rows.
    """
    if not _file(folder, 0).exists():
        return None
    first = _read(folder, 0, device)
    if (first["processes"], len(first["batches"])) == (processes, slices):
        return list((first if rank == 0 else _read(folder, rank, device))["batches"])
    every = [first["batches"], *(_read(folder, r, device)["batches"] for r in range(1, first["processes"]))]
    return [part for update in range(updates) for part in _share(every, update, updates, rank, processes, slices)]


def _share(every: Sequence[list[Batch]], update: int, updates: int, rank: int, processes: int, slices: int) -> Any:
    """The rows of one update, of all processes that wrote them, cut for this one."""
    each = len(every[0]) // updates
    rows = joined([batch for batches in every for batch in batches[update * each : (update + 1) * each]])
    total, parts = len(rows["completion_mask"]), processes * (slices // updates)
    if len(every[0]) % updates or slices % updates or total % parts:
        raise ValueError(f"{total} rows of an update do not divide into {parts} micro-batches")
    size = total // parts
    first = rank * (slices // updates)
    return [_rows(rows, size * i, size * (i + 1)) for i in range(first, first + slices // updates)]


def joined(batches: Sequence[Batch]) -> Batch:
    """One batch of the rows of all, as wide as the widest: prompts are padded on the left, all else on the right."""
    out: Batch = dict(batches[0])
    for name, first in batches[0].items():
        if not isinstance(first, Tensor) or first.dim() == 0:
            continue
        parts = [batch[name] for batch in batches]
        if first.dim() > 1:
            width, left = max(p.size(1) for p in parts), name.startswith("prompt")
            parts = [pad(p, (width - p.size(1), 0) if left else (0, width - p.size(1))) for p in parts]
        out[name] = torch.cat(parts)
    return out


def _rows(batch: Batch, start: int, stop: int) -> Batch:
    return {k: v[start:stop] if isinstance(v, Tensor) and v.dim() > 0 else v for k, v in batch.items()}


def _read(folder: Path, rank: int, device: torch.device) -> Batch:
    found: Batch = torch.load(_file(folder, rank), map_location=device.type, weights_only=True)  # not "cpu:0"
    return found


def _file(folder: Path, rank: int) -> Path:
    return folder / f"generation_batch_{rank}.pt"
