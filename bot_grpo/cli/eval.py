"""`bot-grpo eval`: Pass@k of a model on AIME, or how its React components fare."""

from __future__ import annotations

import argparse
import math
import re
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from bot_grpo.cli.check_reward import json_mapping
from bot_grpo.cli.parser import Parser
from bot_grpo.errors import UserError
from bot_grpo.quiet import quiet
from sandbox.words import counted

_EPILOG = """\
Samples are appended to DIR/samples.jsonl as they come: the same command, run again, goes on from there, and a larger
--n or --limit adds to them. Each sample has a seed of its own, made of --seed, the problem and the sample's number.
The model is smollm2-135m (embedded), a folder, a hub id, a LoRA adapter, a checkpoint or a run that train wrote; with
--backend openai it is what the server calls it.
Exit code: 0 done, 2 bad input, or a server that did not answer everything; 130 Ctrl-C.

examples:
  bot-grpo eval aime --model smollm2-135m --data arithmetic:1 --n 8 --max-tokens 256
  bot-grpo eval aime --model Qwen/Qwen3-4B --data aime_2025 --backend vllm --n 64 --max-tokens 32768
  bot-grpo eval aime --model my-model --data problems.jsonl --backend openai --base-url http://localhost:8000/v1
  bot-grpo eval react --model runs/mine --limit 48 --compare evals/react-smollm2-135m
"""
BACKENDS = ("hf", "vllm", "openai")
MODEL = "smollm2-135m"


def main(argv: list[str]) -> int:
    args = _settled(_parser().parse_args(argv))
    quiet()
    from bot_grpo.backends import policy_folder
    from bot_grpo.eval_results import read_results
    from bot_grpo.evaluate import EvalDir, requests

    if args.compare is not None:
        read_results(args.compare)
    task, problems = _task(args)
    run = EvalDir(args.output or Path("evals") / f"{args.task}-{_slug(args.data)}-{_slug(args.model)}")
    wanted = requests(problems, args.n, args.seed)
    if args.backend == "openai":
        from bot_grpo.eval_openai import check_address

        check_address(args.base_url)
    else:
        _check_model(policy_folder(args.model), run.path)
    run.begin(_settings(args), problems, args.n)
    try:
        known = run.wanted(wanted)
        kept = f", {len(known):,} of them on disk" if known else ""
        if args.asked_as is not None:
            print(f"asked as in {args.asked_as}, where no option says otherwise")
        count = counted(len(problems), "problem")
        print(f"{count} x {counted(args.n, 'sample')} = {len(wanted):,}{kept}; in {run.path}", flush=True)
        if len(known) < len(wanted):
            task.check()
            reasons = _sample(args, run, task, problems, wanted, known)
            if reasons:
                return _incomplete(run, reasons, len(wanted))
        return _finished(args, run, task, problems, wanted)
    except KeyboardInterrupt:
        have = len(run.wanted(wanted))
        print(f"\n{have:,} of {len(wanted):,} samples are in {run.path}; the same command goes on", file=sys.stderr)
        raise
    finally:
        task.close()


def _check_model(folder: str, output: Path) -> None:
    """Raise UserError for a model that is nowhere, before a new evaluation leaves a folder and says what it will do."""
    if output.exists() or folder == MODEL or Path(folder).expanduser().is_dir():
        return  # what is there may have all its samples; what is in a folder needs no look
    from bot_grpo.models import resolve

    resolve(folder)


def _parser() -> Parser:
    parser = Parser(
        prog="bot-grpo eval",
        description="Sample a model on a task's problems and report Pass@k with intervals.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("task", choices=["aime", "react"], help="aime: answers from 0 to 999; react: components, in the sandbox")
    add("--model", default=MODEL, metavar="M", help=f"what to sample from (default {MODEL})")
    add("--backend", choices=BACKENDS, default="hf", help="the engine (default hf: this process, without vLLM)")
    add("--n", type=int, metavar="N", help="samples a problem (default 64; react 1)")
    add("--k", metavar="K,K", help="values of k (default: 1, 2, 4, ... and n)")
    add("--temperature", type=float, default=0.6, metavar="T", help="default 0.6; 0 is the likeliest token")
    add("--top-p", type=float, default=0.95, metavar="P", help="default 0.95")
    add("--max-tokens", type=int, metavar="N", help="of a completion (default: what the context leaves, at most 8192)")
    add("--seed", type=int, default=0, help="of the samples, and of the bootstrap (default 0)")
    add("--output", type=Path, metavar="DIR", help="where everything is written (default: evals/TASK-DATA-MODEL)")
    add("--compare", type=Path, metavar="DIR", help="another evaluation: the paired difference to it")
    add("--limit", type=int, metavar="N", help="only so many problems")
    add("--system-prompt", metavar="TEXT", help="system message (default: the run's; else none, react: the recipe's)")
    more = parser.add_argument_group("data")
    add = more.add_argument
    add(
        "--data",
        metavar="D",
        help="aime: aime_2024 (default), aime_2025, a hub id, a file, arithmetic:1 to arithmetic:4 (made here); react: "
        "a file or a hub id instead of the held-out prompts",
    )
    add("--split", metavar="S", help="of the data set (default: all; arithmetic: test)")
    add("--columns", metavar="A=B,..", help="what the data's columns are called: problem=ask,answer=gold")
    add(
        "--answer-form",
        choices=["boxed", "steps", "plain"],
        help="aime: how the answer is asked for (default: the run's, else boxed)",
    )
    add("--tier", default="tiny", help="react: tiny (default), parts, standard, app, or all")
    more = parser.add_argument_group("engine")
    add = more.add_argument
    add("--batch-size", type=int, default=64, metavar="N", help="hf: samples at a time (default 64)")
    add(
        "--dtype",
        choices=["auto", "bfloat16", "float16", "float32"],
        default="auto",
        help="hf, vllm: of the weights; auto is as they are kept, but for hf float32 on a CPU that has no bf16",
    )
    add("--engine-args", default="{}", metavar="JSON", help='vllm: arguments of its LLM: {"tensor_parallel_size": 2}')
    add("--chat-template", default="{}", metavar="JSON", help='its arguments: {"enable_thinking": false}')
    add("--base-url", metavar="U", help="openai: the server's address (default: $OPENAI_BASE_URL, else OpenAI's)")
    add("--concurrency", type=int, default=16, metavar="N", help="openai: requests at a time (default 16)")
    add("--request", default="{}", metavar="JSON", help="openai: more fields of a request's body; null takes one away")
    add("--timeout", type=float, default=1800.0, metavar="S", help="openai: seconds for an answer (default 1800)")
    add("--retries", type=int, default=5, metavar="N", help="openai: further tries after a failure (default 5)")
    add("--workers", default="1", metavar="N", help="react: browsers side by side (default 1), or ray")
    return parser


def _settled(args: argparse.Namespace) -> argparse.Namespace:
    """Fill in what depends on the task. Raises UserError for a number out of range."""
    from sandbox.pool import is_workers

    args.n = (64 if args.task == "aime" else 1) if args.n is None else args.n
    whole = {"n": 1, "batch_size": 1, "concurrency": 1, "limit": 1, "max_tokens": 1, "retries": 0, "seed": 0}
    for name, least in whole.items():
        value = getattr(args, name)
        if value is not None and value < least:
            raise UserError(f"--{name.replace('_', '-')} is a whole number from {least}, not {value}")
    rules: dict[str, tuple[Callable[[Any], bool], str]] = {
        "temperature": (lambda v: 0 <= v <= 2, "a number from 0 to 2"),
        "top_p": (lambda v: 0 < v <= 1, "above 0, at most 1"),
        "timeout": (lambda v: math.isfinite(v) and v > 0, "a number of seconds above 0"),
        "workers": (is_workers, "a number from 1, or ray, or ray://HOST:PORT"),
    }
    for name, (holds, words) in rules.items():
        if not holds(getattr(args, name)):
            raise UserError(f"--{name.replace('_', '-')} is {words}, not {getattr(args, name)}")
    args.k = ks(args.k, args.n)
    args.columns = columns(args.columns)
    args.chat_template = json_mapping(args.chat_template, "--chat-template")
    args.request = json_mapping(args.request, "--request")
    args.engine_args = json_mapping(args.engine_args, "--engine-args")
    if args.base_url is not None and not args.base_url.startswith(("http://", "https://")):
        raise UserError(f"--base-url begins with http:// or https://, unlike {args.base_url!r}")
    _as_trained(args)
    if args.task == "aime":
        args.data = args.data or "aime_2024"
    if args.data is not None and args.data.startswith("arithmetic:"):
        args.split = args.split or "test"
    return args


def _as_trained(args: argparse.Namespace) -> None:
    """A model that train wrote is asked as it was in training, where nothing else is said."""
    from bot_grpo.eval_tasks import REACT_SYSTEM

    trained = _run_config(args.model, args.task) if args.backend != "openai" else None
    inherits = trained is not None and (args.system_prompt is None or args.answer_form is None)
    args.asked_as = trained[0] if trained is not None and inherits else None
    default = {"system_prompt": REACT_SYSTEM if args.task == "react" else None}
    config: dict[str, Any] = default if trained is None else trained[1]
    if args.system_prompt is None:
        args.system_prompt = config.get("system_prompt")
    args.system_prompt = args.system_prompt or None
    args.answer_form = args.answer_form or config.get("answer_form") or "boxed"
    args.chat_template = args.chat_template or dict(config.get("chat_template_kwargs") or {})


def _run_config(model: str, task: str) -> tuple[Path, dict[str, Any]] | None:
    """config.yaml of the run that the model is of, if its task is the same."""
    from bot_grpo.rundir import config_of

    found = config_of(Path(model).expanduser())
    return found if found is not None and found[1]["task"] == task else None


def ks(text: str | None, n: int | None) -> list[int] | None:
    """`1,2,4` as numbers. Raises UserError where one is no number from 1, or above `n`."""
    if text is None:
        return None
    try:
        found = sorted({int(part) for part in text.split(",")})
    except ValueError as error:
        raise UserError(f"--k is numbers with commas, such as 1,2,4, not {text!r}") from error
    if found[0] < 1:
        raise UserError(f"--k begins at 1, not {found[0]}")
    if n is not None and found[-1] > n:
        raise UserError(f"--k {found[-1]} needs at least as many samples a problem, and --n is {n}")
    return found


def columns(text: str | None) -> dict[str, str] | None:
    """`problem=ask,answer=gold` as a mapping. Raises UserError."""
    if text is None:
        return None
    pairs = [part.strip().partition("=") for part in text.split(",")]
    if not all(role.strip() and equals and name.strip() for role, equals, name in pairs):
        raise UserError(f"--columns is {text!r}; write it as problem=NAME,answer=NAME")
    return {role.strip(): name.strip() for role, _, name in pairs}


def _task(args: argparse.Namespace) -> tuple[Any, list[Any]]:
    from bot_grpo import eval_tasks

    if args.task == "aime":
        problems = eval_tasks.aime_problems(
            args.data,
            split=args.split,
            columns=args.columns,
            limit=args.limit,
            form=args.answer_form,
            system=args.system_prompt,
        )
        return eval_tasks.AIME(), problems
    tier = None if args.tier == "all" else args.tier
    problems = eval_tasks.react_problems(
        tier=tier, path=args.data, columns=args.columns, limit=args.limit, system=args.system_prompt
    )
    args.data = args.data or f"react, {args.tier}, held out"
    return eval_tasks.React(workers=args.workers), problems


def _settings(args: argparse.Namespace) -> dict[str, Any]:
    """What samples depend on: a folder holds those of one set of these."""
    return {
        "task": args.task,
        "data": args.data,
        "split": args.split,
        "model": args.model,
        "backend": args.backend,
        "temperature": args.temperature,
        "top_p": args.top_p,
        "max_tokens": args.max_tokens,
        "seed": args.seed,
        "answer_form": args.answer_form if args.task == "aime" else None,
        "system_prompt": args.system_prompt,
        "chat_template": args.chat_template,
        "request": args.request,
        "dtype": args.dtype if args.backend != "openai" else None,
    }


def _backend(args: argparse.Namespace) -> Any:
    from bot_grpo.backends import Sampling

    sampling = Sampling(args.temperature, args.top_p, args.max_tokens, args.chat_template)
    if args.backend == "hf":
        from bot_grpo.eval_hf import HFBackend

        return HFBackend(args.model, sampling, dtype=args.dtype, batch_size=args.batch_size)
    if args.backend == "vllm":
        from bot_grpo.eval_vllm import VLLMBackend

        return VLLMBackend(args.model, sampling, dtype=args.dtype, engine_args=args.engine_args)
    from bot_grpo.eval_openai import OpenAIBackend

    return OpenAIBackend(
        args.model,
        sampling,
        base_url=args.base_url,
        concurrency=args.concurrency,
        timeout_s=args.timeout,
        retries=args.retries,
        request=args.request,
    )


def _sample(
    args: argparse.Namespace, run: Any, task: Any, problems: Sequence[Any], wanted: Sequence[Any], known: Sequence[Any]
) -> list[str]:
    """Take the missing samples; returns why some could not be had."""
    from bot_grpo.eval_finish import graded
    from bot_grpo.eval_progress import EvalProgress
    from bot_grpo.evaluate import sample_missing

    backend = _backend(args)
    try:
        for note in backend.notes:
            print(f"note: {note}", flush=True)
        if args.temperature == 0 and args.n > 1:
            print("note: at temperature 0 all samples of a problem are alike", flush=True)

        def marks(samples: Sequence[Any]) -> Any:
            return graded(task, problems, samples) if task.quick else None

        with EvalProgress(len(wanted), "samples") as progress:
            progress.add(known, marks(known), fresh=False)
            return sample_missing(
                run, backend, wanted, {s.key for s in known}, lambda fresh: progress.add(fresh, marks(fresh))
            )
    finally:
        backend.close()


def _incomplete(run: Any, reasons: Sequence[str], total: int) -> int:
    from collections import Counter

    for reason, count in Counter(reasons).most_common(3):
        print(f"bot-grpo eval: {count:,} of {counted(total, 'sample')} could not be had: {reason}", file=sys.stderr)
    if len(reasons) == total:
        return 2
    print(
        f"bot-grpo eval: what came is in {run.path}; the same command asks for the rest, and `bot-grpo regrade "
        f"{run.path}` counts what there is",
        file=sys.stderr,
    )
    return 2


def _finished(args: argparse.Namespace, run: Any, task: Any, problems: Sequence[Any], wanted: Sequence[Any]) -> int:
    from bot_grpo.eval_finish import finish
    from bot_grpo.eval_results import table

    found, _ = finish(run, task, problems, run.wanted(wanted), ks=args.k, seed=args.seed, compare_with=args.compare)
    print("\n".join(["", *table(found)]))
    print(f"wrote results.json, samples.parquet and report.html in {run.path}")
    return 0


def _slug(text: str | None) -> str:
    parts = re.findall(r"[\w.]+", text or "held-out")
    return "-".join(parts[-2:])[-60:]
