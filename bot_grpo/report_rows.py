"""Pack one completion for the page: lengths in JavaScript's characters, requirements in words, thumbnails.

Python counts code points and JavaScript UTF-16 units, so every offset is converted here, once; the page then only
slices. A token is sent as its length: the spans tile the text.
"""

from __future__ import annotations

import base64
import hashlib
import io
import json
import math
from collections.abc import Callable, Mapping, Sequence
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any

from PIL import Image, ImageChops

THUMBNAIL = (480, 300)
"""Width and height, at most, of an embedded screenshot, in pixels."""
_CLOSEST = (320, 200)  # a picture shows at least this much of the page, so that it is never blown up
_MARGIN = 16


def utf16_offsets(text: str) -> Sequence[int]:
    """Offset in UTF-16 units of every code point of `text`, and of its end: len(text) + 1 numbers."""
    if text.isascii():
        return range(len(text) + 1)
    return list(accumulate((2 if char > "\uffff" else 1 for char in text), initial=0))


def pack(row: Mapping[str, Any]) -> dict[str, Any]:
    """One row of a rollouts file as the page wants it. Missing or unusable parts become None or empty.

    `ratio` is its logarithm, so that twice and half as likely are as far from 0. It and `entropy` differ from token to
    token, and take most of a page's bytes: no more digits than a colour and a glance need.
    """
    text = row.get("completion") or ""
    offsets = utf16_offsets(text)
    ids, lengths = _tokens(row, offsets)
    code = _code_region(row, text)
    return {
        "step": row.get("step") or 0,
        "kind": row.get("kind") or "train",
        "group": row.get("group"),
        "prompt": row.get("prompt") or "",
        "text": text,
        "ids": ids,
        "lens": lengths,
        "reward": _values(row.get("token_rewards"), len(ids)),
        "local": _values(row.get("local"), len(ids)),
        "advantage": _values(row.get("advantages"), len(ids)),
        "entropy": _values(row.get("entropies"), len(ids), lambda nats: round(nats, 2)),
        "ratio": _values(row.get("log_ratios"), len(ids), lambda log: float(f"{log:.2g}")),
        "outcome": _number(row.get("outcome")),
        "scored": row.get("scored") is not False,
        "reason": row.get("reason") or "",
        "truncated": bool(row.get("truncated")),
        "status": row.get("status") or "",
        "code": [offsets[code[0]], offsets[code[1]]] if code else None,
        "diagnostics": [_diagnostic(d, text, offsets, code) for d in row.get("diagnostics") or ()],
        "requirements": [
            {"what": describe(r.get("check")), "met": bool(r.get("met")), "why": r.get("reason") or ""}
            for r in row.get("requirements") or ()
        ],
    }


def _tokens(row: Mapping[str, Any], offsets: Sequence[int]) -> tuple[list[int], list[int]]:
    """Token ids and their lengths; both empty when the spans do not tile the text: no heat map beats a wrong one."""
    ids, spans = row.get("token_ids") or [], row.get("spans") or []
    edges = [0, *(end for _, end in spans)]
    tiles = all(start == edge for (start, _), edge in zip(spans, edges, strict=False))
    if len(ids) != len(spans) or not tiles or edges[-1] != len(offsets) - 1 or edges != sorted(edges):
        return [], []
    return list(ids), [offsets[b] - offsets[a] for a, b in pairwise(edges)]


def _four_digits(value: float) -> float:
    return float(f"{value:.4g}")


def _values(
    values: Sequence[float | None] | None, count: int, short: Callable[[float], float] = _four_digits
) -> list[float | None] | None:
    """One number a token, shortened, or None when there is not exactly one for each."""
    if not values or len(values) != count:
        return None
    return [_number(value, short) for value in values]


def _number(value: float | None, short: Callable[[float], float] = _four_digits) -> float | None:
    return short(value) if value is not None and math.isfinite(value) else None


def _code_region(row: Mapping[str, Any], text: str) -> tuple[int, int] | None:
    """Where the extracted code stands in the completion, if it stands there as it is."""
    code, start = row.get("code") or "", row.get("code_start") or 0
    return (start, start + len(code)) if code and text[start : start + len(code)] == code else None


def _diagnostic(
    found: Mapping[str, Any], text: str, offsets: Sequence[int], code: tuple[int, int] | None
) -> dict[str, Any]:
    """A diagnostic, with the place `at` in the text that its line and column (from 1, within the code) mean."""
    line, column, at = found.get("line") or 1, found.get("column") or 1, None
    if code:
        lines = text[code[0] : code[1]].split("\n")
        row = min(max(line, 1), len(lines)) - 1
        inside = min(max(column, 1) - 1, len(lines[row]))
        at = offsets[code[0] + sum(len(one) + 1 for one in lines[:row]) + inside]
    keys = ("source", "severity", "message")
    return {**{key: str(found.get(key) or "") for key in keys}, "line": line, "column": column, "at": at}


def describe(check: str | Mapping[str, Any] | None) -> str:
    """A requirement in words: `{"check": "role", "role": "button", "min": 2}` is "at least 2 × button"."""
    try:
        rule = json.loads(check) if isinstance(check, str) else dict(check or {})
        return _describe(rule)
    except (ValueError, TypeError, KeyError, AttributeError):
        return str(check)


def _describe(rule: Mapping[str, Any]) -> str:
    kind = rule["check"]
    if kind == "role":
        least, most = rule.get("min", 1), rule.get("max")
        count = f"at least {least}" if most is None else f"exactly {least}" if least == most else f"{least} to {most}"
        return f"{_node(rule)} there" if (least, most) == (1, None) else f"{count} × {_node(rule)}"
    if kind == "text":
        return f"the text “{rule['text']}” shows"
    if kind == "click":
        return f"click {_node(rule)}: {_expectation(rule['expect'])}"
    if kind == "type":
        then = f", click {_node(rule['click'])}" if rule.get("click") else ""
        return f"enter “{rule['value']}” in {_node(rule)}{then}: {_expectation(rule['expect'])}"
    raise KeyError(kind)


def _node(rule: Mapping[str, Any]) -> str:
    name = f" “{rule['name']}”" if rule.get("name") else ""
    nth = f" no. {rule['nth'] + 1}" if rule.get("nth") else ""
    return f"{rule['role']}{name}{nth}"


def _expectation(expect: Mapping[str, Any]) -> str:
    [(key, value), *_] = expect.items()
    if key == "changes":
        return "a number changes" if value == "number" else "the text changes"
    if key == "number_delta":
        return f"a number goes {'up' if value >= 0 else 'down'} by {abs(value)}"
    if key == "text":
        return f"“{value}” appears"
    if key == "no_text":
        return f"“{value}” goes away"
    if key == "role":
        return f"{_node(expect)} appears"
    raise KeyError(key)


def content_box(picture: Image.Image) -> tuple[int, int, int, int]:
    """Left, top, right and bottom of what is not plain background, with a margin, in the shape of a thumbnail.

    A small component in the corner of a 1280 x 800 page could not be read at thumbnail size.
    """
    corner = picture.getpixel((picture.width - 1, picture.height - 1))
    painted = ImageChops.difference(picture, Image.new("RGB", picture.size, corner)).getbbox()
    if painted is None:
        return 0, 0, picture.width, picture.height
    left, top, right, bottom = painted
    wide, high = _CLOSEST
    scale = max(1.0, (right - left + 2 * _MARGIN) / wide, (bottom - top + 2 * _MARGIN) / high)
    width, height = min(round(wide * scale), picture.width), min(round(high * scale), picture.height)
    x = min(max((left + right - width) // 2, 0), picture.width - width)
    y = min(max((top + bottom - height) // 2, 0), picture.height - height)
    return x, y, x + width, y + height


def crop_to_content(picture: Image.Image) -> Image.Image:
    """The part of a page that `content_box` names."""
    return picture.crop(content_box(picture))


class Thumbnails:
    """Screenshots as small WebP data URIs, each different picture once."""

    def __init__(self, root: Path) -> None:
        self._root = root.resolve()
        self._known: dict[bytes, str | None] = {}
        self.uris: dict[str, str] = {}
        self.unreadable = 0

    def add(self, name: str | None) -> str | None:
        """Read the picture `name` (relative to the run) and return its key in `uris`; None if there is none."""
        if not name:
            return None
        path = (self._root / name).resolve()
        try:
            if not path.is_relative_to(self._root):
                raise ValueError("outside the run directory")
            content = path.read_bytes()
            digest = hashlib.sha256(content).digest()
            if digest not in self._known:
                self._known[digest] = self._shrink(content)
            return self._known[digest]
        except (OSError, ValueError, SyntaxError, Image.DecompressionBombError):  # SyntaxError: Pillow, broken PNG
            self.unreadable += 1
            return None

    def _shrink(self, content: bytes) -> str:
        with Image.open(io.BytesIO(content)) as picture:
            small = crop_to_content(picture.convert("RGB"))
        small.thumbnail(THUMBNAIL, reducing_gap=2.0)
        buffer = io.BytesIO()
        small.save(buffer, "WEBP", quality=70, method=4)
        webp = buffer.getvalue()
        key = hashlib.sha256(webp).hexdigest()[:12]
        self.uris[key] = "data:image/webp;base64," + base64.b64encode(webp).decode("ascii")
        return key
