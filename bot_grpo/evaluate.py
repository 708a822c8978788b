"""An evaluation's folder and its loop: what is to be sampled, what is on disk, append.

DIR/config.json      settings, and for each session that sampled: engine, versions, commit
DIR/problems.jsonl   the problems with their answers, so that samples can be graded again with nothing else
DIR/samples.jsonl    the samples, appended as they come, and never changed
DIR/samples.parquet  the samples with their grades      results.json, report.html: what came out (`eval_results`)
"""

from __future__ import annotations

import fcntl
import json
import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO, Any, Literal

import pyarrow.parquet as pq

from bot_grpo.backends import Backend, Completion, Messages, Request, prompt_hash, sample_seed
from bot_grpo.errors import UserError
from bot_grpo.rundir import commit, versions


@dataclass(frozen=True)
class Problem:
    """What is asked, and `row`, all that grading needs. `text` is what a person reads, `gold` the right answer."""

    id: str
    messages: Messages
    text: str
    row: Mapping[str, Any]
    gold: str = ""


@dataclass(frozen=True)
class Sample:
    """One completion as it was sampled. `prompt` says of which prompt (`prompt_hash`); `seconds` is its share of the
    time that the engine took."""

    problem: str
    sample: int
    seed: int
    prompt: str
    text: str
    tokens: int
    finish: Literal["stop", "length"]
    seconds: float

    @property
    def key(self) -> tuple[str, int]:
        return self.problem, self.sample

    @property
    def truncated(self) -> bool:
        return self.finish == "length"


def requests(problems: Sequence[Problem], n: int, seed: int) -> list[Request]:
    """All samples of an evaluation, by problem."""
    return [Request(p.id, k, p.messages, sample_seed(seed, p.id, k)) for p in problems for k in range(n)]


class EvalDir:
    """Reads and writes one evaluation's folder."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self._config, self._problems, self._journal = (
            self.path / name for name in ("config.json", "problems.jsonl", "samples.jsonl")
        )

    # -- settings and problems ----------------------------------------------------------------------------------------

    def begin(self, settings: Mapping[str, Any], problems: Sequence[Problem], n: int) -> None:
        """Make the folder, or take up what is in it. `settings` are what samples depend on, apart from `n`; where there
        is no sample yet they may change.

        Raises UserError: the folder holds something else, samples with other settings, or cannot be written.
        """
        if self.path.is_dir() and any(self.path.iterdir()) and not self._config.exists():
            raise UserError(f"{self.path} holds something else than an evaluation; choose another --output")
        before = self.config()["settings"] if self._config.exists() and self.samples() else dict(settings)
        for name in [*before, *settings]:
            if before.get(name) != settings.get(name):
                raise UserError(
                    f"{self.path} holds an evaluation with {name} {_short(before.get(name))}, and this one has "
                    f"{_short(settings.get(name))}: choose another --output, or delete the folder"
                )
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            sessions = self.config()["sessions"] if self._config.exists() else []
            _replace(self._config, _json({"settings": dict(settings), "n": n, "sessions": sessions}))
            lines = (json.dumps({**asdict(p), "row": dict(p.row)}) + "\n" for p in problems)
            _replace(self._problems, "".join(lines))
        except OSError as error:
            raise UserError(f"{self.path} cannot be written: {error.strerror or error}") from error

    def config(self) -> dict[str, Any]:
        """config.json. Raises UserError where there is none."""
        found = _read_json(self._config)
        if not {"settings", "n", "sessions"} <= set(found):
            raise UserError(f"{self._config} is no evaluation's")
        return found

    def problems(self) -> list[Problem]:
        """The problems of the evaluation. Raises UserError."""
        try:
            rows = [json.loads(line) for line in _lines(self._problems)]
            return [Problem(**{**r, "messages": tuple((a, b) for a, b in r["messages"])}) for r in rows]
        except (OSError, ValueError, TypeError, KeyError) as error:
            raise UserError(f"{self._problems} cannot be read: {error}") from error

    def begin_session(self, engine: Mapping[str, Any]) -> None:
        """Record what is about to sample; once where nothing has changed since the last session."""
        config = self.config()
        now = {"engine": dict(engine), "versions": versions(), "commit": commit()}
        last = config["sessions"][-1] if config["sessions"] else {}
        if {k: v for k, v in last.items() if k != "started"} != json.loads(json.dumps(now)):
            config["sessions"].append({"started": time.strftime("%Y-%m-%d %H:%M:%S"), **now})
            _replace(self._config, _json(config))

    # -- samples ------------------------------------------------------------------------------------------------------

    def samples(self) -> list[Sample]:
        """All whole samples on disk, the first of each key; of a folder without its journal those of the parquet."""
        if self._journal.exists():
            rows: Iterable[Any] = map(_loaded, _lines(self._journal))
        else:
            rows = self._from_parquet()
        found: dict[tuple[str, int], Sample] = {}
        for row in rows:
            try:
                sample = Sample(**row)
            except TypeError:  # a damaged line: its sample is taken again
                continue
            found.setdefault(sample.key, sample)
        return list(found.values())

    def _from_parquet(self) -> Iterator[dict[str, Any]]:
        file = self.path / "samples.parquet"
        if not file.exists():
            return
        names = {"problem": "problem", "sample": "sample", "seed": "seed", "prompt": "prompt_hash"}
        names |= {"text": "completion", "tokens": "tokens", "finish": "finish", "seconds": "seconds"}
        for row in pq.read_table(file, columns=list(names.values())).to_pylist():
            yield {name: row[column] for name, column in names.items()}

    def wanted(self, wanted: Sequence[Request]) -> list[Sample]:
        """The samples on disk that were asked for, in that order. Raises UserError where a prompt is another one."""
        found = {sample.key: sample for sample in self.samples()}
        hashes = {r.problem: prompt_hash(r.messages) for r in {r.problem: r for r in wanted}.values()}
        have = [found[request.key] for request in wanted if request.key in found]
        for sample in have:
            if sample.prompt != hashes[sample.problem]:
                raise UserError(
                    f"{self.path} holds samples of another prompt for {sample.problem!r}: choose another --output"
                )
        return have

    @contextmanager
    def journal(self) -> Iterator[Callable[[Sequence[Sample]], None]]:
        """A function that appends samples. One process at a time; a line that a kill has cut is removed first.

        Raises UserError: another process writes here, or the disk is full.
        """
        with self._journal.open("a+b") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError as error:
                raise UserError(f"another process is sampling into {self.path}") from error
            _cut_last_line(file)

            def append(samples: Sequence[Sample]) -> None:
                lines = "".join(json.dumps(asdict(sample)) + "\n" for sample in samples)
                try:
                    file.write(lines.encode("ascii"))
                    file.flush()
                except OSError as error:
                    raise UserError(f"{self._journal} cannot be written: {error.strerror or error}") from error

            yield append


def sample_missing(
    run: EvalDir,
    backend: Backend,
    wanted: Sequence[Request],
    known: Iterable[tuple[str, int]],
    on_samples: Callable[[Sequence[Sample]], None],
) -> list[str]:
    """Take the samples that are not known, append them as they come, then tell `on_samples`.

    Returns a reason for each that could not be had. A kill loses what the engine had not handed over.
    """
    hashes = {r.problem: prompt_hash(r.messages) for r in {r.problem: r for r in wanted}.values()}
    run.begin_session(backend.engine)
    with run.journal() as append:
        last = time.perf_counter()

        def on_done(done: Sequence[tuple[Request, Completion]]) -> None:
            nonlocal last
            now = time.perf_counter()
            share, last = round((now - last) / max(1, len(done)), 6), now
            samples = [
                Sample(r.problem, r.sample, r.seed, hashes[r.problem], c.text, c.tokens, c.finish, share)
                for r, c in done
            ]
            append(samples)
            on_samples(samples)

        return backend.sample(wanted, frozenset(known), on_done)


def _loaded(line: str) -> dict[str, Any]:
    try:
        row = json.loads(line)
    except ValueError:
        return {}
    return row if isinstance(row, dict) else {}


def _lines(path: Path) -> Iterator[str]:
    with path.open(encoding="utf-8", errors="replace") as file:  # not splitlines: U+2028 is no end of line
        yield from (line for line in file if line.strip())


def _cut_last_line(file: IO[bytes]) -> None:
    end = file.seek(0, os.SEEK_END)
    while end > 0:
        start = max(0, end - 65536)
        file.seek(start)
        at = file.read(end - start).rfind(b"\n")
        if at >= 0:
            end = start + at + 1
            break
        end = start
    file.truncate(end)
    file.seek(0, os.SEEK_END)


def _read_json(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise UserError(f"there is no {path}: is {path.parent} the folder of an evaluation?") from error
    except (OSError, ValueError) as error:
        raise UserError(f"{path} cannot be read: {error}") from error
    return found if isinstance(found, dict) else {}


def _json(value: Any) -> str:
    return json.dumps(value, indent=2) + "\n"


def _replace(path: Path, text: str) -> None:
    scratch = path.with_name(f".{path.name}.tmp")
    scratch.write_text(text, encoding="utf-8")
    os.replace(scratch, path)


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:80]}…"
