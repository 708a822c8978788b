"""What a person sees and what metrics.jsonl holds while a run goes on."""

from __future__ import annotations

import math
import os
import signal
import sys
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from transformers import TrainerCallback

from bot_grpo.alarms import Alarms
from bot_grpo.rewards import unscored
from bot_grpo.rundir import RunDir

if TYPE_CHECKING:
    from bot_grpo.trainer import BoTGRPOTrainer


class RunLog(TrainerCallback):
    """Writes a line of metrics a step, shows progress, and sounds alarms (`alarms.py`), to stop there if asked to."""

    def __init__(
        self,
        run: RunDir,
        *,
        console: Console | None = None,
        w_g: float = 1.0,
        sampler_gap: float = 0.1,
        stop_on_alarm: bool = False,
    ) -> None:
        self.run = run
        self.trainer: BoTGRPOTrainer | None = None
        self.console = console or Console(stderr=False, highlight=False)
        self._bar: Progress | None = None
        self._task: Any = None
        self._started = 0.0
        self._spent: dict[str, float] = defaultdict(float)  # seconds, by part, of the steps since the last logged one
        self._steps = 0  # how many these are
        self._first: tuple[int, float] | None = None  # steps done, and the clock, when this process began to train
        self._alarms = Alarms(w_g, sampler_gap)
        self._stop_on_alarm = stop_on_alarm
        self.stopped_by = ""  # names of the alarms that ended the run
        self.last_eval: dict[str, float] = {}
        self.unscored = ""  # how many rollouts had no score when there last were any, and why

    # -- the Trainer's events -------------------------------------------------------------------------------------

    def on_train_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        for logs in state.log_history:  # of a resumed run: no alarm sounds twice, and no window begins anew
            if row := _evaluation(logs):
                self.last_eval = _known(row)
            elif _is_step(logs):
                self._alarms.step({name: _number(value) for name, value in logs.items()})
        evaluates = args.eval_on_start and not state.global_step
        first = "evaluating held-out prompts" if evaluates else "sampling the first batch"
        if self.console.is_terminal:
            self._bar = Progress(
                TextColumn("[bold]step {task.completed:.0f}/{task.total:.0f}"),
                BarColumn(bar_width=24),
                TextColumn("{task.description}"),
                TimeElapsedColumn(),
                TextColumn("ETA"),
                TimeRemainingColumn(),
                console=self.console,
            )
            self._task = self._bar.add_task(first, total=state.max_steps)
            self._bar.update(self._task, completed=state.global_step)
            self._bar.start()
        elif evaluates:
            self._say(first)

    def close(self) -> None:
        """Take the bar away, however the run ends: a terminal's cursor is hidden until then."""
        if self._bar is not None:
            self._bar.stop()

    def on_train_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        self.close()

    def on_step_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        self._started = time.perf_counter()
        self._first = self._first or (state.global_step, self._started)

    def on_step_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        timers = self.trainer.take_timers() if self.trainer else {}
        for part, seconds in {**timers, "step": time.perf_counter() - self._started}.items():
            self._spent[part] += seconds
        self._steps += 1

    def on_log(self, args: Any, state: Any, control: Any, logs: dict[str, Any] | None = None, **kwargs: Any) -> None:
        if not state.is_world_process_zero or not logs or "train_runtime" in logs:
            return
        if row := _evaluation(logs):
            self._evaluated(state.global_step, row)
        elif _is_step(logs):
            self._sound(self._stepped(state, logs, control.should_evaluate), control)

    # -- one line each --------------------------------------------------------------------------------------------

    def _evaluated(self, step: int, row: dict[str, float | None]) -> None:
        if self.trainer is not None:
            self.trainer.take_timers()
        self.last_eval = _known(row)
        self.run.log({"step": step, **row})
        self._say(f"step {step:>4}  held out: {_summary(row, 'eval/')}")
        if self._bar is not None:
            self._bar.update(self._task, description="sampling")

    def _stepped(self, state: Any, logs: dict[str, Any], evaluates: bool) -> dict[str, Any]:
        seconds = _mean_seconds(self._spent, self._steps)
        self._spent.clear()
        self._steps = 0
        row = {name: _number(value) for name, value in logs.items()} | {k: round(v, 3) for k, v in seconds.items()}
        row = {"step": state.global_step, **row}
        self.run.log(row)
        times = " ".join(f"{k} {seconds.get(f'seconds/{k}', 0.0):.1f}s" for k in ("generate", "score", "update"))
        text = f"{_summary(row, '')}  {times}"
        if self._bar is not None:
            doing = "  evaluating" if evaluates else ""
            self._bar.update(self._task, completed=state.global_step, description=text + doing)
        else:
            self._say(f"step {state.global_step:>4}/{state.max_steps}  {text}  ETA {_clock(self._left(state))}")
        if self.trainer is not None and row.get("unscored"):
            self.unscored = unscored(self.trainer.collector.batch)
            self._say(f"step {state.global_step:>4}  {self.unscored}")
        return row

    def _left(self, state: Any) -> float:
        """Seconds, by the mean of the steps so far and of the evaluations between them."""
        done, since = self._first or (state.global_step, 0.0)
        spent = time.perf_counter() - since
        return (state.max_steps - state.global_step) * spent / max(1, state.global_step - done)

    def _sound(self, row: dict[str, Any], control: Any) -> None:
        fresh = self._alarms.step(row)
        for name, text in fresh.items():
            self._say(f"alarm {name}: {text}")
        if not fresh:
            return
        self.run.log({"step": row["step"], "alarms": [f"{name}: {text}" for name, text in fresh.items()]})
        if self._stop_on_alarm:
            self.stopped_by = ", ".join(fresh)
            control.should_save = control.should_training_stop = True

    def _say(self, text: str) -> None:
        (self._bar.console if self._bar is not None else self.console).print(text, soft_wrap=True, markup=False)
        sys.stdout.flush()


def _mean_seconds(spent: Mapping[str, float], steps: int) -> dict[str, float]:
    """Where a step's time went, by the mean of some steps; what was neither sampling nor scoring is the update."""
    mean = {part: seconds / steps for part, seconds in spent.items()}
    whole = mean.pop("step", 0.0)
    mean |= {"update": max(0.0, whole - sum(mean.values())), "step": whole}
    return {f"seconds/{part}": value for part, value in mean.items()}


class LossProgress(TrainerCallback):
    """How far supervised training is, and its loss: a bar on a terminal, elsewhere ten lines or so.

    A context: its bar goes, and the cursor comes back, however training ends.
    """

    LINES = 10

    def __init__(self, console: Console, what: str = "step") -> None:
        self._what, self._console = what, console
        self._bar = Progress(
            TextColumn(what + " {task.completed:.0f}/{task.total:.0f}"),
            BarColumn(bar_width=24),
            TextColumn("{task.description}"),
            TimeElapsedColumn(),
            TextColumn("ETA"),
            TimeRemainingColumn(),
            console=console,
            disable=not console.is_terminal,
            transient=True,
        )
        self._task = self._bar.add_task("", total=None)

    def __enter__(self) -> LossProgress:
        return self

    def __exit__(self, *error: object) -> None:
        self._bar.stop()

    def on_train_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        self._bar.update(self._task, total=state.max_steps, completed=state.global_step)
        self._bar.start()

    def on_log(self, args: Any, state: Any, control: Any, logs: dict[str, Any] | None = None, **kwargs: Any) -> None:
        if not logs or "loss" not in logs:
            return
        step, text = state.global_step, f"loss {logs['loss']:.3f}"
        self._bar.update(self._task, completed=step, description=text)
        if self._bar.disable and step % math.ceil(state.max_steps / self.LINES) == 0:
            self._console.print(f"{self._what} {step}/{state.max_steps}  {text}", soft_wrap=True)


class StopOnUnscored(TrainerCallback):
    """Stops, with a checkpoint, when over a share `most` of the rollouts had no score in `STEPS` logged steps in a row.

    On every process alike: the share is of all of them.
    """

    STEPS = 3

    def __init__(self, most: float) -> None:
        self.most = most
        self.stopped = False
        self._steps = 0

    def on_train_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        for logs in state.log_history:  # of a resumed run; one that stopped here gets as many steps again
            self._too_many(logs)

    def on_log(self, args: Any, state: Any, control: Any, logs: dict[str, Any] | None = None, **kwargs: Any) -> None:
        if self._too_many(logs or {}):
            self.stopped = control.should_save = control.should_training_stop = True

    def _too_many(self, logs: dict[str, Any]) -> bool:
        share = logs.get("unscored")
        if share is not None:  # else an evaluation's, or the end's
            self._steps = self._steps % self.STEPS + 1 if share > self.most else 0
        return share is not None and self._steps == self.STEPS


class StopOnInterrupt(TrainerCallback):
    """The first Ctrl-C lets the step end, saves a checkpoint and stops; the second stops at once."""

    def __init__(self) -> None:
        self.asked = False

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Take SIGINT over for the duration."""
        try:
            before = signal.signal(signal.SIGINT, self._asked)
        except ValueError:  # not the main thread: leave the signal to whoever has it
            yield
            return
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, before)

    def _asked(self, number: int, frame: Any) -> None:
        if self.asked:
            raise KeyboardInterrupt
        self.asked = True
        if os.environ.get("RANK", "0") != "0":  # one of several processes, and all were asked
            return
        print("\nstopping after this step, with a checkpoint (Ctrl-C again stops at once, without)", file=sys.stderr)

    def on_step_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        if self.asked:
            control.should_save = True
            control.should_training_stop = True


def _evaluation(logs: dict[str, Any]) -> dict[str, float | None]:
    """An evaluation's figures as metrics.jsonl has them; empty for what is none."""
    return {f"eval/{name[5:]}": _number(value) for name, value in logs.items() if name.startswith("eval_")}


def _known(row: dict[str, float | None]) -> dict[str, float]:
    return {name: value for name, value in row.items() if value is not None}


def _is_step(logs: dict[str, Any]) -> bool:
    return "loss" in logs or "grad_norm" in logs


def _number(value: Any) -> float | None:
    try:
        number = float(value)
    except (TypeError, ValueError):
        return None
    return number if number == number and abs(number) != float("inf") else None


def _summary(row: dict[str, Any], prefix: str) -> str:
    shown = {"compile_rate": "compile", "render_rate": "render", "requirements": "requirements", "accuracy": "correct"}
    shown |= {
        name.removeprefix(prefix): name.removeprefix(prefix) for name in row if "pass@" in name and "@1" not in name
    }
    parts = [
        f"{label} {100 * row[prefix + name]:.0f} %"
        for name, label in shown.items()
        if isinstance(row.get(prefix + name), float)
    ]
    if isinstance(row.get(prefix + "reward"), float):
        parts.append(f"reward {row[prefix + 'reward']:.3f}")
    if isinstance(row.get(prefix + "completion_length"), float):
        parts.append(f"length {row[prefix + 'completion_length']:.0f}")
    return "  ".join(parts)


def _clock(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes}:{rest:02d}" if minutes < 60 else f"{minutes // 60}:{minutes % 60:02d}:{rest:02d}"
