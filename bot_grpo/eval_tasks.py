"""What can be evaluated: AIME and problems like it, and React components. A task has problems and grades samples."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from bot_grpo.backends import Messages
from bot_grpo.evaluate import Problem, Sample
from reward_models.base import Rollout
from reward_models.react import make_reward
from sandbox.outcome import Outcome
from sandbox.pool import Item, open_sandbox
from tasks import aime, react
from tasks.aime_format import Form
from tasks.answers import grade

REACT_SYSTEM = "Answer with one React component, code only."
"""The system message of the React recipe."""

_BATCH = 32  # components judged before the next are told


@dataclass(frozen=True)
class Mark:
    """A sample's grade. `correct` None: it could not be graded, and `reason` says why. `answer` is what a majority vote
    counts. `parts` are further figures in [0, 1], `status` how a component ended."""

    correct: bool | None
    answer: str | None = None
    reason: str = ""
    parts: Mapping[str, float] = field(default_factory=dict)
    status: str = ""


Pair = tuple[Problem, Sample]


class EvalTask(Protocol):
    """How a task is graded. `quick`: so quickly that it is done while samples come."""

    name: str
    quick: bool
    parts: Mapping[str, str]
    """The parts of its marks whose means are reported, and what they are called."""

    def check(self) -> None:
        """Raise, in one line, where grading could not work on this machine."""
        ...

    def grade(self, pairs: Sequence[Pair]) -> list[Mark]: ...

    def close(self) -> None: ...


def messages(text: str, system: str | None) -> Messages:
    """A chat that asks for `text`."""
    return (*((("system", system),) if system else ()), ("user", text))


def text_hash(text: str) -> str:
    """Says whether two problems are the same, however they are asked."""
    return hashlib.sha256(" ".join(text.split()).encode("utf-8", "surrogatepass")).hexdigest()[:16]


# -- AIME -----------------------------------------------------------------------------------------------------------


def aime_problems(
    source: str,
    *,
    split: str | None = None,
    columns: Mapping[str, str] | None = None,
    limit: int | None = None,
    form: Form = "boxed",
    system: str | None = None,
) -> list[Problem]:
    """The problems of a set (see `tasks.aime.load`), asked for in this form. Raises TaskError."""
    rows = aime.load(source, split=split, columns=columns, limit=limit)
    return [
        Problem(
            id=row.id,
            messages=messages(aime.prompt(row.problem, form), system),
            text=row.problem,
            row={"answer": row.answer, "source": row.source},
            gold=str(row.answer),
        )
        for row in rows
    ]


class AIME:
    """Answers from 0 to 999, graded by `tasks.answers`."""

    name, quick = "aime", True
    parts: Mapping[str, str] = {"boxed": "answers in a box"}

    def check(self) -> None:
        """Nothing is needed."""

    def grade(self, pairs: Sequence[Pair]) -> list[Mark]:
        """One mark a sample."""
        out = []
        for problem, sample in pairs:
            found = grade(sample.text, int(problem.row["answer"]), truncated=sample.truncated)
            out.append(Mark(found.correct, found.answer, found.reason, {"boxed": float(found.boxed)}))
        return out

    def close(self) -> None:
        """Nothing is left to end."""


# -- React ----------------------------------------------------------------------------------------------------------


def react_problems(
    *,
    tier: str | None = "tiny",
    path: str | None = None,
    columns: Mapping[str, str] | None = None,
    limit: int | None = None,
    system: str | None = REACT_SYSTEM,
) -> list[Problem]:
    """The held-out prompts of a tier, or of one's own file; `limit` of them, taken evenly. Raises TaskError."""
    rows = react.load_react(split="test", tier=tier, path=path, columns=columns)
    if limit is not None and limit < len(rows):
        rows = [rows[i * len(rows) // limit] for i in range(limit)]
    return [
        Problem(row.id, messages(row.prompt, system), row.prompt, {"requirements": [dict(r) for r in row.requirements]})
        for row in rows
    ]


class React:
    """Components, compiled, rendered and checked in the sandbox. Correct: it renders and meets all requirements."""

    name, quick = "react", False
    parts: Mapping[str, str] = {
        "compile_rate": "compiles",
        "render_rate": "renders",
        "requirements": "requirements met",
    }

    def __init__(self, *, workers: int | str = 1, timeout_s: float = 5.0, screenshots: Path | None = None) -> None:
        self._settings: dict[str, Any] = {"timeout_s": timeout_s, "screenshots": screenshots}
        self._workers = workers
        self._open = ExitStack()
        self._reward: Any = None

    def check(self) -> None:
        """Raises SetupError where components cannot be rendered here."""
        with open_sandbox(self._workers, **{**self._settings, "screenshots": None}) as sandbox:
            sandbox.run([Item("export default function App() { return <p>Ready</p>; }", "code")])

    def grade(self, pairs: Sequence[Pair]) -> list[Mark]:
        """One mark a sample."""
        if self._reward is None:
            sandbox = self._open.enter_context(open_sandbox(self._workers, **self._settings))
            self._reward = make_reward({}, sandbox=sandbox, cache=None)
        rollouts = [Rollout(problem.text, sample.text, row=problem.row) for problem, sample in pairs]
        return [
            _mark(signal, problem) for signal, (problem, _) in zip(self._reward.score(rollouts), pairs, strict=True)
        ]

    def close(self) -> None:
        """End the sandbox."""
        self._open.close()
        self._reward = None


def _mark(signal: Any, problem: Problem) -> Mark:
    if signal is None:
        return Mark(None, reason="the component took the sandbox down, twice")
    outcome: Outcome = signal.details["sandbox"]
    asked = bool(problem.row["requirements"])
    shares = {name: signal.metrics[name] for name in React.parts}
    if not asked:
        shares["requirements"] = signal.metrics["render_rate"]
    correct = bool(signal.metrics["render_rate"]) and shares["requirements"] == 1.0
    missed = [r.reason for r in outcome.requirements if not r.met]
    found = next((f"line {d.line}: {d.message}" for d in outcome.diagnostics if d.severity in ("fatal", "error")), "")
    return Mark(correct, None, "; ".join(missed) or found, shares, str(outcome.status))
