"""What a component costs before it is rendered, measured side by side: `python benchmarks/compile_speed.py`.

Judged: a chat reply from extraction to diagnostics, through `NodeCompiler`, against the plain way: npm's esbuild as a
service, 64 files in flight, `transform` and nothing else (`esbuild_raw.mjs`). The two take turns, so that whatever
else the machine does falls on both; CPU time is that of all processes, for a machine that is never quiet. Lint: the
same with and without ESLint. Packages: a page that imports one against the same page without, rendered in turns.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path

from sandbox_speed import _apps

from sandbox import setup
from sandbox.compile import NodeCompiler, Source, refusal
from sandbox.extract import extract
from sandbox.outcome import Status
from sandbox.pool import Item, Sandbox
from sandbox.processes import LineProcess, cpu_of, descendants

_AT_ONCE = 128  # as the sandbox does where nothing is rendered
_PACKAGES = {  # what is imported, and what stands in the page instead of "shown"
    "three icons": ('import { Home, Bell, Trash2 } from "lucide-react";', "<Home /><Bell /><Trash2 />"),
    "all of lucide": ('import * as icons from "lucide-react";', "<icons.Home />"),
    "a button": ('import { Button } from "@/components/ui/button";', "<Button>shown</Button>"),
    "framer-motion": ('import { motion } from "framer-motion";', "<motion.b animate={{ x: 9 }}>shown</motion.b>"),
    "recharts": (
        'import { Bar, BarChart } from "recharts";',
        '<BarChart width={200} height={99} data={[{ n: 1 }]}><Bar dataKey="n" /></BarChart>',
    ),
}


def _cpu() -> float:
    return time.process_time() + sum(cpu_of(pid) for pid in descendants(os.getpid()))


def _judge(compiler: NodeCompiler, replies: Sequence[str]) -> None:
    for begin in range(0, len(replies), _AT_ONCE):
        found = [extract(reply) for reply in replies[begin : begin + _AT_ONCE]]
        if any(refusal(each.code) for each in found):
            sys.exit("a component was refused")
        for compiled in compiler.compile([Source(each.code, each.language) for each in found]):
            if compiled.status is not Status.OK:
                sys.exit(f"not what was expected: {compiled}")


def compiling(rounds: int, count: int) -> None:
    """Print what judging costs, beside esbuild alone and with ESLint."""
    node, worker = setup.node(), setup.prepare_worker()
    assert node is not None
    raw_argv = [str(node), str(Path(__file__).parent / "esbuild_raw.mjs"), str(worker)]
    costs: dict[str, list[tuple[float, float]]] = {"judged": [], "raw": [], "linted": []}
    with (
        NodeCompiler(node, worker, render=False, timeout_s=60) as compiler,
        NodeCompiler(node, worker, render=False, lint=True, timeout_s=60) as linter,
        closing(LineProcess(raw_argv)) as plain,
    ):

        def raw(codes: list[str]) -> None:
            plain.send({"codes": codes}, time.monotonic() + 600)
            plain.receive(time.monotonic() + 600)

        for i in range(rounds + 1):  # the first one warms up
            turn = {
                "judged": _each(partial(_judge, compiler), _replies(count)),
                "raw": _each(raw, _apps(count)),
                "linted": _each(partial(_judge, linter), _replies(count // 8)),
            }
            if i:
                for name, cost in turn.items():
                    costs[name].append(cost)
    _row("judge a reply (extract, guard, compile, look); esbuild.transform alone", costs["judged"], costs["raw"])
    _row("judge a reply with ESLint; without", costs["linted"], costs["judged"])


def _replies(count: int) -> list[str]:
    return [f"Here it is:\n```tsx\n{code}```\nIt lists tasks." for code in _apps(count)]


def _each(work: Callable[[list[str]], object], texts: list[str]) -> tuple[float, float]:
    """Seconds that one of the texts takes, on the clock and on CPUs."""
    cpu, begun = _cpu(), time.perf_counter()
    work(texts)
    return (time.perf_counter() - begun) / len(texts), (_cpu() - cpu) / len(texts)


def packages(rounds: int, count: int) -> None:
    """Print what a render costs with each package."""
    costs: dict[str, list[tuple[float, float]]] = {name: [] for name in ("", *_PACKAGES)}
    with Sandbox(timeout_s=60) as sandbox:

        def render(codes: list[str]) -> None:
            for outcome in sandbox.run([Item(code, "code", "tsx") for code in codes]):
                if outcome.status is not Status.OK:
                    sys.exit(f"not what was expected: {outcome}")

        for i in range(rounds + 1):
            for name, cost in costs.items():
                head, shown = _PACKAGES.get(name, ("", "shown"))
                codes = [f"{head}\n{code}".replace("<h1 ", f"<div>{shown}</div><h1 ") for code in _apps(count)]
                cost += [_each(render, codes)] if i else []
    for name in _PACKAGES:
        _row(f"render with {name}; without", costs[name], costs[""])


def _row(what: str, ours: Sequence[tuple[float, float]], other: Sequence[tuple[float, float]]) -> None:
    """Milliseconds of each way, and how many times as fast it is, round by round and by CPU time: medians."""
    ratios = sorted(b[0] / a[0] for a, b in zip(ours, other, strict=True))
    medians = [[statistics.median(cost[i] for cost in way) * 1000 for i in (0, 1)] for way in (ours, other)]
    cells = [what, *(f"{wall:.2f} ms ({cpu:.2f} CPU)" for wall, cpu in medians)]
    cells.append(f"{statistics.median(ratios):.2f} ({ratios[0]:.2f} to {ratios[-1]:.2f})")
    print(f"| {' | '.join(cells)} | {medians[1][1] / medians[0][1]:.2f} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--only", choices=["compile", "packages"])
    args = parser.parse_args()
    print(f"load {' '.join(f'{each:.1f}' for each in os.getloadavg())}")
    print("| what | a component | the other way | times as fast | by CPU time |\n|---|---|---|---|---|", flush=True)
    if args.only in (None, "compile"):
        compiling(args.rounds, 640)
    if args.only in (None, "packages"):
        packages(args.rounds, 16)
    print(f"load {' '.join(f'{each:.1f}' for each in os.getloadavg())}")


if __name__ == "__main__":
    main()
