"""How a component ended: the one result type that leaves the sandbox.

"A bad rollout is data, not a crash": whatever a model wrote, the answer is an `Outcome`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Literal


class Status(StrEnum):
    """The ten ways in which a component can end."""

    OK = "ok"
    """Compiled, and (where rendering was asked for) mounted and showed something."""
    NO_CODE = "no_code"
    """The reply holds no code at all."""
    NOT_COMPONENT = "not_component"
    """There is code, but not a React component: HTML, Python, a bare expression."""
    TOO_LARGE = "too_large"
    """Refused before compiling: too long, nested too deep, or too many arrows in a row."""
    COMPILE_ERROR = "compile_error"
    IMPORT_ERROR = "import_error"
    """Imports a package, or a name of a package, that the sandbox does not have."""
    RUNTIME_ERROR = "runtime_error"
    """Threw while its module ran or while it was mounted."""
    BLANK = "blank"
    """Mounted, and shows nothing (judged by pixels)."""
    TIMEOUT = "timeout"
    """Did not settle within its deadline."""
    CRASHED = "crashed"
    """Took its worker or its browser down, twice."""


Severity = Literal["fatal", "error", "warning"]


@dataclass(frozen=True)
class Diagnostic:
    """One finding. `line` and `column` count from 1, in characters of the extracted code."""

    source: str  # "esbuild", "imports", "runtime", ...
    severity: Severity
    line: int
    column: int
    message: str


@dataclass(frozen=True)
class RequirementResult:
    """Whether the rendered page meets one requirement of its task, and why not."""

    met: bool
    reason: str = ""


@dataclass(frozen=True)
class PageScore:
    """How good a rendered page is, by rules and not by a model's opinion (`page_score`).

    `score` is in [0, 1], and so is each of the `parts` that could be judged; `findings` name what cost something.
    """

    score: float
    parts: Mapping[str, float]
    findings: tuple[str, ...] = ()


@dataclass(frozen=True)
class Outcome:
    """What became of one component.

    `code` is the extracted component and `code_start` its character offset in the reply, so that a diagnostic's
    line can be mapped back to the whole reply. `requirements` has one result per requirement asked for when the
    page was rendered and checked, and is empty otherwise. Times are milliseconds; None where the stage did not run.
    `page` is there where it was asked for and the page was mounted; where it is missing although the page was mounted,
    `page_reason` says why.
    """

    status: Status
    code: str = ""
    code_start: int = 0
    diagnostics: tuple[Diagnostic, ...] = ()
    requirements: tuple[RequirementResult, ...] = ()
    compile_ms: float | None = None
    render_ms: float | None = None
    screenshot: Path | None = None
    page: PageScore | None = None
    page_reason: str = ""

    @property
    def compiled(self) -> bool:
        """True when the code is a component that compiled with all imports resolved (it may still fail to render)."""
        return self.status in _COMPILED

    @property
    def requirements_met(self) -> float:
        """Share of the requirements met, in [0, 1]; 0 when none were checked."""
        return sum(r.met for r in self.requirements) / len(self.requirements) if self.requirements else 0.0


_COMPILED = {Status.OK, Status.RUNTIME_ERROR, Status.BLANK, Status.TIMEOUT, Status.CRASHED}
