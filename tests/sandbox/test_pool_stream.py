"""Items taken lazily, several calls at once, and what is remembered."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from sandbox_helpers import all_gone, app, children, started_since

from sandbox.outcome import Outcome, Status
from sandbox.pool import Item, Sandbox
from sandbox.processes import descendants
from sandbox.remembered import Remembered, size_of
from sandbox.requirements import RequirementError


def page(text: str) -> Item:
    return Item(app(f"return <p>{text}</p>;"), "code")


BROKEN = Item("export default function App() { return <p>; }", "code")
LOOP = Item(app("for (;;);"), "code")


def collect(sandbox: Sandbox, items: Iterator[Item] | list[Item], in_flight: int = 256) -> list[Outcome]:
    async def all_of_them() -> list[Outcome]:
        return [outcome async for outcome in sandbox.stream(items, in_flight=in_flight)]

    return asyncio.run(all_of_them())


def test_a_stream_is_in_order_and_takes_no_more_items_than_may_be_in_flight() -> None:
    taken = 0

    def items() -> Iterator[Item]:
        nonlocal taken
        for i in range(600):
            taken += 1
            yield (page(f"n {i % 250}"), BROKEN, Item("Sorry", "code"))[i % 3]

    async def slowly() -> tuple[list[str], int]:
        statuses, most = [], 0
        async for outcome in sandbox.stream(items(), in_flight=40):
            most = max(most, taken - len(statuses))
            statuses.append(outcome.status.value)
        return statuses, most

    with Sandbox(render=False) as sandbox:
        statuses, most = asyncio.run(slowly())
    assert statuses == ["ok", "compile_error", "not_component"] * 200
    assert most <= 40


def test_a_stream_of_what_is_known_is_still_taken_lazily() -> None:
    taken = 0

    def endless() -> Iterator[Item]:
        nonlocal taken
        while True:
            taken += 1
            yield page("the same")

    async def some() -> int:
        count = 0
        async for outcome in sandbox.stream(endless(), in_flight=20):
            assert outcome.status is Status.OK
            if (count := count + 1) == 500:
                break
        return count

    with Sandbox(render=False) as sandbox:
        assert asyncio.run(some()) == 500
        assert taken <= 520


def test_arun_gives_what_run_gives() -> None:
    items = [page("a"), BROKEN, page("b"), page("a")]
    seen: list[int] = []
    with Sandbox(render=False) as sandbox:
        awaited = asyncio.run(sandbox.arun(iter(items), on_done=lambda i, o: seen.append(i)))
        assert awaited == sandbox.run(items)
        assert asyncio.run(sandbox.arun([])) == []
    assert seen == [0, 1, 2, 3]


def test_what_goes_wrong_in_a_stream_comes_out_of_it_and_the_sandbox_can_go_on() -> None:
    def failing() -> Iterator[Item]:
        yield page("a")
        raise OSError("the file is gone")

    with Sandbox(render=False) as sandbox:
        with pytest.raises(OSError, match="the file is gone"):
            collect(sandbox, failing())
        with pytest.raises(RequirementError, match="hover"):
            collect(sandbox, [Item("x", "code", requirements=({"check": "hover"},))])
        with pytest.raises(ZeroDivisionError):
            asyncio.run(sandbox.arun([page("a")], on_done=lambda i, o: print(1 / 0)))
        assert collect(sandbox, [page("b")])[0].status is Status.OK


def test_several_runs_at_once_share_the_compiler() -> None:
    async def both() -> list[list[Outcome]]:
        many = [[page(f"{run} {i}") if i % 2 else BROKEN for i in range(100)] for run in range(4)]
        return await asyncio.gather(*(sandbox.arun(items) for items in many))

    before = set(children("worker.mjs"))  # other tests' sandboxes live on
    with Sandbox(render=False) as sandbox:
        results = asyncio.run(both())
        assert len(set(children("worker.mjs")) - before) == 1
    for run, outcomes in enumerate(results):
        assert [o.status.value for o in outcomes] == ["compile_error", "ok"] * 50
        assert all(f"{run} {i}<" in o.code for i, o in enumerate(outcomes) if i % 2)


@pytest.mark.browser
def test_several_runs_at_once_share_the_browsers_and_a_cancelled_one_leaves_the_others_alone() -> None:
    async def all_at_once() -> tuple[list[Outcome], list[Outcome]]:
        hung = asyncio.create_task(sandbox.arun([LOOP]))
        first = asyncio.create_task(sandbox.arun([page(f"a {i}") for i in range(8)]))
        second = asyncio.create_task(sandbox.arun([page(f"b {i}") for i in range(8)]))
        await asyncio.sleep(3)
        begun = time.monotonic()
        hung.cancel()
        with pytest.raises(asyncio.CancelledError):
            await hung
        assert time.monotonic() - begun < 30
        return await first, await second

    before = set(descendants(os.getpid()))
    with Sandbox(workers=2, timeout_s=60) as sandbox:
        first, second = asyncio.run(all_at_once())
        assert len(set(children("sandbox.render_worker")) - before) <= 2
        below = started_since(before)
    assert [o.status for o in first + second] == [Status.OK] * 16
    assert all_gone(below)


@pytest.mark.browser
def test_closing_a_sandbox_ends_what_another_thread_runs_in_it() -> None:
    caught: list[BaseException] = []

    def work() -> None:
        try:
            sandbox.run([LOOP])
        except RuntimeError as error:
            caught.append(error)

    before = set(descendants(os.getpid()))
    sandbox = Sandbox(timeout_s=60)
    sandbox.run([page("first")])
    thread = threading.Thread(target=work)
    thread.start()
    time.sleep(1)
    below = started_since(before)
    sandbox.close()
    thread.join(20)
    assert not thread.is_alive()
    assert "closed" in str(caught[0])
    assert all_gone(below)


PARENT = """
import asyncio, sys
from sandbox.pool import Item, Sandbox

async def main(sandbox):
    print("begun", flush=True)
    async for outcome in sandbox.stream(Item(code, "code") for code in sys.stdin.read().split("\\0")):
        print(outcome.status.value, flush=True)

with Sandbox(timeout_s=60) as sandbox:
    asyncio.run(main(sandbox))
"""


@pytest.mark.browser
def test_ctrl_c_ends_a_stream_and_its_processes() -> None:
    with subprocess.Popen(
        [sys.executable, "-c", PARENT], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as parent:
        assert parent.stdin is not None
        assert parent.stdout is not None
        parent.stdin.write("\0".join([page("first").text, LOOP.text]).encode())
        parent.stdin.close()
        assert parent.stdout.readline() == b"begun\n"
        assert parent.stdout.readline() == b"ok\n"
        below = descendants(parent.pid)
        parent.send_signal(signal.SIGINT)
        parent.wait(30)
    assert parent.returncode in (1, -signal.SIGINT)
    assert below
    assert all_gone(below)


def outcome(size: int) -> Outcome:
    return Outcome(Status.OK, code="x" * size)


def test_what_is_remembered_is_bounded_in_number_and_bytes_and_the_oldest_goes_first() -> None:
    few = Remembered(count=3)
    for key in "abc":
        few.put(key, outcome(1))
    assert few.get("a") is not None  # now "b" is the one longest not asked for
    few.put("d", outcome(1))
    assert [key for key in "abcd" if few.get(key)] == ["a", "c", "d"]

    small = Remembered(size=3 * size_of(outcome(1000)))
    for key in "abcd":
        small.put(key, outcome(1000))
    small.put("d", outcome(1000))
    assert [key for key in "abcd" if small.get(key)] == ["b", "c", "d"]
    small.put("e", outcome(10**6))
    assert small.get("e") is None
    assert len(small) == 3


def test_an_outcome_whose_screenshot_is_gone_is_not_remembered(tmp_path: Path) -> None:
    shot = tmp_path / "a.png"
    shot.write_bytes(b"png")
    remembered = Remembered()
    remembered.put("a", replace(outcome(1), screenshot=shot))
    assert remembered.get("a") is not None
    shot.unlink()
    assert remembered.get("a") is None
    assert len(remembered) == 0
