"""The page of a comparison: rates, a ranking, and every pair's screenshots side by side (see `pages`)."""

from __future__ import annotations

import base64
import hashlib
import io
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from PIL import Image

from bot_grpo.pages import check_name, deflate, render, write_page
from bot_grpo.report_rows import content_box
from bot_grpo.win_matches import Match
from bot_grpo.win_sides import Key, Side
from sandbox.win_rates import Decided, Standing
from sandbox.words import counted

_WIDTHS = (640, 480, 320)
_BUDGET = 12_000_000
"""Bytes of the page for pictures: they are embedded at the largest of `_WIDTHS` (pixels) that keeps it."""


def write_win_page(
    target: Path, sides: Sequence[Side], played: Sequence[Match], ranked: Sequence[Standing], judge: str
) -> None:
    """Write the page, replacing an earlier one whole. Raises `UserError` when it cannot be written."""
    check_name(target)
    pictures = _pictures(sides, played)
    rows = [row for number, match in enumerate(played) for row in _rows(number, match, sides, pictures)]
    data = {
        "sides": [[_letter(i), side.name] for i, side in enumerate(sides)],
        "matches": [[match.a, match.b] for match in played],
        "rows": rows,
        "images": dict(pictures.values()),
    }
    content = render(
        "wins.html.j2",
        styles=("report.css", "wins.css"),
        scripts=("page_base.js", "wins.js"),
        title=" against ".join(side.name for side in sides) if len(sides) == 2 else f"{len(sides)} sides",
        judge=judge,
        date=datetime.now().strftime("%d %B %Y, %H:%M"),
        sides=[(_letter(i), side.name, _about(side)) for i, side in enumerate(sides)],
        tiles=_tiles(played[0], judge) if len(played) == 1 else [],
        table=[_table_row(match) for match in played] if len(played) > 1 else [],
        ranking=[_ranking_row(sides, place, one) for place, one in enumerate(ranked, 1)],
        payload=deflate(data),
    )
    write_page(target, content)


def _rows(
    number: int, match: Match, sides: Sequence[Side], pictures: Mapping[tuple[int, Key], tuple[str, str]]
) -> list[dict[str, Any]]:
    def shown(side: int, key: Key) -> dict[str, Any]:
        page = sides[side].pages[key]
        return {"image": pictures.get((side, key), (None,))[0], "why": page.shot.why or page.ended}

    return [
        {
            "match": number,
            "prompt": pair.prompt or key[0],
            "sample": key[1],
            "pages": [shown(match.a, key), shown(match.b, key)],
            "score": result.score,
            "verdict": _verdict(match, result),
            "reason": result.reason,
            "rounds": [[one.first, one.winner, one.reason] for one in result.rounds],
        }
        for key, pair, result in zip(match.keys, match.pairs, match.results, strict=True)
    ]


def _verdict(match: Match, result: Decided) -> str:
    if result.score is None:
        return "not scored"
    counts = [sum(one.winner == side for one in result.rounds) for side in ("A", "B")]
    tally = f", {max(counts)} to {min(counts)}" if result.rounds else ""
    if result.score == 0.5:
        return f"tie{tally}"
    return f"{_letter(match.a if result.score == 1.0 else match.b)} wins{tally}"


def _pictures(sides: Sequence[Side], played: Sequence[Match]) -> dict[tuple[int, Key], tuple[str, str]]:
    """The pages that are shown: a key and a WebP data URI by side and page."""
    shown: dict[Key, dict[int, Path]] = {}
    for match in played:
        for key in match.keys:
            for side in (match.a, match.b):
                path = sides[side].pages[key].shot.path
                if path is not None:
                    shown.setdefault(key, {})[side] = path
    for width in _WIDTHS:
        found = {(side, key): uri for key, paths in shown.items() for side, uri in _shrunk(paths, width).items()}
        if sum(map(len, set(found.values()))) <= _BUDGET:
            break
    return {at: (hashlib.sha256(uri.encode()).hexdigest()[:12], uri) for at, uri in found.items()}


def _shrunk(paths: Mapping[int, Path], width: int) -> dict[int, str]:
    """The pages of one prompt, all cut to the part in which any of them shows something: sides are shown alike."""
    pictures = {side: picture for side, path in paths.items() if (picture := _opened(path)) is not None}
    boxes = [content_box(picture) for picture in pictures.values()]
    lefts, tops, rights, bottoms = zip(*boxes, strict=True) if boxes else ((), (), (), ())
    alike = len({picture.size for picture in pictures.values()}) == 1
    uris = {}
    for side, picture in pictures.items():
        cut = picture.crop((min(lefts), min(tops), max(rights), max(bottoms))) if alike else picture
        cut.thumbnail((width, width * 4), reducing_gap=2.0)
        buffer = io.BytesIO()
        cut.save(buffer, "WEBP", quality=75, method=4)
        uris[side] = "data:image/webp;base64," + base64.b64encode(buffer.getvalue()).decode("ascii")
    return uris


def _opened(path: Path) -> Image.Image | None:
    try:
        with Image.open(path) as picture:
            return picture.convert("RGB")
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError):  # SyntaxError: Pillow, broken PNG
        return None


def _percent(value: float | None) -> str:
    return "–" if value is None else f"{100 * value:.1f} %"


def _letter(side: int) -> str:
    return chr(ord("A") + side)


def _about(side: Side) -> str:
    valid = sum(page.shot.valid for page in side.pages.values())
    return (
        f"{'' if side.step is None else f'step {side.step}, '}{counted(len(side.pages), 'page')}, {valid} can be judged"
    )


def _tiles(match: Match, judge: str) -> list[tuple[str, str, str]]:
    """(label, figure, remark) of the page's head."""
    rate = match.rate
    assert rate is not None
    spread = "" if rate.low is None else f"95 % interval {_percent(rate.low)} to {_percent(rate.high)}, ties as half"
    return [
        ("Win rate of A", _percent(rate.rate), spread),
        ("A won", str(rate.wins), ""),
        ("Tied", str(rate.ties), ""),
        ("B won", str(rate.losses), ""),
        ("Not scored", str(rate.unscored), ""),
        ("Order decided", _percent(rate.flips), _swaps(match, judge)),
    ]


def _swaps(match: Match, judge: str) -> str:
    """How often the order was swapped, or why one cannot say whether it decides."""
    rounds = [one for result in match.results for one in result.rounds]
    if match.rate is not None and match.rate.swaps:
        return f"of {counted(match.rate.swaps, 'time')} that the order was swapped"
    if judge == "page":
        return "rules know no order"
    if not rounds:
        return "no pair was asked about"
    if all(one.winner is None for one in rounds):
        return "nothing was answered"
    return "no pair was answered in both orders"


def _table_row(match: Match) -> list[str]:
    rate = match.rate
    assert rate is not None
    share = "–" if rate.rate is None else f"{_percent(rate.rate)} ({_percent(rate.low)} to {_percent(rate.high)})"
    flips = "–" if rate.flips is None else f"{_percent(rate.flips)} of {rate.swaps}"
    counts = map(str, (rate.wins, rate.ties, rate.losses, rate.unscored))
    return [f"{_letter(match.a)} against {_letter(match.b)}", *counts, share, flips]


def _ranking_row(sides: Sequence[Side], place: int, one: Standing) -> list[str]:
    strength = f"{one.strength:+.2f} ({one.low:+.2f} to {one.high:+.2f})".replace("-", "−")
    return [str(place), f"{_letter(one.side)} · {sides[one.side].name}", strength, _percent(one.rate), str(one.games)]
