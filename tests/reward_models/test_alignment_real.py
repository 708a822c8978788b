"""Alignment on random id sequences, with the real tokenizers of four families of models."""

from __future__ import annotations

import time
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from real_tokenizers import NAMES, real_tokenizer

from reward_models.alignment import Spread, TokenText, line_spans, spread_spans
from reward_models.base import Span

SETTINGS = settings(max_examples=60, deadline=None)


@pytest.fixture(scope="module", params=NAMES)
def tokenizer(request: pytest.FixtureRequest) -> Any:
    return real_tokenizer(request.param)


@pytest.fixture(scope="module")
def token_text(tokenizer: Any) -> TokenText:
    return TokenText(tokenizer)


def random_ids(tokenizer: Any, seed: int, n: int) -> list[int]:
    """Ids of the whole vocabulary, special ones and a few past its end (padding of the model's) included."""
    return np.random.default_rng(seed).integers(0, len(tokenizer) + 8, n).tolist()


@given(seed=st.integers(0, 2**32 - 1), n=st.integers(0, 120))
@SETTINGS
def test_spans_of_random_ids_tile_the_text_that_the_tokenizer_decodes(
    tokenizer: Any, token_text: TokenText, seed: int, n: int
) -> None:
    ids = random_ids(tokenizer, seed, n)
    text, spans = token_text(ids)
    known = [i for i in ids if i < len(tokenizer)]
    assert text == tokenizer.decode(known, skip_special_tokens=True, clean_up_tokenization_spaces=False)
    assert [a for a, _ in spans] == [0, *(b for _, b in spans)][:n]
    assert (spans[-1][1] if spans else 0) == len(text)
    for i, (a, b) in zip(ids, spans, strict=True):
        if i in tokenizer.all_special_ids or i >= len(tokenizer):
            assert a == b or text[a:b] == "\ufffd"  # a character that nothing completed any more


@given(seed=st.integers(0, 2**32 - 1), n=st.integers(1, 120), cut=st.integers(0, 120))
@SETTINGS
def test_a_prefix_keeps_its_spans_but_for_a_character_that_it_cuts(
    tokenizer: Any, token_text: TokenText, seed: int, n: int, cut: int
) -> None:
    ids = random_ids(tokenizer, seed, n)
    (text, spans), (start, some) = token_text(ids), token_text(ids[:cut])
    whole = len(start) - (len(start) - len(start.rstrip("\ufffd")))
    assert text[:whole] == start[:whole]
    for one, other in zip(some, spans, strict=False):  # a token that holds a part of the cut character has another end
        assert one == other or one[1] > whole


@given(
    seed=st.integers(0, 2**32 - 1),
    n=st.integers(1, 120),
    spread=st.sampled_from(["last", "uniform", "proportional"]),
    data=st.data(),
)
@SETTINGS
def test_the_rewards_of_tokens_add_up_to_those_of_spans_and_lie_on_their_text(
    tokenizer: Any, token_text: TokenText, seed: int, n: int, spread: Spread, data: st.DataObject
) -> None:
    text, tokens = token_text(random_ids(tokenizer, seed, n))
    cuts = data.draw(st.lists(st.integers(0, len(text)), max_size=8)) if text else []
    spans = [Span(a, b, float(k + 1)) for k, (a, b) in enumerate(pairwise(sorted({*cuts}))) if b > a]
    out = spread_spans(spans, tokens, spread)
    assert out.sum() == pytest.approx(sum(s.value for s in spans))
    for (a, b), r in zip(tokens, out, strict=True):
        assert r == 0 or any(s.start < b and s.end > a for s in spans)


@pytest.mark.parametrize(
    "text", ["So x = 3.\n\nThen y.\n", "a\r\n\r\n  b", "数学 😀 e\u0301", "if x:\n\treturn  [1]\n\n\n"]
)
def test_lines_of_a_real_text_reach_the_tokens_that_begin_in_them(
    tokenizer: Any, token_text: TokenText, text: str
) -> None:
    spelled, tokens = token_text(tokenizer(text, add_special_tokens=False)["input_ids"])
    lines = [Span(a, b, float(k + 1)) for k, (a, b) in enumerate(line_spans(spelled)) if b > a]
    out = spread_spans(lines, tokens)
    for (a, b), r in zip(tokens, out, strict=True):
        begun = next((s.value for s in lines if s.start <= a < s.end), 0.0)
        assert r == begun or b == a or r == max(s.value for s in lines if s.start < b and s.end > a)


def test_64_completions_of_8192_tokens_align_in_about_a_second_at_most(tokenizer: Any, token_text: TokenText) -> None:
    """0.3 s on a quiet machine; the bound leaves room for one that is not."""
    rows = [random_ids(tokenizer, seed, 8192) for seed in range(64)]
    seconds = []
    for _ in range(2):  # the first one looks every id up
        start = time.process_time()
        for ids in rows:
            text, tokens = token_text(ids)
            spread_spans([Span(a, b, -0.1) for a, b in line_spans(text) if b > a], tokens)
        seconds.append(time.process_time() - start)
    assert min(seconds) < 2
