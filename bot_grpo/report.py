"""`report.html`: one run on one page that opens from disk and asks the network for nothing (see `pages`)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import yaml

from bot_grpo.errors import UserError
from bot_grpo.pages import check_name, check_writable, deflate, render, write_page
from bot_grpo.report_charts import charts, tiles
from bot_grpo.report_data import Run, choose, read_run
from bot_grpo.report_fit import attach_images, fitting, packed_rows
from bot_grpo.rundir import is_held

MAX_COMPLETIONS = 400
TEXT_BUDGET = 1_900_000
"""Bytes of the page for completions, as base64 of deflated JSON."""
IMAGE_BUDGET = 2_700_000
"""Bytes of the page for screenshots. With the text and the page's own 60 kB it stays under 5 MB."""

_SCRIPTS = (
    "page_base.js",
    "report_base.js",
    "report_charts.js",
    "report_tokens.js",
    "page_modes.js",
    "page_rollouts.js",
    "report_completions.js",
    "report_reader.js",
    "report_live.js",
)


@dataclass(frozen=True)
class Report:
    """What was written: the path, and how much of the run the page holds."""

    path: Path
    size: int
    completions: int
    completions_in_run: int
    screenshots: int


def write_report(run_dir: Path, output: Path | None = None, *, max_completions: int = MAX_COMPLETIONS) -> Report:
    """Write the report of `run_dir` to `output` (by default `report.html` inside it), replacing an earlier one whole.

    Raises `UserError` for bad input and when the file cannot be written.
    """
    target = output or run_dir / "report.html"
    check_name(target)
    if max_completions < 1:
        raise UserError(f"completions must be at least 1, not {max_completions}")
    run = read_run(run_dir)
    check_writable(target)
    content, shown, pictures = _page(run, max_completions)
    write_page(target, content)
    return Report(target, len(content), shown, len(run.index), pictures)


def live_page(run_dir: Path, stamp: str, *, max_completions: int = MAX_COMPLETIONS) -> bytes:
    """The report as `report_serve` gives it: it loads itself again when the server's stamp is another."""
    return _page(read_run(run_dir), max_completions, stamp=stamp)[0]


def _page(run: Run, max_completions: int, *, stamp: str | None = None) -> tuple[bytes, int, int]:
    """The page, and how many completions and screenshots are in it."""
    rows = _completions(run, max_completions)
    images, pictures = attach_images(rows, [run.path] * len(rows), run.notes, IMAGE_BUDGET)
    return _render(run, _payload(run, rows, images), len(rows), stamp), len(rows), pictures


def _completions(run: Run, cap: int) -> list[dict[str, Any]]:
    """Packed rows: at most `cap`, fewer where they would not fit the budget."""

    def load(cap: int) -> list[dict[str, Any]]:
        return packed_rows(choose(run.index, cap), run.path, run.notes)

    return fitting(load, cap, TEXT_BUDGET)


def _payload(run: Run, rows: Sequence[Mapping[str, Any]], images: Mapping[str, str]) -> str:
    main, more = charts(run.series, run.index)
    steps = [step for points in run.series.values() for step, _ in points]
    last = max([*steps, *(entry.step for entry in run.index[-1:])])
    return deflate(
        {"charts": main, "more": more, "alarms": run.alarms, "lastStep": last, "rows": rows, "images": images}
    )


def _render(run: Run, payload: str, completions: int, stamp: str | None) -> bytes:
    return render(
        "report.html.j2",
        styles=["report.css"],
        scripts=_SCRIPTS,
        stamp=stamp,
        name=run.path.resolve().name,
        facts=_facts(run),
        tiles=tiles(run.series, run.summary),
        alarms=_alarms(run.alarms),
        settings=_settings(run.config),
        notes=[*_sample_note(run, completions), *run.notes],
        completions=completions,
        state=_state(run),
        payload=payload,
    )


def _facts(run: Run) -> list[tuple[str, str]]:
    """The line below the title: what ran, on what, when, for how long."""
    config = run.config
    started = datetime.fromtimestamp((run.path / "metrics.jsonl").stat().st_mtime)
    date = next((config[key] for key in ("started", "date") if config.get(key)), started.strftime("%d %B %Y"))
    last = max((points[-1][0] for points in run.series.values()), default=0)
    planned = config.get("max_steps")
    of = f" of {planned}" if isinstance(planned, int) and planned > last else ""
    facts = [
        ("Recipe", config.get("recipe")),
        ("Algorithm", config.get("algorithm")),
        ("Model", config.get("model") or config.get("model_name_or_path")),
        ("Task", config.get("task")),
        ("Seed", config.get("seed")),
        ("Steps", f"{last}{of}"),
        ("Date", date),
    ]
    return [(label, str(value)) for label, value in facts if value is not None]


def _state(run: Run) -> str:
    """A word of warning when the run may not be whole; summary.json is written at its end."""
    if not run.summary:
        words: dict[bool | None, str] = {True: "running", False: "killed: no process is at work on it"}
        return words.get(is_held(run.path), "running, or killed: it left no summary")
    return "stopped before its last step" if run.summary.get("finished") is False else ""


def _settings(config: Mapping[str, Any]) -> list[tuple[str, str]]:
    def flat(items: Iterable[tuple[Any, Any]], prefix: str = "") -> Iterable[tuple[str, str]]:
        for key, value in items:
            if isinstance(value, dict):
                yield from flat(value.items(), f"{prefix}{key}.")
            else:
                text = yaml.safe_dump(value, allow_unicode=True, default_flow_style=True, width=10_000)
                yield f"{prefix}{key}", text.removesuffix("\n").removesuffix("\n...")

    return list(flat(config.items()))


def _alarms(alarms: Iterable[tuple[int, str]]) -> list[tuple[str, str]]:
    """(when, text), each text once: a condition that lasts would fill the page."""
    steps: dict[str, list[int]] = {}
    for step, text in alarms:
        steps.setdefault(text, []).append(step)
    return [
        (f"Step {at[0]}" if len(at) == 1 else f"{len(at)} times, steps {at[0]} to {at[-1]}", text)
        for text, at in steps.items()
    ]


def _sample_note(run: Run, shown: int) -> list[str]:
    whole = len(run.index)
    if shown == whole:
        return []
    return [
        f"{shown:,} of the run’s {whole:,} completions are on this page: whole training groups at even distances, "
        "and the same held-out prompts at every evaluation."
    ]
