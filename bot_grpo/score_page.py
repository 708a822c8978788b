"""The page of scored replies: token heat-maps, and what was marked and why (see `pages`)."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from bot_grpo.pages import check_name, deflate, render, write_page
from bot_grpo.report_rows import pack, utf16_offsets

MAX_REPLIES = 300
MAX_MARKS = 2000
"""Replies on a page, and marks of one that travel with it."""

_STYLES = ("report.css", "score.css")
_SCRIPTS = ("page_base.js", "page_list.js", "report_tokens.js", "page_modes.js", "score.js")
_KEPT = ("prompt", "text", "ids", "lens", "reward", "local", "outcome", "scored", "reason", "truncated")


def page_row(row: Mapping[str, Any], token_ids: Sequence[int]) -> dict[str, Any]:
    """A scored reply (a row of `bot-grpo score`) as the page wants it, offsets in UTF-16."""
    tokens, text, scored = row["tokens"], row["completion"], row["unscored"] is None
    packed = pack(
        {
            **row,
            "scored": scored,
            "reason": row["unscored"],
            "token_ids": list(token_ids),
            "spans": [[t["start"], t["end"]] for t in tokens],
            "token_rewards": [t["reward"] for t in tokens] if scored else None,
            "local": [t["local"] for t in tokens] if scored else None,
        }
    )
    at = utf16_offsets(text)
    marks = sorted(row["spans"], key=lambda s: (s["start"], s["end"]))[:MAX_MARKS]
    return {
        **{key: packed[key] for key in _KEPT},
        "name": row["id"],
        "note": row.get("note", ""),
        "metrics": row["metrics"],
        "marks": [{**mark, "start": at[mark["start"]], "end": at[mark["end"]]} for mark in marks],
    }


def write_score_page(
    target: Path,
    rows: Sequence[Mapping[str, Any]],
    *,
    title: str,
    facts: Mapping[str, str],
    notes: Sequence[str],
    total: int,
) -> None:
    """Write the page of these rows (of `page_row`), the first of `total`, replacing an earlier one whole.

    Raises `UserError` when it cannot be written.
    """
    check_name(target)
    left_out = [f"The first {len(rows):,} of {total:,} replies are on this page."] if len(rows) < total else []
    content = render(
        "score.html.j2",
        styles=_STYLES,
        scripts=_SCRIPTS,
        title=title,
        date=datetime.now().strftime("%d %B %Y, %H:%M"),
        facts=list(facts.items()),
        tiles=_tiles(rows),
        notes=[*left_out, *notes],
        payload=deflate({"rows": rows}),
    )
    write_page(target, content)


def _tiles(rows: Sequence[Mapping[str, Any]]) -> list[tuple[str, str, str]]:
    """(label, figure, remark) of the page's head."""
    scored = [row for row in rows if row["scored"]]
    tiles = [("Scored", f"{len(scored):,}", f"of {len(rows):,} replies")]
    outcomes = [row["outcome"] for row in scored if row["outcome"] is not None]
    if outcomes:
        tiles.append(("Mean G", _pretty(statistics.fmean(outcomes)), _range(outcomes)))
    local = [value or 0.0 for row in scored for value in row["local"] or ()]
    if local:
        tiles.append(("Mean S", _pretty(statistics.fmean(local)), f"{_range(local)}, of a token"))
        marked = sum(value != 0 for value in local) / len(local)
        tiles.append(("Tokens with a local reward", f"{marked:.0%}", f"of {len(local):,}"))
    return tiles


def _range(values: Sequence[float]) -> str:
    return f"{_pretty(min(values))} to {_pretty(max(values))}"


def _pretty(value: float) -> str:
    return f"{value:.3g}".replace("-", "−")
