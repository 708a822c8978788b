"""`Sandbox`: from a text that a model wrote to the `Outcome` of its component."""

from __future__ import annotations

import queue
import threading
from collections.abc import Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor
from concurrent.futures import wait as wait_for
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from sandbox import setup
from sandbox.compile import Compiled, NodeCompiler, Source, refusal
from sandbox.engine import Done, Item, Pool, Run
from sandbox.errors import SetupError
from sandbox.extract import extract
from sandbox.fallback import PyCompiler
from sandbox.limits import MEMORY, RECYCLE_AFTER
from sandbox.outcome import Diagnostic, Outcome, Status
from sandbox.processes import GoneError, LateError
from sandbox.render_process import Rendered, RenderProcess

__all__ = ["Item", "Sandbox", "is_workers", "open_sandbox"]

_CHUNK = 16  # compiled together; while they are rendered the next ones are compiled, and no more
_CHUNK_ALONE = 128  # where nothing is rendered


@dataclass(frozen=True)
class _Task:
    """An item that is being judged: its key, what is known of it so far, and what a page needs."""

    key: str
    item: Item
    outcome: Outcome
    compiled: Compiled


class Sandbox(Pool):
    """Compiles and renders components in child processes. A context manager; `close` ends every process.

    `workers` is the number of browsers side by side. `timeout_s` is what one component may take to be mounted, looked
    at and used, on a clock that the page cannot stop. `screenshots` is a folder, made if need be; a file is named by
    what it shows. `lint` adds ESLint's findings to the diagnostics, `page` a score of every rendered page
    (`sandbox.page_score`). `memory` is how many bytes a worker with its browser may hold before the component in it
    has crashed, and `recycle_after` the number of components after which a browser is replaced.
    Raises SetupError when Node (for rendering and linting), its packages or Chromium are missing, and RequirementError
    for a requirement that does not follow the grammar. Nothing that a component does raises. `run`, `stream` and `arun`
    may be called side by side, from several threads and tasks: they share the workers.
    """

    def __init__(
        self,
        *,
        workers: int = 1,
        render: bool = True,
        timeout_s: float = 5.0,
        screenshots: Path | None = None,
        lint: bool = False,
        page: bool = False,
        memory: int = MEMORY,
        recycle_after: int = RECYCLE_AFTER,
    ) -> None:
        super().__init__()
        self._workers = workers
        self._render = render
        self._timeout_s = timeout_s
        self._screenshots = screenshots
        self._lint = lint
        self._page = page
        self._memory = memory
        self._recycle_after = recycle_after
        self._compiler: NodeCompiler | PyCompiler | None = None
        self._compiling = threading.Lock()
        self._starting: RenderProcess | None = None  # ahead of any item
        self._closed = 0  # times
        self._slots: queue.SimpleQueue[RenderProcess | None] = queue.SimpleQueue()  # one a worker, unless it is used
        for _ in range(workers):
            self._slots.put(None)
        self._closing = threading.Lock()
        if screenshots is not None:
            screenshots.mkdir(parents=True, exist_ok=True)

    def start(self) -> None:
        """Start the compiler and the browsers in a thread, while the caller does something else.

        The first items then wait no longer than that takes. What fails is tried again, and raised, when they come.
        """
        threading.Thread(target=self._start, args=(self._closed,), daemon=True).start()

    def _start(self, closed: int) -> None:
        """Start what is not there yet, unless the sandbox is closed meanwhile."""
        with suppress(SetupError, GoneError, LateError):
            for _ in range(self._workers if self._render else 0):
                renderer = self._slots.get()
                try:
                    if renderer is None and closed == self._closed:
                        self._starting = renderer = self._new_renderer()
                        renderer.start()
                finally:
                    self._starting = None
                    self._slots.put(renderer)
            with self._compiling:
                compiler = self._get_compiler() if closed == self._closed else None
                if isinstance(compiler, NodeCompiler):
                    compiler.start()

    def _open(self) -> Run:
        return _LocalRun(self, self._workers, render=self._render)

    def close(self) -> None:
        """End every child process, and whatever runs. The sandbox can be used again: it starts new ones."""
        with self._closing:
            self._closed += 1
            starting = self._starting
            if starting is not None:
                starting.stop()
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

    def _compile(self, items: Sequence[tuple[str, Item]]) -> list[_Task]:
        """Extract and compile; the tasks are in the items' order."""
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
                self._compiler = NodeCompiler(
                    node, folder, render=self._render, lint=self._lint, timeout_s=self._timeout_s
                )
            elif self._render or self._lint:
                what = "rendering" if self._render else "linting"
                raise SetupError(f"{what} needs Node {setup.NODE_MIN} or newer and its npm; {setup.GET_NODE}")
            else:
                self._compiler = PyCompiler(timeout_s=self._timeout_s)
        return self._compiler

    def _rendered(self, run: _LocalRun, task: _Task) -> Rendered:
        """Render in the next worker that is free. Raises GoneError where the run is ended."""
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
        """What is known of a task when its page is, too."""
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


class _LocalRun(Run):
    """Compiles in the thread that goes through it, and renders in threads that only wait for render processes."""

    def __init__(self, sandbox: Sandbox, workers: int, *, render: bool) -> None:
        self.ended = threading.Event()
        self.using: set[RenderProcess] = set()
        self._sandbox = sandbox
        self._workers = workers
        self._render = render
        self._threads = ThreadPoolExecutor(workers)
        self._running: dict[Future[Rendered], _Task] = {}

    @property
    def pending(self) -> int:
        return len(self._running)

    def room(self) -> int:
        if not self._render:
            return _CHUNK_ALONE
        return _CHUNK if self.pending <= _CHUNK + self._workers else 0

    def begin(self, items: Sequence[tuple[str, Item]]) -> list[Done]:
        done = []
        for task in self._sandbox._compile(items):
            if task.outcome.status is Status.OK and self._render:
                self._running[self._threads.submit(self._sandbox._rendered, self, task)] = task
            else:
                done.append(Done(task.key, task.outcome))
        return done

    def finished(self, *, wait: bool) -> list[Done]:
        futures, _ = wait_for(self._running, None if wait else 0, return_when=FIRST_COMPLETED)
        try:
            pairs = [(self._running.pop(future), future.result()) for future in futures]
        except GoneError as error:
            raise RuntimeError("the sandbox was closed while it was at work") from error
        return [Done(task.key, self._sandbox._with_page(task, page), not page.stalled) for task, page in pairs]

    def end(self) -> None:
        self.ended.set()
        for renderer in list(self.using):
            renderer.stop()

    def close(self) -> None:
        self._threads.shutdown(cancel_futures=True)


def is_workers(text: int | str) -> bool:
    """Whether `open_sandbox` would take this: a number from 1, "ray" or "ray://host:port"."""
    text = str(text).strip()
    return text == "ray" or text.startswith(("ray://", "ray?")) or (text.isdecimal() and int(text) >= 1)


def open_sandbox(workers: int | str = 1, **settings: Any) -> Pool:
    """A `Sandbox` for a number (also as a string), a `RaySandbox` for "ray" or "ray://host:port".

    `settings` are those of `Sandbox`. Raises SetupError for anything else, and where there is no such cluster.
    """
    text = str(workers).strip()
    if not is_workers(text):
        raise SetupError(f'workers are a number from 1, "ray" or "ray://host:port", not {text!r}')
    if text.isdecimal():
        return Sandbox(workers=int(text), **settings)
    from sandbox.ray_pool import RaySandbox  # Ray is an extra, and takes a second to import

    return RaySandbox(text, **settings)


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
