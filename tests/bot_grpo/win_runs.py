"""Run directories with held-out rollouts, for comparisons."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from PIL import Image

from bot_grpo.rundir import RunDir

GREEN, RED, BLUE = (0, 128, 0), (255, 0, 0), (0, 0, 255)


def write_run(root: Path, rows: Sequence[dict[str, Any]], *, step: int = 4) -> Path:
    """A run whose evaluation at `step` holds `rows`: a prompt, and a colour for a page that was rendered."""
    run = RunDir(root)
    run.create(resume=True)
    run.log({"step": step, "eval/render_rate": 1.0})
    written = []
    for number, row in enumerate(rows):
        colour = row.get("colour")
        name = None
        if colour is not None:
            name = f"screenshots/{step}-{number}.png"
            Image.new("RGB", (64, 40), colour).save(root / name)
        status = row.get("status", "ok" if colour is not None else "compile_error")
        known = {k: v for k, v in row.items() if k != "colour"}
        written.append({"step": step, "kind": "eval", "group": number, "status": status, "screenshot": name, **known})
    run.write_rollouts(f"eval-{step:05d}", written)
    return root
