"""The measured curves of a recipe, from the metrics.jsonl of its runs: a Markdown table and a picture.

    python benchmarks/curves.py bot_grpo/results/react-smollm2-cpu

reads FOLDER/ALGORITHM-seedN/metrics.jsonl, prints the table that stands in README.md and writes FOLDER/curves.svg.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import defaultdict
from pathlib import Path

MEASURES = {"eval/compile_rate": "compiles", "eval/requirements": "requirements met"}
COLOURS = {"bot_grpo": "#0b6e99", "grpo": "#c2571a"}
WIDTH, HEIGHT, PAD = 380, 240, 44

Curve = list[tuple[int, dict[str, float]]]


def read(folder: Path) -> dict[str, dict[int, Curve]]:
    """Evaluations by algorithm and seed: [(step, {measure: value})]."""
    curves: dict[str, dict[int, Curve]] = defaultdict(dict)
    for path in sorted(folder.glob("*-seed*/metrics.jsonl")):
        name, seed = path.parent.name.rsplit("-seed", 1)
        rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
        curves[name][int(seed)] = [(r["step"], r) for r in rows if "eval/compile_rate" in r]
    return curves


def times(folder: Path, name: str, seed: int) -> tuple[float, float]:
    """Mean seconds of a training step, evaluations aside, and the share of them that went into scoring."""
    rows = [json.loads(x) for x in (folder / f"{name}-seed{seed}" / "metrics.jsonl").read_text().splitlines()]
    steps = [r for r in rows if "seconds/step" in r]
    total = sum(r["seconds/step"] for r in steps)
    return total / len(steps), sum(r["seconds/score"] for r in steps) / total


def table(folder: Path, curves: dict[str, dict[int, Curve]]) -> str:
    """One row a run: held-out rates at each evaluated step, the first step past 80 %, length at the end."""
    steps = sorted({step for seeds in curves.values() for curve in seeds.values() for step, _ in curve})
    lines = [
        "| algorithm, seed | "
        + " | ".join(f"step {s}" for s in steps)
        + " | 80 % compile at | tokens | s a step | scoring |",
        "|---|" + "---|" * (len(steps) + 4),
    ]
    for name, seeds in curves.items():
        for seed, curve in seeds.items():
            at = dict(curve)
            cells = [
                f"{100 * at[s]['eval/compile_rate']:.0f} / {100 * at[s]['eval/requirements']:.0f}" if s in at else ""
                for s in steps
            ]
            reached = next((str(s) for s, r in curve if r["eval/compile_rate"] >= 0.8), "not reached")
            first, last = curve[0][1]["eval/completion_length"], curve[-1][1]["eval/completion_length"]
            seconds, scoring = times(folder, name, seed)
            lines.append(
                f"| {name}, {seed} | "
                + " | ".join(cells)
                + f" | {reached} | {first:.0f} to {last:.0f} | {seconds:.0f} | {100 * scoring:.0f} % |"
            )
    return "\n".join(lines)


def picture(curves: dict[str, dict[int, Curve]]) -> str:
    """Two small charts side by side, a line a run."""
    last = max(step for seeds in curves.values() for curve in seeds.values() for step, _ in curve)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {2 * WIDTH} {HEIGHT + 28}" font-family="sans-serif" '
        f'font-size="11" role="img" aria-label="Held-out rates by training step">'
        f'<rect width="{2 * WIDTH}" height="{HEIGHT + 28}" fill="#ffffff"/>'
    ]
    for i, (key, label) in enumerate(MEASURES.items()):
        parts.append(_chart(curves, key, label, last, i * WIDTH))
    for i, name in enumerate(curves):
        x = PAD + 110 * i
        parts.append(
            f'<rect x="{x}" y="{HEIGHT + 10}" width="14" height="3" fill="{COLOURS.get(name, "#666666")}"/>'
            f'<text x="{x + 20}" y="{HEIGHT + 15}" fill="#333333">{name}</text>'
        )
    return "".join([*parts, "</svg>\n"])


def _chart(curves: dict[str, dict[int, Curve]], key: str, label: str, last: int, left: int) -> str:
    def x(step: int) -> float:
        return left + PAD + step / last * (WIDTH - PAD - 20)

    def y(value: float) -> float:
        return HEIGHT - PAD + 10 - value * (HEIGHT - PAD - 20)

    parts = [f'<text x="{left + PAD}" y="14" fill="#111111" font-weight="bold">held out: {label}</text>']
    for tick in (0, 0.2, 0.4, 0.6, 0.8, 1.0):
        parts.append(
            f'<line x1="{x(0)}" x2="{x(last)}" y1="{y(tick)}" y2="{y(tick)}" stroke="#dddddd"/>'
            f'<text x="{x(0) - 6}" y="{y(tick) + 4}" text-anchor="end" fill="#555555">{100 * tick:.0f} %</text>'
        )
    for step in range(0, last + 1, max(1, last // 5)):
        parts.append(f'<text x="{x(step)}" y="{y(0) + 16}" text-anchor="middle" fill="#555555">{step}</text>')
    for name, seeds in curves.items():
        for n, curve in enumerate(seeds.values()):
            points = " ".join(f"{x(s):.1f},{y(r[key]):.1f}" for s, r in curve)
            dash = ' stroke-dasharray="5 3"' if n else ""
            colour = COLOURS.get(name, "#666666")
            parts.append(f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="2"{dash}/>')
    return "".join(parts)


def main() -> int:
    """Print the table and write the picture."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    folder = parser.parse_args().folder
    curves = read(folder)
    if not curves:
        print(f"{folder} holds no ALGORITHM-seedN/metrics.jsonl", file=sys.stderr)
        return 2
    print(table(folder, curves))
    (folder / "curves.svg").write_text(picture(curves), encoding="utf-8")
    print(f"\npicture: {folder / 'curves.svg'}", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
