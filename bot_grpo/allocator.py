"""How the C library hands out memory while a model trains on a CPU."""

from __future__ import annotations

import ctypes

_TRIM_THRESHOLD, _MMAP_MAX = -1, -4  # of mallopt(3)


def keep_freed_memory() -> bool:
    """Have the process keep the memory of freed tensors; returns whether it will (glibc only).

    By default glibc maps every large block anew and returns it to the system when it is freed. A tensor operation then
    pays a page fault for each 4 kB of its result, which in a small model costs about as much as the arithmetic.
    """
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (OSError, AttributeError):
        return False
    return bool(mallopt(_MMAP_MAX, 0) and mallopt(_TRIM_THRESHOLD, -1))
