"""Sampled ids -> text and char spans; rewards on characters -> rewards on tokens."""

from __future__ import annotations

import time
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from transformers import AutoTokenizer

from bot_grpo.models import embedded_gguf
from reward_models.alignment import TokenText, line_spans, per_line, spread_spans
from reward_models.base import Span


@pytest.fixture(scope="module")
def tokenizer() -> Any:
    gguf = embedded_gguf()
    return AutoTokenizer.from_pretrained(gguf.parent, gguf_file=gguf.name)


@pytest.fixture(scope="module")
def token_text(tokenizer: Any) -> TokenText:
    return TokenText(tokenizer)


IDS = st.lists(st.integers(0, 49151), max_size=80)


@given(ids=IDS)
@settings(max_examples=200, deadline=None)
def test_spans_of_random_ids_tile_the_text_that_the_tokenizer_decodes(
    token_text: TokenText, tokenizer: Any, ids: list[int]
) -> None:
    text, spans = token_text(ids)
    assert text == tokenizer.decode(ids, skip_special_tokens=True, clean_up_tokenization_spaces=False)
    assert len(spans) == len(ids)
    assert [a for a, _ in spans] == [0, *(b for _, b in spans[:-1])][: len(ids)]
    assert (spans[-1][1] if spans else 0) == len(text)


@given(text=st.text(max_size=60))
@settings(max_examples=100, deadline=None)
def test_text_that_was_encoded_decodes_as_the_tokenizer_has_it(
    token_text: TokenText, tokenizer: Any, text: str
) -> None:
    """Not always to itself: this vocabulary lacks the bytes of some planes of Unicode."""
    ids = tokenizer(text.encode("utf-8", "replace").decode(), add_special_tokens=False)["input_ids"]
    assert token_text(ids)[0] == tokenizer.decode(ids, skip_special_tokens=True, clean_up_tokenization_spaces=False)


@pytest.mark.parametrize("text", ["😀 ok", "数学は楽しい", "e\u0301tude", "👩‍👩‍👧‍👦", "a\r\nb\tc"])
def test_a_character_of_several_ids_belongs_to_the_id_that_completes_it(
    token_text: TokenText, tokenizer: Any, text: str
) -> None:
    ids = tokenizer(text, add_special_tokens=False)["input_ids"]
    decoded, spans = token_text(ids)
    assert decoded == text
    assert sum(b - a for a, b in spans) == len(text)


def test_eos_has_no_text_and_a_special_token_written_out_is_text(token_text: TokenText, tokenizer: Any) -> None:
    written = tokenizer.convert_tokens_to_ids(["<", "|", "im", "_", "end", "|", ">"])
    text, spans = token_text([*written, tokenizer.eos_token_id])
    assert text == "<|im_end|>"
    assert spans[-1] == (10, 10)


TOKENS = ((0, 3), (3, 3), (3, 5), (5, 9), (9, 10), (10, 10))  # an empty one inside, EOS at the end


@pytest.mark.parametrize(
    ("spread", "expected"),
    [
        ("every", [0, 2, 2, 2, 0, 0]),
        ("last", [0, 0, 0, 2, 0, 0]),
        ("uniform", [0, 0, 1, 1, 0, 0]),
        ("proportional", [0, 0, 2 * 2 / 5, 2 * 3 / 5, 0, 0]),
    ],
)
def test_each_way_to_spread_a_span(spread: Any, expected: list[float]) -> None:
    assert spread_spans([Span(3, 8, 2.0)], TOKENS, spread).tolist() == pytest.approx(expected)


@given(
    lengths=st.lists(st.integers(0, 5), min_size=1, max_size=20).filter(lambda xs: sum(xs) > 0),
    cut=st.tuples(st.integers(0, 99), st.integers(1, 99)),
    value=st.floats(-2, 2, allow_nan=False),
    spread=st.sampled_from(["last", "uniform", "proportional"]),
)
@settings(deadline=None)
def test_the_conserving_spreads_conserve_and_touch_only_tokens_of_the_span(
    lengths: list[int], cut: tuple[int, int], value: float, spread: Any
) -> None:
    ends = np.cumsum(lengths)
    tokens = tuple((int(e - n), int(e)) for e, n in zip(ends, lengths, strict=True))
    start = cut[0] % int(ends[-1])
    end = min(int(ends[-1]), start + cut[1])
    out = spread_spans([Span(start, end, value)], tokens, spread)
    assert out.sum() == pytest.approx(value)
    for (a, b), r in zip(tokens, out, strict=True):
        assert r == 0 or (b > start and a < end)


def test_a_span_inside_of_a_token_does_not_add_to_what_its_neighbours_give_that_token() -> None:
    """Lines 2 to 4 flagged, line 3 empty: its break is inside of the token that ends line 2."""
    tokens = ((0, 4), (4, 9), (9, 12))
    assert spread_spans([Span(0, 6, -0.5), Span(6, 7, -1.0), Span(7, 12, -0.5)], tokens).tolist() == [-0.5, -1, -0.5]


@given(
    lengths=st.lists(st.integers(0, 5), min_size=1, max_size=20).filter(lambda xs: sum(xs) > 0),
    cuts=st.sets(st.integers(1, 99), max_size=20),
    values=st.lists(st.floats(-1, 1), min_size=21, max_size=21),
)
@settings(deadline=None)
def test_disjoint_spans_keep_their_bound(lengths: list[int], cuts: set[int], values: list[float]) -> None:
    ends = np.cumsum(lengths)
    tokens = tuple((int(e - n), int(e)) for e, n in zip(ends, lengths, strict=True))
    edges = [0, *sorted(c for c in cuts if c < ends[-1]), int(ends[-1])]
    spans = [Span(a, b, v) for (a, b), v in zip(pairwise(edges), values, strict=False)]
    assert np.abs(spread_spans(spans, tokens)).max() <= max(abs(s.value) for s in spans)


def test_overlapping_spans_add_up() -> None:
    out = spread_spans([Span(0, 10, -1.0), Span(5, 9, -0.5)], TOKENS)
    assert out.tolist() == [-1, -1, -1, -1.5, -1, 0]


@pytest.mark.parametrize("span", [Span(0, 0, 1.0), Span(4, 3, 1.0), Span(-1, 2, 1.0), Span(0, 11, 1.0)])
def test_a_span_outside_of_the_text_is_refused_with_its_place(span: Span) -> None:
    with pytest.raises(ValueError, match=rf"\[{span.start}, {span.end}\) is not inside the completion's 10 char"):
        spread_spans([span], TOKENS)


def test_an_empty_completion_has_no_spans() -> None:
    assert spread_spans([], ()).shape == (0,)
    with pytest.raises(ValueError, match="0 characters"):
        spread_spans([Span(0, 1, 1.0)], ())


def test_lines_tile_the_text() -> None:
    assert line_spans("ab\n\nc") == [(0, 3), (3, 4), (4, 5)]


def test_a_value_for_each_line_stands_on_its_characters() -> None:
    assert per_line("ab\n\nc", [-1.0, -0.5, 0.0], "bad") == (Span(0, 3, -1.0, "bad"), Span(3, 4, -0.5, "bad"))
    assert per_line("", [-1.0]) == ()
    with pytest.raises(ValueError, match="zip"):
        per_line("a\nb", [1.0])


def test_64_completions_of_8192_tokens_align_in_a_few_seconds_at_most(token_text: TokenText) -> None:
    ids = np.random.default_rng(0).integers(0, 49152, (64, 8192)).tolist()
    start = time.process_time()
    for row in ids:
        text, spans = token_text(row)
        spread_spans([Span(0, len(text), -1.0), Span(5, 50, 0.5)], spans)
    assert time.process_time() - start < 10  # about 0.5 s; the bound only catches quadratic behaviour
