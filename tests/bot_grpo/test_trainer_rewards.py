"""From signals to what the algorithms read: steps, weights, unscored rollouts, the overlong filter and penalty."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tiny_trainer as tiny
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from bot_grpo.rewards import RewardCollector, Scored, score, step_rewards
from reward_models.base import RewardSignal, Rollout, Span

# -- steps on tokens --------------------------------------------------------------------------------------------------


def rollout(pieces: list[str], *, eos: bool = True) -> Rollout:
    """A completion whose tokens are `pieces`, and an EOS without text unless it was cut off."""
    ends = np.cumsum([len(p) for p in pieces]).tolist()
    spans = [(end - len(p), end) for p, end in zip(pieces, ends, strict=True)]
    length = ends[-1] if ends else 0
    if eos:
        spans.append((length, length))
    return Rollout("q", "".join(pieces), tuple(range(len(spans))), tuple(spans), truncated=not eos)


def scored(r: Rollout, local: list[float], steps: Any = None) -> Scored:
    return Scored(r, RewardSignal(1.0, steps=steps), np.array(local, dtype=np.float64))


def on_tokens(one: Scored, **kwargs: Any) -> dict[int, float]:
    """{token: reward} of the step ends."""
    rewards, ends = step_rewards([one], len(one.rollout.spans) + 2, **kwargs)
    assert not rewards[~ends].any()
    return {int(t): round(float(rewards[0, t]), 6) for t in ends[0].nonzero().flatten()}


def test_lines_stand_in_for_steps_and_the_eos_belongs_to_none() -> None:
    r = rollout(["const", " a", "\n", "return", " a;\n"])
    assert on_tokens(scored(r, [-1.0, -0.5, 0.0, -0.2, 0.0, 9.0])) == {2: -0.5, 4: -0.1}


def test_a_token_belongs_to_the_line_that_it_begins_in_and_blank_lines_are_no_steps() -> None:
    r = rollout(["a", "}\n\n  b", "c", "\n", " \n", "d"])
    assert on_tokens(scored(r, [-1.0, -3.0, -5.0, 1.0, 7.0, -2.0, 0.0])) == {1: -2.0, 3: -2.0, 5: -2.0}


def test_annotated_steps_come_before_lines() -> None:
    r = rollout(["ab", "cd", "\n", "ef", "gh"])
    assert on_tokens(scored(r, [1.0, 0.0, 0.0, 0.5, -1.0, 0.0], steps=((0, 4), (5, 7)))) == {1: 0.5, 3: 0.5}


def test_the_last_step_of_a_truncated_completion_ends_at_the_last_token() -> None:
    pieces = ["ab", "cd", "\n", "ef", "gh"]
    steps = ((0, 4), (5, 7))
    whole, cut = rollout(pieces), rollout(pieces, eos=False)
    assert list(on_tokens(scored(whole, [0.0] * 6, steps=steps))) == [1, 3]
    assert on_tokens(scored(cut, [0.0, 0.0, 0.0, 0.5, 9.0], steps=steps)) == {1: 0.0, 4: 0.5}


def test_where_values_are_divided_over_tokens_a_step_gets_their_sum() -> None:
    r = rollout(["a", "b", "c"])
    assert on_tokens(scored(r, [0.2, 0.2, 0.2, 0.0]), spread="uniform") == {2: 0.6}
    assert on_tokens(scored(r, [0.0, 0.0, 0.6, 0.0]), spread="last") == {2: 0.6}
    assert on_tokens(scored(r, [0.6, 0.6, 0.6, 0.0]), spread="every") == {2: 0.6}


def test_nothing_has_no_steps() -> None:
    assert on_tokens(scored(rollout([]), [0.0])) == {}
    assert on_tokens(scored(rollout([], eos=False), [])) == {}
    assert on_tokens(scored(rollout(["a"]), [0.0, 0.0], steps=())) == {}
    assert on_tokens(Scored(rollout(["a"]), None, np.zeros(2))) == {}


def test_a_character_of_several_tokens_is_in_the_step_it_stands_in() -> None:
    r = Rollout("q", "é\nb", (0, 1, 2, 3, 4), ((0, 0), (0, 1), (1, 2), (2, 3), (3, 3)))
    assert on_tokens(scored(r, [1.0, 1.0, 1.0, -1.0, 0.0])) == {2: 1.0, 3: -1.0}


@settings(deadline=None)
@given(st.lists(st.text("ab \n", min_size=1, max_size=4), max_size=8), st.booleans())
def test_steps_end_in_order_and_never_on_an_eos(pieces: list[str], eos: bool) -> None:
    r = rollout(pieces, eos=eos)
    ends = list(on_tokens(scored(r, [0.0] * len(r.spans))))
    lines = [line for line in r.completion.split("\n") if line.strip()]
    assert ends == sorted(ends)
    assert len(ends) <= len(lines)
    assert not eos or len(r.spans) - 1 not in ends
    if not eos and ends:
        assert ends[-1] == len(r.spans) - 1


@pytest.mark.parametrize("steps", [((0, 2), (1, 3)), ((2, 3), (0, 1)), ((1, 1),), ((0, 9),), ((-1, 2),)])
def test_steps_that_make_no_sense_leave_a_rollout_unscored(steps: Any) -> None:
    class Model:
        bound = 1.0

        def score(self, rollouts: Any) -> list[RewardSignal]:
            return [RewardSignal(1.0, steps=steps) for _ in rollouts]

    (one,) = score(Model(), [rollout(["a", "b", "c"])])
    assert one.signal is None
    assert "step" in one.reason


# -- through the trainer ----------------------------------------------------------------------------------------------


def generation_batch(trainer: Any) -> tuple[Any, dict[str, Any]]:
    """The scored batch and TRL's output, without an update."""
    kept = []
    inner = trainer._scored_batch
    trainer._scored_batch = lambda output: kept.append(inner(output)) or kept[-1]
    rows = [trainer.train_dataset[i // 4] for i in range(8)]
    trainer.model.train()
    output = trainer._generate_and_score_completions(rows)
    return kept[0], output


def test_token_rewards_are_the_weighted_outcome_and_local_reward(tmp_path: Path) -> None:
    trainer = tiny.trainer(tmp_path, w_g=2.0, w_s=0.5)
    batch, _ = generation_batch(trainer)
    for i, one in enumerate(trainer.collector.batch):
        n = len(one.rollout.token_ids)
        want = torch.tensor(2.0 * one.signal.outcome + 0.5 * one.local_T).float()
        torch.testing.assert_close(batch.token_rewards_BT[i, :n], want)
        assert not batch.token_rewards_BT[i, n:].any()
    assert batch.mask_BT.sum(1).tolist() == [len(s.rollout.token_ids) for s in trainer.collector.batch]


def test_the_logged_reward_is_the_mean_of_the_token_rewards(tmp_path: Path) -> None:
    """Of the scored rollouts, in training and in an evaluation; the outcome has a name of its own."""
    reward = tiny.StubReward(unscored=[tiny.prompts()[0]["prompt"]])
    trainer = tiny.trainer(tmp_path, w_g=2.0, w_s=0.5, reward=reward, eval_data=tiny.prompts(3), num_generations_eval=1)
    batch, _ = generation_batch(trainer)
    kept = batch.scored_B
    assert 0 < int(kept.sum()) < len(kept)
    means_B = batch.token_rewards_BT.sum(1) / batch.mask_BT.sum(1)
    found = trainer._metrics["train"]
    assert found["reward"] == [pytest.approx(means_B[kept].mean().item())]
    assert found["reward"][0] == pytest.approx(2 * found["reward/outcome"][0] + found["reward/local"][0])
    trainer._metrics["train"].clear()
    held_out = trainer.evaluate()
    assert held_out["eval_reward/local"] < 0
    assert held_out["eval_reward"] == pytest.approx(2 * held_out["eval_reward/outcome"] + held_out["eval_reward/local"])


@pytest.mark.parametrize("name", ["pure", "grpo_process"])
def test_step_rewards_are_weighted_by_w_s(name: str, tmp_path: Path) -> None:
    trainer = tiny.trainer(tmp_path, algorithm=name, w_s=0.5)
    batch, _ = generation_batch(trainer)
    rewards, ends = step_rewards(trainer.collector.batch, batch.mask_BT.size(1))
    torch.testing.assert_close(batch.step_rewards_BT, 0.5 * rewards)
    assert batch.step_ends_BT.equal(ends)
    assert 1 < int(ends.sum()) < int(batch.mask_BT.sum())


@pytest.mark.parametrize("name", ["bot_grpo", "grpo", "dapo", "pure", "ep_grpo"])
def test_unscored_rollouts_and_groups_get_no_advantage(name: str, tmp_path: Path) -> None:
    """A group without a score, and one rollout without a score in another group."""
    data = tiny.prompts()

    class Partly(tiny.StubReward):
        def score(self, rollouts: Any) -> Any:
            signals = super().score(rollouts)
            return [*signals[:5], None, *signals[6:]]

    reward = Partly(unscored=[data[0]["prompt"]])
    model = tiny.saved_llama(tmp_path / "model")
    trainer = tiny.trainer(tmp_path, model=model, algorithm=name, reward=reward, dynamic_sampling=0)
    batch, output = generation_batch(trainer)
    assert batch.scored_B.tolist() == [False] * 4 + [True, False, True, True]
    assert torch.isfinite(output["advantages"]).all()
    assert not output["advantages"][~batch.scored_B].any()
    assert output["advantages"][batch.scored_B].any()
    assert trainer._metrics["train"]["unscored"] == [pytest.approx(5 / 8)]


def test_a_batch_without_any_score_changes_nothing(tmp_path: Path) -> None:
    class Silent:
        bound = 1.0

        def score(self, rollouts: Any) -> Any:
            return [None for _ in rollouts]

    trainer = tiny.trainer(tmp_path, reward=Silent(), max_steps=1)
    before = tiny.weights(trainer.model)
    trainer.train()
    assert tiny.distance(before, tiny.weights(trainer.model)) == 0.0


def test_the_overlong_filter_trains_on_whole_rollouts_and_counts_all(tmp_path: Path) -> None:
    plain, _ = tiny.trainer(tmp_path / "a"), None
    batch, output = generation_batch(plain)
    filtered = tiny.trainer(tmp_path / "b", overlong_filter=True, rollouts=tiny.FixedRollouts(plain.processing_class))
    own_batch, own = generation_batch(filtered)
    cut = own_batch.truncated_B
    assert 0 < int(cut.sum()) < 8, "the test wants some rollouts cut off"
    torch.testing.assert_close(own["advantages"], output["advantages"])  # the statistics are the same
    assert not own["weights"][cut].any()
    assert not own["loss_mask"][cut].any()
    assert own["loss_mask"][~cut].equal(batch.mask_BT[~cut])
    assert own["completion_mask"].equal(output["completion_mask"]), "attention must still see what was written"


def test_a_ratio_reads_the_tokens_that_are_trained_on_alone(tmp_path: Path) -> None:
    """All rollouts cut off and filtered: no token is trained on, so nothing moves and nothing is NaN."""

    class Endless(tiny.FixedRollouts):
        def completion(self, prompt: str, place: int) -> list[int]:
            return [int(tiny.fraction(prompt, place, t) * 256) for t in range(12)]

    rollouts = Endless(tiny.byte_tokenizer())
    trainer = tiny.trainer(tmp_path, algorithm="gspo", overlong_filter=True, rollouts=rollouts, max_steps=1)
    before = tiny.weights(trainer.model)
    trainer.train()
    assert tiny.distance(before, tiny.weights(trainer.model)) == 0.0
    (row,) = tiny.logged(trainer)
    assert row["truncated"] == 1.0
    assert row["loss"] == 0.0


def test_the_overlong_penalty_reaches_every_token_through_the_outcome(tmp_path: Path) -> None:
    plain, penalised = tiny.trainer(tmp_path / "a"), tiny.trainer(tmp_path / "b", overlong_cache=6)
    batch, _ = generation_batch(plain)
    own, _ = generation_batch(penalised)
    lengths = batch.mask_BT.sum(1)
    want = ((12 - 6 - lengths) / 6).clamp(-1, 0)
    assert (want < 0).any()
    assert (want == 0).any()
    torch.testing.assert_close(own.outcome_B - batch.outcome_B, want)
    difference = own.token_rewards_BT - batch.token_rewards_BT
    torch.testing.assert_close(difference, want[:, None] * batch.mask_BT)
    penalised.model.eval()
    assert penalised._scored_batch(penalised._generate_and_score_completions([plain.train_dataset[0]] * 4)) is not None
    raw = [s.signal.outcome for s in penalised.collector.batch]
    assert penalised._metrics["eval"]["reward/outcome"] == [pytest.approx(sum(raw) / 4)]


def test_tokens_of_a_tool_are_in_no_statistic_and_no_loss(tmp_path: Path) -> None:
    class WithTool(tiny.FixedRollouts):
        def __call__(self, asked: list[str], trainer: Any) -> dict[str, Any]:
            out = super().__call__(asked, trainer)
            out["env_mask"] = [[0 if t in (1, 2) else 1 for t in range(len(ids))] for ids in out["completion_ids"]]
            return out

    trainer = tiny.trainer(tmp_path, rollouts=WithTool(tiny.byte_tokenizer()))
    batch, output = generation_batch(trainer)
    assert not batch.mask_BT[:, 1:3].any()
    assert not output["weights"][:, 1:3].any()
    assert output["completion_mask"][:, 1:3].any()


def test_a_chat_prompt_is_scored_by_its_last_message() -> None:
    collector = RewardCollector(tiny.StubReward(), tiny.byte_tokenizer())
    collector.eos_token_ids = {tiny.EOS}
    chat = [{"role": "system", "content": "s"}, {"role": "user", "content": "ask"}]
    (one,) = collector.score([chat], [[65, tiny.EOS]], [json.dumps({"id": 7})])
    assert one.rollout.prompt == "ask"
    assert one.rollout.row == {"id": 7}
    assert not one.rollout.truncated


def test_a_local_reward_beyond_the_bound_is_unscored_not_clipped() -> None:
    class Loud:
        bound = 0.5

        def score(self, rollouts: Any) -> Any:
            return [RewardSignal(1.0, (Span(0, 1, -0.6),)) for _ in rollouts]

    (one,) = score(Loud(), [rollout(["a", "b"])])
    assert one.signal is None
    assert "0.6" in one.reason
