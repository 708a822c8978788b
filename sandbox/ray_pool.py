"""`RaySandbox`: a `Sandbox` whose workers are actors on a Ray cluster, on as many machines as it has."""

from __future__ import annotations

import os
import re
import shutil
import socket
import tempfile
import threading
import time
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

from sandbox.engine import Done, Item, Pool, Run
from sandbox.errors import SetupError
from sandbox.outcome import Diagnostic, Outcome, Status
from sandbox.pool import Sandbox

_EACH = 2  # items that an actor has at a time: while one is rendered, the next one is compiled
_START_S = 120.0
_REACH_S = 5.0
_WAITS = "RAY_gcs_server_port_wait_time_s"
_LOOK_S = 0.5
_KEPT = 64  # screenshots that an actor keeps: each is on its way to the caller


class _Worker:
    """The actor: a sandbox with one worker, in a process of its own on some node."""

    def __init__(self, screenshots: bool, settings: dict[str, Any]) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="bot-grpo-shots-")) if screenshots else None
        self._sandbox = Sandbox(workers=1, screenshots=self._folder, **settings)
        self._kept: OrderedDict[Path, None] = OrderedDict()
        self._lock = threading.Lock()

    def ready(self) -> bool:
        return True

    def judge(self, item: Item) -> tuple[Outcome, bool, bytes | None]:
        """The outcome, whether it is certain, and the bytes of its screenshot, whose path in it is only a name."""
        (outcome,) = self._sandbox.run([item])
        certain = self._sandbox.knows(item)
        if outcome.screenshot is None:
            return outcome, certain, None
        png = outcome.screenshot.read_bytes()
        with self._lock:
            self._kept[outcome.screenshot] = None
            self._kept.move_to_end(outcome.screenshot)
            if len(self._kept) > _KEPT:
                self._kept.popitem(last=False)[0].unlink(missing_ok=True)
        return replace(outcome, screenshot=Path(outcome.screenshot.name)), certain, png

    def close(self) -> None:
        self._sandbox.close()
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)


@dataclass(eq=False)
class _Actor:
    """An actor, its answer to whether it is ready (None: it has answered), and how many items it has."""

    handle: Any
    ready: Any
    items: int = 0


@dataclass(frozen=True)
class _Call:
    key: str
    item: Item
    actor: _Actor
    again: bool  # an actor has died with it before


class RaySandbox(Pool):
    """`Sandbox`, on a Ray cluster that runs already: `run`, `stream`, `arun` and `close` are the same.

    `address` is "ray" (the cluster that $RAY_ADDRESS names, or one that runs on this machine) or "ray://host:port" (by
    Ray's client). `actors` is their number, also as "ray://host:port?workers=8"; without it there is one for each CPU
    of the cluster. The nodes need this package and what it needs. Screenshots are written here. An actor that dies is
    replaced, and what it had to judge is tried once more; then it is `crashed`.
    Raises SetupError when Ray, the cluster, or something on its nodes is missing.
    """

    def __init__(
        self, address: str = "ray", *, actors: int | None = None, screenshots: Path | None = None, **settings: Any
    ) -> None:
        super().__init__()
        self._ray = _imported()
        parts = urlsplit(address if ":" in address else address.replace("ray", "ray://", 1))
        self._owned = _connect(self._ray, f"{parts.scheme}://{parts.netloc}" if parts.netloc else None)
        cpus = self._ray.cluster_resources().get("CPU", 0)
        asked = parse_qs(parts.query).get("workers")
        self._number = actors or (_number(asked[0]) if asked else max(int(cpus), 1))
        if cpus <= 0:
            raise SetupError("the Ray cluster has no CPU")
        self._class = self._ray.remote(_Worker).options(
            num_cpus=min(1.0, cpus / self._number), max_concurrency=_EACH, scheduling_strategy="SPREAD"
        )
        self._arguments = (screenshots is not None, settings)
        self._screenshots = screenshots
        self._actors: list[_Actor] = []
        self._lock = threading.Lock()
        if screenshots is not None:
            screenshots.mkdir(parents=True, exist_ok=True)

    def _open(self) -> Run:
        return _RayRun(self, self._ray)

    def close(self) -> None:
        """End every actor with its processes, and whatever runs. It can be used again while the cluster is there."""
        for run in list(self._runs):
            run.end()
        with self._lock:
            actors, self._actors = self._actors, []
        ending = [actor.handle.close.remote() for actor in actors]
        if ending:
            self._ray.wait(ending, num_returns=len(ending), timeout=10)
        for actor in actors:
            self._ray.kill(actor.handle)

    def __exit__(self, *error: object) -> None:
        self.close()
        if self._owned:
            self._ray.shutdown()

    def _pick(self) -> _Actor:
        """The actor that has the least to do, of those that are ready. Raises SetupError when none gets ready."""
        end = time.monotonic() + _START_S
        while True:
            with self._lock:
                for _ in range(self._number - len(self._actors)):
                    handle = self._class.remote(*self._arguments)
                    self._actors.append(_Actor(handle, handle.ready.remote()))
                actors = list(self._actors)
            waiting = {actor.ready: actor for actor in actors if actor.ready is not None}
            some = len(waiting) < len(actors)
            ready, _ = self._ray.wait(list(waiting), timeout=0 if some else _LOOK_S) if waiting else ([], [])
            for ref in ready:
                self._check_ready(waiting[ref], ref)
            able = [actor for actor in actors if actor.ready is None]
            if able:
                return min(able, key=lambda actor: actor.items)
            if time.monotonic() > end:
                raise SetupError(f"no worker starts on the Ray cluster within {_START_S:g} s: are all its CPUs taken?")

    def _check_ready(self, actor: _Actor, ref: Any) -> None:
        try:
            self._ray.get(ref)
        except self._ray.exceptions.RayError as error:
            self._drop(actor)
            if not isinstance(error, self._ray.exceptions.ActorDiedError) or "creation task" in str(error):
                raise SetupError(f"no worker starts on the Ray cluster: {_last_line(error)}") from error
        else:
            actor.ready = None

    def _able(self) -> int:
        """How many actors are ready, as far as is known."""
        return sum(actor.ready is None for actor in self._actors)

    def _drop(self, actor: _Actor) -> None:
        """Do without an actor, whatever state it is in; `_pick` starts another."""
        with self._lock:
            if actor in self._actors:
                self._actors.remove(actor)
        self._ray.kill(actor.handle)

    def _save(self, outcome: Outcome, png: bytes | None) -> Outcome:
        if png is None or outcome.screenshot is None or self._screenshots is None:
            return outcome
        path = self._screenshots / outcome.screenshot.name
        if not path.exists():
            part = path.with_suffix(f".{os.getpid()}-{threading.get_ident()}.part")
            part.write_bytes(png)
            part.replace(path)
        return replace(outcome, screenshot=path.resolve())


class _RayRun(Run):
    def __init__(self, sandbox: RaySandbox, ray: Any) -> None:
        self._sandbox = sandbox
        self._ray = ray
        self._calls: dict[Any, _Call] = {}
        self._ended = threading.Event()

    @property
    def pending(self) -> int:
        return len(self._calls)

    def room(self) -> int:
        return max(_EACH * self._sandbox._able() - self.pending, 0 if self.pending else 1)

    def begin(self, items: Sequence[tuple[str, Item]]) -> list[Done]:
        for key, item in items:
            self._ask(key, item, again=False)
        return []

    def _ask(self, key: str, item: Item, *, again: bool) -> None:
        actor = self._sandbox._pick()
        actor.items += 1
        self._calls[actor.handle.judge.remote(item)] = _Call(key, item, actor, again)

    def finished(self, *, wait: bool) -> list[Done]:
        done: list[Done] = []
        while not done and self._calls:
            if self._ended.is_set():
                raise RuntimeError("the sandbox was closed while it was at work")
            refs, _ = self._ray.wait(list(self._calls), timeout=_LOOK_S if wait else 0)
            for ref in refs:
                done += self._answer(self._calls.pop(ref), ref)
            if not wait:
                break
        return done

    def _answer(self, call: _Call, ref: Any) -> list[Done]:
        call.actor.items -= 1
        try:
            outcome, certain, png = self._ray.get(ref)
        except self._ray.exceptions.RayActorError:
            self._sandbox._drop(call.actor)
            if self._ended.is_set():
                raise RuntimeError("the sandbox was closed while it was at work") from None
            if call.again:
                return [Done(call.key, _crashed(call.item), certain=False)]
            self._ask(call.key, call.item, again=True)
            return []
        except self._ray.exceptions.RayTaskError as error:
            if isinstance(error.cause, SetupError):
                raise SetupError(f"on a node of the Ray cluster: {error.cause}") from error
            raise
        return [Done(call.key, self._sandbox._save(outcome, png), certain)]

    def end(self) -> None:
        self._ended.set()

    def close(self) -> None:
        """End the actors that still work for this run: nobody else can stop what they do."""
        for actor in {call.actor for call in self._calls.values()}:
            self._sandbox._drop(actor)
        self._calls.clear()


def _crashed(item: Item) -> Outcome:
    code = item.text if item.kind == "code" else ""
    found = Diagnostic("sandbox", "error", 1, 1, "the actor or the node that had it died, twice")
    return Outcome(Status.CRASHED, code=code, diagnostics=(found,))


def _imported() -> Any:
    try:
        import ray
        import ray.exceptions
    except ImportError as error:
        raise SetupError(f"Ray is not installed ({error}); pip install 'bot-grpo[ray]'") from error
    return ray


def connect(address: str | None = None) -> Any:
    """The module `ray`, connected to the cluster at `ray://host:port`, or to the one that is there.

    Raises SetupError when Ray or the cluster is missing.
    """
    ray = _imported()
    _connect(ray, address)
    return ray


def _number(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise SetupError(f"workers={text} of a Ray address is not a number from 1")
    return int(text)


_PLACE = re.compile(r"(?:ray://)?(?P<host>[^/:?]+):(?P<port>\d+)")


def _connect(ray: Any, address: str | None) -> bool:
    """Connect to a cluster (None: to the one that is there); returns False where this process is connected already."""
    if ray.is_initialized():
        return False
    named = address or os.environ.get("RAY_ADDRESS", "")
    how = "start one (ray start --head), or name it in RAY_ADDRESS"
    if place := _PLACE.fullmatch(named):  # Ray itself would try for a minute, and then end this process
        try:
            socket.create_connection((place["host"], int(place["port"])), timeout=_REACH_S).close()
        except OSError as error:
            raise SetupError(f"there is no Ray cluster at {named} ({error}); {how}") from error
    waits = os.environ.get(_WAITS)
    os.environ[_WAITS] = waits or "1"  # or Ray waits for minutes for a cluster that is no more
    try:
        ray.init(address or "auto", logging_level="ERROR", log_to_driver=False)
    except (ConnectionError, RuntimeError, ValueError) as error:
        raise SetupError(f"there is no Ray cluster to work on ({_last_line(error)}); {how}") from error
    finally:
        if waits is None:
            del os.environ[_WAITS]
    return True


def _last_line(error: BaseException) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[-1][:300] if lines else type(error).__name__
