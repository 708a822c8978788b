"""Compile where there is no Node: esbuild-py, in a child process.

esbuild-py knows JSX only, says nothing of what is wrong or where, hangs after a fork and can abort its process; so it
is imported in the child alone (`python -m sandbox.fallback`, started by exec), which is killed when it doesn't answer.
"""

from __future__ import annotations

import json
import os
import re
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from sandbox.codetext import component_rank
from sandbox.compile import Compiled, Source
from sandbox.errors import SetupError
from sandbox.outcome import Diagnostic, Status
from sandbox.processes import GoneError, LateError, LineProcess, ProcessOwner, end_with_parent

_IMPORT = re.compile(r"""^[ \t]*(?:import|export)\b[^"'`;()]*?(?:\bfrom\s*)?["']([^"'\n]+)["']""", re.MULTILINE)
_START_S = 60.0
_ADDRESS = re.compile(r"https?:|data:|blob:|//", re.IGNORECASE)
_FILE = re.compile(r"[./~\\]|file:|[a-z]:[\\/]|@/(?!components/ui(?:/|$))", re.IGNORECASE)
_STYLE_SHEET = re.compile(r"\.{1,2}/.*\.(?:css|scss|sass|less)$")


class PyCompiler(ProcessOwner):
    """The compiler without Node: ok or not, JSX only, never a place. It cannot prepare a component for rendering."""

    def __init__(self, *, timeout_s: float) -> None:
        self._timeout_s = timeout_s
        self._process: LineProcess | None = None
        table = json.loads((Path(__file__).parent / "worker" / "libraries.json").read_text(encoding="utf-8"))
        self._modules = {module for modules in table["bundles"].values() for module in modules}

    def compile(self, sources: Sequence[Source]) -> list[Compiled]:
        """One answer a source, in order."""
        return [self._one(source.code) for source in sources]

    def _one(self, code: str) -> Compiled:
        begun = time.monotonic()
        status, line, message = self._judge(code)
        found = () if status is Status.OK else (Diagnostic("esbuild-py", "error", line, 1, message),)
        return Compiled(status, found, language="jsx", ms=(time.monotonic() - begun) * 1000)

    def _judge(self, code: str) -> tuple[Status, int, str]:
        if "\0" in code:
            return Status.COMPILE_ERROR, code[: code.index("\0")].count("\n") + 1, "there is a NUL character"
        if not code.strip() or not component_rank(code):
            return Status.NOT_COMPONENT, 1, "there is no React component in it"
        compiled = self._ask(code)
        if compiled is None:
            return Status.TOO_LARGE, 1, "the compiler hung or died on it, twice"
        if not compiled:
            return Status.COMPILE_ERROR, 1, "does not compile as JSX; without Node there is no place, and no TypeScript"
        for found in _IMPORT.finditer(code):
            if found[1] not in self._modules and not _STYLE_SHEET.match(found[1]):
                line = code[: found.start(1)].count("\n") + 1
                return Status.IMPORT_ERROR, line, _missing(found[1])
        return Status.OK, 1, ""

    def _ask(self, code: str) -> bool | None:
        for _ in range(2):
            try:
                if self._process is None:
                    self._process = LineProcess([sys.executable, "-m", "sandbox.fallback", str(os.getpid())])
                    self._start(self._process)
                self._process.send({"code": code}, time.monotonic() + self._timeout_s)
                return bool(self._process.receive(time.monotonic() + self._timeout_s)["compiles"])
            except (GoneError, LateError):
                self.close()
        return None

    def _start(self, process: LineProcess) -> None:
        try:
            process.receive(time.monotonic() + _START_S)
        except (GoneError, LateError) as error:
            words = process.last_words()
            self.close()
            raise SetupError(f"esbuild-py does not start ({words or error}), and there is no Node") from error


def _missing(module: str) -> str:
    """What is wrong with importing it; the words of worker/analyse.mjs."""
    name = json.dumps(module[:200] + "…" if len(module) > 200 else module, ensure_ascii=False)
    if _ADDRESS.match(module):
        return f"nothing can be imported from an address: {name}"
    return f"there is no file {name} beside a component" if _FILE.match(module) else f"package {name} is not available"


def _child() -> None:
    from esbuild_py import transform

    end_with_parent(int(sys.argv[1]))
    print(json.dumps({"ready": True}), flush=True)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)  # it complains there of every error
    for line in sys.stdin:
        code = json.loads(line)["code"].encode("utf-8", "replace").decode()
        print(json.dumps({"compiles": bool(transform(code))}), flush=True)


if __name__ == "__main__":
    _child()
