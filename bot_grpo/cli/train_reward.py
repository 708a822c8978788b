"""`bot-grpo train-reward`: learn a reward model from labelled completions."""

from __future__ import annotations

import argparse
import hashlib
import json
import shutil
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bot_grpo.cli.parser import Parser, in_options
from bot_grpo.disk import full_disk_explained
from bot_grpo.errors import UserError
from bot_grpo.invoked import program
from bot_grpo.pages import check_folder
from reward_models.errors import RewardError
from sandbox.words import counted

if TYPE_CHECKING:
    from reward_models.training import Data, Trained, TrainSettings
    from reward_models.training_data import Example

_BEGAN = "began.json"
_EPILOG = """\
--data is one or more of: a .jsonl, .csv or .parquet file whose rows have
  prompt, completion, spans    [[start, end, value], ...] in characters of the completion; a value below 0 is wrong
  prompt, completions, labels  steps, and whether each is right
  input, label                 Math-Shepherd
  question, label              PRM800K
or the directory of a run that `bot-grpo train` wrote: the lines that its compiler named, or else the signs of its local
rewards. What is learned is a token classifier on any causal language model, for the built-in reward model `learned`. A
share of the problems is held out; it is what the calibration, the numbers and the model card are from.
Ctrl-C stops after the step at hand with a checkpoint; the same command with --resume goes on.
Exit code: 0 done, 1 stopped early, 2 bad input.

examples:
  bot-grpo train-reward --data runs/mine --output models/lines
  bot-grpo train-reward --data steps.jsonl --model Qwen/Qwen2.5-0.5B --lora-r 16 --epochs 2 --output models/steps
"""


def main(argv: list[str]) -> int:
    args = _parser().parse_args(argv)
    output: Path = args.output
    _check_output(output, args.resume)
    check_folder(output)
    examples, sources = read_examples(args.data, unmarked=args.unmarked)
    from rich.console import Console

    from bot_grpo.models import resolve
    from bot_grpo.progress import LossProgress, StopOnInterrupt
    from bot_grpo.quiet import quiet
    from bot_grpo.rundir import commit, hold, last_checkpoint, versions
    from reward_models.model_card import model_card, summary
    from reward_models.training import CHECKPOINTS, prepare, train

    quiet()
    settings = _settings(args, resolve(args.model))
    data = prepare(examples, settings)
    print(_said(data, args.model), flush=True)
    scratch = output / CHECKPOINTS
    try:
        scratch.mkdir(parents=True, exist_ok=True)
        lock = hold(scratch)
    except OSError as error:
        raise UserError(f"cannot write {output}: {error.strerror}") from error
    checkpoint = last_checkpoint(scratch)
    _check_same(scratch / _BEGAN, settings, examples, goes_on=checkpoint is not None)
    if args.resume:
        begins = f"nothing to go on from: {output} begins anew"
        print(begins if checkpoint is None else f"going on from {checkpoint}", flush=True)
    stop = StopOnInterrupt()
    again = "; the same command with --resume goes on"
    shown = LossProgress(Console(stderr=True, highlight=False))
    with stop.listening(), lock, full_disk_explained(output, again), shown:
        made = train(data, settings, output, callbacks=[stop, shown], resume=checkpoint)
    if made.stopped:
        print(f"stopped after step {made.steps}; the same command with --resume goes on")
        return 1
    named = replace(settings, model=args.model)
    found = {**versions(), "commit": commit()}
    card = model_card(made, named, folder=str(output), sources=sources, versions=found)
    with full_disk_explained(output, again):
        (output / "README.md").write_text(card, encoding="utf-8")
        (output / "metrics.json").write_text(json.dumps(summary(made), indent=2) + "\n", encoding="utf-8")
    shutil.rmtree(scratch, ignore_errors=True)  # last: what is killed before goes on from there
    print(_results(made))
    print(f"wrote {output}; its README.md is the model card. Use it:")
    arguments = json.dumps({"model": str(output)})
    print(f"  {program()} score --reward learned --args '{arguments}' --input FILE --html FILE.html")
    return 0


def _parser() -> Parser:
    parser = Parser(
        prog="bot-grpo train-reward",
        description="Learn a reward model from labelled completions: how likely each token, and each step, is wrong.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("--data", type=Path, nargs="+", required=True, metavar="FILE", help="labelled rows, or a run's directory")
    add("--output", type=Path, required=True, metavar="DIR", help="where to leave the model")
    add("--model", default="smollm2-135m", metavar="NAME", help="smollm2-135m (default), a folder, or a hub id")
    add("--layers", type=int, default=0, metavar="N", help="keep the first N layers only (default 0: all of them)")
    add("--lora-r", type=int, default=0, metavar="R", help="rank of LoRA; 0 (default) trains every weight")
    add("--epochs", type=float, default=1.0, metavar="N", help="passes over the rows (default 1)")
    add("--max-steps", type=int, default=-1, metavar="N", help="steps, in place of --epochs")
    add("--batch-size", type=int, default=8, metavar="N", help="completions a step (default 8)")
    add("--micro-batch-size", type=int, metavar="N", help="of them in memory at a time (default: all)")
    add("--learning-rate", type=float, metavar="X", help="default 1e-4, with LoRA 5e-4")
    add("--max-length", type=int, default=1024, metavar="N", help="tokens of prompt and completion (default 1024)")
    add("--held-out", type=float, default=0.1, metavar="X", help="share of the prompts to measure on (default 0.1)")
    add("--labels", choices=("first", "all"), default="first",
        help="first (default): nothing counts after a row's first mistake; all: every mark counts")  # fmt: skip
    add("--unmarked", choices=("right", "unknown"), default="right",
        help="what the characters outside of a row's spans are (default right)")  # fmt: skip
    add("--split", metavar="S", help=r"what parts steps: '\n', '\n\n', tags, marks or a regular expression")
    add("--template", choices=("auto", "chat", "plain"), default="auto",
        help="how the prompt is put: plainly, or in the chat template (default, where there is one)")  # fmt: skip
    add("--seed", type=int, default=0, metavar="N", help="of the split, the head, and the order of rows (default 0)")
    add("--device", choices=("cpu", "cuda"), help="default: a GPU if there is one")
    add("--bf16", action="store_true", help="compute in bfloat16; the weights stay float32")
    add("--resume", action="store_true", help="go on from the checkpoint in --output")
    return parser


def _settings(args: argparse.Namespace, model: str) -> TrainSettings:
    from reward_models.step_text import check_split
    from reward_models.training import TrainSettings

    split = args.split.encode().decode("unicode_escape") if args.split in (r"\n", r"\n\n") else args.split
    if split is not None:
        check_split(split)
    rate = args.learning_rate if args.learning_rate is not None else (5e-4 if args.lora_r else 1e-4)
    settings = TrainSettings(
        model=model,
        layers=args.layers,
        lora_r=args.lora_r,
        epochs=args.epochs,
        max_steps=args.max_steps,
        batch_size=args.batch_size,
        micro_batch_size=args.micro_batch_size or args.batch_size,
        learning_rate=rate,
        max_length=args.max_length,
        held_out=args.held_out,
        labels=args.labels,
        split=split,
        template=args.template,
        seed=args.seed,
        bf16=args.bf16,
        device=args.device,
    )
    try:
        settings.check()
    except RewardError as error:
        options = {field.name: "--" + field.name.replace("_", "-") for field in fields(settings)}
        raise UserError(in_options(str(error), options)) from error
    return settings


def _check_output(output: Path, resume: bool) -> None:
    """A folder that holds something is left as it is, but for a training that goes on."""
    if output.exists() and not output.is_dir():
        raise UserError(f"{output} is a file; choose another --output")
    there = {entry.name for entry in output.iterdir()} if output.is_dir() else set()
    begun = there == {"checkpoints"} or (output / "checkpoints" / _BEGAN).exists()
    if not there or (resume and begun):
        return
    if resume:
        raise UserError(f"{output} holds no training to go on with; choose another --output")
    hint = ", or go on with --resume" if begun else ""
    raise UserError(f"{output} is not empty; choose another --output{hint}")


def _check_same(file: Path, settings: TrainSettings, examples: Sequence[Example], *, goes_on: bool) -> None:
    """That a training goes on with the data and the settings that it began with; they are kept in `file`."""
    rows = hashlib.sha256("\n".join(map(repr, examples)).encode("utf-8", "surrogatepass")).hexdigest()
    now: dict[str, Any] = {"data": rows, **asdict(settings)}
    now.pop("device")
    if not goes_on:
        file.write_text(json.dumps(now), encoding="utf-8")
        return
    try:
        before = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise UserError(f"{file} does not say what the training began with; begin one in another --output") from error
    for name, value in now.items():
        if before.get(name) != value:
            option = "--" + name.replace("_", "-")
            was = "the rows are others" if name == "data" else f"it was {before.get(name)!r}, and is {value!r}"
            raise UserError(f"--resume goes on with what the training began with, and {option} has changed: {was}")


def read_examples(data: Sequence[Path], *, unmarked: str = "right") -> tuple[list[Example], list[str]]:
    """The labelled examples of files and runs, and a line on each. UserError, RewardError: what is wrong, where."""
    from bot_grpo.replies import records_of
    from reward_models.training_data import RIGHT, UNKNOWN, examples_of

    label = RIGHT if unmarked == "right" else UNKNOWN
    examples: list[Example] = []
    lines = []
    for source in data:
        before, rows = len(examples), 0
        for file in _files(source):
            for number, record in enumerate(records_of(file), 1):
                rows += 1
                examples += examples_of(_columns(record), f"{file}:{number}", unmarked=label)
        labelled = counted(len(examples) - before, "labelled completion")
        lines.append(f"{source}: {counted(rows, 'row')}, {labelled}")
    return examples, lines


def _files(source: Path) -> Iterator[Path]:
    if not source.exists():
        raise UserError(f"there is no file or folder {source}")
    found = sorted((source / "rollouts").glob("*.parquet")) if source.is_dir() else [source]
    if not found:
        raise UserError(f"{source} holds no rollouts/*.parquet: give a run that train wrote, or a file")
    yield from found


def _columns(record: Any) -> dict[str, Any]:
    """A row's columns; a CSV file has lists as JSON."""
    out = dict(record)
    for name in ("spans", "completions", "labels", "question"):
        if isinstance(out.get(name), str):
            with suppress(ValueError):
                out[name] = json.loads(out[name])
    return out


def _said(data: Data, model: str) -> str:
    from reward_models.token_labels import token_counts

    wrong, right = token_counts(data.train)
    problems = [len({row.problem for row in rows}) for rows in (data.train, data.held_out)]
    return (
        f"learning from {len(data.train):,} completions of {problems[0]:,} prompts ({wrong + right:,} tokens, "
        f"{100 * wrong / (wrong + right):.1f} % of them wrong, weighted up to half); {len(data.held_out):,} of "
        f"{problems[1]:,} prompts are held out\n{model}; {data.dropped} completions without a label left out, "
        f"{data.cut} cut off at the length limit"
    )


def _results(made: Trained) -> str:
    from reward_models.model_card import finding_text

    lines = []
    for name, q in (("token", made.tokens), ("step", made.step)):
        if q is not None:
            found = "no AUC (one label only)" if q.auc is None else f"AUC {q.auc:.3f}"
            after = f"{q.ece_after:.4f} at temperature {q.temperature:.2f}"
            lines.append(f"held out, by {name}: {found}, ECE {q.ece:.4f}, {after}")
    return "\n".join([*lines, finding_text(made.finding)])
