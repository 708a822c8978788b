"""The pages of one side of a comparison: a run's held-out rollouts, or a folder of screenshots."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from bot_grpo.errors import UserError
from sandbox.judge import png_url
from sandbox.pool import Item, Sandbox
from sandbox.win_rates import Pair, Shot

Key = tuple[str, int]
"""A prompt (a folder: a file's name) and which of a side's pages for it, from 0."""

_COLUMNS = ("prompt", "status", "screenshot", "code", "requirements", "reason", "group")
PROMPTS = "prompts.jsonl"


@dataclass(frozen=True)
class Page:
    """One page: what was asked for, how it ended, its screenshot, and (of a run) its code and requirements."""

    prompt: str
    shot: Shot
    ended: str
    code: str = ""
    requirements: tuple[Mapping[str, Any], ...] = ()


@dataclass(frozen=True)
class Side:
    """A side by the name it was given. `step` is a run's; a folder has none."""

    name: str
    step: int | None
    pages: Mapping[Key, Page]


def read_side(name: str, step: int | None = None) -> Side:
    """Read a run (RUN or RUN@STEP; by default its last evaluation, or that of `step`) or a folder of NAME.png.

    Raises UserError when there is nothing to compare.
    """
    path = Path(name)
    head, _, tail = name.rpartition("@")
    if head and tail.isdigit() and not path.exists():
        path, step = Path(head), int(tail)
    if not path.is_dir():
        raise UserError(f"there is no directory {str(path)!r}: give a run that train wrote, or a folder of screenshots")
    if (path / "rollouts").is_dir() or (path / "metrics.jsonl").is_file():
        return _read_run(name, path, step)
    if step is not None:
        raise UserError(f"{path} is a folder of screenshots and has no steps; leave the step out")
    return _read_folder(name, path)


def _read_run(name: str, path: Path, step: int | None) -> Side:
    files: dict[int, list[Path]] = {}
    for file in sorted((path / "rollouts").glob("eval*.parquet")):
        number = file.stem.rpartition("-")[2]
        if number.isdigit():
            files.setdefault(int(number), []).append(file)
    if not files:
        raise UserError(f"{path} has no held-out rollouts (was it trained with eval_prompts: 0?)")
    step = max(files) if step is None else step
    if step not in files:
        there = ", ".join(map(str, sorted(files)))
        raise UserError(f"{path} has no evaluation at step {step}; there are: {there}")
    rows = sorted((row for file in files[step] for row in _rows(file)), key=lambda row: row.get("group") or 0)
    if not any(row.get("status") for row in rows):
        raise UserError(f"{path} holds no rendered pages (it is a run of another task)")
    seen: Counter[str] = Counter()
    pages: dict[Key, Page] = {}
    for row in rows:
        prompt = row.get("prompt") or ""
        pages[prompt, seen[prompt]] = _page(path, row)
        seen[prompt] += 1
    return Side(name, step, pages)


def _rows(file: Path) -> list[dict[str, Any]]:
    try:
        present = set(pq.read_schema(file).names)
        return list(pq.read_table(file, columns=[c for c in _COLUMNS if c in present]).to_pylist())
    except (pa.ArrowException, OSError, ValueError) as error:
        raise UserError(f"{file} cannot be read: {error}") from error


def _page(run: Path, row: Mapping[str, Any]) -> Page:
    status, name = row.get("status") or "", row.get("screenshot")
    if not status:
        shot = Shot(None, row.get("reason") or "it was not rendered", unknown=True)
    elif status != "ok":
        shot = Shot(None, status)
    elif not name:
        shot = Shot(None, "it was rendered, but no screenshot was kept", unknown=True)
    else:
        path = run / name
        problem = png_url(path)[1]
        shot = Shot(None, problem, unknown=True) if problem else Shot(path)
    checks = tuple(json.loads(one["check"]) for one in row.get("requirements") or ())
    return Page(row.get("prompt") or "", shot, status or "not rendered", row.get("code") or "", checks)


def _read_folder(name: str, path: Path) -> Side:
    prompts = read_prompts(path / PROMPTS)
    names = {file.stem for file in path.glob("*.png")} | set(prompts)
    if not names:
        raise UserError(f"{path} is neither a run nor a folder with screenshots (NAME.png)")
    pages: dict[Key, Page] = {}
    for one in sorted(names):
        file = path / f"{one}.png"
        problem = png_url(file)[1] if file.exists() else f"there is no {file}"
        shot = Shot(None, problem) if problem else Shot(file)
        pages[one, 0] = Page(prompts.get(one, ""), shot, "no screenshot" if problem else "ok")
    return Side(name, None, pages)


def read_prompts(path: Path) -> dict[str, str]:
    """Prompts by name: lines {"name": ..., "prompt": ...}; empty where there is no such file."""
    if not path.exists():
        return {}
    found: dict[str, str] = {}
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"{path} cannot be read: {error}") from error
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
            name, prompt = row["name"], row["prompt"]
        except (ValueError, TypeError, KeyError):
            name = prompt = None
        if not isinstance(name, str) or not isinstance(prompt, str):
            raise UserError(f'{path}, line {number}: a line is {{"name": "...", "prompt": "..."}}')
        found[name] = prompt
    return found


def pair_up(a: Side, b: Side) -> tuple[list[Key], list[Pair], int]:
    """The pairs of two sides by prompt, and how many pages have no counterpart.

    Raises UserError where there is no pair, or where two folders give one name two prompts.
    """
    if (a.step is None) != (b.step is None):
        raise UserError(f"{a.name} and {b.name} are a run and a folder; compare two runs or two folders")
    keys = [key for key in a.pages if key in b.pages]
    if not keys:
        of = "file name" if a.step is None else "prompt"
        raise UserError(f"{a.name} and {b.name} have no {of} in common, so there is nothing to compare")
    pairs = []
    for key in keys:
        one, other = a.pages[key], b.pages[key]
        if one.prompt and other.prompt and one.prompt != other.prompt:
            raise UserError(f"{a.name} and {b.name} give {key[0]!r} different prompts in {PROMPTS}")
        pairs.append(Pair(one.prompt or other.prompt, one.shot, other.shot))
    return keys, pairs, len(a.pages) + len(b.pages) - 2 * len(keys)


def page_scores(pages: Sequence[Page], on_done: Callable[[], None]) -> list[tuple[float | None, str]]:
    """The page judge's score of each page (of a run), and why there is none. Pages are rendered anew, by their code."""
    if not pages:
        return []
    items = [Item(page.code, "code", requirements=page.requirements) for page in pages]
    with Sandbox(page=True) as sandbox:
        outcomes = sandbox.run(items, on_done=lambda *_: on_done())
    return [
        (outcome.page.score, "") if outcome.page is not None else (None, outcome.page_reason or outcome.status.value)
        for outcome in outcomes
    ]
