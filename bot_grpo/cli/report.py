"""`bot-grpo report RUN`: one self-contained page about a run."""

from __future__ import annotations

from pathlib import Path

from bot_grpo.cli.parser import Parser, number
from bot_grpo.errors import UserError
from bot_grpo.pages import check_name
from bot_grpo.report import MAX_COMPLETIONS, live_page, write_report
from bot_grpo.report_data import read_run
from bot_grpo.report_serve import ReportServer
from sandbox.words import counted


def main(argv: list[str]) -> int:
    """Write the report and say where it lies."""
    parser = Parser(
        prog="bot-grpo report",
        description="Write report.html for a run: curves, screenshots and completions with a token heat map. "
        "One file, no network; works on a running run too.",
        epilog="examples: bot-grpo report runs/react-smollm2-cpu --output /tmp/report.html; "
        "bot-grpo report runs/react-smollm2-cpu --serve",
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
    parser.add_argument(
        "--serve",
        action="store_true",
        help="write no file: show the report at an address of this machine, with new steps as they come, until Ctrl-C, "
        "which is the ordinary end (exit code 0)",
    )
    parser.add_argument(
        "--port", metavar="P", type=number(least=0, whole=True), default=0, help="of --serve (default: a free one)"
    )
    options = parser.parse_args(argv)
    if options.serve:
        if options.output is not None:
            raise UserError("--output writes a file and --serve does not: choose one")
        return _serve(options.run, options.completions, options.port)
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


def _serve(run_dir: Path, completions: int, port: int) -> int:
    """Until Ctrl-C. What is wrong with the run is said before there is a server."""
    read_run(run_dir)
    with ReportServer(run_dir, lambda now: live_page(run_dir, now, max_completions=completions), port) as server:
        print(f"{server.url} shows {run_dir}; Ctrl-C ends it", flush=True)
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            print("\nno longer served")
    return 0
