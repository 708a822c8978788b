"""From sampled ids to characters, and from rewards on characters to rewards on the policy's own tokens.

Text is never tokenised again: most sampled id sequences do not survive decode-and-encode, so a second tokenisation
would put rewards on tokens which the policy never produced.
"""

from __future__ import annotations

import codecs
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from tokenizers.decoders import DecodeStream

from reward_models.base import Span

Spread = Literal["every", "last", "uniform", "proportional"]
CharSpans = tuple[tuple[int, int], ...]


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
        self._bytes: dict[int, bytes] = {}

    def __call__(self, ids: Sequence[int]) -> tuple[str, CharSpans]:
        """Returns (text, spans): `spans[t]` is the half-open char span of `ids[t]`; the spans tile the text."""
        pieces = self._byte_pieces(ids) if self._byte_level else self._stream_pieces(ids)
        spans, end = [], 0
        for piece in pieces:
            spans.append((end, end + len(piece)))
            end += len(piece)
        return "".join(pieces), tuple(spans)

    def _byte_pieces(self, ids: Sequence[int]) -> list[str]:
        decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
        pieces = [decoder.decode(self._token_bytes(i)) for i in ids]
        tail = decoder.decode(b"", final=True)
        if tail:  # the sequence stops inside a character: it belongs to the last id that carries bytes
            last = max(t for t, i in enumerate(ids) if self._token_bytes(i))
            pieces[last] += tail
        return pieces

    def _token_bytes(self, token_id: int) -> bytes:
        known = self._bytes.get(token_id)
        if known is None:
            known = self._bytes[token_id] = self._look_up(token_id)
        return known

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
    starts = np.array([a for a, _ in tokens], dtype=np.int64)
    ends = np.array([b for _, b in tokens], dtype=np.int64)
    length = int(ends[-1]) if len(tokens) else 0
    out = np.zeros(len(tokens))
    covered: list[tuple[int, float]] = []
    for start, end, value, _ in spans:
        if not 0 <= start < end <= length:
            raise ValueError(f"span [{start}, {end}) is not inside the completion's {length} characters")
        first = int(np.searchsorted(ends, start, side="right"))  # holds the character `start`
        last = int(np.searchsorted(starts, end - 1, side="right")) - 1
        while starts[last] == ends[last]:  # step over tokens without text at the same place
            last -= 1
        if spread == "every":
            begin = int(np.searchsorted(starts, start, side="left"))
            out[begin : last + 1] += value
            if begin > last:
                covered.append((last, value))
        elif spread == "last":
            out[last] += value
        else:
            overlap = np.minimum(ends[first : last + 1], end) - np.maximum(starts[first : last + 1], start)
            overlap = np.maximum(overlap, 0).astype(np.float64)
            share = (overlap > 0).astype(np.float64) if spread == "uniform" else overlap
            out[first : last + 1] += value * share / share.sum()
    for token, value in covered:
        out[token] = max(out[token], value, key=abs)
    return out


def line_spans(text: str) -> list[tuple[int, int]]:
    """The half-open char span of each line of `text`, its line break included. Lines break at \\n only."""
    spans, start = [], 0
    for line in text.split("\n"):
        end = min(start + len(line) + 1, len(text))
        spans.append((start, end))
        start = end
    return spans
