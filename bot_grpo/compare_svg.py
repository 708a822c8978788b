"""The curves of a study as one SVG picture, for a README: a line an arm, a band from its lowest to its highest seed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from bot_grpo.compare_words import is_share, label, written

COLOURS = ("#1d5fb0", "#c4570c", "#10866a", "#8a4fa8", "#8c6d00", "#5c6167")
"""As on the pages (report.css, light)."""
WIDTH, HEIGHT, PAD = 380, 240, 44


def picture(found: Mapping[str, Any]) -> str:
    """A small chart for each metric, side by side, with the thresholds in the first one."""
    metrics = found["metrics"]
    names = [arm["name"] for arm in found["arms"]]
    wide, legend = len(metrics) * WIDTH, max(1, len(metrics) * WIDTH // 190)
    high = HEIGHT + 14 + 18 * -(-len(names) // legend)
    what = "Held-out rates" if all(metric.startswith("eval/") for metric in metrics) else "Curves"
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {wide} {high}" font-family="sans-serif" font-size="11" '
        f'role="img" aria-label="{what} by training step, {escape(", ".join(names))}">'
        f'<rect width="{wide}" height="{high}" fill="#ffffff"/>'
    ]
    for i, metric in enumerate(metrics):
        parts.append(_chart(found, metric, found["thresholds"] if i == 0 else [], i * WIDTH))
    for i, name in enumerate(names):
        x, y = PAD + 190 * (i % legend), HEIGHT + 14 + 18 * (i // legend)
        parts.append(
            f'<rect x="{x}" y="{y - 5}" width="14" height="3" fill="{_colour(i)}"/>'
            f'<text x="{x + 20}" y="{y}" fill="#333333">{escape(name)}</text>'
        )
    return "".join([*parts, "</svg>\n"])


def _chart(found: Mapping[str, Any], metric: str, thresholds: Sequence[float], left: int) -> str:
    curves = [arm["curves"][metric] for arm in found["arms"]]
    last = max(1, *(point[0] for curve in curves for point in curve))
    values = [value for curve in curves for point in curve for value in point[2:]]
    low, high = (0.0, 1.0) if is_share(metric) else (min(0.0, *values), max(*values, 1e-9))

    def x(step: float) -> float:
        return left + PAD + step / last * (WIDTH - PAD - 20)

    def y(value: float) -> float:
        return HEIGHT - PAD + 10 - (value - low) / (high - low) * (HEIGHT - PAD - 20)

    kind = "held out" if metric.startswith("eval/") else "training"
    parts = [f'<text x="{left + PAD}" y="14" fill="#111111" font-weight="bold">{kind}: {escape(label(metric))}</text>']
    for tick in [low + i * (high - low) / 5 for i in range(6)]:
        parts.append(
            f'<line x1="{x(0):.1f}" x2="{x(last):.1f}" y1="{y(tick):.1f}" y2="{y(tick):.1f}" stroke="#dddddd"/>'
            f'<text x="{x(0) - 6:.1f}" y="{y(tick) + 4:.1f}" text-anchor="end" fill="#555555">'
            f"{written(metric, tick)}</text>"
        )
    for step in range(0, last + 1, max(1, last // 5)):
        parts.append(f'<text x="{x(step):.1f}" y="{y(low) + 16:.1f}" text-anchor="middle" fill="#555555">{step}</text>')
    parts += [
        f'<line x1="{x(0):.1f}" x2="{x(last):.1f}" y1="{y(t):.1f}" y2="{y(t):.1f}" stroke="#777777" '
        'stroke-dasharray="2 3"/>'
        for t in thresholds
    ]
    for i, curve in enumerate(curves):
        edge = [f"{x(p[0]):.1f},{y(p[3]):.1f}" for p in curve] + [f"{x(p[0]):.1f},{y(p[2]):.1f}" for p in curve[::-1]]
        line = " ".join(f"{x(p[0]):.1f},{y(p[1]):.1f}" for p in curve)
        parts.append(
            f'<polygon points="{" ".join(edge)}" fill="{_colour(i)}" opacity="0.16"/>'
            f'<polyline points="{line}" fill="none" stroke="{_colour(i)}" stroke-width="2"/>'
        )
    return "".join(parts)


def _colour(i: int) -> str:
    return COLOURS[i % len(COLOURS)]
