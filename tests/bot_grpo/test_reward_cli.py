"""`bot-grpo new-reward`, `check-reward` and `score`, as a person uses them."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch

from bot_grpo import waiting
from bot_grpo.cli import main
from bot_grpo.replies import Encoder, read_replies
from bot_grpo.rundir import RunDir
from bot_grpo.runrows import rollout_rows
from reward_models.aime import AIMEReward
from reward_models.base import Rollout
from reward_models.contract import TEXTS
from reward_models.scoring import score

PLUGIN = '''
import time
from reward_models.base import RewardSignal, Span, Unscored

class Vowels:
    """G is the share of vowels."""
    def __init__(self, weight=0.5):
        self.bound = abs(weight)
        self.weight = weight
    def score(self, rollouts):
        return [self.one(r) for r in rollouts]
    def one(self, rollout):
        text = rollout.completion
        if "hang" in text:
            time.sleep(3600)
        if text == "?":
            return Unscored("no idea")
        spans = [Span(i, i + 1, self.weight, "a vowel") for i, c in enumerate(text) if c in "aeiou"]
        return RewardSignal(len(spans) / max(1, len(text)), spans)

class Slow(Vowels):
    blocking = True
    def one(self, rollout):
        time.sleep(3600 if "emoji" in repr(rollout.row) or "👩" in rollout.completion else 0)
        return super().one(rollout)

class Loud(Vowels):
    bound = property(lambda self: 0.1, lambda self, value: None)

def solved(prompts, completions, solution, **columns):
    return [float(s in c) for c, s in zip(completions, solution)]
'''


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "mine.py").write_text(PLUGIN)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(waiting, "AFTER_S", 3600.0)  # or a busy machine says more than one line
    return tmp_path


def write_jsonl(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def read_jsonl(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().split("\n") if line]


def error_of(capsys: pytest.CaptureFixture[str], *, begun: bool = False) -> str:
    """The one line on stderr; nothing else was said before it, unless something had `begun`."""
    out, error = capsys.readouterr()
    assert begun or not out
    assert error.count("\n") == 1, error
    return error


# -- new-reward -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["short-lines", "ShortLines", "short lines", "Short_Lines"])
def test_a_new_reward_is_fit_as_it_comes(name: str, here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["new-reward", name]) == 0
    out = capsys.readouterr().out
    assert "bot-grpo check-reward short_lines.py:ShortLines" in out
    assert "bot-grpo train --config react-smollm2-cpu --rewards short_lines.py:ShortLines" in out
    if name == "short-lines":
        assert main(["check-reward", "short_lines.py:ShortLines", "--args", '{"longest": 20}']) == 0


def test_a_new_reward_never_writes_over_a_file(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["new-reward", "other", "--output", "mine.py"]) == 2
    assert "mine.py is there already" in error_of(capsys)
    assert (here / "mine.py").read_text() == PLUGIN


@pytest.mark.parametrize(
    "arguments", [["3x"], ["a/b"], ["None"], ["ok", "--output", "ok.txt"], ["ok", "--output", "no/ok.py"]]
)
def test_a_new_reward_with_a_bad_name_or_place(
    arguments: list[str], here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["new-reward", *arguments]) == 2
    error_of(capsys)


# -- loading ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("verb", ["score", "check-reward"])
def test_a_plug_in_that_takes_long_to_load_is_not_waited_for_in_silence(
    verb: str, here: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(waiting, "AFTER_S", 0.2)
    (here / "late.py").write_text(PLUGIN + "\ntime.sleep(1.5)\n")
    write_jsonl(here / "rows.jsonl", ROWS)
    scored = ["score", "--reward", "late.py:Vowels", "--input", "rows.jsonl", "--output", "o.jsonl"]
    assert main(scored if verb == "score" else ["check-reward", "late.py:Vowels"]) == 0
    told = capsys.readouterr().err
    assert "still loading" in told
    assert "late.py:Vowels" in told
    assert "600 s at most" in told


# -- check-reward -----------------------------------------------------------------------------------------------------


def test_a_fit_reward_is_called_fit(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check-reward", "mine.py:Vowels", "--args", '{"weight": -0.25}']) == 0
    out = capsys.readouterr().out
    assert "Vowels (mine.py:Vowels): bound 0.25, spread every; 8 samples" in out
    assert "s a thousand tokens" in out
    assert out.count("ok    ") == 8
    assert "WRONG" not in out


def test_a_reward_that_needs_rows_says_so(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check-reward", "aime"]) == 2
    told = error_of(capsys, begun=True)
    assert "give --input FILE" in told
    assert "the row's answer is None: it should be an integer from 0 to 999" in told
    write_jsonl(here / "rows.jsonl", [{"prompt": "6 + 1?", "completion": "(final) \\boxed{7}", "answer": 7}])
    assert main(["check-reward", "aime", "--input", "rows.jsonl"]) == 0


def test_what_is_wrong_is_said_with_its_place(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check-reward", "mine.py:Loud"]) == 1
    out = capsys.readouterr().out
    assert "WRONG each sample by itself" in out
    assert "steps: a local reward of 0.5 breaks the bound 0.1" in out
    assert "ok    the same score every time" in out  # of the samples that are left
    assert out.rstrip().split("\n")[-1] == "not fit: 6 problems"


def test_a_reward_that_hangs_is_found_out(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check-reward", "mine.py:Slow", "--timeout", "4"]) == 1
    out = capsys.readouterr().out
    assert "emoji, CJK and combining marks: it did not end within 4 s" in out
    assert "not fit: 1 problem\n" in out


def test_rows_are_asked_about_too_and_give_the_samples_their_fields(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [{"prompt": "1+1?", "completion": "2", "solution": "2"}, {"prompt": "?", "completion": "3", "solution": 3}]
    write_jsonl(here / "rows.jsonl", rows)
    assert main(["check-reward", "mine.py:solved"]) == 1
    assert "it wants the column solution; the rows have: none" in capsys.readouterr().out
    assert main(["check-reward", "mine.py:solved", "--input", "rows.jsonl"]) == 1
    out = capsys.readouterr().out
    assert "10 samples" in out
    assert "row 2: it raised TypeError" in out
    assert "not fit: 1 problem\n" in out


CHECK_BAD = [
    (["mine.py:Vowel"], "did you mean 'Vowels'"),
    (["mine.py:Vowels", "--args", "{x"], "--args is not JSON"),
    (["mine.py:Vowels", "--args", "[1]"], "a JSON object"),
    (["mine.py:Vowels", "--args", '{"wight": 1}'], "did you mean 'weight'"),
    (["mine.py:Vowels", "--input", "no.jsonl"], "there is no file no.jsonl"),
    (["compiler", "--args", '{"w": 1}'], "--args has no w; there are"),
    (["mine.py:Vowels", "--timeout", "0"], "--timeout: a number above 0 is wanted, not '0'"),
    (["mine.py:Vowels", "--slow", "nan"], "--slow: a number above 0 is wanted, not 'nan'"),
    (["mine.py:Vowels", "--tolerance", "-1"], "--tolerance: a number from 0 is wanted, not '-1'"),
    ([], "NAME"),
]


@pytest.mark.parametrize(("arguments", "says"), CHECK_BAD)
def test_bad_input_of_check_reward(
    arguments: list[str], says: str, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["check-reward", *arguments]) == 2
    assert says in error_of(capsys)


# -- score ------------------------------------------------------------------------------------------------------------

ROWS: list[dict[str, Any]] = [
    {"id": "a", "prompt": "Say it.", "completion": "aeb 😀", "solution": "b"},
    {
        "prompt": [{"role": "user", "content": "Chat."}],
        "completion": [{"role": "assistant", "content": "xyz"}],
        "solution": "q",
    },
    {"completion": "?", "solution": "?"},
    {"completion": "", "solution": "", "truncated": True},
]


def test_scores_are_written_on_text_and_on_tokens(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_jsonl(here / "rows.jsonl", ROWS)
    reward = ["--reward", "mine.py:Vowels", "--args", '{"weight": 0.25}', "--w-g", "2", "--w-s", "0.5"]
    assert main(["score", *reward, "--input", "rows.jsonl", "--output", "out.jsonl"]) == 0
    captured = capsys.readouterr()
    assert "3 of 4 replies scored. Tokens are those that smollm2-135m makes of each text" in captured.out
    assert "unscored, 1 of 4: no idea" in captured.err
    a, chat, unscored, empty = read_jsonl(here / "out.jsonl")
    assert (a["id"], a["prompt"], a["outcome"], a["unscored"]) == ("a", "Say it.", 0.4, None)
    assert a["spans"] == [{"start": i, "end": i + 1, "value": 0.25, "reason": "a vowel"} for i in (0, 1)]
    assert "".join(t["text"] for t in a["tokens"]) == a["completion"] == "aeb 😀"
    assert [t["start"] for t in a["tokens"]] == [0, *(t["end"] for t in a["tokens"][:-1])]
    for token in a["tokens"]:
        assert token["reward"] == pytest.approx(2 * 0.4 + 0.5 * token["local"])
    assert any(t["local"] == 0.25 for t in a["tokens"])
    assert (chat["id"], chat["prompt"], chat["completion"], chat["outcome"]) == ("2", "Chat.", "xyz", 0.0)
    assert (unscored["unscored"], unscored["outcome"], unscored["spans"]) == ("no idea", None, [])
    assert all(t["reward"] is None and t["local"] is None for t in unscored["tokens"])
    assert (empty["tokens"], empty["truncated"], empty["unscored"]) == ([], True, None)


def test_several_rewards_add_up_and_each_is_named(here: Path) -> None:
    write_jsonl(here / "rows.jsonl", ROWS)
    rewards = ["--reward", "mine.py:Vowels", "--args", '{"weight": 0.25}']
    rewards += ["--reward", '{"model": "mine.py:solved", "w_g": 10}']
    assert main(["score", *rewards, "--input", "rows.jsonl", "--output", "out.jsonl"]) == 0
    a, chat, *_ = read_jsonl(here / "out.jsonl")
    assert a["outcome"] == pytest.approx(0.4 + 10)
    assert a["metrics"] == pytest.approx(
        {"G/Vowels": 0.4, "S/Vowels": a["metrics"]["S/Vowels"], "G/solved": 10.0, "S/solved": 0.0}
    )
    assert {s["source"] for s in a["spans"]} == {"Vowels"}
    assert chat["outcome"] == 0.0


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_other_kinds_of_files(kind: str, here: Path) -> None:
    rows = [{"id": i, "prompt": "p", "completion": f"line\n{i}, a", "solution": str(i)} for i in range(70)]
    file = here / f"rows.{kind}"
    if kind == "csv":
        with file.open("w", newline="") as out:
            writer = csv.DictWriter(out, list(rows[0]))
            writer.writeheader()
            writer.writerows(rows)
    else:
        pq.write_table(pa.Table.from_pylist(rows), file)
    assert main(["score", "--reward", "mine.py:solved", "--input", str(file), "--output", "out.jsonl"]) == 0
    scored = read_jsonl(here / "out.jsonl")
    assert [row["id"] for row in scored] == [str(i) for i in range(70)]
    assert all(row["outcome"] == 1.0 for row in scored)


def test_a_runs_rollouts_keep_the_tokens_that_were_sampled(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = RunDir(here / "run")
    run.create(resume=False)
    row = {
        "prompt": "p",
        "completion": "aeb",
        "token_ids": [5, 6, 7, 0],
        "spans": [[0, 1], [1, 2], [2, 3], [3, 3]],
        "outcome": 0.5,
        "requirements": [{"check": '{"check": "role", "role": "button"}', "met": True, "reason": ""}],
    }
    for step in (1, 2):
        run.write_rollouts(f"step-{step:05d}", [row])
    assert main(["score", "--reward", "mine.py:Vowels", "--input", "run", "--output", "out.jsonl"]) == 0
    assert "Tokens are those that the rows say were sampled." in capsys.readouterr().out
    first, second = read_jsonl(here / "out.jsonl")
    assert [t["local"] for t in first["tokens"]] == [0.5, 0.5, 0.0, 0.0]
    assert [first["id"], second["id"]] == ["step-00001:1", "step-00002:1"]
    (reply, _) = read_replies(here / "run")
    assert reply.row == {"prompt": "p", "requirements": [{"check": "role", "role": "button"}]}


def test_a_runs_rollouts_keep_the_answer_that_its_reward_reads(here: Path) -> None:
    run = RunDir(here / "run")
    run.create(resume=False)
    rollout = Rollout("1 + 6?", "7", (5,), ((0, 1),), {"answer": 7})
    scored = score(AIMEReward(), [rollout])
    run.write_rollouts("step-00001", rollout_rows(run, 1, "train", 1, scored, torch.zeros(1, 1), None))
    (reply,) = read_replies(here / "run")
    assert reply.row == {"prompt": "1 + 6?", "requirements": [], "answer": "7"}
    assert score(AIMEReward(), [reply.rollout(lambda text: (text, (), ()))])[0].signal == scored[0].signal


def test_a_reward_that_hangs_leaves_what_it_hung_on_unscored(here: Path) -> None:
    write_jsonl(here / "rows.jsonl", [{"completion": "👩 a"}, {"completion": "ab"}])
    flags = ["--reward", "mine.py:Slow", "--timeout", "4", "--input", "rows.jsonl", "--output", "out.jsonl"]
    assert main(["score", *flags]) == 0
    hung, good = read_jsonl(here / "out.jsonl")
    assert hung["unscored"] == "Slow took over 4 s, and was ended"
    assert good["outcome"] == 0.5


def test_where_nothing_could_be_scored_the_exit_code_is_1(here: Path) -> None:
    write_jsonl(here / "rows.jsonl", [{"completion": "?"}])
    assert main(["score", "--reward", "mine.py:Vowels", "--input", "rows.jsonl", "--output", "out.jsonl"]) == 1
    assert len(read_jsonl(here / "out.jsonl")) == 1


def test_bad_input_half_way_leaves_an_earlier_output_as_it_was(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (here / "rows.jsonl").write_text('{"completion": "a"}\n{"completion": 3}\n')
    (here / "out.jsonl").write_text("mine\n")
    assert main(["score", "--reward", "mine.py:Vowels", "--input", "rows.jsonl", "--output", "out.jsonl"]) == 2
    assert "rows.jsonl:2: the completion is neither a text nor a list of messages" in error_of(capsys, begun=True)
    assert (here / "out.jsonl").read_text() == "mine\n"
    assert sorted(p.name for p in here.iterdir() if "out" in p.name) == ["out.jsonl"]


SCORE_BAD = [
    (["--input", "rows.jsonl", "--output", "o.jsonl"], "name a reward model"),
    (["--reward", "mine.py:Vowels", "--input", "rows.jsonl"], "say where to write"),
    (["--reward", "mine.py:Vowels", "--input", "rows.jsonl", "--output", "./rows.jsonl"], "would be lost"),
    (["--reward", "mine.py:Vowels", "--input", "rows.jsonl", "--html", "o.txt"], "must end in .html"),
    (["--reward", "mine.py:Vowels", "--input", "rows.jsonl", "--html", "no/o.html"], "there is no folder no"),
    (["--args", "{}", "--reward", "mine.py:Vowels", "--input", "rows.jsonl", "--output", "o"], "after the --reward"),
    (["--reward", "mine.py:Vowel", "--input", "rows.jsonl", "--output", "o"], "did you mean 'Vowels'"),
    (["--reward", '{"model": "x", "w": 1}', "--input", "rows.jsonl", "--output", "o"], "no 'w'"),
    (["--reward", "mine.py:Vowels", "--input", "no.jsonl", "--output", "o"], "there is no file no.jsonl"),
    (["--reward", "mine.py:Vowels", "--input", "mine.py", "--output", "o"], "name it .jsonl, .csv, .parquet"),
    (["--reward", "mine.py:Vowels", "--input", "empty.jsonl", "--output", "o"], "empty.jsonl has no rows"),
    (["--reward", "mine.py:Vowels", "--input", "bad.jsonl", "--output", "o"], "bad.jsonl:1 is not JSON"),
    (["--reward", "mine.py:Vowels", "--input", "list.jsonl", "--output", "o"], "list.jsonl:1 is list"),
    (["--reward", "mine.py:Vowels", "--input", "other.jsonl", "--output", "o"], "no 'completion'; it has: text"),
    (["--reward", "mine.py:Vowels", "--input", "bad.parquet", "--output", "o"], "bad.parquet cannot be read"),
    (["--reward", "mine.py:Vowels", "--input", "folder", "--output", "o"], "holds no rollouts"),
    (["--reward", "mine.py:Vowels", "--input", "rows.jsonl", "--output", "no/o"], "cannot write no/o"),
    (["--reward", "mine.py:Vowels", "--input", "rows.jsonl", "--output", "/proc/o"], "cannot write /proc/o"),
    (["--reward", "mine.py:Vowels", "--input", "rows.jsonl", "--html", "/proc/o.html"], "cannot write /proc/o.html"),
    (["--reward", "mine.py:Vowels", "--input", "rows.jsonl", "--output", "folder"], "it is a folder"),
    (["--reward", "mine.py:Vowels", "--input", "rows.jsonl", "--output", "o", "--timeout", "0"], "--timeout: a number"),
    (["--reward", "mine.py:Vowels", "--input", "rows.jsonl", "--output", "o", "--w-s", "nan"], "--w-s: a number is"),
    (
        ["--reward", "mine.py:Vowels", "--input", "rows.jsonl", "--output", "o", "--tokenizer", "/no"],
        "no such folder",
    ),
    (
        ["--reward", '{"model": "x", "timeout_s": 0}', "--input", "rows.jsonl", "--output", "o"],
        "--reward: timeout_s of x",
    ),
    (
        ["--reward", "compiler", "--args", '{"w": 1}', "--input", "rows.jsonl", "--output", "o"],
        "--args has no w; there",
    ),
]


@pytest.mark.parametrize(("arguments", "says"), SCORE_BAD)
def test_bad_input_of_score(arguments: list[str], says: str, here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_jsonl(here / "rows.jsonl", ROWS)
    write_jsonl(here / "other.jsonl", [{"text": "a"}])
    for name, text in {"empty.jsonl": "\n", "bad.jsonl": "{", "list.jsonl": "[]", "bad.parquet": "x"}.items():
        (here / name).write_text(text)
    (here / "folder").mkdir()
    assert main(["score", *arguments]) == 2
    assert says in error_of(capsys)


def test_a_text_is_encoded_as_text_even_where_it_spells_a_special_token() -> None:
    from bot_grpo.models import load_tokenizer

    encode = Encoder(load_tokenizer("smollm2-135m"))
    for text in [*TEXTS.values(), "<|im_end|>", "a <|endoftext|> b", "\ud800 lone"]:
        spelled, ids, spans = encode(text)
        assert spelled == text.encode("utf-8", "replace").decode()
        assert len(ids) == len(spans)
        assert [a for a, _ in spans] == [0, *(b for _, b in spans)][: len(spans)]
