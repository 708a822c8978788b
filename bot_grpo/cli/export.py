"""`bot-grpo export`: a trained model as a folder that others load, and as a model on the hub."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from bot_grpo.cli.parser import Parser
from bot_grpo.errors import UserError
from bot_grpo.quiet import quiet

_EPILOG = """\
SOURCE is a run that train wrote (its final model, or else its last checkpoint), one checkpoint, an adapter or a model's
folder. An adapter is merged into its base. DIR then has safetensors, tokenizer, chat template, generation config (all
tokens that end an answer; the temperature of training), README.md (the model card), curves.svg and training.yaml (its
settings); AutoModelForCausalLM.from_pretrained(DIR) and vLLM load it as any model. An earlier export is replaced.
An export can be SOURCE too: with --push-to-hub alone it is pushed as it is.
The token is the one of `hf auth login` or of HF_TOKEN; it is written nowhere.
Exit code: 0 done, 2 bad input, or a hub that cannot be reached; what is on disk is kept.

examples:
  bot-grpo export runs/mine
  bot-grpo export runs/mine/checkpoints/checkpoint-20 --output exports/mine-20 --dtype bfloat16
  bot-grpo export runs/mine --evaluation evals/aime-aime_2024-mine --push-to-hub me/my-model --private
"""


def main(argv: list[str]) -> int:
    args = _parser().parse_args(argv)
    quiet()
    from bot_grpo import hub, publish

    if args.push_to_hub is not None:
        hub.check_push(args.push_to_hub)
    source = publish.find_source(args.source)
    if args.push_to_hub is not None and _pushes_alone(args) and (source.folder / publish.TRAINING).is_file():
        return _push(source.folder, args)
    output = args.output or _default_output(args.source, source)
    evaluations = tuple(publish.read_evaluation(folder, source, args.source) for folder in args.evaluation)
    publish.check_output(output)
    what = "adapter" if args.adapter_only else "model"
    print(f"exporting the {what} of {source.folder}" + (f", step {source.step}" if source.step else ""), flush=True)
    done = publish.export(
        source,
        output,
        dtype=args.dtype,
        adapter_only=args.adapter_only,
        evaluations=evaluations,
        hub_id=args.push_to_hub,
    )
    kinds = {"merged": "adapter and base merged", "adapter": "adapter alone", "weights": "all weights"}
    print(f"wrote {done.path}: {kinds[done.kind]}, {done.dtype}, {done.size / 1e6:,.1f} MB", flush=True)
    return 0 if args.push_to_hub is None else _push(output, args)


def _parser() -> Parser:
    parser = Parser(
        prog="bot-grpo export",
        description="Write a trained model as a folder with a model card that transformers and vLLM load.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("source", metavar="SOURCE", help="a run, a checkpoint, an adapter, a model's folder, or an export")
    add("--output", type=Path, metavar="DIR", help="where to write (default: RUN/export)")
    add(
        "--dtype",
        choices=["auto", "bfloat16", "float16", "float32"],
        default="auto",
        help="of the weights (default auto: as they are kept; of an adapter, as its base is)",
    )
    add("--adapter-only", action="store_true", help="the LoRA adapter without its base")
    add(
        "--evaluation",
        type=Path,
        action="append",
        default=[],
        metavar="DIR",
        help="an evaluation of this model by bot-grpo eval, for the card; may be given several times",
    )
    add("--push-to-hub", metavar="OWNER/NAME", help="upload it to the hub when it is written")
    add("--private", action="store_true", default=None, help="a repository that is made is private")
    return parser


def _pushes_alone(args: argparse.Namespace) -> bool:
    return args.output is None and args.dtype == "auto" and not args.adapter_only and not args.evaluation


def _default_output(name: str, source: Any) -> Path:
    run = Path(name).expanduser()
    if source.run is None or run.resolve() != source.run.resolve():
        step = run.name.rpartition("checkpoint-")[2]
        what = "a checkpoint" if step.isdigit() else "a model's folder"
        raise UserError(f"{name} is {what}, not a run: say where to write, --output DIR")
    return run / "export"


def _push(folder: Path, args: argparse.Namespace) -> int:
    from bot_grpo import hub

    print(f"pushing {folder} to {args.push_to_hub}", flush=True)
    print(f"pushed: {hub.push(folder, args.push_to_hub, private=args.private)}")
    return 0
