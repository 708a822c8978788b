"""`Sandbox`: from a text that a model wrote to the `Outcome` of its component."""

from __future__ import annotations

import hashlib
import json
import queue
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, replace
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, Self

from sandbox import setup
from sandbox.compile import Compiled, NodeCompiler, Source, refusal
from sandbox.errors import SetupError
from sandbox.extract import extract
from sandbox.fallback import PyCompiler
from sandbox.outcome import Diagnostic, Outcome, Status
from sandbox.render_process import Rendered, RenderProcess
from sandbox.requirements import check_grammar

_CHUNK = 16  # compiled together; while they are rendered the next ones are compiled
_CHUNK_ALONE = 128  # where nothing is rendered
_REMEMBERED = 4096  # outcomes


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
    index: int
    outcome: Outcome
    compiled: Compiled


class Sandbox:
    """Compiles and renders components in child processes. A context manager; `close` ends every process.

    `workers` is the number of browsers side by side. `timeout_s` is what one component may take to render, on a clock
    that the page cannot stop. `screenshots` is a folder, made if need be; a file is named by what it shows. `page` asks
    for a score of every rendered page (`sandbox.page_score`).
    Raises SetupError when Node (for rendering), its packages or Chromium are missing, and RequirementError for a
    requirement that does not follow the grammar. Nothing that a component does raises.
    """

    def __init__(
        self,
        *,
        workers: int = 1,
        render: bool = True,
        timeout_s: float = 5.0,
        screenshots: Path | None = None,
        page: bool = False,
    ) -> None:
        self._workers = workers
        self._render = render
        self._timeout_s = timeout_s
        self._screenshots = screenshots
        self._page = page
        self._remembered: dict[str, Outcome] = {}
        self._compiler: NodeCompiler | PyCompiler | None = None
        self._renderers: list[RenderProcess] = []
        self._idle: queue.SimpleQueue[RenderProcess] = queue.SimpleQueue()
        if screenshots is not None:
            screenshots.mkdir(parents=True, exist_ok=True)

    def run(self, items: Sequence[Item], *, on_done: Callable[[int, Outcome], None] | None = None) -> list[Outcome]:
        """Judge `items`; the outcomes are in their order.

        `on_done(index, outcome)` is called in this thread as each is finished. Equal items are judged once. An
        exception (Ctrl-C, or one of `on_done`) ends every process before it goes on.
        """
        for item in items:
            for requirement in item.requirements:
                check_grammar(requirement)
        keys = [item.key for item in items]
        indices: dict[str, list[int]] = {}
        for index, key in enumerate(keys):
            indices.setdefault(key, []).append(index)
        outcomes: dict[int, Outcome] = {}

        def done(key: str, outcome: Outcome) -> None:
            for index in indices[key]:
                outcomes[index] = outcome
                if on_done is not None:
                    on_done(index, outcome)

        known = {key: self._remembered[key] for key in indices if key in self._remembered}
        for key, outcome in known.items():
            done(key, outcome)
        todo = [indices[key][0] for key in indices if key not in known]
        try:
            for index, outcome in self._judge(items, todo):
                self._remember(keys[index], outcome)
                done(keys[index], outcome)
        except BaseException:
            self.close()
            raise
        return [outcomes[index] for index in range(len(items))]

    def _remember(self, key: str, outcome: Outcome) -> None:
        if len(self._remembered) >= _REMEMBERED:
            del self._remembered[next(iter(self._remembered))]
        self._remembered[key] = outcome

    def _judge(self, items: Sequence[Item], todo: Sequence[int]) -> Iterator[tuple[int, Outcome]]:
        """Outcomes as they come: compiled here, rendered in a few threads that only wait for render processes."""
        threads = ThreadPoolExecutor(self._workers)
        running: dict[Future[Rendered], _Task] = {}
        try:
            chunk = _CHUNK if self._render else _CHUNK_ALONE
            for begin in range(0, len(todo), chunk):
                for task in self._compile(items, todo[begin : begin + chunk]):
                    if task.outcome.status is Status.OK and self._render:
                        requirements = items[task.index].requirements
                        running[threads.submit(self._rendered, task.compiled, requirements)] = task
                    else:
                        yield task.index, task.outcome
                yield from self._finished(running, 0)
            while running:
                yield from self._finished(running, None)
        except BaseException:
            for renderer in self._renderers:
                renderer.stop()
            raise
        finally:
            threads.shutdown(cancel_futures=True)

    def _finished(
        self, running: dict[Future[Rendered], _Task], timeout_s: float | None
    ) -> Iterator[tuple[int, Outcome]]:
        done, _ = wait(running, timeout_s, return_when=FIRST_COMPLETED)
        for future in done:
            task = running.pop(future)
            yield task.index, self._with_page(task, future.result())

    def _compile(self, items: Sequence[Item], indices: Sequence[int]) -> list[_Task]:
        tasks: list[_Task] = []
        sources: list[Source] = []
        waiting: list[_Task] = []
        for index in indices:
            outcome, language = _extracted(items[index])
            why = refusal(outcome.code) if outcome.status is Status.OK else None
            if why is not None:
                found = Diagnostic("sandbox", "fatal", 1, 1, why)
                outcome = replace(outcome, status=Status.TOO_LARGE, diagnostics=(found,))
            task = _Task(index, outcome, Compiled(outcome.status))
            if outcome.status is Status.OK:
                waiting.append(task)
                sources.append(Source(outcome.code, language))
            else:
                tasks.append(task)
        answers = self._get_compiler().compile(sources) if sources else []
        for task, compiled in zip(waiting, answers, strict=True):
            outcome = replace(
                task.outcome,
                status=compiled.status,
                diagnostics=compiled.diagnostics,
                compile_ms=round(compiled.ms, 2),
            )
            tasks.append(_Task(task.index, outcome, compiled))
        return sorted(tasks, key=lambda task: task.index)

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

    def _rendered(self, compiled: Compiled, requirements: Sequence[Mapping[str, Any]]) -> Rendered:
        try:
            renderer = self._idle.get_nowait()
        except queue.Empty:
            worker, chromium = setup.prepare_worker(), setup.chromium()
            renderer = RenderProcess(worker, chromium, self._screenshots, self._timeout_s, page=self._page)
            self._renderers.append(renderer)
        try:
            return renderer.render(compiled, requirements)
        finally:
            self._idle.put(renderer)

    def _with_page(self, task: _Task, rendered: Rendered) -> Outcome:
        source = Source(task.outcome.code, task.compiled.language)
        severity: Literal["error", "warning"] = "warning" if rendered.status is Status.OK else "error"
        found = []
        for message, line, column in rendered.troubles:
            place, compiler = (1, 1), self._get_compiler()
            if line is not None and line > 1 and isinstance(compiler, NodeCompiler):  # line 1 of a script is ours
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
        """End every child process. The sandbox can be used again: it starts new ones."""
        for renderer in self._renderers:
            renderer.close()
        if self._compiler is not None:
            self._compiler.close()
        self._renderers, self._compiler, self._idle = [], None, queue.SimpleQueue()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, tb: TracebackType | None) -> None:
        self.close()


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
