"""Dynamic sampling: groups without contrast are refilled from other prompts, within bounds, alike on all processes."""

from __future__ import annotations

import itertools
import logging
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tiny_trainer as tiny
import torch
from golden_batch import as_ranks

from bot_grpo.dynamic_sampling import Refilled, draw_rows, refill
from bot_grpo.groups import Groups
from bot_grpo.rewards import Scored
from bot_grpo.rundir import RunDir
from reward_models.base import RewardSignal, Rollout

K = 4


class Bench:
    """A prompt's kind says what its rollouts get: `mixed` outcomes that all differ, `equal` ones, or `mute`: no score.

    New prompts come from `supply`, one list of kinds an attempt, the last one again and again.
    """

    def __init__(self, supply: list[list[str]], *, rank: int = 0) -> None:
        self.supply, self.rank, self.sampled, self.drawn = supply, rank, 0, 0

    def sample(self, rows: list[dict[str, Any]], places: list[int], attempt: int) -> dict[str, Any]:
        first = self.sampled
        self.sampled += len(rows)
        ids = [[self.rank, first + i, row["id"]] for i, row in enumerate(rows)]
        return {"prompt_ids": [[row["id"]] for row in rows], "completion_ids": ids, "logprobs": None}

    def score(self, rows: list[dict[str, Any]], rollouts: dict[str, Any]) -> list[Scored]:
        pairs = zip(rows, rollouts["completion_ids"], strict=True)
        return [Scored(Rollout("q", ""), self.signal(row["kind"], ids), np.zeros(0)) for row, ids in pairs]

    def signal(self, kind: str, ids: list[int]) -> RewardSignal | None:
        return None if kind == "mute" else RewardSignal(tiny.fraction(ids) if kind == "mixed" else 0.0)

    def draw(self, attempt: int, n: int) -> list[dict[str, Any]]:
        self.drawn += n
        kinds = self.supply[min(attempt, len(self.supply) - 1)]
        return [{"kind": kinds[i % len(kinds)], "id": 100 * (attempt + 1) + i} for i in range(n)]

    def run(self, rows: list[dict[str, Any]], *, attempts: int, groups: Groups | None = None) -> Refilled:
        groups = groups or Groups.contiguous(len(rows), K)
        return refill(rows, groups, sample=self.sample, score=self.score, draw=self.draw, attempts=attempts)


def batch(kinds: list[str]) -> list[dict[str, Any]]:
    return [{"kind": kind, "id": group} for group, kind in enumerate(kinds) for _ in range(K)]


def test_a_batch_with_contrast_everywhere_is_left_alone() -> None:
    bench = Bench([["mixed"]])
    done = bench.run(batch(["mixed", "mixed"]), attempts=3)
    assert (done.attempts, done.groups, done.unfilled) == (0, 0, 0.0)
    assert done.rows == batch(["mixed", "mixed"])
    assert (bench.sampled, bench.drawn) == (8, 0)


def test_only_groups_without_contrast_are_sampled_anew() -> None:
    bench = Bench([["mixed"]])
    done = bench.run(batch(["mixed", "equal", "mute", "mixed"]), attempts=3)
    assert [r["id"] for r in done.rows] == [0] * 4 + [100] * 4 + [101] * 4 + [3] * 4
    assert done.rollouts["prompt_ids"] == [[r["id"]] for r in done.rows]
    assert [ids[2] for ids in done.rollouts["completion_ids"]] == [r["id"] for r in done.rows]
    assert done.rollouts["logprobs"] is None
    assert (done.attempts, done.groups, done.unfilled) == (1, 2, 0.0)
    assert bench.sampled == 16 + 8


def test_refilling_goes_on_until_it_succeeds_or_the_bound_is_reached() -> None:
    later = Bench([["equal", "mixed"], ["mixed"]])
    done = later.run(batch(["equal", "equal"]), attempts=5)
    assert (done.attempts, done.groups, done.unfilled) == (2, 3, 0.0)
    never = Bench([["equal"]])
    done = never.run(batch(["equal", "mixed"]), attempts=3)
    assert (done.attempts, done.groups, done.unfilled) == (3, 3, 0.5)
    assert never.sampled == 8 + 3 * 4
    none = Bench([["mixed"]]).run(batch(["equal", "mixed"]), attempts=0)
    assert (none.attempts, none.unfilled) == (0, 0.5)


@pytest.mark.parametrize("cuts", [(0, 8, 16), (0, 6, 16), (0, 2, 14, 16), (0, 4, 8, 16)])
def test_processes_agree_even_where_a_group_straddles_them(cuts: tuple[int, ...]) -> None:
    """Rank boundaries anywhere; a rank may have nothing to refill."""
    rows, supply = batch(["equal", "mixed", "equal", "mixed"]), [["mixed", "equal"], ["mixed"]]
    alone = Bench(supply).run(rows, attempts=3)
    pieces = [rows[a:b] for a, b in itertools.pairwise(cuts)]
    ranks = iter(range(len(pieces)))
    done = as_ranks(
        pieces,
        torch.arange(16) // K,
        4,
        lambda piece, groups: Bench(supply, rank=next(ranks)).run(piece, attempts=3, groups=groups),
    )
    for one in done:
        assert not isinstance(one, BaseException), one
        assert (one.attempts, one.groups, one.unfilled) == (2, 3, 0.0)
    assert [row for one in done for row in one.rows] == alone.rows


def test_draws_are_fixed_by_their_key_and_have_no_repeats_where_there_is_enough() -> None:
    data = tiny.prompts(16)
    first = draw_rows(data, 8, key=(0, 4, 1))
    assert first == draw_rows(data, 8, key=(0, 4, 1))
    assert first != draw_rows(data, 8, key=(0, 4, 2))
    assert first != draw_rows(data, 8, key=(1, 4, 1))
    assert len({r["prompt"] for r in first}) == 8
    assert len(draw_rows(data, 40, key=(0,))) == 40
    assert first[0].keys() == {"prompt", "row"}


# -- through the trainer ----------------------------------------------------------------------------------------------


class Dead(tiny.StubReward):
    """A STUB: prompts in `dead` always fail, of the others every second rollout succeeds."""

    def __init__(self, dead: set[str]) -> None:
        super().__init__()
        self.dead = dead

    def score(self, rollouts: Any) -> Any:
        self.seen += len(rollouts)
        return [
            RewardSignal(float(r.prompt not in self.dead and i % 2), metrics={"dead": float(r.prompt in self.dead)})
            for i, r in enumerate(rollouts)
        ]


def test_dead_prompts_leave_the_batch_before_it_is_trained_on(tmp_path: Path) -> None:
    data = tiny.prompts()
    dead = set(data["prompt"][::2])
    reward = Dead(dead)
    trainer = tiny.trainer(tmp_path, algorithm="dapo", reward=reward, data=data, dynamic_sampling=20, max_steps=3)
    trainer.train()
    rows = tiny.logged(trainer)
    assert sum(r["dynamic_sampling/groups"] for r in rows) > 0, "the test wants something to refill"
    for row in rows:
        assert row["dead"] == 0.0
        assert row["algo/equal_outcome_groups"] == 0.0
        assert row["dynamic_sampling/unfilled"] == 0.0
    assert reward.seen == 3 * 8 + 4 * sum(r["dynamic_sampling/groups"] for r in rows)
    assert trainer._buffered_inputs[0]["completion_ids"].size(0) == 8


def test_after_the_last_attempt_training_goes_on_with_one_warning(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    data = tiny.prompts()
    run = RunDir(tmp_path / "run")
    run.create(resume=False)
    reward = Dead(set(data["prompt"]))
    trainer = tiny.trainer(tmp_path / "out", algorithm="dapo", reward=reward, data=data, max_steps=2)
    trainer.run = run
    with caplog.at_level(logging.WARNING, logger="bot_grpo"):
        trainer.train()
    assert trainer.state.global_step == 2
    for row in tiny.logged(trainer):
        assert (row["dynamic_sampling/attempts"], row["dynamic_sampling/unfilled"]) == (3.0, 1.0)
    said = [r.message for r in caplog.records if r.name.startswith("bot_grpo")]
    assert len(said) == 1
    assert "after 3 refills 100%" in said[0]
    alarms = [r for r in run.read_metrics() if "alarms" in r]
    assert [(a["step"], len(a["alarms"])) for a in alarms] == [(1, 1)]


def test_it_is_on_for_dapo_and_off_for_the_others_unless_set(tmp_path: Path) -> None:
    assert tiny.config(tmp_path, algorithm="dapo").dynamic_sampling == 3
    assert tiny.config(tmp_path, algorithm="grpo").dynamic_sampling == 0
    assert tiny.config(tmp_path, algorithm="dapo", dynamic_sampling=0).dynamic_sampling == 0
    assert tiny.config(tmp_path, algorithm="bot_grpo", dynamic_sampling=2).dynamic_sampling == 2


def test_refills_go_through_trls_own_sampling_too(tmp_path: Path) -> None:
    data = tiny.prompts()
    trainer = tiny.trainer(
        tmp_path,
        algorithm="bot_grpo",
        dynamic_sampling=4,
        fast_sampling=False,
        rollouts=None,
        reward=Dead(set(data["prompt"][:14])),
        data=data,
        max_steps=1,
        max_completion_length=4,
    )
    trainer.train()
    (row,) = tiny.logged(trainer)
    assert row["dynamic_sampling/groups"] > 0
    assert row["dead"] < 1.0
