"""Order, memory and processes: what a `Sandbox` promises to whoever holds it."""

# ruff: noqa: E501 - JSX on one line is easier to read than cut in pieces

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from sandbox_helpers import all_gone, app, command, started_since, to_kill

from sandbox import setup
from sandbox.errors import SetupError
from sandbox.outcome import Outcome, Status
from sandbox.pool import Item, Sandbox
from sandbox.processes import GoneError, LateError, LineProcess, cpu_of, descendants, kill_tree
from sandbox.requirements import RequirementError


def page(text: str) -> str:
    return app(f"return <p>{text}</p>;")


def zombie(pid: int) -> str:
    """The name of a process that nobody has buried."""
    try:
        name, _, rest = Path(f"/proc/{pid}/stat").read_text().partition(" (")[2].rpartition(")")
    except OSError:
        return ""
    return name if rest.split()[0] == "Z" else ""


LOOP = app("for (;;);")


def test_outcomes_are_in_input_order_and_equal_items_are_judged_once() -> None:
    codes = [page("a"), "Sorry", page("b"), page("a"), "[" * 300, page("c") + "}", page("a")]
    seen: list[tuple[int, Outcome]] = []
    with Sandbox(render=False) as sandbox:
        items = [Item(code, "code") for code in codes]
        outcomes = sandbox.run(items, on_done=lambda i, o: seen.append((i, o)))
        assert sandbox.run([]) == []
        again = sandbox.run(items)
    assert [o.status.value for o in outcomes] == [
        *("ok", "not_component", "ok", "ok", "too_large", "compile_error", "ok"),
    ]
    assert outcomes[0] is outcomes[3] is outcomes[6]
    assert sorted(i for i, _ in seen) == list(range(7))
    assert all(outcomes[i] is o for i, o in seen)
    assert [a is o for a, o in zip(again, outcomes, strict=True)] == [True] * 7


def test_items_differ_by_kind_language_and_requirements() -> None:
    typed = "const a: number = 1; export default () => <p>{a}</p>"
    with Sandbox(render=False) as sandbox:
        outcomes = sandbox.run(
            [
                Item(typed, "code", "jsx"),
                Item(typed, "code", "tsx"),
                Item(f"```jsx\n{typed}\n```"),
                Item(f"```tsx\n{typed}\n```"),
            ]
        )
    assert [o.status.value for o in outcomes] == ["compile_error", "ok", "compile_error", "ok"]
    assert outcomes[3].code.strip() == typed
    assert outcomes[3].code_start == len("```tsx\n")


def test_a_requirement_outside_the_grammar_is_an_error_before_anything_runs() -> None:
    with Sandbox(render=False) as sandbox, pytest.raises(RequirementError, match="hover"):
        sandbox.run([Item(page("a"), "code", requirements=({"check": "hover"},))])


def test_line_processes_speak_and_stop() -> None:
    echo = "import sys\nfor line in sys.stdin: sys.stdout.write(line); sys.stdout.flush()"
    child = LineProcess([sys.executable, "-c", echo])
    big = {"text": "é" * 1_000_000}  # far more than a pipe holds, both ways at once
    child.send(big, time.monotonic() + 20)
    assert child.receive(time.monotonic() + 20) == big
    with pytest.raises(LateError):
        child.receive(time.monotonic() + 0.2)
    child.kill()
    with pytest.raises(GoneError):
        child.receive(time.monotonic() + 20)
    child.close()


def test_a_process_that_speaks_nonsense_or_reads_nothing_does_not_hang_its_parent() -> None:
    child = LineProcess([sys.executable, "-c", "print('hello', flush=True); import time; time.sleep(60)"])
    with pytest.raises(GoneError):
        child.receive(time.monotonic() + 20)
    with pytest.raises(LateError):
        child.send({"text": "x" * 1_000_000}, time.monotonic() + 0.5)
    child.close()
    assert all_gone([child.pid])


def test_a_tree_is_killed_with_its_grandchildren() -> None:
    nested = "import subprocess, sys, time; subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)'], start_new_session=True); time.sleep(60)"
    with subprocess.Popen([sys.executable, "-c", nested]) as child:
        while not (below := descendants(child.pid)):
            time.sleep(0.02)
        kill_tree(child.pid)
    assert all_gone([child.pid, *below])


@pytest.fixture
def short_path() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="t", dir="/tmp") as folder:
        yield Path(folder)


@pytest.mark.browser
def test_nothing_is_left_after_an_ordinary_end(short_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMPDIR", str(short_path))
    monkeypatch.setattr("tempfile.tempdir", str(short_path))
    before = set(descendants(os.getpid()))
    with Sandbox(workers=2) as sandbox:
        outcomes = sandbox.run([Item(page(str(i)), "code") for i in range(6)])
        below = started_since(before)
        assert len([pid for pid in below if "sandbox.render_worker" in command(pid)]) == 2
    assert [o.status for o in outcomes] == [Status.OK] * 6
    assert all_gone(below)
    assert not [pid for pid in below if zombie(pid) == "chromium"]
    assert list(short_path.iterdir()) == []


@pytest.mark.browser
def test_what_was_started_ahead_is_what_judges_the_first_item() -> None:
    before = set(descendants(os.getpid()))
    with Sandbox() as sandbox:
        sandbox.start()
        end = time.monotonic() + 60
        while not (started := started_since(before, "render_worker")):
            assert time.monotonic() < end
            time.sleep(0.05)
        assert sandbox.run([Item(page("first"), "code")])[0].status is Status.OK
        assert started_since(before, "render_worker") == started
        assert len(started_since(before, "worker.mjs")) == 1
    assert all_gone(started_since(before))


@pytest.mark.browser
def test_a_sandbox_that_is_closed_while_it_starts_leaves_nothing() -> None:
    before = set(descendants(os.getpid()))
    sandbox = Sandbox(workers=2)
    sandbox.start()
    sandbox.close()
    time.sleep(0.5)  # what would be started now stays
    assert all_gone(started_since(before))


def test_a_start_that_fails_is_said_with_the_first_item(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sandbox.setup.node", lambda: None)
    with Sandbox() as sandbox:
        sandbox.start()
        with pytest.raises(SetupError, match="needs Node"):
            sandbox.run([Item(page("a"), "code")])


@pytest.mark.browser
def test_a_long_path_for_temporary_files_does_not_matter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    deep = tmp_path / ("d" * 100)
    deep.mkdir()
    monkeypatch.setenv("TMPDIR", str(deep))
    monkeypatch.setattr("tempfile.tempdir", str(deep))
    with Sandbox() as sandbox:
        assert sandbox.run([Item(page("deep"), "code")])[0].status is Status.OK


@pytest.mark.browser
def test_nothing_is_left_after_an_exception_and_the_sandbox_can_go_on() -> None:
    before = set(descendants(os.getpid()))

    def fail(index: int, outcome: Outcome) -> None:
        raise RuntimeError("enough")

    sandbox = Sandbox()
    with pytest.raises(RuntimeError, match="enough"):
        sandbox.run([Item(page(str(i)), "code") for i in range(20)], on_done=fail)
    assert all_gone(started_since(before))
    assert sandbox.run([Item(page("again"), "code")])[0].status is Status.OK
    sandbox.close()
    assert all_gone(started_since(before))


PARENT = """
import signal, sys
from sandbox.pool import Item, Sandbox
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background job ignores it otherwise
codes = sys.stdin.read().split("\\0")
with Sandbox(timeout_s=60) as sandbox:
    sandbox.run([Item(code, "code") for code in codes], on_done=lambda i, o: print(o.status.value, flush=True))
"""


@pytest.mark.browser
@pytest.mark.parametrize("end", [signal.SIGKILL, signal.SIGINT])
def test_nothing_is_left_when_the_parent_is_stopped_while_a_page_loops(end: signal.Signals, short_path: Path) -> None:
    env = {**os.environ, "TMPDIR": str(short_path)}
    with subprocess.Popen(
        [sys.executable, "-c", PARENT], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=env
    ) as parent:
        assert parent.stdin is not None
        assert parent.stdout is not None
        parent.stdin.write("\0".join([page("first"), LOOP]).encode())
        parent.stdin.close()
        assert parent.stdout.readline() == b"ok\n"
        time.sleep(0.5)
        below = descendants(parent.pid)
        assert any("worker.mjs" in command(pid) for pid in below)
        assert any("type=renderer" in command(pid) for pid in below)
        parent.send_signal(end)
        parent.wait(30)
    assert all_gone(below)
    end_by = time.monotonic() + 10
    while any(short_path.iterdir()) and time.monotonic() < end_by:
        time.sleep(0.1)
    assert [p.name for p in short_path.iterdir()] == []


@pytest.mark.browser
@pytest.mark.parametrize(
    "victim",
    [
        *("worker.mjs", "type=renderer", "sandbox.render_worker"),
        *(pytest.param(name, marks=pytest.mark.slow) for name in ("remote-debugging-pipe", "playwright/driver")),
    ],
)
def test_a_process_that_is_killed_is_replaced_and_no_item_is_lost(victim: str) -> None:
    others = set(descendants(os.getpid()))
    killed: list[int] = []

    def kill(index: int, outcome: Outcome) -> None:
        if index == 2 and not killed:
            pid, *_ = to_kill(others, victim)
            killed.append(pid)
            os.kill(pid, signal.SIGKILL)

    with Sandbox() as sandbox:
        outcomes = sandbox.run([Item(page(f"{victim} {i}"), "code") for i in range(10)], on_done=kill)
        below = started_since(others)
    assert killed
    assert all_gone(below)
    assert [o.status.value for o in outcomes] == ["ok"] * 10


@pytest.mark.browser
def test_what_kills_its_browser_twice_is_crashed_and_the_next_one_is_not() -> None:
    done = threading.Event()
    others = set(descendants(os.getpid()))

    def killer() -> None:
        while not done.wait(0.1):
            for pid in started_since(others, "type=renderer"):
                if cpu_of(pid) > 2:  # it is looping
                    os.kill(pid, signal.SIGKILL)

    with Sandbox(timeout_s=30) as sandbox:
        sandbox.run([Item(page("first"), "code")])
        thread = threading.Thread(target=killer)
        thread.start()
        (crashed,) = sandbox.run([Item(LOOP, "code")])
        done.set()
        thread.join()
        (fine,) = sandbox.run([Item(page("after"), "code")])
    assert crashed.status is Status.CRASHED
    assert crashed.compiled
    assert "twice" in crashed.diagnostics[-1].message
    assert fine.status is Status.OK


@pytest.mark.browser
def test_a_browser_that_does_not_start_is_one_clear_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BOT_GRPO_CHROMIUM", "/bin/false")
    with Sandbox() as sandbox, pytest.raises(SetupError, match="Chromium does not start") as caught:
        sandbox.run([Item(page("a"), "code")])
    assert "\n" not in str(caught.value)


@pytest.mark.browser
def test_screenshots_that_cannot_be_written_are_an_error_and_not_a_verdict(tmp_path: Path) -> None:
    folder = tmp_path / "shots"
    with Sandbox(screenshots=folder) as sandbox:
        folder.rmdir()
        folder.write_text("in the way")
        with pytest.raises(SetupError, match="rendering failed"):
            sandbox.run([Item(page("a"), "code")])


@pytest.mark.browser
def test_equal_pictures_share_one_file(tmp_path: Path) -> None:
    with Sandbox(screenshots=tmp_path) as sandbox:
        one, same, other = sandbox.run([Item(code, "code") for code in (page("a"), page("a") + "\n", page("b"))])
    assert one.screenshot == same.screenshot != other.screenshot
    assert sorted(tmp_path.iterdir()) == sorted({one.screenshot, other.screenshot})  # type: ignore[type-var]


def test_the_sandbox_needs_neither_torch_nor_a_fork() -> None:
    code = (
        "import os, sys\n"
        "os.register_at_fork(before=lambda: sys.exit('forked'))\n"
        "from sandbox.pool import Item, Sandbox\n"
        f"with Sandbox(render=False) as s: assert s.run([Item({page('a')!r}, 'code')])[0].compiled\n"
        "assert not {'torch', 'esbuild_py', 'playwright'} & set(sys.modules), sys.modules.keys()\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)


def test_setup_describes_what_there_is(monkeypatch: pytest.MonkeyPatch) -> None:
    facts = setup.describe()
    assert set(facts) == {"node", "esbuild", "chromium"}
    assert facts["node"].startswith("v")
    monkeypatch.setenv("BOT_GRPO_CHROMIUM", "/nonexistent")
    assert "BOT_GRPO_CHROMIUM" in setup.describe()["chromium"]


def test_setup_does_no_work_twice_and_a_changed_source_is_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    runs: list[list[str]] = []

    def run(argv: list[str], folder: Path, problem: str) -> None:
        runs.append(argv)
        (folder / "node_modules").mkdir(exist_ok=True)
        (folder / "vendor" / "exports.json").write_text("{}")

    source = tmp_path / "worker"
    (source / "ui").mkdir(parents=True)
    for name in ("package.json", "package-lock.json", ".npmrc"):
        (source / name).write_text("{}")
    monkeypatch.setattr(setup, "_SOURCE", source)
    monkeypatch.setattr(setup, "_run", run)
    assert setup.prepare_worker() == source
    assert len(runs) == 2
    setup.prepare_worker()
    assert len(runs) == 2
    (source / "package.json").write_text('{"name": "changed"}')
    setup.prepare_worker()
    assert len(runs) == 4


def test_a_read_only_package_keeps_its_node_modules_in_the_users_cache(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(setup, "_is_ready", lambda folder: False)
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    folder = setup.worker_dir()
    assert folder.parent == tmp_path / "bot-grpo"
    assert folder.name.startswith("worker-")


def test_an_old_node_and_a_missing_npm_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    old = tmp_path / "node"
    old.write_text("#!/bin/sh\necho v18.1.0\n")
    old.chmod(0o755)
    setup.node.cache_clear()
    try:
        monkeypatch.setenv("BOT_GRPO_NODE", str(old))
        with pytest.raises(SetupError, match=r"v18\.1\.0.*needs Node 20"):
            setup.node()
        monkeypatch.setenv("BOT_GRPO_NODE", sys.executable)  # there is a node, of a version; but no npm
        monkeypatch.setattr(setup, "node", lambda: old)
        monkeypatch.setattr(setup, "_is_ready", lambda folder: False)
        monkeypatch.setenv("PATH", str(tmp_path))
        with pytest.raises(SetupError, match="npm"):
            setup.prepare_worker()
    finally:
        monkeypatch.undo()
        setup.node.cache_clear()
