"""AIME's sets in the shapes that the hub has them, files of one's own, repeats, and overlaps between sets."""

from __future__ import annotations

import csv
import json
import os
from pathlib import Path
from typing import Any

import datasets
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tasks.aime import SETS, AIMERow, load, prompt, read
from tasks.errors import TaskError
from tasks.overlap import fingerprint, overlaps

VERL = (
    "Solve the following math problem step by step. The last line of your response should be of the form Answer: "
    "$Answer (without quotes) where $Answer is the answer to the problem.\n\n{}\n\n"
    'Remember to put your answer on its own line after "Answer:".'
)


def verl(problem: str, answer: str, index: str = "0") -> dict[str, Any]:
    return {
        "data_source": "math_dapo",
        "prompt": [{"role": "user", "content": VERL.format(problem)}],
        "ability": "MATH",
        "reward_model": {"ground_truth": answer, "style": "rule-lighteval/MATH_v2"},
        "extra_info": {"index": index},
    }


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> dict[tuple[str, str | None], dict[str, list[dict[str, Any]]]]:
    """A hub that holds what a test puts into it."""
    held: dict[tuple[str, str | None], dict[str, list[dict[str, Any]]]] = {}

    def load_dataset(name: str, config: str | None = None) -> dict[str, datasets.Dataset]:
        if (name, config) not in held:
            raise ConnectionError(f"Couldn't reach {name}\nand a second line")
        return {split: datasets.Dataset.from_list(rows) for split, rows in held[name, config].items()}

    monkeypatch.setattr(datasets, "load_dataset", load_dataset)
    monkeypatch.setattr("tasks.base.lost", lambda name, kind: False)
    return held


def jsonl(path: Path, records: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    return path


def essence(rows: list[AIMERow]) -> list[tuple[str, str, int]]:
    return [(row.id, row.problem, row.answer) for row in rows]


# -- the shapes of the hub's sets --------------------------------------------------------------------------------------

ONE, TWO = "How many squares are there?", "Find $x$."
SHAPES = {
    "HuggingFaceH4/aime_2024": (
        "train",
        [
            {"id": 60, "problem": ONE, "solution": "So \\boxed{25}", "answer": "025", "url": "u", "year": "2024"},
            {"id": 61, "problem": TWO, "solution": "So \\boxed{336}", "answer": "336", "url": "u", "year": "2024"},
        ],
        ["60", "61"],
    ),
    "Maxwell-Jia/AIME_2024": (
        "train",
        [
            {"ID": "2024-I-1", "Problem": ONE, "Solution": "So 25.", "Answer": 25},
            {"ID": "2024-I-2", "Problem": TWO, "Solution": "So 336.", "Answer": 336},
        ],
        ["2024-I-1", "2024-I-2"],
    ),
    "math-ai/aime24": (
        "test",
        [
            {"id": "60", "problem": ONE, "solution": "Long.\n\nSo it is $\\boxed{025}$.", "url": "u"},
            {"id": "61", "problem": TWO, "solution": "\\boxed{336}", "url": "u"},
        ],
        ["60", "61"],
    ),
    "math-ai/aime25": (
        "test",
        [{"problem": ONE, "answer": "25", "id": "0"}, {"problem": TWO, "answer": "336", "id": "1"}],
        ["0", "1"],
    ),
    "MathArena/aime_2025": (
        "train",
        [
            {"problem_idx": 1, "answer": 25, "problem": ONE, "problem_type": ["Geometry"]},
            {"problem_idx": 2, "answer": 336, "problem": TWO, "problem_type": ["Algebra"]},
        ],
        ["1", "2"],
    ),
    "yentinglin/aime_2025": (
        "train",
        [
            {"id": "a", "problem": ONE, "answer": "25", "solution": "", "url": "u", "year": "2025"},
            {"id": "b", "problem": TWO, "answer": "336", "solution": "", "url": "u", "year": "2025"},
        ],
        ["a", "b"],
    ),
    "AI-MO/aimo-validation-aime": (
        "train",
        [
            {"id": 0, "problem": ONE, "solution": "\\boxed{3} then \\boxed{025}", "answer": "25", "url": "u"},
            {"id": 1, "problem": TWO, "solution": "", "answer": "336", "url": "u"},
        ],
        ["0", "1"],
    ),
    "di-zhang-fdu/AIME_1983_2024": (
        "train",
        [
            {"ID": "1983-1", "Year": 1983, "Problem Number": 1, "Question": ONE, "Answer": "25", "Part": None},
            {"ID": "1983-2", "Year": 1983, "Problem Number": 2, "Question": TWO, "Answer": "336", "Part": "I"},
        ],
        ["1983-1", "1983-2"],
    ),
    "MultiturnRL/AIME25": (
        "aime25",
        [{"question": ONE, "expected_answer": 25.0}, {"question": TWO, "expected_answer": 336.0}],
        ["1", "2"],
    ),
    "POLARIS-Project/Polaris-Dataset-53K": (
        "train",
        [
            {"problem": ONE, "answer": "25", "difficulty": "3/8"},
            {"problem": TWO, "answer": "336", "difficulty": "0/8"},
        ],
        ["1", "2"],
    ),
    "BytedTsinghua-SIA/AIME-2024": ("train", [verl(ONE, "25", "7"), verl(TWO, "336", "8")], ["1", "2"]),
    "open-r1/DAPO-Math-17k-Processed": (
        "train",
        [
            {"prompt": ONE, "solution": "25", "source_prompt": [], "reward_model": {"ground_truth": "25"}},
            {"prompt": TWO, "solution": "336", "source_prompt": [], "reward_model": {"ground_truth": "336"}},
        ],
        ["1", "2"],
    ),
}


@pytest.mark.parametrize("name", SHAPES)
def test_a_set_of_the_hub(hub: dict[Any, Any], name: str) -> None:
    split, records, ids = SHAPES[name]
    hub[name, None] = {split: records}
    rows = load(name)
    assert essence(rows) == [(ids[0], ONE, 25), (ids[1], TWO, 336)]
    assert {row.source for row in rows} == {name}


def test_the_other_columns_are_kept(hub: dict[Any, Any]) -> None:
    split, records, _ = SHAPES["HuggingFaceH4/aime_2024"]
    hub["HuggingFaceH4/aime_2024", None] = {split: records}
    row = load("aime_2024")[0]
    assert row.extra == {"solution": "So \\boxed{25}", "url": "u", "year": "2024"}
    assert json.loads(json.dumps(row.to_dict()))["problem"] == ONE


@pytest.mark.parametrize("name", ["aime_2025", "opencompass/AIME2025"])
def test_both_configs_are_one_set(hub: dict[Any, Any], name: str) -> None:
    hub["opencompass/AIME2025", "AIME2025-I"] = {"test": [{"question": ONE, "answer": "70"}]}
    hub["opencompass/AIME2025", "AIME2025-II"] = {"test": [{"question": TWO, "answer": "336^\\circ"}]}
    assert essence(load(name)) == [("AIME2025-I-1", ONE, 70), ("AIME2025-II-1", TWO, 336)]
    assert essence(load("opencompass/AIME2025:AIME2025-II")) == [("1", TWO, 336)]


def test_both_sets_of_a_year_are_one(hub: dict[Any, Any]) -> None:
    hub["MathArena/aime_2024_I", None] = {"train": [{"problem_idx": 1, "problem": ONE, "answer": 25}]}
    hub["MathArena/aime_2024_II", None] = {"train": [{"problem_idx": 1, "problem": TWO, "answer": 336}]}
    assert [row.id for row in load("MathArena/aime_2024")] == ["aime_2024_I-1", "aime_2024_II-1"]


def test_a_problem_that_is_repeated_is_one(hub: dict[Any, Any]) -> None:
    rows = [verl(ONE, "25"), verl(TWO, "336"), verl(ONE.replace(" ", "  "), "025")] * 32
    hub["BytedTsinghua-SIA/AIME-2024", None] = {"train": rows}
    found = read("BytedTsinghua-SIA/AIME-2024")
    assert essence(found.rows) == [("1", ONE, 25), ("2", TWO, 336)]
    assert found.repeated == {"1": 63, "2": 31}
    assert found.dropped == []


def test_other_mathematics_is_left_out_of_sets_that_are_known_to_hold_it(hub: dict[Any, Any]) -> None:
    problems = [(ONE, "25"), ("a?", "1/3"), ("b?", "-4"), ("c?", "1000"), ("d?", "7"), ("d?", "8"), ("e?", "x^2")]
    hub["BytedTsinghua-SIA/DAPO-Math-17k", None] = {"train": [verl(*pair) for pair in problems * 3]}
    found = read("dapo")
    assert essence(found.rows) == [("1", ONE, 25)]
    assert len(found.dropped) == 5
    assert found.dropped[0].endswith("row 2: its answer is '1/3': it should be an integer from 0 to 999")
    assert any("row 6 has the problem of row 5, and another answer: 8, not 7" in line for line in found.dropped)
    with pytest.raises(TaskError, match="row 2: its answer is '1/3'"):
        read("dapo", drop=False)


def test_a_file_of_that_name_is_not_known_to(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    jsonl(tmp_path / "polaris.jsonl", [{"problem": ONE, "answer": 25}, {"problem": TWO, "answer": "1/3"}])
    with pytest.raises(TaskError, match="row 2: its answer is '1/3'"):
        load("polaris.jsonl")
    found = read("polaris.jsonl", drop=True)
    assert (len(found.rows), len(found.dropped)) == (1, 1)


@pytest.mark.parametrize("name", SETS)
def test_what_a_short_name_stands_for_is_asked_of_the_hub(hub: dict[Any, Any], name: str) -> None:
    for i, part in enumerate(SETS[name]):
        repo, _, config = part.partition(":")
        hub[repo, config or None] = {"train": [{"problem": f"Problem {i}", "answer": i}]}
    assert [row.answer for row in load(name)] == list(range(len(SETS[name])))


def test_a_hub_that_cannot_be_reached_is_one_line(hub: dict[Any, Any]) -> None:
    with pytest.raises(TaskError, match="HuggingFaceH4/aime_2024: `datasets` cannot load it: Couldn't reach") as error:
        load("aime_2024")
    assert "\n" not in str(error.value)


# -- files -------------------------------------------------------------------------------------------------------------

RECORDS = [{"problem": ONE, "answer": "025", "year": 2024}, {"problem": TWO, "answer": "336", "year": 2025}]


@pytest.mark.parametrize("kind", ["jsonl", "json", "csv", "parquet"])
def test_a_file(tmp_path: Path, kind: str) -> None:
    path = tmp_path / f"mine.{kind}"
    if kind == "jsonl":
        jsonl(path, RECORDS)
    elif kind == "json":
        path.write_text(json.dumps(RECORDS))
    elif kind == "csv":
        with path.open("w", newline="") as file:
            writer = csv.DictWriter(file, list(RECORDS[0]))
            writer.writeheader()
            writer.writerows(RECORDS)
    else:
        pq.write_table(pa.Table.from_pylist(RECORDS), path)
    assert essence(load(path)) == [("1", ONE, 25), ("2", TWO, 336)]
    assert essence(load(str(path), limit=1)) == [("1", ONE, 25)]


def test_columns_of_ones_own(tmp_path: Path) -> None:
    records = [{"key": "k1", "ask": ONE, "meta": {"gold": {"value": "25"}}, "part": "test", "answer": "no"}]
    path = jsonl(tmp_path / "mine.jsonl", records)
    columns = {"id": "key", "problem": "ask", "answer": "meta.gold.value", "split": "part"}
    assert essence(load(path, columns=columns)) == [("k1", ONE, 25)]
    assert load(path, columns=columns, split="test")[0].extra["split"] == "test"
    with pytest.raises(TaskError, match="no rows to use with split train"):
        load(path, columns=columns, split="train")


def test_a_column_of_json_in_csv(tmp_path: Path) -> None:
    path = tmp_path / "mine.csv"
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerows([["prompt", "reward_model"], [ONE, '{"ground_truth": "25"}'], [TWO, "{no json"]])
    with pytest.raises(TaskError, match=r"row 2: 'reward_model\.ground_truth' is not JSON"):
        load(path)
    path.write_text(path.read_text().replace("{no json", '"{""ground_truth"": 336}"'))
    assert [row.answer for row in load(path)] == [25, 336]


def test_a_gold_in_the_solution_alone(tmp_path: Path) -> None:
    path = jsonl(tmp_path / "mine.jsonl", [{"question": ONE, "solution": "So $1 + 24 = \\boxed{025}$ squares."}])
    assert load(path)[0].answer == 25


def test_parts_of_a_set_that_has_none(tmp_path: Path) -> None:
    records = [{"problem": f"What is {i}?", "answer": i} for i in range(50)]
    path = jsonl(tmp_path / "mine.jsonl", records)
    train, test = load(path, split="train"), load(path, split="test")
    assert (len(train), len(test)) == (40, 10)
    assert {row.id for row in train} | {row.id for row in test} == {str(n) for n in range(1, 51)}
    again = jsonl(tmp_path / "again.jsonl", records[::-1])
    assert {row.problem for row in load(again, split="test")} == {row.problem for row in test}


def test_parts_that_the_rows_name(tmp_path: Path) -> None:
    records = [{"problem": f"{i}?", "answer": i, "split": "test" if i % 2 else "train"} for i in range(6)]
    path = jsonl(tmp_path / "mine.jsonl", records)
    assert [row.answer for row in load(path, split="test")] == [1, 3, 5]
    assert len(load(path)) == 6


@pytest.mark.parametrize(
    ("records", "said"),
    [
        ([], "no rows in it"),
        (
            [{"problem": ONE, "gold_number": 3}],
            "no column of answers .* it has problem, gold_number: .*answer=NAME",
        ),
        ([{"text": ONE, "answer": 3}], "no column of problems .* it has text, answer"),
        ([{"problem": ONE, "answer": "3"}, {"problem": TWO, "answer": "1/3"}], "row 2: its answer is '1/3'"),
        ([{"problem": ONE, "answer": 1000}], "row 1: its answer is 1000"),
        ([{"problem": ONE, "answer": -1}], "row 1: its answer is -1"),
        ([{"problem": ONE, "answer": None}], "row 1: its answer is empty"),
        ([{"problem": ONE, "answer": ""}], "row 1: its answer is empty"),
        ([{"problem": ONE, "answer": 2.5}], "row 1: its answer is 2.5"),
        ([{"problem": ONE, "answer": "x" * 500}], r"row 1: its answer is 'x{60}\.\.\.'"),
        ([{"id": "a7", "problem": ONE, "answer": "none"}], r"row a7 \(number 1\): its answer is 'none'"),
        ([{"problem": "  ", "answer": 3}], "row 1 has no text in its column 'problem'"),
        ([{"problem": ONE, "answer": n} for n in (3, 4)], "row 2 has the problem of row 1, .* 4, not 3"),
        (
            [{"id": 1, "problem": ONE, "answer": 3}, {"id": 1, "problem": TWO, "answer": 4}],
            "two problems have the id '1'",
        ),
    ],
)
def test_what_is_wrong_with_a_file_is_said_in_one_line(
    tmp_path: Path, records: list[dict[str, Any]], said: str
) -> None:
    path = jsonl(tmp_path / "mine.jsonl", records)
    with pytest.raises(TaskError, match=said) as error:
        load(path)
    assert "\n" not in str(error.value)
    assert "mine.jsonl" in str(error.value)


def test_wrong_arguments(tmp_path: Path) -> None:
    path = jsonl(tmp_path / "mine.jsonl", RECORDS)
    with pytest.raises(TaskError, match="no such thing as gold; it maps problem, answer, id, split"):
        load(path, columns={"gold": "x"})
    with pytest.raises(TaskError, match="no column 'x' for answer; it has problem, answer, year"):
        load(path, columns={"answer": "x"})
    with pytest.raises(TaskError, match="no column 'x' for answer"):
        load(path, columns={"answer": "x.y"})
    with pytest.raises(TaskError, match="limit is 0"):
        load(path, limit=0)
    with pytest.raises(TaskError, match="no such file"):
        load(tmp_path / "none.jsonl")
    with pytest.raises(TaskError, match="neither a file"):
        load("what is this?")
    with pytest.raises(TaskError, match="arithmetic:5: the levels are arithmetic:1, "):
        load("arithmetic:5")


def test_problems_that_are_made_here() -> None:
    assert len(load("arithmetic:1", limit=5)) == 5
    assert load("arithmetic:2", split="test", limit=1)[0].extra["split"] == "test"


@pytest.mark.parametrize("form", ["steps", "boxed", "plain"])
def test_the_problem_is_what_is_asked(form: Any) -> None:
    assert prompt(ONE, form).startswith(ONE)
    assert ("<final>" in prompt(ONE, form)) == (form == "steps")
    assert ("\\boxed{}" in prompt(ONE, form)) == (form == "boxed")


def test_another_form_is_refused() -> None:
    with pytest.raises(TaskError, match="form is one of steps, boxed, plain"):
        prompt(ONE, "tags")  # type: ignore[arg-type]


# -- overlaps ----------------------------------------------------------------------------------------------------------

LONG = (
    "A baker packs $48$ rolls in trays of $n$ and 30 loaves in baskets of $k$, so that no tray or basket is half full"
)
END = "The result is m/n, where m and n are relatively prime positive integers. Find m+n."


def test_a_problem_in_other_dress_is_named() -> None:
    again = LONG.replace("$", "").replace("half full", "half empty").upper()
    [found] = overlaps({"t1": "Something else entirely.", "t2": f"Last week {again}"}, {"e1": LONG})
    assert (found.train, found.evaluation) == ("t2", "e1")
    assert 0.5 < found.share < 1
    assert found.words.startswith("a baker packs 48 rolls")


def test_a_common_ending_is_no_overlap_unless_asked_for() -> None:
    train, evaluation = {"t": f"{LONG} {END}"}, {"e": f"A cube is painted on 3 of its sides and cut in 27 parts. {END}"}
    assert overlaps(train, evaluation) == []
    [found] = overlaps(train, evaluation, least=0)
    assert 0 < found.share < 0.7
    assert found.words == "the result is m / n where m"


def test_short_problems_are_compared_whole() -> None:
    assert [o.share for o in overlaps({"t": "Find 2+2."}, {"e": "find $2 + 2$"})] == [1.0]
    assert overlaps({"t": "Find 2+3."}, {"e": "Find 2+2."}, least=0) == []
    assert overlaps({"t": "Find 2-2."}, {"e": "Find 2+2."}, least=0) == []
    assert overlaps({"t": ""}, {"e": ""}) == []


def test_the_nearest_come_first() -> None:
    found = overlaps({"far": LONG[: len(LONG) * 3 // 4], "near": LONG}, {"e": LONG})
    assert [o.train for o in found] == ["near", "far"]


def test_a_fingerprint_keeps_what_changes_a_problem() -> None:
    assert fingerprint("Find  $x$.") == fingerprint("find\\, x.")
    assert fingerprint("Find a+b") != fingerprint("Find a-b")


# -- data that may be at hand ------------------------------------------------------------------------------------------

AIME = Path(os.environ.get("AIME_DATA", Path(__file__).parents[3] / "shared" / "data"))


@pytest.mark.skipif(not AIME.is_dir(), reason="no folder with AIME problems: name one in AIME_DATA")
def test_real_sets() -> None:
    texts = {}
    for file in sorted(AIME.glob("aime*.jsonl")):
        found = read(file, columns={"answer": "answer_raw"})
        assert len(found.rows) == 30
        assert not found.repeated
        assert not found.dropped
        assert [row.answer for row in found.rows] == [row.answer for row in load(file)]
        texts[file.stem] = {row.id: row.problem for row in found.rows}
    assert overlaps(texts["aime2024"], texts["aime2025"]) == []
    assert len(overlaps(texts["aime2024"], texts["aime2024"])) == 30
