"""`bot-grpo audit`, as a person uses it."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from bot_grpo.audit_samples import read_samples
from bot_grpo.audit_words import limits_words, number_words
from bot_grpo.cli import main
from bot_grpo.rundir import RunDir
from reward_models.audit import CRITERIA, Limits

PLUGIN = '''
import random
from reward_models.base import RewardSignal, Span

class Longer:
    """The longer the better, and never twice the same."""
    bound = 0.5
    def __init__(self, noise=0.0):
        self.noise = noise
    def score(self, rollouts):
        return [self.one(r) for r in rollouts]
    def one(self, rollout):
        if "outcome" in rollout.row or "step" in rollout.row:
            raise ValueError("it can read the answer")
        if "fail" in rollout.completion:
            raise ValueError("it says fail")
        return RewardSignal(len(rollout.completion) / 500 + self.noise * random.random())

class Remembers(Longer):
    """Noise, but never twice another one for the same text."""
    def __init__(self):
        self.known = {}
    def one(self, rollout):
        return self.known.setdefault(rollout.completion, RewardSignal(random.random()))

class Open(Longer):
    closed = False
    def close(self):
        self.closed = True
    def one(self, rollout):
        if self.closed:
            raise ValueError("closed")
        return super().one(rollout)

made = Open()

class Hangs(Longer):
    def one(self, rollout):
        while "hang" in rollout.completion:
            pass
        return RewardSignal(1.0)
'''


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "mine.py").write_text(PLUGIN)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in sums()))
    return tmp_path


def sums(groups: int = 12, size: int = 4) -> list[dict[str, Any]]:
    rng = random.Random(0)
    rows = []
    for number in range(groups * size):
        right, a = number % size < size // 2, rng.randrange(100)
        lines = [f"Step {i}: {a + i} + 2 = {a + i + 2 + (not right) * (i % 2)}." for i in range(rng.randrange(3, 6))]
        rows.append(
            {
                "id": f"r{number}",
                "prompt": f"Add {number // size}.",
                "completion": "\n".join(lines),
                "outcome": right,
                "step": number // size // 4,
            }
        )
    return rows


def error_of(capsys: pytest.CaptureFixture[str]) -> str:
    error = capsys.readouterr().err
    assert error.count("\n") == 1, error
    return error


def test_a_good_reward_beside_a_bad_one(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    flags = ["--reward", "arithmetic", "--reward", "mine.py:Longer", "--args", '{"noise": 0.5}', "--probes", "12"]
    assert main(["audit", *flags, "--input", "rows.jsonl", "--html", "audit.html"]) == 1
    out = capsys.readouterr().out
    assert "auditing arithmetic, Longer on 48 replies in 12 groups of steps 0 to 2, all with an outcome" in out
    (head,) = (line for line in out.split("\n") if line.startswith("criterion"))
    assert head.split() == ["criterion", "threshold", "arithmetic", "Longer"]
    (again,) = (line for line in out.split("\n") if line.startswith("Same input again"))
    assert again.split("above 5 %")[1].split()[:4] == ["good", "0", "%", "bad"]
    assert "Longer: bad: Length. Saying it twice raises" in out
    assert "arithmetic: not measured: Renamed variable. 0 of 12 replies have a place for it" in out
    assert out.split("wrote")[0].rstrip().split("\n")[-2].startswith("arithmetic: ")
    assert "not fit as it is (same input again; batch order; trailing space;" in out
    assert "wrote audit.html" in out
    page = (here / "audit.html").read_text()
    assert page.count('<article class="criterion"') == len(CRITERIA)
    assert "<script" not in page


def test_where_nothing_is_bad_the_exit_code_is_0_and_json_is_all_there_is(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["audit", "--reward", "arithmetic", "--probes", "12", "--input", "rows.jsonl", "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    criteria = {c["name"]: c for c in said["rewards"]["arithmetic"]["criteria"]}
    assert list(criteria) == list(CRITERIA)
    assert criteria["corrupted-line"]["verdict"] == "good"
    assert criteria["corrupted-line"]["limits"] == {"good": 0.75, "bad": 0.5, "more": True}
    assert criteria["rename"] == {
        **criteria["rename"],
        "verdict": "not measured",
        "value": None,
        "means": "0 of 12 replies have a place for it and a score; at least 5 are needed.",
    }
    assert said["about"].startswith("48 replies")


def test_a_threshold_of_ones_own_decides(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    flags = ["--reward", "arithmetic", "--probes", "12", "--input", "rows.jsonl", "--threshold", "corrupted-line=2:1.5"]
    assert main(["audit", *flags]) == 1
    assert "good from 200 %, bad below 150 %" in capsys.readouterr().out


def test_rewards_can_be_audited_as_what_they_add_up_to(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rewards = ["--reward", '{"model": "mine.py:Longer", "w_g": 0.001}', "--reward", "arithmetic", "--mix"]
    main(["audit", *rewards, "--probes", "12", "--input", "rows.jsonl", "--json"])
    (name, one) = json.loads(capsys.readouterr().out)["rewards"].popitem()
    assert name == "Longer + arithmetic"
    assert one["bound"] == 1.5
    assert {c["name"]: c for c in one["criteria"]}["local-within"]["verdict"] != "not measured"


def test_what_raises_is_counted_and_what_hangs_is_ended(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = sums()
    rows[3]["completion"] = "I fail here."
    rows[7]["completion"] = "I hang here."
    (here / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert main(["audit", "--reward", "mine.py:Longer", "--probes", "6", "--input", "rows.jsonl"]) == 1
    out = capsys.readouterr().out
    assert "1 of 48 replies has no score; 1 of them: Longer raised ValueError: it says fail (mine.py:" in out
    flags = ["--reward", "mine.py:Hangs", "--timeout", "3", "--probes", "1", "--limit", "8", "--input", "rows.jsonl"]
    (here / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows[4:8]))
    assert main(["audit", *flags]) == 1
    assert "4 of them: Hangs took over 3 s, and was ended" in capsys.readouterr().out


def test_answers_that_are_only_remembered_are_found_out(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["audit", "--reward", "mine.py:Remembers", "--probes", "6", "--input", "rows.jsonl", "--json"]) == 1
    (one,) = json.loads(capsys.readouterr().out)["rewards"].values()
    verdicts = {c["name"]: c["verdict"] for c in one["criteria"]}
    assert verdicts["repeat"] == "good"
    assert verdicts["order"] == "bad"


def test_a_model_is_asked_no_more_once_it_is_closed(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("mine:made", "mine.py:Open"):
        main(["audit", "--reward", name, "--probes", "6", "--input", "rows.jsonl", "--json"])
        (one,) = json.loads(capsys.readouterr().out)["rewards"].values()
        assert {c["name"]: c["verdict"] for c in one["criteria"]}["order"] == "good"


def test_a_runs_rollouts_have_their_tokens_groups_steps_and_outcomes(here: Path) -> None:
    run = RunDir(here / "run")
    run.create(resume=False)
    for step in (1, 2):
        rows = [
            {
                "step": step,
                "kind": "train",
                "group": n // 2,
                "prompt": f"p{n // 2}",
                "completion": "abc",
                "token_ids": [5, 6, 0],
                "spans": [[0, 1], [1, 3], [3, 3]],
                "outcome": n / 2 if n else None,
                "truncated": n == 1,
                "requirements": [{"check": '{"check": "text", "text": "a"}', "met": True, "reason": ""}],
            }
            for n in range(4)
        ]
        run.write_rollouts(f"step-{step:05d}", rows)
    found = read_samples(here / "run", "smollm2-135m", limit=100, seed=0)
    assert found.about == "8 replies in 4 groups of steps 1 to 2, 6 with an outcome"
    first = found.samples[1]
    assert first.rollout.token_ids == (5, 6, 0)
    assert first.rollout.row == {"prompt": "p0", "requirements": [{"check": "text", "text": "a"}]}
    assert (first.outcome, first.step, first.group, first.rollout.truncated) == (0.5, 1, "train/1/0", True)
    assert found.samples[0].outcome is None
    assert len({s.group for s in found.samples}) == 4


def test_replies_are_drawn_in_whole_groups_by_the_seed(here: Path) -> None:
    pq.write_table(pa.Table.from_pylist(sums()), here / "rows.parquet")
    drawn = [read_samples(here / "rows.parquet", "smollm2-135m", limit=10, seed=seed) for seed in (0, 0, 1)]
    names = [[s.name for s in one.samples] for one in drawn]
    assert names[0] == names[1] != names[2]
    assert len(names[0]) == 8
    assert [len({s.group for s in one.samples}) for one in drawn] == [2, 2, 2]
    assert drawn[0].about.startswith("8 of 48 replies in 2 groups")
    one_group = read_samples(here / "rows.parquet", "smollm2-135m", limit=3, seed=0)
    assert len(one_group.samples) == 3
    text = (here / "rows.jsonl").read_text().replace('"prompt"', '"other"')
    (here / "bare.jsonl").write_text(text)
    assert read_samples(here / "bare.jsonl", "smollm2-135m", limit=99, seed=0).about.startswith(
        "48 replies in 48 groups"
    )


def test_numbers_in_words() -> None:
    assert [number_words(v, "share") for v in (0, 0.0044, 0.5, 0.9999, 1.27)] == [
        "0 %",
        "0.4 %",
        "50 %",
        "100 %",
        "127 %",
    ]
    assert number_words(-0.25, "number") == "−0.25"
    assert number_words(0.0123, "seconds") == "0.012 s"
    assert limits_words(Limits(1, 10), "seconds") == "good to 1 s, bad above 10 s"
    assert limits_words(Limits(0.1, 0.1, more=True), "number") == "good from 0.1, bad below 0.1"


BAD = [
    (["--input", "rows.jsonl"], "name a reward model"),
    (["--reward", "arithmetic"], "--input"),
    (["--reward", "arithmetics", "--input", "rows.jsonl"], "did you mean 'arithmetic'"),
    (["--reward", "arithmetic", "--input", "no.jsonl"], "there is no file no.jsonl"),
    (["--reward", "arithmetic", "--input", "odd.jsonl"], "reply 1: its outcome is 'yes', not a number"),
    (["--reward", "arithmetic", "--input", "rows.jsonl", "--limit", "0"], "--limit: a whole number from 1 is wanted"),
    (["--reward", "arithmetic", "--input", "rows.jsonl", "--seed", "-1"], "--seed"),
    (["--reward", "arithmetic", "--input", "rows.jsonl", "--html", "a.txt"], "must end in .html"),
    (["--reward", "arithmetic", "--input", "rows.jsonl", "--html", "no/a.html"], "there is no folder no"),
    (["--reward", "arithmetic", "--input", "rows.jsonl", "--html", "/proc/a.html"], "cannot write /proc/a.html"),
    (["--reward", "arithmetic", "--input", "rows.jsonl", "--threshold", "lenght=1"], "did you mean 'length'"),
    (["--reward", "arithmetic", "--input", "rows.jsonl", "--threshold", "x=1"], "there are: scored, bounded"),
    (["--reward", "arithmetic", "--input", "rows.jsonl", "--threshold", "length=a"], "not length=GOOD or"),
    (["--reward", "arithmetic", "--input", "rows.jsonl", "--threshold", "length=1:2:3"], "not length=GOOD or"),
    (["--reward", "arithmetic", "--input", "rows.jsonl", "--threshold", "length=0.2:0.1"], "less is better"),
    (["--reward", "arithmetic", "--input", "rows.jsonl", "--threshold", "within=0.1:0.2"], "more is better"),
]


@pytest.mark.parametrize(("arguments", "says"), BAD)
def test_bad_input_of_audit(arguments: list[str], says: str, here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (here / "odd.jsonl").write_text('{"completion": "a", "outcome": "yes"}\n')
    assert main(["audit", *arguments]) == 2
    assert says in error_of(capsys)
