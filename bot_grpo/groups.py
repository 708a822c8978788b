"""Which rollouts answer the same prompt, and how sums over them cross processes.

Every statistic of a group or of the whole batch goes through `Groups`; nothing else in the algorithms knows that
there may be several processes. What crosses is one number a group, never a token.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
import torch.distributed as dist
from torch import Tensor

Reduce = Callable[[Tensor], Tensor]


def _same(x: Tensor) -> Tensor:
    return x


def wide(x: Tensor) -> Tensor:
    """`x` in the dtype that sums are kept in: float64, or float32 on a device that has no float64 (Apple's MPS).

    In float64 the mean of equal float32 rewards is exactly that reward, so a group without variance gets advantage 0
    rather than rounding noise over eps (in float32, eight rewards of 3.2 can give |A| = 0.17).
    """
    return x.float() if x.device.type == "mps" else x.double()


@dataclass(frozen=True)
class Groups:
    """The group of each local row, and the reductions over processes (the identity on one process).

    index_B: group number of each of this process' B rows, in [0, count). count: groups of the whole generation
    batch, on all processes. all_reduce and all_max: element-wise sum and maximum over processes, of a tensor of the
    same shape everywhere. Every process must call the same methods in the same order.
    """

    index_B: Tensor
    count: int
    all_reduce: Reduce = _same
    all_max: Reduce = _same

    def __post_init__(self) -> None:
        if (self.all_reduce is _same) != (self.all_max is _same):
            raise ValueError("Groups needs all_reduce and all_max together: one alone would mix local and global sums")

    @classmethod
    def contiguous(cls, rows: int, num_generations: int, *, device: torch.device | str | None = None) -> Groups:
        """One process; rows 0..K-1 answer the first prompt, K..2K-1 the second, and so on."""
        if num_generations < 1:
            raise ValueError(f"num_generations must be at least 1, not {num_generations}")
        if rows % num_generations:
            raise ValueError(f"num_generations {num_generations} does not divide the {rows} rollouts of the batch")
        return cls(torch.arange(rows, device=device) // num_generations, rows // num_generations)

    @classmethod
    def distributed(cls, rows: int, num_generations: int, *, device: torch.device | str | None = None) -> Groups:
        """Contiguous groups over all processes, each with `rows` rows in the order of ranks; a group may straddle.

        Equals `contiguous` where torch.distributed isn't initialised.
        """
        if not (dist.is_available() and dist.is_initialized()):
            return cls.contiguous(rows, num_generations, device=device)
        rank, total = dist.get_rank(), rows * dist.get_world_size()
        whole = cls.contiguous(total, num_generations, device=device)
        return cls(
            whole.index_B[rank * rows : (rank + 1) * rows],
            whole.count,
            lambda x: _all_reduce(x, dist.ReduceOp.SUM),
            lambda x: _all_reduce(x, dist.ReduceOp.MAX),
        )

    def sum(self, x: Tensor) -> Tensor:
        """Sum rows by group, over all processes: (B, ...) -> (count, ...)."""
        return self.all_reduce(x.new_zeros(self.count, *x.shape[1:]).index_add_(0, self.index_B, x))

    def max(self, x: Tensor) -> Tensor:
        """Largest row of each group, over all processes: (B, ...) -> (count, ...); -inf for a group without rows."""
        low = x.new_full((self.count, *x.shape[1:]), -torch.inf)
        index = self.index_B.view(-1, *[1] * (x.dim() - 1)).expand_as(x)
        return self.all_max(low.scatter_reduce_(0, index, x, "amax"))

    def total(self, x: Tensor) -> Tensor:
        """Sum over all rows of all processes: (B, ...) -> (...)."""
        return self.all_reduce(x.sum(0))

    def largest(self, x: Tensor) -> Tensor:
        """Element-wise maximum over processes of a tensor that each holds whole."""
        return self.all_max(x)

    def spread(self, x: Tensor) -> Tensor:
        """Give each row its group's value: (count, ...) -> (B, ...)."""
        return x[self.index_B]


def _all_reduce(x: Tensor, op: dist.ReduceOp.RedOpType) -> Tensor:
    x = x.clone()
    dist.all_reduce(x, op)
    return x
