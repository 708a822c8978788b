"""Reward models that a config names: how they are written down, and a run that is rewarded by them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
import tiny_trainer
import yaml
from tiny import save_tiny_model

from bot_grpo.cli import main
from bot_grpo.errors import UserError
from bot_grpo.reward_sources import SourceSpec, mixed, open_models, read_sources
from bot_grpo.rewards import unscored
from bot_grpo.rundir import RunDir
from reward_models.base import RewardSignal, Unscored
from reward_models.mixing import Mix

PLUGIN = """
import time
from reward_models.base import RewardSignal, Span, Unscored

class Letters:
    bound = 0.25
    def __init__(self, letter="e", hang=False, fail=False):
        self.letter, self.hang, self.fail = letter, hang, fail
    def score(self, rollouts):
        if self.hang:
            time.sleep(3600)
        if self.fail:
            raise OSError("the server is gone")
        return [self.one(r.completion) for r in rollouts]
    def one(self, text):
        spans = [Span(i, i + 1, -0.25, "the letter") for i, c in enumerate(text) if c == self.letter]
        return RewardSignal(1 - len(spans) / max(1, len(text)), spans)

def length(prompts, completions, **columns):
    return [len(c) / 100 for c in completions]
"""


@pytest.fixture(scope="module")
def plugin(tmp_path_factory: pytest.TempPathFactory) -> str:
    file = tmp_path_factory.mktemp("plugin") / "mine.py"
    file.write_text(PLUGIN)
    return str(file)


def test_the_ways_to_write_sources_down() -> None:
    whole = {"model": "process", "args": {"name": "x"}, "w_g": 2, "w_s": 0.5, "role": "local", "timeout_s": 9}
    assert read_sources(None) == read_sources("") == ()
    assert read_sources("compiler") == (SourceSpec("compiler"),)
    assert read_sources(["compiler", whole]) == (
        SourceSpec("compiler"),
        SourceSpec("process", {"name": "x"}, 2, 0.5, "local", 9),
    )
    assert read_sources(json.dumps(whole)) == read_sources([whole])
    assert read_sources({"model": "steps", "args": None}) == (SourceSpec("steps"),)


BAD: list[tuple[Any, str]] = [
    ("[compiler", "not JSON"),
    ([3], "a name, or a mapping with its `model`"),
    ([{"args": {}}], "with its `model`"),
    ([{"model": "steps", "weight": 1}], "no 'weight'; it has: args, model, role, timeout_s, w_g, w_s"),
    ([{"model": "steps", "args": [1]}], "args of steps is a mapping"),
    ([{"model": "steps", "w_s": -1}], "w_s of steps is a number, 0 or more, not -1"),
    ([{"model": "steps", "w_g": "much"}], "w_g of steps is a number"),
    ([{"model": "steps", "role": "globl"}], "role of steps is one of outcome, local, both"),
    ([{"model": "steps", "timeout_s": 0}], "timeout_s of steps is seconds, above 0"),
]


@pytest.mark.parametrize(("value", "says"), BAD)
def test_what_is_written_down_wrong_is_said(value: Any, says: str) -> None:
    with pytest.raises(UserError) as raised:
        read_sources(value)
    assert says in str(raised.value)


def test_a_single_source_without_weights_is_itself(plugin: str) -> None:
    specs = read_sources(f"{plugin}:Letters")
    assert mixed(specs, models := open_models(specs)) is models[0]
    assert isinstance(mixed(read_sources({"model": "x", "w_g": 2}), models), Mix)


def test_the_reasons_of_a_batch_in_one_line(tmp_path: Path) -> None:
    class Picky(tiny_trainer.StubReward):
        def score(self, rollouts: Any) -> Any:
            return [
                Unscored("too long") if len(r.completion) > 3 else RewardSignal(0.0) if r.completion else None
                for r in rollouts
            ]

    trainer = tiny_trainer.trainer(tmp_path, reward=Picky())
    assert unscored(trainer.collector.batch) == ""
    trainer.collector.score(["q"] * 4, [[65], [65] * 4, [66] * 5, []], ["{}"] * 4)
    trainer.collector.batch = trainer.collector.score(["q"] * 4, [[65], [65] * 4, [66] * 5, []], ["{}"] * 4)
    assert unscored(trainer.collector.batch) == "3 of 4 unscored: too long (and other reasons)"


def test_a_reward_function_of_trls_kind_trains_as_it_is(tmp_path: Path) -> None:
    def short(prompts: list[str], completions: list[str], id: list[int], **columns: Any) -> list[float | None]:
        return [None if i == 0 else -float(len(c)) for c, i in zip(completions, id, strict=True)]

    trainer = tiny_trainer.trainer(tmp_path, reward=short, max_steps=1)
    trainer.train()
    (row,) = tiny_trainer.logged(trainer)
    assert row["reward/outcome"] < 0
    assert row["reward/local"] == 0


# -- a run, as a person starts it -------------------------------------------------------------------------------------

FLAGS = """
    --config react-smollm2-cpu --model_dtype float32 --bf16 false --max_completion_length 16 --cold_start_steps 0
    --eval_strategy no --eval_on_start false --eval_prompts 0 --per_device_train_batch_size 4
    --gradient_accumulation_steps 1 --num_generations 2 --save_steps 50 --lora_r 2
""".split()  # noqa: SIM905


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(save_tiny_model(tmp_path_factory.mktemp("tiny")))


def train(model: str, out: Path, rewards: Any, *flags: str) -> int:
    given = rewards if isinstance(rewards, str) else json.dumps(rewards)
    return main(["train", *FLAGS, "--model", model, "--output_dir", str(out), "--rewards", given, *flags])


def test_a_run_rewarded_by_a_plug_in_and_a_reward_function(
    plugin: str, model: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """No sandbox is started for it: the React reward isn't among its sources."""
    letters = {"model": f"{plugin}:Letters", "args": {"letter": "a"}, "w_s": 2.0}
    sources = [letters, {"model": f"{plugin}:length", "w_g": 0.5, "role": "outcome"}]
    assert train(model, tmp_path / "run", sources, "--max_steps", "2", "--w_s", "1.0", "--w_g", "0.5") == 0
    assert "note: w_g 0.5 <= w_s 1 x bound 0.5" in capsys.readouterr().out
    rows = [r for r in RunDir(tmp_path / "run").read_metrics() if "loss" in r]
    assert {"G/Letters", "S/Letters", "G/length"} <= set(rows[0])
    assert "S/length" not in rows[0]
    for r in pq.read_table(tmp_path / "run" / "rollouts" / "step-00001.parquet").to_pylist():
        text, wanted = r["completion"], [0.0] * len(r["spans"])
        g = 1 - text.count("a") / max(1, len(text)) + 0.5 * len(text) / 100
        assert r["outcome"] == pytest.approx(g)
        for t, (a, b) in enumerate(r["spans"]):
            wanted[t] = -0.5 * (text[a : a + 1] == "a" and b > a)  # the token that begins in the letter
        if all("a" not in text[a + 1 : b] for a, b in r["spans"]):
            assert r["local"] == pytest.approx(wanted)
    written = yaml.safe_load((tmp_path / "run" / "config.yaml").read_text())["rewards"]
    assert [s["model"] for s in written] == [f"{plugin}:Letters", f"{plugin}:length"]
    assert read_sources(written)[0].args == {"letter": "a"}


def test_a_reward_that_hangs_stops_the_run_with_a_checkpoint_after_three_steps(
    plugin: str, model: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = {"model": f"{plugin}:Letters", "args": {"hang": True}, "timeout_s": 1.0}
    assert train(model, tmp_path / "run", source, "--max_steps", "9") == 1
    out = capsys.readouterr().out
    assert "step    1  4 of 4 unscored: Letters took over 1 s, and was ended" in out
    assert "over 50% of the rollouts had no score in 3 steps in a row: 4 of 4 unscored: Letters took over 1 s" in out
    assert "stopped at step 3 of 9" in out
    assert (tmp_path / "run" / "checkpoints" / "checkpoint-3" / "trainer_state.json").exists()
    assert any("no score" in a for r in RunDir(tmp_path / "run").read_metrics() for a in r.get("alarms", []))


@pytest.mark.slow
def test_a_run_goes_on_with_what_is_unscored_where_it_is_allowed_to(
    plugin: str, model: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = {"model": f"{plugin}:Letters", "args": {"fail": True}}
    assert train(model, tmp_path / "run", source, "--max_steps", "4", "--max_unscored", "1.0") == 0
    assert "Letters raised OSError: the server is gone (mine.py:" in capsys.readouterr().out
    rollouts = pq.read_table(tmp_path / "run" / "rollouts" / "step-00004.parquet").to_pylist()
    assert all(not r["scored"] and "the server is gone" in r["reason"] for r in rollouts)


@pytest.mark.browser
def test_the_compiler_is_one_source_among_others(plugin: str, model: str, tmp_path: Path) -> None:
    sources = ["compiler", {"model": f"{plugin}:Letters", "role": "local"}]
    assert train(model, tmp_path / "run", sources, "--max_steps", "1") == 0
    (row,) = [r for r in RunDir(tmp_path / "run").read_metrics() if "loss" in r]
    assert {"compile_rate", "G/compiler", "S/compiler", "S/Letters"} <= set(row)
    rollouts = pq.read_table(tmp_path / "run" / "rollouts" / "step-00001.parquet").to_pylist()
    assert all(r["status"] for r in rollouts)


WRONG = [
    ("{plugin}:Letter", "did you mean 'Letters'"),
    ("compilr", "did you mean 'compiler'"),
    ('{{"model": "{plugin}:Letters", "args": {{"lettr": "x"}}}}', "did you mean 'letter'"),
    ('{{"model": "{plugin}:Letters", "role": "x"}}', "one of outcome, local, both"),
    ('{{"model": "compiler", "args": {{"w_compil": 1}}}}', "w_compil"),
]


@pytest.mark.parametrize(("rewards", "says"), WRONG)
def test_a_bad_source_is_one_line_before_there_is_a_run(
    rewards: str, says: str, plugin: str, model: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert train(model, tmp_path / "run", rewards.format(plugin=plugin)) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert says in error
    assert not (tmp_path / "run").exists()
