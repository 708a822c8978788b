"""Whether this machine multiplies bfloat16 in hardware; where it does not, float32 is several times as fast."""

from __future__ import annotations

import re
from pathlib import Path

_WORDS = {"avx512_bf16", "amx_bf16", "bf16"}
"""What /proc/cpuinfo calls it: on x86-64 the first two, on ARM the last."""


def cpu_features(cpuinfo: Path = Path("/proc/cpuinfo")) -> list[str]:
    """The CPU's instructions for bfloat16, by name; none where it has none, or where there is no such file."""
    try:
        flags = re.search(r"^(?:flags|Features)\s*:\s*(.+)$", cpuinfo.read_text(), re.MULTILINE)
    except OSError:
        return []
    return sorted(set(flags[1].split()) & _WORDS) if flags else []


def in_hardware(*, cpu: bool) -> bool:
    """For the CPU, or for the GPU that would be trained on."""
    import torch  # `bot-grpo env` reads the CPU's features without it

    if cpu or not torch.cuda.is_available():
        return bool(cpu_features())
    return bool(torch.cuda.is_bf16_supported(including_emulation=False))
