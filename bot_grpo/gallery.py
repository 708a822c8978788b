"""`gallery.html`: judged components on one page that opens from disk and asks the network for nothing (see `pages`)."""

from __future__ import annotations

import base64
import dataclasses
import hashlib
import io
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from PIL import Image

from bot_grpo.pages import check_name, deflate, render, write_page
from bot_grpo.report_rows import content_box, describe
from sandbox.outcome import Outcome, Status

if TYPE_CHECKING:
    from sandbox.judge import Verdict  # only a name here

_WIDTH = 1280  # pixels of an embedded screenshot, at most; as WebP it takes about 5 kB
_CODE = 60_000  # characters shown of a component
_LINES = 3_000

_STYLES = ("report.css", "gallery.css")
_SCRIPTS = ("page_base.js", "gallery_code.js", "gallery_detail.js", "gallery.js")


@dataclass(frozen=True)
class Exhibit:
    """A judged component. `verdicts` are of model judges, by what they looked at ("code", "screenshot")."""

    name: str
    outcome: Outcome
    prompt: str = ""
    requirements: tuple[Mapping[str, Any], ...] = ()
    verdicts: Mapping[str, Verdict] = field(default_factory=dict)


@dataclass(frozen=True)
class Gallery:
    """What was written. `size` in bytes; `unreadable` counts the screenshots that could not be embedded."""

    path: Path
    size: int
    components: int
    screenshots: int
    unreadable: int


def write_gallery(exhibits: Sequence[Exhibit], target: Path, *, title: str = "Components") -> Gallery:
    """Write the page, replacing an earlier one whole. Raises `UserError` when it cannot be written."""
    check_name(target)
    pictures = _Pictures(shot for e in exhibits if (shot := e.outcome.screenshot) is not None)
    rows = [_row(exhibit, pictures) for exhibit in exhibits]
    content = render(
        "gallery.html.j2",
        styles=_STYLES,
        scripts=_SCRIPTS,
        title=title,
        date=datetime.now().strftime("%d %B %Y, %H:%M"),
        tiles=_tiles(exhibits),
        payload=deflate({"rows": rows, "pictures": pictures.known}),
    )
    write_page(target, content)
    shown = sum(row["picture"] is not None for row in rows)
    return Gallery(target, len(content), len(rows), shown, pictures.unreadable)


def _row(exhibit: Exhibit, pictures: _Pictures) -> dict[str, Any]:
    outcome = exhibit.outcome
    code = "".join(outcome.code[:_CODE].splitlines(keepends=True)[:_LINES])
    return {
        "name": exhibit.name,
        "status": outcome.status.value,
        "prompt": exhibit.prompt,
        "code": code,
        "left": len(outcome.code) - len(code),
        "diagnostics": [dataclasses.asdict(d) for d in outcome.diagnostics],
        "requirements": [
            {"what": describe(rule), "met": result.met, "why": result.reason}
            for rule, result in zip(exhibit.requirements, outcome.requirements, strict=False)
        ],
        "page": dataclasses.asdict(outcome.page) if outcome.page else None,
        "pageReason": outcome.page_reason,
        "judges": {kind: dataclasses.asdict(verdict) for kind, verdict in exhibit.verdicts.items()},
        "compileMs": outcome.compile_ms,
        "renderMs": outcome.render_ms,
        "picture": pictures.key(outcome.screenshot),
    }


def _tiles(exhibits: Sequence[Exhibit]) -> list[tuple[str, str, str]]:
    """(label, figure, remark) of the page's head: shares and means over those that have the figure."""
    outcomes = [exhibit.outcome for exhibit in exhibits]
    counts = Counter(outcome.status for outcome in outcomes)
    others = ", ".join(f"{n} {status.value.replace('_', ' ')}" for status, n in counts.most_common() if status != "ok")
    tiles = [("Components", f"{len(outcomes):,}", "")]
    if outcomes:
        tiles.append(("Ended ok", f"{counts[Status.OK] / len(outcomes):.0%}", others))
    tiles += _mean("Requirements met", [o.requirements_met for o in outcomes if o.requirements], "{:.0%}")
    tiles += _mean("Page score", [o.page.score for o in outcomes if o.page], "{:.2f}")
    for kind in sorted({kind for exhibit in exhibits for kind in exhibit.verdicts}):
        scores = [e.verdicts[kind].score for e in exhibits if kind in e.verdicts]
        tiles += _mean(f"{kind.capitalize()} judge", [s for s in scores if s is not None], "{:.1f} of 10")
    return tiles


def _mean(label: str, values: Sequence[float], form: str) -> list[tuple[str, str, str]]:
    return [(label, form.format(sum(values) / len(values)), f"mean of {len(values):,}")] if values else []


class _Pictures:
    """Screenshots as WebP data URIs, each different one once, with the box (shares of it) that is worth a card."""

    def __init__(self, paths: Iterable[Path]) -> None:
        self.known: dict[str, dict[str, Any]] = {}
        self.unreadable = 0
        self._keys: dict[Path, str | None] = {}
        for path in dict.fromkeys(paths):
            self._keys[path] = self._add(path)

    def key(self, path: Path | None) -> str | None:
        """The key in `known`; None where there is no picture."""
        return self._keys[path] if path is not None else None

    def _add(self, path: Path) -> str | None:
        try:
            content = path.read_bytes()
            key = hashlib.sha256(content).hexdigest()[:12]
            if key not in self.known:
                self.known[key] = self._shrunk(content)
            return key
        except (OSError, ValueError, SyntaxError, Image.DecompressionBombError):  # SyntaxError: Pillow, a broken PNG
            self.unreadable += 1
            return None

    def _shrunk(self, content: bytes) -> dict[str, Any]:
        with Image.open(io.BytesIO(content)) as opened:
            picture = opened.convert("RGB")
        wide, high = picture.size
        left, top, right, bottom = content_box(picture)
        picture.thumbnail((_WIDTH, 4 * _WIDTH), reducing_gap=2.0)
        buffer = io.BytesIO()
        picture.save(buffer, "WEBP", quality=78, method=2)
        box = [left / wide, top / high, (right - left) / wide, (bottom - top) / high]
        uri = "data:image/webp;base64," + base64.b64encode(buffer.getvalue()).decode("ascii")
        return {"uri": uri, "box": [round(each, 4) for each in box], "width": wide, "height": high}
