"""`bot-grpo train`: train a model, from a recipe and flags."""

from __future__ import annotations

import difflib
import json
import os
import shutil
import sys
import textwrap
import time
import warnings
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any, NoReturn

from bot_grpo.disk import ONE_LINE, full_disk_explained
from bot_grpo.errors import UserError
from bot_grpo.quiet import quiet
from bot_grpo.recipe_files import Recipe, in_words, read_recipe
from sandbox.words import plural

EXAMPLE = """examples:
  bot-grpo train --config react-smollm2-cpu
  bot-grpo train --config react-smollm2-cpu --algorithm grpo --seed 1 --output_dir runs/grpo-1
  bot-grpo train --config runs/grpo-1/config.yaml --output_dir runs/grpo-1 --resume auto
  bot-grpo train --config react-qwen2.5-3b-24gb --dry-run             # settings, and whether it fits the GPU
  bot-grpo train --config aime-smollm3-3b-80gb --dry-run --gpu 48GB
  bot-grpo train --config react-qwen2.5-3b-8gpu --nproc 4             # in four processes, a GPU each
  bot-grpo train --config react-smollm2-cpu --push-to-hub --hub-model-id me/my-model
"""


def main(argv: list[str]) -> int:
    """Parse the settings and train. 0: all steps done; 1: stopped early, with a checkpoint."""
    if argv and argv[0] in {"-h", "--help"}:
        _help()
        return 0
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    argv, processes, accelerate = _split_launch(argv)
    argv, dry, gpu = _split_dry_run(argv)
    if dry:
        from bot_grpo.cli.dry_run import dry_run

        hardware = _split_config(argv)[1].hardware
        return dry_run(parse(argv), replace(hardware, processes=processes or hardware.processes), gpu)
    if processes is not None or accelerate is not None:
        from bot_grpo.launch import launch

        cpu = _wants_cpu(argv)
        return launch(["train", *argv], processes=processes, config=accelerate, cpu=cpu)
    try:
        return _train(argv)
    except ONE_LINE:
        _let_the_first_speak()
        raise


def _train(argv: list[str]) -> int:
    if not sys.warnoptions:  # libraries' warnings on every start are noise to a person
        warnings.simplefilter("ignore")
    args = parse(argv)
    wanted, have = _split_config(argv)[1].hardware.processes, max(1, args.world_size)
    if wanted > have and args.process_index == 0:
        print(
            f"note: this recipe is for {wanted} processes (--nproc {wanted}), and there {plural(have, 'is', 'are')} "
            f"{have}: a step has fewer completions than it means",
            file=sys.stderr,
        )
    quiet()
    repo = _hub_id(args)
    from bot_grpo.train import train

    with full_disk_explained(Path(args.output_dir), " and go on with --resume auto"):
        run = train(args)
    _leave()
    finished = json.loads((run.path / "summary.json").read_text())["finished"]
    if repo is not None and args.process_index == 0:
        _publish(run.path, repo, args.hub_private_repo, finished=finished)
    return 0 if finished else 1


def _hub_id(args: Any) -> str | None:
    """What to push to when all steps are done; then TRL, which would push checkpoints without a card, is asked for
    nothing. Raises UserError where it could not work."""
    from bot_grpo.hub import check_push

    if args.hub_token:
        raise UserError("hub_token would be written into every checkpoint: set HF_TOKEN, or run `hf auth login`")
    if not args.push_to_hub:
        return None
    if not args.hub_model_id:
        raise UserError("--push-to-hub wants a name: --hub-model-id OWNER/NAME")
    for name in ("hub_strategy", "hub_revision"):
        if getattr(args, name) != type(args).__dataclass_fields__[name].default:
            raise UserError(f"{name}: the model is pushed once, when all steps are done; leave it out")
    check_push(args.hub_model_id)
    args.push_to_hub = False
    return str(args.hub_model_id)


def _publish(run: Path, repo: str, private: bool | None, *, finished: bool) -> None:
    if not finished:
        print(f"not pushed to {repo}: give --push-to-hub --hub-model-id {repo} again when you go on")
        return
    from bot_grpo.hub import push
    from bot_grpo.publish import export, find_source

    done = export(find_source(str(run)), run / "export", hub_id=repo)
    print(f"wrote {done.path}; pushing it to {repo}", flush=True)
    print(f"pushed: {push(done.path, repo, private=private)}")


def parse(argv: list[str]) -> Any:
    """Settings from `--config FILE_OR_RECIPE` and flags; a flag wins. Unknown keys and flags are a UserError."""
    argv, recipe = _split_config(argv)  # first: what is wrong there is said before seconds of imports
    config = recipe.settings

    from transformers import logging
    from trl import TrlParser

    from bot_grpo.config import BoTGRPOConfig

    logging.set_verbosity_error()

    class Parser(TrlParser):
        def error(self, message: str) -> NoReturn:
            raise UserError(f"{message.splitlines()[0]}; `bot-grpo train --help` lists the settings")

    settings: Any = BoTGRPOConfig  # to the parser a class is good enough; its annotation wants an instance
    parser = Parser(settings, allow_abbrev=False)
    known = set(BoTGRPOConfig.__dataclass_fields__)
    if "activation_checkpointing" not in known:  # its name in older releases of transformers, as verl wants them
        config = {k.replace("activation_checkpointing", "gradient_checkpointing"): v for k, v in config.items()}
    for key in config:
        if key not in known:
            close = difflib.get_close_matches(key, known, n=1)
            raise UserError(f"unknown key {key!r} in the config" + (f"; did you mean {close[0]!r}?" if close else ""))
    parser.set_defaults_with_config(**config)
    try:
        (args,) = parser.parse_args_into_dataclasses(args=argv)
        if args.algorithm != config.get("algorithm", args.algorithm) and "--algorithm_settings" not in argv:
            args.algorithm_settings = {}  # the config's are those of its own algorithm
        if "output_dir" not in config and not any(w.split("=")[0] == "--output_dir" for w in argv):
            if args.resume == "auto":
                raise UserError("--resume auto goes on with the run in --output_dir: say which")
            stamp = time.strftime("%Y%m%d-%H%M%S")
            args.output_dir = f"runs/{args.task}-{args.algorithm}-seed{args.seed}-{stamp}"
    except UserError:
        raise
    except ValueError as error:
        raise UserError(_in_our_words(error, argv)) from error
    return args


def _in_our_words(error: ValueError, argv: list[str]) -> str:
    """What TRL and transformers say of a bad setting, said of what the person wrote."""
    from bot_grpo.config import BoTGRPOConfig

    text = _one_line(error)
    if "not used by the HfArgumentParser" in text:
        known = [f"--{name}" for name in BoTGRPOConfig.__dataclass_fields__]
        strange = next((w for w in argv if w.startswith("--") and w.split("=")[0] not in known), None)
        if strange is None:
            return f"unexpected words among the settings: {text.rsplit(':', 1)[-1].strip()}"
        close = difflib.get_close_matches(strange.split("=")[0], known, n=1)
        return f"unknown setting {strange}" + (f"; did you mean {close[0]}?" if close else "")
    if isinstance(error, json.JSONDecodeError):
        found = (name for name, value in pairwise(argv) if name.startswith("--") and value == error.doc)
        given = next(found, "a setting")
        return f"{given} is a mapping, which wants JSON on the command line: {text}"
    if "divisible by num_generations" in text:
        return (
            f"{text} The batch is per_device_train_batch_size x gradient_accumulation_steps: choose them, or "
            "num_generations, so that it is a multiple"
        )
    return text


def _split_dry_run(argv: list[str]) -> tuple[list[str], bool, str | None]:
    """The other words, whether it is a dry run, and the GPU that it is for."""
    rest, dry, gpu = [], False, None
    words = iter(argv)
    for word in words:
        if word in {"--dry-run", "--dry_run"}:
            dry = True
        elif word == "--gpu" or word.startswith("--gpu="):
            gpu = word.partition("=")[2] or next(words, "")
        else:
            rest.append(word)
    if gpu is not None and not dry:
        raise UserError("--gpu names the GPU that --dry-run asks about; give it with --dry-run")
    return rest, dry, gpu


def _split_launch(argv: list[str]) -> tuple[list[str], int | None, str | None]:
    """The other words, the number of processes to start, and the accelerate config to start them with."""
    rest: list[str] = []
    found: dict[str, str] = {}
    words = iter(argv)
    for word in words:
        name, equals, value = word.partition("=")
        if name in {"--nproc", "--accelerate"}:
            found[name] = value if equals else next(words, "")
        else:
            rest.append(word)
    number = found.get("--nproc")
    if number is not None and not (number.isdigit() and int(number)):
        raise UserError(f"--nproc wants the number of processes to train in, 1 or more; it is {number!r}")
    if found.get("--accelerate") == "":
        raise UserError("--accelerate wants ddp, fsdp2, zero2, zero3, or a file")
    if found and "LOCAL_RANK" in os.environ:
        raise UserError(f"this is one of several processes already, and {', '.join(found)} would start more in each")
    return rest, None if number is None else int(number), found.get("--accelerate")


def _wants_cpu(argv: list[str]) -> bool:
    """Whether `use_cpu` is set, by a flag or in the config; without a second's imports."""
    rest, recipe = _split_config(argv)
    for word, following in zip(rest, [*rest[1:], ""], strict=False):
        name, equals, value = word.partition("=")
        if name in {"--use_cpu", "--use-cpu"}:
            return (value if equals else following).lower() in {"true", "1", "yes", "y", "t", ""}
    return bool(recipe.settings.get("use_cpu", False))


def _leave() -> None:
    """Several processes part in order; NCCL complains of one that just ends."""
    import torch.distributed as dist

    if dist.is_available() and dist.is_initialized():
        dist.destroy_process_group()


def _let_the_first_speak() -> None:
    """Of several processes that fail alike the first says why; its end ends the others, if they wait for that."""
    if int(os.environ.get("RANK", "0")) > 0:
        time.sleep(20)


def _split_config(argv: list[str]) -> tuple[list[str], Recipe]:
    rest, name = [], None
    words = iter(argv)
    for word in words:
        if word == "--config":
            name = next(words, None)
            if name is None:
                raise UserError("--config wants a recipe's name or a file")
        elif word.startswith("--config="):
            name = word.split("=", 1)[1]
        else:
            rest.append(word)
    return rest, Recipe() if name is None else read_recipe(name)


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())


def _help() -> None:
    import dataclasses

    from trl import GRPOConfig

    from bot_grpo.config import BoTGRPOConfig
    from bot_grpo.launch import config_names

    print(f"usage: bot-grpo train [--config RECIPE_OR_FILE] [--SETTING VALUE ...]\n\n{EXAMPLE}")
    _folded(f"recipes: {in_words()}", indent=2)
    print("\nonly look:")
    _option("dry-run", "print the settings and an estimate of the memory, without a model; nothing is written")
    _option("gpu", "the GPU that --dry-run compares with: 24GB, 80GB, ...")
    print("\nseveral processes:")
    _option("nproc", "train in so many processes, by accelerate launch: a GPU each, or on CPUs")
    _option("accelerate", f"how: {', '.join(config_names())}, or a config of accelerate (default: ddp)")
    print("\nsettings of this project:")
    base = {f.name for f in dataclasses.fields(GRPOConfig)}
    for f in dataclasses.fields(BoTGRPOConfig):
        if f.name not in base:
            default = {} if f.name.endswith("_settings") else f.default
            _option(f.name, f"{f.metadata.get('help', '')} (default: {default})")
    print("\nsettings of TRL and transformers that matter most:")
    for name in ("output_dir", "max_steps", "num_generations", "per_device_train_batch_size",
                 "gradient_accumulation_steps", "learning_rate", "max_completion_length", "temperature", "seed",
                 "eval_steps", "save_steps", "num_iterations", "use_vllm", "report_to"):  # fmt: skip
        field = BoTGRPOConfig.__dataclass_fields__[name]
        _option(name, textwrap.shorten(str(field.metadata.get("help", "")), 150, placeholder=" ..."))
    print("\npublishing:")
    _option("push_to_hub", "when all steps are done, write RUN/export (`bot-grpo export`) and upload it")
    _option("hub_model_id", "where to: OWNER/NAME; the token is the one of `hf auth login` or HF_TOKEN")
    _option("hub_private_repo", "a repository that is made is private")
    print("\nevery other field of trl.GRPOConfig is a setting too; on the command line and in a config alike")


def _option(name: str, text: str) -> None:
    """Print an option as argparse does, its text in a column of its own."""
    _folded(f"  --{name:<26} {text}", indent=31)


def _folded(text: str, *, indent: int) -> None:
    """Print a line, folded at the terminal's width."""
    width = max(50, shutil.get_terminal_size().columns - 2)
    print(textwrap.fill(text, width, subsequent_indent=" " * indent, break_on_hyphens=False))
