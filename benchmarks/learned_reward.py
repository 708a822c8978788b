"""How often a learned reward model finds the line that a compiler would have named, without the compiler.

    python benchmarks/learned_reward.py RUN [RUN ...] [--test RUN ...] [--output DIR | --trained DIR]

RUN is the folder of a run of `bot-grpo train --config react-smollm2-cpu`: what SmolLM2-135M wrote, with the compiler's
verdicts. Without one, such a run is made first (14 to 22 minutes on two cores). A quarter of the prompts is held out;
from the others' components a token classifier on the first layers of SmolLM2-135M learns the lines that the compiler
named first. `--test` adds the components that other runs wrote for the held-out prompts; `--trained` only measures.

On the held-out components that do not compile: how often the model's line is the compiler's first, beside a line drawn
at random, the line at the best fixed place, and the last line; AUC and calibration by token and by line. Intervals are
95 %, from a bootstrap of prompts. Last line: JSON.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from bot_grpo.cli import main as bot_grpo
from bot_grpo.cli.train_reward import progress, read_examples
from bot_grpo.models import resolve
from reward_models.learned import WRONG_CLASS, LearnedReward, reader, wrong_logits
from reward_models.model_card import finding_text
from reward_models.pretrained import load_tokenizer
from reward_models.quality import Quality, finding, step_quality, token_quality
from reward_models.token_labels import Labelled, labelled
from reward_models.training import Data, TrainSettings, prepare, train
from reward_models.training_data import distinct


def a_run() -> Path:
    folder = Path(tempfile.mkdtemp()) / "run"
    if bot_grpo(["train", "--config", "react-smollm2-cpu", "--output_dir", str(folder)]):
        raise SystemExit("the run that was to be learned from did not end well")
    return folder


def more_rows(runs: Sequence[Path], data: Data, settings: TrainSettings) -> list[Labelled]:
    """What other runs wrote for the held-out prompts."""
    held_out = {row.problem for row in data.held_out}
    examples = [e for e in distinct(read_examples(runs)[0]) if e.problem in held_out]
    read = reader(load_tokenizer(settings.model), settings.template, settings.max_length)
    found = (labelled(e, read, data.split) for e in examples)
    return [row for row in found if row is not None]


def inside(rows: Sequence[Labelled]) -> list[int]:
    """The rows whose first wrong line is not their last: what ends too early is easily said of the last line."""
    return [
        n
        for n, row in enumerate(rows)
        if WRONG_CLASS in row.step_labels and row.step_labels.index(WRONG_CLASS) < len(row.step_labels) - 1
    ]


def said(name: str, q: Quality | None) -> str:
    if q is None or q.auc is None or q.auc_interval is None:
        return f"{name}: too few labels"
    low, high = q.auc_interval
    return (
        f"{name}: {q.wrong:,} of {q.count:,} wrong; AUC {q.auc:.3f} [{low:.3f}, {high:.3f}]; "
        f"ECE {q.ece:.4f}, {q.ece_after:.4f} with a temperature ({q.temperature:.2f})"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runs", type=Path, nargs="*")
    parser.add_argument("--test", type=Path, nargs="+", default=[])
    parser.add_argument("--output", type=Path)
    parser.add_argument("--trained", type=Path)
    parser.add_argument("--layers", type=int, default=6)
    parser.add_argument("--epochs", type=float, default=2.0)
    parser.add_argument("--learning-rate", type=float, default=3e-4)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()

    settings = TrainSettings(
        resolve("smollm2-135m"),
        layers=args.layers,
        epochs=args.epochs,
        learning_rate=args.learning_rate,
        held_out=0.25,
        template="plain",
        seed=args.seed,
        bf16=True,
        device="cpu",
    )
    data = prepare(read_examples(args.runs or [a_run()])[0], settings)
    folder, seconds = args.trained, None
    if folder is None:
        folder = args.output or Path(tempfile.mkdtemp())
        made = train(data, settings, folder, callbacks=[progress()])
        seconds = made.seconds
        print(f"{made.steps} steps on {len(data.train)} components in {seconds:.0f} s")
    rows = [*data.held_out, *more_rows(args.test, data, settings)]
    reward = LearnedReward(str(folder), device="cpu")
    known = wrong_logits(reward._model, (row.read for row in rows))
    scores = [known[row.read] - reward._settings.shift for row in rows]
    late = inside(rows)
    everywhere, within = finding(rows, scores), finding([rows[n] for n in late], [scores[n] for n in late])
    tokens, lines = token_quality(rows, scores), step_quality(rows, scores)
    prompts = len({row.problem for row in rows})
    print(f"{len(rows)} held-out components of {prompts} prompts")
    print("all:", finding_text(everywhere))
    print("where it is not the last line:", finding_text(within))
    print(said("tokens", tokens))
    print(said("lines", lines))
    found = {"all": everywhere, "not the last line": within, "tokens": tokens, "lines": lines}
    numbers = {name: asdict(one) if one is not None else None for name, one in found.items()}
    print(json.dumps({"seconds": seconds, "components": len(rows), "prompts": prompts, **numbers}))


if __name__ == "__main__":
    main()
