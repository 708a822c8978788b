"""From sampled ids to characters, and from rewards on characters to rewards on the policy's own tokens.

Text is never tokenised again: most sampled id sequences do not survive decode-and-encode, so a second tokenisation
would put rewards on tokens which the policy never produced.
"""

from __future__ import annotations

import codecs
from collections.abc import Callable, Sequence
from functools import lru_cache
from itertools import accumulate, chain
from operator import itemgetter
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from tokenizers.decoders import DecodeStream

from reward_models.base import Span

Spread = Literal["every", "last", "uniform", "proportional"]
CharSpans = tuple[tuple[int, int], ...]
_PAIRS = 1 << 20


class _Once(dict[int, Any]):
    """Values by token id, each made at its first use."""

    def __init__(self, make: Callable[[int], Any]) -> None:
        super().__init__()
        self._make = make

    def __missing__(self, key: int) -> Any:
        value = self[key] = self._make(key)
        return value


class TokenText:
    """Turns the sampled ids of one tokenizer into text and the char span of each id.

    Special tokens (EOS, chat marks) have no text; an id that only opens a multi-byte character has an empty span, and
    the character belongs to the id which completes it. Bytes that are not UTF-8 become U+FFFD, as in the tokenizer's
    own decoding.
    """

    def __init__(self, tokenizer: Any) -> None:
        self._tokenizer = tokenizer
        self._special = set(tokenizer.all_special_ids)
        self._added = {int(i): str(t.content) for i, t in tokenizer.added_tokens_decoder.items()}
        self._special |= {int(i) for i, t in tokenizer.added_tokens_decoder.items() if t.special}
        self._byte_level = "ByteLevel" in str(getattr(tokenizer.backend_tokenizer, "decoder", ""))
        self._bytes = _Once(self._look_up)
        self._whole = _Once(lambda i: _decoded(self._bytes[i]))  # an id's text, where its bytes are whole characters

    def __call__(self, ids: Sequence[int]) -> tuple[str, CharSpans]:
        """Returns (text, spans): `spans[t]` is the half-open char span of `ids[t]`; the spans tile the text."""
        pieces = self._byte_pieces(ids) if self._byte_level else self._stream_pieces(ids)
        ends = list(accumulate(map(len, pieces)))
        return "".join(pieces), tuple(zip(chain((0,), ends), ends, strict=False))

    def _byte_pieces(self, ids: Sequence[int]) -> list[str]:
        """Ids of whole characters are looked up; where one opens a character, bytes are decoded until none is open."""
        found: list[str | None] = [self._whole[i] for i in ids]
        pieces = [piece or "" for piece in found]
        decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
        done = 0
        for first in (t for t, piece in enumerate(found) if piece is None):
            if first < done:
                continue
            done = first
            while done < len(ids) and (done == first or decoder.getstate()[0]):
                pieces[done] = decoder.decode(self._bytes[ids[done]])
                done += 1
        tail = decoder.decode(b"", final=True)
        if tail:  # the sequence stops inside a character: it belongs to the last id that carries bytes
            last = max(t for t, i in enumerate(ids) if self._bytes[i])
            pieces[last] += tail
        return pieces

    def _look_up(self, token_id: int) -> bytes:
        if token_id in self._special:
            return b""
        if token_id in self._added:
            return self._added[token_id].encode()
        token = self._tokenizer.convert_ids_to_tokens(token_id)
        if token is None:  # an id past the tokenizer's last: models pad their vocabulary
            return b""
        table = _byte_of_unicode()
        return bytes(table[c] for c in token) if all(c in table for c in token) else token.encode()

    def _stream_pieces(self, ids: Sequence[int]) -> list[str]:
        """For tokenizers that are not byte-level BPE: the tokenizers library's own incremental decoder."""
        stream = DecodeStream(skip_special_tokens=True)
        backend = self._tokenizer.backend_tokenizer
        return [stream.step(backend, int(i)) or "" for i in ids]


def _decoded(raw: bytes) -> str | None:
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        return None


@lru_cache(maxsize=1)
def _byte_of_unicode() -> dict[str, int]:
    """The byte-level BPE alphabet: printable Latin-1 stands for itself, the other bytes for U+0100 and up."""
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [b for b in range(256) if b not in set(printable)]
    return {chr(b): b for b in printable} | {chr(0x100 + n): b for n, b in enumerate(others)}


def spread_spans(spans: Sequence[Span], tokens: CharSpans, spread: Spread = "every") -> NDArray[np.float64]:
    """Local rewards on T tokens from values on spans of characters. Where spans overlap, they add up.

    Args:
        spans: half-open character spans with values.
        tokens: the char span of each of T tokens; they tile the text.
        spread: `every` gives each token that begins in the span the whole value (a span in which none begins, such as
            an empty line inside of a token, gives its value to the token that covers it where that is the larger, so
            that disjoint spans keep their bound); `last` puts it on the token that
            holds the span's last character; `uniform` divides it equally over the tokens that touch the span;
            `proportional` by the characters each has in the span. All but `every` conserve the sum of the values.

    Returns:
        (T,) float64; tokens without text (EOS) get 0.

    Raises:
        ValueError: a span that is empty, reversed or outside of the text.
    """
    starts, ends = np.array(tokens, dtype=np.int64).reshape(-1, 2).T
    length = int(ends[-1]) if len(tokens) else 0
    if not spans:
        return np.zeros(len(tokens))
    a_N, b_N = (np.fromiter(map(itemgetter(i), spans), np.int64, len(spans)) for i in (0, 1))
    value_N = np.fromiter(map(itemgetter(2), spans), np.float64, len(spans))
    wrong_N = (a_N < 0) | (a_N >= b_N) | (b_N > length)
    if wrong_N.any():
        start, end = spans[int(wrong_N.argmax())][:2]
        raise ValueError(f"span [{start}, {end}) is not inside the completion's {length} characters")
    with_text = np.maximum.accumulate(np.where(ends > starts, np.arange(len(tokens)), 0))
    last_N = with_text[np.searchsorted(starts, b_N - 1, side="right") - 1]  # holds the span's last character
    out = np.zeros(len(tokens))
    if spread == "last":
        np.add.at(out, last_N, value_N)
        return out
    if spread == "every":
        begin_N = np.searchsorted(starts, a_N, side="left")
        out = _sums(begin_N, last_N, len(tokens), lambda span, token: value_N[span])
        for n in np.flatnonzero(begin_N > last_N):
            out[last_N[n]] = max(out[last_N[n]], value_N[n], key=abs)
        return out

    def share(span: NDArray[np.int64], token: NDArray[np.int64]) -> NDArray[np.float64]:
        overlap = np.minimum(ends[token], b_N[span]) - np.maximum(starts[token], a_N[span])
        weight = (overlap > 0).astype(np.float64) if spread == "uniform" else np.maximum(overlap, 0).astype(np.float64)
        shared: NDArray[np.float64] = weight / np.bincount(span, weights=weight, minlength=len(spans))[span]
        return value_N[span] * shared

    first_N = np.searchsorted(ends, a_N, side="right")  # holds the span's first character
    return _sums(first_N, last_N, len(tokens), share)


def _sums(
    first_N: NDArray[np.int64],
    last_N: NDArray[np.int64],
    length: int,
    value: Callable[[NDArray[np.int64], NDArray[np.int64]], NDArray[np.float64]],
) -> NDArray[np.float64]:
    """On each of `length` tokens the sum of `value(spans, tokens)`, over pairs of a span and a token of its range."""
    out, counts_N = np.zeros(length), np.maximum(last_N - first_N + 1, 0)
    # A few spans at a time: many that each cover a long text would be many pairs.
    for part in np.split(np.arange(len(counts_N)), np.flatnonzero(np.diff(np.cumsum(counts_N) // _PAIRS)) + 1):
        span = np.repeat(part, counts_N[part])
        before = np.repeat(np.cumsum(counts_N[part]) - counts_N[part], counts_N[part])
        token = first_N[span] + np.arange(len(span)) - before
        out += np.bincount(token, weights=value(span, token), minlength=length)
    return out


def line_spans(text: str) -> list[tuple[int, int]]:
    """The half-open char span of each line of `text`, its line break included. Lines break at \\n only."""
    spans, start = [], 0
    for line in text.split("\n"):
        end = min(start + len(line) + 1, len(text))
        spans.append((start, end))
        start = end
    return spans


def per_line(text: str, values: Sequence[float], reason: str = "") -> tuple[Span, ...]:
    """Spans with a value for each line of `text` (as many as `text.split("\\n")` has); none where it is 0."""
    lines = zip(line_spans(text), values, strict=True)
    return tuple(Span(a, b, value, reason) for (a, b), value in lines if value and a < b)
