"""Is a screenshot one colour all over (read from the PNG's bytes, without decoding it), and how much of it is used?"""

from __future__ import annotations

import io
import struct
import zlib
from collections.abc import Iterator
from itertools import islice

_CHANNELS = {0: 1, 2: 3, 4: 2, 6: 4}  # colour type -> bytes a pixel, at 8 bits a channel

_SQUARE = 40  # pixels
_SEEN = 24  # of 255: what differs less in a square is a shade


def used_share(png: bytes) -> float:
    """The share of the picture's squares of 40 pixels in which something stands out: an edge, a line of text.

    Flat colour and soft gradients count as nothing. What is left over at the right and the bottom is not looked at.
    """
    import numpy as np  # only here: most renderers never need them
    from PIL import Image

    with Image.open(io.BytesIO(png)) as picture:
        pixels = np.asarray(picture.convert("RGB"))
    high, wide = pixels.shape[0] // _SQUARE, pixels.shape[1] // _SQUARE
    rows = pixels[: high * _SQUARE, : wide * _SQUARE].reshape(high, _SQUARE, -1)
    extremes = (f(rows, axis=1).reshape(high, wide, _SQUARE, 3) for f in (np.max, np.min))
    most, least = next(extremes).max(axis=2), next(extremes).min(axis=2)
    return float(((most - least) >= _SEEN).any(axis=2).mean())


def is_uniform(png: bytes) -> bool:
    """True when every pixel has the same colour. `png` is 8 bits a channel, not interlaced (else ValueError).

    A row of one colour has one possible encoding under each of PNG's five filters, so rows are compared as bytes.
    """
    width, height, depth, colour, _, _, interlaced = struct.unpack(">IIBBBBB", png[16:29])
    if depth != 8 or colour not in _CHANNELS or interlaced:
        raise ValueError(f"a PNG of {depth} bits, colour type {colour}, interlace {interlaced} is not expected here")
    size = _CHANNELS[colour]
    rows = _rows(_data(png), 1 + size * width)
    first = next(rows)
    allowed, later = _encodings(first[1 : 1 + size], width)
    return first in allowed and all(row in later for row in islice(rows, height - 1))


def _rows(packed: bytes, length: int) -> Iterator[bytes]:
    """The rows, one at a time: most pictures show another colour soon, and the rest need not be unpacked."""
    unpacker = zlib.decompressobj()
    while True:
        row = b""
        while len(row) < length and (part := unpacker.decompress(packed, length - len(row))):
            row += part
            packed = unpacker.unconsumed_tail
        yield row


def _data(png: bytes) -> bytes:
    at, parts = 8, []
    while at < len(png):
        (length,) = struct.unpack(">I", png[at : at + 4])
        if png[at + 4 : at + 8] == b"IDAT":
            parts.append(png[at + 8 : at + 8 + length])
        at += length + 12
    return b"".join(parts)


def _encodings(pixel: bytes, width: int) -> tuple[list[bytes], list[bytes]]:
    """A row of `pixel`s by filter 0 (none), 1 (sub), 2 (up), 3 (average), 4 (Paeth): as first row, and as another."""
    zero = bytes(len(pixel))
    half = bytes(p - p // 2 for p in pixel)  # the average of a pixel and nothing, taken away
    rest = width - 1
    first = [pixel * width, pixel + zero * rest, pixel * width, pixel + half * rest, pixel + zero * rest]
    later = [pixel * width, pixel + zero * rest, zero * width, half + zero * rest, zero * width]
    return tuple([bytes([kind]) + row for kind, row in enumerate(rows)] for rows in (first, later))  # type: ignore[return-value]
