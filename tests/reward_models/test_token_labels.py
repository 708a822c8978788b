"""Labels land on the tokens whose characters are marked, with real tokenizers."""

from __future__ import annotations

from typing import Any

import pytest
import tiny_prm

from reward_models.base import Span
from reward_models.learned import reader
from reward_models.token_labels import IGNORED, Labelled, labelled, parted, token_counts
from reward_models.training_data import RIGHT, UNKNOWN, Example

TEXT = "naïve 😀 数学\nbad 😀😀 line\nrest"
MARK = Span(TEXT.index("bad"), TEXT.index("rest"), -1.0)


def made(tokenizer: Any, example: Example, *, limit: int = 400, first: bool = False, split: str = "\n") -> Labelled:
    found = labelled(example, reader(tokenizer, "auto", limit), split, first=first)
    assert found is not None
    return found


@pytest.mark.parametrize("kind", ["smollm2", "merging", "sentencepiece"])
def test_a_token_has_the_label_of_its_first_character(kind: str) -> None:
    tokenizer = getattr(tiny_prm, kind)()
    row = made(tokenizer, Example("What?", TEXT, (MARK,), RIGHT))
    ids, start, spans, cut = row.read
    assert not cut
    assert len(row.token_labels) == len(spans) == len(ids) - start
    assert tokenizer.eos_token_id == ids[-1]
    for (a, b), label in list(zip(spans, row.token_labels, strict=True))[:-1]:
        a += len(TEXT[a:b]) - len(TEXT[a:b].lstrip()) if TEXT[a:b].strip() else 0
        assert label == (0 if MARK.start <= a < MARK.end else 1), (a, label)
    assert row.labels[:start] == [IGNORED] * start
    assert row.step_labels == (1, 0, 1)
    assert row.step_at[-1] == len(spans) - 1  # the last step is scored at the EOS
    assert all(row.token_labels[i] == label for i, label in zip(row.step_at, row.step_labels, strict=True))
    for at, line_end in zip(row.step_at[:-1], [TEXT.index("bad"), TEXT.index("rest")], strict=True):
        assert spans[at][0] <= line_end - 1 < spans[at][1]  # on the token with the line break


def test_a_multi_byte_character_is_labelled_whole() -> None:
    text = "x\n𓀀 y"
    row = made(tiny_prm.smollm2(), Example("", text, (Span(2, 3, -1.0),), RIGHT))
    of_it = [label for (a, _), label in zip(row.read.spans, row.token_labels, strict=True) if a == 2]
    assert len(of_it) > 1  # the first ones only open it and have no characters
    assert set(of_it) == {0}
    others = [y for (a, b), y in zip(row.read.spans, row.token_labels, strict=True) if a < b and a != 2]
    assert others == [1, 1, 1]


def test_a_token_with_a_space_before_the_marked_word_has_its_label() -> None:
    text = "a bad one"
    row = made(tiny_prm.smollm2(), Example("", text, (Span(2, 5, -1.0),), RIGHT))
    by_text = {text[a:b]: y for (a, b), y in zip(row.read.spans, row.token_labels, strict=True) if a < b}
    assert by_text == {"a": 1, " bad": 0, " one": 1}
    assert row.token_labels[-1] == 0  # the score of the line is read at the EOS


def test_a_mark_without_the_line_break_still_makes_its_line_wrong() -> None:
    short = MARK._replace(end=MARK.end - 1)
    row = made(tiny_prm.smollm2(), Example("", TEXT, (short,), RIGHT))
    assert row.step_labels == (1, 0, 1)
    assert row.token_labels[row.step_at[1]] == 0


def test_nothing_counts_after_the_first_mistake() -> None:
    row = made(tiny_prm.smollm2(), Example("", TEXT, (MARK,), RIGHT), first=True)
    assert row.step_labels == (1, 0, IGNORED)
    after = [y for (a, _), y in zip(row.read.spans, row.token_labels, strict=True) if a >= MARK.end]
    assert set(after) == {IGNORED}


def test_what_is_cut_off_has_no_label() -> None:
    tokenizer = tiny_prm.smollm2()
    whole = made(tokenizer, Example("Q", TEXT, (MARK,), RIGHT))
    limit = len(whole.read.ids) - 4
    row = made(tokenizer, Example("Q", TEXT, (MARK,), RIGHT), limit=limit)
    assert row.read.cut
    assert len(row.labels) == len(row.read.ids) == limit
    assert row.read.ids == whole.read.ids[:limit]
    assert row.read.ids[-1] != tokenizer.eos_token_id
    assert len(row.step_at) < 3
    read = reader(tokenizer, "auto", whole.read.start)
    assert labelled(Example("Q", TEXT, (MARK,), RIGHT), read, "\n") is None
    assert labelled(Example("Q", TEXT, (), UNKNOWN), reader(tokenizer, "auto", 400), "\n") is None


def test_no_problem_is_on_both_sides_of_the_split() -> None:
    tokenizer = tiny_prm.smollm2()
    read = reader(tokenizer, "plain", 100)
    rows = [labelled(Example(f"Q{n % 7}", f"a{n}", (), RIGHT), read, "\n") for n in range(40)]
    found = [row for row in rows if row is not None]
    train, out = parted(found, 0.3, seed=0)
    assert len(train) + len(out) == 40
    assert not {r.problem for r in train} & {r.problem for r in out}
    assert len({r.problem for r in out}) == 2
    assert parted(found, 0.3, seed=0) == (train, out)
    assert parted(found, 0.01, seed=0)[1]
    assert token_counts(found)[0] == 0
