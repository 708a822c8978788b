"""From the command line to the first step of `bot-grpo train --config react-smollm2-cpu`, by part, and the quick verbs.

    python benchmarks/startup.py [--repeats 3] [--against CHECKOUT] [--config NAME] [--json FILE]

Each start is a process of its own; the first one of each checkout is not counted (it converts the embedded model, fills
the disk's cache). A start ends when the first step begins: the model, the data and the trainer are there, and nothing
is sampled yet. It then asks the run's sandbox for one component; a sandbox that began to start earlier answers sooner.
The recipe's cold start and its evaluation before the first step are training, and are left out. With --against, another
checkout of this project (an older one) is measured by turns with this one. Seconds are on the clock and, in brackets,
of the process' own processor time; medians. Last line: JSON.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parents[1]
VERBS = (["--help"], ["--version"], ["algorithms"], ["train", "--help"], ["report", "--help"], ["compare", "--help"])
CHILD = """
import os, sys, time
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
clock = lambda: (time.time(), time.process_time())
marks = [("python", clock())]
mark = lambda name: marks.append((name, clock()))
import json
folder, config = sys.argv[1:3]
from bot_grpo.cli.train import parse
from bot_grpo.quiet import quiet
words = ["--config", config, "--cold_start_steps", "0", "--eval_on_start", "false", "--output_dir", folder]
args = parse(words)
mark("settings (imports TRL, transformers)")
quiet()
import bot_grpo.train as job
mark("imports of the trainer")
from transformers import TrainerCallback
from sandbox.pool import Item, Sandbox

class Begun(Exception):
    pass

def before(module, name, part):
    real = getattr(module, name)
    def call(*a, **k):
        mark(part)
        return real(*a, **k)
    setattr(module, name, call)

boxes = []
made = Sandbox.__init__
def init(self, *a, **k):
    made(self, *a, **k)
    boxes.append(self)
Sandbox.__init__ = init
before(job.models, "load_tokenizer", "data")
before(job, "make_policy", "tokenizer, prompts checked")
before(job, "BoTGRPOTrainer", "model")

class Stop(TrainerCallback):
    def on_step_begin(self, *a, **k):
        mark("trainer")
        if boxes:
            outcome = boxes[0].run([Item("export default () => <p>ready</p>", "code", "jsx")])[0]
            assert outcome.status == "ok", outcome
        mark("sandbox's first component")
        raise Begun

log = job.RunLog
class Log(log):
    def on_step_begin(self, *a, **k):
        Stop().on_step_begin()
job.RunLog = Log
try:
    job.train(args)
except Begun:
    pass
print("MARKS " + json.dumps(marks), flush=True)
"""

VERB = """
import resource, sys
from bot_grpo.cli import main
try:
    code = main(sys.argv[1:])
except SystemExit as end:  # argparse, after its help
    code = end.code
used = resource.getrusage(resource.RUSAGE_SELF)
print()
print(code or 0, "torch" in sys.modules, used.ru_utime + used.ru_stime)
"""


def start(checkout: Path, config: str) -> dict[str, tuple[float, float]]:
    """Seconds of each part of one start, on the clock and of the processor; the first part is Python's own start."""
    with tempfile.TemporaryDirectory() as folder:
        began = time.time()
        done = subprocess.run(
            [sys.executable, "-c", CHILD, f"{folder}/run", config],
            cwd=checkout,
            env={**os.environ, "PYTHONPATH": str(checkout)},
            capture_output=True,
            text=True,
        )
    line = next((line for line in done.stdout.splitlines() if line.startswith("MARKS ")), None)
    if line is None:
        sys.exit(f"the start failed in {checkout}:\n{done.stdout[-1000:]}\n{done.stderr[-3000:]}")
    last, found = (began, 0.0), {}
    for name, (wall, process) in json.loads(line.removeprefix("MARKS ")):
        found[name] = (wall - last[0], process - last[1])
        last = (wall, process)
    return found


def verb(checkout: Path, words: list[str]) -> tuple[float, float, bool]:
    """Seconds of a quick verb, on the clock and of the processor, and whether it imports torch."""
    began = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-c", VERB, *words],
        cwd=checkout,
        env={**os.environ, "PYTHONPATH": str(checkout)},
        capture_output=True,
        text=True,
        check=True,
    )
    seconds = time.perf_counter() - began
    code_, torch, process = done.stdout.splitlines()[-1].split()
    assert code_ == "0", done.stderr
    return seconds, float(process), torch == "True"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--against", type=Path, help="another checkout, measured by turns with this one")
    parser.add_argument("--config", default="react-smollm2-cpu")
    args = parser.parse_args()
    checkouts = {"here": HERE} | ({"against": args.against.resolve()} if args.against else {})
    starts: dict[str, list[dict[str, tuple[float, float]]]] = {name: [] for name in checkouts}
    for number in range(args.repeats + 1):
        for name in list(checkouts)[:: 1 if number % 2 else -1]:
            found = start(checkouts[name], args.config)
            if number:
                starts[name].append(found)
    figures: dict[str, Any] = {}
    for name, runs in starts.items():
        whole = [tuple(map(sum, zip(*run.values(), strict=True))) for run in runs]
        parts = {part: medians([run[part] for run in runs]) for part in runs[0]}
        ready = [tuple(map(sum, zip(*list(run.values())[:-1], strict=True))) for run in runs]
        figures[name] = {**parts, "up to the first step": medians(ready), "with the sandbox": medians(whole)}
    table("part of a start", figures)
    quick: dict[str, Any] = {name: {} for name in checkouts}
    imports = {}
    for words in VERBS:
        for name, checkout in checkouts.items():
            runs_ = [verb(checkout, words) for _ in range(args.repeats)]
            label = f"bot-grpo {' '.join(words)}"
            imports[name, label] = runs_[0][2]
            quick[name][label] = medians([(wall, process) for wall, process, _ in runs_])
    print()
    table("verb", quick)
    with_torch = {name: [label for (at, label), torch in imports.items() if at == name and torch] for name in checkouts}
    print(f"\nimport torch: {with_torch}")
    print(json.dumps({"config": args.config, "starts": figures, "verbs": quick, "import torch": with_torch}))


def medians(pairs: list[tuple[float, ...]]) -> list[float]:
    return [round(statistics.median(values), 2) for values in zip(*pairs, strict=True)]


def table(first: str, figures: dict[str, dict[str, list[float]]]) -> None:
    print(f"| {first} | {' | '.join(figures)} |\n|---|{'---|' * len(figures)}")
    for row in next(iter(figures.values())):
        cells = [f"{wall:.2f} ({process:.2f})" for wall, process in (at[row] for at in figures.values())]
        print(f"| {row} | {' | '.join(cells)} |")


if __name__ == "__main__":
    main()
