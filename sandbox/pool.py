"""`Sandbox`: from a text that a model wrote to the `Outcome` of its component."""

from __future__ import annotations

import json
import os
import queue
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, Self

from sandbox import setup
from sandbox.compile import Compiled, NodeCompiler, Source, refusal
from sandbox.errors import SetupError
from sandbox.extract import extract
from sandbox.fallback import PyCompiler
from sandbox.outcome import Diagnostic, Outcome, RequirementResult, Status
from sandbox.processes import GoneError, LateError, LineProcess
from sandbox.requirements import check_grammar

_START_S = 90.0
_GRACE_S = 20.0  # what a render process may take on top of a component's time-out, to start a new browser
PATIENCE = 3  # as in render
_CHUNK = 16


@dataclass(frozen=True)
class Item:
    """One thing to judge: a chat reply, or a component's code (`language` "jsx" or "tsx"; None tries both)."""

    text: str
    kind: Literal["reply", "code"] = "reply"
    language: str | None = None
    requirements: tuple[Mapping[str, Any], ...] = ()

    @property
    def key(self) -> str:
        return json.dumps([self.kind, self.language, self.requirements, self.text], sort_keys=True)


class Sandbox:
    """Compiles and renders components in child processes. A context manager; `close` ends every process.

    `timeout_s` is what one component may take to render. `screenshots` is a folder; a file is named by its content.
    Raises SetupError when Node (for rendering), its packages or Chromium are missing, and RequirementError for a
    requirement that does not follow the grammar. Nothing that a component does raises.
    """

    def __init__(
        self, *, workers: int = 1, render: bool = True, timeout_s: float = 5.0, screenshots: Path | None = None
    ) -> None:
        self._workers = workers
        self._render = render
        self._timeout_s = timeout_s
        self._screenshots = screenshots
        self._cache: dict[str, Outcome] = {}
        self._renderers: list[_RenderProcess] = []
        self._compiler: NodeCompiler | PyCompiler | None = None
        if screenshots is not None:
            screenshots.mkdir(parents=True, exist_ok=True)

    def run(self, items: Sequence[Item], *, on_done: Callable[[int, Outcome], None] | None = None) -> list[Outcome]:
        """Judge `items`; outcomes are in input order. `on_done(index, outcome)` is called as each is finished."""
        for item in items:
            for requirement in item.requirements:
                check_grammar(requirement)
        first: dict[str, int] = {}
        copies: dict[int, list[int]] = {}
        outcomes: list[Outcome | None] = [None] * len(items)

        def done(index: int, outcome: Outcome) -> None:
            for each in [index, *copies.get(index, [])]:
                outcomes[each] = outcome
                if on_done is not None:
                    on_done(each, outcome)

        todo = []
        for index, item in enumerate(items):
            key = item.key
            if key in self._cache:
                done(index, self._cache[key])
            elif key in first:
                copies.setdefault(first[key], []).append(index)
            else:
                first[key] = index
                todo.append(index)

        def judged(index: int, outcome: Outcome) -> None:
            self._cache[items[index].key] = outcome
            done(index, outcome)

        try:
            self._judge(items, todo, judged)
        except BaseException:
            self.close()
            raise
        return [outcome for outcome in outcomes if outcome is not None]

    def _judge(self, items: Sequence[Item], todo: Sequence[int], judged: Callable[[int, Outcome], None]) -> None:
        finished: queue.SimpleQueue[tuple[_Task, Outcome | BaseException]] = queue.SimpleQueue()
        waiting: queue.SimpleQueue[_Task | None] = queue.SimpleQueue()
        threads: list[threading.Thread] = []
        rendering = 0

        def collect(*, block: bool) -> None:
            nonlocal rendering
            while rendering and (block or not finished.empty()):
                task, outcome = finished.get()
                rendering -= 1
                if isinstance(outcome, BaseException):
                    raise outcome
                judged(task.index, self._placed(outcome, task.compiled.language))

        try:
            for begin in range(0, len(todo), _CHUNK):
                for index, outcome, compiled in self._compile(items, todo[begin : begin + _CHUNK]):
                    if compiled is None or not self._render:
                        judged(index, outcome)
                        continue
                    waiting.put(_Task(index, outcome, compiled, items[index].requirements))
                    rendering += 1
                    if len(threads) < self._workers and rendering > len(threads):
                        threads.append(self._start_thread(len(threads), waiting, finished))
                collect(block=False)
            collect(block=True)
        finally:
            for _ in threads:
                waiting.put(None)

    def _start_thread(
        self,
        number: int,
        waiting: queue.SimpleQueue[_Task | None],
        finished: queue.SimpleQueue[tuple[_Task, Outcome | BaseException]],
    ) -> threading.Thread:
        if number == len(self._renderers):
            folder = setup.prepare_worker()
            self._renderers.append(_RenderProcess(folder, setup.chromium(), self._screenshots, self._timeout_s))
        renderer = self._renderers[number]

        def work() -> None:
            while (task := waiting.get()) is not None:
                try:
                    finished.put((task, renderer.render(task)))
                except BaseException as error:
                    finished.put((task, error))

        thread = threading.Thread(target=work, daemon=True)
        thread.start()
        return thread

    def _compile(self, items: Sequence[Item], indices: Sequence[int]) -> list[tuple[int, Outcome, Compiled | None]]:
        results: list[tuple[int, Outcome, Compiled | None]] = []
        sources: list[tuple[int, Outcome, Source]] = []
        for index in indices:
            outcome, language = _extracted(items[index])
            if outcome.status is not Status.OK:
                results.append((index, outcome, None))
            elif why := refusal(outcome.code):
                found = Diagnostic("sandbox", "fatal", 1, 1, why)
                results.append((index, replace(outcome, status=Status.TOO_LARGE, diagnostics=(found,)), None))
            else:
                sources.append((index, outcome, Source(outcome.code, language)))
        answers = self._get_compiler().compile([source for _, _, source in sources]) if sources else []
        for (index, outcome, _), compiled in zip(sources, answers, strict=True):
            outcome = replace(
                outcome, status=compiled.status, diagnostics=compiled.diagnostics, compile_ms=round(compiled.ms, 2)
            )
            results.append((index, outcome, compiled if compiled.status is Status.OK else None))
        return sorted(results, key=lambda result: result[0])

    def _get_compiler(self) -> NodeCompiler | PyCompiler:
        if self._compiler is None:
            node = setup.node()
            if node is not None:
                folder = setup.prepare_worker()
                self._compiler = NodeCompiler(node, folder, css=self._render, timeout_s=self._timeout_s)
            elif self._render:
                raise SetupError(f"rendering needs Node {setup.NODE_MIN} or newer and its npm; {setup.GET_NODE}")
            else:
                self._compiler = PyCompiler(timeout_s=self._timeout_s)
        return self._compiler

    def _placed(self, outcome: Outcome, language: str) -> Outcome:
        """Runtime diagnostics come with places in the script (0 where unknown); give them their places in the code."""

        def placed(d: Diagnostic) -> Diagnostic:
            if d.source != "runtime":
                return d
            place, compiler = (1, 1), self._get_compiler()
            if d.line > 1 and isinstance(compiler, NodeCompiler):  # line 1 of a script is ours
                place = compiler.trace(Source(outcome.code, language), d.line - 1, d.column)
            return replace(d, line=place[0], column=place[1])

        return replace(outcome, diagnostics=tuple(map(placed, outcome.diagnostics)))

    def close(self) -> None:
        """End every child process."""
        for renderer in self._renderers:
            renderer.close()
        if self._compiler is not None:
            self._compiler.close()
        self._renderers, self._compiler = [], None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, tb: TracebackType | None) -> None:
        self.close()


@dataclass(frozen=True)
class _Task:
    index: int
    outcome: Outcome
    compiled: Compiled
    requirements: Sequence[Mapping[str, Any]]


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


class _RenderProcess:
    """A render process, started when first needed and again when it died or did not answer."""

    def __init__(self, worker: Path, chromium: Path | None, screenshots: Path | None, timeout_s: float) -> None:
        self._argv = [
            *(sys.executable, "-m", "sandbox.render_worker", str(worker), str(chromium or "")),
            *(str(screenshots.resolve()) if screenshots else "", str(os.getpid())),
        ]
        self._timeout_s = timeout_s
        self._process: LineProcess | None = None

    def render(self, task: _Task) -> Outcome:
        """The outcome, rendered; tried twice, then `crashed`."""
        outcome, compiled = task.outcome, task.compiled
        request = {
            "script": compiled.script,
            "css": compiled.css,
            "bundles": compiled.bundles,
            "requirements": list(task.requirements),
            "timeout_s": self._timeout_s,
        }
        begun = time.monotonic()
        for _ in range(2):
            try:
                answer = self._ask(request)
            except (GoneError, LateError):
                self.close()
                continue
            if "failed" in answer:
                raise SetupError(answer["failed"])
            if answer["status"] != Status.CRASHED:
                return _rendered(outcome, answer)
        why = Diagnostic("runtime", "fatal", 1, 1, "took the browser down, twice")
        ms = round((time.monotonic() - begun) * 1000, 2)
        return replace(outcome, status=Status.CRASHED, diagnostics=(*outcome.diagnostics, why), render_ms=ms)

    def _ask(self, request: Mapping[str, Any]) -> dict[str, Any]:
        process = self._running()
        deadline = time.monotonic() + self._timeout_s * PATIENCE + _GRACE_S
        process.send(request, deadline)
        return process.receive(deadline)

    def _running(self) -> LineProcess:
        if self._process is None:
            self._process = LineProcess(self._argv)
            try:
                hello = self._process.receive(time.monotonic() + _START_S)
            except (GoneError, LateError) as error:
                raise SetupError(f"the render process does not start: {error}") from error
            if "failed" in hello:
                hint = "install Chromium (python -m sandbox.setup) or set BOT_GRPO_CHROMIUM"
                raise SetupError(f"Chromium does not start: {hello['failed']}; {hint}")
        return self._process

    def close(self) -> None:
        if self._process is not None:
            self._process.close()
            self._process = None


def _rendered(outcome: Outcome, answer: Mapping[str, Any]) -> Outcome:
    severity: Literal["error", "warning"] = "warning" if answer["status"] == Status.OK else "error"
    found = [
        Diagnostic("runtime", severity, line or 1, column, message) for message, line, column in answer["troubles"]
    ]
    return replace(
        outcome,
        status=Status(answer["status"]),
        diagnostics=(*outcome.diagnostics, *found),
        requirements=tuple(RequirementResult(met, reason) for met, reason in answer["requirements"]),
        render_ms=round(answer["ms"], 2),
        screenshot=Path(answer["screenshot"]) if answer["screenshot"] else None,
    )
