"""`bot-grpo watch RUN`: a run in the terminal while it goes on."""

from __future__ import annotations

import time
from pathlib import Path

from rich.console import Console
from rich.live import Live

from bot_grpo.cli.parser import Parser, number
from bot_grpo.errors import UserError
from bot_grpo.invoked import again, program
from bot_grpo.rundir import is_held
from bot_grpo.watch import COMPLETIONS, Snapshot, screen, take


def main(argv: list[str]) -> int:
    """Show the run, anew whenever it has logged something, until it has ended, was killed, or Ctrl-C. 0 either way."""
    parser = Parser(
        prog="bot-grpo watch",
        description="Show a run in the terminal: curves, alarms and its last completions, as they come. Looking does "
        "not touch the run; Ctrl-C is the ordinary end of the looking (exit code 0). Where the output is no terminal, "
        "a line for each step.",
        epilog="example: bot-grpo watch runs/react-smollm2-cpu",
    )
    parser.add_argument("run", metavar="RUN", type=Path, help="the run directory that train writes")
    parser.add_argument("--once", action="store_true", help="show what there is now, and end")
    parser.add_argument(
        "--every", metavar="SECONDS", type=number(above=0), default=2.0, help="look again after this long (default: 2)"
    )
    parser.add_argument(
        "--completions",
        metavar="N",
        type=number(least=0, whole=True),
        default=COMPLETIONS,
        help=f"how many of the last completions to show (default: {COMPLETIONS})",
    )
    options = parser.parse_args(argv)
    console = Console(highlight=False)
    if options.once:
        console.print(screen(take(options.run, completions=options.completions), width=console.width))
        return 0
    try:
        _follow(options.run, options.every, options.completions, console)
    except KeyboardInterrupt:
        console.print("no longer watching; the run goes on")
    return 0


def _follow(path: Path, every: float, completions: int, console: Console) -> None:
    seen = (0, 0, False)  # read before the run is, so that nothing written in between is missed
    shot = _first(path, every, completions, console)
    if not console.is_terminal:
        _lines(shot, path, every, console)
        return
    with Live(console=console, screen=True, auto_refresh=False, vertical_overflow="crop") as live:
        while True:
            live.update(screen(shot, width=console.width, lines=_room(console, shot)), refresh=True)
            if shot.finished or shot.deserted:
                break
            while (now := _stamp(path)) == seen:
                time.sleep(every)
            seen = now
            shot = take(path, completions=completions)
    console.print(screen(shot, width=console.width, lines=_room(console, shot)))
    _farewell(shot, path, console)


def _farewell(shot: Snapshot, path: Path, console: Console) -> None:
    text = f"pictures and every completion: {program()} report {path}"
    if shot.deserted:
        text = f"no process is at work on it; go on with: {again(path)}"
    console.print(text, soft_wrap=True, markup=False)


def _first(path: Path, every: float, completions: int, console: Console) -> Snapshot:
    """The first snapshot; a run that has only begun is waited for."""
    waited = False
    while True:
        try:
            return take(path, completions=completions)
        except UserError:
            if not (path / "config.yaml").is_file() or _stamp(path)[0]:
                raise
        if not waited:
            console.print(f"{path} has logged nothing yet; waiting", soft_wrap=True, markup=False)
            waited = True
        time.sleep(every)


def _room(console: Console, shot: Snapshot) -> int:
    """Lines of each completion that fit below the curves."""
    left = console.height - 16 - len(shot.run.alarms[-3:])
    return max(1, left // max(1, len(shot.rows)) - 3)


def _stamp(path: Path) -> tuple[int, int, bool]:
    """Changes when the run has logged, or ended, one way or the other."""
    sizes = [file.stat().st_size if file.is_file() else 0 for file in (path / "metrics.jsonl", path / "summary.json")]
    return sizes[0], sizes[1], is_held(path) is False


def _lines(shot: Snapshot, path: Path, every: float, console: Console) -> None:
    """For a log file or a pipe: each step once, as it comes."""
    told = -1
    while True:
        for step in sorted({step for points in shot.run.series.values() for step, _ in points if step > told}):
            found = {key: dict(points).get(step) for key, points in shot.run.series.items()}
            figures = [f"{key} {value:.4g}" for key, value in found.items() if value is not None and _worth(key)]
            console.print(f"step {step}  " + "  ".join(figures), soft_wrap=True, markup=False)
            told = step
        if shot.finished or shot.deserted:
            _farewell(shot, path, console)
            return
        time.sleep(every)
        shot = take(path, completions=0)


def _worth(key: str) -> bool:
    """Metrics that belong on one line."""
    return key.rsplit("/", 1)[-1] in {"reward", "compile_rate", "requirements", "accuracy", "completion_length", "step"}
