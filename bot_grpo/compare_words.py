"""The figures of a study in words: Markdown tables for a terminal, a README and the study's page."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any

from bot_grpo.compare import MEASURES
from bot_grpo.compare_cells import TRL_DEFAULTS, Cell
from bot_grpo.report_charts import GROUPS, SHARES, WORDS, duration

Table = tuple[Sequence[str], Sequence[Sequence[str]]]
"""Heads and rows."""

MEASURE_WORDS = {
    "final": "at the end",
    "best": "best",
    "drop": "drop from the best",
    "area": "mean over training (AUC)",
}


def is_share(metric: str) -> bool:
    """Whether a metric is a share, from 0 to 1."""
    return any(fnmatchcase(metric.removeprefix("eval/"), pattern) for pattern in SHARES)


def label(metric: str) -> str:
    """`eval/compile_rate` is "compiles"."""
    name = metric.removeprefix("eval/")
    return WORDS.get(name, name.replace("_", " "))


def chance(metrics: Sequence[str], cells: Sequence[Cell]) -> list[str]:
    """A line on how far chance alone moves an evaluation, where that is more than a point or two."""
    points: dict[str, str] = {}
    for metric in filter(is_share, metrics):
        k = int(found[1]) if (found := re.search(r"pass@(\d+)$", metric)) else 1  # k samples are one attempt
        count = min(cell.config.get("eval_prompts", 48) * max(1, _samples(cell.config) // k) for cell in cells)
        if 0 < count < 1000:
            points[label(metric)] = f"{100 * (0.25 / count) ** 0.5:.0f} points"
    if not points:
        return []
    of = [f"{value} of {name}" for name, value in points.items()]
    one = len(set(points.values())) == 1
    return [
        f"By chance alone an evaluation moves by up to {next(iter(points.values())) if one else ' and '.join(of)} (one "
        "standard error), and the best of several is chosen for its luck too."
    ]


def _samples(config: Mapping[str, Any]) -> int:
    """Samples a held-out prompt, as TRL has it."""
    return config.get("num_generations_eval") or config.get("num_generations") or TRL_DEFAULTS["num_generations"]


def written(metric: str, value: float) -> str:
    """A value of a metric: "81 %", or three digits."""
    return f"{100 * value:.0f} %" if is_share(metric) else f"{value:.3g}".replace("-", "−")


def exact(metric: str, value: float) -> str:
    """A threshold as it was given: 89.5 % is not 90 %."""
    return f"{round(100 * value, 6):g} %" if is_share(metric) else written(metric, value)


def overview(found: Mapping[str, Any], metric: str) -> Table:
    """A row an arm: the metric's measures, mean over seeds with the interval."""
    heads = [label(metric), "seeds", *(MEASURE_WORDS[k] for k in MEASURES)]
    rows = []
    for arm in found["arms"]:
        estimates = [arm["measures"][metric][k] for k in MEASURES]
        rows.append([arm["name"], str(len(arm["seeds"])), *(_estimate(metric, e) for e in estimates)])
    return heads, rows


def to_threshold(found: Mapping[str, Any], index: int) -> Table:
    """A row an arm: what it took to a threshold, and the speed-up over the baseline."""
    metric, threshold = found["metrics"][0], found["thresholds"][index]
    goal = f"to {exact(metric, threshold)} {label(metric)}"
    heads = [goal, "reached", "steps", "rollouts", "tokens", "training time"]
    heads += [f"times fewer steps than {found['baseline']}", "ahead"]
    rows = []
    for arm in found["arms"]:
        one = arm["reach"][index]
        against = arm["against"]["reach"][index] if arm["against"] else None
        if one["reached"] == 0:
            steps = f"> {found['horizon']}"
            spent = [f"> {_count(one['rollouts'])}", f"> {_count(one['tokens'])}", f"> {duration(one['seconds'])}"]
        else:
            least = "≥ " if one["censored"] else ""
            steps = f"{least}{one['step']:.1f}"
            spent = [f"{least}{_count(one['rollouts'])}", f"{least}{_count(one['tokens'])}"]
            spent.append(f"{least}{duration(one['seconds'])}")
        ratio = against["speed_up"] if against else None
        rows.append([arm["name"], f"{one['reached']} of {one['cells']}", steps, *spent, *_ratio(ratio, against)])
    return heads, rows


def against(found: Mapping[str, Any]) -> Table:
    """A row for each arm, metric and measure: the paired difference to the baseline."""
    unit = ", in points" if all(map(is_share, found["metrics"])) else ""
    heads = [f"minus {found['baseline']}", "measure", f"difference{unit}", "95 %, other seeds", "ahead"]
    rows = []
    for arm in found["arms"]:
        for metric, measured in (arm["against"] or {"measures": {}})["measures"].items():
            for k in MEASURES:
                c = measured[k]
                ends = "" if c["low"] is None else f"{_signed(metric, c['low'])} to {_signed(metric, c['high'])}"
                words = f"{label(metric)}, {MEASURE_WORDS[k]}"
                rows.append([arm["name"], words, _signed(metric, c["value"]), ends, _share(c["ahead"])])
    return heads, rows


def groups(found: Mapping[str, Any]) -> Table:
    """A row an arm: the shares of prompts whose rollouts gave nothing to compare, over all training steps."""
    names = [name for name in GROUPS if any(name in arm["groups"] for arm in found["arms"])]
    heads = ["share of groups, in training", *(WORDS[name] for name in names)]
    rows = [[arm["name"], *(_share(arm["groups"].get(name)) for name in names)] for arm in found["arms"]]
    return heads, rows if names else []


def runs(found: Mapping[str, Any]) -> Table:
    """A row a run: every metric at each evaluation, the first step past each threshold, length, time."""
    metrics, thresholds = found["metrics"], found["thresholds"]
    steps = sorted({point[0] for cell in found["cells"] for point in cell["curves"][metrics[0]]})
    steps = steps if len(steps) <= 8 else [steps[round(i * (len(steps) - 1) / 7)] for i in range(8)]
    heads = [" / ".join(label(m) for m in metrics), *(f"step {s}" for s in steps)]
    heads += [f"{exact(metrics[0], t)} at step" for t in thresholds] + [
        "best at step",
        "tokens",
        "s a step",
        "scoring",
    ]
    rows = []
    for cell in found["cells"]:
        at = {m: {point[0]: point[1] for point in cell["curves"][m]} for m in metrics}
        bounds = {metrics[0]: thresholds}
        values = [" / ".join(_bare(m, at[m][s], bounds.get(m, ())) for m in metrics if s in at[m]) for s in steps]
        reached = [str(r["step"]) if r["reached"] else f"> {r['step']}" for r in cell["reach"]]
        lengths = f"{cell['lengths'][0]:.0f} to {cell['lengths'][1]:.0f}" if cell["lengths"] else ""
        seconds = "" if cell["seconds_a_step"] is None else f"{cell['seconds_a_step']:.0f}"
        head, tail = f"{cell['arm']}, {cell['seed']}", [lengths, seconds, _share(cell["scoring"])]
        rows.append([head, *values, *reached, str(cell["best_step"]), *tail])
    return heads, rows


def tables(found: Mapping[str, Any]) -> list[Table]:
    """All tables, in the order of reading; those without a row are left out."""
    made = [overview(found, metric) for metric in found["metrics"]]
    made += [to_threshold(found, i) for i in range(len(found["thresholds"]))]
    return [table for table in [*made, against(found), groups(found), runs(found)] if table[1]]


def markdown(table: Table) -> str:
    """A table as Markdown has it."""
    heads, rows = table
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def document(found: Mapping[str, Any], title: str) -> str:
    """compare.md: all tables, what is missing, and the notes."""
    parts = [f"# {title}", *map(markdown, tables(found))]
    if found["missing"]:
        parts.append("Missing:\n\n" + "\n".join(f"* {one['cell']}: {one['why']}" for one in found["missing"]))
    if found["notes"]:
        parts.append("\n".join(f"* {note}" for note in found["notes"]))
    return "\n\n".join(parts) + "\n"


def _estimate(metric: str, e: Mapping[str, Any]) -> str:
    if e["low"] is None:
        return written(metric, e["value"])
    ends = f"{_bare(metric, e['low'])} to {_bare(metric, e['high'])}"
    return f"{written(metric, e['value'])} ({ends})"


def _ratio(ratio: Mapping[str, Any] | None, against: Mapping[str, Any] | None) -> list[str]:
    if ratio is None or against is None or against["censored"] == 2 * ratio["seeds"]:
        return ["", ""]
    high = "∞" if ratio["high"] is None else f"{ratio['high']:.2f}"
    ends = "" if ratio["low"] is None else f" ({ratio['low']:.2f} to {high})"
    return [f"{ratio['value']:.2f}{ends}" + (" *" if against["censored"] else ""), _share(ratio["ahead"])]


def _bare(metric: str, value: float, thresholds: Sequence[float] = ()) -> str:
    """Without its unit; a share that rounding would take across a threshold, with the digits that it needs."""
    text = written(metric, value).removesuffix(" %")
    if is_share(metric):
        digits = 0
        while digits < 4 and any((float(text) / 100 >= t) != (value >= t) for t in thresholds):
            digits += 1
            text = f"{100 * value:.{digits}f}"
    return text


def _signed(metric: str, value: float) -> str:
    text = f"{100 * value:+.1f}" if is_share(metric) else f"{value:+.3g}"
    return text.replace("-", "−")


def _share(value: float | None) -> str:
    return "" if value is None else f"{100 * value:.0f} %"


def _count(value: float) -> str:
    return f"{value:,.0f}" if value < 10_000 else f"{value / 1000:,.0f} k" if value < 1e7 else f"{value / 1e6:,.0f} M"
