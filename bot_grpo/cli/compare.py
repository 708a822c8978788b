"""`bot-grpo compare`: algorithms against each other, over seeds."""

from __future__ import annotations

import argparse
import json
import os
import re
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bot_grpo.cli.parser import Parser, number
from bot_grpo.errors import UserError
from sandbox.words import counted

if TYPE_CHECKING:
    from bot_grpo.compare_cells import Cell
    from bot_grpo.compare_run import Planned

METRICS = {"react": "eval/compile_rate", "aime": "eval/accuracy"}
_EPILOG = """\
With --config every cell (an algorithm and a seed) that STUDY has not got is trained, each in a process of its own, and
kept as STUDY/ALGORITHM-seedN. The same command goes on after any stop. Without --config the cells that lie in STUDY are
compared. Written to STUDY: compare.md, compare.json, compare.html, curves.svg; each cell's log is in STUDY/logs.
Exit code: 0 all cells are done, 1 some are missing (named), 2 bad input.

examples:
  bot-grpo compare --config react-smollm2-cpu --algorithms bot_grpo,grpo,gspo,dapo,pure --seeds 0-4 --threshold .8
  bot-grpo compare studies/mine --config react-smollm2-cpu --algorithms bot_grpo,grpo --seeds 0-2 --budget-hours 8
  bot-grpo compare studies/w --config react-smollm2-cpu --algorithms bot_grpo --what-if w_s=0 --what-if window=3
  bot-grpo compare studies/gpu --config mine.yaml --seeds 0-4 --launcher "accelerate launch --num_processes 8"
  bot-grpo compare bot_grpo/results/react-smollm2-cpu --metric eval/compile_rate eval/requirements
What stands after a lone -- goes to every `bot-grpo train`:   ... --seeds 0,1 -- --max_steps 10 --eval_prompts 96
"""


def main(argv: list[str]) -> int:
    """Train what is missing, compare what there is, write it down."""
    argv, extra = (argv[: argv.index("--")], argv[argv.index("--") + 1 :]) if "--" in argv else (argv, [])
    options = _parser().parse_args(argv)
    if options.config is None:
        if extra or options.what_if or options.dry_run:
            raise UserError(
                "--what-if, --dry-run and what stands after -- need --config: they are about cells to train"
            )
        return _compare_stored(options)
    return _train_and_compare(options, extra)


def _parser() -> Parser:
    parser = Parser(
        prog="bot-grpo compare",
        description="Compare algorithms over seeds: steps, rollouts, tokens and time to a threshold, final and best "
        "rate, paired differences with intervals.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("study", metavar="STUDY", type=Path, nargs="?", help="folder of the cells (default: runs/compare-CONFIG)")
    add("--config", metavar="NAME", help="a recipe or a file, as for `bot-grpo train`")
    add("--algorithms", metavar="A,B", type=_names, help="default: those in STUDY; with --config bot_grpo,grpo")
    add("--seeds", metavar="0-4", type=_seeds, help="as 0-4 or 0,1,7 (default: those in STUDY; with --config 0-2)")
    add("--threshold", metavar="X", type=number(), nargs="+", default=[0.8], help="of the first metric (default: 0.8)")
    add("--metric", metavar="M", nargs="+", help="default: eval/compile_rate for React, eval/accuracy for AIME")
    add("--baseline", metavar="ARM", help="what is compared to (default: grpo, or else the first)")
    add("--what-if", metavar="W", nargs="+", action="append", default=[],
        help="one more arm: [ALGORITHM] KEY=VALUE ..., a setting of the algorithm (length_weighted, sigma_floor, "
        "outcome), the run (w_s, rewards) or the reward (window, w_requirements); may be given again")  # fmt: skip
    add("--budget-hours", metavar="H", type=number(above=0), help="start no cell that would not end in time")
    add("--workers", metavar="N", type=number(least=1, whole=True), default=1, help="cells at a time (default: 1)")
    add("--launcher", metavar="WORDS", type=_words, default=[],
        help="what starts a cell: 'accelerate launch ...', torchrun, ray, ray://HOST:PORT, 'srun ...'")  # fmt: skip
    add("--dry-run", action="store_true", help="list the cells and how long they may take")
    add("--force", action="store_true", help="compare cells whose settings differ")
    add("--output", metavar="DIR", type=Path, help="where to write (default: STUDY)")
    return parser


def _names(text: str) -> list[str]:
    names = [name.strip() for name in text.split(",") if name.strip()]
    if not names or len(set(names)) < len(names):
        raise argparse.ArgumentTypeError(f"names with commas between are wanted, each once, not {text!r}")
    return names


def _words(text: str) -> list[str]:
    try:
        return shlex.split(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"{text!r}: {error} (a quotation mark that is not closed?)") from error


def _seeds(text: str) -> list[int]:
    seeds: list[int] = []
    for part in text.split(","):
        if (found := re.fullmatch(r"\s*(\d+)(?:-(\d+))?\s*", part)) is None:
            raise argparse.ArgumentTypeError(f"seeds are written as 0-4 or 0,1,7, not {text!r}")
        first, last = int(found[1]), int(found[2] or found[1])
        if last - first >= 1000:
            raise argparse.ArgumentTypeError(f"{part.strip()!r} are more than a thousand seeds")
        seeds += range(first, last + 1)
    if not seeds or len(set(seeds)) < len(seeds):
        raise argparse.ArgumentTypeError(f"each seed once is wanted, not {text!r}")
    return seeds


# -- what lies in a study ---------------------------------------------------------------------------------------------


def _compare_stored(options: argparse.Namespace) -> int:
    from bot_grpo.compare_cells import cell_folders, read_cell
    from bot_grpo.pages import check_folder

    if options.study is None:
        raise UserError("give a STUDY to read, or --config to train one; `bot-grpo compare --help` has examples")
    if not options.study.is_dir():
        raise UserError(f"there is no folder {options.study}")
    if options.output is not None:
        check_folder(options.output)
    paths = [path for path in cell_folders(options.study) if _asked_for(options, path.name)]
    cells = {path: read_cell(path) for path in paths}
    found = [cell for cell in cells.values() if cell is not None]
    if not found:
        raise UserError(f"{options.study} holds no such cell: ALGORITHM-seedN with metrics.jsonl and config.yaml")
    wanted = options.algorithms
    at = "stopped, or is running, at step {} of {}"
    missing = {cell.name: at.format(cell.steps, cell.of or "?") for cell in found if not cell.finished}
    begun = [path for path, cell in cells.items() if cell is None and (path / "config.yaml").exists()]
    missing |= {path.name: "nothing was measured in it" for path in begun}
    there = dict.fromkeys(cell.arm for cell in found)
    arms = list(dict.fromkeys([*(name for name in wanted or [] if name in there), *there]))
    return _finish(options, options.study, found, arms, _baseline(options, arms), missing)


def _asked_for(options: argparse.Namespace, name: str) -> bool:
    """Whether the cell of this name is among --algorithms, which mean their variants too, and --seeds."""
    arm, _, seed = name.rpartition("-seed")
    arms, seeds = options.algorithms, options.seeds
    return (arms is None or arm in arms or arm.split("+")[0] in arms) and (seeds is None or int(seed) in seeds)


# -- a study to train -------------------------------------------------------------------------------------------------


def _train_and_compare(options: argparse.Namespace, extra: Sequence[str]) -> int:
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    from bot_grpo.compare_arms import make_arms
    from bot_grpo.compare_cells import read_cell
    from bot_grpo.compare_run import run_cells
    from bot_grpo.pages import check_folder

    study = options.study or Path("runs") / f"compare-{Path(options.config).stem}"
    arms = make_arms(options.config, options.algorithms or ["bot_grpo", "grpo"], options.what_if, extra)
    seeds = options.seeds or [0, 1, 2]
    planned = [arm.cell(study, seed) for seed in seeds for arm in arms]  # seed by seed: a stop leaves whole pairs
    baseline = _baseline(options, [arm.name for arm in arms])
    options.metric = _metrics(options, str(arms[0].config["task"]))
    configs: dict[str, Mapping[str, Any]] = {f"{arm.name}-seedN": arm.config for arm in arms}
    configs |= {p.name: cell.config for p in planned if (cell := _there(p)) is not None}
    _hold_comparable(options, configs, "seedN is what is asked for now")
    if options.dry_run:
        print("\n".join(_plan(planned, options)))
        return 0
    if options.output is not None:
        check_folder(options.output)
    print(f"{counted(len(planned), 'cell')} in {study}", flush=True)
    why = run_cells(
        planned,
        study,
        metric=options.metric[0],
        launcher=options.launcher,
        workers=int(options.workers),
        budget_s=options.budget_hours and 3600 * options.budget_hours,
        say=_say,
    )
    found = [cell for p in planned if p.path.is_dir() and (cell := read_cell(p.path)) is not None]
    if not any(cell.finished for cell in found):
        print("\n".join(["no cell is done yet:", *(f"  {name}: {reason}" for name, reason in why.items())]))
        return 1
    return _finish(options, study, found, [arm.name for arm in arms], baseline, why)


def _there(planned: Planned) -> Cell | None:
    from bot_grpo.compare_cells import read_cell

    return read_cell(planned.path) if (planned.path / "config.yaml").exists() else None


def _say(text: str) -> None:
    print(text, flush=True)


def _plan(planned: Sequence[Planned], options: argparse.Namespace) -> list[str]:
    """The cells, how each stands, and what is left to do of them all."""
    from bot_grpo.compare_run import expected_seconds, share_left, state
    from bot_grpo.report_charts import duration

    words = {"new": "to train", "done": "done", "resume": "to go on with", "again": "to begin anew (no checkpoint yet)"}
    lines = [f"{p.name}: {words[state(p.path)]}" for p in planned]
    mean = expected_seconds([cell for p in planned if (cell := _there(p)) is not None])
    left = sum(share_left(p.path) for p in planned)
    if mean is None:
        return [*lines, f"{left:g} cells to train; none is done yet, so how long that takes is not known"]
    took = f"{duration(mean * left / options.workers)} at {counted(int(options.workers), 'cell')} a time"
    lines.append(f"{left:.3g} cells to train, about {took} (mean of those done: {duration(mean)})")
    budget = options.budget_hours
    if budget and mean * left / options.workers > 3600 * budget:
        lines.append(f"that is more than the {budget:g} h of --budget-hours: the last ones will be missing")
    return lines


# -- both -------------------------------------------------------------------------------------------------------------


def _baseline(options: argparse.Namespace, arms: Sequence[str]) -> str:
    if options.baseline is not None and options.baseline not in arms:
        raise UserError(f"--baseline {options.baseline} is not among the arms: {', '.join(arms)}")
    return options.baseline or ("grpo" if "grpo" in arms else arms[0])


def _metrics(options: argparse.Namespace, task: str) -> list[str]:
    """What is compared. Raises `UserError` for a threshold that no share can reach: it was meant in percent."""
    from bot_grpo.compare_words import is_share

    metrics: list[str] = options.metric or [METRICS.get(task, "eval/reward/outcome")]
    if is_share(metrics[0]) and (high := [x for x in options.threshold if x > 1]):
        raise UserError(f"--threshold {high[0]:g}: {metrics[0]} is a share, from 0 to 1; 80 % is 0.8")
    return metrics


def _hold_comparable(
    options: argparse.Namespace, configs: Mapping[str, Mapping[str, Any]], remark: str = ""
) -> list[str]:
    from bot_grpo.compare_cells import differences

    found = differences(configs)
    if found and not options.force:
        said = f" ({remark})" if remark and any("seedN" in line for line in found) else ""
        raise UserError(f"the cells are not comparable: {' | '.join(found)}{said}; --force compares them all the same")
    return found


def _finish(
    options: argparse.Namespace,
    study: Path,
    cells: Sequence[Cell],
    arms: Sequence[str],
    baseline: str,
    missing: Mapping[str, str],
) -> int:
    from bot_grpo.compare import figures, notes
    from bot_grpo.compare_cells import origins, other_prompts
    from bot_grpo.compare_words import chance, document, markdown, tables

    wrong = _hold_comparable(options, {cell.name: cell.config for cell in cells})
    done = [cell for cell in cells if cell.finished]
    if prompts := other_prompts(done):
        if not options.force:
            raise UserError(f"the cells are not comparable: {' | '.join(prompts)}; --force compares them all the same")
        wrong += prompts
    metrics = _metrics(options, str(cells[0].config.get("task", "react")))
    found = figures(done, metrics=metrics, thresholds=options.threshold, baseline=baseline, arms=arms)
    found["missing"] = [{"cell": name, "why": reason} for name, reason in missing.items()]
    found["notes"] = [f"Not comparable (--force): {line}." for line in wrong] + notes(found) + chance(metrics, done)
    found["notes"] += [f"{line[0].upper()}{line[1:]}." for line in origins(done)]
    found["setting"] = {key: cells[0].config.get(key) for key in ("task", "model")}
    print("\n\n".join(["", *map(markdown, tables(found))]) + "\n")
    print("\n".join([*(f"missing: {name}: {reason}" for name, reason in missing.items()), *found["notes"]]))
    _write(options.output or study, study.resolve().name, found, document(found, study.resolve().name), done)
    return 1 if missing else 0


def _write(folder: Path, title: str, found: Mapping[str, Any], text: str, cells: Sequence[Cell]) -> None:
    from bot_grpo.compare_page import write_compare_page
    from bot_grpo.compare_svg import picture

    try:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "compare.md").write_text(text, encoding="utf-8")
        (folder / "compare.json").write_text(json.dumps(found, indent=1, allow_nan=False) + "\n", encoding="utf-8")
        (folder / "curves.svg").write_text(picture(found), encoding="utf-8")
    except OSError as error:
        raise UserError(f"{folder} cannot be written: {error.strerror or error}") from error
    write_compare_page(folder / "compare.html", found, cells, title=title)
    print(f"wrote {folder}/compare.md, compare.json, compare.html, curves.svg")
