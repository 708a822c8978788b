"""Trackers (`report_to: tensorboard, trackio, wandb`): what they get of a run is what its files say, by the same names.

They follow `metrics.jsonl` and `rollouts/`. So a name means the same in the tracker and in the files, the rollouts of
all processes that write here are there, and a tracker that is named later, or that failed, gets what it has missed.
"""

from __future__ import annotations

import difflib
import json
import os
import statistics
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
from rich.console import Console
from transformers import TrainerCallback

from bot_grpo.errors import UserError
from bot_grpo.rundir import RunDir
from bot_grpo.trackers import OPEN, Tracker, Update

ROWS, PICTURES = 64, 8
"""How many completions, and how many screenshots, a tracker gets of a step at most: the first of each prompt first."""
_STATE = ".trackers.json"
"""The file of a run that knows, for each tracker, under which id the run is there and which steps it has."""
_COLUMNS = ["group", "prompt", "completion", "token_rewards", "advantages", "outcome", "reason", "truncated", "status"]
_COLUMNS += ["diagnostics", "requirements", "screenshot", "answer"]


# -- which ------------------------------------------------------------------------------------------------------------


def chosen(args: Any) -> list[str]:
    """The trackers in `report_to` that are served here; transformers' callbacks serve the others.

    `report_to` may be names with commas between them, as a command line has them; it becomes a list of them.

    Raises UserError for one that is misspelt or not installed, before a model is loaded in vain.
    """
    from transformers.integrations.integration_utils import (
        INTEGRATION_TO_CALLBACK,
        get_available_reporting_integrations,
    )

    words = [name.strip() for names in args.report_to for name in (names or "").split(",")]
    args.report_to = list(dict.fromkeys(filter(None, words)))
    for name in args.report_to:
        if name not in INTEGRATION_TO_CALLBACK:
            close = difflib.get_close_matches(name, INTEGRATION_TO_CALLBACK, n=1)
            hint = f"did you mean {close[0]!r}?" if close else f"there are {', '.join(OPEN)}, all and none"
            raise UserError(f"report_to: there is no tracker {name!r}; {hint}")
        if name in OPEN and not _is_installed(name):
            raise UserError(f"report_to: {name} is not installed here: pip install 'bot-grpo[track]', or leave it out")
    others = set(args.report_to) - set(OPEN) - {"azure_ml", "flyte"}  # which transformers does not look for
    if missing := sorted(others - set(get_available_reporting_integrations() if others else [])):
        raise UserError(f"report_to: {missing[0]} is not installed here, or not set up; leave it out, or see to that")
    return [name for name in args.report_to if name in OPEN]


def _is_installed(name: str) -> bool:
    spec = find_spec(name)
    return spec is not None and spec.origin is not None  # else a mere folder, such as wandb leaves behind


# -- what -------------------------------------------------------------------------------------------------------------


def kind_of(row: Mapping[str, Any]) -> str:
    """What a line of metrics.jsonl is of: alarms, eval, cold_start or train. Of each a step has its own."""
    if "alarms" in row:
        return "alarms"
    return next((kind for kind in ("eval", "cold_start") if any(n.startswith(f"{kind}/") for n in row)), "train")


def update_of(run: RunDir, row: Mapping[str, Any]) -> Update:
    """A line of metrics.jsonl, and the completions of its step where it is of training or of an evaluation.

    A figure that is not known (None) is left out: a gap, where 0 would be a value.
    """
    kind = kind_of(row)
    rows: list[dict[str, Any]] = []
    pictures: dict[str, Path] = {}
    prefix = {"train": "", "eval": "eval/"}.get(kind)
    if prefix is not None:
        rows, pictures = completions(run, kind, row["step"], prefix)
    known = (int, float)
    return Update(
        step=row["step"],
        figures={n: float(v) for n, v in row.items() if n != "step" and isinstance(v, known)},
        alarms=[str(text) for text in row.get("alarms") or ()],
        tables={f"{prefix}completions": rows} if rows else {},
        pictures=pictures,
    )


def completions(run: RunDir, kind: str, step: int, prefix: str) -> tuple[list[dict[str, Any]], dict[str, Path]]:
    """At most `ROWS` completions of a step as rows of one table, and `PICTURES` of their screenshots by name.

    A column that no row has a value for is left out. Both are empty where no completion was sampled for the step.
    """
    files = sorted(run.rollouts.glob(f"{'step' if kind == 'train' else 'eval'}*-{step:05d}.parquet"))
    found = [row for file in files for row in pq.read_table(file, columns=_COLUMNS).to_pylist()]
    seen: Counter[int] = Counter()
    places = []
    for row in found:
        places.append((seen[row["group"]], row["group"]))
        seen[row["group"]] += 1
    order = sorted(range(len(found)), key=places.__getitem__)[:ROWS]
    pictures: dict[str, Path] = {}
    rows = [_table_row(run, found[i], pictures, f"{prefix}screenshots/") for i in order]
    empty = {name for name in (rows[0] if rows else ()) if all(row[name] is None for row in rows)}
    return [{name: value for name, value in row.items() if name not in empty} for row in rows], pictures


def _table_row(run: RunDir, row: Mapping[str, Any], pictures: dict[str, Path], prefix: str) -> dict[str, Any]:
    shot = run.path / row["screenshot"] if row["screenshot"] else None
    name = None
    if shot is not None and len(pictures) < PICTURES and shot.is_file():
        name = f"{prefix}{len(pictures) + 1}"
        pictures[name] = shot
    wishes = row["requirements"]
    found = [f"line {d['line']}: {d['message']}" for d in row["diagnostics"] or ()]
    return {
        "group": row["group"],
        "prompt": row["prompt"],
        "completion": row["completion"],
        "reward": _mean(row["token_rewards"]) if row["outcome"] is not None else None,
        "outcome": row["outcome"],
        "advantage": _mean(row["advantages"]),
        "status": row["status"],
        "requirements": f"{sum(bool(w['met']) for w in wishes)} of {len(wishes)}" if wishes else None,
        "diagnostics": "\n".join(found) or None,
        "answer": row["answer"],
        "truncated": row["truncated"],
        "not scored": row["reason"] or None,
        "screenshot": name,
    }


def _mean(values: Sequence[float] | None) -> float | None:
    return float(f"{statistics.fmean(values):.6g}") if values else None  # they are float32


# -- when -------------------------------------------------------------------------------------------------------------


@contextmanager
def following(args: Any, run: RunDir, names: Sequence[str], console: Console) -> Iterator[Tracking]:
    """Open the trackers and close them at the end, however it comes; the callback that keeps them up to date.

    Of several processes the main one has them. transformers' own callbacks for them are left out, for they would give
    each figure again, under another name.
    """
    args.report_to = [name for name in args.report_to if name not in names]
    tracking = Tracking(run, console)
    if args.process_index == 0:
        for name in names:
            tracking.open(name, args)
    try:
        yield tracking
    except BaseException:
        tracking.close(failed=True)
        raise
    tracking.close()


class Tracking(TrainerCallback):
    """Gives trackers what the run's files have got since the last call; to be called after `RunLog`, which writes them.

    Whatever a tracker raises costs that tracker alone the rest of the session, and one line says so.
    """

    def __init__(self, run: RunDir, console: Console) -> None:
        self.run, self.console = run, console
        self._trackers: dict[str, Tracker] = {}
        self._state: dict[str, dict[str, Any]] = {}
        self._read = 0  # bytes of metrics.jsonl
        with suppress(OSError, ValueError):
            self._state = dict(json.loads((run.path / _STATE).read_text(encoding="utf-8")))

    def open(self, name: str, args: Any) -> None:
        """Begin the run in a tracker, or go on with it there."""
        state = self._state.setdefault(name, {"steps": {}})
        with self._costs(name):
            self._trackers[name] = OPEN[name](self.run, args, state)
            self.console.print(f"{name}: {self._trackers[name].where}", soft_wrap=True, markup=False)
            self._save()

    def on_log(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        self.follow()

    def follow(self) -> None:
        """Give each tracker the lines of metrics.jsonl that are new, and that it has not had."""
        for row in self._new_rows() if self._trackers else ():
            kind = kind_of(row)
            lacking = [name for name, one in self._trackers.items() if row["step"] > one.had.get(kind, -1)]
            update = None
            for name in lacking:
                with self._costs(name):
                    update = update or update_of(self.run, row)
                    self._trackers[name].send(update)
                    self._state[name]["steps"][kind] = row["step"]
        self._save()

    def close(self, *, failed: bool = False) -> None:
        """Give them the rest, and end the run in each."""
        self.follow()
        for name, tracker in list(self._trackers.items()):
            with self._costs(name):
                tracker.close(failed)
        self._trackers = {}

    def _new_rows(self) -> list[dict[str, Any]]:
        if not self.run.metrics_path.exists():
            return []
        with self.run.metrics_path.open("rb") as file:
            file.seek(self._read)
            whole = file.read().rpartition(b"\n")[0]
        self._read += len(whole) + bool(whole)
        return [json.loads(line) for line in whole.splitlines()]

    @contextmanager
    def _costs(self, name: str) -> Iterator[None]:
        """Around what may fail: then the training goes on without this tracker."""
        try:
            yield
        except Exception as error:
            self._trackers.pop(name, None)
            why = next(iter(str(error).strip().splitlines()), type(error).__name__)
            self.console.print(
                f"{name} fails, and the training goes on without it: {why}; what it lacks is in {self.run.path}, and "
                "goes to it when the run is resumed",
                soft_wrap=True,
                markup=False,
            )

    def _save(self) -> None:
        if self._trackers:
            scratch = self.run.path / f"{_STATE}.tmp"  # which cutting a run back clears away
            scratch.write_text(json.dumps(self._state), encoding="utf-8")
            os.replace(scratch, self.run.path / _STATE)
