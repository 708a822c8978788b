"""Compile components: refuse what no compiler should see, then ask a process that can be killed."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from sandbox.errors import SetupError
from sandbox.limits import MAX_ARROWS, MAX_BYTES, MAX_DEPTH
from sandbox.outcome import Diagnostic, Status
from sandbox.processes import GoneError, LateError, LineProcess, ProcessOwner

_IN_FLIGHT = 64
_START_S = 60.0


@dataclass(frozen=True)
class Source:
    """A component's code. `language` is "jsx" or "tsx"; None tries TSX and then JSX."""

    code: str
    language: str | None = None


@dataclass(frozen=True)
class Compiled:
    """What the compiler said. `script`, `css`, `bundles` are what a page needs, when `status` is ok."""

    status: Status
    diagnostics: tuple[Diagnostic, ...] = ()
    script: str = ""
    css: str = ""
    bundles: tuple[str, ...] = ()
    language: str = "tsx"
    ms: float = 0.0


def refusal(code: str) -> str | None:
    """Why no compiler should see this code (too long, too deep: such input hangs or kills compilers), or None."""
    size = len(code.encode("utf-8", "surrogatepass"))
    if size > MAX_BYTES:
        return f"{size:,} bytes of code; at most {MAX_BYTES:,} are compiled"
    if _depth(code) > MAX_DEPTH:
        return f"brackets or tags are nested more than {MAX_DEPTH} deep"
    if _arrows(code) > MAX_ARROWS:
        return f"more than {MAX_ARROWS} arrows in a row"
    return None


_NESTING = re.compile(r"(?<![\w$.])<[A-Za-z]|</|/>|[\[({})\]]")


def _depth(code: str) -> int:
    if max(code.count("<"), sum(map(code.count, "([{"))) <= MAX_DEPTH:
        return 0  # not deep enough to be looked at: there are not enough of them
    brackets = tags = deepest = 0
    for token in _NESTING.findall(code):
        if token in "([{":
            brackets += 1
        elif token in ")]}":
            brackets = max(brackets - 1, 0)
        elif token in ("</", "/>"):
            tags = max(tags - 1, 0)
        else:
            tags += 1
        deepest = max(deepest, brackets, tags)
    return deepest


_PARAMETERS = re.compile(r"\s*(?:async\b\s*)?(?:[\w$]+|\([^()]{0,200}\))\s*")


def _arrows(code: str) -> int:
    """The longest chain `a => b => c => ...`."""
    longest = run = 0
    parts = code.split("=>")
    for part in parts[1:-1]:
        run = run + 1 if _PARAMETERS.fullmatch(part) else 0
        longest = max(longest, run)
    return longest + 1 if len(parts) > 1 else 0


class NodeCompiler(ProcessOwner):
    """The Node worker. It is started when first needed, and again after it hung or died."""

    def __init__(self, node: Path, worker: Path, *, render: bool, timeout_s: float, lint: bool = False) -> None:
        ready = ["--lint"] if lint else []  # ESLint is loaded before the first component's time begins
        self._argv = [str(node), "--max-old-space-size=768", str(worker / "worker.mjs"), *ready]
        self._render = render
        self._timeout_s = timeout_s
        self._lint = lint
        self._process: LineProcess | None = None

    def start(self) -> None:
        """Start it now, if it does not run. Raises SetupError."""
        self._running()

    def compile(self, sources: Sequence[Source]) -> list[Compiled]:
        """One answer a source, in order. Code that hangs or kills the compiler, twice, comes back as too_large.

        With `lint` ESLint's findings follow the compiler's, whether it compiles or not, and change nothing else.
        """
        asked = {"op": "compile", "render": self._render}
        answers = self._ask([{**asked, "code": _utf8(s.code), "language": s.language} for s in sources])
        compiled = [_compiled(answer) for answer in answers]
        if self._lint:
            seen = [i for i, answer in enumerate(answers) if answer is not None]
            found = self._ask([{"op": "lint", "code": _utf8(sources[i].code)} for i in seen])
            for i, answer in zip(seen, found, strict=True):
                compiled[i] = replace(compiled[i], diagnostics=(*compiled[i].diagnostics, *_linted(answer)))
        return compiled

    def trace(self, source: Source, line: int, column: int) -> tuple[int, int]:
        """The place in `source` (from 1) of a place in its script (line from 1, column from 0)."""
        request = {"op": "trace", "code": _utf8(source.code), "language": source.language}
        answer = self._ask([{**request, "line": line, "column": column}])[0] or {}
        return answer.get("line", 1), answer.get("column", 1)

    def _ask(self, requests: Sequence[dict[str, Any]]) -> list[dict[str, Any] | None]:
        answers: list[dict[str, Any] | None] = [None] * len(requests)
        for begin in range(0, len(requests), _IN_FLIGHT):
            ids = list(range(begin, min(begin + _IN_FLIGHT, len(requests))))
            for each in self._exchange(requests, ids, answers):  # whoever does it alone is the one who did it
                self._exchange(requests, [each], answers)
        return answers

    def _exchange(
        self, requests: Sequence[dict[str, Any]], ids: Sequence[int], answers: list[dict[str, Any] | None]
    ) -> list[int]:
        """Ask for `ids`, all at once; returns those without an answer."""
        left = set(ids)
        try:
            process = self._running()
            process.send_all(({"id": i, **requests[i]} for i in ids), time.monotonic() + self._timeout_s)
            while left:
                answer = process.receive(time.monotonic() + self._timeout_s)
                answers[answer["id"]] = answer
                left.discard(answer["id"])
        except (GoneError, LateError):
            self.close()
        return sorted(left)

    def _running(self) -> LineProcess:
        if self._process is None:
            env = {**os.environ, "NODE_ENV": "production", "GOGC": "400"}  # esbuild collects garbage less often
            env.pop("NODE_OPTIONS", None)
            self._process = LineProcess(self._argv, env=env)
            try:
                self._process.receive(time.monotonic() + _START_S)  # its first line says that it is ready
            except (GoneError, LateError) as error:
                words = self._process.last_words()
                self.close()
                hint = "python -m sandbox.setup repairs its packages"
                raise SetupError(f"the Node worker does not start: {words or error}; {hint}") from error
        return self._process


def _utf8(code: str) -> str:
    return code.encode("utf-8", "replace").decode()  # a lone surrogate becomes "?"


def _linted(answer: Mapping[str, Any] | None) -> tuple[Diagnostic, ...]:
    if answer is not None and "diagnostics" in answer:
        return tuple(Diagnostic(**d) for d in answer["diagnostics"])
    why = f"failed: {answer['failed']}" if answer is not None else "hung or died on it, twice"
    return (Diagnostic("sandbox", "warning", 1, 1, f"not linted: ESLint {why}"),)


def _compiled(answer: Mapping[str, Any] | None) -> Compiled:
    if answer is None:
        why = "the compiler hung or died on it, twice"
        return Compiled(Status.TOO_LARGE, (Diagnostic("sandbox", "fatal", 1, 1, why),))
    return Compiled(
        status=Status(answer["status"]),
        diagnostics=tuple(Diagnostic(**d) for d in answer["diagnostics"]),
        script=answer.get("script", ""),
        css=answer.get("css", ""),
        bundles=tuple(answer.get("bundles", ())),
        language=answer.get("language", "tsx"),
        ms=answer["ms"],
    )
