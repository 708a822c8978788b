"""The page of an evaluation: the curve of Pass@k, and every problem with its samples to read (see `pages`)."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from bot_grpo.eval_results import Graded, Results, percent, spread
from bot_grpo.pages import deflate, render, write_page
from sandbox.words import counted

BUDGET = 24_000_000
"""Characters of all samples on a page, about; of longer ones the middle is left out."""

_STYLES = ("report.css", "eval.css")
_SCRIPTS = ("page_base.js", "page_list.js", "eval_curve.js", "eval.js")
_WORDS = {
    "data": "Data",
    "split": "Split",
    "model": "Model",
    "backend": "Backend",
    "temperature": "Temperature",
    "top_p": "Top-p",
    "max_tokens": "Tokens at most",
    "answer_form": "Answer form",
    "seed": "Seed",
}


def write_eval_page(target: Path, found: Results, graded: Sequence[Graded], *, title: str) -> None:
    """Write the page, replacing an earlier one whole. Raises `UserError` when it cannot be written."""
    texts = [s.text for g in graded for s in g.samples]
    longest = BUDGET // max(1, len(texts)) if sum(map(len, texts)) > BUDGET else None
    notes = list(found["notes"])
    if longest is not None and (cut := sum(len(text) > longest for text in texts)):
        notes.append(f"Of {counted(cut, 'long sample')} the middle is left out here; samples.parquet has them whole.")
    content = render(
        "eval.html.j2",
        styles=_STYLES,
        scripts=_SCRIPTS,
        title=title,
        date=datetime.now().strftime("%d %B %Y, %H:%M"),
        facts=_facts(found),
        tiles=_tiles(found),
        table=[
            (str(p["k"]), percent(p["value"]), spread(p["by_problem"]), spread(p["two_level"]))
            for p in found["pass_at_k"]
        ],
        parts=[
            (p["words"].capitalize(), percent(p["value"]), spread(p["by_problem"])) for p in found["parts"].values()
        ],
        ended=_ended(found),
        compare=_compare(found),
        system=found["settings"].get("system_prompt"),
        notes=notes,
        payload=deflate({"curve": found["curve"], "problems": [_problem(g, longest) for g in graded]}),
    )
    write_page(target, content)


def _facts(found: Results) -> list[tuple[str, str]]:
    settings = found["settings"]
    facts = [(words, str(settings[name])) for name, words in _WORDS.items() if settings.get(name) is not None]
    engine = found["sessions"][-1]["engine"] if found["sessions"] else {}
    used = [str(engine[name]) for name in ("name", "version", "dtype", "device") if engine.get(name)]
    return [*facts, *([("Engine", ", ".join(used))] if used else [])]


def _tiles(found: Results) -> list[tuple[str, str, str]]:
    """(label, figure, remark) of the page's head."""
    passes = found["pass_at_k"]
    tiles = [
        (f"Pass@{p['k']}", percent(p["value"]), f"95 %: {spread(p['by_problem'])}")
        for p in (passes[:1] + passes[1:][-1:])
    ]
    if (vote := found["majority"]) is not None:
        tiles.append((f"maj@{vote['n']}", percent(vote["value"]), f"95 %: {spread(vote['by_problem'])}"))
        tiles.append(
            ("No answer", percent(found["no_answer"]), f"{percent(found['truncated'])} are cut off by a limit")
        )
    else:
        tiles.append(("Truncated", percent(found["truncated"]), "cut off by a limit"))
    tiles.append(("Mean length", f"{found['mean_tokens']:,.0f}", "tokens"))
    speed = found["tokens_per_second"]
    remark = f"{found['seconds']:,.0f} s" + (f", {speed:,.0f} tokens a second" if speed else "")
    tiles.append(("Samples", f"{found['samples']:,}", f"of {found['problems']} problems; {remark}"))
    return tiles


def _ended(found: Results) -> str:
    """How samples ended, or why they are wrong, in words; long reasons (a line of a component) are left out."""
    counts = found["statuses"] or {reason: n for reason, n in found["reasons"].items() if len(reason) < 60}
    words = ", ".join(f"{reason.replace('_', ' ')} × {n:,}" for reason, n in counts.items())
    return words and f"{'Components ended' if found['statuses'] else 'Wrong answers'}: {words}"


def _compare(found: Results) -> dict[str, Any] | None:
    other = found.get("compare")
    if not other:
        return None

    def points(value: float) -> str:
        return f"{100 * value:+.1f}".replace("-", "−")

    rows = [
        (
            str(p["k"]),
            points(p["value"]),
            f"{points(p['by_problem'][0])} to {points(p['by_problem'][1])}",
            f"{points(p['two_level'][0])} to {points(p['two_level'][1])}",
        )
        for p in other["differences"]
    ]
    return {**other, "rows": rows}


def _problem(g: Graded, longest: int | None) -> dict[str, Any]:
    correct, n = g.count
    return {
        "id": g.problem.id,
        "text": g.problem.text,
        "gold": g.problem.gold,
        "correct": correct,
        "n": n,
        "samples": [
            {
                "number": s.sample,
                "text": _cut(s.text, longest),
                "correct": m.correct,
                "answer": m.answer,
                "reason": m.reason,
                "status": m.status,
                "tokens": s.tokens,
                "truncated": s.truncated,
            }
            for s, m in zip(g.samples, g.marks, strict=True)
        ],
    }


def _cut(text: str, longest: int | None) -> str:
    """The beginning and, since the answer stands there, more of the end."""
    if longest is None or len(text) <= longest:
        return text
    head, tail = longest * 2 // 5, longest * 3 // 5
    left = f"{len(text) - head - tail:,}"
    return f"{text[:head]}\n\n[… {left} characters are left out here …]\n\n{text[len(text) - tail :]}"
