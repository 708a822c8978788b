"""From a process reward model's scores to local rewards: modes, lengths, saturation, bad weights, alignment."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tiny_prm
import torch

from reward_models.alignment import TokenText
from reward_models.base import Answer, RewardSignal, Rollout, Unscored
from reward_models.contract import RewardModelContract
from reward_models.errors import RewardError
from reward_models.loading import load_reward
from reward_models.pretrained import batches
from reward_models.process import _MODES, ProcessReward
from reward_models.process_adapters import Encoded
from reward_models.scoring import score

TEXT = "First 3 + 4 = 7.\n\nThen 7 * 2 = 14.\n\nSo it is 14."


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A PRM of Qwen's kind with room for 512 tokens."""
    return tiny_prm.made("qwen", tiny_prm.with_tag(), tmp_path_factory.mktemp("qwen"))


@pytest.fixture(scope="module")
def reward(folder: str) -> ProcessReward:
    return ProcessReward(folder, mode="raw", outcome="min", self_test="off")


def fake(reward: ProcessReward, *values: float) -> ProcessReward:
    """The reward with chosen probabilities where the model's would be."""

    def chosen(model: Any, ids: Any, mask: Any, rows: torch.Tensor, at: Any, labels: Any) -> torch.Tensor:
        return torch.tensor([values[int((rows[:n] == row).sum())] for n, row in enumerate(rows)])

    reward._score = chosen
    return reward


def signal(answer: Answer) -> RewardSignal:
    assert isinstance(answer, RewardSignal), answer
    return answer


class TestContract(RewardModelContract):
    @pytest.fixture(autouse=True)
    def _folder(self, folder: str) -> None:
        self.folder = folder

    def make_model(self) -> ProcessReward:
        return ProcessReward(self.folder, max_tokens=4096, self_test="off")


# -- probabilities to rewards ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("mode", "expected"),
    [
        ("raw", [0.9, 0.2, 0.5, 0.6]),
        ("centred", [0.8, -0.6, 0.0, 0.2]),
        ("difference", [0.4, -0.7, 0.0, 0.4]),
    ],
)
def test_modes(mode: str, expected: list[float]) -> None:
    assert _MODES[mode]([0.9, 0.2, None, 0.6], 0.1) == pytest.approx(expected)


def test_differences_add_up_to_the_last_score() -> None:
    assert sum(_MODES["difference"]([0.9, 0.2, None, 0.6], 0.1)) == pytest.approx(0.6 - 0.5)


def test_min_form_is_pures() -> None:
    """Weights are softmax(-r / T); the sum nears the worst step's r as T falls, however many steps there are."""
    p = [0.9, 0.2, 0.6, None, 0.95]
    r = np.array([0.8, -0.6, 0.2, 0.9])
    weights = np.exp(-r / 0.1) / np.exp(-r / 0.1).sum()
    values = _MODES["min_form"](p, 0.1)
    assert [*values[:3], values[4]] == pytest.approx(list(weights * r))
    assert values[3] == 0.0
    assert sum(_MODES["min_form"](p, 1e-3)) == pytest.approx(-0.6)
    assert sum(_MODES["min_form"]([1.0] * 200, 0.1)) == pytest.approx(1.0)
    assert _MODES["min_form"]([0.0, 1.0], 1e-3) == [-1.0, 0.0]
    assert _MODES["min_form"]([None], 0.1) == [0.0]


@pytest.mark.parametrize("mode", list(_MODES))
def test_no_mode_breaks_the_bound(folder: str, mode: str) -> None:
    reward = fake(ProcessReward(folder, mode=mode, self_test="off"), 0.0, 1.0, 0.0)
    [scored] = score(reward, [rollout(TEXT)], outcome=False)
    assert scored.signal is not None, scored.reason
    assert np.abs(scored.local_T).max() <= reward.bound == 1.0


@pytest.mark.parametrize(("outcome", "expected"), [("min", 0.2), ("mean", 0.5), ("last", 0.4), ("product", 0.072)])
def test_outcomes(folder: str, outcome: str, expected: float) -> None:
    reward = fake(ProcessReward(folder, outcome=outcome, self_test="off"), 0.9, 0.2, 0.4)
    assert signal(reward.score([Rollout("p", TEXT)])[0]).outcome == pytest.approx(expected)


# -- where they go -----------------------------------------------------------------------------------------------------


def rollout(text: str, tokenizer: Any = None) -> Rollout:
    tokenizer = tokenizer or tiny_prm.smollm2()
    ids = tokenizer(text, add_special_tokens=False)["input_ids"]
    found, spans = TokenText(tokenizer)(ids)
    assert found == text
    return Rollout("What is it?", text, tuple(ids), spans)


def test_a_step_is_paid_on_the_token_that_holds_its_last_character(folder: str) -> None:
    reward = fake(ProcessReward(folder, mode="raw", self_test="off"), 0.1, 0.2, 0.3)
    [scored] = score(reward, [rollout(TEXT)], outcome=False)
    tokens = [TEXT[a:b] for a, b in scored.rollout.spans]
    at = [t for t, value in enumerate(scored.local_T) if value]
    assert scored.local_T[at] == pytest.approx([0.1, 0.2, 0.3])
    assert [tokens[t] for t in at] == [".", ".", "."]
    assert scored.signal is not None
    assert scored.signal.steps == ((0, 18), (18, 36), (36, 48))


def test_a_token_that_goes_on_into_the_separator_holds_the_last_character_too(folder: str) -> None:
    tokenizer = tiny_prm.merging()
    reward = fake(ProcessReward(folder, mode="raw", self_test="off"), 0.1, 0.2, 0.3)
    [scored] = score(reward, [rollout(TEXT, tokenizer)], outcome=False)
    at = [t for t, value in enumerate(scored.local_T) if value]
    assert [TEXT[slice(*scored.rollout.spans[t])] for t in at] == [".\n\n", ".\n\n", "."]
    assert scored.local_T[at] == pytest.approx([0.1, 0.2, 0.3])


def test_steps_within_one_token_share_its_bound(folder: str) -> None:
    reward = fake(ProcessReward(folder, split="\n", self_test="off"), 0.9, 1.0, 1.0)
    one = Rollout("p", "}\n}\nx", (5, 6), ((0, 4), (4, 5)))
    [scored] = score(reward, [one], outcome=False)
    assert list(scored.local_T) == [1.0, 1.0]
    assert scored.signal is not None
    assert "step 1" in scored.signal.spans[0].reason
    assert "step 2" in scored.signal.spans[0].reason


def test_the_problem_is_the_rows_where_it_has_one(reward: ProcessReward) -> None:
    rows: Sequence[dict[str, str]] = [{}, {"problem": "Find it."}, {"question": "Find it."}, {"prompt": "Find it."}]
    scores = [signal(reward.score([Rollout("Please: find it.", TEXT, row=row)])[0]).outcome for row in rows]
    assert scores[1] == scores[2] == scores[3] != scores[0]


# -- empty, long, equal ------------------------------------------------------------------------------------------------


def test_an_empty_reply_has_no_steps_and_the_worst_outcome(reward: ProcessReward) -> None:
    [found] = reward.score([Rollout("p", "")])
    assert signal(found).spans == ()
    assert (signal(found).outcome, signal(found).steps) == (0.0, ())


LONG = "\n\n".join(f"Step {n} says that {n} + {n} = {n + n}, which is right." for n in range(60))


def limited(folder: str, too_long: str, **settings: Any) -> ProcessReward:
    return ProcessReward(folder, mode="raw", max_tokens=200, too_long=too_long, self_test="off", **settings)


def test_a_window_scores_the_first_steps_as_if_nothing_followed(folder: str) -> None:
    found = signal(limited(folder, "window").score([Rollout("p", LONG)])[0])
    scores = found.details["process_scores"]
    n = next(i for i, p in enumerate(scores) if p is None)
    assert 2 <= n < 20
    assert scores[n:] == [None] * (60 - n)
    short = signal(ProcessReward(folder, mode="raw", self_test="off").score([Rollout("p", LONG[:900])])[0])
    assert scores[:n] == pytest.approx(short.details["process_scores"][:n], abs=1e-5)
    assert found.metrics["process/too_long"] == 1.0
    assert found.metrics["process/scored"] == pytest.approx(n / 60)
    assert [s.value for s in found.spans[n:]] == [0.5] * (60 - n), "neutral, not wrong"
    centred = ProcessReward(folder, max_tokens=200, self_test="off")
    assert len(signal(centred.score([Rollout("p", LONG)])[0]).spans) == n


def test_chunks_score_all_steps_with_the_problem_before_each(folder: str) -> None:
    reward = limited(folder, "chunk")
    [found] = reward.score([Rollout("p", LONG)])
    scores = signal(found).details["process_scores"]
    assert None not in scores
    window = signal(limited(folder, "window").score([Rollout("p", LONG)])[0]).details["process_scores"]
    n = window.index(None)
    later = reward.score([Rollout("p", "\n\n".join(LONG.split("\n\n")[n:]))])[0]
    assert scores[n:] == pytest.approx(signal(later).details["process_scores"], abs=1e-5)
    assert signal(found).metrics["process/too_long"] == 0.0


def test_too_long_may_leave_the_rollout_unscored(folder: str) -> None:
    found = limited(folder, "unscored").score([Rollout("p", LONG), Rollout("p", "Short.")])
    assert isinstance(found[0], Unscored)
    assert "of 60 steps do not fit into 200 tokens" in found[0].reason
    assert isinstance(found[1], RewardSignal)


@pytest.mark.parametrize("too_long", ["window", "chunk"])
def test_a_step_or_a_problem_that_is_too_long_alone(folder: str, too_long: str) -> None:
    reward = limited(folder, too_long)
    huge = "word " * 400
    found = reward.score([Rollout(huge, "a\n\nb"), Rollout("p", f"One.\n\n{huge}\n\nTwo."), Rollout("p", huge)])
    assert isinstance(found[0], Unscored)
    scores = signal(found[1]).details["process_scores"]
    assert [p is None for p in scores] == ([False, True, False] if too_long == "chunk" else [False, True, True])
    assert isinstance(found[2], Unscored)


def test_equal_inputs_are_fed_once(folder: str) -> None:
    reward = ProcessReward(folder, self_test="off")
    rows = []
    scored = reward._score
    reward._score = lambda model, ids, *more: rows.append(len(ids)) or scored(model, ids, *more)
    assert len({s.details["process_scores"][0] for s in map(signal, reward.score([Rollout("p", TEXT)] * 5))}) == 1
    assert sum(rows) == 1


def test_batches_hold_so_many_tokens_with_their_padding() -> None:
    inputs = [Encoded((0,) * n, ()) for n in (1, 2, 2, 5, 5, 6, 30)]
    cpu = torch.device("cpu")
    assert [[len(e.ids) for e in b] for b in batches(inputs[::-1], cpu, 12)] == [[1, 2, 2], [5, 5], [6], [30]]
    assert [len(b) for b in batches(inputs, cpu, 10_000)] == [3, 3, 1], "no more than a quarter is padding"


# -- weights that are not what they should be --------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32"])
def test_saturated_scores_are_all_there(tmp_path: Path, dtype: str) -> None:
    """In float16 a softmax of a gap of 20 holds an exact 0; every step still has its own score."""
    tokenizer = tiny_prm.smollm2()
    name = tiny_prm.made("token_classifier", tokenizer, tmp_path, scale=300.0)
    reward = ProcessReward(name, dtype=dtype, mode="raw", split="\n", self_test="off")
    text = "\n".join(f"{n} is a number, {n * n} too." for n in range(12))
    scores = signal(reward.score([Rollout("p", text)])[0]).details["process_scores"]
    assert len(scores) == 12
    assert {round(p) for p in scores} == {0, 1}
    assert all(0 <= p <= 1 for p in scores)


def test_a_score_that_is_no_number_fails_its_item_alone(folder: str) -> None:
    reward = ProcessReward(folder, self_test="off")
    scored = reward._score

    def broken(model: Any, ids: torch.Tensor, *more: Any) -> torch.Tensor:
        p = scored(model, ids, *more)
        return torch.where(more[1] == 0, math.nan, p)

    reward._score = broken
    found = reward.score([Rollout("p", "Short."), Rollout("p", TEXT)])
    assert found[0] == Unscored("a score of the PRM is not a number")
    assert isinstance(found[1], RewardSignal)


def test_the_model_is_in_eval_mode(tmp_path: Path) -> None:
    name = tiny_prm.made("skywork", tiny_prm.smollm2(), tmp_path, attention_dropout=0.9, summary_dropout_prob=0.9)
    reward = ProcessReward(name, adapter="skywork", self_test="off")
    assert not reward._model.training
    first, second = (reward.score([Rollout("p", TEXT)]) for _ in range(2))
    assert first == second


def test_a_model_that_scores_all_alike_fails_its_self_test(tmp_path: Path) -> None:
    name = tiny_prm.made("qwen", tiny_prm.with_tag(), tmp_path, scale=0.0)
    with pytest.raises(RewardError, match=r"scores a right solution 0\.\d+ and a wrong one 0\.\d+") as caught:
        ProcessReward(name)
    assert "\n" not in str(caught.value)
    with pytest.warns(UserWarning, match="scores a right solution"):
        ProcessReward(name, self_test="warning")


def test_a_model_that_tells_right_from_wrong_passes(folder: str) -> None:
    """Of random models with strong heads, some happen to."""
    reward = ProcessReward(folder, self_test="off")
    scored = reward._score
    for shift in (1.0, -1.0):
        reward._score = lambda *given, shift=shift: (torch.logit(scored(*given)) * 50 * shift).sigmoid()
        try:
            reward.self_test = "error"
            reward._test_itself()
            return
        except RewardError:
            continue
    pytest.fail("neither the head nor its opposite tells the two solutions apart")


def test_weights_that_are_missing_are_no_random_ones(tmp_path: Path) -> None:
    name = tiny_prm.made("rlhflow", tiny_prm.with_tag(), tmp_path)
    with pytest.raises(RewardError, match=r"lacks weights .*score\.0\.bias.* is it of another kind"):
        ProcessReward(name, adapter="qwen")


def test_more_than_two_classes_are_no_process_reward_model(tmp_path: Path) -> None:
    from transformers import Qwen2Config, Qwen2ForTokenClassification

    tokenizer = tiny_prm.smollm2()
    Qwen2ForTokenClassification(tiny_prm.config(Qwen2Config, tokenizer, num_labels=3)).save_pretrained(tmp_path)
    tokenizer.save_pretrained(tmp_path)
    with pytest.raises(RewardError, match="3 classes"):
        ProcessReward(str(tmp_path))


# -- by name -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"mode": "sum"}, "mode is one of centred, raw, difference, min_form, not 'sum'"),
        ({"adapter": "x"}, "adapter is one of auto, qwen"),
        ({"spread": "x"}, "spread is one of every, last, uniform, proportional"),
        ({"temperature": 0}, "temperature is above 0"),
        ({"split": "("}, "is no regular expression"),
        ({"dtype": "int8"}, "dtype is auto"),
        ({"model": "./nowhere"}, "./nowhere cannot be loaded"),
    ],
)
def test_bad_settings_are_one_line(folder: str, settings: dict[str, Any], message: str) -> None:
    with pytest.raises(RewardError) as caught:
        load_reward("process", **{"model": folder, "self_test": "off", **settings})
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)
