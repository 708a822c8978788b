"""A picture of one colour is recognised from its bytes, whatever filters the PNG's rows are stored with."""

from __future__ import annotations

import struct
import zlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sandbox.pixels import is_uniform

CHANNELS = {0: 1, 2: 3, 4: 2, 6: 4}


def paeth(a: int, b: int, c: int) -> int:
    p = a + b - c
    pa, pb, pc = abs(p - a), abs(p - b), abs(p - c)
    return a if pa <= pb and pa <= pc else b if pb <= pc else c


def png(rows: list[bytes], filters: list[int], colour: int) -> bytes:
    """Encode raw rows, each with its filter, by the definition of the filters in the PNG specification."""
    size = CHANNELS[colour]
    above = bytes(len(rows[0]))
    packed = bytearray()
    for row, kind in zip(rows, filters, strict=True):
        packed.append(kind)
        for i, x in enumerate(row):
            a = row[i - size] if i >= size else 0
            b = above[i]
            c = above[i - size] if i >= size else 0
            packed.append((x - [0, a, b, (a + b) // 2, paeth(a, b, c)][kind]) % 256)
        above = row

    def chunk(name: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

    head = struct.pack(">IIBBBBB", len(rows[0]) // size, len(rows), 8, colour, 0, 0, 0)
    data = zlib.compress(bytes(packed))
    half = len(data) // 2
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        [chunk(b"IHDR", head), chunk(b"IDAT", data[:half]), chunk(b"IDAT", data[half:]), chunk(b"IEND", b"")]
    )


PICTURE = st.tuples(
    st.sampled_from(sorted(CHANNELS)),
    st.integers(1, 9),
    st.lists(st.integers(0, 4), min_size=1, max_size=9),
    st.binary(min_size=4, max_size=4),
)


@given(PICTURE)
def test_one_colour_is_uniform_under_every_filter(picture: tuple[int, int, list[int], bytes]) -> None:
    colour, width, filters, pixel = picture
    row = pixel[: CHANNELS[colour]] * width
    assert is_uniform(png([row] * len(filters), filters, colour))


@given(PICTURE, st.data())
@settings(max_examples=200)
def test_one_other_pixel_is_seen_under_every_filter(
    picture: tuple[int, int, list[int], bytes], data: st.DataObject
) -> None:
    colour, width, filters, pixel = picture
    row = pixel[: CHANNELS[colour]] * width
    rows = [bytearray(row) for _ in filters]
    if len(rows) * width < 2:
        return
    y = data.draw(st.integers(0, len(rows) - 1))
    x = data.draw(st.integers(0, len(row) - 1))
    rows[y][x] = (rows[y][x] + data.draw(st.integers(1, 255))) % 256
    assert not is_uniform(png([bytes(r) for r in rows], filters, colour))


def test_a_kind_of_png_that_is_not_expected_is_an_error_and_not_a_verdict() -> None:
    sixteen_bits = bytearray(png([b"abc"], [0], 2))
    sixteen_bits[24] = 16
    with pytest.raises(ValueError, match="16 bits"):
        is_uniform(bytes(sixteen_bits))
