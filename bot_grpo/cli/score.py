"""`bot-grpo score`: what reward models say of replies, on text and on the policy's tokens, without training."""

from __future__ import annotations

import argparse
import json
import math
import os
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import IO, Any

from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from bot_grpo.cli.parser import Parser, number
from bot_grpo.cli.reward_options import add_reward_options, specs_of
from bot_grpo.errors import UserError
from bot_grpo.pages import check_name, check_writable
from bot_grpo.replies import Encoder, Reply, read_replies
from bot_grpo.reward_sources import SourceSpec, mixed, open_models
from reward_models.base import TokenRewardModel
from reward_models.mixing import close
from reward_models.scoring import Scored, score
from sandbox.words import counted

_BATCH = 32
_TELL = 500  # rows between two lines of progress
_EPILOG = """\
--input is a .jsonl, .csv or .parquet file whose rows have a completion, and maybe a prompt, an id and the fields that a
reward model reads; or the directory of a run that train wrote. A text that no policy sampled has the tokens that the
tokenizer makes of it; a run's rollouts keep their own. Several --reward are mixed: their outcomes and their local
rewards add up. NAME may be JSON instead, as in a config: {"model": "steps", "w_g": 2, "role": "local"}.
Exit code: 0 done, 1 nothing could be scored, 2 bad input.

examples:
  bot-grpo score --reward vowels.py:Vowels --args '{"weight": 0.5}' --input replies.jsonl --html scores.html
  bot-grpo score --reward compiler --reward arithmetic --input runs/mine --output scores.jsonl
"""


def main(argv: list[str]) -> int:
    args = _parser().parse_args(argv)
    specs = specs_of(args)
    if args.output is None and args.html is None:
        raise UserError("say where to write: --output FILE.jsonl, --html FILE.html, or both")
    if args.output is not None and args.output.resolve() == args.input.resolve():
        raise UserError(f"--output {args.output} is the --input, which would be lost: choose another")
    if args.html is not None:
        check_name(args.html)
    check_writable(args.output, args.html)
    replies = _peeked(read_replies(args.input))  # what is wrong with the input is said before anything is loaded
    model = mixed(specs, open_models(specs))
    try:
        return _score(args, specs, model, replies)
    finally:
        close(model)


def _parser() -> Parser:
    parser = Parser(
        prog="bot-grpo score",
        description="Score replies with one or more reward models: G, marks on the text, and a reward on each token.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_reward_options(parser)
    parser.add_argument("--input", type=Path, required=True, metavar="FILE", help="the replies, or a run's directory")
    parser.add_argument("--output", type=Path, metavar="FILE", help="write a JSON object a line here")
    parser.add_argument("--html", type=Path, metavar="FILE", help="write a page with token heat-maps here")
    parser.add_argument(
        "--w-g", type=number(), default=1.0, metavar="W", help="weight of G in a token's reward (default 1)"
    )
    parser.add_argument(
        "--w-s", type=number(), default=1.0, metavar="W", help="weight of S in a token's reward (default 1)"
    )
    return parser


def _peeked(replies: Iterator[Reply]) -> Iterator[Reply]:
    first = next(replies)

    def all_of_them() -> Iterator[Reply]:
        yield first
        yield from replies

    return all_of_them()


def _score(
    args: argparse.Namespace, specs: Sequence[SourceSpec], model: TokenRewardModel, replies: Iterator[Reply]
) -> int:
    from bot_grpo.models import load_tokenizer
    from bot_grpo.score_page import write_score_page

    names = ", ".join(spec.model for spec in specs)
    encode = Encoder(load_tokenizer(args.tokenizer))
    tally = _Tally(keeps_page=args.html is not None)
    with _whole_file(args.output) as file, _progress() as tell:
        print(f"scoring {args.input} with {names}; tokens of {args.tokenizer}", flush=True)
        while batch := list(islice(replies, _BATCH)):
            for reply, one in zip(batch, score(model, [r.rollout(encode) for r in batch], outcome=False), strict=True):
                row = result_row(reply, one, w_g=args.w_g, w_s=args.w_s)
                if file is not None:
                    file.write(json.dumps(row, ensure_ascii=False, allow_nan=False) + "\n")
                tally.add(row, one, own_tokens=reply.tokens is not None)
            tell(tally.total)
    note = f"Tokens are those that {args.tokenizer} makes of each text: no policy sampled it here."
    if tally.own_tokens:
        note = "Tokens are those that the rows say were sampled."
    if args.html is not None:
        facts = {"Rewards": names, "Tokenizer": args.tokenizer, "Reward of a token": f"{args.w_g:g} G + {args.w_s:g} S"}
        title = args.input.resolve().name
        write_score_page(args.html, tally.page, title=title, facts=facts, notes=[note], total=tally.total)
    for reason, count in tally.reasons.most_common(5):
        print(f"unscored, {count} of {tally.total}: {reason}", file=sys.stderr)
    scored = tally.total - tally.reasons.total()
    print(f"{scored:,} of {counted(tally.total, 'reply', 'replies')} scored. {note}")
    print(f"wrote {' and '.join(str(path) for path in (args.output, args.html) if path is not None)}")
    return 0 if scored else 1


class _Tally:
    """What is kept of the replies that have been scored: numbers, reasons, and the first of them for the page."""

    def __init__(self, *, keeps_page: bool) -> None:
        self.total = 0
        self.own_tokens = False
        self.reasons: Counter[str] = Counter()
        self.page: list[dict[str, Any]] = []
        self._keeps_page = keeps_page

    def add(self, row: dict[str, Any], one: Scored, *, own_tokens: bool) -> None:
        from bot_grpo.score_page import MAX_REPLIES, page_row

        self.total += 1
        self.own_tokens |= own_tokens
        if row["unscored"] is not None:
            self.reasons[row["unscored"]] += 1
        if self._keeps_page and len(self.page) < MAX_REPLIES:
            self.page.append(page_row(row, one.rollout.token_ids))


@contextmanager
def _progress() -> Iterator[Callable[[int], None]]:
    """A function that is told how many replies are done: a counter on a terminal, now and then a line elsewhere."""
    console = Console(stderr=True, highlight=False)
    columns = SpinnerColumn(), TextColumn("{task.completed:,.0f} replies"), TimeElapsedColumn()
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task("", total=None)
        said = 0

        def tell(done: int) -> None:
            nonlocal said
            bar.update(task, completed=done)
            if bar.disable and done - said >= _TELL:
                said = done
                print(f"{done:,} replies", file=sys.stderr, flush=True)

        yield tell


def result_row(reply: Reply, one: Scored, *, w_g: float = 1.0, w_s: float = 1.0) -> dict[str, Any]:
    """What is written of a reply. Offsets are characters of `completion`; `outcome` is null where a model has none.

    `tokens` have their text, where it stands, the local reward S and the reward w_g G + w_s S. What could not be scored
    has the reason in `unscored`, and null for its outcome and its tokens' rewards.
    """
    rollout, signal = one.rollout, one.signal
    scored, text = signal is not None, rollout.completion
    g = signal.outcome if signal is not None else None
    tokens = [
        {
            "text": text[start:end],
            "start": start,
            "end": end,
            "local": s if scored else None,
            "reward": w_g * (g or 0.0) + w_s * s if scored else None,
        }
        for (start, end), s in zip(rollout.spans, one.local_T.tolist(), strict=True)
    ]
    changed = text != reply.completion
    return {
        "id": reply.id,
        "prompt": reply.prompt,
        "completion": text,
        **({"note": "the tokenizer cannot spell this text to the letter; its spelling was scored"} if changed else {}),
        "truncated": reply.truncated,
        "unscored": None if scored else one.reason,
        "outcome": g,
        "spans": list(_marks(one)),
        "metrics": {k: v for k, v in signal.metrics.items() if math.isfinite(v)} if signal is not None else {},
        "tokens": tokens,
    }


def _marks(one: Scored) -> Iterator[dict[str, Any]]:
    """The spans with a value; of a mix, those of each source, which is named."""
    if one.signal is None:
        return
    sources: Mapping[str, Scored] = one.signal.details.get("sources") or {"": one}
    for name, part in sources.items():
        for span in part.signal.spans if part.signal is not None else ():
            source = {"source": name} if name else {}
            yield {"start": span.start, "end": span.end, "value": span.value, "reason": str(span.reason), **source}


@contextmanager
def _whole_file(path: Path | None) -> Iterator[IO[str] | None]:
    """A file that is there whole or not at all. Raises UserError."""
    if path is None:
        yield None
        return
    try:
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}-")
    except OSError as error:
        raise UserError(f"cannot write {path}: {error.strerror}") from error
    try:
        with os.fdopen(handle, "w", encoding="utf-8", errors="replace") as file:
            yield file
        os.chmod(name, 0o644)
        os.replace(name, path)
    except BaseException as error:
        os.unlink(name)
        if isinstance(error, OSError):
            raise UserError(f"cannot write {path}: {error.strerror or error}") from error
        raise
