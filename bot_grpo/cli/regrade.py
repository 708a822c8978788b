"""`bot-grpo regrade`: grade an evaluation's saved samples again, with no model."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from bot_grpo.cli.eval import ks
from bot_grpo.cli.parser import Parser
from bot_grpo.errors import UserError
from sandbox.words import counted

_EPILOG = """\
Every sample in DIR (samples.jsonl, or samples.parquet where that is gone) is graded as `bot-grpo eval` would now, and
results.json, samples.parquet and report.html are written anew. An evaluation that was broken off is counted as far as
it got. Exit code: 0 done, 2 bad input.

examples:
  bot-grpo regrade evals/aime-aime_2025-Qwen3-4B --k 1,8,64
  bot-grpo regrade evals/react-held-out-smollm2-135m --workers 4 --compare evals/react-held-out-mine
"""
_SHOWN = 10


def main(argv: list[str]) -> int:
    args = _parser().parse_args(argv)
    from sandbox.pool import is_workers

    if not is_workers(args.workers):
        raise UserError(f"--workers is a number from 1, or ray, or ray://HOST:PORT, not {args.workers}")
    if args.seed < 0:
        raise UserError(f"--seed is a whole number from 0, not {args.seed}")
    from bot_grpo.eval_finish import changed, finish
    from bot_grpo.eval_results import table
    from bot_grpo.eval_tasks import AIME, React
    from bot_grpo.evaluate import EvalDir, requests
    from bot_grpo.pages import check_writable

    run = EvalDir(args.folder)
    config = run.config()
    problems = run.problems()
    settings, n = config["settings"], int(config["n"])
    chosen = ks(args.k, n)
    samples = run.wanted(requests(problems, n, settings["seed"]))
    if not samples:
        raise UserError(f"{run.path} holds no samples")
    check_writable(run.path / "results.json")
    of = f"{counted(len(samples), 'sample')} of {counted(len(problems), 'problem')}"
    print(f"grading {of} in {run.path}", flush=True)
    task: Any = AIME() if settings["task"] == "aime" else React(workers=args.workers)
    before = _verdicts(run.path)
    try:
        found, by_problem = finish(run, task, problems, samples, ks=chosen, seed=args.seed, compare_with=args.compare)
    finally:
        task.close()
    others = changed(run, by_problem, before)
    for line in others[:_SHOWN]:
        print(line)
    print(f"{len(others):,} of {len(samples):,} verdicts are others than before" if before else "first grading")
    print("\n".join(["", *table(found)]))
    print(f"wrote results.json, samples.parquet and report.html in {run.path}")
    return 0


def _parser() -> Parser:
    parser = Parser(
        prog="bot-grpo regrade",
        description="Grade the saved samples of an evaluation again and count them, with no model.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("folder", type=Path, metavar="DIR", help="what `bot-grpo eval` wrote")
    add("--k", metavar="K,K", help="values of k (default: 1, 2, 4, ... and n)")
    add("--compare", type=Path, metavar="DIR", help="another evaluation: the paired difference to it")
    add("--seed", type=int, default=0, help="of the bootstrap (default 0)")
    add("--workers", default="1", metavar="N", help="react: browsers side by side (default 1), or ray")
    return parser


def _verdicts(folder: Path) -> dict[tuple[str, int], bool | None]:
    """The verdicts of samples.parquet; none where it is not there, or damaged."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        rows = pq.read_table(folder / "samples.parquet", columns=["problem", "sample", "correct"]).to_pylist()
    except FileNotFoundError:
        return {}
    except (OSError, pa.ArrowException, KeyError) as error:
        print(f"samples.parquet cannot be read and is written anew ({type(error).__name__})", file=sys.stderr)
        return {}
    return {(row["problem"], row["sample"]): row["correct"] for row in rows}
