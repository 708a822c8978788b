"""Runs the cells of a study, each in a process of its own: a crash or a kill costs one cell its last steps, no more.

A cell is `bot-grpo train` with the study's config, an arm's settings and a seed. What is finished on disk is taken from
there; what has a checkpoint goes on from it.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bot_grpo.compare_cells import Cell, read_cell
from bot_grpo.compare_words import label, written
from bot_grpo.errors import UserError
from bot_grpo.report_charts import duration
from bot_grpo.rundir import RunDir

Say = Callable[[str], None]
_MODULE = ("-m", "bot_grpo", "train")
_LONGEST = 100  # characters of an arm's name, as a folder has it


@dataclass(frozen=True)
class Planned:
    """A cell that is asked for: `flags` are those of `bot-grpo train`, without --output_dir and --resume."""

    arm: str
    seed: int
    path: Path
    flags: tuple[str, ...]

    @property
    def name(self) -> str:
        return self.path.name


def arm_name(algorithm: str, changes: Sequence[str]) -> str:
    """`bot_grpo+w_s=0+window=3`: a folder's name, different for different changes."""
    name = "+".join([algorithm, *changes])
    safe = re.sub(r"[^\w.=+,-]+", "_", name)
    if safe == name and len(safe) <= _LONGEST:
        return safe
    return f"{safe[:_LONGEST]}_{hashlib.sha256(name.encode()).hexdigest()[:6]}"


def state(path: Path) -> str:
    """How a cell stands: `new`, `done`, `resume` (it has a checkpoint) or `again` (it has begun, and has none)."""
    if not path.is_dir() or not any(path.iterdir()):
        return "new"
    cell = read_cell(path) if (path / "config.yaml").exists() else None
    if cell is not None and cell.finished:
        return "done"
    return "resume" if RunDir(path).last_checkpoint() else "again"


def command(planned: Planned, launcher: Sequence[str] = ()) -> list[str]:
    """What trains a cell; `launcher` stands before it.

    `accelerate` and `torchrun` start a module themselves; `ray` or `ray://HOST:PORT` (and `?cpus=8&gpus=1`) runs the
    cell on a node of that cluster (`ray_launch`); anything else (`srun -n 1`, say) gets a whole command.
    """
    words = [*_MODULE, *planned.flags, "--output_dir", str(planned.path)]
    words += ["--resume", "auto"] * (state(planned.path) == "resume")
    if not launcher:
        return [sys.executable, *words]
    here = f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}"
    first = shutil.which(launcher[0], path=here)
    if re.match(r"ray($|\?|://)", launcher[0]) and len(launcher) == 1:
        return [sys.executable, "-m", "bot_grpo.ray_launch", launcher[0], sys.executable, *words]
    if first is None:
        raise UserError(f"--launcher: there is no command {launcher[0]!r}")
    itself = Path(first).name in {"accelerate", "torchrun"}
    return [first, *launcher[1:], *([] if itself else [sys.executable]), *words]


def expected_seconds(cells: Sequence[Cell]) -> float | None:
    """Mean seconds of the finished cells; None where there is none yet."""
    known = [cell.seconds for cell in cells if cell.finished]
    return sum(known) / len(known) if known else None


def share_left(path: Path) -> float:
    """What is left to do of a cell, by its steps: 1 for a new one."""
    found = {"done": 0.0, "new": 1.0, "again": 1.0}.get(state(path))
    if found is not None:
        return found
    cell, last = read_cell(path), RunDir(path).last_checkpoint()
    if cell is None or not cell.of or last is None:
        return 1.0
    return max(0.0, 1.0 - int(last.name.rsplit("-", 1)[-1]) / cell.of)


# -- running ----------------------------------------------------------------------------------------------------------


@dataclass
class _Child:
    planned: Planned
    process: subprocess.Popen[bytes]
    log: Path
    started: float
    shown: int = -1  # the last evaluation that was told
    changed: float = 0.0


@dataclass
class _Signals:
    """Ctrl-C and SIGTERM: how often one of them came."""

    times: int = 0
    passed_on: int = field(default=0)

    @contextmanager
    def listening(self) -> Iterator[None]:
        before = {number: signal.signal(number, self._came) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def _came(self, number: int, frame: Any) -> None:
        self.times += 1
        what = {1: "stopping the running cells after their step, with a checkpoint", 2: "stopping them at once"}
        print(f"\n{what.get(self.times, 'killing them')} (Ctrl-C again is harsher)", file=sys.stderr, flush=True)

    def pass_on(self, running: Sequence[_Child]) -> None:
        """To each child as often as it came here; the third is a kill."""
        while self.passed_on < self.times:
            self.passed_on += 1
            for child in running:
                with suppress(ProcessLookupError):
                    if self.passed_on <= 2:
                        child.process.send_signal(signal.SIGINT)
                    else:
                        os.killpg(child.process.pid, signal.SIGKILL)


@contextmanager
def held(study: Path) -> Iterator[int]:
    """The study's lock, which its cells inherit: as long as one of them lives, no other comparison works there."""
    try:
        study.mkdir(parents=True, exist_ok=True)
        (study / "logs").mkdir(exist_ok=True)
        lock = os.open(study / ".lock", os.O_RDWR | os.O_CREAT, 0o644)
    except OSError as error:
        raise UserError(f"{study} cannot be written: {error.strerror or error}") from error
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        os.close(lock)
        raise UserError(
            f"another comparison, or a cell that one has left behind, is still at work in {study}"
        ) from error
    try:
        yield lock
    finally:
        os.close(lock)


def run_cells(
    planned: Sequence[Planned],
    study: Path,
    *,
    metric: str,
    launcher: Sequence[str] = (),
    workers: int = 1,
    budget_s: float | None = None,
    say: Say = print,
    poll_s: float = 0.5,
) -> dict[str, str]:
    """Run what is not done yet, `workers` at a time, in the order given; why each cell that isn't done is not.

    With a budget no cell starts that would not end in time, by the mean of those that are done. The first Ctrl-C lets
    the running cells save a checkpoint. Raises `UserError` where the study cannot be worked in.
    """
    if planned:
        command(planned[0], launcher)  # a launcher that isn't there is said before anything is made
    why: dict[str, str] = {}
    running: list[_Child] = []
    signals, began = _Signals(), time.monotonic()
    with held(study) as lock, signals.listening():
        waiting = deque(p for p in planned if state(p.path) != "done")
        while waiting or running:
            while waiting and len(running) < workers and not signals.times:
                if reason := _too_long(waiting[0], planned, budget_s, time.monotonic() - began):
                    why |= {p.name: reason for p in waiting}
                    waiting.clear()
                    break
                running.append(_start(waiting.popleft(), study, launcher, workers, lock, say))
            if signals.times and not running:
                break
            time.sleep(poll_s)
            signals.pass_on(running)
            for child in list(running):
                _tell(child, metric, say)
                if child.process.poll() is not None:
                    running.remove(child)
                    why |= _ended(child, say)
    return why | {p.name: "not started: stopped before its turn" for p in waiting}


def _too_long(cell: Planned, planned: Sequence[Planned], budget_s: float | None, spent: float) -> str:
    if budget_s is None:
        return ""
    done = [found for p in planned if (found := _read(p.path)) is not None]
    needed, left = (expected_seconds(done) or 0.0) * share_left(cell.path), budget_s - spent
    if needed <= left and left > 0:
        return ""
    return f"not started: it takes about {duration(needed)}, and {duration(max(0.0, left))} of the budget are left"


def _read(path: Path) -> Cell | None:
    return read_cell(path) if (path / "config.yaml").exists() else None


def _start(planned: Planned, study: Path, launcher: Sequence[str], workers: int, lock: int, say: Say) -> _Child:
    how = state(planned.path)
    if how == "again":
        aside = _set_aside(planned.path, study)
        say(f"{planned.name}: had no checkpoint yet; what there was of it is now in {aside}")
    log = study / "logs" / f"{planned.name}.log"
    say(f"{planned.name}: {'goes on from its checkpoint' if how == 'resume' else 'begins'} (log: {log})")
    environment = dict(os.environ)
    if workers > 1:  # cells would fight for the cores, each with threads for all of them
        environment.setdefault("OMP_NUM_THREADS", str(max(1, (os.cpu_count() or 1) // workers)))
    with log.open("ab") as out:
        process = subprocess.Popen(
            command(planned, launcher),
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=subprocess.STDOUT,
            env=environment,
            pass_fds=(lock,),
            start_new_session=True,  # a terminal's Ctrl-C comes to us alone, and we pass it on
        )
    return _Child(planned, process, log, time.monotonic())


def _set_aside(path: Path, study: Path) -> Path:
    """Move a cell that cannot go on out of the way: nothing is deleted."""
    folder = study / "set-aside"
    folder.mkdir(exist_ok=True)
    target = next(t for i in range(1, 10_000) if not (t := folder / f"{path.name}.{i}").exists())
    path.rename(target)
    return target


def _tell(child: _Child, metric: str, say: Say) -> None:
    """A line for each evaluation that a running cell has come to."""
    file = child.planned.path / "metrics.jsonl"
    changed = file.stat().st_mtime if file.exists() else 0.0
    cell = _read(child.planned.path) if changed > child.changed else None
    child.changed = changed
    for step, value in cell.curve(metric) if cell else []:
        if step > child.shown:
            child.shown = step
            of = f" of {cell.of}" if cell and cell.of else ""
            say(f"{child.planned.name}: step {step}{of}, {label(metric)} {written(metric, value)}")


def _ended(child: _Child, say: Say) -> dict[str, str]:
    """What became of a cell; nothing of it is left running."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(child.process.pid, signal.SIGKILL)
    name, took = child.planned.name, duration(time.monotonic() - child.started)
    if state(child.planned.path) == "done":
        say(f"{name}: done in {took}")
        return {}
    code, cell = child.process.returncode, _read(child.planned.path)
    at = f" at step {cell.steps} of {cell.of}" if cell and cell.of else ""
    how = f"killed by signal {-code}" if code < 0 else f"ended{at} with exit code {code}"
    reason = f"{how} after {took}: {_last_line(child.log)} (log: {child.log})"
    say(f"{name}: {reason}")
    return {name: reason}


def _last_line(log: Path) -> str:
    with suppress(OSError):
        lines = log.read_bytes()[-4000:].decode("utf-8", errors="replace").splitlines()
        return next((line.strip() for line in reversed(lines) if line.strip()), "it said nothing")[:300]
    return "its log cannot be read"
