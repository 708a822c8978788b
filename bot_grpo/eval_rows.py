"""Which rows of an evaluation a process has, over batches and processes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import torch

from bot_grpo.step_stats import Sums, merged


@dataclass
class EvalRows:
    """Where an evaluation of `total` rows (None: not known) has got to; all processes have equal shares of a batch.

    accelerate fills up the last batch of several processes with rows from the beginning, so that shares stay equal.
    """

    total: int | None = None
    rank: int = 0
    processes: int = 1
    batches: int = 0
    rows: int = 0  # before this batch, of all processes
    sums: Sums = field(default_factory=dict)

    def first(self, rows: int) -> int:
        """The number of this process' first row of a batch in which it has `rows`."""
        return self.rows + self.rank * rows

    def own(self, rows: int) -> int:
        """How many of its `rows` of this batch are no repeats; those stand at the end."""
        if self.total is None or self.processes == 1:
            return rows
        return min(rows, max(0, self.total - self.first(rows)))

    def add(self, sums: Sums) -> Sums:
        """Those of all batches so far: an average of batches would depend on how they are cut."""
        self.sums = merged(self.sums, sums)
        return self.sums

    def next(self, rows: int) -> None:
        """The batch, in which each process had `rows`, is done."""
        self.batches, self.rows = self.batches + 1, self.rows + self.processes * rows


@contextmanager
def own_random_numbers(seed: int, device: torch.device) -> Iterator[None]:
    """Torch's random numbers begin with `seed`; afterwards they go on as if nothing had drawn any."""
    devices = [device] if device.type == "cuda" else []
    with torch.random.fork_rng(devices=devices):
        torch.manual_seed(seed)
        yield
