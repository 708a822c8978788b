"""Judge components for hours: `python benchmarks/sandbox_soak.py [--n 10000] [--workers 2] [--minutes M]`.

Each component shows its own number and is asked for it, so an outcome that is lost or swapped with another is seen. A
share of them is hostile, each in a way that ends. What is looked at: the outcomes, the memory of all processes (that of
the last tenth beside that of the second tenth), the time of a second pass over equal components, and what is left
when the sandbox is closed. Exit code 1 where one of them is not as it should be.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import math
import os
import statistics
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from sandbox.limits import RECYCLE_AFTER
from sandbox.outcome import Outcome, Status
from sandbox.pool import Item, Sandbox
from sandbox.processes import descendants, memory_of

_LAYOUTS = (
    '<main className="p-8"><h1 className="text-2xl">{label}</h1><p className="text-gray-500">{{seen}}</p></main>',
    '<p className="rounded-xl bg-blue-50 p-6">{label} <button onClick={{() => see(seen + 1)}}>{{seen}}</button></p>',
    '<ul className="list-disc p-10">{{[...Array({rows}).keys()].map((i) => <li key={{i}}>{{i}} of {label}</li>)}}</ul>',
    '<table className="m-4 border"><tbody><tr><td className="p-1">{label}</td><td>{{seen}}</td></tr></tbody></table>',
    '<label className="flex gap-2 p-6">{label} <input className="border" value={{seen}} readOnly /></label>',
)
_HONEST = """import {{ useState }} from "react";
export default function App{n}() {{
  const [seen, see] = useState({rows});
  return ({layout});
}}
"""
_EFFECT = """import {{ useEffect }} from "react";
export default function App{n}() {{
  useEffect(() => {{ {body} }}, []);
  return <h1 className="p-4 text-xl">{label}</h1>;
}}
"""
# Each with what may become of it; all that are "ok" must show their number too.
_HOSTILE: tuple[tuple[str, str, frozenset[str]], ...] = (
    ("throws", 'throw new Error("{label}");', frozenset({"runtime_error"})),
    ("throws later", 'setTimeout(() => {{ throw new Error("late"); }}, 50);', frozenset({"ok"})),
    ("leaves", 'location.href = "http://localhost:1/{n}";', frozenset({"blank", "ok"})),
    ("reloads", "location.reload();", frozenset({"blank", "ok", "timeout"})),
    ("empties", "document.body.replaceChildren();", frozenset({"blank"})),
    (
        "spoils",
        "Promise = null; Array.prototype.map = null; Object.prototype.x = {n};",
        frozenset({"ok", "runtime_error"}),
    ),
    ("fetches", 'fetch("/{n}"); new Image().src = "/{n}.png"; new WebSocket("ws://localhost:1/");', frozenset({"ok"})),
    ("spins", "for (let i = 0, x = 0; i < 2e8; i++) x += i;", frozenset({"ok", "timeout"})),
    (
        "allocates",
        "const a = []; for (let i = 0; i < 40; i++) a.push(new Uint8Array(1 << 20).fill(i));",
        frozenset({"ok"}),
    ),
    (
        "frames",
        'for (let i = 0; i < 20; i++) document.body.append(document.createElement("iframe"));',
        frozenset({"ok"}),
    ),
    (
        "workers",
        'for (let i = 0; i < 4; i++) new Worker(URL.createObjectURL(new Blob(["for (let i = 0; i < 1e7; i++);"])));',
        frozenset({"ok"}),
    ),
    ("shouts", 'for (let i = 0; i < 3000; i++) Promise.reject(new Error("x".repeat(1000)));', frozenset({"ok"})),
    ("dialogs", 'for (let i = 0; i < 200; i++) {{ alert(i); confirm("y"); }}', frozenset({"ok"})),
    ("loops", "for (;;);", frozenset({"timeout"})),
    (
        "fills memory",
        "const a = []; for (;;) a.push(new Uint8Array(1 << 24).fill(1));",
        frozenset({"timeout", "crashed"}),
    ),
)
_DEADLY = ("loops", "fills memory")  # they cost a browser: one in twenty of the hostile ones


@dataclass(frozen=True)
class Made:
    item: Item
    kind: str
    allowed: frozenset[str]


def made(n: int, hostile: float) -> Made:
    """Component number n, always the same; a share of `hostile` of them is hostile."""
    label = f"component {n}."
    every = round(1 / hostile) if hostile else 0
    asked = ({"check": "text", "text": label},)
    if not every or n % every:
        layout = _LAYOUTS[n % len(_LAYOUTS)].format(label=label, rows=1 + n % 7)
        code = _HONEST.format(n=n, rows=1 + n % 7, layout=layout)
        return Made(Item(code, "code", "tsx", asked), "honest", frozenset({"ok"}))
    turn = n // every
    ways = [way for way in _HOSTILE if (way[0] in _DEADLY) == (turn % 20 == 0)]
    kind, body, allowed = ways[(turn // 20 if turn % 20 == 0 else turn) % len(ways)]
    code = _EFFECT.format(n=n, label=label, body=body.format(n=n, label=label))
    return Made(Item(code, "code", "tsx", asked), kind, allowed)


def wrong(one: Made, outcome: Outcome) -> str | None:
    """What is not as it should be."""
    if outcome.status.value not in one.allowed:
        return f"{outcome.status.value}: {[d.message for d in outcome.diagnostics[:1]]}"
    if outcome.code != one.item.text:
        return "the code of another one"
    left = one.kind in ("leaves", "reloads", "spoils", "spins")
    if outcome.status is Status.OK and outcome.requirements_met < 1 and not left:
        return f"{[r.reason for r in outcome.requirements]}"
    return None


class Watch:
    """Samples the memory of all processes below this one, in a thread; `at` says how far the work is."""

    def __init__(self, every_s: float = 1.0) -> None:
        self.at = 0
        self.samples: list[tuple[int, int, int]] = []
        self._done = threading.Event()
        self._every_s = every_s
        self._thread = threading.Thread(target=self._loop, daemon=True)
        self._thread.start()

    def _loop(self) -> None:
        while not self._done.wait(self._every_s):
            pids = descendants(os.getpid())
            self.samples.append((self.at, sum(map(memory_of, pids)), memory_of(os.getpid())))

    def stop(self) -> None:
        self._done.set()
        self._thread.join()

    def between(self, begin: float, end: float) -> tuple[float, float]:
        """Medians, in MB, of the processes' memory and of this one's, while that much of the work was done."""
        found = [sample[1:] for sample in self.samples if begin <= sample[0] < end]
        below, own = zip(*found, strict=True) if found else ((0,), (0,))
        return statistics.median(below) / 2**20, statistics.median(own) / 2**20


async def _pass(
    sandbox: Sandbox, n: int, hostile: float, watch: Watch, minutes: float
) -> tuple[list[str], Counter[str], int]:
    """What was wrong, how often each status came, and how many were judged."""
    begun, asked = time.monotonic(), 0

    def items() -> Iterator[Item]:
        nonlocal asked
        while asked < n and time.monotonic() - begun < 60 * minutes:
            asked += 1
            yield made(asked - 1, hostile).item

    found, statuses, i = [], Counter[str](), 0
    async for outcome in sandbox.stream(items()):
        one = made(i, hostile)
        if why := wrong(one, outcome):
            found.append(f"{i} ({one.kind}) {why}")
            print(found[-1], file=sys.stderr, flush=True)
        statuses[outcome.status.value] += 1
        i += 1
        watch.at = i
        if i % max(n // 20, 1) == 0:
            below = watch.samples[-1][1] >> 20 if watch.samples else 0
            rate = i / (time.monotonic() - begun)
            print(f"{i} of {n}, {rate:.1f}/s, {below} MB, {len(found)} wrong", file=sys.stderr, flush=True)
    if i != asked:
        found.append(f"{asked - i} were lost")
    return found, statuses, i


@dataclass(frozen=True)
class Report:
    n: int
    workers: int
    load: float
    seconds: float
    per_second: float
    statuses: dict[str, int]
    wrong: list[str]
    memory_second_tenth_mb: float
    memory_last_tenth_mb: float
    own_second_tenth_mb: float
    own_last_tenth_mb: float
    again: int
    again_seconds: float
    screenshots: int
    processes_left: int

    def faults(self) -> list[str]:
        found = [f"wrong: {line}" for line in self.wrong[:10]]
        if self.n >= 1000 and self.memory_last_tenth_mb > 1.1 * self.memory_second_tenth_mb:
            found.append("the processes' memory grew by more than a tenth")
        if self.again_seconds > max(0.05 * self.seconds * self.again / self.n, 2.0):
            found.append("the second pass was not for nothing")
        if self.processes_left:
            found.append(f"{self.processes_left} processes are left")
        return found


def soak(n: int, workers: int, hostile: float, recycle_after: int = RECYCLE_AFTER, minutes: float = math.inf) -> Report:
    """One run; the second pass is over the last components, as many as are remembered."""
    before = set(descendants(os.getpid()))
    with (
        tempfile.TemporaryDirectory() as folder,
        Sandbox(workers=workers, screenshots=Path(folder), recycle_after=recycle_after) as sandbox,
    ):
        watch = Watch()
        begun = time.monotonic()
        found, statuses, n = asyncio.run(_pass(sandbox, n, hostile, watch, minutes))
        seconds = time.monotonic() - begun
        watch.stop()
        again = [i for i in range(max(n - 1000, 0), n) if sandbox.knows(made(i, hostile).item)]
        begun = time.monotonic()
        second = sandbox.run([made(i, hostile).item for i in again])
        again_seconds = time.monotonic() - begun
        found += [
            f"{i} the second time: {why}"
            for i, o in zip(again, second, strict=True)
            if (why := wrong(made(i, hostile), o))
        ]
        below = [pid for pid in descendants(os.getpid()) if pid not in before]
        shots = len(list(Path(folder).glob("*.png")))
    end = time.monotonic() + 10
    while (left := [pid for pid in below if Path(f"/proc/{pid}").exists()]) and time.monotonic() < end:
        time.sleep(0.1)
    second_tenth, last_tenth = watch.between(0.1 * n, 0.2 * n), watch.between(0.9 * n, n + 1)
    return Report(
        n=n,
        workers=workers,
        load=round(os.getloadavg()[2], 1),
        seconds=round(seconds, 1),
        per_second=round(n / seconds, 2),
        statuses=dict(statuses),
        wrong=found,
        memory_second_tenth_mb=round(second_tenth[0]),
        memory_last_tenth_mb=round(last_tenth[0]),
        own_second_tenth_mb=round(second_tenth[1]),
        own_last_tenth_mb=round(last_tenth[1]),
        again=len(again),
        again_seconds=round(again_seconds, 3),
        screenshots=shots,
        processes_left=len(left),
    )


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--n", type=int, default=10_000, help="components")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--hostile", type=float, default=0.1, help="share of the components that mean harm")
    parser.add_argument("--recycle-after", type=int, default=RECYCLE_AFTER, help="components a browser")
    parser.add_argument("--minutes", type=float, default=math.inf, help="take no more after so long")
    args = parser.parse_args(argv)
    report = soak(args.n, args.workers, args.hostile, args.recycle_after, args.minutes)
    print(json.dumps(asdict(report), indent=1))
    for fault in report.faults():
        print(f"FAULT {fault}", file=sys.stderr)
    return 1 if report.faults() else 0


if __name__ == "__main__":
    sys.exit(main())
