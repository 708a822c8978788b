"""`bot-grpo report RUN`: one self-contained page about a run."""

from __future__ import annotations

from pathlib import Path

from bot_grpo.cli.parser import Parser, number
from bot_grpo.pages import check_name
from bot_grpo.report import MAX_COMPLETIONS, write_report
from sandbox.words import counted


def main(argv: list[str]) -> int:
    """Write the report and say where it lies."""
    parser = Parser(
        prog="bot-grpo report",
        description="Write report.html for a run: curves, screenshots and completions with a token heat map. "
        "One file, no network; works on a running run too.",
        epilog="example: bot-grpo report runs/react-smollm2-cpu --output /tmp/report.html",
    )
    parser.add_argument("run", metavar="RUN", type=Path, help="the run directory that train wrote")
    parser.add_argument("--output", metavar="FILE", type=Path, help="where to write (default: RUN/report.html)")
    parser.add_argument(
        "--completions",
        metavar="N",
        type=number(least=1, whole=True),
        default=MAX_COMPLETIONS,
        help=f"show at most N completions, evenly spaced over the run (default: {MAX_COMPLETIONS})",
    )
    options = parser.parse_args(argv)
    if options.output is not None:
        check_name(options.output)
    if options.run.is_dir():
        print(f"reading {options.run}", flush=True)
    report = write_report(options.run, options.output, max_completions=options.completions)
    print(
        f"{report.completions:,} of {counted(report.completions_in_run, 'completion')}, {report.screenshots:,} with a "
        f"screenshot, {report.size / 1e6:.1f} MB"
    )
    print(f"wrote {report.path}")
    return 0
