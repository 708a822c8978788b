"""Which metrics share a chart, and the headline figures above them."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from itertools import pairwise
from statistics import median
from typing import Any, NamedTuple

from bot_grpo.report_data import Entry, Series, evenly

MAX_POINTS = 500
"""Points a curve: more than this cannot be told apart on a page."""


class Spec(NamedTuple):
    title: str
    unit: str  # "share", "seconds", "tokens" or "number"
    patterns: tuple[str, ...]
    stacked: bool = False


SHARES = ("compile_rate", "render_rate", "requirements", "success*", "accuracy", "correct*", "pass@*", "*_rate")
GROUPS = ("zero_variance_groups", "equal_outcome_groups", "failed_groups")

SPECS = (
    Spec("Held-out prompts", "share", tuple(f"eval/{name}" for name in SHARES)),
    Spec("Training rollouts", "share", tuple(name for name in SHARES if name != "*_rate")),
    Spec("Reward", "number", ("reward", "reward/outcome", "reward/local")),
    Spec("Completion length", "tokens", ("completion_length", "eval/completion_length")),
    Spec("Where a step’s time goes", "seconds", ("seconds/generate", "seconds/score", "seconds/update"), stacked=True),
    Spec("Truncated completions", "share", ("truncated", "eval/truncated")),
    Spec("Spread of the rewards (σ)", "number", ("algo/sigma*",)),
    Spec("Groups with nothing to compare", "share", tuple(f"algo/{name}" for name in GROUPS)),
)
"""Charts in page order. A metric goes to the first chart with a pattern for it; what is left gets one of its own."""

WORDS = {"compile_rate": "compiles", "render_rate": "renders", "requirements": "requirements met"}
WORDS |= {"zero_variance_groups": "equal token rewards", "equal_outcome_groups": "equal outcomes"}
WORDS |= {"failed_groups": "every outcome 0 or less"}

_ENDINGS = {
    "Renders": ("ok",),
    "Blank page": ("blank",),
    "Fails at run time": ("runtime_error", "timeout", "crashed"),
    "Does not compile": ("compile_error", "import_error"),
    "No component": ("no_code", "not_component", "too_large"),
}


def charts(series: Series, index: Sequence[Entry]) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """The charts to show, and those of the remaining metrics."""
    left = dict.fromkeys(sorted(series))
    main = []
    for spec in SPECS:
        keys = [key for pattern in spec.patterns for key in list(left) if fnmatchcase(key, pattern)]
        keys = list(dict.fromkeys(keys))
        for key in keys:
            del left[key]
        if keys:
            curves = [_curve(_label(key, spec), key, series[key]) for key in keys]
            main.append({"title": spec.title, "unit": spec.unit, "stacked": spec.stacked, "curves": curves})
    main += [c for kind in ("eval", "train") if (c := _endings(index, kind))]
    more = [
        {"title": key, "unit": _unit(key), "stacked": False, "curves": [_curve(key, key, series[key])]} for key in left
    ]
    return main, more


def _curve(label: str, key: str, points: Sequence[tuple[int, float]]) -> dict[str, Any]:
    short = [[step, float(f"{value:.5g}")] for step, value in evenly(points, MAX_POINTS)]
    return {"label": label, "key": key, "points": short}


def _label(key: str, spec: Spec) -> str:
    """`eval/compile_rate` is "compile rate" on the held-out chart, and "held out" beside its training twin."""
    prefix, _, name = key.rpartition("/")
    if prefix == "eval" and not all(p.startswith("eval/") for p in spec.patterns):
        return "held out"
    if f"eval/{key}" in spec.patterns:
        return "training"
    return WORDS.get(name, name.replace("_", " "))


def _unit(key: str) -> str:
    return "seconds" if key.startswith("seconds/") else "number"


def _endings(index: Sequence[Entry], kind: str) -> dict[str, Any] | None:
    """Stacked shares of how completions ended at each step; None where no status was kept."""
    by_step: dict[int, Counter[str]] = defaultdict(Counter)
    for entry in index:
        if entry.kind == kind and entry.status:
            by_step[entry.step][entry.status] += 1
    if not by_step:
        return None
    curves = []
    for label, statuses in _ENDINGS.items():
        points = [(s, sum(c[x] for x in statuses) / c.total()) for s, c in sorted(by_step.items())]
        curves.append(_curve(label, label, points))
    title = "How held-out answers end" if kind == "eval" else "How training rollouts end"
    return {"title": title, "unit": "share", "stacked": True, "palette": "e", "curves": curves}


def tiles(series: Series, summary: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    """(label, figure, remark) of the headline figures: whatever of them the run has."""
    found = []
    held_out = next(spec for spec in SPECS if spec.unit == "share").patterns
    keys = dict.fromkeys(key for p in held_out for key in sorted(series) if fnmatchcase(key, p))
    for key in list(keys)[:3]:
        points = series[key]
        best_step, best = max(points, key=lambda point: (point[1], -point[0]))
        first, last = points[0][1], points[-1][1]
        remark = f"{_percent(first)} at step {points[0][0]}\nbest {_percent(best)} at step {best_step}"
        found.append((_headline(key), _percent(last), remark if len(points) > 1 else f"at step {points[0][0]}"))
    if timed := series.get("seconds/step"):
        found.append(("Seconds a step", f"{median(value for _, value in timed):.1f}", "median"))
        wall, remark = summary.get("seconds"), ""
        if not isinstance(wall, int | float):
            since_last = [(now - before, value) for (before, _), (now, value) in pairwise([(0, 0.0), *timed])]
            wall, remark = sum(steps * mean for steps, mean in since_last), "sum of steps"
        found.append(("Wall time", duration(wall), remark))
    if length := series.get("completion_length"):
        found.append(("Tokens a completion", f"{length[-1][1]:.0f}", f"{length[0][1]:.0f} at step {length[0][0]}"))
    return found


def _headline(key: str) -> str:
    name = key.removeprefix("eval/")
    return WORDS.get(name, name.replace("_", " ")).capitalize()


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %"


def duration(seconds: float) -> str:
    """260 s is "4 min 20 s"."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours} h {minutes} min"
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"
