"""A tiny random Llama learns a rule from marks, says how well, and is the same model when it is loaded again."""

from __future__ import annotations

import json
import math
import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tiny_prm
import torch
from transformers import AutoModelForTokenClassification, TrainerCallback

from reward_models.base import RewardSignal, Rollout, Span, Unscored
from reward_models.calibration import probability
from reward_models.contract import RewardModelContract
from reward_models.errors import RewardError
from reward_models.learned import FILE, LearnedReward, Settings
from reward_models.loading import load_reward
from reward_models.model_card import model_card
from reward_models.quality import finding, first_mistake, step_quality, token_quality
from reward_models.reading import Read
from reward_models.token_labels import IGNORED, Labelled
from reward_models.training import CHECKPOINTS, Trained, TrainSettings, _ByLength, prepare, train
from reward_models.training_data import RIGHT, Example

WORDS = ["red", "blue", "green", "one", "two", "three", "small", "large", "old", "new"]


def toy(problems: int = 30, each: int = 4, seed: int = 0) -> list[Example]:
    """Lines of words; from the word "bad" to the end of its line, which half of the texts have, is wrong."""
    rng = random.Random(seed)
    out = []
    for n in range(problems):
        for _ in range(each):
            lines = [[rng.choice(WORDS) for _ in range(3)] for _ in range(rng.randint(2, 5))]
            line = rng.randrange(len(lines)) if rng.random() < 0.5 else None
            if line is not None:
                lines[line][rng.randrange(3)] = "bad"
            text = "\n".join(map(" ".join, lines))
            start = text.find("bad")
            marks = (Span(start, (text + "\n").index("\n", start), -1.0),) if line is not None else ()
            out.append(Example(f"Problem {n}", text, marks, RIGHT))
    return out


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("base")
    return tiny_prm.made("lm", tiny_prm.smollm2(), folder, hidden_size=32, initializer_range=0.1)


def settings_for(base: str, **changes: Any) -> TrainSettings:
    plain = TrainSettings(base, max_steps=80, batch_size=16, micro_batch_size=8, learning_rate=1e-2, held_out=0.3)
    return replace(plain, template="plain", device="cpu", **changes)


@pytest.fixture(scope="module")
def trained(base: str, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Trained]:
    settings, folder = settings_for(base), tmp_path_factory.mktemp("learned")
    return folder, train(prepare(toy(), settings), settings, folder)


def test_the_rule_is_learned(trained: tuple[Path, Trained]) -> None:
    _, made = trained
    assert made.tokens is not None
    assert made.step is not None
    assert made.finding is not None
    assert made.steps == 80
    assert made.tokens.auc is not None
    assert made.tokens.auc > 0.97
    assert made.step.auc is not None
    assert made.step.auc > 0.95
    assert made.finding.hit > 0.9
    assert made.finding.random < 0.5
    assert made.finding.margin_random is not None
    assert made.finding.margin_random[0] > 0.3
    assert made.tokens.ece_after < 0.1


def test_the_folder_gives_the_scores_that_were_measured(trained: tuple[Path, Trained]) -> None:
    folder, made = trained
    reward = LearnedReward(str(folder), device="cpu", mode="penalty")
    tokenizer = tiny_prm.smollm2()
    for row in made.data.held_out[:8]:
        text = tokenizer.decode(row.read.ids[row.read.start : -1])
        [answer] = reward.score([Rollout(row.problem, text)])
        assert isinstance(answer, RewardSignal)
        with torch.inference_mode():
            model = AutoModelForTokenClassification.from_pretrained(folder, dtype=torch.float32)
            logits = model(input_ids=torch.tensor([row.read.ids])).logits[0, row.read.start :]
        z = (logits[:, 0] - logits[:, 1]).double().numpy() - made.data.shift
        wrong = probability(z[list(row.step_at)] / made.settings.step_temperature)
        assert [-span.value for span in answer.spans] == pytest.approx(wrong.tolist(), abs=1e-4)


def signal(answer: Any) -> RewardSignal:
    assert isinstance(answer, RewardSignal), answer
    return answer


def test_steps_tokens_and_outcomes(trained: tuple[Path, Trained]) -> None:
    folder, _ = trained
    text = "red blue one\ntwo bad old\nnew"
    one = Rollout("Problem 1", text)
    models = (
        load_reward("learned", model=str(folder), device="cpu", **more)
        for more in (
            {"mode": "penalty", "outcome": "product"},
            {"mode": "penalty", "per": "token", "outcome": "min"},
            {"mode": "centred"},
            {},
            {"per": "token"},
        )
    )
    a, b, c, d, e = (signal(m.score([one])[0]) for m in models)  # type: ignore[index]
    lines = [(0, 13), (13, 25), (25, 28)]
    assert [(s.start, s.end) for s in a.spans] == lines
    assert list(a.steps or ()) == lines
    p = [1 + s.value for s in a.spans]
    assert p[1] < 0.3 < p[0]
    assert a.outcome == pytest.approx(math.prod(p))
    assert b.outcome == pytest.approx(min(p))
    assert [s.value for s in c.spans] == pytest.approx([2 * x - 1 for x in p])
    assert "".join(text[s.start : s.end] for s in b.spans) == text
    at_bad = next(s for s in b.spans if s.end == text.index("bad") + 3)
    assert at_bad.value < -0.5
    assert c.outcome is None
    assert [s.value for s in d.spans] == pytest.approx([p[0] - 1, (p[1] - 1) * p[0], (p[2] - 1) * p[0] * p[1]])
    before = [1, p[0], p[0] * p[1]]
    of_line = [sum(s.start >= end for _, end in lines) for s in b.spans]
    assert [s.value for s in e.spans] == pytest.approx(
        [s.value * before[n] for s, n in zip(b.spans, of_line, strict=True)]
    )


def test_text_that_does_not_fit(trained: tuple[Path, Trained]) -> None:
    folder, _ = trained
    long = Rollout("Problem", "red blue one\n" * 100)
    window = LearnedReward(str(folder), device="cpu", max_tokens=40)
    [answer] = window.score([long])
    assert isinstance(answer, RewardSignal)
    assert 1 < len(answer.spans) < 100
    assert all(s.end % 13 == 0 for s in answer.spans)  # whole lines only
    assert answer.metrics["learned/too_long"] == 1.0
    [left_out] = LearnedReward(str(folder), device="cpu", max_tokens=40, too_long="unscored").score([long])
    assert isinstance(left_out, Unscored)
    assert "40 tokens" in left_out.reason
    [no_room] = window.score([Rollout("word " * 60, "red")])
    assert isinstance(no_room, Unscored)


class TestContract(RewardModelContract):
    @pytest.fixture(autouse=True)
    def _folder(self, trained: tuple[Path, Trained]) -> None:
        self.folder = str(trained[0])

    def make_model(self) -> LearnedReward:
        return LearnedReward(self.folder, device="cpu", max_tokens=8192)


class TestContractByToken(TestContract):
    def make_model(self) -> LearnedReward:
        return LearnedReward(self.folder, device="cpu", per="token", mode="centred", max_tokens=8192)


def test_lora_leaves_a_plain_model(base: str, tmp_path: Path) -> None:
    settings = settings_for(base, lora_r=16, learning_rate=2e-2)
    made = train(prepare(toy(), settings), settings, tmp_path)
    assert made.tokens is not None
    assert made.tokens.auc is not None
    assert made.tokens.auc > 0.8
    assert not list(tmp_path.glob("adapter*"))
    [answer] = LearnedReward(str(tmp_path), device="cpu").score([Rollout("Problem 1", "red bad one")])
    assert isinstance(answer, RewardSignal)


class StopAfter(TrainerCallback):
    def __init__(self, step: int) -> None:
        self.step = step

    def on_step_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        if state.global_step == self.step:
            control.should_save = control.should_training_stop = True


def test_a_stopped_training_goes_on_to_the_same_model(base: str, tmp_path: Path) -> None:
    settings = settings_for(base, max_steps=8, layers=1)
    data = prepare(toy(12), settings)
    straight = train(data, settings, tmp_path / "straight")
    first = train(data, settings, tmp_path / "resumed", callbacks=[StopAfter(3)])
    assert first.stopped
    assert first.steps == 3
    assert not (tmp_path / "resumed" / FILE).exists()
    resumed = train(data, settings, tmp_path / "resumed", resume=tmp_path / "resumed" / CHECKPOINTS / "checkpoint-3")
    assert not resumed.stopped
    one, other = (AutoModelForTokenClassification.from_pretrained(tmp_path / name) for name in ("straight", "resumed"))
    assert torch.allclose(one.score.weight, other.score.weight, atol=1e-5)
    assert len(one.model.layers) == 1  # of the two
    assert straight.tokens is not None
    assert resumed.tokens is not None
    assert resumed.tokens.nll == pytest.approx(straight.tokens.nll, abs=1e-4)


def test_more_layers_than_the_model_has_are_refused(base: str, tmp_path: Path) -> None:
    settings = settings_for(base, max_steps=1, layers=3)
    with pytest.raises(RewardError, match=r"layers is 3, and .* has 2; 0 keeps all"):
        train(prepare(toy(4), settings), settings, tmp_path / "more")


def test_rows_of_like_lengths_stand_together() -> None:
    lengths = [n * 7 % 50 for n in range(50)] + [200]
    order = _ByLength(lengths, 8, seed=0)
    first = list(order)
    assert sorted(first) == list(range(51))
    assert list(order) == first
    batches = [[lengths[i] for i in first[n : n + 8]] for n in range(0, 48, 8)]
    assert max(max(batch) - min(batch) for batch in batches) < 10
    order.set_epoch(1)
    assert list(order) != first


def test_the_card_says_what_was_measured(trained: tuple[Path, Trained], base: str) -> None:
    folder, made = trained
    settings = settings_for(base)
    card = model_card(
        made, settings, folder=str(folder), sources=["toy: 120 rows"], versions={"torch": "1", "commit": None}
    )
    assert made.tokens is not None
    for part in (
        f"{made.tokens.auc:.3f}",
        "toy: 120 rows",
        "* torch 1",
        "held out",
        f"{made.data.shift:.2f}",
        str(folder),
    ):
        assert part in card
    assert "None" not in card.split("```yaml")[0]
    assert card.startswith("---\nlibrary_name: transformers\n")


def test_the_saved_settings(trained: tuple[Path, Trained]) -> None:
    folder, made = trained
    found = json.loads((folder / FILE).read_text())
    assert Settings(**found) == made.settings
    assert found["split"] == "\n"
    assert found["max_tokens"] == 512  # the model has no more positions


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"labels": "some"}, "labels is first or all"),
        ({"held_out": 1.0}, "held_out is a share"),
        ({"learning_rate": 0.0}, "learning_rate is a number above 0"),
        ({"batch_size": 3, "micro_batch_size": 2}, "no multiple of 2"),
        ({"lora_r": -1}, "lora_r is 0"),
        ({"layers": -1}, "layers is 0"),
        ({"max_steps": 0}, "max_steps is a number above 0, or -1"),
        ({"template": "x"}, "template is one of"),
    ],
)
def test_a_bad_setting_is_one_line(base: str, changes: dict[str, Any], said: str) -> None:
    with pytest.raises(RewardError, match=said):
        prepare(toy(4), replace(settings_for(base), **changes))


def test_data_that_teaches_nothing(base: str) -> None:
    settings = settings_for(base)
    right = [replace(e, marks=()) for e in toy(4)]
    with pytest.raises(RewardError, match="0 wrong tokens"):
        prepare(right, settings)
    with pytest.raises(RewardError, match="no labelled row"):
        prepare([], settings)
    with pytest.raises(RewardError, match="of one problem"):
        prepare([replace(e, problem="the same") for e in toy(4)], settings)


def test_a_folder_that_is_none(tmp_path: Path) -> None:
    with pytest.raises(RewardError, match=r"holds no reward_model\.json"):
        LearnedReward(str(tmp_path))
    (tmp_path / FILE).write_text('{"split": "\\n"}')
    with pytest.raises(RewardError, match="is not what"):
        LearnedReward(str(tmp_path))
    with pytest.raises(RewardError, match="per is one of"):
        LearnedReward(str(tmp_path), per="word")


def row(problem: str, labels: list[int]) -> Labelled:
    """A text of one token a step."""
    spans = tuple((n, n + 1) for n in range(len(labels)))
    read = Read((0, *range(len(labels))), 1, spans, False)
    return Labelled(problem, read, tuple(labels), tuple(range(len(labels))), tuple(labels))


def test_the_first_mistake() -> None:
    assert first_mistake(np.array([0.9, 0.2, 0.5])).tolist() == pytest.approx([0.1, 0.72, 0.09])
    assert first_mistake(np.zeros(0)).tolist() == []


def test_quality_and_finding_by_hand() -> None:
    rows = [row("a", [1, 0, IGNORED]), row("a", [1, 1]), row("b", [0, IGNORED, IGNORED, IGNORED])]
    scores = [np.array([-1.0, 2.0, 0.0]), np.array([-2.0, -3.0]), np.array([-0.5, 1.0, -9.0, -9.0])]
    for quality in (token_quality(rows, scores), step_quality(rows, scores)):
        assert quality is not None
        assert (quality.count, quality.wrong) == (5, 2)
        assert quality.auc == 1.0
        assert quality.nll == pytest.approx(np.log1p(np.exp([-1.0, -2.0, -2.0, -3.0, 0.5])).mean())
    found = finding(rows, scores)
    assert found is not None
    assert found.texts == 2
    assert found.hit == 0.5  # in the other text, 0.62 * 0.73 is more than 0.38
    assert found.alone == 0.5
    assert found.random == pytest.approx((1 / 3 + 1 / 4) / 2)
    assert found.fixed == 0.5
    assert finding(rows[1:2], scores[1:2]) is None
    assert token_quality([], []) is None
