"""`Sandbox`: from a text that a model wrote to the `Outcome` of its component."""

from __future__ import annotations

import asyncio
import hashlib
import json
import queue
import threading
from collections.abc import AsyncGenerator, Callable, Generator, Iterable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import aclosing, closing
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, Self

from sandbox import setup
from sandbox.compile import Compiled, NodeCompiler, Source, refusal
from sandbox.errors import SetupError
from sandbox.extract import extract
from sandbox.fallback import PyCompiler
from sandbox.limits import MEMORY, RECYCLE_AFTER
from sandbox.outcome import Diagnostic, Outcome, Status
from sandbox.processes import GoneError
from sandbox.remembered import Remembered
from sandbox.render_process import Rendered, RenderProcess
from sandbox.requirements import check_grammar

_CHUNK = 16  # compiled together; while they are rendered the next ones are compiled, and no more
_CHUNK_ALONE = 128  # where nothing is rendered


@dataclass(frozen=True)
class Item:
    """One thing to judge: a chat reply, or a component's code (`language` "jsx" or "tsx"; None tries both)."""

    text: str
    kind: Literal["reply", "code"] = "reply"
    language: str | None = None
    requirements: tuple[Mapping[str, Any], ...] = ()

    @property
    def key(self) -> str:
        """Equal for equal items."""
        fields = json.dumps([self.kind, self.language, self.requirements, self.text], sort_keys=True)
        return hashlib.sha256(fields.encode()).hexdigest()


@dataclass(frozen=True)
class _Task:
    """An item that is being judged: its key, what is known of it so far, and what a page needs."""

    key: str
    item: Item
    outcome: Outcome
    compiled: Compiled


class _Run:
    """One call of `run` or `stream`; its end, which any thread may ask for, is also that of what it renders."""

    def __init__(self) -> None:
        self.ended = threading.Event()
        self.using: set[RenderProcess] = set()

    def end(self) -> None:
        self.ended.set()
        for renderer in list(self.using):
            renderer.stop()


class Sandbox:
    """Compiles and renders components in child processes. A context manager; `close` ends every process.

    `workers` is the number of browsers side by side. `timeout_s` is what one component may take to be mounted, looked
    at and used, on a clock that the page cannot stop. `screenshots` is a folder, made if need be; a file is named by
    what it shows. `page` asks for a score of every rendered page (`sandbox.page_score`). `memory` is how many bytes a
    worker with its browser may hold before the component in it has crashed, and `recycle_after` the number of
    components after which a browser is replaced.
    Raises SetupError when Node (for rendering), its packages or Chromium are missing, and RequirementError for a
    requirement that does not follow the grammar. Nothing that a component does raises. `run`, `stream` and `arun` may
    be called side by side, from several threads and tasks: they share the workers.
    """

    def __init__(
        self,
        *,
        workers: int = 1,
        render: bool = True,
        timeout_s: float = 5.0,
        screenshots: Path | None = None,
        page: bool = False,
        memory: int = MEMORY,
        recycle_after: int = RECYCLE_AFTER,
    ) -> None:
        self._workers = workers
        self._render = render
        self._timeout_s = timeout_s
        self._screenshots = screenshots
        self._page = page
        self._memory = memory
        self._recycle_after = recycle_after
        self._remembered = Remembered()
        self._compiler: NodeCompiler | PyCompiler | None = None
        self._compiling = threading.Lock()
        self._slots: queue.SimpleQueue[RenderProcess | None] = queue.SimpleQueue()  # one a worker, unless it is used
        for _ in range(workers):
            self._slots.put(None)
        self._runs: set[_Run] = set()
        self._closing = threading.Lock()
        if screenshots is not None:
            screenshots.mkdir(parents=True, exist_ok=True)

    def run(self, items: Sequence[Item], *, on_done: Callable[[int, Outcome], None] | None = None) -> list[Outcome]:
        """Judge `items`; the outcomes are in their order.

        `on_done(index, outcome)` is called in this thread as each is finished. Equal items are judged once. An
        exception (Ctrl-C, or one of `on_done`) ends every process before it goes on.
        """
        for item in items:
            _check(item)
        outcomes: dict[int, Outcome] = {}
        try:
            with closing(self._judge(_Run(), items, lambda taken: _CHUNK_ALONE)) as judged:
                for index, outcome in judged:
                    outcomes[index] = outcome
                    if on_done is not None:
                        on_done(index, outcome)
        except BaseException:
            self.close()
            raise
        return [outcomes[index] for index in range(len(items))]

    async def stream(self, items: Iterable[Item], *, in_flight: int = 256) -> AsyncGenerator[Outcome, None]:
        """Judge `items`, however many; yields the outcomes in their order.

        Items are taken one by one, in a thread, and no more than `in_flight` of them before the first one's outcome is
        asked for. An exception or a cancellation, or closing this generator early, ends the processes in use.
        """
        run = _Run()
        outcomes = self._in_order(run, items, max(in_flight, 1))
        loop, thread = asyncio.get_running_loop(), ThreadPoolExecutor(1)
        try:
            while (outcome := await loop.run_in_executor(thread, next, outcomes, None)) is not None:
                yield outcome
        finally:
            run.end()
            await loop.run_in_executor(thread, outcomes.close)
            thread.shutdown()

    async def arun(
        self, items: Iterable[Item], *, on_done: Callable[[int, Outcome], None] | None = None
    ) -> list[Outcome]:
        """`run`, for a caller that has an event loop; `on_done` is called in it, in the items' order."""
        outcomes: list[Outcome] = []
        async with aclosing(self.stream(items)) as stream:
            async for outcome in stream:
                if on_done is not None:
                    on_done(len(outcomes), outcome)
                outcomes.append(outcome)
        return outcomes

    def _in_order(self, run: _Run, items: Iterable[Item], in_flight: int) -> Generator[Outcome, None, None]:
        ready: dict[int, Outcome] = {}
        given = 0
        with closing(self._judge(run, items, lambda taken: in_flight - (taken - given))) as judged:
            for index, outcome in judged:
                ready[index] = outcome
                while given in ready:
                    given += 1  # before it is given: while it is looked at, the next one may be taken
                    yield ready.pop(given - 1)

    def _judge(
        self, run: _Run, items: Iterable[Item], room: Callable[[int], int]
    ) -> Generator[tuple[int, Outcome], None, None]:
        """Indices and outcomes as they come: compiled here, rendered in threads that only wait for render processes.

        `room(taken)` is how many further items may be taken when `taken` of them have been: more than 0 when nothing is
        being judged.
        """
        source, more, taken = enumerate(items), True, 0
        asked: dict[str, list[int]] = {}  # by key, the indices of what is being judged
        running: dict[Future[Rendered], _Task] = {}
        threads = ThreadPoolExecutor(self._workers)
        self._runs.add(run)
        try:
            while more or running:
                chunk = _CHUNK if self._render else _CHUNK_ALONE
                many = min(chunk, room(taken)) if more and len(running) <= chunk + self._workers else 0
                batch = list(islice(source, many))
                more, taken = more and len(batch) == many, taken + len(batch)
                fresh: list[tuple[str, Item]] = []
                for index, item in batch:
                    _check(item)
                    if (key := item.key) in asked:
                        asked[key].append(index)
                    elif (outcome := self._remembered.get(key)) is not None:
                        yield index, outcome
                    else:
                        asked[key] = [index]
                        fresh.append((key, item))
                done: list[tuple[_Task, Outcome, bool]] = []
                for task in self._compile(fresh):
                    if task.outcome.status is Status.OK and self._render:
                        running[threads.submit(self._rendered, run, task)] = task
                    else:
                        done.append((task, task.outcome, True))
                done += self._finished(running, 0 if done or (many and more) else None)
                for task, outcome, certain in done:
                    if certain:
                        self._remembered.put(task.key, outcome)
                    for index in asked.pop(task.key):
                        yield index, outcome
        except GoneError as error:
            raise RuntimeError("the sandbox was closed while it was at work") from error
        finally:
            run.end()
            threads.shutdown(cancel_futures=True)
            self._runs.discard(run)

    def _finished(
        self, running: dict[Future[Rendered], _Task], timeout_s: float | None
    ) -> list[tuple[_Task, Outcome, bool]]:
        """Tasks, their outcomes, and whether another time they would end in the same way."""
        done, _ = wait(running, timeout_s, return_when=FIRST_COMPLETED)
        finished = [(running.pop(future), future.result()) for future in done]
        return [(task, self._with_page(task, rendered), not rendered.stalled) for task, rendered in finished]

    def _compile(self, items: Sequence[tuple[str, Item]]) -> list[_Task]:
        tasks: list[_Task] = []
        sources: dict[int, Source] = {}
        for key, item in items:
            outcome, language = _extracted(item)
            why = refusal(outcome.code) if outcome.status is Status.OK else None
            if why is not None:
                found = Diagnostic("sandbox", "fatal", 1, 1, why)
                outcome = replace(outcome, status=Status.TOO_LARGE, diagnostics=(found,))
            if outcome.status is Status.OK:
                sources[len(tasks)] = Source(outcome.code, language)
            tasks.append(_Task(key, item, outcome, Compiled(outcome.status)))
        if not sources:
            return tasks
        with self._compiling:
            answers = self._get_compiler().compile(list(sources.values()))
        for at, compiled in zip(sources, answers, strict=True):
            outcome = replace(
                tasks[at].outcome,
                status=compiled.status,
                diagnostics=compiled.diagnostics,
                compile_ms=round(compiled.ms, 2),
            )
            tasks[at] = replace(tasks[at], outcome=outcome, compiled=compiled)
        return tasks

    def _get_compiler(self) -> NodeCompiler | PyCompiler:
        if self._compiler is None:
            node = setup.node()
            if node is not None:
                folder = setup.prepare_worker()
                self._compiler = NodeCompiler(node, folder, render=self._render, timeout_s=self._timeout_s)
            elif self._render:
                raise SetupError(f"rendering needs Node {setup.NODE_MIN} or newer and its npm; {setup.GET_NODE}")
            else:
                self._compiler = PyCompiler(timeout_s=self._timeout_s)
        return self._compiler

    def _rendered(self, run: _Run, task: _Task) -> Rendered:
        renderer = self._slots.get()
        try:
            if renderer is None:
                renderer = self._new_renderer()
            run.using.add(renderer)
            if run.ended.is_set():
                raise GoneError("stopped")
            return renderer.render(task.compiled, task.item.requirements)
        finally:
            if renderer is not None:
                run.using.discard(renderer)
                if renderer.stopped:
                    renderer.close()
                    renderer = None
            self._slots.put(renderer)

    def _new_renderer(self) -> RenderProcess:
        return RenderProcess(
            setup.prepare_worker(),
            setup.chromium(),
            self._screenshots,
            self._timeout_s,
            page=self._page,
            memory=self._memory,
            recycle_after=self._recycle_after,
        )

    def _with_page(self, task: _Task, rendered: Rendered) -> Outcome:
        source = Source(task.outcome.code, task.compiled.language)
        severity: Literal["error", "warning"] = "warning" if rendered.status is Status.OK else "error"
        found = []
        for message, line, column in rendered.troubles:
            place, compiler = (1, 1), self._get_compiler()
            if line is not None and line > 1 and isinstance(compiler, NodeCompiler):  # line 1 of a script is ours
                with self._compiling:
                    place = compiler.trace(source, line - 1, column)
            found.append(Diagnostic("runtime", severity, *place, message))
        return replace(
            task.outcome,
            status=rendered.status,
            diagnostics=(*task.outcome.diagnostics, *found),
            requirements=rendered.requirements,
            render_ms=round(rendered.ms, 2),
            screenshot=rendered.screenshot,
            page=rendered.page,
            page_reason=rendered.page_reason,
        )

    def close(self) -> None:
        """End every child process, and whatever runs. The sandbox can be used again: it starts new ones."""
        with self._closing:
            for run in list(self._runs):
                run.end()
            for renderer in [self._slots.get() for _ in range(self._workers)]:
                if renderer is not None:
                    renderer.close()
                self._slots.put(None)
            with self._compiling:
                if self._compiler is not None:
                    self._compiler.close()
                self._compiler = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, tb: TracebackType | None) -> None:
        self.close()


def _check(item: Item) -> None:
    for requirement in item.requirements:
        check_grammar(requirement)


_LANGUAGES = {
    **dict.fromkeys(("tsx", "ts", "typescript", "typescriptreact"), "tsx"),
    **dict.fromkeys(("jsx", "js", "javascript", "javascriptreact"), "jsx"),
}


def _extracted(item: Item) -> tuple[Outcome, str | None]:
    if item.kind == "code":
        return Outcome(Status.OK, code=item.text), item.language
    found = extract(item.text)
    if found.status in ("no_code", "not_component"):
        return Outcome(Status(found.status)), None
    language = item.language or _LANGUAGES.get(found.language)
    return Outcome(Status.OK, code=found.code, code_start=found.start), language
