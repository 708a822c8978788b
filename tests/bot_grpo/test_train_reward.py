"""`bot-grpo train-reward`, as a person uses it."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest
from tiny import save_tiny_model

from bot_grpo.cli import main
from bot_grpo.rundir import RunDir
from reward_models.learned import Settings


def rows(problems: int = 12) -> list[dict[str, Any]]:
    """The word "bad" is wrong."""
    rng = random.Random(0)
    out = []
    for n in range(problems):
        for _ in range(3):
            words = [rng.choice(["red", "blue", "one", "two", "bad"]) for _ in range(5)]
            text = " ".join(words)
            start = text.find("bad")
            spans = [[start, start + 3, -1, "bad"]] if start >= 0 else []
            out.append({"prompt": f"Problem {n}", "completion": text, "spans": spans})
    return out


def write(path: Path, records: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_tiny_model(tmp_path_factory.mktemp("tiny"))


def command(data: Path, model: Path, output: Path, *more: str) -> list[str]:
    few = ["--max-steps", "4", "--learning-rate", "1e-3", "--device", "cpu", "--held-out", "0.3"]
    return ["train-reward", "--data", str(data), "--model", str(model), "--output", str(output), *few, *more]


def test_train_score_and_check(model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data, output = write(tmp_path / "data.jsonl", rows()), tmp_path / "learned"
    assert main(command(data, model, output)) == 0
    said = capsys.readouterr()
    assert "learning from" in said.out
    assert "of them wrong, weighted up to half" in said.out
    assert f"wrote {output}" in said.out
    assert "step 4/4  loss" in said.err
    assert "\r" not in said.err  # no bar where there is no terminal
    arguments = json.dumps({"model": str(output)})
    assert f"bot-grpo score --reward learned --args '{arguments}'" in said.out
    card = (output / "README.md").read_text()
    assert "data.jsonl: 36 rows, 36 labelled completions" in card
    assert json.loads((output / "metrics.json").read_text())["steps"] == 4

    replies, scores = write(tmp_path / "replies.jsonl", rows(2)), tmp_path / "scores.jsonl"
    score = ["score", "--reward", "learned", "--args", arguments, "--input", str(replies), "--output", str(scores)]
    assert main(score) == 0
    scored = [json.loads(line) for line in scores.read_text().splitlines()]
    assert len(scored) == 6
    assert all(one["unscored"] is None and one["spans"] for one in scored)
    assert all(-1 <= token["local"] <= 0 for one in scored for token in one["tokens"])


def test_a_runs_directory_is_data(model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code = "export default function App() {\n  return <p>{1 +}</p>;\n}"
    found = {"source": "esbuild", "severity": "fatal", "line": 2, "column": 17, "message": "no"}
    run = RunDir(tmp_path / "run")
    run.create(resume=False)
    plain = {"token_ids": [], "spans": [], "local": [], "scored": True, "truncated": False}
    for step in (1, 2):
        run.write_rollouts(
            f"step-{step:05d}",
            [
                {"prompt": f"P{n}", "completion": code + " " * step, "status": status, "diagnostics": marks, **plain}
                for n in range(4)
                for status, marks in (("compile_error", [found]), ("no_code", []))
            ],
        )
    assert main(command(tmp_path / "run", model, tmp_path / "out")) == 0
    assert "16 rows, 8 labelled completions" in (tmp_path / "out" / "README.md").read_text()


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("", "the data holds no labelled row"),
        ('{"prompt": "p", "completion": "abc", "spans": [[0, 9, -1]]}', "data.jsonl:1: span 1 is [0, 9)"),
        ('{"prompt": "p"}', "data.jsonl:1 has prompt; a labelled row has"),
        ("nonsense", "data.jsonl:1 is not JSON"),
        ('{"prompt": "p", "completion": "abc", "spans": [[0, 2, -1]]}', "are of one problem"),
    ],
)
def test_bad_data_is_one_line(
    content: str, said: str, model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = tmp_path / "data.jsonl"
    data.write_text(content)
    assert main(command(data, model, tmp_path / "out")) == 2
    error = capsys.readouterr().err
    assert said in error
    assert error.count("\n") == 1
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (["--held-out", "2"], "--held-out is a share"),
        (["--batch-size", "0"], "--batch-size is a number above 0"),
        (["--labels", "some"], "invalid choice"),
        (["--split", "("], "is no regular expression"),
        (["--model", "smollm2-135"], "did you mean"),
        (["--model", "./nowhere"], "there is no such folder"),
    ],
)
def test_a_bad_setting_is_one_line_and_exit_code_2(
    more: list[str], said: str, model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = write(tmp_path / "data.jsonl", rows())
    assert main(command(data, model, tmp_path / "out", *more)) == 2
    error = capsys.readouterr().err
    assert said in error
    assert error.count("\n") == 1


def test_a_folder_that_holds_something_is_left_alone(
    model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data, output = write(tmp_path / "data.jsonl", rows()), tmp_path / "out"
    output.mkdir()
    (output / "mine.txt").write_text("mine")
    assert main(command(data, model, output)) == 2
    assert "is not empty; choose another --output" in capsys.readouterr().err
    assert [p.name for p in output.iterdir()] == ["mine.txt"]


def test_a_killed_training_goes_on_with_what_it_began_with_and_nothing_else(
    model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The kill comes when all steps are done, and the model is half-written."""

    def killed(*args: Any) -> None:
        raise KeyboardInterrupt

    data, output = write(tmp_path / "data.jsonl", rows()), tmp_path / "out"
    with monkeypatch.context() as patch:
        patch.setattr(Settings, "write", killed)
        assert main(command(data, model, output, "--resume")) == 130
    assert f"nothing to go on from: {output} begins anew" in capsys.readouterr().out
    other = write(tmp_path / "other.jsonl", rows(13))
    for again, said in (
        (command(other, model, output, "--resume"), "--data has changed: the rows are others"),
        (command(data, model, output, "--resume", "--seed", "5"), "--seed has changed: it was 0, and is 5"),
        (command(data, model, output), "or go on with --resume"),
    ):
        assert main(again) == 2
        error = capsys.readouterr().err
        assert said in error
        assert error.count("\n") == 1
    assert main(command(data, model, output, "--resume")) == 0
    assert "going on from" in capsys.readouterr().out
    assert not (output / "checkpoints").exists()
    assert main(command(data, model, tmp_path / "straight")) == 0
    one, two = (json.loads((path / "metrics.json").read_text()) for path in (output, tmp_path / "straight"))
    assert {**one, "seconds": 0} == {**two, "seconds": 0}
    assert (output / "model.safetensors").read_bytes() == (tmp_path / "straight" / "model.safetensors").read_bytes()
    assert main(command(data, model, output, "--resume")) == 2
    assert "holds no training to go on with" in capsys.readouterr().err


def test_csv_holds_spans_as_json(model: Path, tmp_path: Path) -> None:
    lines = ["prompt,completion,spans"]
    lines += [f'Q{n},one bad two,"[[4, 7, -1]]"' for n in range(6)]
    (tmp_path / "data.csv").write_text("\n".join(lines) + "\n")
    assert main(command(tmp_path / "data.csv", model, tmp_path / "out")) == 0
