"""What a study says: each arm's curve in figures, against a baseline, with intervals from drawing the seeds anew.

All in float64. A seed is what pairs two arms: its cells began from the same weights and saw the same prompts. A cell
that never reaches a threshold is censored: it counts with the steps that it had ("> 20"), and is never dropped. Means
over censored cells are restricted means (of min(T, horizon); Royston and Parmar 2013), so at least that much is true.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bot_grpo.compare_cells import Cell, Curve
from bot_grpo.errors import UserError

DRAWS = 10_000
FEW = 3
"""Seeds below which an interval is of little worth."""
MEASURES = ("final", "best", "drop", "area")
Floats = NDArray[np.float64]
Figures = dict[str, Any]


@dataclass(frozen=True)
class Estimate:
    """A mean over seeds with its 95 % interval; the ends are None for a single seed."""

    value: float
    low: float | None
    high: float | None
    seeds: int


@dataclass(frozen=True)
class Contrast(Estimate):
    """A paired difference (or ratio) to the baseline; `ahead`: the share of draws in which the arm is the better one.

    A draw in which both are level counts one half. None for a single seed.
    """

    ahead: float | None


# -- one curve --------------------------------------------------------------------------------------------------------


def first_at(curve: Curve, threshold: float) -> int | None:
    """The first evaluated step at or above `threshold`; None: never (censored at the last evaluation)."""
    return next((step for step, value in curve if value >= threshold), None)


def best_of(curve: Curve) -> tuple[int, float]:
    """(step, value) of the highest evaluation, the first of equals."""
    return max(curve, key=lambda point: (point[1], -point[0]))


def area(curve: Curve) -> float:
    """Area under the curve (trapezoids) over its width: the mean rate over training. A single point has its value."""
    steps, values = (np.asarray(side, dtype=np.float64) for side in zip(*curve, strict=True))
    width = steps[-1] - steps[0]
    return float(np.trapezoid(values, steps) / width) if width else float(values[0])


def measures(curve: Curve) -> dict[str, float]:
    """`final`, `best`, `drop` (best - final) and `area` of a curve."""
    final, best = curve[-1][1], best_of(curve)[1]
    return {"final": final, "best": best, "drop": best - final, "area": area(curve)}


# -- over seeds -------------------------------------------------------------------------------------------------------


def resamples(n: int, *, seed: int = 0, draws: int = DRAWS) -> NDArray[np.int64]:
    """(draws, n) indices of n seeds drawn with replacement: all n^n of them where they are no more than `draws`."""
    if n**n <= draws:
        return np.array(list(itertools.product(range(n), repeat=n)), dtype=np.int64)
    return np.random.default_rng(seed).integers(n, size=(draws, n))


def estimate(values: Sequence[float]) -> Estimate:
    """Mean over seeds and the percentile bootstrap's 95 % interval, its ends rounded outwards to draws."""
    array = np.asarray(values, dtype=np.float64)
    low, high = _ends(array[resamples(len(array))].mean(axis=1))
    return Estimate(float(array.mean()), low, high, len(array))


def difference(mine: Sequence[float], base: Sequence[float], *, more_is_better: bool = True) -> Contrast:
    """Mean of the paired differences mine - base, a pair a seed."""
    pairs = np.asarray(mine, dtype=np.float64) - np.asarray(base, dtype=np.float64)
    drawn = pairs[resamples(len(pairs))].mean(axis=1)
    low, high = _ends(drawn)
    return Contrast(float(pairs.mean()), low, high, len(pairs), _ahead(drawn if more_is_better else -drawn))


def speed_up(mine: Sequence[float], base: Sequence[float]) -> Contrast | None:
    """How many times fewer steps: mean(base) / mean(mine), seeds drawn in pairs. None where an arm took no step."""
    mine_S, base_S = np.asarray(mine, dtype=np.float64), np.asarray(base, dtype=np.float64)
    if not mine_S.mean() or not base_S.mean():
        return None
    drawn = resamples(len(mine_S))
    a, b = mine_S[drawn].mean(axis=1), base_S[drawn].mean(axis=1)
    low, high = _ends(np.divide(b, a, out=np.full_like(a, np.inf), where=a > 0))
    return Contrast(float(base_S.mean() / mine_S.mean()), low, high, len(mine_S), _ahead(b - a))


def _ends(drawn: Floats) -> tuple[float | None, float | None]:
    if len(drawn) < 2:
        return None, None
    low, high = np.quantile(drawn, 0.025, method="lower"), np.quantile(drawn, 0.975, method="higher")
    return float(low), (float(high) if np.isfinite(high) else None)  # no infinity: JSON has none


def _ahead(drawn: Floats) -> float | None:
    level = np.abs(drawn) < 1e-12
    return float(np.mean(np.where(level, 0.5, drawn > 0))) if len(drawn) > 1 else None


# -- the study --------------------------------------------------------------------------------------------------------


def figures(
    cells: Sequence[Cell],
    *,
    metrics: Sequence[str],
    thresholds: Sequence[float],
    baseline: str,
    arms: Sequence[str] = (),
) -> Figures:
    """All figures of the finished `cells`, as JSON holds them; thresholds are of the first metric.

    Only steps that every cell has evaluated count, the last of them being the `horizon`: a run that was stopped and
    went on has evaluated once more, and would have one more chance to be good.
    Raises UserError where a metric is not there or no cell is finished.
    """
    done = [cell for cell in cells if cell.finished]
    if not done:
        raise UserError("no cell is finished yet")
    for metric in metrics:
        if bare := next((cell for cell in done if not cell.curve(metric)), None):
            there = ", ".join(sorted({key for _, row in bare.evals for key in row if key.count("/") == 1})[:24])
            raise UserError(f"{bare.name} has no {metric}; it has: {there or 'no evaluation at all'}")
    steps = [{step for step, _ in cell.curve(metric)} for cell in done for metric in metrics]
    shared = set.intersection(*steps)
    if not shared:
        raise UserError("the cells have no evaluated step in common: there is nothing to compare")
    order = list(dict.fromkeys([*arms, *(cell.arm for cell in done)]))
    rows = [_cell(cell, metrics, thresholds, shared) for cell in done]
    by_arm = {arm: {row["seed"]: row for row in rows if row["arm"] == arm} for arm in order}
    by_arm = {arm: seeds for arm, seeds in by_arm.items() if seeds}
    return {
        "metrics": list(metrics),
        "thresholds": list(thresholds),
        "baseline": baseline,
        "horizon": max(shared),
        "left_out": sorted(set.union(*steps) - shared),
        "arms": [_arm(arm, seeds, by_arm.get(baseline), baseline, metrics) for arm, seeds in by_arm.items()],
        "cells": [row for seeds in by_arm.values() for row in seeds.values()],
    }


def _cell(cell: Cell, metrics: Sequence[str], thresholds: Sequence[float], shared: set[int]) -> Figures:
    wanted = dict.fromkeys([*metrics, "eval/completion_length"])
    curves = {m: [point for point in cell.curve(m) if point[0] in shared] for m in wanted}
    first, lengths = curves[metrics[0]], curves["eval/completion_length"]
    return {
        "name": cell.name,
        "arm": cell.arm,
        "seed": cell.seed,
        "steps": cell.steps,
        "curves": {m: [list(point) for point in curve] for m, curve in curves.items() if curve},
        "measures": {m: measures(curves[m]) for m in metrics},
        "best_step": best_of(first)[0],
        "reach": [_reach(cell, first, threshold) for threshold in thresholds],
        "lengths": [lengths[0][1], lengths[-1][1]] if lengths else None,
        "seconds": round(cell.seconds, 1),
        "seconds_a_step": cell.work[-1].seconds / cell.work[-1].step if cell.work else None,
        "scoring": cell.scoring,
        "groups": dict(cell.groups),
        "spent": asdict(cell.spent(cell.steps)),
    }


def _reach(cell: Cell, curve: Curve, threshold: float) -> Figures:
    """What it took to the threshold; where that was never reached, what was spent up to the horizon."""
    first = first_at(curve, threshold)
    step = curve[-1][0] if first is None else first
    return {"threshold": threshold, "reached": first is not None, **asdict(cell.spent(step)), "step": step}


def _arm(
    arm: str, seeds: dict[int, Figures], base: dict[int, Figures] | None, baseline: str, metrics: Sequence[str]
) -> Figures:
    rows = list(seeds.values())
    count = len(rows[0]["reach"])
    shared = set.intersection(*(set(row["curves"]) for row in rows))
    return {
        "name": arm,
        "seeds": list(seeds),
        "measures": {m: {k: asdict(estimate([r["measures"][m][k] for r in rows])) for k in MEASURES} for m in metrics},
        "curves": {m: _band([r["curves"][m] for r in rows]) for m in rows[0]["curves"] if m in shared},
        "reach": [_reached([row["reach"][i] for row in rows]) for i in range(count)],
        "groups": _shared_means([row["groups"] for row in rows]),
        "against": None if base is None or arm == baseline else _against(seeds, base, metrics, count),
    }


def _shared_means(rows: Sequence[dict[str, float]]) -> dict[str, float]:
    """The mean of each figure that all rows have."""
    return {k: float(np.mean([row[k] for row in rows])) for k in rows[0] if all(k in row for row in rows)}


def _reached(reach: Sequence[Figures]) -> Figures:
    """Restricted means of what it took: lower bounds where a cell is censored."""
    kept = sum(one["reached"] for one in reach)
    means = {k: float(np.mean([one[k] for one in reach])) for k in ("step", "rollouts", "tokens", "seconds")}
    counts = {"cells": len(reach), "reached": kept, "censored": len(reach) - kept}
    return {"threshold": reach[0]["threshold"], **counts, **means}


def _band(curves: Sequence[Curve]) -> list[list[float]]:
    """[step, mean, lowest, highest] over the seeds, at the steps that all of them evaluated."""
    at = [dict(curve) for curve in curves]
    shared = sorted(set.intersection(*map(set, at)))
    columns = [(step, [one[step] for one in at]) for step in shared]
    return [[step, float(np.mean(values)), min(values), max(values)] for step, values in columns]


def _against(seeds: dict[int, Figures], base: dict[int, Figures], metrics: Sequence[str], count: int) -> Figures | None:
    shared = [seed for seed in seeds if seed in base]
    if not shared:
        return None

    def both(read: Callable[[Figures], float]) -> tuple[list[float], list[float]]:
        return [read(seeds[s]) for s in shared], [read(base[s]) for s in shared]

    found: Figures = {"seeds": shared, "measures": {}, "reach": []}
    for m in metrics:
        found["measures"][m] = {}
        for k in MEASURES:
            mine, theirs = both(lambda row, m=m, k=k: row["measures"][m][k])  # type: ignore[misc]
            found["measures"][m][k] = asdict(difference(mine, theirs, more_is_better=k != "drop"))
    for i in range(count):
        mine, theirs = both(lambda row, i=i: float(row["reach"][i]["step"]))  # type: ignore[misc]
        ratio = speed_up(mine, theirs)
        censored = sum(not side[s]["reach"][i]["reached"] for side in (seeds, base) for s in shared)
        found["reach"].append(
            {"threshold": seeds[shared[0]]["reach"][i]["threshold"], "censored": censored}
            | {"speed_up": None if ratio is None else asdict(ratio)}
        )
    return found


def notes(found: Figures) -> list[str]:
    """What a reader must know before trusting the figures."""
    lines = []
    fewest = min((len(arm["seeds"]) for arm in found["arms"]), default=0)
    if fewest < FEW:
        lines.append(
            f"Intervals over {fewest} seed{'s' * (fewest != 1)} are of little worth, and so is “ahead”: take five or "
            "more seeds an arm."
        )
    if any(one["censored"] for arm in found["arms"] for one in arm["reach"]):
        lines.append(
            f"A run that did not reach the threshold counts with the {found['horizon']} steps it had: means marked ≥ "
            "are at least that, and ratios marked * are of steps within these."
        )
    if found["left_out"]:
        steps = ", ".join(map(str, found["left_out"][:6])) + (", …" if len(found["left_out"]) > 6 else "")
        lines.append(f"Not every run evaluated at step {steps}: these evaluations are left out.")
    against = [(arm, arm["against"]) for arm in found["arms"] if arm["against"]]
    if partial := [arm["name"] for arm, other in against if len(other["seeds"]) < len(arm["seeds"])]:
        lines.append(f"Differences are over shared seeds; these have seeds of their own: {', '.join(partial)}.")
    return lines
