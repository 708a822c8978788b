"""`bot-grpo audit`: are reward models bounded, stable, tied to success, and hard to game?"""

from __future__ import annotations

import argparse
import difflib
import inspect
import json
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from bot_grpo.audit_samples import read_samples
from bot_grpo.audit_words import limits_words, value_words, verdict_words
from bot_grpo.cli.parser import Parser, number
from bot_grpo.cli.reward_options import add_reward_options, specs_of
from bot_grpo.errors import UserError
from bot_grpo.reward_sources import SourceSpec, mixed, open_models, short_name
from reward_models.audit import CRITERIA, Audit, Limits, audit
from reward_models.base import TokenRewardModel
from reward_models.loading import find
from reward_models.mixing import close

_EPILOG = """\
--input is the directory of a run that train wrote, or a .jsonl, .csv or .parquet file whose rows have a completion, and
maybe a prompt, an outcome (a number: was it right?), a group (replies to one prompt; without it rows of one prompt are
one), a step, and the fields that a reward model reads. What the input does not tell is not measured, and said so.
Each --reward is audited by itself on the same replies; --mix audits what they add up to. It is asked about some
3 x LIMIT + 12 x PROBES texts.
--threshold NAME=GOOD or NAME=GOOD:BAD, NAME being one of:
  {names}
Exit code: 0 nothing is bad, 1 something is, 2 bad input.

examples:
  bot-grpo audit --reward compiler --reward lines.py:Lines --input runs/mine --html audit.html
  bot-grpo audit --reward arithmetic --input replies.jsonl --threshold length=0.05:0.2 --json
"""


def main(argv: list[str]) -> int:
    args = _parser().parse_args(argv)
    specs = specs_of(args)
    limits = _limits(args.threshold)
    _check_page(args.html)
    found = read_samples(args.input, args.tokenizer, limit=args.limit, seed=args.seed)
    with ExitStack() as stack:
        subjects = _subjects(specs, mix=args.mix)
        for subject in subjects:
            stack.callback(subject.close)
        tell = sys.stderr if args.json else sys.stdout
        names = ", ".join(subject.name for subject in subjects)
        print(f"auditing {names} on {found.about}; tokens of {args.tokenizer}", file=tell, flush=True)
        audits = {}
        for subject in subjects:
            with _progress(subject.name) as begin:
                audits[subject.name] = audit(
                    subject.model(),
                    found.samples,
                    found.encode,
                    probes=args.probes,
                    seed=args.seed,
                    limits=limits,
                    begin=begin,
                    reopen=subject.reopened,
                )
            subject.close()
    if args.json:
        print(json.dumps(to_json(args, found.about, audits), indent=2, ensure_ascii=False))
    else:
        for line in _report(audits):
            print(line)
    if args.html is not None:
        from bot_grpo.audit_page import write_audit_page

        facts = {"Input": found.about, "Tokenizer": args.tokenizer, "Seed": str(args.seed)}
        write_audit_page(args.html, audits, title=args.input.resolve().name, facts=facts)
        print(f"wrote {args.html}", file=tell)
    return 1 if any(one.count("bad") for one in audits.values()) else 0


def _parser() -> Parser:
    names = ", ".join(CRITERIA)
    half = names.index("local-between")
    parser = Parser(
        prog="bot-grpo audit",
        description="Audit reward models on replies: one verdict a criterion, with its threshold and what it means.",
        epilog=_EPILOG.format(names=f"{names[:half].rstrip()}\n  {names[half:]}"),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_reward_options(parser)
    add = parser.add_argument
    add("--input", type=Path, required=True, metavar="FILE", help="the replies, or a run's directory")
    add("--mix", action="store_true", help="audit what the rewards add up to, as in training, not each of them")
    add(
        "--limit",
        type=number(least=1, whole=True),
        default=256,
        metavar="N",
        help="replies, drawn in whole groups (default 256)",
    )
    add(
        "--probes",
        type=number(least=1, whole=True),
        default=64,
        metavar="N",
        help="of them to change in each way (default 64)",
    )
    add("--seed", type=number(least=0, whole=True), default=0, help="of what is drawn (default 0)")
    add("--threshold", action="append", default=[], metavar="NAME=X", help="another threshold; may be repeated")
    add("--json", action="store_true", help="print JSON instead of the table")
    add("--html", type=Path, metavar="FILE", help="write a page here")
    return parser


def _check_page(target: Path | None) -> None:
    """Before anything is asked. Raises UserError."""
    if target is not None:
        from bot_grpo.pages import check_name, check_writable

        check_name(target)
        check_writable(target)


def _limits(given: Sequence[str]) -> dict[str, Limits]:
    """Thresholds of the command line by criterion. Raises UserError."""
    found = {}
    for text in given:
        name, _, values = text.partition("=")
        if name not in CRITERIA:
            close_one = difflib.get_close_matches(name, CRITERIA, n=1)
            hint = f"did you mean {close_one[0]!r}?" if close_one else f"there are: {', '.join(CRITERIA)}"
            raise UserError(f"--threshold: there is no criterion {name!r}; {hint}")
        try:
            good, *more = map(float, values.split(":"))
            (bad,) = more or (good,)
        except ValueError as error:
            raise UserError(f"--threshold: {text!r} is not {name}=GOOD or {name}=GOOD:BAD, with numbers") from error
        upwards = CRITERIA[name].limits.more
        if not (bad <= good if upwards else good <= bad):
            raise UserError(f"--threshold: of {name} {'more' if upwards else 'less'} is better, so BAD is beyond GOOD")
        found[name] = Limits(good, bad, upwards)
    return found


@dataclass
class _Subject:
    """What is audited: a source, or several as one."""

    name: str
    specs: Sequence[SourceSpec]
    models: list[TokenRewardModel]

    def model(self) -> TokenRewardModel:
        return mixed(self.specs, self.models)

    def reopened(self) -> TokenRewardModel:
        """The model made anew, where it is made and no object that is there already; the first one is closed."""
        for at, spec in enumerate(self.specs):
            target = find(spec.model)
            if inspect.isclass(target) or not hasattr(target, "score"):
                close(self.models[at])
                (self.models[at],) = open_models([spec])
        return self.model()

    def close(self) -> None:
        for model in self.models:
            close(model)
        self.models = []


def _subjects(specs: Sequence[SourceSpec], *, mix: bool) -> list[_Subject]:
    models = open_models(specs)
    names = [short_name(spec.model) for spec in specs]
    if mix:
        return [_Subject(" + ".join(names), specs, models)]
    counts: Counter[str] = Counter()
    subjects = []
    for name, spec, model in zip(names, specs, models, strict=True):
        counts[name] += 1
        subjects.append(_Subject(name if counts[name] == 1 else f"{name} #{counts[name]}", [spec], [model]))
    return subjects


def to_json(args: argparse.Namespace, about: str, audits: Mapping[str, Audit]) -> dict[str, Any]:
    """What `--json` prints: of each reward its criteria, with value, interval, threshold, verdict, reason, examples."""
    return {
        "input": str(args.input),
        "about": about,
        "seed": args.seed,
        "rewards": {
            name: {
                "bound": one.bound,
                "spread": one.spread,
                "criteria": [
                    {"title": CRITERIA[c.name].title, **asdict(c), "limits": c.limits._asdict()} for c in one.criteria
                ],
            }
            for name, one in audits.items()
        },
    }


def _report(audits: Mapping[str, Audit]) -> Iterator[str]:
    """The table, what is bad or doubtful and why, and a line a reward."""
    some = next(iter(audits.values()))
    rows = [["criterion", "threshold", *audits]]
    for at, criterion in enumerate(some.criteria):
        spec = CRITERIA[criterion.name]
        cells = [f"{c.verdict:<12}  {value_words(c)}".rstrip() for c in (one.criteria[at] for one in audits.values())]
        rows.append([spec.title, limits_words(criterion.limits, spec.unit), *cells])
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    yield ""
    for row in rows:
        yield "  ".join(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True)).rstrip()
    for name, one in audits.items():
        yield ""
        for verdict in ("bad", "doubtful", "not measured"):
            for c in one.criteria:
                if c.verdict == verdict:
                    yield f"{name}: {verdict}: {CRITERIA[c.name].title}. {c.means}"
    yield ""
    for name, one in audits.items():
        yield f"{name}: {verdict_words(one)}"


@contextmanager
def _progress(name: str) -> Iterator[Callable[[int], Callable[[int], None]]]:
    """Gives what `audit` wants as `begin`: a bar on a terminal, ten lines elsewhere."""
    console = Console(stderr=True, highlight=False)
    columns = TextColumn("{task.description}"), MofNCompleteColumn(), BarColumn(bar_width=24), TimeRemainingColumn()
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        started, done, said = time.monotonic(), 0, 0

        def begin(total: int) -> Callable[[int], None]:
            task = bar.add_task(name, total=total)

            def tell(more: int) -> None:
                nonlocal done, said
                done += more
                bar.update(task, completed=done)
                if bar.disable and done * 10 // total > said:
                    said = done * 10 // total
                    seconds = time.monotonic() - started
                    print(f"{name}: {done:,} of {total:,} texts, {seconds:.0f} s", file=sys.stderr, flush=True)

            return tell

        yield begin
