"""How far an evaluation is: a bar on a terminal, now and then a line elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from statistics import fmean

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from bot_grpo.eval_tasks import Mark
from bot_grpo.evaluate import Sample

_TELL_S = 30.0
_TELL_SHARE = 0.1


class EvalProgress:
    """Counts samples (`what`: samples, or components judged) and says the running figures and the time left."""

    def __init__(self, total: int, what: str, rates: Sequence[str] = ()) -> None:
        self._total, self._what, self._rates = total, what, rates
        self._done = self._fresh = self._tokens = 0
        self._correct: dict[str, list[float]] = {}
        self._shares: dict[str, list[float]] = {name: [] for name in ("truncated", *rates)}
        self._start = self._told = time.monotonic()
        self._told_done = 0
        console = Console(stderr=True, highlight=False)
        columns = TextColumn("{task.completed:,.0f}/{task.total:,.0f} " + what), BarColumn(bar_width=24)
        self._bar = Progress(
            *columns,
            TextColumn("{task.description}"),
            TimeElapsedColumn(),
            console=console,
            disable=not console.is_terminal or not total,
            transient=True,
        )
        self._task = self._bar.add_task("", total=total)

    def __enter__(self) -> EvalProgress:
        self._bar.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._bar.stop()

    def add(self, samples: Sequence[Sample], marks: Sequence[Mark] | None, *, fresh: bool = True) -> None:
        """Count these. `fresh`: they took time, so that the time left can be told from them."""
        self._done += len(samples)
        self._fresh += len(samples) if fresh else 0
        self._tokens += sum(s.tokens for s in samples) if fresh else 0
        self._shares["truncated"] += [float(s.truncated) for s in samples]
        for sample, mark in zip(samples, marks or (), strict=False):
            if mark.correct is not None:
                self._correct.setdefault(sample.problem, []).append(float(mark.correct))
                for name in self._rates:
                    self._shares[name].append(mark.parts[name])
        text = self.text()
        self._bar.update(self._task, completed=self._done, description=text)
        now = time.monotonic()
        enough = self._done - self._told_done >= _TELL_SHARE * self._total or self._done == self._total
        if self._bar.disable and fresh and (enough or now - self._told >= _TELL_S):
            self._told, self._told_done = now, self._done
            print(f"{self._done:,} of {self._total:,} {self._what}  {text}", file=sys.stderr, flush=True)

    def text(self) -> str:
        """The running figures: Pass@1 is the mean over the problems that have samples, each with its own."""
        parts = []
        if self._correct:
            parts.append(f"Pass@1 {100 * fmean(map(fmean, self._correct.values())):.1f} %")
        parts += [f"{name.replace('_', ' ')} {100 * fmean(v):.0f} %" for name, v in self._shares.items() if v]
        seconds = time.monotonic() - self._start
        if self._fresh and seconds > 0:
            if self._tokens:
                parts.append(f"{self._tokens / seconds:,.0f} tokens/s")
            parts.append(f"ETA {_clock((self._total - self._done) * seconds / self._fresh)}")
        return "  ".join(parts)


def _clock(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes}:{rest:02d}" if minutes < 60 else f"{minutes // 60}:{minutes % 60:02d}:{rest:02d}"
