"""Modes of files that a library leaves for their owner alone."""

from __future__ import annotations

import stat
from contextlib import suppress
from pathlib import Path


def set_ordinary_modes(folder: Path) -> None:
    """Give every file under a folder the mode that the umask gives a new one; safetensors writes 0600.

    Where a file system has no modes to change, nothing is changed.
    """
    probe = folder / ".mode.tmp"  # the umask itself can only be read by setting it, for every thread
    probe.touch()
    mode = stat.S_IMODE(probe.stat().st_mode)
    probe.unlink()
    with suppress(OSError):
        for file in folder.rglob("*"):
            if file.is_file() and not file.is_symlink():
                file.chmod(mode)
