"""`bot-grpo sandbox`: compile (and render) components, and print how each one ended."""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import sys
from collections import Counter
from pathlib import Path

from bot_grpo.cli.parser import Parser
from bot_grpo.errors import UserError
from sandbox.outcome import Outcome
from sandbox.pool import Item, Sandbox

KINDS = {".jsx", ".tsx", ".js", ".ts", ".md", ".txt", ".html"}
_CODE = {".jsx": "jsx", ".tsx": "tsx"}
_READ_LIMIT = 16 << 20  # bytes; longer than any reply

_EPILOG = """\
A .jsx or .tsx file is a component's code; any other file, and standard input (-), is a chat reply with a component in
it. A directory stands for its files of these kinds, in order of name.
Exit code: 0 when every input got a verdict, whatever the verdicts are; 2 for bad input.

example:
  bot-grpo sandbox --render --screenshots shots/ reply.md Counter.tsx
"""


def main(argv: list[str]) -> int:
    args = _parser().parse_args(argv)
    if not 0 < args.timeout <= 3600:
        raise UserError(f"--timeout is a number of seconds above 0, at most 3600, not {args.timeout:g}")
    if args.workers < 1:
        raise UserError(f"--workers is at least 1, not {args.workers}")
    render = args.render or (args.render is None and args.screenshots is not None)
    if args.screenshots is not None and not render:
        raise UserError("--screenshots needs rendering; leave out --no-render")
    inputs = [each for name in args.inputs for each in _expanded(name)]
    items = [_item(name) for name in inputs]
    if render and os.geteuid() == 0:
        print("bot-grpo sandbox: running as root, so Chromium runs without its own sandbox", file=sys.stderr)
    outcomes = _judge(args, inputs, items, render)
    counts = Counter(outcome.status.value for outcome in outcomes)
    said = ", ".join(f"{n} {status}" for status, n in counts.most_common())
    where = f"; screenshots in {args.screenshots}" if args.screenshots is not None else ""
    print(f"{len(outcomes)} judged: {said}{where}", file=sys.stderr)
    return 0


def _parser() -> Parser:
    parser = Parser(
        prog="bot-grpo sandbox",
        description="Compile React components, render them if asked to, and print one verdict a line, in input order.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("inputs", nargs="+", metavar="FILE|DIR|-", help="files, directories, or - for standard input")
    parser.add_argument("--render", action=argparse.BooleanOptionalAction, help="also mount each one in Chromium")
    parser.add_argument("--screenshots", type=Path, metavar="DIR", help="keep the screenshots here (implies --render)")
    parser.add_argument("--json", action="store_true", help="print JSON objects instead of text")
    parser.add_argument("--timeout", type=float, default=5.0, metavar="S", help="seconds for a component (default 5)")
    parser.add_argument("--workers", type=int, default=1, metavar="N", help="browsers side by side (default 1)")
    return parser


def _expanded(name: str) -> list[str]:
    path = Path(name)
    if name == "-" or (path.exists() and not path.is_dir()):
        return [name]
    if not path.exists():
        raise UserError(f"there is no file or directory {name!r}")
    found = sorted(str(p) for p in path.iterdir() if p.suffix in KINDS and p.is_file())
    if not found:
        raise UserError(f"{name!r} holds no file of these kinds: {' '.join(sorted(KINDS))}")
    return found


def _item(name: str) -> Item:
    try:
        if name == "-":
            data = sys.stdin.buffer.read(_READ_LIMIT + 1)
        else:
            with Path(name).open("rb") as file:
                data = file.read(_READ_LIMIT + 1)
    except OSError as error:
        raise UserError(f"cannot read {name!r}: {error.strerror}") from error
    text = data.decode("utf-8", "replace").removeprefix("\ufeff")
    language = _CODE.get(Path(name).suffix)
    if language or len(data) > _READ_LIMIT:  # what is too long to be a reply is refused as code
        return Item(text, "code", language)
    return Item(text)


def _judge(args: argparse.Namespace, inputs: list[str], items: list[Item], render: bool) -> list[Outcome]:
    ready: dict[int, Outcome] = {}
    printed = 0

    def on_done(index: int, outcome: Outcome) -> None:
        nonlocal printed
        ready[index] = outcome
        while printed in ready:
            each = ready.pop(printed)
            print(_json(inputs[printed], each) if args.json else _line(inputs[printed], each), flush=True)
            printed += 1

    try:
        sandbox = Sandbox(
            workers=args.workers,
            render=render,
            timeout_s=args.timeout,
            screenshots=args.screenshots if render else None,
        )
    except OSError as error:
        raise UserError(f"cannot write to {str(args.screenshots)!r}: {error.strerror}") from error
    with sandbox:
        return sandbox.run(items, on_done=on_done)


def _json(name: str, outcome: Outcome) -> str:
    fields = {
        "file": name,
        "status": outcome.status.value,
        "diagnostics": [dataclasses.asdict(d) for d in outcome.diagnostics],
        "compile_ms": outcome.compile_ms,
        "render_ms": outcome.render_ms,
        "screenshot": str(outcome.screenshot) if outcome.screenshot else None,
    }
    return json.dumps(fields, ensure_ascii=False)


def _line(name: str, outcome: Outcome) -> str:
    parts = [f"{outcome.status.value:<13}", name]
    times = [f"{ms:.0f} ms" for ms in (outcome.compile_ms, outcome.render_ms) if ms is not None]
    if times:
        parts.append(f"({' + '.join(times)})")
    if outcome.screenshot:
        parts.append(str(outcome.screenshot))
    if outcome.diagnostics:
        d = outcome.diagnostics[0]
        more = f" (and {len(outcome.diagnostics) - 1} more)" if len(outcome.diagnostics) > 1 else ""
        parts.append(f"line {d.line}:{d.column} {d.message}{more}")
    return "  ".join(parts)
