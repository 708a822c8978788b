"""`bot-grpo sandbox`: compile (and render, and judge) components, and print how each one ended."""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from bot_grpo.cli.judge_options import open_judge
from bot_grpo.cli.parser import Parser
from bot_grpo.cli.sandbox_inputs import Entry, read_entries
from bot_grpo.errors import UserError
from bot_grpo.gallery import Exhibit, write_gallery
from bot_grpo.pages import check_name, check_writable
from sandbox.outcome import Outcome
from sandbox.pool import is_workers, open_sandbox
from sandbox.setup import GET_NODE, NODE_MIN, node
from sandbox.words import counted

if TYPE_CHECKING:
    from sandbox.judge import Judge, Verdict  # imported where it is used: it takes a second

_EPILOG = """\
A .jsx or .tsx file is a component's code; a .jsonl, .csv or .parquet file holds a chat reply a row (`completion`, and
if you like `id`, `prompt` and `requirements`), as the rollouts of a run do; any other file, and standard input (-), is
a chat reply with a component in it. A directory stands for its files of these kinds, in order of name.
Exit code: 0 when every input got a verdict, whatever the verdicts are; 1 when a judge that was asked for could score
none of them; 2 for bad input. After Ctrl-C (130) the gallery holds what was judged until then.

examples:
  bot-grpo sandbox --render --screenshots shots/ reply.md Counter.tsx
  bot-grpo sandbox replies/ --lint --judge page --html gallery.html
  bot-grpo sandbox runs/NAME/rollouts/*.parquet --judge screenshot --judge-model M --base-url http://localhost:8000/v1
"""
_MODELS = ("code", "screenshot")


def main(argv: list[str]) -> int:
    args = _parser().parse_args(argv)
    _settle(args)
    entries = read_entries(args.inputs, args.prompt)
    judge = _judge(args)
    with ExitStack() as stack:
        if args.render and args.screenshots is None and (args.html is not None or "screenshot" in args.judge):
            args.screenshots = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="bot-grpo-gallery-")))
            kept = False
        else:
            kept = args.screenshots is not None
        show = _in_order(lambda e: print(_json(e, kept) if args.json else _line(e, kept), flush=True))
        judged: dict[int, Exhibit] = {}
        try:
            _run(args, entries, judged, show if judge is None else None)
            if judge is not None:
                _ask(judge, args, judged, show)
        except KeyboardInterrupt:
            if args.html is not None and judged:
                there = [judged[number] for number in sorted(judged)]
                print(f"\n{len(there)} of {len(entries)} were judged; {_gallery(there, args)}", file=sys.stderr)
            raise
        exhibits = [judged[number] for number in range(len(entries))]
        said = _said(exhibits, args.judge, args.screenshots if kept else None)
        if args.html is not None:
            said += f"; {_gallery(exhibits, args)}"
    print(said, file=sys.stderr)
    for line in _unscored(exhibits, args.judge):
        print(line, file=sys.stderr)
    if judge is not None:
        used = judge.usage
        known = f"{counted(used.cached, 'answer')} known before"
        print(f"{counted(used.calls, 'request')}, {counted(used.tokens, 'token')}, {known}", file=sys.stderr)
    return 0 if all(_scores(exhibits, kind) for kind in args.judge) else 1


def _parser() -> Parser:
    parser = Parser(
        prog="bot-grpo sandbox",
        description="Compile React components, render and judge them if asked to, and print one verdict a line, in "
        "input order.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("inputs", nargs="+", metavar="FILE|DIR|-", help="files, directories, or - for standard input")
    add("--render", action=argparse.BooleanOptionalAction, help="also mount each one in Chromium")
    add("--screenshots", type=Path, metavar="DIR", help="keep the screenshots here (implies --render)")
    add("--lint", action="store_true", help="add ESLint's findings to the diagnostics")
    add("--html", type=Path, metavar="FILE", help="write a gallery to go through (renders, unless --no-render)")
    add("--json", action="store_true", help="print JSON objects instead of text")
    add("--timeout", type=float, default=5.0, metavar="S", help="seconds for a component (default 5)")
    add("--workers", default="1", metavar="N", help="browsers side by side (default 1), or ray, or ray://HOST:PORT")
    more = parser.add_argument_group("judges (page and screenshot imply --render)")
    add = more.add_argument
    add(
        "--judge",
        action="append",
        default=[],
        choices=["page", *_MODELS],
        help="page: fixed rules on the rendered page; code, screenshot: a model's score of 10; can be repeated",
    )
    add("--judge-model", metavar="M", help="the model of code and screenshot, as its server names it")
    add("--base-url", metavar="U", help="its OpenAI-compatible address (default: $OPENAI_BASE_URL, else OpenAI's)")
    add("--prompt", default="", metavar="TEXT", help="the request that was answered, for what has no prompt of its own")
    return parser


def _settle(args: argparse.Namespace) -> None:
    """Check the options against each other, and set `render` to what they mean."""
    if not 0 < args.timeout <= 3600:
        raise UserError(f"--timeout is a number of seconds above 0, at most 3600, not {args.timeout:g}")
    if not is_workers(args.workers):
        raise UserError(f"--workers is at least 1, or ray, or ray://HOST:PORT, not {args.workers}")
    args.judge = list(dict.fromkeys(args.judge))
    wanting = ["--screenshots"] * (args.screenshots is not None)
    wanting += [f"--judge {kind}" for kind in ("page", "screenshot") if kind in args.judge]
    if args.render is False and wanting:
        raise UserError(f"{wanting[0]} needs rendering; leave out --no-render")
    if args.render is None:
        args.render = bool(wanting) or args.html is not None
    if args.html is not None:
        check_name(args.html)
        check_writable(args.html)


def _judge(args: argparse.Namespace) -> Judge | None:
    """The model that is to be asked, if any."""
    asked = [kind for kind in _MODELS if kind in args.judge]
    if not asked:
        return None
    if args.judge_model is None:
        raise UserError(f"--judge {asked[0]} needs --judge-model M (and --base-url U for a server of your own)")
    return open_judge(args, "judge_model", "base_url")


def _in_order(show: Callable[[Exhibit], None]) -> Callable[[int, Exhibit], None]:
    """Take results as they come, and show them in the order of their numbers."""
    ready: dict[int, Exhibit] = {}
    shown = 0

    def take(index: int, exhibit: Exhibit) -> None:
        nonlocal shown
        ready[index] = exhibit
        while shown in ready:
            show(ready.pop(shown))
            shown += 1

    return take


def _run(
    args: argparse.Namespace,
    entries: Sequence[Entry],
    judged: dict[int, Exhibit],
    show: Callable[[int, Exhibit], None] | None,
) -> None:
    """Put what the sandbox says into `judged`, by number; each one is shown when it is there."""
    here = args.workers.strip().isdecimal()  # and not on a cluster
    if here and not args.render and not args.lint and node() is None:
        print(
            "bot-grpo sandbox: there is no Node, so esbuild-py compiles (JSX only, without places of errors); "
            f"for more, get Node {NODE_MIN} or newer: {GET_NODE}",
            file=sys.stderr,
        )
    root = args.render and here and os.geteuid() == 0

    def on_done(index: int, outcome: Outcome) -> None:
        nonlocal root
        if root and outcome.render_ms is not None:  # not before a browser really ran
            print("bot-grpo sandbox: running as root, so Chromium runs without its own sandbox", file=sys.stderr)
            root = False
        entry = entries[index]
        judged[index] = Exhibit(entry.name, outcome, entry.prompt, entry.item.requirements)
        if show is not None:
            show(index, judged[index])

    try:
        sandbox = open_sandbox(
            args.workers,
            render=args.render,
            timeout_s=args.timeout,
            screenshots=args.screenshots if args.render else None,
            lint=args.lint,
            page="page" in args.judge,
        )
    except OSError as error:
        raise UserError(f"cannot write to {str(args.screenshots)!r}: {error.strerror}") from error
    with sandbox:
        sandbox.run([entry.item for entry in entries], on_done=on_done)


def _ask(
    judge: Judge, args: argparse.Namespace, judged: dict[int, Exhibit], show: Callable[[int, Exhibit], None]
) -> None:
    """Put the verdicts of the model judges that were asked for into `judged`; each is shown when it has them all."""
    from sandbox.judge import CodeTask, ScreenshotTask, Verdict

    exhibits = [judged[number] for number in range(len(judged))]
    about = counted(len(exhibits), "component")
    print(f"bot-grpo sandbox: {judge.settings.model} is asked about {about}", file=sys.stderr)
    kinds = [kind for kind in _MODELS if kind in args.judge]

    def done(kind: str, numbers: Sequence[int], index: int, verdict: Verdict) -> None:
        one = judged[numbers[index]]
        judged[numbers[index]] = dataclasses.replace(one, verdicts={**one.verdicts, kind: verdict})
        if kind == kinds[-1]:
            show(numbers[index], judged[numbers[index]])

    if "code" in kinds:
        code = [CodeTask(each.prompt, each.outcome.code) for each in exhibits]
        judge.judge_code(code, on_done=partial(done, "code", range(len(exhibits))))
    if "screenshot" in kinds:
        for number, each in enumerate(exhibits):
            if each.outcome.screenshot is None:
                done("screenshot", [number], 0, Verdict(None, reason=f"no screenshot: {each.outcome.status.value}"))
        numbers = [number for number, each in enumerate(exhibits) if each.outcome.screenshot is not None]
        shots = [(exhibits[number].prompt, exhibits[number].outcome) for number in numbers]
        pictures = [ScreenshotTask(prompt, o.screenshot, o.code) for prompt, o in shots if o.screenshot is not None]
        judge.judge_screenshots(pictures, on_done=partial(done, "screenshot", numbers))


def _json(exhibit: Exhibit, kept: bool) -> str:
    outcome = exhibit.outcome
    fields = {
        "file": exhibit.name,
        "status": outcome.status.value,
        "diagnostics": [dataclasses.asdict(d) for d in outcome.diagnostics],
        "requirements": [dataclasses.asdict(r) for r in outcome.requirements],
        "compile_ms": outcome.compile_ms,
        "render_ms": outcome.render_ms,
        "screenshot": str(outcome.screenshot) if outcome.screenshot and kept else None,
        "page": dataclasses.asdict(outcome.page) if outcome.page else None,
        "page_reason": outcome.page_reason,
        "judge": {kind: dataclasses.asdict(verdict) for kind, verdict in exhibit.verdicts.items()},
    }
    return json.dumps(fields, ensure_ascii=False).encode("utf-8", "replace").decode()


def _line(exhibit: Exhibit, kept: bool) -> str:
    outcome = exhibit.outcome
    parts = [f"{outcome.status.value:<13}", exhibit.name]
    times = [f"{ms:.0f} ms" for ms in (outcome.compile_ms, outcome.render_ms) if ms is not None]
    if times:
        parts.append(f"({' + '.join(times)})")
    if outcome.requirements:
        parts.append(f"{sum(r.met for r in outcome.requirements)} of {len(outcome.requirements)} met")
    if outcome.page:
        parts.append(f"page {outcome.page.score:.2f}")
    elif outcome.page_reason:
        parts.append(f"page not scored: {outcome.page_reason}")
    for kind, verdict in exhibit.verdicts.items():
        score = f"{verdict.score:g} of 10" if verdict.score is not None else f"no score: {verdict.reason}"
        parts.append(f"{kind} judge {score}")
    if outcome.screenshot and kept:
        parts.append(str(outcome.screenshot))
    if outcome.diagnostics:
        d = outcome.diagnostics[0]
        more = f" (and {len(outcome.diagnostics) - 1} more)" if len(outcome.diagnostics) > 1 else ""
        parts.append(f"line {d.line}:{d.column} {d.message}{more}")
    return "  ".join(parts).encode("utf-8", "replace").decode()


def _said(exhibits: Sequence[Exhibit], judges: Sequence[str], screenshots: Path | None) -> str:
    counts = Counter(exhibit.outcome.status.value for exhibit in exhibits)
    said = f"{len(exhibits)} judged: " + ", ".join(f"{n} {status}" for status, n in counts.most_common())
    for kind in judges:
        scores = _scores(exhibits, kind)
        mean = f" {sum(scores) / len(scores):.2f}{'' if kind == 'page' else ' of 10'}," if scores else ""
        said += f"; {kind} judge:{mean} {len(scores)} of {len(exhibits)} scored"
    return said + (f"; screenshots in {screenshots}" if screenshots is not None else "")


def _scores(exhibits: Sequence[Exhibit], kind: str) -> list[float]:
    """The scores that a judge gave."""
    return [score for each in exhibits if (score := _score(each, kind)[0]) is not None]


def _score(exhibit: Exhibit, kind: str) -> tuple[float | None, str]:
    """What a judge gave, or why it gave nothing."""
    outcome = exhibit.outcome
    if kind != "page":
        return exhibit.verdicts[kind].score, exhibit.verdicts[kind].reason
    if outcome.page is None:
        return None, outcome.page_reason or f"not rendered: {outcome.status.value}"
    return outcome.page.score, ""


def _unscored(exhibits: Sequence[Exhibit], judges: Sequence[str]) -> list[str]:
    """Each reason for a missing score, once, with how many it is for."""
    lines = []
    for kind in judges:
        reasons = Counter(why for score, why in (_score(each, kind) for each in exhibits) if score is None)
        of = f"{len(exhibits)} by the {kind} judge"
        lines += [f"unscored, {count} of {of}: {reason}" for reason, count in reasons.most_common(5)]
    return lines


def _gallery(exhibits: Sequence[Exhibit], args: argparse.Namespace) -> str:
    """Write it, and say so."""
    gallery = write_gallery(exhibits, args.html, title=_title(args.inputs))
    return f"wrote {gallery.path} ({gallery.size / 1e6:.1f} MB)"


def _title(inputs: Sequence[str]) -> str:
    first = "standard input" if inputs[0] == "-" else Path(inputs[0]).resolve().name
    return first if len(inputs) == 1 else f"{first} and {len(inputs) - 1} more"
