"""What one component can cost at most, whatever it does: in time and in memory."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
from sandbox_helpers import app, children, command, started_since

from sandbox.limits import PATIENCE
from sandbox.outcome import Status
from sandbox.pool import Item, Sandbox
from sandbox.processes import cpu_of, descendants, memory_of, waited_of

pytestmark = pytest.mark.browser

PRESS = {"check": "click", "role": "button", "name": "Press", "expect": {"changes": "number"}}
SPIN = "const spin = (n) => { let x = 0; for (let i = 0; i < n; i++) x += Math.sqrt(i + x); return x; };"


def page(text: str) -> Item:
    return Item(app(f"return <p>{text}</p>;"), "code")


def counter(turns: float) -> Item:
    """A counter that turns so many times at each press, and five presses."""
    press = f"spin({turns:.0f}); set(n + 1);"
    code = app(
        f"const [n, set] = useState(0);\nreturn <button onClick={{() => {{ {press} }}}}>Press {{n}}</button>;", SPIN
    )
    return Item(code, "code", requirements=(PRESS,) * 5)


@contextmanager
def meanwhile(work: Callable[[], None]) -> Iterator[None]:
    """Do `work` again and again in a thread."""
    done = threading.Event()

    def loop() -> None:
        while not done.wait(0.05):
            work()

    thread = threading.Thread(target=loop)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()


def render_trees() -> list[list[int]]:
    return [[pid, *descendants(pid)] for pid in children("sandbox.render_worker")]


def test_five_slow_requirements_have_one_deadline_together() -> None:
    with Sandbox(timeout_s=2) as sandbox:
        sandbox.run([page("first")])
        (slow,) = sandbox.run([counter(3e9)])  # seconds for each press
        (quick,) = sandbox.run([counter(1e3)])
    assert slow.status is Status.OK
    assert [r.reason for r in slow.requirements[-3:]] == ["the page hung"] * 3
    assert slow.render_ms is not None
    assert slow.render_ms < 1000 * 2 * PATIENCE + 5000
    assert quick.requirements_met == 1


def test_a_page_that_hangs_without_a_cpu_is_given_up_after_its_own_time() -> None:
    """A browser that waits for something that never comes; here it is stopped by a signal."""
    before = set(descendants(os.getpid()))
    stopped: set[int] = set()

    def stop() -> None:
        for pid in started_since(before, "type=renderer"):
            if "chrome-webui" not in command(pid) and pid not in stopped and cpu_of(pid) > 0.8:  # it is turning
                os.kill(pid, signal.SIGSTOP)
                stopped.add(pid)

    with Sandbox(timeout_s=10) as sandbox:  # a page on a busy machine needs seconds for its 0.8 s
        sandbox.run([page("first")])
        begun = time.monotonic()
        with meanwhile(stop):
            (hung,) = sandbox.run([counter(1e11)])
        took_s = time.monotonic() - begun
        (fine,) = sandbox.run([page("after")])
    assert len(stopped) == 2  # it was tried twice
    assert hung.status is Status.OK
    assert [r.reason for r in hung.requirements] == ["the page hung"] * 5
    assert took_s < 10 * PATIENCE
    assert fine.status is Status.OK


@pytest.mark.parametrize(
    "event",
    ["pagehide", *(pytest.param(name, marks=pytest.mark.slow) for name in ("beforeunload", "visibilitychange"))],
)
def test_a_page_that_hangs_when_it_is_left_costs_the_next_one_nothing_but_time(event: str) -> None:
    trap = Item(app(f'addEventListener("{event}", () => {{ for (;;); }});\nreturn <p>stay</p>;'), "code")
    with Sandbox(timeout_s=2) as sandbox:
        outcomes = sandbox.run([page("before"), trap, page("after"), page("and after")])
    assert [o.status for o in outcomes] == [Status.OK] * 4


def test_waiting_for_a_cpu_is_counted() -> None:
    pid = os.getpid()
    before = waited_of(pid)
    threads = [threading.Thread(target=lambda: sum(i * i for i in range(10**6))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert 0 <= before <= waited_of(pid)
    assert waited_of(2**22 + 1) == 0


def test_a_component_over_the_limit_of_memory_has_crashed_and_the_machine_has_not() -> None:
    picture = "await createImageBitmap(new ImageData(2048, 2048))"
    bitmaps = f"const a = []; const f = async () => {{ for (;;) a.push({picture}); }}; f();"
    most = 0

    def look() -> None:
        nonlocal most
        most = max([most, *(sum(map(memory_of, tree)) for tree in render_trees())])

    with Sandbox(memory=1 << 30, timeout_s=20) as sandbox, meanwhile(look):
        greedy, modest = sandbox.run([Item(app(f"{bitmaps}\nreturn <p>greedy</p>;"), "code"), page("modest")])
    assert greedy.status is Status.CRASHED
    assert greedy.diagnostics[-1].message == "needed more than 1 GB of memory, twice"
    assert modest.status is Status.OK
    assert 0.8 * (1 << 30) < most < 3 << 30  # looked at now and then, so the peak itself may be missed


def test_a_browser_is_replaced_after_so_many_components_or_when_it_holds_much() -> None:
    workers: set[int] = set()
    others = set(children("sandbox.render_worker"))  # other tests' sandboxes live on

    def count(index: int, outcome: object) -> None:
        workers.update(set(children("sandbox.render_worker")) - others)

    with Sandbox(recycle_after=3) as sandbox:
        outcomes = sandbox.run([page(str(i)) for i in range(8)], on_done=count)
        (tree,) = (tree for tree in render_trees() if tree[0] not in others)
        held = sum(map(memory_of, tree))
    assert len(workers) == 3
    workers.clear()
    with Sandbox(memory=int(1.5 * held)) as sandbox:
        outcomes += sandbox.run([page(f"again {i}") for i in range(12)], on_done=count)
    assert len(workers) == 2
    assert [o.status for o in outcomes] == [Status.OK] * 20
