"""SIGKILL at seeded moments: of what a sandbox is made of, and of whoever holds it."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest
from sandbox_helpers import all_gone, app, command, started_since, to_kill

from sandbox.outcome import Outcome
from sandbox.pool import Item, Sandbox
from sandbox.processes import descendants

pytestmark = pytest.mark.browser

VICTIMS = (
    "sandbox.render_worker",
    "remote-debugging-pipe",
    "type=renderer",
    "type=gpu",
    "run-driver",
    "worker.mjs",
    "esbuild",
)
WORKERS = 2
APART = 12  # items; so far apart, no item can be hit twice


def numbered(count: int) -> list[Item]:
    """Components that each show their own number, and are asked to."""
    return [
        Item(app(f"return <h1>number {i}.</h1>;"), "code", requirements=({"check": "text", "text": f"number {i}."},))
        for i in range(count)
    ]


class Killer:
    """Kills a few processes of a sandbox while it works; a new one each time that all items begun before are done."""

    def __init__(self, seed: int, kills: int) -> None:
        self._random = random.Random(seed)
        self._victims = self._random.sample(VICTIMS * (1 + kills // len(VICTIMS)), kills)
        self._others = set(descendants(os.getpid()))
        self._done: set[int] = set()
        self._next = 1
        self.killed: list[str] = []

    def on_done(self, index: int, outcome: Outcome) -> None:
        self._done.add(index)
        if self._victims and self._done.issuperset(range(self._next)):
            self._next = max(self._done) + APART
            threading.Timer(self._random.uniform(0, 0.3), self._kill).start()

    def _kill(self) -> None:
        for victim in reversed(self._victims):  # one that is just being started again has its turn next time
            if pids := to_kill(self._others, victim):
                os.kill(self._random.choice(pids), signal.SIGKILL)
                self._victims.remove(victim)
                self.killed.append(victim)
                return


@pytest.mark.parametrize("seed", [1, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(2, 6))])
def test_whatever_is_killed_no_outcome_is_lost_or_swapped_and_no_process_left(seed: int, tmp_path: Path) -> None:
    kills = len(VICTIMS)
    items = numbered((kills + 3) * APART)
    killer = Killer(seed, kills)
    before = set(descendants(os.getpid()))
    with Sandbox(workers=WORKERS, screenshots=tmp_path, timeout_s=20) as sandbox:
        outcomes = sandbox.run(items, on_done=killer.on_done)
        below = started_since(before)
    assert len(killer.killed) >= kills - 2
    bad = [(i, o.status.value, o.diagnostics, o.requirements) for i, o in enumerate(outcomes) if o.requirements_met < 1]
    assert not bad, killer.killed
    assert [o.code for o in outcomes] == [item.text for item in items]
    assert len({o.screenshot for o in outcomes}) == len(items)
    assert all_gone(below)


HOLDER = """
import sys
from sandbox.pool import Item, Sandbox
codes = sys.stdin.read().split("\\0")
with Sandbox(workers=2) as sandbox:
    print("begun", flush=True)
    sandbox.run([Item(code, "code") for code in codes])
"""


def marked(mark: str) -> list[int]:
    """Every process that was started below the one with this mark in its environment, whoever its parent is now."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and mark.encode() in (entry / "environ").read_bytes():
                found.append(int(entry.name))
        except OSError:
            continue
    return found


@pytest.fixture
def short_path() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="t", dir="/tmp") as folder:
        yield Path(folder)


@pytest.mark.parametrize("seed", [1, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(2, 6))])
def test_nothing_is_left_whenever_the_holder_is_killed(seed: int, short_path: Path) -> None:
    """While Node starts, while the browsers do, while they work."""
    codes = "\0".join(item.text for item in numbered(300))
    moments = random.Random(seed)
    for moment in (moments.uniform(0, 0.3), moments.uniform(0.3, 1.5), moments.uniform(1.5, 5)):
        mark = f"MARK={uuid.uuid4().hex}"
        name, _, value = mark.partition("=")
        env = {**os.environ, "TMPDIR": str(short_path), name: value}
        with subprocess.Popen(
            [sys.executable, "-c", HOLDER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=env
        ) as holder:
            assert holder.stdin is not None
            assert holder.stdout is not None
            holder.stdin.write(codes.encode())
            holder.stdin.close()
            assert holder.stdout.readline() == b"begun\n"
            time.sleep(moment)
            assert holder.poll() is None
            holder.kill()
        end = time.monotonic() + 20
        while (left := marked(mark)) and time.monotonic() < end:
            time.sleep(0.1)
        assert not [command(pid) for pid in left], f"{moment:.2f} s"
        while (files := list(short_path.iterdir())) and time.monotonic() < end:
            time.sleep(0.1)
        assert not files, f"{moment:.2f} s"


DIES = """
import os, signal
from pathlib import Path
from sandbox import render_process
from sandbox.compile import Compiled
from sandbox.outcome import Status

def die(*argv, **settings):
    os.kill(os.getpid(), signal.SIGKILL)

render_process.LineProcess = die
render_process.RenderProcess(Path(), None, None, 5.0).render(Compiled(Status.OK), ())
"""


def test_nothing_is_left_where_the_holder_is_killed_just_before_a_browser_starts(short_path: Path) -> None:
    env = {**os.environ, "TMPDIR": str(short_path)}
    assert subprocess.run([sys.executable, "-c", DIES], env=env, check=False).returncode == -signal.SIGKILL
    assert not list(short_path.iterdir())


def test_a_mark_finds_what_has_another_parent() -> None:
    mark = uuid.uuid4().hex
    script = "import subprocess, sys; subprocess.Popen(['sleep', '30'], start_new_session=True)"
    subprocess.run([sys.executable, "-c", script], env={**os.environ, "MARK": mark}, check=True)
    (pid,) = marked(f"MARK={mark}")
    assert "sleep" in command(pid)
    os.kill(pid, signal.SIGKILL)
    assert all_gone([pid])
