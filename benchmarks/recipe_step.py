"""A training step of a recipe, against the same recipe in an older checkout or with other settings, by turns.

    git worktree add /tmp/first edaf80a      # an early version of react-smollm2-cpu, the first that runs
    python benchmarks/recipe_step.py --against /tmp/first [--config react-smollm2-cpu] [--steps 3] [--turns 2]
    python benchmarks/recipe_step.py --settings "--model_dtype bfloat16 --bf16 true"    # of the one compared with

Each run is `bot-grpo train` with the checkout's own recipe, cut to a few steps and with no evaluation. Both sample
anew, so completions have other lengths; hence seconds for a thousand sampled tokens too. Medians over all steps but
each run's first. The sandbox's worker is the one of this checkout. Last line: JSON.
"""

from __future__ import annotations

import argparse
import json
import os
import shlex
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parents[1]
PARTS = ("generate", "score", "update", "step")
SHORT = ["--eval_strategy", "no", "--eval_on_start", "false", "--save_strategy", "no"]


def steps_of(checkout: Path, config: str, steps: int, cold: int, settings: Sequence[str]) -> list[dict[str, float]]:
    """The steps' seconds by part, and the tokens that each has sampled."""
    with tempfile.TemporaryDirectory() as folder:
        run = Path(folder) / "run"
        words = ["--config", config, "--max_steps", str(steps), "--cold_start_steps", str(cold), *SHORT, *settings]
        done = subprocess.run(
            [sys.executable, "-m", "bot_grpo", "train", *words, "--output_dir", str(run)],
            cwd=checkout,
            env={**os.environ, "PYTHONPATH": str(checkout)},
            capture_output=True,
            text=True,
        )
        if done.returncode:
            sys.exit(f"training failed in {checkout}:\n{done.stdout[-1000:]}\n{done.stderr[-3000:]}")
        rows = [json.loads(line) for line in (run / "metrics.jsonl").read_text(encoding="utf-8").splitlines()]
    rows = [row for row in rows if "loss" in row and "seconds/step" in row][1:]
    size = 32  # 4 prompts x 8 completions, in every version of the recipe
    return [{p: row[f"seconds/{p}"] for p in PARTS} | {"tokens": size * row["completion_length"]} for row in rows]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--against", type=Path, default=HERE)
    parser.add_argument("--settings", type=shlex.split, default=[])
    parser.add_argument("--config", default="react-smollm2-cpu")
    parser.add_argument("--steps", type=int, default=3)
    parser.add_argument("--turns", type=int, default=2)
    parser.add_argument("--cold-start-steps", type=int, default=8)
    args = parser.parse_args()
    modules = args.against / "sandbox" / "worker" / "node_modules"
    if not modules.exists():
        modules.symlink_to(HERE / "sandbox" / "worker" / "node_modules")
    checkouts = {"now": HERE, "before": args.against.resolve()}
    found: dict[str, list[dict[str, float]]] = {name: [] for name in checkouts}
    for _ in range(args.turns):
        for name, checkout in checkouts.items():
            settings = args.settings if name == "before" else []
            found[name] += steps_of(checkout, args.config, args.steps, args.cold_start_steps, settings)
    out: dict[str, Any] = {"config": args.config, "settings before": args.settings}
    for name, rows in found.items():
        middle = {part: statistics.median(row[part] for row in rows) for part in (*PARTS, "tokens")}
        middle["a thousand tokens"] = statistics.median(1000 * row["step"] / row["tokens"] for row in rows)
        out[name] = middle
        print(f"{name:>7}: " + "  ".join(f"{part} {value:.1f}" for part, value in middle.items()), flush=True)
    for part in ("generate", "update", "step", "a thousand tokens"):
        out[f"times shorter: {part}"] = out["before"][part] / out["now"][part]
        print(f"{part}: {out[f'times shorter: {part}']:.2f} times shorter")
    print(json.dumps(out))


if __name__ == "__main__":
    main()
