"""What a command does not wait for: libraries that take seconds to import, where it needs none of them."""

from __future__ import annotations

import subprocess
import sys

from bot_grpo.cli import VERBS

SLOW = {"torch", "transformers", "trl", "datasets", "pandas", "openai", "ray", "playwright"}
NEEDS_TORCH = {"algorithms", "train"}  # the table of algorithms is of functions on tensors; train's settings are TRL's


def test_quick_verbs_import_nothing_slow() -> None:
    code = f"""
import contextlib, io, sys
from bot_grpo.cli import main
for verb in {[v for v in VERBS if v not in NEEDS_TORCH]!r}:
    with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(SystemExit):
        main([verb, "--help"])
    slow = sorted({SLOW!r} & set(sys.modules))
    assert not slow, (verb, slow)
import reward_models.react, bot_grpo.reward_sources
print(sorted({SLOW!r} & set(sys.modules)))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "[]"
