"""`bot-grpo algorithms [NAME] [--json]`: the table of algorithms, or one of them in full."""

from __future__ import annotations

import json
import sys
from typing import Any

from bot_grpo.cli.parser import Parser
from bot_grpo.errors import UserError


def main(argv: list[str]) -> int:
    parser = Parser(
        prog="bot-grpo algorithms",
        description="List the algorithms, or show one: its equation, settings with defaults, and where it departs "
        "from the paper's text.",
        epilog="example: bot-grpo algorithms dapo",
    )
    parser.add_argument("name", nargs="?", help="an algorithm to show in full")
    parser.add_argument("--json", action="store_true", help="print JSON for programs")
    args = parser.parse_args(argv)

    from bot_grpo.algorithms import ALGORITHMS, Algorithm, get_algorithm

    if args.name:
        try:
            row: Algorithm = get_algorithm(args.name)
        except ValueError as error:
            raise UserError(str(error)) from None
        print(json.dumps(_entry(row), indent=2) if args.json else _page(row))
    elif args.json:
        print(json.dumps([_entry(row) for row in ALGORITHMS.values()], indent=2))
    elif sys.stdout.isatty():
        _rich_table([_entry(row) for row in ALGORITHMS.values()])
    else:
        width = max(map(len, ALGORITHMS))
        for row in ALGORITHMS.values():
            print(f"{row.name:<{width}}  arXiv {row.paper}  {row.title}")
    return 0


def _entry(row: Any) -> dict[str, Any]:
    return {
        "name": row.name,
        "title": row.title,
        "paper": f"https://arxiv.org/abs/{row.paper}",
        "equation": row.equation,
        "ratio": row.ratio,
        "needs": sorted(row.needs),
        "defaults": dict(row.defaults),
        "departures": list(row.departures),
    }


def _page(row: Any) -> str:
    from bot_grpo.backbone import SETTINGS

    settings = {key: json.dumps(value) for key, value in row.defaults.items()}
    wide = max(map(len, settings))
    wide_value = max(map(len, settings.values()))
    lines = [row.name, row.title, f"paper: https://arxiv.org/abs/{row.paper}", "", "equation:"]
    lines += [f"  {line}" for line in row.equation.splitlines()]
    lines += ["", "settings and their defaults:"]
    lines += [f"  {key:<{wide}}  {value:<{wide_value}}  {SETTINGS[key]}" for key, value in settings.items()]
    lines += ["", f"needs beyond rewards: {', '.join(sorted(row.needs)) or 'nothing'}", "", "departures:"]
    return "\n".join([*lines, *(f"  - {line}" for line in row.departures)])


def _rich_table(entries: list[dict[str, Any]]) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table()
    for column in ("name", "what it does", "clip", "needs", "arXiv"):
        table.add_column(column, no_wrap=column in {"name", "clip", "arXiv"})
    for entry in entries:
        low, high = entry["defaults"]["clip_low"], entry["defaults"]["clip_high"]
        clip = "none" if low is None else f"{low:g} / {high:g}"
        paper = entry["paper"].rsplit("/", 1)[1]
        needs = ", ".join(entry["needs"])
        table.add_row(entry["name"], entry["title"], clip, needs, f"[link={entry['paper']}]{paper}[/]")
    console = Console()
    console.print(table)
    console.print("`bot-grpo algorithms NAME` shows one with its equation, settings and departures.", highlight=False)
