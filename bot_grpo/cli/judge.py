"""`bot-grpo judge`: whose pages are better, by a model that sees screenshots or by fixed rules."""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from bot_grpo.cli.judge_options import open_judge
from bot_grpo.cli.parser import Parser
from bot_grpo.errors import UserError
from bot_grpo.pages import check_name, check_writable, write_page
from bot_grpo.win_matches import Match, judged_by_model, judged_by_rules, matches, pages_to_score, standings, to_json
from bot_grpo.win_page import write_win_page
from bot_grpo.win_sides import Side, read_side
from sandbox.judge import Judge
from sandbox.win_rates import ORDER, Standing, questions, without_a_call
from sandbox.words import counted, plural

_EPILOG = """\
A side is a run that train wrote (RUN, or RUN@STEP; by default its last evaluation) or a folder with NAME.png files,
and in it, if you like, prompts.jsonl with lines {"name": "NAME", "prompt": "..."}. Pages are paired by prompt, or by
name. The judge sees the request and both screenshots, four times, in the order A B, B A, B A, A B; the majority wins
and two to two is a tie. Without a call, a page that didn't render loses to one that did, and two equal screenshots
tie. Answers are kept on disk, so the same command goes on where it was stopped and pays nothing twice.
Exit code: 0 when something was scored, 1 when nothing could be, 2 for bad input.

examples:
  bot-grpo judge --a runs/bot --b runs/grpo --judge-model qwen3-vl --base-url http://localhost:8000/v1 --html wins.html
  bot-grpo judge --runs runs/bot@20 runs/bot@40 runs/grpo@40 --judge page
"""
_SHOWN = 5
_JUDGE = (
    *("judge_model", "base_url", "cache", "max_calls", "max_tokens", "prices", "concurrency", "timeout", "retries"),
    *("detail", "seed", "request"),
)
"""The options that are a judge's settings."""


def main(argv: list[str]) -> int:
    args = _parser().parse_args(argv)
    names = _names(args)
    _check_files(args)
    judge = None if args.judge == "page" else _judge(args)
    sides = [read_side(name, args.step) for name in names]
    planned = matches(sides)
    to_do = len(pages_to_score(sides, planned) if judge is None else _open(planned))
    for line in _sides_table(sides, planned):
        print(line)
    asked: dict[str, Any] = {"judge": "page"}
    usage: list[str] = []
    if judge is None:
        with _Bar(to_do, f"{plural(to_do, 'page')} scored") as bar:
            played = judged_by_rules(sides, planned, seed=args.seed, on_done=bar.step)
    elif args.dry_run:
        print(_plan(planned, judge))
        return 0
    else:
        played = _ask(judge, planned, to_do, args.seed)
        usage = _usage(judge)
        asked = {"judge": judge.settings.model, "usage": vars(judge.usage)}
    ranked = standings(played, len(sides), seed=args.seed)
    for line in ["", *_matches_table(played), *_ranking_table(sides, ranked), *usage]:
        print(line)
    for line in _unscored(played):
        print(line, file=sys.stderr)
    if args.output is not None:
        text = json.dumps(asked | to_json(sides, played, ranked), indent=2, ensure_ascii=False)
        write_page(args.output, (text + "\n").encode("utf-8", "replace"))
    if args.html is not None:
        write_win_page(args.html, sides, played, ranked, str(asked["judge"]))
    written = [str(path) for path in (args.output, args.html) if path is not None]
    if written:
        print(f"wrote {' and '.join(written)}")
    return 0 if any(result.score is not None for match in played for result in match.results) else 1


def _parser() -> Parser:
    parser = Parser(
        prog="bot-grpo judge",
        description="Compare the pages of two runs (or folders of screenshots), or rank several.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("--a", metavar="SIDE", help="a run or a folder")
    add("--b", metavar="SIDE", help="the run or folder to compare it with")
    add("--runs", nargs="+", metavar="SIDE", action="extend", help="two or more sides, each against each")
    add("--step", type=int, metavar="N", help="take the runs' evaluation at this step (default: the last)")
    add("--judge", choices=["page"], help="page: fixed rules on the rendered page, no model")
    add("--judge-model", metavar="M", help="the model that judges, as its server names it")
    add("--base-url", metavar="U", help="its OpenAI-compatible address (default: $OPENAI_BASE_URL, else OpenAI's)")
    add("--output", type=Path, metavar="FILE", help="write everything as JSON")
    add("--html", type=Path, metavar="FILE", help="write one page with the screenshots side by side")
    add("--dry-run", action="store_true", help="say how many calls it would take, and make none")
    add("--seed", type=int, default=0, help="of the bootstrap, and sent to the model (default 0)")
    more = parser.add_argument_group("the model's server")
    add = more.add_argument
    add("--cache", type=Path, metavar="DIR", help="where answers are kept (default: ~/.cache/bot-grpo/judge)")
    add("--max-calls", type=int, metavar="N", help="stop asking after so many requests")
    add("--max-tokens", type=int, metavar="N", help="stop asking after so many tokens")
    add("--prices", type=float, nargs=2, metavar=("IN", "OUT"), help="per million tokens, to show what it cost")
    add("--concurrency", type=int, default=8, metavar="N", help="requests at a time (default 8)")
    add("--timeout", type=float, default=60.0, metavar="S", help="seconds for an answer (default 60)")
    add("--retries", type=int, default=3, metavar="N", help="further tries after a failure (default 3)")
    add("--detail", default="auto", metavar="D", help="of the images: low, high or auto (default)")
    add("--request", default="{}", metavar="JSON", help="more fields of the request's body; null takes one away")
    return parser


def _names(args: argparse.Namespace) -> list[str]:
    if (args.a is None) != (args.b is None):
        raise UserError("--a and --b come together")
    names = [*([args.a, args.b] if args.a is not None else []), *(args.runs or [])]
    if len(names) < 2:
        raise UserError("say what to compare: --a SIDE --b SIDE, or --runs SIDE SIDE ...")
    if len(set(names)) < len(names):
        raise UserError("a side is named twice")
    if len(names) > 26:
        raise UserError(f"at most 26 sides, not {len(names)}")
    if (args.judge is None) == (args.judge_model is None):
        raise UserError("say who judges: --judge-model M (with --base-url U for a server of your own), or --judge page")
    if args.judge == "page" and args.dry_run:
        raise UserError("--judge page makes no calls; leave --dry-run out")
    if args.seed < 0:
        raise UserError(f"--seed is 0 or more, not {args.seed}")
    return names


def _check_files(args: argparse.Namespace) -> None:
    """Before anything is paid for."""
    if args.html is not None:
        check_name(args.html)
    check_writable(args.html, args.output)


def _judge(args: argparse.Namespace) -> Judge:
    try:
        args.request = json.loads(args.request)
    except ValueError as error:
        raise UserError(f"--request is no JSON: {error}") from error
    key = "none" if args.dry_run else None  # which asks nobody, and so needs none
    return open_judge(args, *_JUDGE, api_key=key)


def _open(planned: Sequence[Match]) -> list[Any]:
    """The questions that are left to a judge."""
    pairs = [pair for match in planned for pair in match.pairs if without_a_call(pair) is None]
    return [task for pair in pairs for task in questions(pair)]


def _plan(planned: Sequence[Match], judge: Judge) -> str:
    tasks = _open(planned)
    needed, pairs = judge.calls_needed(tasks), sum(len(match.pairs) for match in planned)
    open_ones = (
        f"{counted(len(tasks), 'question')} about the others, of which {needed} {plural(needed, 'needs', 'need')}"
    )
    return (
        f"{counted(pairs, 'pair')}, {pairs - len(tasks) // len(ORDER)} of them decided without a call; {open_ones} a "
        "call (the rest is known, or the same question), and retries"
    )


def _ask(judge: Judge, planned: Sequence[Match], to_do: int, seed: int) -> list[Match]:
    try:
        with _Bar(to_do, plural(to_do, "answer")) as bar:
            return judged_by_model(planned, judge, seed=seed, on_done=bar.step)
    except KeyboardInterrupt:
        n = judge.usage.answers
        kept = f"{counted(n, 'answer')} came and {plural(n, 'is', 'are')} kept"
        print(f"\n{kept}; the same command goes on from there", file=sys.stderr)
        raise


class _Bar:
    """How far it is: a bar on a terminal, ten lines elsewhere."""

    def __init__(self, total: int, what: str) -> None:
        self._total, self._what, self._done, self._said = total, what, 0, 0
        self._start = time.monotonic()
        columns = MofNCompleteColumn(), TextColumn("{task.description}"), BarColumn(bar_width=24), TimeRemainingColumn()
        console = Console(stderr=True, highlight=False)
        self._bar = Progress(*columns, console=console, disable=not console.is_terminal or not total, transient=True)
        self._task = self._bar.add_task(what, total=total)

    def __enter__(self) -> _Bar:
        self._bar.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._bar.stop()

    def step(self) -> None:
        self._done += 1
        if not self._bar.disable:
            self._bar.update(self._task, completed=self._done)
        elif self._done * 10 // self._total > self._said:
            self._said = self._done * 10 // self._total
            seconds = time.monotonic() - self._start
            print(f"{self._done} of {self._total} {self._what}, {seconds:.0f} s", file=sys.stderr, flush=True)


def _usage(judge: Judge) -> list[str]:
    used = judge.usage
    cost = f", cost {used.cost(judge.settings.prices):.4f}" if judge.settings.prices is not None else ""
    tokens = f"{counted(used.prompt_tokens, 'token')} sent, {used.completion_tokens:,} received"
    known = f"{counted(used.cached, 'answer')} known before"
    return ["", f"{counted(used.calls, 'call')} ({known}), {tokens}{cost}"]


def letter(side: int) -> str:
    """A side's name in tables."""
    return chr(ord("A") + side)


def _sides_table(sides: Sequence[Side], planned: Sequence[Match]) -> list[str]:
    rows = []
    for number, side in enumerate(sides):
        valid = sum(page.shot.valid for page in side.pages.values())
        step = "" if side.step is None else f"step {side.step}, "
        rows.append(f"{letter(number)}  {side.name}  ({step}{counted(len(side.pages), 'page')}, {valid} can be judged)")
        rows += _lost(side)
    for match in planned:
        if match.left_out:
            left = f"{counted(match.left_out, 'page')} {plural(match.left_out, 'has', 'have')} no counterpart"
            rows.append(f"{letter(match.a)} and {letter(match.b)}: {left}")
    return rows


def _lost(side: Side) -> list[str]:
    """The files of a folder that cannot be judged, and so lose: nothing else would name them."""
    lost = [page.shot.why for page in side.pages.values() if side.step is None and not page.shot.valid]
    rows = [f"   loses: {why}" for why in lost[:_SHOWN]]
    return rows + [f"   and {len(lost) - _SHOWN} more"] * (len(lost) > _SHOWN)


def _matches_table(played: Sequence[Match]) -> list[str]:
    rows: list[Sequence[str]] = [("", "won", "tied", "lost", "unscored", "win rate (95 % interval)", "flips by order")]
    for match in played:
        rate = match.rate
        assert rate is not None
        share = "–" if rate.rate is None else f"{rate.rate:.3f} ({rate.low:.3f} to {rate.high:.3f})"
        flips = "–" if rate.flips is None else f"{rate.flips:.0%} of {rate.swaps}"
        counts = map(str, (rate.wins, rate.ties, rate.losses, rate.unscored))
        rows.append((f"{letter(match.a)} against {letter(match.b)}", *counts, share, flips))
    return _table(rows)


def _ranking_table(sides: Sequence[Side], ranked: Sequence[Standing]) -> list[str]:
    if not ranked:
        return []
    rows = [("rank", "side", "Bradley-Terry strength (95 % interval)", "win rate", "games")]
    for place, one in enumerate(ranked, 1):
        strength = f"{one.strength:+.2f} ({one.low:+.2f} to {one.high:+.2f})"
        name = f"{letter(one.side)}  {sides[one.side].name}"
        rows.append((str(place), name, strength, f"{one.rate:.3f}", str(one.games)))
    return ["", *_table(rows)]


def _table(rows: Sequence[Sequence[str]]) -> list[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return ["  ".join(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]


def _unscored(played: Sequence[Match]) -> list[str]:
    results = [result for match in played for result in match.results]
    reasons = Counter(result.reason for result in results if result.score is None)
    of = counted(len(results), "pair")
    return [f"unscored, {count} of {of}: {reason}" for reason, count in reasons.most_common(_SHOWN)]
