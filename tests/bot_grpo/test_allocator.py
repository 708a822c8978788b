"""Freed memory stays with the process, so a large tensor is not faulted in twice."""

from __future__ import annotations

import ctypes
import subprocess
import sys

import pytest

PROBE = """
import resource, sys
import torch
from bot_grpo.allocator import keep_freed_memory
if sys.argv[1] == "keep":
    assert keep_freed_memory()
for _ in range(10):
    torch.ones(1 << 24).add(1)  # 64 MB, twice
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range(10):
    torch.ones(1 << 24).add(1)
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


def faults(mode: str) -> int:
    done = subprocess.run([sys.executable, "-c", PROBE, mode], capture_output=True, text=True, check=True)
    return int(done.stdout)


@pytest.mark.skipif(not hasattr(ctypes.CDLL(None), "gnu_get_libc_version"), reason="needs glibc")
def test_a_freed_tensor_is_not_faulted_in_again():
    assert faults("keep") * 10 < faults("leave")
