"""The page of a study: curves with bands, every table, and what the arms wrote for the same prompts (see `pages`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from bot_grpo.compare_cells import Cell
from bot_grpo.compare_rollouts import shared_rollouts
from bot_grpo.compare_words import is_share, label, tables, written
from bot_grpo.pages import deflate, render, write_page
from sandbox.words import counted

_SCRIPTS = (
    "page_base.js",
    "report_charts.js",
    "report_tokens.js",
    "page_modes.js",
    "page_rollouts.js",
    "compare_rollouts.js",
    "compare.js",
)


def write_compare_page(target: Path, found: Mapping[str, Any], cells: Sequence[Cell] = (), *, title: str) -> None:
    """Write the page, replacing an earlier one whole; `cells` are those whose rollouts it shows, where they have some.

    Raises `UserError` when it cannot be written.
    """
    charts = [_chart(found, metric) for metric in _charted(found)]
    arms = [arm["name"] for arm in found["arms"]]
    rollouts = shared_rollouts(cells, arms)
    shown = {"charts": charts, "more": [], "alarms": [], "lastStep": _last(found), "arms": arms}
    content = render(
        "compare.html.j2",
        styles=("report.css", "compare.css"),
        scripts=_SCRIPTS,
        title=title,
        date=datetime.now().strftime("%d %B %Y, %H:%M"),
        facts=_facts(found),
        tiles=_tiles(found),
        tables=tables(found),
        missing=[(one["cell"], one["why"]) for one in found["missing"]],
        notes=[*found["notes"], *rollouts["notes"]],
        completions=len(rollouts["rows"]),
        payload=deflate({**shown, "rows": rollouts["rows"], "images": rollouts["images"]}),
    )
    write_page(target, content)


def _charted(found: Mapping[str, Any]) -> list[str]:
    """The metrics asked for, and what else every arm has a curve of."""
    shared = [key for key in found["arms"][0]["curves"] if all(key in arm["curves"] for arm in found["arms"])]
    return [key for key in shared if all(arm["curves"][key] for arm in found["arms"])]


def _chart(found: Mapping[str, Any], metric: str) -> dict[str, Any]:
    curves = []
    for arm in found["arms"]:
        points = arm["curves"][metric]
        seeds = len(arm["seeds"])
        curve = {"label": arm["name"], "key": f"{arm['name']}: mean of {counted(seeds, 'seed')}"}
        curve |= {"points": [p[:2] for p in points], "band": [[p[0], p[2], p[3]] for p in points]}
        curves.append(curve)
    goals = found["thresholds"] if metric == found["metrics"][0] else []
    unit = "share" if is_share(metric) else "tokens" if "length" in metric else "number"
    return {"title": f"Held out: {label(metric)}", "unit": unit, "stacked": False, "curves": curves, "goals": goals}


def _last(found: Mapping[str, Any]) -> int:
    return max((point[0] for arm in found["arms"] for curve in arm["curves"].values() for point in curve), default=1)


def _facts(found: Mapping[str, Any]) -> list[tuple[str, str]]:
    seeds = sorted({seed for arm in found["arms"] for seed in arm["seeds"]})
    facts = [(name, found["setting"].get(key)) for name, key in (("Task", "task"), ("Model", "model"))]
    facts += [
        ("Arms", str(len(found["arms"]))),
        ("Seeds", ", ".join(map(str, seeds))),
        ("Runs", str(len(found["cells"]))),
        ("Steps", str(found["horizon"])),
        ("Baseline", found["baseline"]),
    ]
    return [(name, str(value)) for name, value in facts if value is not None]


def _tiles(found: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    """(arm, figure, remark): the speed-up over the baseline, or where there is none the metric at the end."""
    metric, tiles = found["metrics"][0], []
    for arm in found["arms"][:6]:
        final = arm["measures"][metric]["final"]
        reach = arm["reach"][0] if arm["reach"] else None
        remark = f"{label(metric)} at the end, mean of {counted(final['seeds'], 'seed')}"
        if reach is not None:
            goal = written(metric, reach["threshold"])
            least = "at least " if reach["censored"] else ""
            steps = f", after {least}{reach['step']:.1f} steps" if reach["reached"] else ""
            remark += f"\n{goal} reached by {reach['reached']} of {reach['cells']}{steps}"
        tiles.append((arm["name"], written(metric, final["value"]), remark))
    return tiles
