"""The sandbox on a Ray cluster: two nodes on this machine, real actors, real browsers."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from sandbox_helpers import all_gone, app, command, started_since

from sandbox.errors import SetupError
from sandbox.outcome import Outcome, Status
from sandbox.pool import Item, Sandbox, open_sandbox
from sandbox.processes import descendants

os.environ["RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"] = "0"  # read by `import ray`: this machine's address is 127.0.0.1
ray = pytest.importorskip("ray")
ACTOR = "ray::_Worker"


def page(text: str) -> Item:
    return Item(app(f"return <h1>{text}</h1>;"), "code")


def numbered(count: int) -> list[Item]:
    """Components that each show their own number, and are asked to."""
    return [
        Item(app(f"return <h1>number {i}.</h1>;"), "code", requirements=({"check": "text", "text": f"number {i}."},))
        for i in range(count)
    ]


MIXED = [
    page("an ordinary one"),
    Item("Here you are:\n```tsx\nexport default () => <p className='p-8 text-red-500'>reply</p>\n```"),
    Item("export default function App() { return <p>; }", "code"),
    Item('import x from "nowhere";\nexport default () => <p>{x}</p>', "code"),
    Item(app('throw new Error("no");'), "code"),
    Item(app("return null;"), "code"),
    Item("Sorry", "code"),
    page("an ordinary one"),
    *numbered(2),
]


class Cluster:
    """A head without a CPU and a node with two, on loopback; `add` and `kill` change it."""

    def __init__(self) -> None:
        from ray.cluster_utils import Cluster as RayCluster

        self._before = set(descendants(os.getpid()))
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.client_port = free.getsockname()[1]
        self._settings = {"include_dashboard": False, "object_store_memory": 100 << 20, "node_ip_address": "127.0.0.1"}
        head = {**self._settings, "num_cpus": 1, "ray_client_server_port": self.client_port}
        self._cluster = RayCluster(initialize_head=True, head_node_args=head)
        self.nodes = [self.add()]
        self.address = self._cluster.address

    def add(self) -> Any:
        return self._cluster.add_node(num_cpus=1, **self._settings)

    def kill(self, node: Any) -> None:
        self._cluster.remove_node(node, allow_graceful=False)

    def processes(self) -> list[int]:
        return started_since(self._before)

    def close(self) -> None:
        below = self.processes()
        ray.shutdown()
        self._cluster.shutdown()
        assert all_gone(below)


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    with pytest.MonkeyPatch.context() as patch:
        cluster = Cluster()
        patch.setenv("RAY_ADDRESS", cluster.address)
        yield cluster
        cluster.close()


def look(outcomes: list[Outcome]) -> list[tuple[Any, ...]]:
    """What has to be the same wherever a component is judged."""
    return [
        (o.status, o.code, o.code_start, o.diagnostics, o.requirements, o.screenshot and o.screenshot.read_bytes())
        for o in outcomes
    ]


@pytest.mark.browser
def test_a_cluster_gives_what_one_process_gives_and_nothing_is_left(cluster: Cluster, tmp_path: Path) -> None:
    seen: list[int] = []
    with open_sandbox("ray", screenshots=tmp_path / "ray") as sandbox:
        outcomes = sandbox.run(MIXED, on_done=lambda i, o: seen.append(i))
        actors = [pid for pid in cluster.processes() if ACTOR in command(pid)]
        below = [each for pid in actors for each in (pid, *descendants(pid))]
        assert len(actors) == 2
        assert any("chromium" in command(pid) for pid in below)
        begun = time.monotonic()
        assert asyncio.run(sandbox.arun(MIXED)) == outcomes  # remembered on this side
        assert time.monotonic() - begun < 5
        sandbox.close()
        assert all_gone(below)
    with Sandbox(screenshots=tmp_path / "alone") as alone:
        assert look(alone.run(MIXED)) == look(outcomes)
    assert sorted(seen) == list(range(len(MIXED)))
    assert {o.screenshot.parent for o in outcomes if o.screenshot} == {tmp_path / "ray"}
    assert not ray.is_initialized()


@pytest.mark.browser
@pytest.mark.slow
def test_an_actor_and_a_node_that_die_lose_nothing(cluster: Cluster, tmp_path: Path) -> None:
    extra = cluster.add()
    items = numbered(60)

    def kill(index: int, outcome: Outcome) -> None:
        if len(done) == 10:
            os.kill(next(pid for pid in cluster.processes() if ACTOR in command(pid)), signal.SIGKILL)
        if len(done) == 25:
            cluster.kill(extra)
        done.append(index)

    done: list[int] = []
    before = cluster.processes()
    with open_sandbox("ray?workers=3", screenshots=tmp_path) as sandbox:
        outcomes = sandbox.run(items, on_done=kill)
        during = cluster.processes()
    assert [(o.status.value, o.requirements_met) for o in outcomes] == [("ok", 1.0)] * len(items)
    assert sorted(done) == list(range(len(items)))
    assert len({o.screenshot for o in outcomes}) == len(items)
    assert all_gone([pid for pid in during if pid not in before])


@pytest.mark.browser
@pytest.mark.slow
def test_what_takes_its_actor_with_it_twice_is_crashed(cluster: Cluster) -> None:
    from sandbox.ray_pool import RaySandbox

    def killer() -> None:
        for pid in cluster.processes():
            if ACTOR in command(pid) and any("render_worker" in command(each) for each in descendants(pid)):
                os.kill(pid, signal.SIGKILL)

    with RaySandbox(actors=1) as sandbox:
        run = sandbox._open()
        assert run.begin([("key", page("unlucky"))]) == []
        deaths, done = 0, []
        while not done and deaths < 500:
            killer()
            done = run.finished(wait=False)
            deaths += 1
            time.sleep(0.1)
        run.end()
        run.close()
        assert [(d.outcome.status, d.certain) for d in done] == [(Status.CRASHED, False)]
        assert "twice" in done[0].outcome.diagnostics[0].message
        assert sandbox.run([page("after")])[0].status is Status.OK


@pytest.mark.browser
@pytest.mark.slow
def test_rays_client_works_and_a_stream_that_is_closed_ends_its_actors(cluster: Cluster, tmp_path: Path) -> None:
    async def some() -> list[Outcome]:
        found = []
        async for outcome in sandbox.stream(iter(numbered(1000)), in_flight=10):
            found.append(outcome)
            if len(found) == 12:
                break
        return found

    address = f"ray://127.0.0.1:{cluster.client_port}?workers=1"
    with open_sandbox(address, screenshots=tmp_path) as sandbox:
        outcomes = asyncio.run(some())
        again = sandbox.run(numbered(14))
    assert [(o.status.value, o.requirements_met) for o in outcomes] == [("ok", 1.0)] * 12
    assert again[:12] == outcomes
    assert again[13].screenshot is not None
    assert again[13].screenshot.parent == tmp_path


def test_no_cluster_is_one_clear_line(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        nobody = f"127.0.0.1:{free.getsockname()[1]}"
    monkeypatch.setenv("RAY_ADDRESS", nobody)
    for address in ("ray", f"ray://{nobody}"):
        with pytest.raises(SetupError, match=r"no Ray cluster at .*ray start --head") as caught:
            open_sandbox(address)
        assert "\n" not in str(caught.value)


@pytest.mark.parametrize("workers", ["0", "-1", "two", "", "raya", "http://x", 0])
def test_what_is_not_a_number_of_workers_is_one_clear_line(workers: int | str) -> None:
    with pytest.raises(SetupError, match='a number from 1, "ray"'):
        open_sandbox(workers)


def test_a_number_of_workers_is_a_sandbox() -> None:
    for workers in (2, "2"):
        with open_sandbox(workers, render=False) as sandbox:
            assert isinstance(sandbox, Sandbox)
            assert sandbox.run([page("a")])[0].status is Status.OK
