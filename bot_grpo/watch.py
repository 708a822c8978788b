"""`bot-grpo watch`: a run in the terminal, as it goes on: curves, alarms and its last completions.

Everything is read from the run's folder (`report_data`), so that a run on another machine with a shared disk, a stopped
one, and one that has not made a step yet can be watched alike.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Group, RenderableType
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from bot_grpo.report_charts import charts, duration
from bot_grpo.report_data import Entry, Run, evenly, load_rows, read_run
from bot_grpo.rundir import is_held
from sandbox.words import counted

CURVES = 10
"""Curves on the screen, at most: those of the report's first charts."""
COMPLETIONS = 4
_LABEL, _FIGURE, _CURVE = 36, 9, (8, 60)  # characters: of a name at most, of a figure with its gap, of a curve
_EIGHTHS = "▁▂▃▄▅▆▇█"
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u2069]")


@dataclass(frozen=True)
class Snapshot:
    """A run at one moment.

    Attributes:
        run: what its folder said.
        step, steps: the last step that was logged, and how many are planned (None: not known).
        finished: it has left a summary.
        deserted: it has not, and no process is at work on it: it was killed.
        rows: its last completions, as the rollouts files have them.
    """

    run: Run
    step: int
    steps: int | None
    finished: bool
    deserted: bool = False
    rows: list[dict[str, Any]] = field(default_factory=list)


def take(path: Path, *, completions: int = COMPLETIONS) -> Snapshot:
    """Read `path`. Raises UserError when it is no run, or has not logged anything yet."""
    run = read_run(path)
    last = max(points[-1][0] for points in run.series.values())
    planned = run.config.get("max_steps")
    of = run.summary.get("of", planned if isinstance(planned, int) and planned > 0 else None)
    rows = load_rows(_last(run.index, completions), run.notes) if completions else []
    finished = bool(run.summary)
    return Snapshot(run, last, of, finished, not finished and is_held(path) is False, rows)


def _last(index: Sequence[Entry], count: int) -> list[Entry]:
    """Entries of the newest batch, at even distances, so that they are of several prompts."""
    if not index:
        return []
    newest = index[-1]
    return evenly([entry for entry in index if (entry.step, entry.kind) == (newest.step, newest.kind)], count)


def screen(shot: Snapshot, *, width: int = 100, lines: int = 6) -> RenderableType:
    """What stands in the terminal: one renderable of rich's. `lines` is how much of a completion is shown."""
    parts: list[RenderableType] = [_headline(shot), _curves(shot.run, width)]
    parts += [Text(f"alarm at step {step}: {text}", style="bold red") for step, text in shot.run.alarms[-3:]]
    parts += [_completion(row, lines=lines, width=width) for row in shot.rows]
    return Group(*parts)


def _headline(shot: Snapshot) -> Text:
    config, seconds = shot.run.config, [value for _, value in shot.run.series.get("seconds/step", ())]
    of = f"/{shot.steps}" if shot.steps else ""
    words = [f"step {shot.step}{of}", str(config.get("algorithm", "")), str(config.get("task", ""))]
    if shot.finished:
        whole = shot.run.summary.get("finished") is not False
        words.insert(1, "done" if whole else "stopped before its last step")
    elif shot.deserted:
        words.insert(1, "no process is at work on it")
    elif seconds and shot.steps:
        left = sum(seconds[-5:]) / len(seconds[-5:]) * (shot.steps - shot.step)
        words.insert(1, f"{seconds[-1]:.1f} s a step, about {duration(left)} left")
    line = Text(shot.run.path.resolve().name, style="bold", no_wrap=True, overflow="ellipsis")
    return line.append("  " + "  ·  ".join(filter(None, words)), style="not bold")


def _curves(run: Run, width: int) -> Table:
    """A row a curve. Where there is little room figures go first, then the curve, and names are cut; a figure never."""
    figures = ("first", "best", "last") if width >= 76 else ("last",)
    room = width - _FIGURE * len(figures) - 4  # 4: the edges of the table
    curve_width = min(_CURVE[1], room - min(_LABEL, room - _CURVE[0] - 2) - 2) if room >= 2 * _CURVE[0] + 4 else 0
    table = Table(box=SIMPLE_HEAD, pad_edge=False, padding=(0, 1))
    table.add_column("", no_wrap=True, max_width=min(_LABEL, max(4, room - curve_width - 4)))
    if curve_width:
        table.add_column(f"steps {_span(run)}"[:curve_width], no_wrap=True, min_width=curve_width)
    for name in figures:
        table.add_column(name, justify="right", no_wrap=True, min_width=7)
    drawn = ((chart, line) for chart in charts(run.series, ())[0] for line in chart["curves"])
    for chart, line in islice(drawn, CURVES):
        values, unit = [value for _, value in line["points"]], chart["unit"]
        label = f"{chart['title']}: {line['label']}" if len(chart["curves"]) > 1 else chart["title"]
        curve = [sparkline(values, share=unit == "share", width=curve_width)] if curve_width else []
        found = {"first": values[0], "best": max(values), "last": values[-1]}
        shown = [_figure(found[name], unit) if name != "best" or unit == "share" else "" for name in figures]
        table.add_row(label, *curve, *shown)
    return table


def _span(run: Run) -> str:
    steps = [step for points in run.series.values() for step, _ in (points[0], points[-1])]
    return f"{min(steps)} to {max(steps)}"


def sparkline(values: Sequence[float], *, share: bool = False, width: int = 32) -> str:
    """Values as blocks of eight heights, `width` characters at most. A share's scale is 0 to 1, another's its own
    least to greatest (a constant stands half high)."""
    shown = evenly(values, width)
    low, high = (0.0, 1.0) if share else (min(values), max(values))
    heights = [(value - low) / (high - low) if high > low else 0.5 for value in shown]
    return "".join(_EIGHTHS[min(7, max(0, int(8 * height)))] for height in heights)


def _figure(value: float, unit: str) -> str:
    if unit == "share":
        return f"{100 * value:.0f} %"
    if unit == "seconds":
        return f"{value:.1f} s"
    return f"{value:.0f}" if unit == "tokens" else f"{value:.3g}"


def _completion(row: Mapping[str, Any], *, lines: int, width: int) -> Panel:
    words = [f"{'held out' if row.get('kind') == 'eval' else 'step'} {row.get('step')}"]
    if (outcome := row.get("outcome")) is not None and row.get("scored") is not False:
        words.append(f"outcome {outcome:.2f}")
    elif row.get("scored") is False:
        words.append("not scored: " + plain(row.get("reason") or "no reason given"))
    words += [plain(str(row[key])) for key in ("status", "answer") if row.get(key)]
    if row.get("truncated"):
        words.append("cut off")
    text = plain(row.get("completion") or "").strip("\n").split("\n")
    rest = f"\n… {counted(len(text) - lines, 'more line')}" if len(text) > lines + 1 else ""
    kept = text[:lines] if rest else text
    body = Text("\n".join(line[: width - 6] for line in kept) + rest)
    prompt = " ".join(plain(row.get("prompt") or "").split())
    return Panel(body, title=Text(prompt[: width - 10]), subtitle=Text("  ·  ".join(words)), title_align="left",
                 subtitle_align="left", width=width, border_style="dim")  # fmt: skip


def plain(text: str) -> str:
    """What a model wrote, made harmless to a terminal: no escape sequence, no character that turns the line around."""
    return _CONTROL.sub("\ufffd", text.expandtabs(4))
