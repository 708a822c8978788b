"""`bot-grpo eval` and `bot-grpo regrade` as a person uses them: killed, run again, graded again, compared, mistaken."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from eval_runs import knows, save_policy, write_problems
from judge_server import JudgeServer, judge_server
from werkzeug import Response

from bot_grpo.backends import sample_seed
from bot_grpo.cli import main
from tasks.react import load_react

N = 6


@pytest.fixture(scope="module")
def policy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_policy(tmp_path_factory.mktemp("policy"))


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_problems(tmp_path_factory.mktemp("data") / "problems.jsonl")


@pytest.fixture
def server() -> Iterator[JudgeServer]:
    with judge_server() as server:
        server.answers = knows
        yield server


def on_disk(policy: Path, data: Path, out: Path, *more: str) -> list[str]:
    """A command with the tiny model: 30 samples of 60 tokens in batches of 6."""
    return [
        *("eval", "aime", "--model", str(policy), "--data", str(data), "--n", str(N), "--answer-form", "plain"),
        *("--max-tokens", "60", "--temperature", "0.9", "--batch-size", "6", "--output", str(out), *more),
    ]


def asked(server: JudgeServer, data: Path, out: Path, *more: str) -> list[str]:
    return [
        *("eval", "aime", "--backend", "openai", "--model", "m", "--base-url", server.url, "--data", str(data)),
        *("--n", str(N), "--answer-form", "plain", "--output", str(out), *more),
    ]


def samples(out: Path) -> list[dict[str, Any]]:
    rows = pq.read_table(out / "samples.parquet").to_pylist()
    return [{k: v for k, v in row.items() if k != "seconds"} for row in rows]


def figures(out: Path) -> dict[str, Any]:
    found = json.loads((out / "results.json").read_text())
    return {k: v for k, v in found.items() if k not in {"seconds", "tokens_per_second", "sessions"}}


# -- kill and run again -----------------------------------------------------------------------------------------------


def test_a_killed_run_goes_on_to_the_samples_and_grades_of_an_unbroken_one(
    policy: Path, data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A real process and a real SIGKILL, once something is on disk and before all is."""
    out, journal = tmp_path / "killed", tmp_path / "killed" / "samples.jsonl"
    command = [sys.executable, "-m", "bot_grpo", *on_disk(policy, data, out)]
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + 240
    while not (journal.exists() and journal.stat().st_size) and child.poll() is None and time.monotonic() < deadline:
        time.sleep(0.002)
    child.send_signal(signal.SIGKILL)
    child.wait()
    had = len(journal.read_text().splitlines())
    assert had > 0, "it was killed before it had sampled anything"
    assert not (out / "results.json").exists()
    assert main(on_disk(policy, data, out)) == 0
    said = capsys.readouterr().out
    assert f"5 problems x 6 samples = 30, {had} of them on disk" in said or had == 30
    assert main(on_disk(policy, data, tmp_path / "whole")) == 0
    assert samples(out) == samples(tmp_path / "whole")
    assert figures(out) == figures(tmp_path / "whole")


def test_ctrl_c_says_what_there_is_and_the_same_command_asks_for_the_rest_alone(
    server: JudgeServer, data: Path, tmp_path: Path
) -> None:
    def answers(body: dict[str, Any]) -> str:
        if server.calls > 8:
            time.sleep(20)
        return knows(body)

    server.answers = answers
    command = [sys.executable, "-m", "bot_grpo", *asked(server, data, tmp_path / "out", "--concurrency", "2")]
    child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    deadline = time.monotonic() + 240
    while server.calls < 9 and child.poll() is None and time.monotonic() < deadline:
        time.sleep(0.05)
    time.sleep(0.5)
    child.send_signal(signal.SIGINT)
    _, stderr = child.communicate(timeout=60)
    assert child.returncode == 130
    have = len((tmp_path / "out" / "samples.jsonl").read_text().splitlines())
    assert have >= 7
    assert f"{have} of 30 samples are in {tmp_path / 'out'}; the same command goes on" in stderr
    server.answers, before = knows, server.calls
    assert main(asked(server, data, tmp_path / "out")) == 0
    assert server.calls - before == 30 - have


def test_a_finished_evaluation_is_counted_again_without_a_model(
    server: JudgeServer, data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(asked(server, data, tmp_path / "out")) == 0
    calls = server.calls
    assert calls == 30
    first = figures(tmp_path / "out")
    assert main(asked(server, data, tmp_path / "out", "--k", "1,6")) == 0
    assert server.calls == calls
    again = figures(tmp_path / "out")
    assert [p["k"] for p in again["pass_at_k"]] == [1, 6]
    assert again["per_problem"] == first["per_problem"]
    right = {i: sum(sample_seed(0, f"p{i}", k) % 3 > 0 for k in range(N)) for i in range(5)}
    assert {p["id"]: p["correct"] for p in first["per_problem"]} == {f"p{i}": c for i, c in right.items()}
    out = capsys.readouterr().out
    assert f"Pass@1            {100 * sum(right.values()) / 30:.1f} %" in out
    assert f"wrote results.json, samples.parquet and report.html in {tmp_path / 'out'}" in out


# -- a server that fails ----------------------------------------------------------------------------------------------


def test_what_a_server_does_not_answer_is_said_and_asked_for_again(
    server: JudgeServer, data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lost = {sample_seed(0, "p1", 2), sample_seed(0, "p4", 0)}
    server.answers = lambda body: Response("oops", status=500) if body["seed"] in lost else knows(body)
    assert main(asked(server, data, tmp_path / "out", "--retries", "0")) == 2
    said = capsys.readouterr().err
    assert "2 of 30 samples could not be had: the server answers 500: oops" in said
    assert "the same command asks for the rest" in said
    assert not (tmp_path / "out" / "results.json").exists()
    assert main(["regrade", str(tmp_path / "out")]) == 0
    assert "28 of 30 samples: the evaluation is not finished" in capsys.readouterr().out
    server.answers, before = knows, server.calls
    assert main(asked(server, data, tmp_path / "out")) == 0
    assert server.calls - before == 2


# -- grading again, comparing -----------------------------------------------------------------------------------------


def test_regrading_says_which_verdicts_have_changed(
    server: JudgeServer, data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    assert main(asked(server, data, out)) == 0
    before = samples(out)
    capsys.readouterr()
    assert main(["regrade", str(out)]) == 0
    assert "0 of 30 verdicts are others than before" in capsys.readouterr().out
    assert samples(out) == before
    problems = out / "problems.jsonl"
    problems.write_text(problems.read_text().replace('"answer": 21', '"answer": 999'))
    assert main(["regrade", str(out), "--k", "1"]) == 0
    text = capsys.readouterr().out
    changed = sum(row["problem"] == "p3" and row["answer"] in ("21", "999") for row in before)
    assert f"{changed} of 30 verdicts are others than before" in text
    assert "p3, sample 0: was right, is wrong (another integer)" in text or "was wrong, is right" in text
    (out / "samples.jsonl").unlink()
    assert main(["regrade", str(out)]) == 0
    assert "0 of 30 verdicts are others than before" in capsys.readouterr().out


def test_comparing_gives_the_paired_difference(
    server: JudgeServer, data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(asked(server, data, tmp_path / "a")) == 0
    server.answers = lambda body: "\\boxed{7}"
    assert main(asked(server, data, tmp_path / "b", "--compare", str(tmp_path / "a"))) == 0
    text = capsys.readouterr().out
    a, b = figures(tmp_path / "a"), figures(tmp_path / "b")
    difference = b["pass_at_k"][0]["value"] - a["pass_at_k"][0]["value"]
    assert b["compare"]["differences"][0]["value"] == pytest.approx(difference)
    assert f"Pass@1  {100 * difference:+.1f} points" in text
    assert main(["regrade", str(tmp_path / "a"), "--compare", str(tmp_path / "b")]) == 0
    back = figures(tmp_path / "a")["compare"]["differences"][0]["value"]
    assert back == pytest.approx(-difference)


def test_the_parquet_is_one_that_other_verbs_read(server: JudgeServer, data: Path, tmp_path: Path) -> None:
    from bot_grpo.replies import read_replies

    assert main(asked(server, data, tmp_path / "out")) == 0
    replies = list(read_replies(tmp_path / "out" / "samples.parquet"))
    assert len(replies) == 30
    assert (replies[0].id, replies[0].prompt) == ("p0/0", "What is 0 times 7?")
    row = samples(tmp_path / "out")[0]
    assert row["completion"] == replies[0].completion
    assert {"correct", "answer", "gold", "reason", "tokens", "truncated", "seed", "boxed"} <= set(row)


# -- React ------------------------------------------------------------------------------------------------------------


@pytest.mark.browser
def test_components_are_judged_in_the_sandbox(
    server: JudgeServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The reference of the prompt; the same with a bracket too much; no code at all. By the sample's number."""
    rows = {row.prompt: row for row in load_react(split="test", tier="tiny")[:1]}
    (row,) = rows.values()
    file = tmp_path / "prompts.jsonl"
    file.write_text(json.dumps({**row.to_dict(), "split": "test"}) + "\n")
    kinds = {sample_seed(0, row.id, k): k for k in range(3)}

    def answers(body: dict[str, Any]) -> str:
        assert body["messages"][0] == {"role": "system", "content": "Answer with one React component, code only."}
        return [row.reference or "", f"{row.reference}\n}})", "I would rather not."][kinds[body["seed"]]]

    server.answers = answers
    command = ["eval", "react", "--backend", "openai", "--model", "m", "--base-url", server.url, "--data", str(file)]
    command += ["--n", "3", "--output", str(tmp_path / "out"), "--k", "1,3"]
    assert main(command) == 0
    text = capsys.readouterr().out
    found = figures(tmp_path / "out")
    assert {name: part["value"] for name, part in found["parts"].items()} == pytest.approx(
        {"compile_rate": 1 / 3, "render_rate": 1 / 3, "requirements": 1 / 3}
    )
    assert [p["value"] for p in found["pass_at_k"]] == pytest.approx([1 / 3, 1.0])
    assert found["statuses"] == {"ok": 1, "compile_error": 1, "no_code": 1}
    assert found["majority"] is None
    assert "requirements met  33.3 %" in text
    graded = samples(tmp_path / "out")
    assert [r["status"] for r in graded] == ["ok", "compile_error", "no_code"]
    assert graded[1]["reason"].startswith("line ")
    calls = server.calls
    assert main(["regrade", str(tmp_path / "out")]) == 0
    assert "0 of 3 verdicts are others than before" in capsys.readouterr().out
    assert server.calls == calls


# -- mistakes ---------------------------------------------------------------------------------------------------------


def refused(command: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    assert main(command) == 2
    error = capsys.readouterr().err
    (line,) = error.strip().splitlines()
    return line


@pytest.mark.parametrize(
    ("more", "says"),
    [
        (["--k", "1,8"], "--k 8 needs at least as many samples a problem, and --n is 6"),
        (["--k", "0,1"], "--k begins at 1"),
        (["--k", "one"], "--k is numbers with commas"),
        (["--n", "0"], "--n is a whole number from 1, not 0"),
        (["--top-p", "0"], "--top-p is above 0, at most 1"),
        (["--temperature", "-1"], "--temperature is a number from 0 to 2"),
        (["--max-tokens", "0"], "--max-tokens is a whole number from 1"),
        (["--columns", "answer"], "write it as problem=NAME,answer=NAME"),
        (["--columns", "answer=gold"], "gold"),
        (["--chat-template", "[1]"], "--chat-template"),
        (["--base-url", "localhost:8000"], "--base-url begins with http"),
        (["--workers", "none"], "--workers is a number from 1"),
        (["--compare", "nowhere"], "--compare nowhere: results.json cannot be read there"),
        (["--data", "nowhere.jsonl"], "nowhere.jsonl: no such file"),
        (["--data", "arithmetic:9"], "arithmetic:1"),
        (["--model", "./nowhere"], "there is no such folder"),
        (["--model", "smollm-135m"], "did you mean 'smollm2-135m'"),
        (["--max-tokens", "120"], "it passes the model's context of 128: at most --max-tokens 108"),
        (["--backend", "openai", "--model", "m"], "set OPENAI_API_KEY, or --base-url"),
    ],
)
def test_a_mistake_is_one_line(
    more: list[str],
    says: str,
    policy: Path,
    data: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    assert says in refused(on_disk(policy, data, tmp_path / "out", *more), capsys)


@pytest.mark.parametrize("name", ["./nowhere", "smollm-135m"])
def test_a_model_that_is_nowhere_leaves_nothing_and_announces_nothing(
    name: str, policy: Path, data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(on_disk(policy, data, tmp_path / "out", "--model", name)) == 2
    assert capsys.readouterr().out == ""
    assert not (tmp_path / "out").exists()


def test_a_mistake_before_the_first_sample_binds_to_nothing(policy: Path, data: Path, tmp_path: Path) -> None:
    assert main(on_disk(policy, data, tmp_path / "out", "--max-tokens", "120")) == 2
    assert main(on_disk(policy, data, tmp_path / "out", "--max-tokens", "4")) == 0


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('{"problem": "2 + 2?", "result": 4}', "result"),
        ("", "no rows"),
        ('{"problem": "2 + 2?", "answer": "four"}', "answer"),
        ('{"problem": "%s", "answer": 4}' % ("x" * 200), "there is no room to answer"),
    ],
    ids=["no answer column", "empty", "no integer", "longer than the context"],
)
def test_bad_data_is_one_line(
    text: str, says: str, policy: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "data.jsonl"
    file.write_text(text)
    assert says in refused(on_disk(policy, file, tmp_path / "out"), capsys)


def test_a_folder_of_other_settings_is_left_alone(
    server: JudgeServer, data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(asked(server, data, tmp_path / "out")) == 0
    before = (tmp_path / "out" / "results.json").read_bytes()
    capsys.readouterr()
    said = refused(asked(server, data, tmp_path / "out", "--temperature", "1"), capsys)
    assert "holds an evaluation with temperature 0.6, and this one has 1.0: choose another --output" in said
    assert (tmp_path / "out" / "results.json").read_bytes() == before
    assert "is" in refused(["regrade", str(tmp_path)], capsys)
    os.remove(tmp_path / "out" / "samples.jsonl")
    os.remove(tmp_path / "out" / "samples.parquet")
    assert "holds no samples" in refused(["regrade", str(tmp_path / "out")], capsys)


def test_a_model_that_train_wrote_is_asked_as_it_was_trained(
    policy: Path, data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = tmp_path / "run"
    shutil.copytree(policy, run / "checkpoints" / "checkpoint-3")
    for place in (run / "model", run):
        shutil.copytree(policy, place, dirs_exist_ok=place == run)
    (run / "config.yaml").write_text("task: aime\nalgorithm: grpo\nanswer_form: steps\nsystem_prompt: Ja.\n")
    short = ["--data", str(data), "--limit", "1", "--n", "1"]
    few = write_problems(tmp_path / "few.jsonl", 1)

    def asked_of(model: Path, *more: str) -> dict[str, Any]:
        out = tmp_path / f"out-{len(list(tmp_path.iterdir()))}"
        command = ["eval", "aime", "--model", str(model), *short, "--data", str(few), "--output", str(out), *more]
        main(command)
        found = json.loads((out / "config.json").read_text())["settings"]
        return {name: found[name] for name in ("answer_form", "system_prompt")}

    trained = {"answer_form": "steps", "system_prompt": "Ja."}
    assert asked_of(run) == asked_of(run / "model") == asked_of(run / "checkpoints" / "checkpoint-3") == trained
    assert f"asked as in {run / 'config.yaml'}" in capsys.readouterr().out
    other = asked_of(run, "--answer-form", "plain", "--system-prompt", "")
    assert other == {"answer_form": "plain", "system_prompt": None}
    assert asked_of(policy) == {"answer_form": "boxed", "system_prompt": None}


def test_help_has_an_example(capsys: pytest.CaptureFixture[str]) -> None:
    for verb in ("eval", "regrade"):
        with pytest.raises(SystemExit):
            main([verb, "--help"])
        assert f"bot-grpo {verb} " in capsys.readouterr().out.partition("examples:")[2]
