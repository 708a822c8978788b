"""How fast the sandbox is, as ratios measured side by side: `python benchmarks/sandbox_speed.py [--rounds N]`.

Compile: this sandbox against the native esbuild binary, started once a file (which finds no components, checks no
imports). Render: this sandbox (compile, mount, judge, screenshot) against launching a browser a component, at equal
screenshots, and against no more than a call of page.screenshot on a page that stands loaded in a browser of its own.
Page: rendering with the page judge against rendering without it.
The ways take turns, so that whatever else the machine does falls on all.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from playwright.async_api import async_playwright

from sandbox import setup
from sandbox.compile import NodeCompiler, Source
from sandbox.outcome import Outcome, Status
from sandbox.page import Names, document, first_script, start_call
from sandbox.pool import Item, Sandbox
from sandbox.render import Job, Renderer

_ROW = """
      <li key={{item.id}} className="flex items-center justify-between rounded-lg border border-gray-200 p-3">
        <span className={{item.done ? "text-gray-400 line-through" : "text-gray-900"}}>{{item.title}} {n}</span>
        <button className="rounded bg-blue-600 px-3 py-1 text-sm text-white" onClick={{() => toggle(item.id)}}>
          {{item.done ? "Undo" : "Done"}}
        </button>
      </li>"""
_APP = """import {{ useMemo, useState }} from "react";

interface Task {{ id: number; title: string; done: boolean; minutes?: number }}

const START: Task[] = [
  {{ id: 1, title: "Write the report {n}", done: false, minutes: 45 }},
  {{ id: 2, title: "Call the plumber", done: true, minutes: 10 }},
  {{ id: 3, title: "Plan the week", done: false }},
];

export default function App{n}() {{
  const [tasks, setTasks] = useState<Task[]>(START);
  const [title, setTitle] = useState<string>("");
  const open = useMemo(() => tasks.filter((task) => !task.done), [tasks]);
  const minutes = open.reduce((sum, task) => sum + (task.minutes ?? 0), 0);
  const toggle = (id: number): void =>
    setTasks((all) => all.map((task) => (task.id === id ? {{ ...task, done: !task.done }} : task)));
  const add = (): void => {{
    if (!title.trim()) return;
    setTasks((all) => [...all, {{ id: all.length + 1, title: title.trim(), done: false }}]);
    setTitle("");
  }};
  return (
    <main className="mx-auto max-w-md space-y-4 p-8">
      <h1 className="text-2xl font-bold">Tasks {n}</h1>
      <p className="text-sm text-gray-500">{{open.length}} open, {{minutes}} minutes to go</p>
      <div className="flex gap-2">
        <input className="flex-1 rounded border px-2" value={{title}} onChange={{(e) => setTitle(e.target.value)}} />
        <button className="rounded bg-green-600 px-3 py-1 text-white" onClick={{add}}>Add</button>
      </div>
      <ul className="space-y-2">{{tasks.map((item) => ({row}
      ))}}</ul>
    </main>
  );
}}
"""
_TINY = """import {{ useState }} from "react";

export default function Counter() {{
  const [count, setCount] = useState({n});
  return (
    <div className="p-4">
      <h2>Counter {n}</h2>
      <p>Count: {{count}}</p>
      <button onClick={{() => setCount(count + 1)}}>Add</button>
    </div>
  );
}}
"""
_ASKED = (
    {"check": "role", "role": "button", "name": "Add"},
    {"check": "text", "text": "Count"},
    {"check": "click", "role": "button", "name": "Add", "expect": {"number_delta": 1}},
)
_fresh = iter(range(10**9))  # no component comes twice: the sandbox would remember it


def _apps(count: int) -> list[str]:
    return [_APP.format(n=n, row=_ROW.format(n=n)) for n, _ in zip(_fresh, range(count), strict=False)]


def _timed(work: Callable[[], object]) -> float:
    begun = time.perf_counter()
    work()
    return time.perf_counter() - begun


def compile_rates(rounds: int, count: int) -> tuple[list[float], list[float]]:
    """Components a second: the sandbox, and the native binary started once a file, in turns."""
    binary = next((setup.prepare_worker() / "node_modules" / "@esbuild").glob("*/bin/esbuild"))
    argv = [str(binary), "--loader=tsx", "--jsx=automatic", "--format=esm"]
    ours, native = [], []
    with Sandbox(render=False) as sandbox:
        _all(sandbox.run([Item(code, "code", "tsx") for code in _apps(count)]))
        for _ in range(rounds):
            items = [Item(code, "code", "tsx") for code in _apps(count)]
            ours.append(count / _timed(lambda items=items: _all(sandbox.run(items))))  # type: ignore[misc]
            few = [item.text.encode() for item in items[: count // 4]]

            def once_a_file(few: list[bytes] = few) -> None:
                for code in few:
                    subprocess.run(argv, input=code, stdout=subprocess.DEVNULL, check=True)

            native.append(len(few) / _timed(once_a_file))
    return ours, native


def render_rates(rounds: int, count: int) -> tuple[list[float], list[float], list[float], list[float]]:
    """A second, in turns: components of the sandbox with one worker, and with two; a new browser each, in a driver that
    runs already; screenshots."""
    ours, two, fresh, bare = [], [], [], []
    worker = setup.prepare_worker()
    node = setup.node()
    assert node is not None
    with (
        tempfile.TemporaryDirectory(dir="/tmp") as folder,
        NodeCompiler(node, worker, render=True, timeout_s=60) as compiler,
    ):
        shots = Path(folder)
        with (
            Sandbox(screenshots=shots / "ours", timeout_s=60) as sandbox,
            Sandbox(workers=2, screenshots=shots / "two", timeout_s=60) as pair,
        ):
            for one in (sandbox, pair):
                _all(one.run([Item(code, "code", "tsx") for code in _apps(count)]))
            for _ in range(rounds):
                codes = _apps(count)
                outcomes: list[Outcome] = []
                items = [Item(code, "code", "tsx") for code in codes]
                ours.append(count / _timed(lambda items=items, to=outcomes: to.extend(_all(sandbox.run(items)))))  # type: ignore[misc]
                more = [Item(code, "code", "tsx") for code in _apps(2 * count)]
                two.append(len(more) / _timed(lambda items=more: _all(pair.run(items))))  # type: ignore[misc]
                few = codes[: max(count // 5, 2)]
                jobs = [
                    Job(c.script, c.css, c.bundles, timeout_s=60) for c in compiler.compile([Source(c) for c in few])
                ]
                seconds, names = asyncio.run(_a_browser_each(jobs, worker, shots / "fresh"))
                fresh.append(len(few) / seconds)
                bare.append(count / asyncio.run(_screenshots(jobs[0], worker, count)))
                same = [o.screenshot.name for o in outcomes[: len(few)] if o.screenshot]
                if same != names:
                    sys.exit(f"the screenshots differ: {same} and {names}")
    return ours, two, fresh, bare


async def _screenshots(job: Job, worker: Path, count: int) -> float:
    """Seconds for so many calls of page.screenshot on one component's page, with Playwright's own settings."""
    names = Names("_start", "_report")
    react = (worker / "vendor" / "react.js").read_text(encoding="utf-8")
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=setup.chromium())
        page = await browser.new_page(viewport={"width": 1280, "height": 800})
        await page.add_init_script(first_script(worker, react, names))
        await page.goto("about:blank")
        await page.evaluate(start_call(document(job.css), job.script, names))
        await page.get_by_role("heading").wait_for()
        await page.screenshot()
        begun = time.perf_counter()
        for _ in range(count):
            await page.screenshot()
        seconds = time.perf_counter() - begun
        await browser.close()
        return seconds


async def _a_browser_each(jobs: list[Job], worker: Path, shots: Path) -> tuple[float, list[str]]:
    shots.mkdir(exist_ok=True)
    names = []
    async with async_playwright() as playwright:
        begun = time.perf_counter()
        for job in jobs:
            renderer = Renderer(worker, shots)
            await renderer.start(playwright, setup.chromium())
            rendered = await renderer.render(job)
            assert rendered.screenshot is not None, rendered
            names.append(rendered.screenshot.name)
            await renderer.stop()
        return time.perf_counter() - begun, names


def page_rates(rounds: int, count: int) -> tuple[list[float], list[float]]:
    """Components a second: rendered and scored by the page judge, and only rendered, in turns."""
    judged, plain = [], []
    with (
        tempfile.TemporaryDirectory(dir="/tmp") as folder,
        Sandbox(screenshots=Path(folder), timeout_s=60, page=True) as judging,
        Sandbox(screenshots=Path(folder), timeout_s=60) as rendering,
    ):
        for sandbox in (judging, rendering):
            _all(sandbox.run([Item(code, "code", "tsx") for code in _apps(count // 2)]))
        for _ in range(rounds):
            for sandbox, rates in ((judging, judged), (rendering, plain)):
                items = [Item(code, "code", "tsx") for code in _apps(count)]
                rates.append(count / _timed(lambda s=sandbox, items=items: _all(s.run(items))))  # type: ignore[misc]
    return judged, plain


def scoring(rounds: int) -> list[float]:
    """Seconds for 32 tiny replies: extract, compile, render, check three requirements of which one clicks."""
    seconds = []
    with Sandbox(workers=min(2, os.cpu_count() or 1), timeout_s=60) as sandbox:
        for _ in range(rounds + 1):
            codes = [_TINY.format(n=n) for n, _ in zip(_fresh, range(32), strict=False)]
            items = [Item(f"Here:\n```jsx\n{code}```", requirements=_ASKED) for code in codes]
            seconds.append(_timed(lambda items=items: _all(sandbox.run(items), met=True)))  # type: ignore[misc]
    return seconds[1:]  # the first one starts the browsers


def _all(outcomes: list[Outcome], *, met: bool = False) -> list[Outcome]:
    for outcome in outcomes:
        if outcome.status is not Status.OK or (met and outcome.requirements_met < 1):
            sys.exit(f"not what was expected: {outcome}")
    return outcomes


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", choices=["compile", "render", "page", "scoring"])
    args = parser.parse_args()
    print("| what | this sandbox | the other way | ratio (median of rounds) |\n|---|---|---|---|", flush=True)
    if args.only in (None, "compile"):
        _row("compile a 1.9 kB TSX component; native esbuild started once a file", *compile_rates(args.rounds, 160))
    if args.only in (None, "render"):
        ours, two, fresh, bare = render_rates(args.rounds, 20)
        _row("render, screenshot; a new browser each", ours, fresh)
        _row("render, screenshot; only page.screenshot, on a page that stands", ours, bare)
        _row("the same by two workers", two, bare)
    if args.only in (None, "page"):
        _row("render and score the page by rules; only render", *page_rates(args.rounds, 20))
    if args.only in (None, "scoring"):
        seconds = statistics.median(scoring(args.rounds))
        print(f"| 32 tiny replies with 3 requirements each | {seconds:.2f} s | | |")


def _row(what: str, ours: list[float], other: list[float]) -> None:
    ratio = statistics.median(a / b for a, b in zip(ours, other, strict=True))
    print(f"| {what} | {statistics.median(ours):.1f}/s | {statistics.median(other):.1f}/s | {ratio:.2f} |", flush=True)


if __name__ == "__main__":
    main()
