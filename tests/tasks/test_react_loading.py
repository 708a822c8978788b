"""Prompts from the bundled file, from files of one's own, and from the hub."""

import csv
import json

import datasets
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tasks import base
from tasks.base import prompt_text, read_records
from tasks.errors import TaskError
from tasks.react import BUNDLED, ReactRow, load_prompts, load_react

CLICK = {"check": "click", "role": "button", "name": "Add", "expect": {"number_delta": 1}}
SEEN = {"check": "text", "text": "Total"}
CHAT = [
    {"role": "system", "content": "You write React."},
    {"role": "user", "content": "Build a clock"},
    {"role": "assistant", "content": "..."},
]
ARENA = [{"role": "user", "content": [{"type": "text", "text": "Build a clock"}]}, {"role": "assistant", "content": []}]


def jsonl(path, records):
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    return path


@pytest.fixture
def hub(monkeypatch):
    """A hub that holds what a test puts into it."""
    held: dict[str, dict] = {}

    def load_dataset(name, config=None):
        if (name, config) not in held:
            raise ConnectionError(f"Couldn't reach {name}\nand a second line")
        return {split: datasets.Dataset.from_list(rows) for split, rows in held[name, config].items()}

    monkeypatch.setattr(datasets, "load_dataset", load_dataset)
    monkeypatch.setattr("tasks.base.lost", lambda name, kind: False)
    return held


# --- the bundled file


def test_the_default_is_the_train_split_of_the_tiny_tier():
    rows = load_react()
    assert {(row.tier, row.split) for row in rows} == {("tiny", "train")}
    assert rows == [row for row in load_react(tier=None, split=None) if (row.tier, row.split) == ("tiny", "train")]


def test_limit_keeps_the_first():
    assert load_react(limit=3) == load_react()[:3]


def test_a_row_goes_through_json_and_back():
    row = load_react(limit=1)[0]
    again = json.loads(json.dumps(row.to_dict()))
    assert again == json.loads(BUNDLED.read_text(encoding="utf-8").splitlines()[0])
    assert ReactRow(**again | {"requirements": tuple(again["requirements"])}) == row


@pytest.mark.parametrize("bad", [{"tier": "huge"}, {"limit": 0}, {"split": "dev"}])
def test_what_is_not_there_is_named(bad):
    with pytest.raises(TaskError) as error:
        load_react(**bad)
    assert "\n" not in str(error.value)
    assert str(next(iter(bad.values()))) in str(error.value)


# --- files


@pytest.mark.parametrize(
    "record",
    [
        {"prompt": "Build a clock"},
        {"Question": "Build a clock"},
        {"INSTRUCTION": " Build a clock\n"},
        {"id": "000001", "instruction": "Build a clock", "ui_instruct": [{"task": "look"}]},
        {"messages": CHAT, "model": "m"},
        {"Messages": json.dumps(CHAT)},
        {"conversation_a": ARENA, "conversation_b": ARENA, "winner": "tie"},
        {"conversations": [{"from": "human", "value": "Build a clock"}, {"from": "gpt", "value": "no"}]},
        {"index": 4, "question": "Build a clock", "checklist": [{"id": 1, "title": "t"}], "class": "Game"},
    ],
)
def test_jsonl_and_parquet_of_many_shapes_give_the_users_words(tmp_path, record):
    pq.write_table(pa.Table.from_pylist([record]), tmp_path / "rows.parquet")
    for path in (jsonl(tmp_path / "rows.jsonl", [record]), tmp_path / "rows.parquet"):
        (row,) = load_prompts(path)
        assert row.prompt == "Build a clock"
        assert row.requirements == ()


def test_requirements_survive_jsonl_parquet_and_csv(tmp_path):
    records = [
        {"id": "a", "prompt": "One", "requirements": [CLICK, SEEN]},
        {"id": "b", "prompt": "Two", "requirements": [SEEN]},
    ]
    pq.write_table(pa.Table.from_pylist(records), tmp_path / "rows.parquet")
    with (tmp_path / "rows.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, ["id", "prompt", "requirements"])
        writer.writeheader()
        writer.writerows([r | {"requirements": json.dumps(r["requirements"])} for r in records])
    expected = load_prompts(jsonl(tmp_path / "rows.jsonl", records))
    assert [row.requirements for row in expected] == [(CLICK, SEEN), (SEEN,)]
    assert load_prompts(tmp_path / "rows.parquet") == expected
    assert load_prompts(tmp_path / "rows.csv") == expected


def test_rows_without_an_id_get_one_that_depends_on_their_place_only(tmp_path):
    rows = load_prompts(jsonl(tmp_path / "p.jsonl", [{"prompt": p} for p in "ab"]))
    assert [row.id for row in rows] == ["row-00001", "row-00002"]


def test_columns_can_be_named(tmp_path):
    path = jsonl(tmp_path / "p.jsonl", [{"ask": "A clock", "checks": [SEEN], "prompt": "no"}])
    (row,) = load_prompts(path, {"prompt": "ASK", "requirements": "checks"})
    assert (row.prompt, row.requirements) == ("A clock", (SEEN,))


def test_a_file_without_splits_is_parted_the_same_way_each_time(tmp_path):
    path = jsonl(tmp_path / "p.jsonl", [{"prompt": f"App {n}"} for n in range(50)])
    train, test = load_react(path=path), load_react(path=path, split="test")
    assert (len(train), len(test)) == (40, 10)
    assert not {row.id for row in train} & {row.id for row in test}
    assert load_react(path=path, split="test") == test


def test_a_line_separator_in_a_string_does_not_end_a_line(tmp_path):
    (tmp_path / "p.jsonl").write_text('{"prompt": "a\u2028b"}\n\n', encoding="utf-8")
    assert [row.prompt for row in load_prompts(tmp_path / "p.jsonl")] == ["a\u2028b"]


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        ("p.jsonl", '{"prompt": "a"}\n{oops\n', ":2: not JSON"),
        ("p.jsonl", "[1]\n", ":1: should be a JSON object"),
        ("p.jsonl", "", "no rows"),
        ("p.json", '{"prompt": "a"}', "list of JSON objects"),
        ("p.csv", "prompt\na,b\n", "row 1 has more cells"),
        ("p.csv", "prompt\n", "no rows"),
        ("p.csv", "title,body\na,b\n", "it has title, body"),
        ("p.csv", "prompt\n\n  \n", "row 1 has no text"),
        ("p.parquet", "this is no parquet", "cannot be read"),
        ("p.txt", "a prompt", "name it .jsonl, .json, .csv, .parquet"),
        ("p.jsonl", '{"id": 1, "prompt": "a"}\n{"id": 1, "prompt": "b"}\n', "row 2 has the id '1'"),
        ("p.jsonl", '{"id": "x", "prompt": "a", "requirements": "[{"}\n', "row x: requirements is not JSON"),
        ("p.jsonl", '{"id": "x", "prompt": "a", "requirements": {"a": 1}}\n', "row x: requirements must be a list"),
        ("p.jsonl", '{"id": "x", "prompt": "a", "requirements": [{"check": "see"}]}\n', "row x: requirement 1"),
    ],
)
def test_bad_files_give_one_line_that_says_what_is_wrong(tmp_path, name, text, says):
    (tmp_path / name).write_text(text, encoding="utf-8")
    with pytest.raises(TaskError) as error:
        load_prompts(tmp_path / name)
    assert says in str(error.value)
    assert "\n" not in str(error.value)
    assert str(tmp_path / name) in str(error.value)


def test_a_folder_that_is_no_data_set_is_not_looked_all_through(tmp_path, monkeypatch):
    monkeypatch.setattr(base, "MOST_FILES", 4)
    monkeypatch.setattr("datasets.load_dataset", lambda *args: pytest.fail("it was looked through"))
    for name in "abcde":
        (tmp_path / name).mkdir()
        (tmp_path / name / "up").symlink_to(tmp_path)
    with pytest.raises(TaskError, match="has over 4 files: give the data set's own folder, or a file"):
        read_records(tmp_path)


def test_missing_files_and_columns_and_strange_sources_are_named(tmp_path):
    with pytest.raises(TaskError, match="no such file"):
        load_prompts(tmp_path / "gone.jsonl")
    with pytest.raises(TaskError, match="neither a file"):
        read_records("what is this?")
    path = jsonl(tmp_path / "p.jsonl", [{"prompt": "a"}])
    with pytest.raises(TaskError, match="no column 'ask' for prompt; it has prompt"):
        load_prompts(path, {"prompt": "ask"})
    with pytest.raises(TaskError, match="no such thing as answer"):
        load_prompts(path, {"answer": "prompt"})


# --- the hub


def test_a_data_set_of_the_hub_with_only_one_split_is_parted(hub):
    hub["arena/prefs", None] = {"test": [{"question_id": str(n), "conversation_a": ARENA} for n in range(10)]}
    assert len(load_react(path="arena/prefs")) == 8
    assert len(load_react(path="arena/prefs", split="test")) == 2


def test_a_data_set_that_keeps_its_splits_apart_keeps_them(hub):
    hub["me/apps", None] = {
        "train": [{"prompt": f"Train {n}"} for n in range(5)],
        "validation": [{"prompt": "Held out"}],
    }
    assert [row.prompt for row in load_react(path="me/apps")] == [f"Train {n}" for n in range(5)]
    assert [row.prompt for row in load_react(path="me/apps", split="test")] == ["Held out"]


def test_a_configuration_follows_a_colon(hub):
    hub["me/apps", "small"] = {"train": [{"prompt": "One"}]}
    assert [row.prompt for row in load_prompts("me/apps:small")] == ["One"]


def test_an_unreachable_hub_is_one_line(hub):
    with pytest.raises(TaskError) as error:
        load_prompts("nobody/nothing")
    assert str(error.value) == "nobody/nothing: `datasets` cannot load it: Couldn't reach nobody/nothing"


def test_several_unknown_splits_have_to_be_chosen_from(hub):
    hub["me/apps", None] = {"easy": [{"prompt": "a"}], "hard": [{"prompt": "b"}]}
    with pytest.raises(TaskError, match="has the splits easy, hard"):
        load_prompts("me/apps")
    assert load_prompts("me/apps", split="hard")[0].prompt == "b"


def test_a_folder_is_read_by_datasets_itself(tmp_path, monkeypatch):
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "cache")
    (tmp_path / "set").mkdir()
    jsonl(tmp_path / "set" / "train.jsonl", [{"messages": CHAT}])
    assert [row.prompt for row in load_prompts(tmp_path / "set")] == ["Build a clock"]


@pytest.mark.parametrize("value", [None, 3, "", "  ", [], [{"role": "assistant", "content": "hi"}], {"content": None}])
def test_no_text_is_no_prompt(value):
    assert prompt_text(value) is None


def test_text_that_only_looks_like_messages_stays_as_it_is():
    assert prompt_text("[{ a list, drawn as boxes") == "[{ a list, drawn as boxes"
